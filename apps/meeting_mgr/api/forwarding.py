"""Readings that browsers post, on their way to the broker: nothing of them is kept.

The web process has one connection for all, made when the first reading comes. Readings go out
once (QoS 0): one that is lost with a broken connection is replaced within a second, and one
sent again later would be taken for a new one.
"""

from __future__ import annotations

import threading
import uuid

import paho.mqtt.client as paho
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from apps.meeting_mgr import topics
from backend import mqtt
from backend.errors import CitywiseError
from backend.settings import Broker, Settings

CONNECT_S = 1.0
_ROLE = "web-readings"


class NotForwardedError(CitywiseError):
    """The broker is away: the reading is gone, the next may come through."""


class Forwarder:
    """A connection that is made when it is first needed, and made again when it broke."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._client: paho.Client | None = None
        self._connected = threading.Event()
        self._connecting = threading.Lock()

    def send(self, meeting: str, person: str, body: bytes) -> None:
        """Hand a reading to the broker; raises `NotForwardedError`."""
        topic = topics.of_person(self._broker, meeting, person)
        sent = self._open().publish(topic, body, 0)
        if sent.rc != paho.MQTT_ERR_SUCCESS:
            raise self._away(paho.error_string(sent.rc))

    def close(self) -> None:
        """End the connection."""
        if self._client is not None:
            self._client.disconnect()
            self._client.loop_stop()
        self._client = None

    def _open(self) -> paho.Client:
        with self._connecting:
            if self._client is None:
                self._client = self._made()
        if not self._connected.wait(CONNECT_S):
            raise self._away("it does not answer")
        return self._client

    def _made(self) -> paho.Client:
        name = f"{_ROLE}-{uuid.uuid4().hex[:12]}"
        try:
            return mqtt.connect(self._broker, name, prepare=self._prepare)
        except (OSError, mqtt.BrokerRefusedError) as error:
            raise self._away(str(error)) from error

    def _prepare(self, client: paho.Client) -> None:
        client.on_connect = self._on_connect
        client.on_disconnect = lambda *_: self._connected.clear()

    def _on_connect(
        self,
        _client: paho.Client,
        _data: object,
        _flags: paho.ConnectFlags,
        reason: ReasonCode,
        _properties: Properties | None,
    ) -> None:
        if not reason.is_failure:
            self._connected.set()

    def _away(self, why: str) -> NotForwardedError:
        broker = self._broker
        return NotForwardedError(
            f"the reading was not handed to the broker at {broker.host}:{broker.port}: {why}; "
            "send the next one"
        )


_forwarders: dict[Broker, Forwarder] = {}


def send(settings: Settings, meeting: str, person: str, body: bytes) -> None:
    """Hand a reading of somebody in a meeting to the broker of a system; raises
    `NotForwardedError`."""
    broker = settings.broker
    _forwarders.setdefault(broker, Forwarder(broker)).send(meeting, person, body)


def close() -> None:
    """End the connections of this process."""
    while _forwarders:
        _forwarders.popitem()[1].close()
