"""A person in the whole running system consents, is told something, is read by nobody else, takes
everything along, and is forgotten."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from citywise.backend import mqtt
from citywise.backend.supervisor import System
from tests.street import running as street
from tests.street.city import City

pytestmark = [pytest.mark.spark, pytest.mark.slow]

WISH = {"app": "contextual_filtering", "template": "critical_events"}
NAME = "Ingeborg Vestergaard"
WORDS = "sheep on a windy hill"
TITLE = "Mit hemmelige hjørne"
HOME = {"lat": 56.1512345, "lon": 10.1954321}
WAY = {"coordinates": [[10.1954321, 56.1512345], [10.2212345, 56.1500001]]}
JAM = {
    "type": "TrafficJam", "level": 3, "start_ms": 1_780_000_000_000, "source": "sensor",
    "geometry": {"type": "Point", "coordinates": [10.21, 56.1509]},  # 100 m beside the way
}  # fmt: skip


class Person:
    """Somebody in a browser."""

    def __init__(self, url: str, name: str) -> None:
        self.http = httpx.Client(base_url=f"{url}/api/v1", timeout=120)
        self.me = self.ask("POST", "accounts", {"name": name, "password": WORDS})
        self.http.headers["X-CSRF-Token"] = self.me["csrf"]
        self.user: str = self.me["user"]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.http.request(method, path, json=body)
        assert answer.status_code < 300, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None


def found_in(folder: Path, marks: list[str]) -> set[str]:
    """Files of a folder that hold any of some texts, whatever their case."""
    pattern = re.compile("|".join(map(re.escape, marks)).encode(), re.IGNORECASE)
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)) for path in files if pattern.search(path.read_bytes())}


@pytest.fixture
def city(city: City) -> Iterator[City]:
    """The running city, which is ended also where a test fails: the next try has another."""
    yield city
    city.system.stop()


def test_who_is_forgotten_leaves_no_trace(city: City) -> None:
    """The system is stopped at the end, so that all it wrote can be searched."""
    system = city.system
    city.publish("events/jam-1", JAM)
    person, other = Person(system.url, NAME), Person(system.url, "Bo")
    for subject in ("position", "route", "activity", "preferences"):
        person.ask("PUT", f"me/consents/{subject}", {"given": True})
    device = person.ask("POST", "me/tokens", {"label": "phone", "rights": ["context", "notices"]})
    told: Any = {"route": WAY, "activity": "DrivingCar", "preferences": {"motto": "Hellere ravn"}}
    person.ask("PATCH", f"users/{person.user}/context", told)
    phone = _phone(system, device)
    told = orjson.dumps({"position": HOME})
    phone.publish(f"citywise/context/{person.user}", told, qos=1).wait_for_publish(120)
    made = person.ask(
        "POST",
        "instances",
        {**WISH, "values": {"interest": "my_route", "radius": 200}, "title": TITLE},
    )

    def told_of() -> list[Any]:
        found: list[Any] = person.ask("GET", "notices")["notices"]
        return found

    street.wait_until(system, lambda: len(told_of()) == 1)
    assert other.ask("GET", "notices")["notices"] == []
    taken = person.ask("GET", "me/export")
    assert taken["account"]["name"] == NAME
    assert taken["context"]["position"]["lat"] == HOME["lat"]
    assert [found["id"] for found in taken["instances"]] == [made["id"]]
    assert [found["id"] for found in taken["notices"]] == [told_of()[0]["id"]]

    folder = system.settings.data_dir
    secrets = [TITLE, "Hellere ravn", "56.1512345", "10.1954321"]
    marks = [NAME, person.user, device["id"], *secrets]
    assert not any("log/" in name for name in found_in(folder, secrets)), "the log is sealed"
    assert found_in(folder, marks)
    person.ask("DELETE", "me", {"password": WORDS})
    assert person.http.get("me").json()["user"] != person.user
    street.wait_until(system, lambda: _count(system, "forgettings") == 0)
    phone.disconnect()
    phone.loop_stop()
    assert other.ask("GET", "me")["user"] == other.user
    system.stop()
    person.http.close()
    other.http.close()
    assert found_in(folder, marks) == set()


def _phone(system: System, device: dict[str, Any]) -> paho.Client:
    broker = system.settings.broker.model_copy(
        update={"username": device["id"], "password": device["secret"], "embedded": False}
    )
    client = paho.Client(CallbackAPIVersion.VERSION2, client_id=device["id"])
    mqtt.identify(client, broker)
    client.connect(broker.host, broker.port)
    client.loop_start()
    street.wait_until(system, client.is_connected)
    return client


def _count(system: System, table: str) -> int:
    with system._database.connect() as connection:
        return int(connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())
