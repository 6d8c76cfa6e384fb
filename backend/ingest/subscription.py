"""The broker's messages as they wait for the ingest's writer; none is acknowledged before."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Iterable
from datetime import UTC, datetime

import paho.mqtt.client as paho
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from backend import mqtt
from backend.settings import Broker

LOG = logging.getLogger("citywise.ingest")
CLIENT_ID = "ingest"
TOPICS = ("places/#", "observations/#", "events/#", "context/#", "clock")
_QUEUE = 2000
_GROUP = 500
_GROUP_BYTES = 8_000_000
_WAIT_SECONDS = 0.05
Message = tuple[paho.MQTTMessage, datetime]
"""A message and when it arrived."""


class Subscription:
    """Receives while it is open; a full queue holds the network back, and the broker with it."""

    def __init__(self, broker: Broker, stop: threading.Event) -> None:
        self._broker = broker
        self._stop = stop
        self._messages: queue.Queue[Message] = queue.Queue(_QUEUE)
        self._client: paho.Client | None = None
        self.reconnected = threading.Event()
        """Set when the broker may have held messages back that come now."""

    def open(self) -> None:
        """Connect, and take what comes, until it is closed."""
        self._client = mqtt.connect(
            self._broker, CLIENT_ID, persistent=True, manual_ack=True, prepare=self._prepare
        )

    def close(self) -> None:
        """Disconnect; the broker keeps what was not acknowledged."""
        if self._client is not None:
            self._client.disconnect()
            self._client.loop_stop()

    # -- the network thread -------------------------------------------------------------

    def _prepare(self, client: paho.Client) -> None:
        client.on_connect = self._on_connect
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
            LOG.warning("broker refuses: %s", reason)
            return
        self.reconnected.set()
        client.subscribe([(f"{self._broker.prefix}/{topic}", 1) for topic in TOPICS])

    def _on_message(self, _client: paho.Client, _data: object, message: paho.MQTTMessage) -> None:
        while not self._stop.is_set():
            try:
                self._messages.put((message, datetime.now(UTC)), timeout=0.5)
                return
            except queue.Full:
                continue

    # -- the writer's thread ------------------------------------------------------------

    def group(self) -> list[Message]:
        """What has arrived, up to a group's size; waits a moment for the first."""
        try:
            group = [self._messages.get(timeout=_WAIT_SECONDS)]
        except queue.Empty:
            return []
        size = len(group[0][0].payload)
        while len(group) < _GROUP and size < _GROUP_BYTES:
            try:
                group.append(self._messages.get_nowait())
            except queue.Empty:
                break
            size += len(group[-1][0].payload)
        return group

    def acknowledge(self, group: Iterable[Message]) -> None:
        """Tell the broker that messages are durable with us."""
        assert self._client is not None
        for message, _at in group:
            self._client.ack(message.mid, message.qos)

    def oldest_waiting(self) -> datetime | None:
        """When the oldest message that no group has had yet arrived; None if none waits."""
        with self._messages.mutex:
            arrived: datetime | None = self._messages.queue[0][1] if self._messages.queue else None
        return arrived

    @property
    def is_connected(self) -> bool:
        """Whether the broker answers."""
        return self._client is not None and self._client.is_connected()

    def tell(self, payload: bytes) -> None:
        """Publish how the ingest fares, where the broker answers."""
        if self._client is not None and self.is_connected:
            topic = mqtt.status_topic(self._broker, CLIENT_ID)
            self._client.publish(topic, payload, retain=True)
