"""What a process hands to the broker again and again: one connection for all, made when the first
message comes and made again when it broke."""

from __future__ import annotations

import threading
import time
import uuid

import paho.mqtt.client as paho

from citywise.backend import mqtt
from citywise.backend.errors import CitywiseError
from citywise.backend.mqtt_session import BrokerSession
from citywise.backend.network.broker_rights import write as tell_broker
from citywise.backend.settings import Broker

__all__ = ["BrokerSession", "Hand", "NotHandedError", "close", "hand", "tell_broker"]
WAIT_S = 5.0
REST_S = 1.0
"""So long after a broker was not there it is not looked for again."""


class NotHandedError(CitywiseError):
    """The broker did not take a message; it may come again."""


class Hand:
    """A connection for messages.

    Parameters
    ----------
    patience_s:
        How long to wait for the broker: for a connection, and for its word.
    is_sure:
        Whether to wait until the broker says that it has a message (QoS 1). Else it goes out once
        (QoS 0): lost where the connection breaks, and never late.
    """

    def __init__(self, broker: Broker, patience_s: float = WAIT_S, *, is_sure: bool = True) -> None:
        self._broker, self._is_sure = broker, is_sure
        self.patience_s = patience_s
        self._session = BrokerSession(broker, f"web-{uuid.uuid4().hex[:12]}")
        self._connecting = threading.Lock()
        self._failed: tuple[str, float] | None = None
        """Why it could not connect last, and until when (monotonic) it does not try again."""

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection now."""
        return self._session.is_connected

    def give(self, topic: str, payload: bytes) -> None:
        """Publish at a whole topic; raises `NotHandedError`."""
        if not self._session.is_open:
            self._open()
        if not self._session.wait_connected(self.patience_s):
            raise self._away(self._session.refusal or "it does not answer")
        try:
            sent = self._session.publish(topic, payload, int(self._is_sure))
            if self._is_sure:
                sent.wait_for_publish(self.patience_s)
        except (OSError, RuntimeError, ValueError) as error:
            raise self._away(str(error)) from error
        if sent.rc != paho.MQTT_ERR_SUCCESS:
            raise self._away(paho.error_string(sent.rc))
        if self._is_sure and not sent.is_published():
            raise self._away("it does not answer")

    def close(self) -> None:
        """End the connection."""
        self._session.close()

    def _open(self) -> None:
        """Connect, one for all who wait; a broker that is not there is not asked for each."""
        if not self._connecting.acquire(timeout=self.patience_s):
            raise self._away("it does not answer")
        try:
            if self._failed is not None and time.monotonic() < self._failed[1]:
                raise self._away(self._failed[0])
            if not self._session.is_open:
                self._session.open()
        except (OSError, mqtt.BrokerRefusedError) as error:
            self._failed = str(error), time.monotonic() + REST_S
            raise self._away(str(error)) from error
        finally:
            self._connecting.release()

    def _away(self, why: str) -> NotHandedError:
        at = f"{self._broker.host}:{self._broker.port}"
        return NotHandedError(f"not handed to the broker at {at}: {why}; send it again")


_hands: dict[tuple[Broker, float, bool], Hand] = {}


def hand(
    broker: Broker, topic: str, payload: bytes, patience_s: float = WAIT_S, *, is_sure: bool = True
) -> None:
    """Publish at a whole topic by the connection of this process, as `Hand` does; raises
    `NotHandedError`."""
    key = broker, patience_s, is_sure
    found = _hands.get(key)
    if found is None:
        found = _hands.setdefault(key, Hand(broker, patience_s, is_sure=is_sure))
    found.give(topic, payload)


def close() -> None:
    """End the connections of this process."""
    while _hands:
        _hands.popitem()[1].close()
