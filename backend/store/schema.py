"""Versions of the database's schema: which one a database has, which ones this version knows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection

from citywise.backend.errors import CitywiseError

MIGRATIONS = Path(__file__).with_name("migrations")


class NewerDatabaseError(CitywiseError):
    """A database was made by a newer version than this one."""


@dataclass(frozen=True)
class Step:
    """A change of the schema that a database has still to take."""

    revision: str
    text: str
    """What it does, in words."""
    has_way_back: bool


def revision_of(connection: Connection) -> str | None:
    """The revision of a database; None where it has no tables of ours."""
    return MigrationContext.configure(connection).get_current_revision()


def config_of(connection: Connection | None = None) -> Config:
    """Alembic's configuration, for a connection whose transaction the caller ends."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


@cache
def _directory() -> ScriptDirectory:
    return ScriptDirectory.from_config(config_of())


def head() -> str:
    """The revision that this version works with."""
    found = _directory().get_current_head()
    assert found is not None
    return found


def is_known(revision: str) -> bool:
    """Whether this version can read, or upgrade, a database of a revision."""
    return any(script.revision == revision for script in _directory().walk_revisions())


def refuse_newer(revision: str | None, where: str) -> None:
    """Raise `NewerDatabaseError` for a revision that this version does not know."""
    if revision is not None and not is_known(revision):
        raise NewerDatabaseError(
            f"{where}: the database has schema {revision}, which this version of Citywise does "
            f"not know (it goes up to {head()}): a newer version has run with it. Install that "
            "version again, or bring back a backup that was made before the upgrade "
            "(docs/backup.md)"
        )


def steps(revision: str | None) -> list[Step]:
    """What brings a database of a revision to `head`, in order."""
    found: list[Script] = []
    for script in _directory().walk_revisions():  # the newest first
        if script.revision == revision:
            break
        found.append(script)
    return [_step(script) for script in reversed(found)]


def _step(script: Script) -> Step:
    text = " ".join((script.doc or "").split())
    return Step(script.revision, text, hasattr(script.module, "downgrade"))
