"""What the web hands to the broker again and again: one connection for all of a process."""

from __future__ import annotations

import threading
import uuid

from citywise.backend import mqtt
from citywise.backend.errors import CitywiseError
from citywise.backend.mqtt_session import BrokerSession
from citywise.backend.settings import Broker

WAIT_S = 5.0
"""For the broker to say that it has a message."""


class NotHandedError(CitywiseError):
    """The broker did not take a message; it may come again."""


class _Hand:
    """A connection that is made when it is first needed."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._session = BrokerSession(broker, f"web-observations-{uuid.uuid4().hex[:12]}")
        self._opening = threading.Lock()

    def give(self, topic: str, payload: bytes) -> None:
        try:
            with self._opening:
                if not self._session.is_open:
                    self._session.open()
            if not self._session.wait_connected(WAIT_S):
                raise self._away(self._session.refusal or "it does not answer")
            info = self._session.publish(topic, payload, 1)
            info.wait_for_publish(WAIT_S)
        except (OSError, RuntimeError, ValueError, mqtt.BrokerRefusedError) as error:
            raise self._away(str(error)) from error
        if not info.is_published():
            raise self._away("it does not answer")

    def close(self) -> None:
        self._session.close()

    def _away(self, why: str) -> NotHandedError:
        at = f"{self._broker.host}:{self._broker.port}"
        return NotHandedError(f"not handed to the broker at {at}: {why}; send it again")


_hands: dict[Broker, _Hand] = {}


def hand(broker: Broker, topic: str, payload: bytes) -> None:
    """Publish at a whole topic, and wait until the broker has it (QoS 1); raises
    `NotHandedError`."""
    found = _hands.get(broker) or _hands.setdefault(broker, _Hand(broker))
    found.give(topic, payload)


def close() -> None:
    """End the connections of this process."""
    while _hands:
        _hands.popitem()[1].close()
