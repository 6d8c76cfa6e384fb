"""OGC SensorThings 1.1: Things, Datastreams and Observations, over HTTP and MQTT.

Entities come expanded, as deep inserts, in pages of `value`, or alone. A Datastream is a sensor:
its unit and observed property say what its Observations are, so these need it before or around
them. Source: OGC 18-088, clauses 8 and 9.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from citywise.backend.connectors import times
from citywise.backend.connectors.connector import Connector
from citywise.backend.connectors.desk import Desk, Draft, snake
from citywise.backend.connectors.found import Fault, Finds, Unknown, refused
from citywise.backend.connectors.geometry import geojson
from citywise.backend.connectors.message import Json, Message, as_json, misshapen
from citywise.backend.connectors.properties import role_of

_OF_DATASTREAM = re.compile(r"Datastreams\('?([^()']{1,200})'?\)?/Observations")
_MOST_STREAMS = 100_000


@dataclass(frozen=True, slots=True)
class _Stream:
    """A Datastream: what its results mean."""

    sensor: str
    property: str
    role: str | None
    unit: str | None


@dataclass(slots=True)
class _Around:
    """What stands around an entity, where it was expanded."""

    stream: _Stream | None = None
    thing: Json | None = None
    kinds: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Of a Thing: kinds by sensor."""


class SensorThings(Connector):
    """See the module."""

    name = "sensorthings"
    title = "OGC SensorThings 1.1: expanded entities, pages, deep inserts, Observations over MQTT"
    topics = ("v1.1/Datastreams(+)/Observations", "v1.1/Observations")

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._streams: dict[str, _Stream] = {}

    def things(self, message: Message) -> Finds:
        whole = as_json(message)
        self.following = whole["@iot.nextLink"].text
        around = _Around(stream=self._named(message.topic) or self._named(self.following))
        entities = whole["value"] if whole["value"].is_list else whole
        for entity in entities if entities.is_list else (entities,):
            yield from self._entity(entity, around, message.at_ms)

    def _named(self, address: str | None) -> _Stream | None:
        """The Datastream that a topic or an address is of."""
        found = _OF_DATASTREAM.search(address or "")
        return self._streams.get(found[1]) if found else None

    def _entity(self, entity: Json, around: _Around, at_ms: int | None) -> Finds:
        try:
            if not entity.is_object:
                raise Fault("value", entity.at, "found no object, expected an entity")
            if entity.has("result"):
                yield from self._observation(entity, around, at_ms)
            elif _is_stream(entity):
                yield from self._datastream(entity, around, at_ms)
            elif entity["Datastreams"].is_list or entity["Locations"].is_list:
                yield from self._thing(entity, at_ms)
            else:
                yield Unknown(_kind_of(entity), entity.at)
        except Fault as fault:
            yield refused(fault)

    def _thing(self, thing: Json, at_ms: int | None) -> Finds:
        yield from misshapen(thing["Locations"], thing["Datastreams"], is_list=True)
        yield from misshapen(*thing["Locations"])
        around = _Around(thing=thing)
        inner = [find for one in thing["Datastreams"] for find in self._entity(one, around, at_ms)]
        location = next((one["location"] for one in thing["Locations"]), None)
        if around.kinds and location is not None and location.value is not None:
            yield from self._place(thing, location, around)
        yield from inner
        if not thing["Datastreams"].value:
            yield Unknown("Thing", thing.at)

    def _place(self, about: Json, location: Json, around: _Around) -> Finds:
        try:
            geometry = geojson(location.value, location.at)
            found = self.desk.sensor(about.first("@iot.id", "name", "description").name, about.at)
        except Fault as fault:
            yield refused(fault)
            return
        kinds = [kind for carried in around.kinds.values() for kind in carried]
        called = about.first("name", "description").text
        yield from self.desk.place(found, called, geometry, kinds, sensors=around.kinds)

    def _datastream(self, entity: Json, around: _Around, at_ms: int | None) -> Finds:
        stream = self._stream(entity)
        known = self._target(stream)
        if known is not None:
            around.kinds[stream.sensor] = (known,)
        observations = list(entity["Observations"])
        yield from misshapen(entity["Observations"], is_list=True)
        if known is None:
            yield Unknown(stream.property, entity.at)
            return
        foi, thing = entity["FeatureOfInterest"], entity["Thing"]
        if around.thing is None:
            alone = _Around(kinds={stream.sensor: (known,)})
            where = next((one["location"] for one in thing["Locations"]), foi["feature"])
            if where.value is not None:
                yield from self._place(thing if thing.is_object else foi, where, alone)
        inside = _Around(stream=stream, thing=around.thing)
        for one in observations:
            yield from self._entity(one, inside, at_ms)

    def _target(self, stream: _Stream) -> str | None:
        """The kind that knows what a Datastream observes."""
        found = self.desk.target(stream.role) if stream.role else self.desk.own(stream.property)
        return None if found is None else found[0].kind

    def _stream(self, entity: Json) -> _Stream:
        named = entity.first("@iot.id", "name", "description")
        sensor = self.desk.sensor(named.name, entity.at)
        about = entity["ObservedProperty"]
        names = [about["name"], about["definition"], entity["name"], entity["description"]]
        told = [name.text for name in names if name.text]
        role = next((found for name in told if (found := _role(name))), None)
        measured = entity["unitOfMeasurement"]
        unit = _unit(measured)
        stream = _Stream(sensor, told[0] if told else "Datastream", role, unit)
        if named.name and len(self._streams) < _MOST_STREAMS:
            self._streams[named.name] = stream
        return stream

    def _observation(self, entity: Json, around: _Around, at_ms: int | None) -> Finds:
        within = entity["Datastream"]
        stream = around.stream
        if within.is_object:
            known = self._streams.get(within["@iot.id"].name or "")
            stream = self._stream(within) if _is_stream(within) or known is None else known
        if stream is None or (stream.role is None and self.desk.own(stream.property) is None):
            yield Unknown(stream.property if stream else "Observation", entity.at)
            return
        observed = _time(entity, at_ms)
        draft = Draft(self.desk, stream.sensor, observed, entity.at)
        result = entity["result"]
        if stream.unit is None and result.value is not None:
            said = (
                "the Datastream names no unit (unitOfMeasurement); expand it with the Observations"
            )
            raise Fault("unit", result.at, said)
        if stream.role is not None:
            draft.put(stream.role, result.value, stream.unit, result.at)
        else:
            draft.other(snake(stream.property), result.value, result.at, stream.unit)
        for name in ("resultQuality", "parameters"):
            draft.keep(name, entity[name].value)
        yield from draft.finish(stream.property)


def _is_stream(entity: Json) -> bool:
    """A Datastream has a unit, a property or Observations, whatever else was selected."""
    marks = ("unitOfMeasurement", "ObservedProperty", "Observations", "observationType")
    return any(mark in entity.value for mark in marks)


def _role(name: str) -> str | None:
    """The role of a property's name, definition or description."""
    return role_of(snake(name) if "://" in name else name)


def _unit(measured: Json) -> str | None:
    """A unit's definition where it is UCUM, else its symbol or name; None if there is none."""
    definition = measured["definition"].text
    if definition and definition.startswith("ucum:"):
        return definition.removeprefix("ucum:")
    return measured.first("symbol", "name").text or definition


def _time(entity: Json, at_ms: int | None) -> int | None:
    for name in ("phenomenonTime", "resultTime"):
        if (found := times.instant(entity[name].value, entity[name].at)) is not None:
            return found
    return at_ms


def _kind_of(entity: Json) -> str:
    """The type of an entity, by its link or what it holds."""
    link = entity["@iot.selfLink"].text or ""
    if found := re.search(r"/(\w+)\([^/]*\)$", link):
        return found[1]
    return next(_names(entity), "entity")


def _names(entity: Json) -> Iterator[str]:
    marks = {"feature": "FeatureOfInterest", "metadata": "Sensor", "definition": "ObservedProperty"}
    yield from (name for mark, name in marks.items() if mark in entity.value)
