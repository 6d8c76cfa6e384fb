"""An embedded broker with rights, and clients that tell what it said to them."""

from __future__ import annotations

import json
import queue
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from citywise.backend.broker import BrowserListener, EmbeddedBroker
from citywise.backend.network.topics import Topics
from citywise.backend.people.secret import broker_hash
from citywise.backend.settings import Broker

REFUSED = 128
SENT = 120.0
"""Seconds within which a broker on this machine answers, however much else it does."""


def secret_of(device: str) -> str:
    """What a device shows to the broker."""
    return f"secret of {device}"


class City:
    """An embedded broker with devices."""

    def __init__(
        self,
        folder: Path,
        rights: Mapping[str, Mapping[str, Any]],
        apps: Mapping[str, Topics] | None = None,
        sources: Mapping[str, list[str]] | None = None,
    ) -> None:
        self.sources = dict(sources or {})
        self.file = folder / "broker-rights.json"
        self.write(rights)
        browsers = BrowserListener("127.0.0.1", 0)
        self.embedded = EmbeddedBroker(
            0, "city", "password", prefix="town", rights=self.file, browsers=browsers, apps=apps
        )
        self.settings = Broker(
            port=self.embedded.start(), username="city", password="password", prefix="town"
        )

    def write(self, rights: Mapping[str, Mapping[str, Any]]) -> None:
        entries: dict[str, Mapping[str, Any]] = {
            device: {"hash": broker_hash(secret_of(device)), "expires_ms": None, **entry}
            for device, entry in rights.items()
        }
        entries["$sources"] = self.sources
        self.file.write_text(json.dumps(entries), encoding="utf-8")

    def port(self, transport: Literal["tcp", "websockets"]) -> int:
        found = self.embedded.websocket_port if transport == "websockets" else self.settings.port
        assert found is not None
        return found


class Client:
    """Somebody at the broker; `answer` is what the broker said to the connection."""

    def __init__(
        self, city: City, user: str | None, secret: str | None, name: str | None = None, **more: Any
    ) -> None:
        self.heard: queue.Queue[tuple[str, bytes]] = queue.Queue()
        self.gone, self._answered = threading.Event(), threading.Event()
        self._granted: queue.Queue[int] = queue.Queue()
        self.answer = ""
        self._paho = paho.Client(
            CallbackAPIVersion.VERSION2,
            name or user,
            clean_session=more.get("clean", True),
            reconnect_on_failure=False,
            transport=more.get("transport", "tcp"),
        )
        if user is not None:
            self._paho.username_pw_set(user, secret)
        if will := more.get("will"):
            self._paho.will_set(will, b"{}", 1, more.get("retain", False))
        self._paho.on_connect = self._connected
        self._paho.on_disconnect = lambda *_: self.gone.set()
        self._paho.on_message = lambda _c, _d, m: self.heard.put((m.topic, bytes(m.payload)))
        self._paho.on_subscribe = lambda _c, _d, _m, codes, _p: self._granted.put(codes[0].value)
        self._paho.connect("127.0.0.1", city.port(more.get("transport", "tcp")))
        self._paho.loop_start()
        assert self._answered.wait(SENT)

    def _connected(self, *given: Any) -> None:
        self.answer = str(given[3])
        self._answered.set()

    def reads(self, topic: str) -> bool:
        """Whether a subscription is granted."""
        self._paho.subscribe(topic, 1)
        return self._granted.get(timeout=SENT) != REFUSED

    def sends(self, topic: str, payload: bytes = b"{}", retain: bool = False) -> bool:
        """Whether the broker takes a message; it ends the connection of a process of ours that may
        not send it."""
        sent = self._paho.publish(topic, payload, 1, retain)
        deadline = time.monotonic() + SENT
        with suppress(RuntimeError):  # the connection ended while it was sent
            while not sent.is_published() and not self.gone.wait(0.002):
                assert time.monotonic() < deadline, "the broker said nothing"
            return sent.is_published()
        return False

    def break_off(self) -> None:
        """Lose the connection without a farewell, so that the broker sends the last will."""
        connection = self._paho.socket()
        assert isinstance(connection, socket.socket)
        connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._paho.disconnect()
        self._paho.loop_stop()
        self._paho._reset_sockets()  # else the collector may find them open


@contextmanager
def client(city: City, user: str, **more: Any) -> Iterator[Client]:
    """A device, a process of ours (`citywise.<role>`) or the operator, connected."""
    broker = city.settings
    if user.startswith("citywise."):
        broker = broker.of_process(user.removeprefix("citywise."))
        more = {"name": user.removeprefix("citywise."), **more}
    is_ours = user == "city" or user.startswith("citywise.")
    secret = broker.password if is_ours else secret_of(user)
    found = Client(city, user, secret, **more)
    assert found.answer == "Success"
    try:
        yield found
    finally:
        found.close()
