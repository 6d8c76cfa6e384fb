"""From changes to events and announcements: what an event is after each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from citywise.backend.pipeline.evaluation import Row

_ORDER = {"event.cleared": 0, "event.opened": 1, "event.updated": 2}
_ANNOUNCE_EVERY_MS = 60_000


def ordered(changes: Iterable[Row]) -> list[Row]:
    """Changes by evaluation time; at equal times ends come first."""
    return sorted(changes, key=lambda r: (r.t_ms, _ORDER[r.body["kind"]], r.body["id"]))


def announced(known: Mapping[str, Any] | None, row: Row) -> tuple[dict[str, Any], bool]:
    """The event (a row of `events`) after a change, and whether the change is news.

    A confirmation is news if the level changes or it comes in another minute.
    """
    body = row.body
    if known is None:
        event = {
            "id": body["id"],
            "type": body["type"],
            "level": body["level"],
            "place_id": body["place_id"],
            "start_ms": body["start_ms"],
            "confirmed_ms": body["start_ms"],
            "end_ms": None,
            "request": row.request,
            "causes": {"opened": body["atoms"]},
            "place": None,
        }
        return event, True
    if body["kind"] == "event.cleared":
        causes = {**known["causes"], "ended": body["atoms"]}
        return {**known, "end_ms": body["end_ms"], "causes": causes}, True
    minute = body["confirmed_ms"] // _ANNOUNCE_EVERY_MS
    news = (known["level"], known["confirmed_ms"] // _ANNOUNCE_EVERY_MS) != (body["level"], minute)
    confirmed = {
        "level": body["level"],
        "confirmed_ms": body["confirmed_ms"],
        "causes": {**known["causes"], "confirmed": body["atoms"]},
    }
    return {**known, **confirmed}, news
