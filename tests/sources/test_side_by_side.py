"""Foreign systems of four sorts are read side by side into one city, each in its own way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from citywise.backend.settings import Settings, Source
from citywise.backend.sources import made, posted
from citywise.backend.store.database import create_engine_for, migrate
from tests.api.town import soon
from tests.sources.context_broker import context_broker
from tests.sources.running import listening, running
from tests.sources.servers import body, serving
from tests.sources.test_sources import page
from tests.sources.test_subscribing import noise, source

pytestmark = pytest.mark.slow

DISCOVERED = {
    "name": "Temperature", "device_class": "temperature", "unique_id": "hall-t",
    "state_topic": "home/hall/state", "unit_of_measurement": "°F",
    "value_template": "{{ value_json.temperature }}",
}  # fmt: skip
UPLINK = {
    "end_device_ids": {"device_id": "lora-1"},
    "uplink_message": {"decoded_payload": {"noise": 61}},
}


def test_home_assistant_sensorthings_ngsi_ld_and_lorawan_run_side_by_side(tmp_path: Path) -> None:
    """One of them is made, and one removed, while the others run."""
    heard: list[tuple[str, Any]] = []

    def listen(client: Any) -> None:
        client.on_connect = lambda c, *_: c.subscribe("citywise/observations/#", 1)
        client.on_message = lambda _c, _d, m: heard.append((m.topic, json.loads(m.payload)))

    def values(sensor: str, field: str) -> list[Any]:
        return [one[field] for _t, some in heard for one in some if one["sensor"] == sensor]

    with (
        listening(listen) as (at, listener),
        context_broker() as context,
        serving(lambda h: body(h, page(58, None))) as things,
    ):
        context.entities = [noise(1, 60)]
        home = {
            "name": "home",
            "connector": "homeassistant",
            "topics": ["homeassistant/#", "home/#"],
        }
        ogc = {"name": "ogc", "connector": "sensorthings", "urls": [things]}
        lora = {"name": "lora", "connector": "ttn", "topics": ["v3/+/devices/+/up"]}
        told = tuple(Source.model_validate(one) for one in (home, ogc))
        settings = Settings(data_dir=tmp_path, broker=at, sources=(*told, source(context.url)))
        engine = create_engine_for(settings.database_url)
        migrate(engine)
        with running(settings, engine) as service:
            soon(lambda: values("58", "level"))
            soon(lambda: values("urn:ngsi-ld:NoiseLevelObserved:n1", "level"))
            notified = {"type": "Notification", "data": [noise(2, 61)]}
            with engine.begin() as connection:
                posted.put(connection, "noise", json.dumps(notified).encode())
                made.put(connection, Source.model_validate(lora), is_active=True)
            soon(lambda: values("urn:ngsi-ld:NoiseLevelObserved:n2", "level"))

            def tell(topic: str, payload: Any, sensor: str, field: str) -> bool:
                listener.publish(topic, json.dumps(payload), 1)
                return bool(values(sensor, field))

            found = "homeassistant/sensor/hall/config"
            soon(lambda: tell("v3/app/devices/lora-1/up", UPLINK, "lora-1", "level"))
            listener.publish(found, json.dumps(DISCOVERED), 1)
            state = {"temperature": 68}
            soon(lambda: tell("home/hall/state", state, "hall-t", "temperature_c"))
            with engine.begin() as connection:
                made.remove(connection, "lora")
            soon(lambda: "lora" not in service._runs)
        with engine.connect() as connection:
            assert posted.waiting(connection, "noise") == []
        engine.dispose()
    assert values("hall-t", "temperature_c")[0] == 20
    assert values("58", "level") == [58]
    assert values("urn:ngsi-ld:NoiseLevelObserved:n1", "level") == [60]
    assert values("lora-1", "level")[0] == 61
