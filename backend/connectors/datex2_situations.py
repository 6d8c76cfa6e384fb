"""Situations of DATEX II: each of their records is an event."""

from __future__ import annotations

from collections.abc import Mapping

from citywise.backend.connectors import times
from citywise.backend.connectors.desk import Desk
from citywise.backend.connectors.events import event, level, nearest
from citywise.backend.connectors.found import Event, Fault, Finds, refused
from citywise.backend.connectors.geometry import latitudes_first, line, position
from citywise.backend.connectors.xml import Xml

_TYPES: Mapping[str, str] = {
    "Accident": "Accident", "AbnormalTraffic": "TrafficJam", "MaintenanceWorks": "RoadWorks",
    "ConstructionWorks": "RoadWorks", "Roadworks": "RoadWorks", "RoadWorks": "RoadWorks",
    "VehicleObstruction": "Obstruction", "GeneralObstruction": "Obstruction",
    "AnimalPresenceObstruction": "Obstruction", "InfrastructureDamageObstruction": "Obstruction",
    "EnvironmentalObstruction": "Obstruction", "Obstruction": "Obstruction",
    "WeatherRelatedRoadConditions": "WeatherEvent", "PublicEvent": "PublicEvent",
}  # fmt: skip
_CLOSED = frozenset(("roadClosed", "carriagewayClosures", "roadClosedPermanently"))
_OVER = frozenset(("true", "1"))


def situation(desk: Desk, told: Xml, now_ms: int | None) -> Finds:
    """The events of a situation's records."""
    overall = told.said("overallSeverity")
    for record in told.every("situationRecord"):
        try:
            yield _event(desk, record, overall, now_ms)
        except Fault as fault:
            yield refused(fault)


def _event(desk: Desk, record: Xml, overall: str | None, now_ms: int | None) -> Event:
    life = record.child("management", "lifeCycleManagement") or record
    if life.said("end") in _OVER or life.said("cancel") in _OVER:
        return Event(desk.event(record.attribute("id"), record.at), None)
    spans = record.child("validity", "validityTimeSpecification")
    places = _lines(record)
    return event(
        desk, record.attribute("id"), record.at,
        type_name=_type(record),
        severity=level(record.said("severity") or overall),
        geometry=line(places, record.at) if places else None,
        start_ms=_time(spans, "overallStartTime"),
        end_ms=_time(spans, "overallEndTime"),
        now_ms=now_ms,
        name=record.said("generalPublicComment", "comment", "values", "value"),
    )  # fmt: skip


def _type(record: Xml) -> str:
    kind = record.type
    if kind in ("PoorEnvironmentConditions", "ConditionsOfEnvironment"):
        return nearest(_said_within(record, "poorEnvironmentType"), "WeatherEvent")
    if kind == "PublicEvent":
        return nearest(_said_within(record, "publicEventType"), "PublicEvent")
    if kind == "RoadOrCarriagewayOrLaneManagement":
        managed = _said_within(record, "roadOrCarriagewayOrLaneManagementType")
        return "RoadClosure" if managed in _CLOSED else "TransportationEvent"
    return _TYPES.get(kind, "TransportationEvent")


def _said_within(record: Xml, name: str) -> str:
    return next((one.text or "" for one in record.within(name)), "")


def _time(spans: Xml | None, name: str) -> int | None:
    told = spans.child(name) if spans is not None else None
    return None if told is None else times.instant(told.text, told.at)


def _lines(record: Xml) -> list[tuple[float, float]]:
    """Where a record is: its first line, or its points."""
    for poses in record.within("posList"):
        if poses.text:
            return latitudes_first(poses.text, poses.at)
    found = []
    for name in ("pointCoordinates", "openlrCoordinate"):
        for pair in record.within(name):
            lat, lon = pair.said("latitude"), pair.said("longitude")
            if lat is not None and lon is not None:
                found.append(position(lon, lat, pair.at))
        if found:
            break
    return found
