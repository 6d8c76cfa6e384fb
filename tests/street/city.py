"""A running system, and who publishes to it and asks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import orjson
import paho.mqtt.client as paho

from citywise.backend import mqtt
from citywise.backend.supervisor import System
from tests.street import running as street


class City:
    """A running system, and sensors, detectors and phones that tell it things."""

    def __init__(self, system: System, client: paho.Client) -> None:
        self.system, self._client = system, client

    def publish(self, topic: str, payload: Any, retain: bool = False) -> None:
        """Publish JSON, bytes as they are, or nothing at all (None)."""
        data = payload if isinstance(payload, bytes) else orjson.dumps(payload)
        data = b"" if payload is None else data
        self._client.publish(f"citywise/{topic}", data, qos=1, retain=retain).wait_for_publish(30)

    def send(self, topic: str, payload: bytes) -> None:
        """Publish to any topic, as another system does at the same broker."""
        self._client.publish(topic, payload, qos=1).wait_for_publish(30)

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """What the API answers."""
        request = Request(
            f"{self.system.url}/api/v1/{path}",
            None if body is None else orjson.dumps(body),
            {"Content-Type": "application/json"},
            method=method,
        )
        with urlopen(request, timeout=120) as answer:
            text = answer.read()
        found: dict[str, Any] = orjson.loads(text) if text else {}
        return found

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so."""
        street.wait_until(self.system, condition)


@contextmanager
def running(
    folder: Path, play: dict[str, Any] | None, publisher: str, *apps: Path
) -> Iterator[City]:
    """A city in `folder` (see `street.system`), and a client of the broker."""
    with street.system(folder, play, apps=apps) as system:
        client = mqtt.connect(system.settings.broker, publisher)
        yield City(system, client)
        client.disconnect()
        client.loop_stop()
