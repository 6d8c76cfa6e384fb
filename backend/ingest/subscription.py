"""The broker's messages as they wait for the ingest's writer; none is acknowledged before."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable
from datetime import UTC, datetime

import paho.mqtt.client as paho

from citywise.backend.mqtt_session import BrokerSession
from citywise.backend.settings import Broker

CLIENT_ID = "ingest"
TOPICS = ("places/#", "observations/#", "events/#", "context/#", "clock")
REFUSED = "$refused/+"
"""Where the embedded broker tells what it drops; not below the prefix."""
_QUEUE = 2000
_GROUP = 500
_GROUP_BYTES = 8_000_000
_WAIT_SECONDS = 0.05
Message = tuple[paho.MQTTMessage, datetime]
"""A message and when it arrived."""


def topic_of(message: paho.MQTTMessage) -> str:
    """The topic of a message; a broker that does not look lets some pass that are not UTF-8."""
    try:
        return message.topic
    except UnicodeDecodeError:
        return "(a topic that is not UTF-8)"


class Subscription:
    """Receives while it is open; a full queue holds the network back, and the broker with it."""

    def __init__(self, broker: Broker, stop: threading.Event) -> None:
        self._stop = stop
        self._messages: queue.Queue[Message] = queue.Queue(_QUEUE)
        self.reconnected = threading.Event()
        """Set when the broker may have held messages back that come now."""
        self._session = BrokerSession(
            broker,
            CLIENT_ID,
            (*TOPICS, REFUSED) if broker.embedded else TOPICS,
            hear=self._take,
            connected=self.reconnected.set,
            persistent=True,
            manual_ack=True,
        )

    def open(self) -> None:
        """Connect, and take what comes, until it is closed."""
        self._session.open()

    def close(self) -> None:
        """Disconnect; the broker keeps what was not acknowledged."""
        self._session.close()

    # -- the network thread -------------------------------------------------------------

    def _take(self, message: paho.MQTTMessage) -> None:
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
        for message, _at in group:
            self._session.acknowledge(message)

    def oldest_waiting(self) -> datetime | None:
        """When the oldest message that no group has had yet arrived; None if none waits."""
        with self._messages.mutex:
            arrived: datetime | None = self._messages.queue[0][1] if self._messages.queue else None
        return arrived

    @property
    def is_connected(self) -> bool:
        """Whether the broker answers."""
        return self._session.is_connected

    def tell(self, payload: bytes) -> None:
        """Publish how the ingest fares, where the broker answers."""
        if self.is_connected:
            self._session.tell(payload)
