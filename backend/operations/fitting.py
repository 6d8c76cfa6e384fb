"""Whether the parts of a system's state belong together: database, log and keys.

Each alone may be whole and yet of another day, or of another system: a backup put back in part, a
disk that is not mounted. Going on would lose what was acknowledged, or answer it twice.
"""

from __future__ import annotations

from sqlalchemy import Connection, select

from citywise.backend.errors import CitywiseError
from citywise.backend.ingest import belonging, log
from citywise.backend.ingest.keyring import Keyring, beside
from citywise.backend.settings import Settings
from citywise.backend.store import progress
from citywise.backend.store.models import CursorRow


class LogBehindError(CitywiseError):
    """The log and the database do not belong together."""


def check(connection: Connection, settings: Settings) -> None:
    """Raise `LogBehindError` or `LogError` where something is missing, damaged or of another
    system; what can be read is read from where it is needed."""
    folder = settings.log_dir
    belonging.check(folder, Keyring(beside(folder)))
    reached = progress.read(connection)
    request = connection.scalar(select(CursorRow.request).order_by(CursorRow.resume_from))
    refuse_behind(settings, reached.position)
    bases = log.segments(folder)
    if request is not None and bases and bases[0] > reached.needed_from:
        raise LogBehindError(
            f"{folder} begins at {bases[0]}, but `{request}` needs it from {reached.needed_from}: "
            "this is not the log the database belongs to, or its beginning is lost; bring back "
            "the segments, or both from one backup (docs/backup.md)"
        )
    log.check(folder, reached.needed_from)


def refuse_behind(settings: Settings, position: int) -> None:
    """Raise `LogBehindError` where the log ends before what is answered."""
    end = log.durable_end(settings.log_dir)
    if position > end:
        raise LogBehindError(
            f"{settings.log_dir} ends at {end}, but answers are committed up to {position}: this "
            "is not the log the database belongs to, or its end is lost; bring back the log, "
            "save what there is of it with `citywise log salvage` (docs/delivery.md), restore "
            "both from one backup (docs/backup.md), or empty the table `cursors` to begin with "
            "this one"
        )
