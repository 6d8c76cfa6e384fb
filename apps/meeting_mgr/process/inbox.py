"""Readings as they come from the broker: kept until they are taken, and nowhere else.

The session is clean and nothing is retained: a reading that was missed is worth nothing, the
next comes within a second.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import NamedTuple

import paho.mqtt.client as paho
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from apps.meeting_mgr import topics
from apps.meeting_mgr.model import APP
from apps.meeting_mgr.topics import Source
from backend import mqtt
from backend.settings import Broker
from backend.times import wall_ms

MOST = 20_000
"""Messages that wait to be taken; beyond it the oldest go."""


class Heard(NamedTuple):
    """A message, and when it came, in Unix milliseconds of the wall."""

    source: Source
    payload: bytes
    heard_ms: int


class Inbox:
    """Hears readings in a thread of its own, from `open` to `close`."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._client: paho.Client | None = None
        self._waiting: deque[Heard] = deque(maxlen=MOST)
        self._connected = threading.Event()
        self.arrived = threading.Event()
        """Set while something waits to be taken, for who has nothing else to do."""
        self.lost = 0
        """Messages that nobody took in time, since the start."""

    @property
    def is_open(self) -> bool:
        """Whether it was opened; it then connects again by itself."""
        return self._client is not None

    @property
    def is_connected(self) -> bool:
        """Whether it hears."""
        return self._connected.is_set()

    def open(self) -> None:
        """Connect; raises `ConnectionError` or `BrokerRefusedError`."""
        self._client = mqtt.connect(self._broker, APP, prepare=self._prepare)

    def wait_connected(self, seconds: float) -> bool:
        """Wait until it hears; False if it does not after `seconds`."""
        return self._connected.wait(seconds)

    def take(self) -> list[Heard]:
        """What has come since, oldest first."""
        self.arrived.clear()
        return [self._waiting.popleft() for _ in range(len(self._waiting))]

    def close(self) -> None:
        """End the connection; what nobody took is gone."""
        if self._client is not None:
            self._client.disconnect()
            self._client.loop_stop()
        self._client = None
        self._waiting.clear()

    # -- the network thread -----------------------------------------------------------

    def _prepare(self, client: paho.Client) -> None:
        client.on_connect = self._on_connect
        client.on_subscribe = lambda *_: self._connected.set()
        client.on_disconnect = lambda *_: self._connected.clear()
        client.on_message = self._on_message

    def _on_connect(
        self,
        client: paho.Client,
        _data: object,
        _flags: paho.ConnectFlags,
        reason: ReasonCode,
        _properties: Properties | None,
    ) -> None:
        if reason.is_failure:
            return
        prefix = self._broker.prefix
        client.subscribe([(f"{prefix}/{pattern}", 1) for pattern in topics.TOPICS.read])
        status = mqtt.status_topic(self._broker, APP)
        client.publish(status, mqtt.status_payload("online"), retain=True)

    def _on_message(self, _client: paho.Client, _data: object, message: paho.MQTTMessage) -> None:
        source = topics.source(self._broker, message.topic)
        if source is None or message.retain:  # retained: nobody knows how old it is
            return
        if len(self._waiting) == MOST:
            self.lost += 1
        self._waiting.append(Heard(source, bytes(message.payload), wall_ms()))
        self.arrived.set()
