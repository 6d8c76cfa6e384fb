"""What Zigbee2MQTT and Tasmota send by themselves, without announcing it.

Zigbee2MQTT: one object at `zigbee2mqtt/<friendly name>`; the name is the sensor's, blanks and
slashes included. Tasmota: `tele/<device>/SENSOR`, an object for each part of a device; its times
have no zone, so they count only where the source's zone is known.
"""

from __future__ import annotations

import re

from citywise.backend.connectors import times
from citywise.backend.connectors.desk import Desk, Draft
from citywise.backend.connectors.found import Fault, Finds, Unknown, refused
from citywise.backend.connectors.message import Json, Message, as_json
from citywise.backend.connectors.properties import role_of

_TASMOTA = re.compile(r"(?:tele|stat)/(.+)/(SENSOR|STATE|STATUS\d*|RESULT|INFO\d|LWT|POWER\d*)")
_TOLD = frozenset(("SENSOR", "STATUS8", "STATUS10", "STATUS0", "STATUS"))
_UNITS = {"air_temperature": "TempUnit", "air_pressure": "PressureUnit", "wind_speed": "SpeedUnit"}
_USUAL = {
    "air_temperature": "Cel", "air_humidity": "%", "air_pressure": "hPa", "wind_speed": "m/s",
    "rain": "mm", "sound_level": "dB",
}  # fmt: skip
_NOT_AIR = frozenset(("ESP32", "ENERGY", "ANALOG"))
"""Parts of a Tasmota device whose temperature is that of a chip."""
_BASE = "zigbee2mqtt/"


def read(desk: Desk, topic: str, message: Message) -> Finds:
    """What is in a message that nobody announced."""
    if found := _TASMOTA.fullmatch(topic):
        yield from _tasmota(desk, found[1], found[2], message)
        return
    name = topic.removeprefix(_BASE)
    last = name.rpartition("/")[2]
    if name.startswith("bridge/") or last in ("availability", "set", "get"):
        yield Unknown(last if not name.startswith("bridge/") else name, message.within)
        return
    try:
        told = as_json(message)
    except Fault as fault:
        if fault.reason == "too-deep":
            raise
        told = Json(None, message.within)  # `ON`, of something that nobody announced
    if told.is_object:
        yield from _zigbee(desk, name, told, message)
    else:
        yield Unknown(last or topic, message.within)


def _zigbee(desk: Desk, name: str, told: Json, message: Message) -> Finds:
    seen = told["last_seen"]
    observed = times.instant(seen.value, seen.at, desk.zone)
    sensor = desk.sensor(name, told.at)
    draft = Draft(desk, sensor, message.at_ms if observed is None else observed, told.at)
    for key, value in told.items():
        if key == "last_seen":
            continue
        role = role_of(key)
        if role is not None:
            draft.put(role, value.value, _USUAL.get(role, "ug/m3"), value.at, key)
        else:
            draft.other(key, value.value, value.at)
    yield from draft.finish("device")


def _tasmota(desk: Desk, device: str, kind: str, message: Message) -> Finds:
    if kind not in _TOLD:
        yield Unknown(kind, message.within)
        return
    whole = as_json(message)
    told = whole["StatusSNS"] if whole["StatusSNS"].is_object else whole
    parts = [(name, part) for name, part in told.items() if part.is_object]
    known = [(name, part) for name, part in parts if _measures(desk, name, part)]
    if not known:
        yield Unknown(kind, message.within)
        return
    try:
        observed = times.instant(told["Time"].value, told["Time"].at, desk.zone)
    except Fault as fault:
        yield refused(fault)
        return
    at_ms = message.at_ms if observed is None else observed
    for name, part in known:
        try:
            sensor = desk.sensor(device if len(known) == 1 else f"{device}.{name}", part.at)
            yield from _part(Draft(desk, sensor, at_ms, part.at), part, told, name)
        except Fault as fault:
            yield refused(fault)


def _measures(desk: Desk, name: str, part: Json) -> bool:
    """Whether a kind knows what a part of a device says."""
    if name in _NOT_AIR:
        return False
    return any(role_of(key) or desk.own(key) for key, _value in part.items())


def _part(draft: Draft, part: Json, told: Json, name: str) -> Finds:
    for key, value in part.items():
        role = role_of(key)
        if role is None:
            draft.other(key, value.value, value.at)
            continue
        unit = told[_UNITS[role]].text if role in _UNITS else None
        draft.put(role, value.value, unit or _USUAL.get(role, "ug/m3"), value.at, key)
    yield from draft.finish(name)
