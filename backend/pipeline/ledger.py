"""From changes to events and announcements: what an event is after each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from citywise.backend.city.events import UNREVISED
from citywise.backend.pipeline.evaluation import Row

_ORDER = {"event.cleared": 0, "event.opened": 1, "event.updated": 2}
_ANNOUNCE_EVERY_MS = 60_000


def alike(key: str) -> Iterator[str]:
    """Ids for an event that its request calls so: where an event with a corrected start has the
    first, the next one."""
    yield key
    yield from (f"{key}-{number}" for number in range(2, 1000))


def ordered(changes: Iterable[Row]) -> list[Row]:
    """Changes by evaluation time; at equal times ends come first."""
    return sorted(changes, key=lambda r: (r.t_ms, _ORDER[r.body["kind"]], r.body["id"]))


def is_news(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether a confirmation is worth telling: another level, or another minute."""
    minutes = (each["confirmed_ms"] // _ANNOUNCE_EVERY_MS for each in (before, after))
    return bool(before["level"] != after["level"]) or len(set(minutes)) > 1


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
            **UNREVISED,
            "key": body["id"],
            "opened_ms": row.t_ms,
        }
        return event, True
    if body["kind"] == "event.cleared":
        causes = {**known["causes"], "ended": body["atoms"]}
        return {**known, "end_ms": body["end_ms"], "causes": causes}, True
    confirmed = {
        "level": body["level"],
        "confirmed_ms": body["confirmed_ms"],
        "causes": {**known["causes"], "confirmed": body["atoms"]},
    }
    return {**known, **confirmed}, is_news(known, body)
