"""For how long what is kept, and forgetting what is older."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, Engine, delete, select

from citywise.backend.history.spans import DAY_S, FIVE_MINUTES_S, HOUR_S, RAW
from citywise.backend.kinds import Kind, Kinds
from citywise.backend.kinds.kind import Kept as OwnTerms
from citywise.backend.settings import History
from citywise.backend.store.models import (
    EventRow,
    HistoryRollupRow,
    HistorySeriesRow,
    HistoryValueRow,
)

DAY_MS = 86_400_000
_AT_ONCE = 200
"""Series in one transaction: others want to write, too."""


@dataclass(frozen=True)
class Kept:
    """For how many milliseconds readings of a kind are kept, by span (`RAW`: as measured)."""

    by_span: dict[int, int]

    def since(self, span_s: int, now_ms: int) -> int:
        """The oldest time of which a span is kept (Unix ms)."""
        return now_ms - self.by_span[span_s]


def kept(kind: Kind | None, settings: History) -> Kept:
    """How long readings of a kind are kept; of one that is gone, as the settings say."""
    own = OwnTerms() if kind is None else kind.history
    days = {
        RAW: (own.readings, settings.readings),
        FIVE_MINUTES_S: (own.minutes, settings.minutes),
        HOUR_S: (own.hours, settings.hours),
        DAY_S: (own.days, settings.days),
    }
    told = {span: usual if said is None else said for span, (said, usual) in days.items()}
    return Kept({span: round(value * DAY_MS) for span, value in told.items()})


def trim(engine: Engine, kinds: Kinds, settings: History, now_ms: int) -> None:
    """Remove what is older than it is kept (`now_ms`: Unix ms, of the stream)."""
    series = HistorySeriesRow
    with engine.connect() as connection:
        rows = connection.execute(select(series.id, series.kind).order_by(series.id)).all()
    for start in range(0, len(rows), _AT_ONCE):
        with engine.begin() as connection:
            for found in rows[start : start + _AT_ONCE]:
                _forget(connection, found.id, kept(kinds.get(found.kind), settings), now_ms)
    oldest = now_ms - round(settings.events * DAY_MS)
    with engine.begin() as connection:
        connection.execute(delete(EventRow).where(EventRow.end_ms < oldest))


def _forget(connection: Connection, number: int, how_long: Kept, now_ms: int) -> None:
    raw, rolled = HistoryValueRow, HistoryRollupRow
    before = how_long.since(RAW, now_ms)
    connection.execute(delete(raw).where(raw.series == number, raw.at_ms < before))
    for span_s in (FIVE_MINUTES_S, HOUR_S, DAY_S):
        old = rolled.start_ms < how_long.since(span_s, now_ms) - span_s * 1000
        wanted = (rolled.series == number, rolled.span_s == span_s, old)
        connection.execute(delete(rolled).where(*wanted))
