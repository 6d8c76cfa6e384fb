"""What users want removed from what stands of them sooner than the system would."""

from __future__ import annotations

import logging
import time

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from citywise.backend.ingest.journal import Overdue
from citywise.backend.people import consents

LOG = logging.getLogger("citywise.ingest")
_LOOK_SECONDS = 10.0
_HOUR_MS = 3_600_000


class OwnHours:
    """For how many hours users want each kind of context kept; looked up now and then."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._looked = 0.0

    def overdue(self, now_ms: int) -> list[Overdue]:
        """What is to go at a time (Unix ms) if nothing was heard since; mostly nothing."""
        if time.monotonic() - self._looked < _LOOK_SECONDS:
            return []
        self._looked = time.monotonic()
        try:
            with self._engine.connect() as connection:
                own = consents.own_hours(connection)
        except SQLAlchemyError:
            LOG.exception("cannot read how long users want to be known")
            return []
        return [
            Overdue(user, subject, now_ms - round(hours * _HOUR_MS))
            for (user, subject), hours in own.items()
        ]
