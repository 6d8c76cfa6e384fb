"""People with pages and phones in a running system, who count what they are told."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

import orjson
import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from sqlalchemy import Engine

from citywise.backend.people import accounts, logins, tokens
from citywise.backend.supervisor import System
from tests.notices.device import Device

WEST, EAST, STEPS = 10.1, 10.3, 1000
TITLE, PLACE_LAT = "Something happens", 56.15
ANSWERS_PER_S = 15.0


def lon(number: int) -> float:
    """Where event `number` is; never on a border between people's areas."""
    return WEST + (number * 37 % STEPS + 0.5) * (EAST - WEST) / STEPS


def level(number: int) -> int:
    return 1 + number * 7 % 5


@dataclass(frozen=True)
class Wish:
    """What somebody wants to be told of: what happens between two meridians and is so bad."""

    west: float
    east: float
    least: int
    muted: bool = False

    def has(self, number: int) -> bool:
        """Whether event `number` is to be told."""
        return self.west <= lon(number) <= self.east and level(number) >= self.least

    @property
    def values(self) -> dict[str, Any]:
        """The parameters of the instance that asks for it."""
        south, north = PLACE_LAT - 0.1, PLACE_LAT + 0.1
        (a, b), (c, d) = (self.west, south), (self.east, north)
        ring = [[a, b], [c, b], [c, d], [a, d], [a, b]]
        return {"area": {"type": "Polygon", "coordinates": [ring]}, "least": self.least}


@dataclass
class Person:
    """Somebody with an account who is logged in, and with a phone."""

    user: str
    cookie: str
    csrf: str
    device: str
    secret: str
    wish: Wish

    @classmethod
    def sign_up(cls, engine: Engine, name: str, wish: Wish) -> Person:
        """A new account, login and token."""
        with engine.begin() as connection:
            account = accounts.create(connection, name, "sheep on a windy hill")
            login, secret = logins.open_login(connection, account.id, hours=2)
            token, key = tokens.issue(connection, account.id, "phone", ["notices"])
        return cls(account.id, f"citywise-login={secret}", login.csrf, token.id, key, wish)

    def ask(self, system: System, method: str, path: str, body: Any = None) -> Any:
        """Do what a page would, and what is answered; it must be answered well."""
        told = {"Cookie": self.cookie, "X-CSRF-Token": self.csrf}
        return asked(system, method, path, body, told)[0]


class NotServedError(OSError):
    """The web cannot answer now."""


def asked(
    system: System, method: str, path: str, body: Any, headers: dict[str, str]
) -> tuple[Any, str]:
    """What the API answers, and the cookie it gives; what it refuses is an error."""
    port = system.settings.web.port
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=120)) as address:
        kind = {"Content-Type": "application/json", "Origin": f"http://127.0.0.1:{port}"}
        text = None if body is None else json.dumps(body)
        address.request(method, f"/api/v1/{path}", text, kind | headers)
        answer = address.getresponse()
        found = answer.read()
    if answer.status >= 500:
        raise NotServedError(answer.status, found.decode(errors="replace"))
    assert answer.status < 300, f"{method} {path}: {answer.status} {found!r}"
    cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]
    return json.loads(found) if found else None, cookie


@dataclass
class Told:
    """What came to somebody by one way: change, event and whether it alerts, in order."""

    changes: list[tuple[str, str, bool]] = field(default_factory=list)
    last: int | None = None
    closed: int = 0
    repeated: int = 0

    def take(self, number: int, notice: dict[str, Any]) -> None:
        """Note a notice that came as announcement `number`."""
        if self.last is not None and number <= self.last:
            self.repeated += 1
            return
        self.last = number
        self.closed += notice["change"] == "closed"
        self.changes.append((notice["change"], notice["about"]["id"], notice["alert"]))

    def of(self, change: str) -> list[str]:
        """The events of which a change was told."""
        return [event for kind, event, _ in self.changes if kind == change]


class Stream(threading.Thread):
    """A page's event stream: it comes back where it was when it is dropped."""

    def __init__(self, system: System, person: Person) -> None:
        super().__init__(daemon=True)
        self.told = Told()
        self.opened = self.resets = 0
        self._system, self._cookie = system, person.cookie
        self._ends = threading.Event()
        self._socket: socket.socket | None = None
        self.start()

    def run(self) -> None:
        while not self._ends.is_set():
            with suppress(OSError, ValueError):
                self._read()
            self._ends.wait(0.2)

    def drop(self) -> None:
        """The network is gone for a moment."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        self._ends.set()
        self.drop()
        self.join(10)

    def _read(self) -> None:
        # An answer to HTTP/1.0 comes in one piece.
        head = f"GET /api/v1/events/stream HTTP/1.0\r\nHost: localhost\r\nCookie: {self._cookie}"
        if self.told.last is not None:
            head += f"\r\nLast-Event-ID: {self.told.last}"
        address = ("127.0.0.1", self._system.settings.web.port)
        with socket.create_connection(address, 40) as self._socket:
            self._socket.sendall(f"{head}\r\n\r\n".encode())
            with self._socket.makefile("rb") as lines:
                if b" 200 " not in lines.readline():
                    return
                self.opened += 1
                self._follow(lines)

    def _follow(self, lines: Iterable[bytes]) -> None:
        event, number = "", 0
        for line in lines:
            name, _, value = line.rstrip(b"\n").partition(b": ")
            if name == b"event":
                event = value.decode()
            elif name == b"id":
                number = int(value)
            elif name == b"data":
                self._take(event, number, value)

    def _take(self, event: str, number: int, data: bytes) -> None:
        if event == "notice":
            self.told.take(number, orjson.loads(data))
        elif event == "reset":
            self.resets += 1
        elif event == "hello" and self.told.last is None:
            self.told.last = number


class _Screen(Device):
    """A device that keeps no more than what is counted."""

    def __init__(self) -> None:
        super().__init__()
        self.told = Told()

    def show(self, message: dict[str, Any]) -> None:
        self.told.take(message["announced"], message)


class Phone:
    """A device at the broker: its client is gone and back as paho does it by itself."""

    def __init__(self, system: System, person: Person) -> None:
        self.screen = _Screen()
        self.messages = 0
        self._answer: bytes | None = None
        self._ends = threading.Event()
        broker = system.settings.broker
        self._topic = f"{broker.prefix}/notices/{person.user}/{person.device}"
        self.client = paho.Client(CallbackAPIVersion.VERSION2, person.device)
        self.client.username_pw_set(person.device, person.secret)
        self.client.reconnect_delay_set(1, 2)
        self.client.on_connect = lambda client, *_: client.subscribe(self._topic, 1)
        self.client.on_subscribe = self._on_subscribe
        self.client.on_message = self._on_message
        self._answering = threading.Thread(target=self._answer_now_and_then, daemon=True)
        self.client.connect(broker.host, broker.port, 20)

    def live(self) -> Phone:
        """Take and answer what comes."""
        self.client.loop_start()
        self._answering.start()
        return self

    def die(self) -> Phone:
        """Subscribe, and then never read again, with the connection open."""
        deadline = time.monotonic() + 10
        self.client.on_message = lambda *_: None
        while self._answer is None and time.monotonic() < deadline:
            self.client.loop(0.1)
        return self

    def end(self) -> None:
        self._ends.set()
        self.client.disconnect()
        self.client.loop_stop()

    def _on_subscribe(self, client: paho.Client, *_: object) -> None:
        self._answer = self.screen.begin()
        client.publish(f"{self._topic}/seen", self._answer, 1)

    def _on_message(self, _client: paho.Client, _data: object, message: paho.MQTTMessage) -> None:
        self.messages += 1
        self._answer = self.screen.take(bytes(message.payload))

    def _answer_now_and_then(self) -> None:
        """The last answer says it all; the broker takes no more than a few a second."""
        said = None
        while not self._ends.wait(1 / ANSWERS_PER_S):
            if self._answer != said:
                said = self._answer
                self.client.publish(f"{self._topic}/seen", said, 1)
