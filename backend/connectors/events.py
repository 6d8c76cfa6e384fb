"""Events of foreign messages: the nearest class of `ontologies/event.ttl`, a level, an end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from citywise.backend.connectors import ids
from citywise.backend.connectors.desk import Desk
from citywise.backend.connectors.found import Event, Fault

_LATEST_START_MS = 1000 * 2**31
SEVERITIES: Mapping[str, int] = {
    "unknown": 1, "minor": 2, "moderate": 3, "severe": 4, "extreme": 5,  # CAP
    "none": 1, "lowest": 1, "low": 2, "medium": 3, "high": 4, "highest": 5,  # DATEX II
    "informational": 1, "critical": 5,  # Smart Data Models
    "unknown_severity": 1, "info": 2, "warning": 3,  # GTFS-Realtime
}  # fmt: skip
_WORDS = (
    ("RoadWorks", ("roadwork", "road work", "work zone", "constructionwork", "maintenancework")),
    ("RoadClosure", ("roadclos", "road clos", "carriagewayclos", "closedroad")),
    ("Accident", ("accident", "collision", "crash")),
    ("TrafficJam", ("trafficjam", "traffic jam", "congestion", "abnormaltraffic", "queu")),
    ("Obstruction", ("obstruction", "obstacle", "hazardonroad", "brokendown", "breakdown")),
    ("Fog", ("fog",)),
    ("StrongWind", ("wind", "gale", "storm force", "hurricane", "tornado", "blizzard", "typhoon")),
    ("HeavyRain", ("heavy rain", "heavyrain", "rainfall", "rainstorm", "flood", "downpour")),
    ("PoorAir", ("airpollution", "air pollution", "air quality", "airquality", "smog", "ozone")),
    ("SportsEvent", ("sport", "football", "marathon", "match")),
    ("CulturalEvent", ("concert", "festival", "exhibition", "theatre", "cultural", "parade")),
)


def level(told: str | None) -> int:
    """A severity of a format as a level, 1 (unknown or none) to 5."""
    return SEVERITIES.get((told or "").strip().lower(), 1)


def nearest(words: str, otherwise: str) -> str:
    """The class that words speak of, or `otherwise`."""
    text = words.lower()
    return next((name for name, marks in _WORDS if any(m in text for m in marks)), otherwise)


def event(
    desk: Desk,
    foreign: str | None,
    at: str,
    *,
    type_name: str,
    severity: int,
    geometry: Mapping[str, Any] | None,
    start_ms: int | None,
    name: str | None = None,
    end_ms: int | None = None,
    now_ms: int | None = None,
    place_id: str | None = None,
) -> Event:
    """An event, or that it is over where it ended before `now_ms`; raises `Fault`.

    Where no start is named it begins at `now_ms`, the time of reception.
    """
    found = desk.event(foreign, at)
    if end_ms is not None and now_ms is not None and end_ms <= now_ms:
        return Event(found, None)
    if geometry is None:
        said = "it names no coordinates; an event without a place cannot be shown or reasoned about"
        raise Fault("no-geometry", at, said)
    begin = now_ms if start_ms is None else start_ms
    if begin is None:
        raise Fault("no-time", at, "it names no start; give the time of reception (--at)")
    if begin >= _LATEST_START_MS:
        raise Fault("time", at, "it starts after 2038")
    body: dict[str, Any] = {"type": type_name, "level": severity, "geometry": dict(geometry)}
    body |= {"start_ms": begin, "source": desk.source}
    if place_id:
        body["place_id"] = place_id
    if called := ids.name(name, ""):
        body["name"] = called
    return Event(found, body, end_ms)
