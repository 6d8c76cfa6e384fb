"""What a new version changes in a database, how long that takes, and what has no way back."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from alembic import command
from sqlalchemy import Connection, Engine

from citywise.backend.backup.moments import held
from citywise.backend.errors import CitywiseError
from citywise.backend.packs.check import checked
from citywise.backend.packs.installed import StaleVersionError, would_install
from citywise.backend.packs.library import available
from citywise.backend.packs.manifest import PackError
from citywise.backend.settings import Settings
from citywise.backend.store import schema
from citywise.backend.store.database import create_engine_for, migrate
from citywise.backend.store.schema import Step


class UpgradeError(CitywiseError):
    """A database cannot be brought to a version; the message says what to do."""


@dataclass(frozen=True)
class Change:
    """What an upgrade would do."""

    revision: str | None
    steps: list[Step]
    seconds: float | None
    """How long it took on a copy; None where none was made."""
    apps: list[str]
    """What changes of the apps' templates, and what is wrong with them."""


def foresee(settings: Settings) -> Change:
    """What the next start would change. The schema is tried on a copy of an SQLite database,
    while the system may run; nothing else is changed."""
    engine = create_engine_for(settings.database_url)
    try:
        with engine.connect() as connection:
            revision = schema.revision_of(connection)
        schema.refuse_newer(revision, engine.url.render_as_string(hide_password=True))
        steps = schema.steps(revision)
        seconds = _trial_s(settings) if steps and engine.dialect.name == "sqlite" else None
        return Change(revision, steps, seconds, [] if steps else list(_of_apps(engine, settings)))
    finally:
        engine.dispose()


def _trial_s(settings: Settings) -> float:
    base = settings.data_dir / "tmp"
    base.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="upgrade-", dir=base) as name:
        folder = Path(name)
        with held(settings.database_url, settings.log_dir, folder) as moment:
            moment.snapshot.save(folder)
        engine = create_engine_for(f"sqlite:///{folder / 'citywise.db'}")
        began = time.monotonic()
        try:
            migrate(engine)
        finally:
            engine.dispose()
        return time.monotonic() - began


def _of_apps(engine: Engine, settings: Settings) -> list[str]:
    found = []
    with engine.connect() as connection:
        for folder in available([Path(path) for path in settings.apps.folders]):
            try:
                versions = would_install(connection, checked(folder))
            except (PackError, StaleVersionError) as error:
                found.append(str(error))
                continue
            found += [f"new: template `{v.name}` {v.version} of app `{v.app}`" for v in versions]
    return found


def go_back(settings: Settings, revision: str) -> list[Step]:
    """Bring a database back to an older revision, all of it or nothing; returns the steps that
    were undone. Raises `UpgradeError` where one has no way back."""
    engine = create_engine_for(settings.database_url)
    try:
        with engine.begin() as connection:
            return _go_back(connection, revision)
    finally:
        engine.dispose()


def _go_back(connection: Connection, revision: str) -> list[Step]:
    present = schema.revision_of(connection)
    shown = connection.engine.url.render_as_string(hide_password=True)
    schema.refuse_newer(present, shown)
    if not schema.is_known(revision):
        raise UpgradeError(f"there is no revision `{revision}`; `--check` lists those there are")
    undone = [step for step in schema.steps(revision) if step not in schema.steps(present)]
    if not undone:
        raise UpgradeError(f"{shown} is at {present}, which is not after {revision}")
    for step in undone:
        if not step.has_way_back:
            raise UpgradeError(
                f"revision {step.revision} ({step.text}) has no way back: bring back a backup that "
                "was made before (docs/backup.md)"
            )
    command.downgrade(schema.config_of(connection), revision)
    return undone
