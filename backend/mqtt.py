"""Connecting to the MQTT broker: MQTT 5 where it is spoken, 3.1.1 otherwise."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from datetime import UTC, datetime

import orjson
import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from citywise.backend.errors import CitywiseError
from citywise.backend.settings import Broker

SESSION_SECONDS = 7 * 24 * 3600
KEEPALIVE_SECONDS = 30
_CONNECT_SECONDS = 60
_UNSUPPORTED = "Unsupported protocol version"


class BrokerRefusedError(CitywiseError):
    """The broker is there but does not let us in; the message says what to change."""


class NoBrokerError(CitywiseError):
    """No broker answers at the configured address."""


def status_topic(broker: Broker, client_id: str) -> str:
    """Where a client says whether it is online (retained, and its last will)."""
    return f"{broker.prefix}/status/{client_id}"


def status_payload(state: str, **more: object) -> bytes:
    """The payload of a status topic."""
    return orjson.dumps({"state": state, "at": datetime.now(UTC), **more})


def connect(
    broker: Broker,
    client_id: str,
    *,
    persistent: bool = False,
    manual_ack: bool = False,
    prepare: Callable[[paho.Client], None] = lambda _client: None,
) -> paho.Client:
    """Connect and return a client whose network loop runs in a thread of its own.

    It reconnects by itself; `prepare` sets callbacks before the first connection. A last
    will on the status topic says when the client is gone. `persistent` asks the broker to
    keep the session (with MQTT 5: for a week).

    Raises `ConnectionError` if no broker answers, `BrokerRefusedError` if it refuses us.
    """
    version = protocol(broker, client_id)
    older = version == MQTTProtocolVersion.MQTTv311
    client = paho.Client(
        CallbackAPIVersion.VERSION2,
        client_id=client_id,
        clean_session=not persistent if older else None,
        protocol=version,
        manual_ack=manual_ack,
    )
    client.reconnect_delay_set(min_delay=1, max_delay=10)
    identify(client, broker)
    client.on_socket_open = send_at_once
    client.will_set(
        status_topic(broker, client_id), orjson.dumps({"state": "offline"}), qos=1, retain=True
    )
    prepare(client)
    if older:
        client.connect(broker.host, broker.port, keepalive=KEEPALIVE_SECONDS)
    else:
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = SESSION_SECONDS if persistent else 0
        client.connect(
            broker.host,
            broker.port,
            keepalive=KEEPALIVE_SECONDS,
            clean_start=not persistent,
            properties=properties,
        )
    client.loop_start()
    return client


def protocol(broker: Broker, client_id: str) -> MQTTProtocolVersion:
    """The newest MQTT version the broker speaks, found by asking it."""
    for version in (MQTTProtocolVersion.MQTTv5, MQTTProtocolVersion.MQTTv311):
        reason = _probe(broker, f"{client_id}-probe", version)
        if reason == "Success":
            return version
        if reason != _UNSUPPORTED:
            raise BrokerRefusedError(
                f"the broker at {broker.host}:{broker.port} refuses client `{client_id}`: "
                f"{reason}; check broker.username and broker.password"
            )
    raise BrokerRefusedError(
        f"the broker at {broker.host}:{broker.port} speaks neither MQTT 5 nor 3.1.1"
    )


def _probe(broker: Broker, client_id: str, version: MQTTProtocolVersion) -> str:
    """Connect once and leave; the broker's answer in words."""
    client = paho.Client(
        CallbackAPIVersion.VERSION2,
        client_id=client_id,
        protocol=version,
        reconnect_on_failure=False,
    )
    identify(client, broker)
    answer: list[str] = []

    def on_connect(
        _client: paho.Client,
        _data: object,
        _flags: paho.ConnectFlags,
        reason: ReasonCode,
        _properties: Properties | None,
    ) -> None:
        answer.append(reason.getName())

    client.on_connect = on_connect
    try:
        client.connect(broker.host, broker.port, keepalive=KEEPALIVE_SECONDS)
    except ssl.SSLError as error:
        raise BrokerRefusedError(
            f"no TLS with the broker at {broker.host}:{broker.port}: {error}; does it speak TLS "
            "there (broker.tls), and is broker.ca the certificate of who issued its own?"
        ) from error
    deadline = time.monotonic() + _CONNECT_SECONDS
    while not answer and time.monotonic() < deadline:
        if client.loop(timeout=0.1) is not MQTTErrorCode.MQTT_ERR_SUCCESS and not answer:
            break
    client.disconnect()
    # A broker that does not know MQTT 5 may also just close the connection.
    return answer[0] if answer else _UNSUPPORTED


def identify(client: paho.Client, broker: Broker) -> None:
    """Give the client its user name and password, and TLS, if the broker wants any."""
    if broker.username is not None:
        client.username_pw_set(broker.username, broker.password)
    if broker.tls:
        client.tls_set_context(ssl.create_default_context(cafile=broker.ca))


def send_at_once(_client: paho.Client, _data: object, connection: paho.SocketLike) -> None:
    """Small messages must not wait for the acknowledgement of those before them."""
    if isinstance(connection, socket.socket):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def look_for_broker(broker: Broker) -> None:
    """Raise `NoBrokerError` where nothing listens at the broker's address."""
    try:
        socket.create_connection((broker.host, broker.port), timeout=2).close()
    except OSError as error:
        raise NoBrokerError(f"no broker answers at {broker.host}:{broker.port}: {error}") from error
