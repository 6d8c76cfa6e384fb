"""LoRaWAN networks: uplinks of The Things Stack (v3) and of ChirpStack (v4), decoded by them.

A decoder names its fields as it likes; the usual names are understood, the others are kept. In a
decoded payload there are no units: °C, %, hPa, µg/m³, dB and km/h are what decoders give.
Sources: The Things Stack, data formats; ChirpStack, event types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from citywise.backend.connectors import times
from citywise.backend.connectors.connector import Connector
from citywise.backend.connectors.desk import Draft
from citywise.backend.connectors.found import Fault, Finds, Unknown, refused
from citywise.backend.connectors.geometry import point, position
from citywise.backend.connectors.message import Json, Message, as_json, misshapen
from citywise.backend.connectors.properties import role_of

_DEPTH = 4
_ELSEWHERE = frozenset(
    ("soil", "water", "battery", "board", "internal", "device", "target", "setpoint", "cpu", "chip")
)
"""What is measured in these is not the air of the place."""


class Ttn(Connector):
    """Messages of The Things Stack, version 3: MQTT, webhooks, and its storage."""

    name = "ttn"
    title = "The Things Network and The Things Stack (v3): decoded uplinks"
    topics = ("v3/+/devices/+/up",)

    def things(self, message: Message) -> Finds:
        whole = as_json(message)
        for one in whole if whole.is_list else (whole,):
            told = one["result"] if one["result"].is_object else one
            yield from _guarded(self._uplink(told, message.at_ms), told)

    def _uplink(self, told: Json, at_ms: int | None) -> Finds:
        uplink = told["uplink_message"]
        device = told["end_device_ids"]
        if not uplink.is_object:
            yield Unknown(
                _first_of(told, "end_device_ids", "correlation_ids", "received_at"), told.at
            )
            return
        observed = _time(uplink["received_at"], told["received_at"], default=at_ms)
        decoded = uplink["decoded_payload"]
        if decoded.value is None:
            decoded = uplink["normalized_payload"]
        yield from misshapen(uplink["locations"], *(w for _n, w in uplink["locations"].items()))
        where = uplink["locations"]["user"]
        if where.value is None:
            where = next((found for _name, found in uplink["locations"].items()), where)
        sensor = self.desk.sensor(device.first("device_id", "dev_eui").text, device["device_id"].at)
        yield from _decoded(self, sensor, device["device_id"].text, observed, decoded, where, told)


class ChirpStack(Connector):
    """Events of ChirpStack, version 4, in JSON."""

    name = "chirpstack"
    title = "ChirpStack (v4): decoded uplinks"
    topics = ("application/+/device/+/event/+",)

    def things(self, message: Message) -> Finds:
        whole = as_json(message)
        for told in whole if whole.is_list else (whole,):
            yield from _guarded(self._event(told, message), told)

    def _event(self, told: Json, message: Message) -> Finds:
        about, event = told["deviceInfo"], (message.topic or "").rpartition("/event/")[2]
        is_uplink = event == "up" or told.has("fPort") or told.has("object")
        if not is_uplink or told.has("integrationName"):
            yield Unknown(event or _chirpstack_event(told), told.at)
            return
        observed = _time(told["time"], default=message.at_ms)
        sensor = self.desk.sensor(about["devEui"].text, about["devEui"].at)
        nowhere = Json(None, told.at)  # `rxInfo` has the places of gateways, not the device's
        yield from _decoded(self, sensor, None, observed, told["object"], nowhere, told)


def _chirpstack_event(told: Json) -> str:
    marks = {
        "acknowledged": "ack", "batteryLevel": "status", "margin": "status", "location": "location",
        "txInfo": "txack", "code": "log", "integrationName": "integration", "devAddr": "join",
    }  # fmt: skip
    return next((event for mark, event in marks.items() if mark in told.value), "event")


def _guarded(finds: Finds, told: Json) -> Finds:
    if not told.is_object:
        yield refused(Fault("value", told.at, "found no object, expected an event of a device"))
        return
    try:
        yield from finds
    except Fault as fault:
        yield refused(fault)


def _time(*told: Json, default: int | None) -> int | None:
    for one in told:
        if (found := times.instant(one.value, one.at)) is not None:
            return found
    return default


def _decoded(
    connector: Connector, sensor: str, name: str | None, observed: int | None,
    decoded: Json, where: Json, told: Json,
) -> Finds:  # fmt: skip
    draft = Draft(connector.desk, sensor, observed, told.at)
    for label, value in _leaves(decoded):
        parents, _dot, last = label.rpartition(".")
        role = None if _ELSEWHERE.intersection(parents.lower().split(".")) else role_of(last)
        if role is not None:
            draft.put(role, value.value, None, value.at, label)
        else:
            draft.other(label, value.value, value.at)
    if draft.kinds and where.is_object:
        try:
            spot = point(position(where["longitude"].value, where["latitude"].value, where.at))
        except Fault as fault:
            yield refused(fault)
        else:
            yield from connector.desk.place(sensor, name, spot, draft.kinds)
    yield from draft.finish("uplink")


def _leaves(told: Json, name: str = "", depth: int = 0) -> Iterator[tuple[str, Json]]:
    """The values of a decoded payload; those of nested objects as `air.temperature`."""
    if told.is_object and depth < _DEPTH:
        for key, value in told.items():
            yield from _leaves(value, f"{name}.{key}" if name else key, depth + 1)
    elif told.is_list and depth < _DEPTH and any(one.is_object for one in told):
        for one in told:
            yield from _leaves(one, name, depth + 1)
    elif name:
        yield name, told


def _first_of(told: Json, *others: str) -> str:
    """What kind of message of The Things Stack it is: the member that is not about all of them."""
    members: Mapping[str, Any] = told.value
    return next((key for key in members if key not in others), "message")
