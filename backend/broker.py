"""The embedded MQTT broker: aedes on Node, for machines without one.

It keeps sessions and retained messages in memory; docs/delivery.md says what a broker
that dies hard can lose, and docs/decisions/embedded-broker.md why it is aedes.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from citywise.backend import machine
from citywise.backend.errors import CitywiseError
from citywise.backend.network import broker_rights, websocket
from citywise.backend.network.topics import Topics
from citywise.backend.packs.parts import of_settings
from citywise.backend.settings import Settings

SCRIPT = Path(__file__).with_name("broker.mjs")
_TOPIC_BYTES = 1024
_BROWSER_BYTES = 64 * 1024
"""Of one message of WebSocket: a frame may hold several of MQTT's."""


class BrokerError(CitywiseError):
    """The embedded broker could not be started."""

    exit_code = 3


@dataclass(frozen=True)
class SecureListener:
    """Where devices on the network reach the broker, over TLS."""

    host: str
    port: int
    """0: a free one; `EmbeddedBroker.secure_port` says which."""
    certificate: Path
    private_key: Path


@dataclass(frozen=True)
class BrowserListener:
    """Where browsers reach the broker by WebSocket, over TLS with a certificate."""

    host: str
    port: int
    """0: a free one; `EmbeddedBroker.websocket_port` says which."""
    certificate: Path | None = None
    private_key: Path | None = None


class EmbeddedBroker:
    """A broker process that ends with its parent; `start` returns when it accepts clients.

    Whoever has `username` and `password` may do everything; our own processes and devices have
    the rights of `broker_rights.mjs`, and what `apps` add to it. Without a user name everybody
    on this machine may do everything: for tests. `rights` is the file of
    `backend.network.broker_rights`, and `largest` how many bytes a message of a sensor may have.
    """

    def __init__(
        self,
        port: int = 0,
        username: str | None = None,
        password: str | None = None,
        *,
        prefix: str = "citywise",
        rights: Path | None = None,
        largest: int = 4_000_000,
        secure: SecureListener | None = None,
        browsers: BrowserListener | None = None,
        apps: Mapping[str, Topics] | None = None,
    ) -> None:
        self.port = port
        self.secure_port: int | None = None
        self.websocket_port: int | None = None
        self._orders = {
            "host": "127.0.0.1",
            "username": username,
            "password": password,
            "prefix": prefix,
            "rightsFile": None if rights is None else str(rights),
            "largest": largest + _TOPIC_BYTES,
            "secure": None if secure is None else _as_ordered(secure),
            "browsers": None if browsers is None else _of_browsers(browsers),
            "apps": _of_apps(apps or {}),
        }
        self.process: subprocess.Popen[str] | None = None

    @classmethod
    def of(cls, settings: Settings) -> EmbeddedBroker:
        """The broker of a system; on the network for devices where the settings say so."""
        broker, web = settings.broker, settings.web
        secure = browsers = None
        if websocket.is_open(settings):
            browsers = BrowserListener(
                web.host, broker.websocket_port, web.certificate, web.private_key
            )
        if broker.devices_port and web.certificate is not None and web.private_key is not None:
            secure = SecureListener(web.host, broker.devices_port, web.certificate, web.private_key)
        return cls(
            broker.port,
            broker.username,
            broker.password,
            prefix=broker.prefix,
            rights=broker_rights.path(settings),
            largest=settings.ingest.max_payload_bytes,
            secure=secure,
            browsers=browsers,
            apps={name: parts.topics for name, parts in of_settings(settings).items()},
        )

    @property
    def is_running(self) -> bool:
        """Whether its process has been started and has not ended."""
        return self.process is not None and self.process.poll() is None

    def start(self) -> int:
        """Start it and return the port; raises `BrokerError` with the broker's own words."""
        orders = json.dumps({**self._orders, "port": self.port})
        self.process = subprocess.Popen(
            [str(machine.node()), str(SCRIPT)],
            env={**os.environ, "CITYWISE_BROKER": orders},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line.startswith("listening "):
            self.process.kill()
            raise BrokerError(
                f"the embedded broker did not start on port {self.port or '(any)'}: "
                f"{line or 'see its message above'}; is the port taken, or is `make demo` "
                "needed to install it?"
            )
        ports = json.loads(line.removeprefix("listening "))
        self.port = int(ports["own"])
        self.secure_port, self.websocket_port = ports.get("secure"), ports.get("browsers")
        return self.port

    def stop(self) -> None:
        """End it and wait."""
        if self.process is None:
            return
        with self.process:
            self.process.terminate()
            try:
                self.process.wait(timeout=3)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process = None


def _as_ordered(place: SecureListener | BrowserListener) -> dict[str, object]:
    return {
        "host": place.host,
        "port": place.port,
        "certificate": None if place.certificate is None else str(place.certificate),
        "privateKey": None if place.private_key is None else str(place.private_key),
    }


def _of_browsers(place: BrowserListener) -> dict[str, object]:
    return {**_as_ordered(place), "largest": _BROWSER_BYTES}


def _of_apps(apps: Mapping[str, Topics]) -> dict[str, object]:
    own = {name: topics for name, topics in apps.items() if topics.read or topics.write}
    return {
        "processes": {name: {"read": t.read, "write": t.write} for name, t in own.items()},
        "web": [pattern for topics in apps.values() for pattern in topics.web],
        "sensors": [pattern for topics in apps.values() for pattern in topics.sensors],
    }
