"""History: what sensors measured, kept for as long as the operator says, with roll-ups
(docs/history.md). A writer follows the log; readers ask by kind, place and time.
"""

from citywise.backend.history.asking import (
    MOST_NAMED,
    Point,
    Question,
    last_before,
    places_within,
    points,
)
from citywise.backend.history.keeping import Kept, kept, trim
from citywise.backend.history.spans import DAY_S, FIVE_MINUTES_S, HOUR_S, RAW, SPANS, fitting
from citywise.backend.history.writing import HistoryWriter

__all__ = [
    "DAY_S",
    "FIVE_MINUTES_S",
    "HOUR_S",
    "MOST_NAMED",
    "RAW",
    "SPANS",
    "HistoryWriter",
    "Kept",
    "Point",
    "Question",
    "fitting",
    "kept",
    "last_before",
    "places_within",
    "points",
    "trim",
]
