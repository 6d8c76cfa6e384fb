"""A system that knows a kind of its own and none of those that come with Citywise."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion
from sqlalchemy import select
from sqlalchemy.orm import Session

from citywise.backend.kinds import installed
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


def test_it_starts_takes_what_it_knows_and_says_why_not_the_rest(tmp_path: Path) -> None:
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
        engine.dispose()
