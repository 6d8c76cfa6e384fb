"""A live city that Home Assistant, SensorThings and a context broker feed, beside its own sensors.

As docs/connectors.md tells it under *Several systems into one city*: the sources are made while all
runs, and what they measured is read again in the city's own formats.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from urllib.request import urlopen

import pytest

from citywise.backend.connectors import Message, recorded
from citywise.backend.times import iso, wall_ms
from tests.conftest import PACK
from tests.sources.context_broker import context_broker
from tests.sources.servers import body, serving
from tests.sources.test_side_by_side import DISCOVERED
from tests.street.city import City

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SPOT = {"type": "Point", "coordinates": [10.2, 56.15]}
PLACES = {
    "hall-t": "weather_station", "sensorBedroomT": "weather_station",
    "sensorBedroomH": "weather_station", "own": "noise_meter",
}  # fmt: skip
"""Where the sensors are that do not say it themselves."""
STREAM = PACK / "feeds" / "mqtt" / "homeassistant_discovery.jsonl"
STATES = {
    "homeassistant/sensor/sensorBedroom/state": {"temperature": 23.2, "humidity": 43.7},
    "home/hall/state": {"temperature": 68},
}
MEASURED = {
    ("climate", "hall-t", "temperature_c"): 20.0,
    ("noise", "58", "level"): 58.0,
    ("noise", "urn:ngsi-ld:NoiseLevelObserved:n1", "level"): 61.0,
    ("noise", "own", "level"): 55.0,
}


def discovered() -> list[tuple[str, bytes]]:
    """A device of our own, and the stream that Home Assistant's documentation has."""
    found = [("homeassistant/sensor/hall/config", json.dumps(DISCOVERED).encode())]
    if STREAM.is_file():
        found += [(m.topic or "", m.body) for m in recorded(Message(STREAM.read_bytes()))]
    return found


def things() -> bytes:
    """A Datastream with an Observation of now."""
    stream = {
        "@iot.id": 58, "name": "Noise", "unitOfMeasurement": {"symbol": "dB"},
        "ObservedProperty": {"name": "noise"},
        "Thing": {"@iot.id": 5, "name": "Mast", "Locations": [{"location": SPOT}]},
        "Observations": [{"result": 58, "phenomenonTime": iso(wall_ms())}],
    }  # fmt: skip
    return json.dumps({"value": [stream]}).encode()


def entity() -> dict[str, Any]:
    """A reading as a context broker tells of it, of now."""
    level = {"type": "Property", "value": 61, "observedAt": iso(wall_ms())}
    kind = "NoiseLevelObserved"
    where = {"type": "GeoProperty", "value": SPOT}
    return {"id": f"urn:ngsi-ld:{kind}:n1", "type": kind, "LAeq": level, "location": where}


def test_three_foreign_systems_and_sensors_of_its_own_fill_one_live_city(city: City) -> None:
    with (
        context_broker() as context,
        serving(lambda handler: body(handler, things())) as address,
    ):
        subscribed = {
            "broker": context.url,
            "types": ["NoiseLevelObserved"],
            "notify": city.system.url,
        }
        sources: list[dict[str, Any]] = [
            {"name": "home", "connector": "homeassistant", "topics": ["homeassistant/#", "home/#"]},
            {"name": "ogc", "connector": "sensorthings", "urls": [address], "interval_s": 2},
            {"name": "ngsi", "connector": "ngsi-ld", "subscribe": subscribed, "takes_posts": True},
        ]
        for one in sources:
            city.ask("PUT", "operator/sources", one)
        for name, kind in PLACES.items():
            sensors = ["noise"] if kind == "noise_meter" else ["climate"]
            place = {"id": name, "kind": kind, "name": name, "geometry": SPOT, "sensors": sensors}
            city.publish(f"places/{kind}/{name}", place, retain=True)

        def have_come() -> bool:
            for topic, payload in discovered():
                city.send(topic, payload)
            for topic, state in STATES.items():
                city.send(topic, json.dumps(state).encode())
            now = datetime.now(UTC).isoformat()
            city.publish("observations/noise", {"sensor": "own", "observed_at": now, "level": 55})
            context.notify(entity())
            readings = city.ask("GET", "readings")["readings"]
            found = {
                (one["kind"], one["place_id"], name): one.get(name)
                for one in readings
                for name in ("temperature_c", "humidity_pct", "level")
            }
            known = dict(MEASURED)
            if STREAM.is_file():
                known["climate", "sensorBedroomT", "temperature_c"] = 23.2
                known["climate", "sensorBedroomH", "humidity_pct"] = 43.7
            return known.items() <= found.items()

        city.until(have_come)

        def is_counted() -> bool:
            fares = city.ask("GET", "operator/sources")["sources"]
            counts = {one["name"]: one["observations"] for one in fares}
            return all(counts[one["name"]] for one in sources)

        city.until(is_counted)  # what a source has done is written down now and then
        with urlopen(f"{city.system.url}/ngsi-ld/v1/entities?type=NoiseLevelObserved") as answer:
            levels = [one["LAeq"]["value"] for one in json.load(answer)]
        assert levels == [58.0, 55.0, 61.0]
        for one in sources:
            city.ask("DELETE", f"operator/sources/{one['name']}")
