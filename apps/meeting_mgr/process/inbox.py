"""Readings as they come from the broker: kept until they are taken, and nowhere else.

The session is clean and nothing is retained: a reading that was missed is worth nothing, the
next comes within a second.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import NamedTuple

import paho.mqtt.client as paho

from citywise.apps.meeting_mgr import topics
from citywise.apps.meeting_mgr.model import APP
from citywise.apps.meeting_mgr.topics import Source
from citywise.backend.app import Settings, handing, times

MOST = 20_000
"""Messages that wait to be taken; beyond it the oldest go."""


class Heard(NamedTuple):
    """A message, and when it came, in Unix milliseconds of the wall."""

    source: Source
    payload: bytes
    heard_ms: int


class Inbox:
    """Hears readings in a thread of its own, from `open` to `close`."""

    def __init__(self, settings: Settings) -> None:
        self._prefix = settings.broker.prefix
        self._session = handing.BrokerSession(
            settings.broker, APP, topics.TOPICS.read, hear=self._hear, is_told=True
        )
        self._waiting: deque[Heard] = deque(maxlen=MOST)
        self.arrived = threading.Event()
        """Set while something waits to be taken, for who has nothing else to do."""
        self.lost = 0
        """Messages that nobody took in time, since the start."""

    @property
    def is_connected(self) -> bool:
        """Whether it hears."""
        return self._session.is_connected

    @property
    def refusal(self) -> str | None:
        """What the broker refuses, if anything."""
        return self._session.refusal

    def open(self) -> None:
        """Connect; it then connects again by itself. Raises `ConnectionError` or
        `BrokerRefusedError`."""
        self._session.open()

    def wait_connected(self, seconds: float) -> bool:
        """Wait until it hears; False if it does not after `seconds`."""
        return self._session.wait_connected(seconds)

    def take(self) -> list[Heard]:
        """What has come since, oldest first."""
        self.arrived.clear()
        return [self._waiting.popleft() for _ in range(len(self._waiting))]

    def close(self) -> None:
        """End the connection; what nobody took is gone."""
        self._session.close()
        self._waiting.clear()

    # -- the network thread -----------------------------------------------------------

    def _hear(self, message: paho.MQTTMessage) -> None:
        source = topics.source(self._prefix, message.topic)
        if source is None or message.retain:  # retained: nobody knows how old it is
            return
        if len(self._waiting) == MOST:
            self.lost += 1
        self._waiting.append(Heard(source, bytes(message.payload), times.wall_ms()))
        self.arrived.set()
