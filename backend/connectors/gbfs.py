"""GBFS 2.3 and 3.0: stations of shared bikes and other vehicles, and alerts.

`station_information` makes places, `station_status` observations, `system_alerts` events at the
stations that they name. Source: MobilityData, General Bikeshare Feed Specification.
"""

from __future__ import annotations

from typing import Any

from citywise.backend.connectors import times
from citywise.backend.connectors.connector import Connector
from citywise.backend.connectors.desk import Desk, Draft
from citywise.backend.connectors.events import event
from citywise.backend.connectors.found import Fault, Finds, Unknown, refused
from citywise.backend.connectors.geometry import Position, line, point, position
from citywise.backend.connectors.message import Json, Message, as_json
from citywise.backend.connectors.values import is_absent, number

_COUNTS = ("num_bikes_available", "num_vehicles_available", "num_docks_available")
_USED = frozenset(("station_id", "last_reported", *_COUNTS))
_STATIONS = ("free_bikes", "free_docks")


class Gbfs(Connector):
    """See the module."""

    name = "gbfs"
    title = "GBFS 2.3 and 3.0: stations, their bikes and docks, alerts"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._where: dict[str, Position] = {}

    def things(self, message: Message) -> Finds:
        whole = as_json(message)
        data = whole["data"]
        if not data.is_object:
            raise Fault("value", data.at, "found no object, expected the `data` of a feed")
        known = False
        for station in data["stations"]:
            known = True
            is_status = any(map(station.has, ("last_reported", "is_renting", *_COUNTS)))
            try:
                yield from (
                    self._status(station, whole, message) if is_status else self._station(station)
                )
            except Fault as fault:
                yield refused(fault)
        for alert in data["alerts"]:
            known = True
            try:
                yield self._alert(alert, whole, message.at_ms)
            except Fault as fault:
                yield refused(fault)
        for vehicle in (*data["vehicles"], *data["bikes"]):
            known = True
            yield Unknown("vehicle", vehicle.at)
        if not known and not (data["stations"].is_list or data["alerts"].is_list):
            yield Unknown(_feed(data), whole.at)

    def _station(self, station: Json) -> Finds:
        where = position(station["lon"].value, station["lat"].value, station.at)
        foreign = station["station_id"].name
        found = self.desk.sensor(foreign, station["station_id"].at)
        self._where[foreign or ""] = where
        roles = {"total_docks": _capacity(station)}
        kinds = self.desk.kinds_of(_STATIONS)
        yield from self.desk.place(found, _translated(station["name"]), point(where), kinds, roles)

    def _status(self, station: Json, whole: Json, message: Message) -> Finds:
        sensor = self.desk.sensor(station["station_id"].name, station["station_id"].at)
        observed = times.instant(station["last_reported"].value, station["last_reported"].at)
        if observed is None:
            observed = times.instant(whole["last_updated"].value, whole["last_updated"].at)
        draft = Draft(
            self.desk, sensor, message.at_ms if observed is None else observed, station.at
        )
        free = station.first("num_vehicles_available", "num_bikes_available")
        draft.put("free_bikes", free.value, None, free.at)
        docks = station["num_docks_available"]
        draft.put("free_docks", docks.value, None, docks.at)
        for name, value in station.items():
            if name not in _USED:
                draft.other(name, value.value, value.at)
        yield from draft.finish("station")

    def _alert(self, alert: Json, whole: Json, at_ms: int | None) -> Any:
        spans = [(_time(one["start"]), _time(one["end"])) for one in alert["times"]]
        named = [one.name or "" for one in alert["station_ids"]]
        points = [self._where[name] for name in named if name in self._where]
        ends = [end for _start, end in spans if end is not None]
        starts = [start for start, _end in spans if start is not None]
        start = min(starts, default=_time(alert["last_updated"]) or _time(whole["last_updated"]))
        return event(
            self.desk, alert["alert_id"].name, alert.at,
            type_name="TransportationEvent", severity=1,
            geometry=line(points, alert.at) if points else None,
            start_ms=start, end_ms=max(ends) if len(ends) == len(spans) and ends else None,
            now_ms=at_ms, name=_translated(alert["summary"]),
            place_id=self.desk.sensor(named[0], alert.at) if len(named) == 1 else None,
        )  # fmt: skip


def _time(told: Json) -> int | None:
    return times.instant(told.value, told.at)


def _translated(told: Json) -> str | None:
    """A text; of version 3 in English, or in whichever language comes first."""
    if told.is_list:
        texts = [(one["language"].text or "", one["text"].text) for one in told]
        best = [text for language, text in texts if language.startswith("en")]
        return next(iter([*best, *(text for _language, text in texts)]), None)
    return told.text


def _capacity(station: Json) -> object:
    """A station's capacity, or the sum of those for its types of vehicles."""
    if not is_absent(station["capacity"].value):
        return station["capacity"].value
    parts = [value for _type, value in station["vehicle_type_capacity"].items()]
    parts += [one["count"] for one in station["vehicle_docks_capacity"]]
    try:
        return int(sum(number(part.value, part.at) for part in parts)) if parts else None
    except Fault:
        return None


def _feed(data: Json) -> str:
    """What a feed is about: the names of what it holds."""
    return next((name for name, value in data.items() if value.is_list or value.is_object), "feed")
