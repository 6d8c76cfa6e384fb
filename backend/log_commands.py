"""The commands about the ingest's log: `citywise log`."""

from __future__ import annotations

from pathlib import Path

import click
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from citywise.backend import own_files
from citywise.backend.errors import CitywiseError
from citywise.backend.ingest import salvage as salvaging
from citywise.backend.ingest.salvage import Found
from citywise.backend.settings import Settings
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import CursorRow
from citywise.backend.supervisor import is_used
from citywise.backend.system_option import of_a_system


class LogDamagedError(CitywiseError):
    """A log has damage; the message says where."""


class NotSalvagedError(CitywiseError):
    """A log cannot be salvaged now; the message says why."""


@click.group()
def log() -> None:
    """Look whether the ingest's log is whole, or save what can be read of it."""


@log.command()
@of_a_system
def check(settings: Settings) -> None:
    """Read the whole log, and say what of it cannot be read."""
    found = salvaging.examine(settings.log_dir, max(_cursors(settings), default=0))
    click.echo(
        f"{settings.log_dir}: {found.records} records, positions {found.begin} to {found.end}"
    )
    _show(found)
    if found.lost:
        raise LogDamagedError(
            f"{len(found.lost)} stretches cannot be read; stop the system, then "
            "`citywise log salvage --to NEW` saves the rest (docs/delivery.md, A damaged log)"
        )


@log.command()
@click.option(
    "--to",
    "into",
    required=True,
    type=click.Path(path_type=Path),
    help="New folder for the log; the damaged one is not touched.",
)
@of_a_system
def salvage(settings: Settings, into: Path) -> None:
    """Write all that can be read of the log into a new one, with every position as it was."""
    if is_used(settings.data_dir.resolve()):
        raise NotSalvagedError(f"{settings.data_dir}: a system runs in this folder; stop it first")
    own_files.keep_from_others()
    found = salvaging.salvage(settings.log_dir, into, _cursors(settings))
    _show(found)
    click.echo(f"{into}: {found.records} records, positions {found.begin} to {found.end}")
    click.echo(f"To go on: move {settings.log_dir} away, and {into} to where it was.")


def _show(found: Found) -> None:
    for lost in found.lost:
        size = lost.end - lost.start
        gone = "" if lost.there == size else f", {size - lost.there} of them no longer there"
        click.echo(f"{lost.path}: positions {lost.start} to {lost.end} ({size} bytes{gone}): lost")


def _cursors(settings: Settings) -> set[int]:
    """Log positions at which the pipeline begins again; without a database there are none."""
    engine = create_engine_for(settings.database_url)
    try:
        with engine.connect() as connection:
            rows = connection.execute(select(CursorRow.position, CursorRow.resume_from)).all()
    except SQLAlchemyError as error:
        raise NotSalvagedError(
            f"{settings.database_url.rpartition('@')[2]}: the cursors cannot be read, and a new "
            f"log must fit them: {error}"
        ) from error
    finally:
        engine.dispose()
    return {position for row in rows for position in row if position is not None}
