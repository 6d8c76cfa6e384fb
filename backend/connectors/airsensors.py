"""Citizens' air sensors: Sensor.Community (API and what devices push) and openSenseMap.

Sources: Sensor.Community's API (times are UTC, though they do not say so; all numbers are texts);
openSenseMap's API (values are texts, titles and units what people wrote).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC

from citywise.backend.connectors import times
from citywise.backend.connectors.connector import Connector
from citywise.backend.connectors.desk import Draft
from citywise.backend.connectors.found import Fault, Finds, Found, Unknown, refused
from citywise.backend.connectors.geometry import point, position
from citywise.backend.connectors.message import Json, Message, as_json, misshapen
from citywise.backend.connectors.properties import role_of

_VALUES: Mapping[str, tuple[str, str]] = {
    "P1": ("pm10", "ug/m3"), "P2": ("pm25", "ug/m3"), "temperature": ("air_temperature", "Cel"),
    "humidity": ("air_humidity", "%"), "pressure": ("air_pressure", "Pa"),
    "noise_LAeq": ("sound_level", "dB"),
}  # fmt: skip
_DEVICES = (
    "SDS_", "PMS_", "SPS30_", "HPM_", "NPM_", "IPS_", "BME280_", "BMP280_", "BMP_", "DHT_",
    "HTU21D_", "SHT3X_", "DNMS_", "SCD30_", "DS18B20_", "PPD42_",
)  # fmt: skip
"""What stands before the names that devices push: their parts."""
_ID = re.compile(r"[0-9a-f]{24}")
"""Of a thing of openSenseMap."""


class SensorCommunity(Connector):
    """See the module."""

    name = "sensor-community"
    title = "Sensor.Community (luftdaten.info): the API, and what airRohr devices push"

    def things(self, message: Message) -> Finds:
        whole = as_json(message)
        for told in whole if whole.is_list else (whole,):
            try:
                yield from self._reading(told, message.at_ms)
            except Fault as fault:
                yield refused(fault)

    def _reading(self, told: Json, at_ms: int | None) -> Finds:
        if not told.is_object:
            raise Fault("value", told.at, "found no object, expected a reading")
        named = told["sensor"]["id"] if told["sensor"].is_object else _device(told)
        sensor = self.desk.sensor(named.name, named.at)
        observed = times.instant(told["timestamp"].value, told["timestamp"].at, UTC)
        draft = Draft(self.desk, sensor, at_ms if observed is None else observed, told.at)
        yield from misshapen(told["sensordatavalues"], is_list=True)
        yield from misshapen(told["location"], *told["sensordatavalues"])
        for one in told["sensordatavalues"]:
            _value(draft, one)
        if draft.kinds and told["location"].is_object:
            yield from self._place(told["location"], sensor, draft)
        yield from draft.finish(told["sensor"]["sensor_type"]["name"].text or "reading")

    def _place(self, location: Json, sensor: str, draft: Draft) -> Finds:
        try:
            where = position(location["longitude"].value, location["latitude"].value, location.at)
            found = self.desk.sensor(location["id"].name, location["id"].at)
        except Fault as fault:
            yield refused(fault)
            return
        carried = {sensor: tuple(draft.kinds)}
        yield from self.desk.place(found, None, point(where), draft.kinds, sensors=carried)


def _device(told: Json) -> Json:
    """The id of the device that pushed a reading."""
    for name, value in told.items():
        if name in ("esp8266id", "esp32id", "raspiid") or name.endswith("8266id"):
            return value
    return told["esp8266id"]


def _value(draft: Draft, one: Json) -> None:
    """A value of a reading, by its name without that of the device's part."""
    name = one["value_type"].text or ""
    value = one["value"]
    if not name and one.is_object:
        draft.refuse(Fault("value", one["value_type"].at, "found no name of what is measured"))
    short = next((name.removeprefix(part) for part in _DEVICES if name.startswith(part)), name)
    if name.startswith("SPS30_") and short == "P4":  # PM4 of this part; no kind has it
        draft.keep(name, value.value)
    elif short in _VALUES:
        role, unit = _VALUES[short]
        draft.put(role, value.value, unit, value.at, name)
    elif name:
        draft.other(name, value.value, value.at)


class OpenSenseMap(Connector):
    """See the module."""

    name = "opensensemap"
    title = "openSenseMap: boxes with their sensors' last measurements"

    def things(self, message: Message) -> Finds:
        whole = as_json(message)
        for told in whole if whole.is_list else (whole,):
            try:
                yield from self._box(told, message.at_ms)
            except Fault as fault:
                yield refused(fault)

    def _box(self, box: Json, at_ms: int | None) -> Finds:
        if not box.is_object:
            raise Fault("value", box.at, "found no object, expected a box")
        if not box["sensors"].is_list:  # a list of boxes without sensors, or of measurements
            yield Unknown("measurement" if box.has("value") else "box", box.at)
            return
        finds: list[Found] = []
        carried: dict[str, tuple[str, ...]] = {}
        for told in box["sensors"]:
            try:
                finds += self._sensor(told, at_ms, carried)
            except Fault as fault:
                finds.append(refused(fault))
        yield from self._place(box, carried)
        yield from finds

    def _sensor(self, told: Json, at_ms: int | None, carried: dict[str, tuple[str, ...]]) -> Finds:
        title, unit = told["title"].text or "", told["unit"].text
        role = role_of(title)
        own = self.desk.own(title)
        target = self.desk.target(role) if role else own
        if target is None:
            yield Unknown(title or "sensor", told.at)
            return
        sensor = self.desk.sensor(told["_id"].text, told["_id"].at)
        carried[sensor] = (target[0].kind,)
        last = told["lastMeasurement"]
        if not last.is_object:
            if not _ID.fullmatch(last.text or ""):  # where it is not asked for, it is an id
                yield from misshapen(last)
            return
        observed = times.instant(last["createdAt"].value, last["createdAt"].at)
        draft = Draft(self.desk, sensor, at_ms if observed is None else observed, told.at)
        if not unit:
            raise Fault("unit", told["unit"].at, "the sensor names no unit")
        value = last["value"]
        if role:
            draft.put(role, value.value, unit, value.at)
        else:
            draft.other(title, value.value, value.at, unit)
        yield from draft.finish(title)

    def _place(self, box: Json, carried: Mapping[str, tuple[str, ...]]) -> Finds:
        yield from misshapen(box["currentLocation"])
        where = box["currentLocation"]["coordinates"]
        if where.value is None:  # older answers
            where = next((one["geometry"]["coordinates"] for one in box["loc"]), where)
        if not carried or where.value is None:
            return
        pair = [*(one.value for one in where), None, None]
        try:
            spot = point(position(pair[0], pair[1], where.at))
            found = self.desk.sensor(box["_id"].text, box["_id"].at)
        except Fault as fault:
            yield refused(fault)
            return
        kinds = [kind for kinds in carried.values() for kind in kinds]
        yield from self.desk.place(found, box["name"].text, spot, kinds, sensors=carried)
