"""Apps in the whole running system: users come, change their minds and go, and nothing is
started again for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.request import Request, urlopen

import orjson
import paho.mqtt.client as paho
import pytest

from backend import mqtt
from backend.supervisor import System
from tests.street import running as street

pytestmark = [pytest.mark.spark, pytest.mark.slow]

USERS = ("alice", "bob")
WISH = {"app": "contextual_filtering", "template": "critical_events"}
ROUTE = {"coordinates": [[10.19, 56.15], [10.22, 56.15]]}
HERE = {"lat": 56.15, "lon": 10.195}
JAM = {
    "type": "TrafficJam", "level": 3, "start_ms": 1_780_000_000_000, "source": "sensor",
    "geometry": {"type": "Point", "coordinates": [10.21, 56.1509]},  # 100 m beside the way
}  # fmt: skip


class City:
    """A running system, and phones that tell it of their users."""

    def __init__(self, system: System, client: paho.Client) -> None:
        self.system, self._client = system, client

    def publish(self, topic: str, payload: Any) -> None:
        data = b"" if payload is None else orjson.dumps(payload)
        self._client.publish(f"citywise/{topic}", data, qos=1).wait_for_publish(10)

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        request = Request(
            f"{self.system.url}/api/v1/{path}",
            None if body is None else orjson.dumps(body),
            {"Content-Type": "application/json"},
            method=method,
        )
        with urlopen(request) as answer:
            found: dict[str, Any] = orjson.loads(answer.read())
        return found

    def notices(self) -> set[tuple[str, str]]:
        """Instance and last change of the notices there have been."""
        found = [n for user in USERS for n in self.ask("GET", f"notices?user={user}")["notices"]]
        return {(notice["instance"], notice["change"]) for notice in found}

    def until(self, condition: Callable[[], bool]) -> None:
        street.wait_until(self.system, condition, 20)


@pytest.fixture
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[City]:
    with street.system(tmp_path_factory.mktemp("city"), None) as system:
        client = mqtt.connect(system.settings.broker, "phones")
        yield City(system, client)
        client.disconnect()
        client.loop_stop()


def test_instances_come_change_and_go_while_the_system_runs(city: City) -> None:
    processes = {role: child.process.pid for role, child in city.system.children.items()}
    for user in ("alice", "bob"):
        city.publish(
            f"context/{user}", {"route": ROUTE, "position": HERE, "activity": "DrivingCar"}
        )
    city.publish("events/jam-1", JAM)
    alice = city.ask("POST", "instances", {**WISH, "user": "alice", "values": {"radius": 200}})
    city.until(lambda: city.notices() == {(alice["id"], "opened")})
    why = city.ask("GET", f"why?instance={alice['id']}&about=jam-1")
    assert why["told"] is True

    bob = city.ask("POST", "instances", {**WISH, "user": "bob", "values": {"radius": 50}})
    city.ask("PUT", f"instances/{alice['id']}", {"values": {"radius": 60}})
    city.until(lambda: city.notices() == {(alice["id"], "closed")})
    city.ask("PUT", f"instances/{bob['id']}", {"values": {"radius": 300}})
    opened = {(alice["id"], "closed"), (bob["id"], "opened")}
    city.until(lambda: city.notices() == opened)

    city.ask("DELETE", f"instances/{bob['id']}")
    city.until(lambda: (bob["id"], "closed") in city.notices())
    (gone,) = city.ask("GET", "notices?user=bob")["notices"]
    assert gone["closed_because"] == "removed"
    assert {r: c.process.pid for r, c in city.system.children.items()} == processes
    names = {trace["request"] for trace in city.ask("GET", "traces")["traces"]}
    assert "contextual_filtering/critical_events@1" in names
