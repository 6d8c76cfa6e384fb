"""A system that knows a kind of its own and none of those that come with Citywise."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from citywise.backend.ingest import log, records
from citywise.backend.ingest.records import Reading
from citywise.backend.kinds import installed
from citywise.backend.pipeline.results import Results
from citywise.backend.pipeline.worker import READINGS, Task, Worker
from citywise.backend.settings import KindFiles
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import DeadLetterRow, PlaceRow
from citywise.backend.supervisor import System
from tests.api.town import soon
from tests.small_system import small_system

pytestmark = pytest.mark.slow

SMELL = """\
kind = "smell"
places = ["nose"]

[fields.strength]
type = "decimal"
step = 0.5
range = [0, 10]
required = true

[map]
show = "strength"
steps = [[0, "good"], [5, "poor"]]
"""
NOSE = """\
place = "nose"
geometry = "point"

[fields.height_m]
type = "decimal"
step = 0.1
"""
PLACE = {
    "id": "n1",
    "kind": "nose",
    "name": "Torvet",
    "geometry": {"type": "Point", "coordinates": [10.2, 56.15]},
    "sensors": ["smell"],
    "height_m": 3.14,
    "owner": "me",
}


def publish(system: System, *messages: tuple[str, dict[str, Any]]) -> None:
    broker = system.settings.broker
    client = paho.Client(CallbackAPIVersion.VERSION2, client_id="nose")
    client.username_pw_set(broker.username, broker.password)
    client.connect(broker.host, broker.port)
    client.loop_start()
    soon(client.is_connected)
    for topic, body in messages:
        client.publish(f"citywise/{topic}", json.dumps(body), qos=1).wait_for_publish(30)
    client.disconnect()
    client.loop_stop()


def store_readings(system: System, engine: Engine) -> None:
    """Do the pipeline's task of the readings over the whole log, without Spark around it."""
    folder = str(system.settings.log_dir)

    def is_in_log(end: int) -> bool:
        return any(isinstance(entry, Reading) for entry in records.read(folder, 0, end))

    soon(lambda: is_in_log(log.durable_end(folder)))  # dead letters may be kept before it
    task = Task(READINGS, "", folder, 0, log.durable_end(folder), 0, {}, {})
    Results(engine).commit(Worker().run(task))


def get(system: System, path: str) -> Any:
    """What anybody is answered by the pages' process."""
    with urlopen(f"{system.url}/api/v1/{path}", timeout=60) as answer:
        return json.load(answer)


def test_it_starts_takes_and_shows_what_it_knows_and_says_why_not_the_rest(tmp_path: Path) -> None:
    (tmp_path / "kinds").mkdir()
    (tmp_path / "kinds" / "smell.toml").write_text(SMELL, encoding="utf-8")
    (tmp_path / "kinds" / "nose.toml").write_text(NOSE, encoding="utf-8")
    kinds = KindFiles(built_in=False, folders=(str(tmp_path / "kinds"),))
    with small_system(tmp_path / "data", kinds=kinds) as system:
        assert system.settings.pipeline.requests == ()
        engine = create_engine_for(system.settings.database_url)
        with engine.connect() as connection:
            assert list(installed.read(connection)) == ["smell"]
        publish(system, ("places/nose/n1", PLACE))

        def places() -> int:
            with Session(engine) as session:
                return len(session.scalars(select(PlaceRow)).all())

        soon(lambda: places() == 1)
        now = datetime.now(UTC).isoformat()
        publish(
            system,
            ("observations/smell", {"sensor": "n1", "observed_at": now, "strength": 6.3}),
            ("observations/smell", {"sensor": "n1", "observed_at": now, "strength": 63}),
            ("observations/traffic", {"sensor": "n1", "observed_at": now}),
            ("places/garage/g1", {**PLACE, "id": "g1", "kind": "garage"}),
        )

        def told() -> dict[str, str]:
            with Session(engine) as session:
                rows = session.scalars(select(DeadLetterRow))
                return {row.topic.removeprefix("citywise/"): row.detail for row in rows}

        soon(lambda: len(told()) == 3)
        assert "less than or equal to 10" in told()["observations/smell"]
        assert (
            "no kind of observations `traffic`; there are smell" in told()["observations/traffic"]
        )
        assert "no kind of place `garage`; there are nose" in told()["places/garage/g1"]
        with Session(engine) as session:
            (place,) = session.scalars(select(PlaceRow))
        assert (place.body["height_m"], place.body["owner"]) == (3.1, "me")
        store_readings(system, engine)
        (reading,) = get(system, "readings")["readings"]
        assert (reading["kind"], reading["place_id"], reading["strength"]) == ("smell", "n1", 6.5)
        (shown,) = get(system, "places?kind=nose")["features"]
        assert shown["properties"]["name"] == "Torvet"
        told_kinds = get(system, "kinds")
        assert [(one["kind"], one["map"]["steps"]) for one in told_kinds["kinds"]] == [
            ("smell", [[0, "good"], [5, "poor"]])
        ]
        assert [one["place"] for one in told_kinds["places"]] == ["nose"]
        engine.dispose()
