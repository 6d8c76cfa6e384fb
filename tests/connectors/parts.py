"""Messages of independent parts, of every format: how a part looks, and how parts make messages.

Each part is a thing of its own (a device, an entity, a site, an alert), numbered, so that what came
of it can be told from what came of the others.
"""

from __future__ import annotations

import io
import json
import random
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.connectors.samples import _cap, _datex, _measured, _value, _varint, wire

Messages = list[tuple[str | None, bytes]]
JUNK: tuple[Any, ...] = (
    None, True, -1, 0, 1e308, 10**30, "", "\ud800", "x" * 300, [], {}, [[]], {"a": {}}, "NaN",
    "2026-13-45T99:99:99Z", "𝔘", [None], "0001-01-01T00:00:00+14:00", {"type": "Point"}, 1e-300,
)  # fmt: skip
AT = "2026-05-04T09:00:00Z"


@dataclass(frozen=True)
class Form:
    """A format: its parts, what damages one, and the messages of several."""

    part: Callable[[int], Any]
    joined: Callable[[Sequence[Any]], Messages]
    damaged: Callable[[Any, random.Random], Any]
    pointer: str | None = None
    """Where part N of a message is told to be, with `{}` for N; None: told otherwise."""
    first: int = 0
    """The number of the first part."""


def replaced(value: Any, dice: random.Random) -> Any:
    """JSON in which one value, anywhere, is another."""
    if isinstance(value, dict) and value and dice.random() < 0.9:
        key = dice.choice(sorted(value))
        return {**value, key: replaced(value[key], dice)}
    if isinstance(value, list) and value and dice.random() < 0.9:
        index = dice.randrange(len(value))
        return [*value[:index], replaced(value[index], dice), *value[index + 1 :]]
    return dice.choice(JUNK)


def rewritten(text: str, dice: random.Random) -> str:
    """An element of XML in which a text, an attribute, a name or a whole element is another."""
    whole = ET.fromstring(text)
    parent = {child: one for one in whole.iter() for child in one}
    one = dice.choice(list(whole.iter()))
    junk = dice.choice(("", "NaN", "-1", "x" * 300, "1e308", "𝔘", "2026-13-45T99:99:99Z", "a b"))
    match dice.randrange(4):
        case 0:
            one.text = junk
        case 1 if one.attrib:
            one.set(dice.choice(sorted(one.attrib)), junk)
        case 2 if one in parent:
            parent[one].remove(one)
        case _:
            one.tag = "{urn:x}other" if one is not whole else one.tag
            one.text = junk
    return ET.tostring(whole, encoding="unicode")


def _bytes_changed(body: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(body))
    end = min(at + dice.randint(0, 6), len(body))
    return body[:at] + dice.randbytes(dice.randint(0, 6)) + body[end:]


def _listed(way: str, **around: Any) -> Callable[[Sequence[Any]], Messages]:
    def joined(parts: Sequence[Any]) -> Messages:
        value: Any = list(parts)
        for key in reversed([key for key in way.split("/") if key]):
            value = {key: value}
        return [(None, json.dumps({**around, **value} if around else value).encode())]

    return joined


def _json(part: Callable[[int], Any], way: str, **around: Any) -> Form:
    return Form(part, _listed(way, **around), replaced, (f"/{way}" if way else "") + "/{}")


def _entity(number: int) -> Any:
    return {
        "id": f"urn:ngsi-ld:AirQualityObserved:s{number}",
        "type": "AirQualityObserved",
        "pm25": {"type": "Property", "value": 10 + number, "unitCode": "GQ"},
        "no2": {"type": "Property", "value": 20.5, "observedAt": AT},
        "temperature": {"type": "Property", "value": 12.5},
        "dateObserved": {"type": "Property", "value": {"@type": "DateTime", "@value": AT}},
        "location": {"type": "GeoProperty", "value": {"type": "Point", "coordinates": [10, 56]}},
    }


def _thing(number: int) -> Any:
    unit = {"name": "decibel", "symbol": "dB", "definition": "dB"}
    observed = {"@iot.id": number, "phenomenonTime": AT, "result": 50.5 + number}
    return {
        "@iot.id": f"t{number}",
        "name": f"Mast {number}",
        "Locations": [{"location": {"type": "Point", "coordinates": [10, 56]}}],
        "Datastreams": [
            {
                "@iot.id": number,
                "name": "Sound",
                "unitOfMeasurement": unit,
                "ObservedProperty": {"name": "sound level"},
                "Observations": [observed],
            },
            {
                "@iot.id": 1000 + number,
                "name": "Temperature",
                "unitOfMeasurement": {"name": "Celsius", "symbol": "°C", "definition": "Cel"},
                "ObservedProperty": {"name": "air temperature"},
                "Observations": [{**observed, "result": 20}],
            },
        ],
    }


def _device(number: int) -> Any:
    sensor = {"unit_of_measurement": "°C", "device_class": "temperature", "unique_id": f"u{number}"}
    config = {
        **sensor,
        "state_topic": f"home/{number}/state",
        "value_template": "{{ value_json.t }}",
        "device": {"identifiers": [f"d{number}"], "name": f"Device {number}"},
    }
    return number, config, {"t": 10 + number}


def _discovered(parts: Sequence[Any]) -> Messages:
    """All devices announce themselves, then all say what they measure."""
    configs = [(f"homeassistant/sensor/x{n}/config", config) for n, config, _state in parts]
    states = [(f"home/{n}/state", state) for n, _config, state in parts]
    return [(topic, json.dumps(body).encode()) for topic, body in (*configs, *states)]


def _device_damaged(part: Any, dice: random.Random) -> Any:
    number, config, state = part
    if dice.random() < 0.7:
        return number, replaced(config, dice), state
    return number, config, replaced(state, dice)


def _reading(number: int) -> Any:
    values = [{"value_type": "P1", "value": f"{10 + number}"}, {"value_type": "P2", "value": "5.5"}]
    return {
        "sensor": {"id": number, "sensor_type": {"name": "SDS011"}},
        "location": {"id": 100 + number, "longitude": "10", "latitude": "56"},
        "timestamp": "2026-05-04 09:00:00",
        "sensordatavalues": values,
    }


def _box(number: int) -> Any:
    last = {"value": f"{10 + number}", "createdAt": AT}
    sensors = [
        {"_id": f"a{number}", "title": "PM2.5", "unit": "µg/m³", "lastMeasurement": last},
        {"_id": f"b{number}", "title": "PM10", "unit": "µg/m³",
         "lastMeasurement": {"value": "20", "createdAt": AT}},
    ]  # fmt: skip
    return {
        "_id": f"box{number}",
        "name": f"Box {number}",
        "currentLocation": {"type": "Point", "coordinates": [10, 56]},
        "sensors": sensors,
    }


def _uplink_ttn(number: int) -> Any:
    return {
        "end_device_ids": {"device_id": f"n{number}"},
        "received_at": AT,
        "uplink_message": {
            "received_at": AT,
            "decoded_payload": {"temperature": 10 + number, "humidity": 50, "battery": 3.1},
            "locations": {"user": {"latitude": 56, "longitude": 10}},
        },
    }


def _uplink_chirpstack(number: int) -> Any:
    return {
        "time": AT,
        "deviceInfo": {"devEui": f"00000000000000{number:02d}", "deviceName": f"Meter {number}"},
        "object": {"temperature": 10 + number, "humidity": 50},
    }


def _station(number: int) -> Any:
    return {
        "station_id": f"s{number}",
        "num_bikes_available": number,
        "num_docks_available": 5,
        "last_reported": 1777885200,
        "is_installed": True,
    }


def _place(number: int) -> Any:
    taken = {"count": 10 + number, "recordDateTime": AT}
    return {
        "id": f"p{number}",
        "type": "parkingPlace",
        "name": [{"language": "en", "string": f"Place {number}"}],
        "indicativePlacePointLocation": [{"type": "Point", "coordinates": [10, 56]}],
        "hierarchyElementReference": {
            "supply": [{"supplyViewType": "spaceView", "supplyQuantity": 50}],
            "demandTable": [{"timestamp": AT, "demandType": [taken]}],
        },
    }


def _zone(number: int) -> Any:
    return {
        "id": f"w{number}",
        "type": "Feature",
        "properties": {
            "core_details": {
                "event_type": "work-zone",
                "road_names": [f"Road {number}"],
                "name": f"Works {number}",
            },
            "start_date": "2026-05-04T08:00:00Z",
            "end_date": "2026-05-05T09:00:00Z",
            "vehicle_impact": "some-lanes-closed",
        },
        "geometry": {"type": "LineString", "coordinates": [[10, 56], [10.01, 56]]},
    }


_STOPS = io.BytesIO()
with zipfile.ZipFile(_STOPS, "w") as _file:
    _file.writestr("stops.txt", "stop_id,stop_name,stop_lat,stop_lon\nS1,Stop,56,10\n")
    _file.writestr("routes.txt", "route_id,route_type\n")
    _file.writestr("trips.txt", "trip_id,route_id,service_id\n")
    _file.writestr("stop_times.txt", "trip_id,stop_id,stop_sequence\n")


def _alert(number: int) -> bytes:
    text = [(1, [(1, f"Stop {number} is closed")])]
    return wire([(1, f"a{number}"), (5, [(5, [(5, "S1")]), (6, 10), (7, 1), (10, text)])])


def _feed(parts: Sequence[bytes]) -> Messages:
    header = wire([(1, [(1, "2.0"), (3, 1777885200)])])
    entities = [b"\x12" + _varint(len(part)) + part for part in parts]
    return [(None, _STOPS.getvalue()), (None, header + b"".join(entities))]


_SPACE = "http://datex2.eu/schema/2/2_0"


def _site(number: int) -> str:
    flow = f"<d:vehicleFlow><d:vehicleFlowRate>{600 + 60 * number}</d:vehicleFlowRate>"
    speed = "<d:averageVehicleSpeed><d:speed>61.5</d:speed></d:averageVehicleSpeed>"
    text = _measured(
        f"m{number}",
        _value("TrafficFlow", f"{flow}</d:vehicleFlow>"),
        _value("TrafficSpeed", speed, "2"),
        more=f"<d:measurementTimeDefault>{AT}</d:measurementTimeDefault>",
    )
    schema = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    return text.replace("<d:siteMeasurements", f'<d:siteMeasurements xmlns:d="{_SPACE}" {schema}')


FORMS: dict[str, Form] = {
    "ngsi-ld": _json(_entity, "data", type="Notification", notifiedAt=AT),
    "sensorthings": _json(_thing, "value"),
    "homeassistant": Form(_device, _discovered, _device_damaged),
    "sensor-community": _json(_reading, ""),
    "opensensemap": _json(_box, ""),
    "ttn": _json(_uplink_ttn, ""),
    "chirpstack": _json(_uplink_chirpstack, ""),
    "gbfs": _json(_station, "data/stations", last_updated=1777885200, version="2.3"),
    "gtfs-rt": Form(_alert, _feed, _bytes_changed),
    "datex2": Form(
        _site,
        lambda parts: [(None, _datex("".join(parts), "MeasuredDataPublication").encode())],
        rewritten,
        "/d2LogicalModel/payloadPublication[1]/siteMeasurements[{}]",
        1,
    ),
    "apds": _json(_place, "data"),
    "wzdx": _json(_zone, "features", type="FeatureCollection"),
    "cap": Form(
        lambda number: _cap(id=f"a{number}"),
        lambda parts: [(None, part.encode("utf-8", "surrogatepass")) for part in parts],
        rewritten,
    ),
}
