"""What a process has with the broker from when it opens it until it closes it, however often the
connection breaks in between."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

import paho.mqtt.client as paho
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from citywise.backend import mqtt
from citywise.backend.settings import Broker

LOG = logging.getLogger("citywise.mqtt")
Hear = Callable[[paho.MQTTMessage], None]


def _nothing() -> None:
    pass


class BrokerSession:
    """Connects, connects again by itself, and asks for its topics each time.

    `topics` are patterns below `broker.prefix`, or of the broker's own (`$…`). What follows is
    called on the network thread, and must be quick: `hear` with each message, `connected` with each
    connection before the topics are asked for, `prepare` with each client before its first
    connection. `is_told`: the status topic says that it is online; `whole_topics`: they begin at
    the root. What the broker refuses stands
    in `refusal` and once in the log.
    """

    def __init__(
        self,
        broker: Broker,
        client_id: str,
        topics: Sequence[str] = (),
        *,
        hear: Hear | None = None,
        connected: Callable[[], None] = _nothing,
        prepare: Callable[[paho.Client], None] = lambda _client: None,
        is_told: bool = False,
        persistent: bool = False,
        manual_ack: bool = False,
        whole_topics: bool = False,
    ) -> None:
        self._broker, self._name = broker, client_id
        own = {t for t in topics if whole_topics or t.startswith("$")}
        self._topics = [t if t in own else f"{broker.prefix}/{t}" for t in topics]
        self._hear, self._tell_connected, self._more = hear, connected, prepare
        self._is_told, self._persistent, self._manual_ack = is_told, persistent, manual_ack
        self._client: paho.Client | None = None
        self._connected = threading.Event()
        self.refusal: str | None = None
        """What the broker refused last, and what to do; None where it refuses nothing."""

    @property
    def is_open(self) -> bool:
        """Whether it was opened; it then connects again by itself."""
        return self._client is not None

    @property
    def is_connected(self) -> bool:
        """Whether it can send, and hears what it may."""
        return self._connected.is_set()

    def open(self) -> None:
        """Connect for the first time; raises `ConnectionError` or `BrokerRefusedError`."""
        self._client = mqtt.connect(
            self._broker,
            self._name,
            persistent=self._persistent,
            manual_ack=self._manual_ack,
            prepare=self._prepare,
        )

    def wait_connected(self, seconds: float) -> bool:
        """Wait until it is connected; False if it is not after `seconds`."""
        return self._connected.wait(seconds)

    def publish(
        self, topic: str, payload: bytes, qos: int = 0, *, retain: bool = False
    ) -> paho.MQTTMessageInfo:
        """Send a message, to a whole topic."""
        return self._opened.publish(topic, payload, qos, retain)

    def tell(self, payload: bytes) -> None:
        """Say on the status topic how it is."""
        self.publish(mqtt.status_topic(self._broker, self._name), payload, retain=True)

    def acknowledge(self, message: paho.MQTTMessage) -> None:
        """Tell the broker that a message need not be sent again."""
        self._opened.ack(message.mid, message.qos)

    def ask_again(self) -> None:
        """Ask for the topics once more, where the broker may have changed its mind."""
        if self._topics and self.refusal is not None and self._opened.is_connected():
            self._ask(self._opened)

    def close(self) -> None:
        """End the connection; without one, nothing."""
        client, self._client = self._client, None
        if client is not None:
            client.disconnect()
            client.loop_stop()
        self._connected.clear()

    @property
    def _opened(self) -> paho.Client:
        assert self._client is not None, "the session is not open"
        return self._client

    # -- the network thread -----------------------------------------------------------

    def _prepare(self, client: paho.Client) -> None:
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_disconnect = lambda *_: self._connected.clear()
        if self._hear is not None:
            client.on_message = lambda _client, _data, message: self._take(message)
        self._more(client)

    def _take(self, message: paho.MQTTMessage) -> None:
        """Hear a message; one at which that fails must not end the thread for all others."""
        assert self._hear is not None
        try:
            self._hear(message)
        except Exception:
            LOG.exception("client `%s` cannot hear a message; it goes on", self._name)

    def _on_connect(
        self,
        client: paho.Client,
        _data: object,
        _flags: paho.ConnectFlags,
        reason: ReasonCode,
        _properties: Properties | None,
    ) -> None:
        if reason.is_failure:
            self._refused(f"{reason}; check broker.username and broker.password")
            return
        self._tell_connected()
        if self._is_told:
            status = mqtt.status_topic(self._broker, self._name)
            client.publish(status, mqtt.status_payload("online"), retain=True)
        if self._topics:
            self._ask(client)
        else:
            self.refusal = None
            self._connected.set()

    def _ask(self, client: paho.Client) -> None:
        client.subscribe([(topic, 1) for topic in self._topics])

    def _on_subscribe(
        self,
        _client: paho.Client,
        _data: object,
        _mid: int,
        codes: list[ReasonCode],
        _properties: Properties | None,
    ) -> None:
        refused = [
            topic for topic, code in zip(self._topics, codes, strict=False) if code.is_failure
        ]
        if refused:
            named = ", ".join(f"`{topic}`" for topic in refused)
            self._refused(f"it may not read {named}; give it the right (docs/mqtt.md)")
        else:
            self.refusal = None
        if len(refused) < len(self._topics):
            self._connected.set()

    def _refused(self, why: str) -> None:
        broker = self._broker
        told = f"the broker at {broker.host}:{broker.port} refuses client `{self._name}`: {why}"
        if told != self.refusal:
            LOG.warning("%s", told)
        self.refusal = told
