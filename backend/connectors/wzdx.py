"""WZDx 4: work zones, detours and restrictions on roads, as events; devices are not known.

Source: USDOT, Work Zone Data Exchange, WorkZoneFeed and DeviceFeed.
"""

from __future__ import annotations

from typing import Any

from citywise.backend.connectors import times
from citywise.backend.connectors.connector import Connector
from citywise.backend.connectors.events import event
from citywise.backend.connectors.found import Event, Fault, Finds, Unknown, refused
from citywise.backend.connectors.geometry import geojson
from citywise.backend.connectors.message import Json, Message, as_json

_TYPES = {"work-zone": "RoadWorks", "incident": "Accident"}
_IMPACTS = {"all-lanes-closed": 5, "alternating-one-way": 4, "all-lanes-open": 2, "flagging": 3}
_OVER = frozenset(("completed", "cancelled"))


class Wzdx(Connector):
    """See the module."""

    name = "wzdx"
    title = "WZDx 4: work zones and other restrictions on roads"

    def things(self, message: Message) -> Finds:
        whole = as_json(message)
        if not whole["features"].is_list:
            raise Fault(
                "value", whole["features"].at, "found no list, expected the features of a feed"
            )
        for feature in whole["features"]:
            try:
                about = feature["properties"]["core_details"]
                if about["event_type"].text is None:
                    yield Unknown(about["device_type"].text or "feature", feature.at)
                else:
                    yield self._event(feature, about, message.at_ms)
            except Fault as fault:
                yield refused(fault)

    def _event(self, feature: Json, about: Json, at_ms: int | None) -> Any:
        told = feature["properties"]
        shape = feature["geometry"]
        if told["event_status"].text in _OVER:
            return Event(self.desk.event(feature["id"].name, feature["id"].at), None)
        roads = ", ".join(road.text or "" for road in about["road_names"])
        named = about.first("name", "description").text
        return event(
            self.desk, feature["id"].name, feature.at,
            type_name=_TYPES.get(about["event_type"].text or "", "TransportationEvent"),
            severity=_level(told["vehicle_impact"].text),
            geometry=None if shape.value is None else geojson(shape.value, shape.at),
            start_ms=_time(told["start_date"]), end_ms=_time(told["end_date"]), now_ms=at_ms,
            name=f"{roads}: {named}" if roads and named else named or roads,
        )  # fmt: skip


def _time(told: Json) -> int | None:
    return times.instant(told.value, told.at)


def _level(impact: str | None) -> int:
    """How bad a closure of lanes is; 1 where nobody says."""
    if impact is None or impact == "unknown":
        return 1
    return _IMPACTS.get(impact, 3)
