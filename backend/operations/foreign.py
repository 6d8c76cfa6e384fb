"""Events of a file in a format of others, as an operator may open them (docs/operations.md).

Feeds that are asked again and again are sources; this is for a file that somebody sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, NamedTuple

from citywise.backend.connectors import (
    BUILTIN,
    Desk,
    Event,
    Message,
    Refused,
    Unknown,
    connector,
    told,
)
from citywise.backend.kinds import Kinds
from citywise.backend.layers.reading import Bounds
from citywise.backend.operations.drafts import types
from citywise.backend.times import iso, iso_or_none

FORMATS = ("datex2", "cap", "wzdx")
"""The connectors that are tried."""
MOST = 500
"""Events that one act may open."""
_OF_EVENTS = frozenset(("no-geometry", "no-time", "time"))
_AROUND = 0.05
"""Degrees around the city's places that count as the city."""


class Left(NamedTuple):
    """How many things of a file are not offered."""

    over: int
    """Events that have ended."""
    outside: int
    """Events that are not in the city."""
    unknown: int
    """Things that are no events."""
    more: int
    """Events beyond `MOST`."""


@dataclass(frozen=True)
class Offer:
    """What a file holds."""

    format: str
    """The connector that read it."""
    events: list[dict[str, Any]]
    """As `POST /operator/events` takes them; `type` is null where the file's is none of the
    city's."""
    left: Left
    refused: list[Refused]
    """What is at fault."""


def offered(content: str, kinds: Kinds, zone: tzinfo, now_ms: int, bounds: Bounds | None) -> Offer:
    """What may be opened of a file at `now_ms`, read as the format in which it says most."""
    message = Message(content.encode("utf-8", "replace"), None, now_ms)
    offers = [_offer(name, Desk(kinds, zone=zone), message, bounds) for name in FORMATS]
    return max(offers, key=_events)


def _events(offer: Offer) -> tuple[int, int]:
    """How many events a file has when it is read as a format, and how many more whose place or
    time is missing: those say that it is the format, too."""
    left = offer.left
    faulty = sum(one.reason in _OF_EVENTS for one in offer.refused)
    return len(offer.events) + left.over + left.outside + left.more, faulty


def _offer(name: str, desk: Desk, message: Message, bounds: Bounds | None) -> Offer:
    found = list(told(connector(name, desk), message))
    events = [one for one in found if isinstance(one, Event)]
    open_ = {one.id: one for one in events if one.body is not None}
    over = len({one.id for one in events if one.body is None})
    here = [_draft(one) for one in open_.values() if _is_within(one, bounds)]
    unknown = sum(isinstance(one, Unknown) for one in found)
    left = Left(over, len(open_) - len(here), unknown, max(0, len(here) - MOST))
    refused = [one for one in found if isinstance(one, Refused)]
    return Offer(BUILTIN[name].title, here[:MOST], left, refused)


def _draft(event: Event) -> dict[str, Any]:
    body = event.body
    assert body is not None
    return {
        "type": body["type"] if body["type"] in types() else None,
        "level": body["level"],
        "name": body.get("name") or event.id,
        "geometry": body["geometry"],
        "start": iso(body["start_ms"]),
        "until": iso_or_none(event.ends_ms),
    }


def _is_within(event: Event, bounds: Bounds | None) -> bool:
    """Whether some point of an event is in the city."""
    if bounds is None or event.body is None:
        return True
    west, south, east, north = bounds
    shape = event.body["geometry"]
    points = [shape["coordinates"]] if shape["type"] == "Point" else shape["coordinates"]
    return any(
        west - _AROUND <= lon <= east + _AROUND and south - _AROUND <= lat <= north + _AROUND
        for lon, lat, *_ in points
    )
