"""Critical events as CityPulse's clients get them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from citywise.backend.city.observations import BASE
from citywise.backend.context.alignment import EC, SAO, alignments, category, their_source
from citywise.backend.context.critical import CriticalEvent
from citywise.backend.packs.ontology import PREFIXES
from citywise.backend.space.geometry import Spot

SAO_KEY = "sao:"
"""How the ids of events begin that CityPulse named."""


def contextual_events(found: Iterable[CriticalEvent]) -> dict[str, Any]:
    """The answer to a contextual event request."""
    return {"contextualEvents": [_contextual_event(each) for each in found]}


def _contextual_event(found: CriticalEvent) -> dict[str, Any]:
    event, names = found.event, alignments()
    kind = event["type"] if ":" in event["type"] else PREFIXES["ev"] + event["type"]
    return {
        "eventId": event_iri(found.id),
        "eventCategory": {"categoryName": names.of(kind, EC)},
        "eventType": {"typeName": names.of(category(kind), EC)},
        "eventSource": their_source(event["source"]),
        "eventLevel": event["level"],
        "eventPlace": _place(event["geometry"]),
        "eventTime": event["start_ms"],
        "contextualCriticality": found.criticality,
    }


def event_iri(name: str) -> str:
    """The IRI of an event by its id."""
    if name.startswith(SAO_KEY):
        return SAO + name.removeprefix(SAO_KEY)
    return f"{BASE}event/{name}"


def _place(geometry: dict[str, Any]) -> str:
    """A point as a JSON text: the event's, or the middle of its line."""
    spot = Spot.of(geometry, directed=False)
    point = {"longitude": spot.lon, "latitude": spot.lat}
    return orjson.dumps({"point": point, "type": "POINT"}).decode()
