"""Home Assistant's MQTT discovery: what devices announce, and the states that they then send.

Also what Zigbee2MQTT and Tasmota send without discovery (`home_devices`). An announcement makes
nothing by itself; the last one at a topic counts, and an empty one takes it back.
Source: Home Assistant, MQTT integration, discovery.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from citywise.backend.connectors import home_devices
from citywise.backend.connectors.connector import Connector
from citywise.backend.connectors.desk import Desk, Draft
from citywise.backend.connectors.found import Fault, Finds, Unknown, refused
from citywise.backend.connectors.message import Json, Message, as_json, decoded
from citywise.backend.connectors.properties import role_of
from citywise.backend.connectors.templates import value_of
from citywise.backend.connectors.values import is_absent

_LONG = {
    "stat_t": "state_topic", "val_tpl": "value_template", "dev_cla": "device_class",
    "unit_of_meas": "unit_of_measurement", "uniq_id": "unique_id", "obj_id": "object_id",
    "ent_cat": "entity_category", "cmps": "components", "p": "platform", "dev": "device",
}  # fmt: skip
_ROLES = {
    "temperature": "air_temperature", "humidity": "air_humidity", "pressure": "air_pressure",
    "atmospheric_pressure": "air_pressure", "precipitation": "rain", "wind_speed": "wind_speed",
    "sound_pressure": "sound_level", "pm25": "pm25", "pm10": "pm10", "nitrogen_dioxide": "no2",
    "ozone": "o3", "sulphur_dioxide": "so2", "carbon_monoxide": "co",
}  # fmt: skip
_MEASURING = frozenset(("sensor", "number"))
_MOST_ENTITIES = 100_000


@dataclass(frozen=True, slots=True)
class _Entity:
    """What a device announced: where its state comes, what it means, in which unit."""

    id: str
    type: str
    """Its class, else what it is (`light`)."""
    state_topic: str
    template: str | None
    unit: str | None
    role: str | None


class HomeAssistant(Connector):
    """See the module."""

    name = "homeassistant"
    title = "Home Assistant MQTT discovery and states; Zigbee2MQTT and Tasmota"
    topics = ("homeassistant/#", "zigbee2mqtt/#", "tele/+/SENSOR")

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._announced: dict[str, list[_Entity]] = {}
        self._at_topic: dict[str, dict[str, list[_Entity]]] = {}

    def things(self, message: Message) -> Finds:
        topic = message.checked().topic
        if not topic:
            said = "a message of a device has a topic; give it (TOPIC=FILE)"
            raise Fault("no-topic", message.within, said)
        if topic.endswith("/config") and topic.count("/") >= 3:
            self._announce(topic, message)
        elif topic in self._at_topic:
            yield from self._states(self._at_topic[topic], message)
        else:
            yield from home_devices.read(self.desk, topic, message)

    def _announce(self, topic: str, message: Message) -> None:
        """Take note of a device's announcement, or that it is taken back."""
        for entity in self._announced.pop(topic, []):
            there = self._at_topic.get(entity.state_topic, {})
            there.pop(topic, None)
            if not there:
                self._at_topic.pop(entity.state_topic, None)
        if not message.body.strip():
            return
        if len(self._announced) >= _MOST_ENTITIES:
            raise Fault("too-many", message.within, f"there are {_MOST_ENTITIES} announcements")
        entities = list(_entities(topic, _lengthened(as_json(message))))
        self._announced[topic] = entities
        for entity in entities:
            self._at_topic.setdefault(entity.state_topic, {}).setdefault(topic, []).append(entity)

    def _states(self, announced: dict[str, list[_Entity]], message: Message) -> Finds:
        raw = decoded(message).strip()
        try:
            payload = as_json(message)
        except Fault:  # `ON` is a state, too
            payload = Json(None, message.within)
        for entity in (one for entities in announced.values() for one in entities):
            try:
                yield from self._state(entity, payload, raw, message)
            except Fault as fault:
                yield refused(fault)

    def _state(self, entity: _Entity, payload: Json, raw: str, message: Message) -> Finds:
        own = self.desk.own(entity.type)
        if entity.role is None and own is None:
            yield Unknown(entity.type, message.within)
            return
        value, at = value_of(entity.template, payload, raw)
        if is_absent(value):
            return
        draft = Draft(self.desk, self.desk.sensor(entity.id, at), message.at_ms, message.within)
        if entity.role is None:
            draft.other(entity.type, value, at, entity.unit)
        elif entity.unit is None:
            raise Fault("unit", at, "the announcement names no `unit_of_measurement`")
        else:
            draft.put(entity.role, value, entity.unit, at)
        yield from draft.finish(entity.type)


def _entities(topic: str, told: Json) -> Iterator[_Entity]:
    """The entities of an announcement: one, or all of a device."""
    if not told.is_object:
        raise Fault("value", told.at, "found no object, expected an announcement of a device")
    parts = topic.split("/")
    if not told["components"].is_object:
        component = parts[-4] if len(parts) > 4 else parts[-3]
        if (one := _entity(component, parts[-2], told, told)) is not None:
            yield one
        return
    for key, inner in told["components"].items():
        lengthened = _lengthened(inner)
        component = lengthened["platform"].text or "entity"
        if (one := _entity(component, f"{parts[-2]}_{key}", lengthened, told)) is not None:
            yield one


def _entity(component: str, fallback: str, told: Json, whole: Json) -> _Entity | None:
    base = (told["~"].text or whole["~"].text) or ""
    topic = told["state_topic"].text or whole["state_topic"].text
    if topic is None:
        return None
    topic = topic.replace("~", base, 1) if topic.startswith("~") else topic
    if topic.endswith("~"):
        topic = topic[:-1] + base
    named = told["device_class"].text
    name = told["name"].text or ""
    measures = component in _MEASURING and told["entity_category"].text != "diagnostic"
    role = (_ROLES.get(named) if named else role_of(name)) if measures else None
    kind = named or (name if measures and name else component)
    unit, template = told["unit_of_measurement"].text, told["value_template"].text
    return _Entity(told["unique_id"].text or fallback, kind, topic, template, unit, role)


def _lengthened(told: Json) -> Json:
    """An announcement with the long names of its keys."""
    if not told.is_object:
        return told
    return Json({_LONG.get(key, key): value for key, value in told.value.items()}, told.at)
