"""Publishing to an MQTT broker so that nothing is lost or reordered when it restarts.

MQTT 5, or 3.1.1 where the broker does not speak it; QoS 1; a bounded number of messages
in flight, so that `publish` blocks while the broker is slow or away. What was sent lately
is kept and sent again, in its first order, after every reconnect: an in-memory broker
forgets what it had acknowledged but not delivered (docs/mqtt.md).
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from citywise.backend.errors import CitywiseError
from citywise.backend.mqtt import identify, send_at_once, status_payload, status_topic
from citywise.backend.settings import Broker

log = logging.getLogger(__name__)

QOS = 1
KEEPALIVE_S = 20
ANSWER_S = 30.0
"""How long a broker may take to answer a connection."""
LONGEST_DELAY_S = 5.0
PEER_S = 15.0
REFUSED_FOR_GOOD = ("Bad user name or password", "Not authorized", "Banned")

VERSION_5, VERSION_311 = MQTTProtocolVersion.MQTTv5, MQTTProtocolVersion.MQTTv311
OTHER_VERSION = {VERSION_5: VERSION_311, VERSION_311: VERSION_5}

Handler = Callable[[bytes], None]


class PublisherError(CitywiseError):
    """The broker cannot be used; the message says which and why."""


class LinkLostError(Exception):
    """This connection is over; what was to be sent goes out with the next."""


class NoAnswerError(LinkLostError):
    """The broker took the connection and then said nothing."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A message as it went out; `mark` is the stream time (Unix ms) it belongs to."""

    topic: str
    payload: bytes
    retain: bool
    at: float
    mark: int | None


class Recent:
    """The messages sent lately, oldest first.

    A message is forgotten when it is older than `seconds`, at least `messages` came
    after it and it is settled (see `settle`), or when all together exceed `size` bytes
    and it is not among the last `messages`.
    """

    def __init__(self, seconds: float = 30, messages: int = 200, size: int = 64_000_000) -> None:
        self._seconds, self._messages, self._size = seconds, messages, size
        self._sent: deque[Sent] = deque()
        self._bytes = 0
        self._settled: int | None = None

    def __len__(self) -> int:
        return len(self._sent)

    def add(self, message: Sent) -> None:
        """Remember a message and forget what need not be sent again."""
        self._sent.append(message)
        self._bytes += len(message.payload)
        while len(self._sent) > self._messages and self._forgettable(self._sent[0], message.at):
            self._bytes -= len(self._sent.popleft().payload)

    def settle(self, mark: int) -> None:
        """Everything up to a stream time (Unix ms) is durable at its receiver."""
        self._settled = mark

    def all(self) -> list[Sent]:
        """The messages in the order they were first sent."""
        return list(self._sent)

    def _forgettable(self, oldest: Sent, now: float) -> bool:
        if self._bytes > self._size:
            return True
        settled = self._settled is None or oldest.mark is None or oldest.mark <= self._settled
        return settled and now - oldest.at > self._seconds


class Link:
    """One connection: a paho client that is never reconnected.

    A new client for each connection, because paho would send what it has in flight
    again after newer messages.
    """

    def __init__(
        self,
        broker: Broker,
        name: str,
        version: MQTTProtocolVersion,
        handlers: Mapping[str, Handler],
        window: int,
    ) -> None:
        self._broker, self._handlers = broker, handlers
        self._window = window
        self._signal = threading.Condition()
        self._sent = self._acknowledged = 0
        self._answer: ReasonCode | None = None
        self._lost = False
        self._heard: set[str] = set()
        self.version = version
        self._client = self._paho(f"{name}-{secrets.token_hex(4)}")
        self._client.will_set(
            status_topic(broker, name), status_payload("offline"), QOS, retain=True
        )

    def _paho(self, client_id: str) -> mqtt.Client:
        client = mqtt.Client(
            CallbackAPIVersion.VERSION2,
            client_id,
            clean_session=True if self.version == VERSION_311 else None,
            protocol=self.version,
            reconnect_on_failure=False,
        )
        identify(client, self._broker)
        client.on_socket_open = send_at_once
        client.max_inflight_messages = 65_535
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_publish = self._on_publish
        client.on_message = self._on_message
        return client

    def open(self) -> str | None:
        """Connect; returns None, or why the broker refused. Raises `LinkLostError`."""
        try:
            self._client.connect(self._broker.host, self._broker.port, KEEPALIVE_S)
        except OSError as error:
            raise LinkLostError(str(error)) from error
        self._client.loop_start()
        with self._signal:
            self._signal.wait_for(lambda: self._answer is not None or self._lost, ANSWER_S)
            if self._answer is None:
                raise NoAnswerError("the broker did not answer the connection")
            return str(self._answer) if self._answer.is_failure else None

    def send(self, message: Sent) -> None:
        """Send, after waiting for room in flight; raises `LinkLostError`."""
        with self._signal:
            self._signal.wait_for(
                lambda: self._lost or self._sent - self._acknowledged < self._window
            )
            if self._lost:
                raise LinkLostError
            self._sent += 1
        self._client.publish(message.topic, message.payload, QOS, message.retain)

    def drain(self, timeout: float) -> bool:
        """Wait until everything sent is acknowledged."""
        with self._signal:
            self._signal.wait_for(lambda: self._lost or self._sent == self._acknowledged, timeout)
            return self._sent == self._acknowledged

    def wait_heard(self, topic: str, timeout: float) -> bool:
        """Wait until this connection brought a message of a topic it handles."""
        with self._signal:
            self._signal.wait_for(lambda: self._lost or topic in self._heard, timeout)
            return topic in self._heard

    def has_heard(self, topic: str) -> bool:
        return topic in self._heard

    def wait_lost(self) -> None:
        with self._signal:
            self._signal.wait_for(lambda: self._lost)

    def close(self) -> None:
        """Disconnect and end the network thread."""
        self._client.disconnect()
        self._client.loop_stop()
        self._lose()

    def _lose(self) -> None:
        with self._signal:
            self._lost = True
            self._signal.notify_all()

    def _on_connect(
        self,
        client: mqtt.Client,
        _data: object,
        _flags: mqtt.ConnectFlags,
        reason: ReasonCode,
        properties: Properties | None,
    ) -> None:
        if not reason.is_failure and self._handlers:
            client.subscribe([(topic, QOS) for topic in self._handlers])
        with self._signal:
            self._answer = reason
            allowed = getattr(properties, "ReceiveMaximum", self._window)
            self._window = min(self._window, allowed)
            self._signal.notify_all()

    def _on_disconnect(
        self,
        _client: mqtt.Client,
        _data: object,
        _flags: mqtt.DisconnectFlags,
        _reason: ReasonCode,
        _properties: Properties | None,
    ) -> None:
        self._lose()

    def _on_publish(
        self,
        _client: mqtt.Client,
        _data: object,
        _mid: int,
        reason: ReasonCode,
        _properties: Properties,
    ) -> None:
        if reason.is_failure:
            log.error("the broker refused a message: %s", reason)
        with self._signal:
            self._acknowledged += 1
            self._signal.notify_all()

    def _on_message(self, _client: mqtt.Client, _data: object, message: mqtt.MQTTMessage) -> None:
        if handler := self._handlers.get(message.topic):
            handler(bytes(message.payload))
            with self._signal:
                self._heard.add(message.topic)
                self._signal.notify_all()


class Publisher:
    """Publishes to the settings' broker and stays connected until `close`.

    `name` is the client in `<prefix>/status/<name>`. `handlers` are the topics to
    subscribe to; they are called on the network thread and must be quick. `peer` is the
    handled topic of the one reader that must not miss anything: a broker that lost its
    sessions drops what comes before that reader is back, so after a reconnect nothing is
    sent until it was heard again (or `PEER_S` seconds have passed).
    """

    def __init__(
        self,
        broker: Broker,
        name: str,
        handlers: Mapping[str, Handler] | None = None,
        *,
        window: int = 64,
        recent: Recent | None = None,
        peer: str | None = None,
    ) -> None:
        self._peer, self._peer_known = peer, False
        self._broker, self._name, self._window = broker, name, window
        self._handlers = dict(handlers or {})
        self._recent = recent or Recent()
        self._standing: dict[str, Sent] = {}
        self._order = threading.Lock()
        self._link: Link | None = None
        self._ready = threading.Event()
        self._closing = threading.Event()
        self._refusal: str | None = None
        self._barred = False
        self._version = VERSION_5
        self._thread = threading.Thread(
            target=self._stay_connected, name=f"{name}-link", daemon=True
        )

    @property
    def version(self) -> MQTTProtocolVersion:
        """The protocol version in use."""
        return self._version

    def connect(self, timeout: float = 30) -> None:
        """Connect and announce the client as online; raises `PublisherError`."""
        self._thread.start()
        deadline = time.monotonic() + timeout
        while not self._ready.wait(0.05) and not self._barred and time.monotonic() < deadline:
            pass
        if not self._ready.is_set():
            self._closing.set()
            self._thread.join()
            raise PublisherError(
                f"cannot use the MQTT broker at {self._broker.host}:{self._broker.port}: "
                f"{self._refusal or 'it does not answer'}; check [broker] in the configuration"
            )

    def publish(
        self,
        topic: str,
        payload: bytes,
        *,
        retain: bool = False,
        standing: bool = False,
        mark: int | None = None,
    ) -> None:
        """Send a message; blocks while the broker is slow or away.

        A `standing` message is true as long as the client lives (a place): it is sent
        again after every reconnect, before the recent ones. `mark` is its stream time.
        """
        message = Sent(topic, payload, retain, time.monotonic(), mark)
        while True:
            self._ready.wait()
            if self._closing.is_set():
                raise PublisherError("the publisher is closed")
            with self._order:
                if (link := self._link) is None:
                    continue
                if standing:
                    self._standing[topic] = message
                else:
                    self._recent.add(message)
                # A message that meets the end of its link goes out with the next one.
                with suppress(LinkLostError):
                    link.send(message)
                return

    def settle(self, mark: int) -> None:
        """What is marked up to this stream time (Unix ms) need not be sent again."""
        self._recent.settle(mark)

    def close(self, timeout: float = 5) -> None:
        """Wait for what is in flight, say goodbye and disconnect."""
        self._closing.set()
        idle = self._order.acquire(timeout=timeout)
        link, self._link = self._link, None
        self._ready.set()
        if idle:
            self._order.release()
        if link is not None:
            with suppress(LinkLostError):
                if link.drain(timeout):
                    link.send(self._status("offline"))
                    link.drain(timeout)
            link.close()
        if self._thread.is_alive():
            self._thread.join()

    def _stay_connected(self) -> None:
        delay = 0.1
        while not self._closing.is_set():
            try:
                link = self._open()
            except LinkLostError as error:
                self._refusal = str(error)
                log.warning("broker %s:%s: %s", self._broker.host, self._broker.port, error)
                self._closing.wait(delay)
                delay = min(2 * delay, LONGEST_DELAY_S)
            else:
                delay = 0.1
                self._serve(link)

    def _open(self) -> Link:
        link = Link(self._broker, self._name, self._version, self._handlers, self._window)
        try:
            refusal = link.open()
        except LinkLostError as error:
            link.close()
            if isinstance(error, NoAnswerError):
                self._version = OTHER_VERSION[self._version]
            raise
        if refusal is None:
            return link
        link.close()
        if refusal == "Unsupported protocol version" and self._version == VERSION_5:
            self._version = VERSION_311
            return self._open()
        self._barred = refusal in REFUSED_FOR_GOOD
        raise LinkLostError(f"it refuses the connection: {refusal}")

    def _await_peer(self, link: Link) -> None:
        if self._peer is None or not self._peer_known:
            return
        if not link.wait_heard(self._peer, PEER_S):
            log.warning("nothing heard on %s; sending without waiting for it", self._peer)

    def _serve(self, link: Link) -> None:
        self._await_peer(link)
        with self._order:
            if self._closing.is_set():
                link.close()
                return
            self._link = link
            with suppress(LinkLostError):
                for message in self._again():
                    link.send(message)
            self._ready.set()
        link.wait_lost()
        self._peer_known |= self._peer is not None and link.has_heard(self._peer)
        with self._order:
            if self._link is not link:
                return
            self._link = None
            self._ready.clear()
        link.close()

    def _again(self) -> list[Sent]:
        return [self._status("online"), *self._standing.values(), *self._recent.all()]

    def _status(self, state: str) -> Sent:
        topic = status_topic(self._broker, self._name)
        return Sent(topic, status_payload(state), True, time.monotonic(), None)
