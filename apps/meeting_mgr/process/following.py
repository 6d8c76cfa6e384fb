"""Which meetings others have changed, as the outbox has it."""

from __future__ import annotations

from sqlalchemy import Connection, select

from citywise.apps.meeting_mgr.telling import MEETING
from citywise.backend.app import outbox


class Follower:
    """Reads the outbox from now on; `skip` what was written by the reader itself."""

    def __init__(self, connection: Connection) -> None:
        self._position = outbox.newest(connection)

    def changes(self, connection: Connection) -> dict[str, set[str]]:
        """What has changed in which meeting since the last time."""
        row, until = outbox.OutboxRow, outbox.newest(connection)
        if until == self._position:
            return {}
        between = (row.id > self._position, row.id <= until)
        found: dict[str, set[str]] = {}
        for body in connection.scalars(select(row.body).where(row.kind == MEETING, *between)):
            found.setdefault(body["meeting"], set()).add(body["change"])
        self._position = until
        return found

    def skip(self, until: int) -> None:
        """Go on after what was written in a transaction in which nothing was left to read."""
        self._position = until
