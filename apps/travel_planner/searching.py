"""Finding a place by what somebody wrote: its name, its kind, or an address with a house number."""

from __future__ import annotations

import re
from dataclasses import dataclass

from citywise.apps.travel_planner.roads.gazetteer import Entry, Found, Gazetteer, Kind, folded
from citywise.backend.app import geometry

_KINDS: dict[str, Kind] = {
    "parking": "garage", "garage": "garage", "garages": "garage", "parkering": "garage",
    "parkeringshus": "garage", "parkhaus": "garage", "parken": "garage",
    "stop": "stop", "stops": "stop", "stoppested": "stop", "stoppesteder": "stop",
    "haltestelle": "stop", "haltestellen": "stop",
    "events": "event", "arrangementer": "event", "veranstaltungen": "event",
    "venues": "venue", "spillesteder": "venue", "veranstaltungsorte": "venue",
}  # fmt: skip
"""Words for a kind of place: English, Danish, German."""
_NUMBER = re.compile(r"[\s,]+\d+\s?[a-zA-Z]?(?:\s*-\s*\d+)?$")
"""A house number at the end of a text."""


@dataclass(frozen=True)
class Answer:
    """What was found, and what of the text had to be left out for it (a house number)."""

    found: list[Found]
    left_out: str | None = None


def search(gazetteer: Gazetteer, text: str, near: tuple[float, float] | None, limit: int) -> Answer:
    """The places that fit a text best, best first.

    The word for a kind of place finds those nearest to `near` (longitude, latitude). A house
    number that no name has is left out: then its street is found, which is said.
    """
    words = folded(text)
    kind = _KINDS.get(words[0]) if len(words) == 1 else None
    found = gazetteer.search(text, near, limit)
    if kind is not None:
        nearest = _nearest(gazetteer, kind, near)
        known = {each.id for each in nearest}
        return Answer([*nearest, *(each for each in found if each.id not in known)][:limit])
    number = _NUMBER.search(text)
    if found or number is None:
        return Answer(found)
    streets = gazetteer.search(text[: number.start()], near, limit)
    return Answer(streets, number.group().strip(" ,") if streets else None)


def _nearest(gazetteer: Gazetteer, kind: Kind, near: tuple[float, float] | None) -> list[Found]:
    """The places of a kind, the nearest first."""

    def away(entry: Entry) -> float:
        return float(geometry.apart_m(entry.lon, entry.lat, *near)) if near else 0.0

    entries = sorted((each for each in gazetteer.entries if each.kind == kind), key=away)
    return [Found(e.id, e.name, e.kind, e.detail, e.lon, e.lat, 1.0, e.starts_ms) for e in entries]
