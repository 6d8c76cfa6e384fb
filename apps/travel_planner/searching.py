"""Finding a place by what somebody wrote: its name, its kind, or an address with a house number."""

from __future__ import annotations

import re
from collections.abc import Callable
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
_TOWN = re.compile(r"(.*\d\s?[a-zA-Z]?)\s*,.*[^\d\s].*$")
"""An address with what follows its comma, such as `Ringgade 13, 8000 Aarhus`."""


@dataclass(frozen=True)
class Answer:
    """What was found, and what of the text had to be left out for it (a house number)."""

    found: list[Found]
    left_out: str | None = None


def search(gazetteer: Gazetteer, text: str, near: tuple[float, float] | None, limit: int) -> Answer:
    """The places that fit a text best, best first.

    The word for a kind of place finds those nearest to `near` (longitude, latitude). With a house
    number the house is found first, where it is known. One that nothing has is left out: then its
    street is found, which is said. The town after an address is not looked at.
    """
    words = folded(text)
    kind = _KINDS.get(words[0]) if len(words) == 1 else None
    found = gazetteer.search(text, near, limit)
    if kind is not None:
        nearest = _nearest(gazetteer, kind, near)
        known = {each.id for each in nearest}
        return Answer([*nearest, *(each for each in found if each.id not in known)][:limit])
    number = _NUMBER.search(text)
    if number is None:
        town = _TOWN.match(text)
        return Answer(found) if found or not town else search(gazetteer, town[1], near, limit)
    street, house = text[: number.start()], number.group().strip(" ,")
    streets = gazetteer.search(street, near, limit)
    names = [street, *(each.name for each in streets if each.kind == "street")]
    houses: dict[str, Found] = {}
    for name in dict.fromkeys(names):  # The street that fits best first.
        for at in sorted(gazetteer.houses(f"{name} {house}"), key=_away(near)):
            houses.setdefault(at.id, at)
    if houses or found:
        return Answer([*houses.values(), *found][:limit])
    return Answer(streets, house if streets else None)


def _nearest(gazetteer: Gazetteer, kind: Kind, near: tuple[float, float] | None) -> list[Found]:
    """The places of a kind, the nearest first."""
    of_kind = (each for each in gazetteer.entries if each.kind == kind)
    entries = sorted(of_kind, key=_away(near))
    return [Found(e.id, e.name, e.kind, e.detail, e.lon, e.lat, 1.0, e.starts_ms) for e in entries]


def _away(near: tuple[float, float] | None) -> Callable[[Entry | Found], float]:
    """How far something is from a position, in metres; from none, all are equal."""
    return lambda at: float(geometry.apart_m(at.lon, at.lat, *near)) if near else 0.0
