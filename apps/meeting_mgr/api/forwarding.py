"""Readings that browsers post, on their way to the broker: nothing of them is kept.

The web process has one connection for all, made when the first reading comes. Readings go out
once (QoS 0): one that is lost with a broken connection is replaced within a second, and one
sent again later would be taken for a new one.
"""

from __future__ import annotations

import threading
import time
import uuid

import paho.mqtt.client as paho

from citywise.apps.meeting_mgr import topics
from citywise.backend import mqtt
from citywise.backend.app import BrokerSession, CitywiseError, Settings
from citywise.backend.settings import Broker

CONNECT_S = 1.0
REST_S = 1.0
"""So long after a broker was not there it is not looked for again."""
_ROLE = "web-readings"


class NotForwardedError(CitywiseError):
    """The broker is away: the reading is gone, the next may come through."""


class Forwarder:
    """A connection that is made when it is first needed, and made again when it broke."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._session = BrokerSession(broker, f"{_ROLE}-{uuid.uuid4().hex[:12]}")
        self._connecting = threading.Lock()
        self._failed: tuple[str, float] | None = None
        """Why it could not connect last, and until when (monotonic) it does not try again."""

    def send(self, meeting: str, person: str, body: bytes) -> None:
        """Hand a reading to the broker; raises `NotForwardedError`."""
        if not self._session.is_open:
            self._open()
        if not self._session.wait_connected(CONNECT_S):
            raise self._away(self._session.refusal or "it does not answer")
        sent = self._session.publish(topics.of_person(self._broker, meeting, person), body)
        if sent.rc != paho.MQTT_ERR_SUCCESS:
            raise self._away(paho.error_string(sent.rc))

    def close(self) -> None:
        """End the connection."""
        self._session.close()

    def _open(self) -> None:
        """Connect, one for all who wait; a broker that is not there is not asked for each."""
        if not self._connecting.acquire(timeout=CONNECT_S):
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
    found = _forwarders.get(broker) or _forwarders.setdefault(broker, Forwarder(broker))
    found.send(meeting, person, body)


def close() -> None:
    """End the connections of this process."""
    while _forwarders:
        _forwarders.popitem()[1].close()
