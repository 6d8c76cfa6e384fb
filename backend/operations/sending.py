"""Handing messages to the broker, once in a while."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import NamedTuple

from citywise.backend import mqtt
from citywise.backend.errors import CitywiseError
from citywise.backend.settings import Broker

TIMEOUT_S = 3.0
"""For the broker to say that it has a message; of several, that it has the next."""


class Message(NamedTuple):
    """What is published: at a whole topic, the prefix included."""

    topic: str
    payload: bytes
    retain: bool = False


class NotSentError(CitywiseError):
    """The broker did not take the messages."""


def send(broker: Broker, messages: Iterable[Message]) -> None:
    """Publish messages in order and wait until the broker has all of them (QoS 1).

    A connection for each call: they are rare, and none has to be kept alive between them.
    Raises `NotSentError`; some of the messages may have been taken.
    """
    try:
        _send(broker, messages)
    except (OSError, RuntimeError, ValueError, mqtt.BrokerRefusedError) as error:
        raise NotSentError(
            f"not handed to the broker at {broker.host}:{broker.port}: {error}; try again"
        ) from error


def _send(broker: Broker, messages: Iterable[Message]) -> None:
    client = mqtt.connect(broker, f"web-{uuid.uuid4().hex[:12]}")
    try:
        sent = [client.publish(m.topic, m.payload, qos=1, retain=m.retain) for m in messages]
        for info in sent:
            info.wait_for_publish(TIMEOUT_S)
            if not info.is_published():
                raise RuntimeError(f"no acknowledgement within {TIMEOUT_S:g} s")
    finally:
        client.disconnect()
        client.loop_stop()
