"""NGSI-LD and NGSI v2: entities of the Smart Data Models, alone, in lists and in notifications.

Normalized, concise and key-values forms, NGSI v2 and GeoJSON are told apart attribute by
attribute. Sources: ETSI GS CIM 009 V1.8, clause 4.5; the Smart Data Models' documentation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from citywise.backend.connectors import times
from citywise.backend.connectors.connector import Connector
from citywise.backend.connectors.desk import Draft
from citywise.backend.connectors.events import event, level, nearest
from citywise.backend.connectors.found import Fault, Finds, refused
from citywise.backend.connectors.geometry import geojson
from citywise.backend.connectors.message import Json, Message, as_json
from citywise.backend.connectors.values import is_absent, number

_DEFAULT = "https://uri.etsi.org/ngsi-ld/default-context/"
_WRAPPED = frozenset(("value", "object", "@value", "languageMap", "json", "vocab"))
_STRUCTURE = frozenset(
    ("id", "type", "@context", "@id", "@type", "location", "name", "refDevice", "geometry")
)
_TIMES = (
    "dateObservedTo", "dateObserved", "observationDateTime", "dateObservedFrom",
    "occupancyModified", "timestamp", "TimeInstant", "modifiedAt", "dateModified",
)  # fmt: skip
_AIR: Mapping[str, tuple[str, str]] = {
    "pm25": ("pm25", "ug/m3"), "pm2_5": ("pm25", "ug/m3"), "PM25": ("pm25", "ug/m3"),
    "pm10": ("pm10", "ug/m3"), "PM10": ("pm10", "ug/m3"),
    "no2": ("no2", "ug/m3"), "NO2": ("no2", "ug/m3"), "o3": ("o3", "ug/m3"), "O3": ("o3", "ug/m3"),
    "so2": ("so2", "ug/m3"), "SO2": ("so2", "ug/m3"), "co": ("co", "ug/m3"), "CO": ("co", "ug/m3"),
}  # fmt: skip
_WEATHER: Mapping[str, tuple[str, str]] = {
    "temperature": ("air_temperature", "Cel"), "relativeHumidity": ("air_humidity", "1"),
    "atmosphericPressure": ("air_pressure", "hPa"), "barometricPressure": ("air_pressure", "hPa"),
    "precipitation": ("rain", "mm"), "windSpeed": ("wind_speed", "m/s"),
}  # fmt: skip
_ROLES: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "AirQualityObserved": {**_AIR, **_WEATHER},
    "WeatherObserved": _WEATHER,
    "NoiseLevelObserved": {"LAeq": ("sound_level", "dB")},
    "TrafficFlowObserved": {
        "averageVehicleSpeed": ("road_speed", "km/h"),
        "intensity": ("road_vehicles", "1"),
    },
    "BikeHireDockingStation": {
        "availableBikeNumber": ("free_bikes", "1"),
        "freeSlotNumber": ("free_docks", "1"),
    },
}
_PARKING = frozenset(("OffStreetParking", "OnStreetParking", "ParkingGroup"))
_PLACES = {"ParkingSpot": "occupied_places", **dict.fromkeys(_PARKING, "occupied_places")}
_SPOT = {"free": 0, "occupied": 1}


class Attribute(NamedTuple):
    """An attribute, whatever the form it came in."""

    value: Json
    unit: str | None
    observed: Json
    """`observedAt`; null where it has none."""


class Ngsi(Connector):
    """See the module."""

    name = "ngsi-ld"
    title = "NGSI-LD and NGSI v2: entities of the Smart Data Models, notifications, GeoJSON"

    def things(self, message: Message) -> Finds:
        whole = as_json(message)
        notified = whole["notifiedAt"]
        for entity in _entities(whole):
            try:
                yield from self._entity(entity, notified, message.at_ms)
            except Fault as fault:
                yield refused(fault)

    def _entity(self, entity: Json, notified: Json, at_ms: int | None) -> Finds:
        if not entity.is_object:
            raise Fault("value", entity.at, "found no object, expected an entity")
        attributes = {name: _attribute(value) for name, value in _attributes(entity)}
        type_name = _type(entity)
        if type_name is None:
            raise Fault("no-type", entity.at, "an entity has a `type`; this one has none")
        short = _short(type_name)
        if short == "Alert":
            yield self._alert(entity, attributes, at_ms)
            return
        sensor = self.desk.sensor(entity.first("id", "@id").name, entity["id"].at)
        yield from self._reading(sensor, short, entity, attributes, notified, at_ms)

    def _reading(
        self, sensor: str, short: str, entity: Json,
        attributes: Mapping[str, Attribute], notified: Json, at_ms: int | None,
    ) -> Finds:  # fmt: skip
        roles = _ROLES.get(short, {})
        used = _measured(short, roles)
        refusals: list[Fault] = []
        observed_ms = _observed(attributes, used, notified, refusals)
        if observed_ms is None and not refusals:
            observed_ms = at_ms
        draft = Draft(self.desk, sensor, observed_ms, entity.at)
        for name, target in roles.items():
            if name in attributes:
                _put_attribute(draft, target, name, attributes[name])
        for name, attribute in attributes.items():
            if (
                name not in roles
                and name not in _STRUCTURE
                and name not in _TIMES
                and name not in used
            ):
                draft.other(name, attribute.value.value, attribute.value.at, attribute.unit)
        total = self._parking(short, attributes, draft)
        kinds = draft.kinds or self.desk.kinds_of([_PLACES[short]] if short in _PLACES else [])
        if kinds and "location" in attributes:
            yield from self._place(sensor, attributes, kinds, total)
        if refusals and draft.kinds:
            yield from map(refused, refusals)
            return
        yield from draft.finish(short)

    def _place(
        self, sensor: str, attributes: Mapping[str, Attribute], kinds: list[str], total: object
    ) -> Finds:
        location = attributes["location"].value
        try:
            geometry = geojson(location.value, location.at)
        except Fault as fault:
            yield refused(fault)
            return
        named = attributes.get("name")
        called = named.value.text if named is not None else _address(attributes)
        roles = {"total_places": total, "total_docks": _value(attributes, "totalSlotNumber")}
        yield from self.desk.place(sensor, called, geometry, kinds, roles)

    @staticmethod
    def _parking(short: str, attributes: Mapping[str, Attribute], draft: Draft) -> object:
        """Occupied and all places of a car park, or of a single one; gives all places."""
        if short == "ParkingSpot":
            status = attributes.get("status")
            taken = _SPOT.get((status.value.text or "").lower()) if status is not None else None
            if status is not None and taken is not None:
                draft.put("occupied_places", taken, None, status.value.at)
                draft.put("total_places", 1, None, status.value.at)
            elif status is not None and not is_absent(status.value.value):
                draft.keep("status", status.value.value)
            return 1
        if short not in _PARKING:
            return None
        total, taken_at = (
            _value(attributes, "totalSpotNumber"),
            attributes.get("occupiedSpotNumber"),
        )
        free = attributes.get("availableSpotNumber")
        if taken_at is not None and not is_absent(taken_at.value.value):
            draft.put("occupied_places", taken_at.value.value, None, taken_at.value.at)
        elif free is not None and not is_absent(free.value.value) and not is_absent(total):
            try:
                taken_ = number(total, free.value.at) - number(free.value.value, free.value.at)
                draft.put(
                    "occupied_places", _decimal(max(taken_, Fraction(0))), None, free.value.at
                )
            except Fault as fault:
                draft.refuse(fault)
        if draft.kinds and not is_absent(total):
            draft.put("total_places", total, None, attributes["totalSpotNumber"].value.at)
        return total

    def _alert(self, entity: Json, attributes: Mapping[str, Attribute], at_ms: int | None) -> Any:
        def said(name: str) -> str:
            return str(_value(attributes, name) or "")

        def moment(*names: str) -> int | None:
            for name in names:
                if (told := attributes.get(name)) is not None:
                    found = times.instant(told.value.value, told.value.at, UTC)
                    if found is not None:
                        return found
            return None

        category = said("category").lower()
        otherwise = {
            "traffic": "TransportationEvent", "weather": "WeatherEvent",
            "environment": "EnvironmentEvent",
        }.get(category, "CityEvent")  # fmt: skip
        location = attributes.get("location")
        where = None if location is None else geojson(location.value.value, location.value.at)
        return event(
            self.desk, entity.first("id", "@id").name, entity.at,
            type_name=nearest(said("subCategory"), otherwise),
            severity=level(said("severity")), geometry=where,
            start_ms=moment("validFrom", "dateIssued", "dateObserved"),
            end_ms=moment("validTo"), now_ms=at_ms,
            name=said("name") or said("description"),
        )  # fmt: skip


def _entities(whole: Json) -> Iterator[Json]:
    """The entities of a message: one, a list, a notification's or GeoJSON's."""
    if whole.is_list:
        for one in whole:
            yield from _entities(one) if one["type"].text == "FeatureCollection" else (one,)
    elif whole["data"].is_list or (whole["data"].is_object and _is_notification(whole)):
        yield from _entities(whole["data"])
    elif whole["type"].text == "FeatureCollection":
        yield from whole["features"]
    else:
        yield whole


def _is_notification(whole: Json) -> bool:
    return whole["type"].text == "Notification" or whole["subscriptionId"].text is not None


def _attributes(entity: Json) -> Iterator[tuple[str, Json]]:
    """The attributes of an entity, or of the feature that it is as GeoJSON."""
    if entity["type"].text != "Feature":
        yield from ((_short(name), value) for name, value in entity.items())
        return
    for name, value in entity["properties"].items():
        yield _short(name), value
    if not entity["properties"].has("location"):
        yield "location", entity["geometry"]


def _type(entity: Json) -> str | None:
    found = (
        entity["properties"]["type"]
        if entity["type"].text == "Feature"
        else entity.first("type", "@type")
    )
    if found.is_list:
        found = next(iter(found), found)
    return found.text


def _short(name: str) -> str:
    """A type or an attribute without what expansion put before it."""
    if name.startswith(_DEFAULT):
        return name.removeprefix(_DEFAULT)
    return name.rpartition("/")[2] if "smartdatamodels.org" in name else name


def _attribute(told: Json) -> Attribute:
    """An attribute in whichever form: its value, unit and time."""
    if told.is_list and any(one.is_object and _WRAPPED & one.value.keys() for one in told):
        told = next(one for one in told if one.is_object)  # several datasets: the first
    if not told.is_object or not _WRAPPED & told.value.keys():
        return Attribute(told, None, Json(None, told.at))
    value = told.first("value", "object", "@value", "languageMap", "json", "vocab")
    while value.is_object and "@value" in value.value:
        value = value["@value"]
    more = told["metadata"]
    unit = told["unitCode"].text or _plain(more["unitCode"]).text
    observed = told["observedAt"]
    if observed.value is None:
        observed = next(
            (
                _plain(more[name])
                for name in ("observedAt", "timestamp", "TimeInstant")
                if more[name].value
            ),
            observed,
        )
    return Attribute(value, unit, observed)


def _plain(told: Json) -> Json:
    return told["value"] if told.is_object else told


def _measured(short: str, roles: Mapping[str, Any]) -> frozenset[str]:
    """The attributes that make the observation; their own times count first."""
    if short in _PARKING:
        return frozenset(("occupiedSpotNumber", "availableSpotNumber", "totalSpotNumber"))
    return frozenset(("status",)) if short == "ParkingSpot" else frozenset(roles)


def _observed(
    attributes: Mapping[str, Attribute], used: frozenset[str], notified: Json, faults: list[Fault]
) -> int | None:
    """When it was observed: of what was measured, of the entity, of the notification."""
    told = [attributes[name].observed for name in used if name in attributes]
    told += [attributes[name].value for name in _TIMES[:1] if name in attributes]
    moments = [_moment(one, faults) for one in told]
    if known := [moment for moment in moments if moment is not None]:
        return max(known)
    for one in (*(attributes[name].value for name in _TIMES[1:] if name in attributes), notified):
        if (moment := _moment(one, faults)) is not None:
            return moment
    return None


def _moment(told: Json, faults: list[Fault]) -> int | None:
    try:
        return times.instant(told.value, told.at, UTC)  # NGSI: without a zone it is UTC
    except Fault as fault:
        faults.append(fault)
        return None


def _put_attribute(draft: Draft, target: tuple[str, str], name: str, attribute: Attribute) -> None:
    role, usual = target
    if role == "rain" and isinstance(attribute.value.value, bool):  # old models: whether it rains
        draft.keep(name, attribute.value.value)
        return
    draft.put(role, attribute.value.value, attribute.unit or usual, attribute.value.at, name)


def _value(attributes: Mapping[str, Attribute], name: str) -> object:
    found = attributes.get(name)
    return None if found is None else found.value.value


def _address(attributes: Mapping[str, Attribute]) -> str | None:
    told = attributes.get("address")
    if told is None:
        return None
    return told.value["streetAddress"].text or told.value["addressLocality"].text


def _decimal(found: Fraction) -> Decimal:
    return Decimal(found.numerator) / Decimal(found.denominator)
