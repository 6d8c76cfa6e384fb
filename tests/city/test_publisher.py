"""Publishing over a real broker that refuses, dies and comes back."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt.enums import MQTTProtocolVersion

from citywise.backend.city.publisher import Publisher, PublisherError, Recent, Sent
from citywise.backend.settings import Broker
from tests.api.town import soon

pytestmark = pytest.mark.slow


def sent(n: int, at: float, mark: int | None = None, size: int = 1) -> Sent:
    return Sent(f"t/{n}", b"x" * size, False, at, mark)


def numbers(recent: Recent) -> list[int]:
    return [int(message.topic[2:]) for message in recent.all()]


def test_messages_are_forgotten_when_they_are_old_and_many() -> None:
    recent = Recent(seconds=30, messages=2)
    for n in range(4):
        recent.add(sent(n, at=n))
    assert numbers(recent) == [0, 1, 2, 3]
    recent.add(sent(4, at=31.5))
    assert numbers(recent) == [2, 3, 4]
    recent.add(sent(5, at=100))
    assert numbers(recent) == [4, 5]


def test_messages_that_are_not_durable_yet_are_kept() -> None:
    recent = Recent(seconds=30, messages=1)
    recent.settle(10)
    recent.add(sent(0, at=0, mark=10))
    recent.add(sent(1, at=0, mark=11))
    recent.add(sent(2, at=100, mark=12))
    assert numbers(recent) == [1, 2]
    recent.settle(11)
    recent.add(sent(3, at=101, mark=13))
    assert numbers(recent) == [2, 3]


def test_recent_messages_are_bounded_in_size() -> None:
    recent = Recent(seconds=1e9, messages=2, size=100)
    for n in range(10):
        recent.add(sent(n, at=0, size=30))
    assert numbers(recent) == [7, 8, 9]


def test_a_broker_without_mqtt_5_is_spoken_to_in_3_1_1(broker: Any, reader: Any) -> None:
    publisher = Publisher(broker.settings(), "source")
    publisher.connect()
    assert publisher.version == MQTTProtocolVersion.MQTTv311
    publisher.close()


def test_a_client_says_that_it_is_online_and_then_offline(
    broker: Any, reader: Any, eventually: Any
) -> None:
    listener = reader(broker.settings(), "citywise/status/source")
    publisher = Publisher(broker.settings(), "source")
    publisher.connect()
    publisher.close()
    eventually(lambda: len(listener.payloads("citywise/status/source")) == 2)
    online, offline = listener.payloads("citywise/status/source")
    assert b'"state":"online"' in online
    assert b'"state":"offline"' in offline


def test_the_broker_says_that_a_client_was_lost(broker: Any, reader: Any, eventually: Any) -> None:
    """The last will: the connection breaks, and `offline` is published in its name; then
    the client is back."""
    listener = reader(broker.settings(), "citywise/status/source")
    publisher = Publisher(broker.settings(), "source")
    publisher.connect()
    _break(publisher)
    eventually(lambda: len(listener.payloads("citywise/status/source")) == 3)
    states = [b"online" in payload for payload in listener.payloads("citywise/status/source")]
    assert sorted(states) == [False, True, True]
    publisher.close()


def _break(publisher: Publisher) -> None:
    link = publisher._link
    assert link is not None
    assert link.drain(5)
    wire = link._client.socket()
    assert isinstance(wire, socket.socket)
    wire.shutdown(socket.SHUT_RDWR)


def test_wrong_credentials_are_said_at_once(guarded_broker: Any) -> None:
    settings = guarded_broker.settings(username="city", password="wrong")
    with pytest.raises(PublisherError, match="refuses the connection: Not authorized"):
        Publisher(settings, "source").connect(60)


def test_right_credentials_are_accepted(guarded_broker: Any) -> None:
    publisher = Publisher(guarded_broker.settings(username="city", password="secret"), "source")
    publisher.connect(60)
    publisher.close()


def test_a_broker_that_is_not_there_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(PublisherError, match=f"127.0.0.1:{port}.*refused"):
        Publisher(Broker(port=port), "source").connect(0.5)


class SilentBroker:
    """Speaks MQTT 5 just enough to accept a connection: two messages may be in flight,
    and none is ever acknowledged."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self.received = b""
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        wire, _ = self._server.accept()
        with wire:
            self.received = wire.recv(4096)
            wire.sendall(bytes([0x20, 6, 0, 0, 3, 0x21, 0, 2]))
            while part := wire.recv(4096):
                self.received += part

    def close(self) -> None:
        self._thread.join(120)
        self._server.close()


def test_publishing_blocks_while_as_much_is_in_flight_as_the_broker_allows() -> None:
    """MQTT 5's Receive Maximum is obeyed; a blocked publisher can still be closed."""
    broker = SilentBroker()
    publisher = Publisher(Broker(port=broker.port), "source")
    publisher.connect()
    count = []

    def send() -> None:
        with suppress(PublisherError):
            for n in range(3):
                publisher.publish("numbers", b"x")
                count.append(n)

    thread = threading.Thread(target=send)
    thread.start()
    soon(lambda: count)
    thread.join(0.5)
    assert count == [0], "the status and one message are in flight"
    publisher.close(0.1)
    thread.join(120)
    broker.close()
    assert not thread.is_alive()
    assert publisher.version == MQTTProtocolVersion.MQTTv5
    assert broker.received.count(b"numbers") == 1


def test_a_closed_publisher_refuses_messages(broker: Any) -> None:
    publisher = Publisher(broker.settings(), "source")
    publisher.connect()
    publisher.close()
    with pytest.raises(PublisherError, match="closed"):
        publisher.publish("t", b"x")


def in_first_order(payloads: list[bytes]) -> list[int]:
    """Numbers by their first appearance."""
    return list(dict.fromkeys(int(payload) for payload in payloads))


@pytest.mark.thorough
def test_nothing_is_lost_or_reordered_when_the_broker_is_killed(
    broker: Any, reader: Any, eventually: Callable[[Callable[[], bool]], None]
) -> None:
    """The embedded broker is killed twice while messages flow, and forgets everything.

    A reader that comes back later than the publisher still gets every message, and the
    new ones after all older ones.
    """
    settings = broker.settings()
    listener = reader(settings, "numbers", "places/#", announce="peer")
    heard = threading.Event()
    publisher = Publisher(settings, "source", {"peer": lambda _: heard.set()}, peer="peer")
    publisher.connect()
    assert heard.wait(120)
    publisher.publish("places/a", b"here", retain=True, standing=True)
    total, done = 6_000, threading.Event()

    def send() -> None:
        pause = threading.Event()
        for n in range(total):
            publisher.publish("numbers", str(n).encode())
            pause.wait(0.0005)
        done.set()

    thread = threading.Thread(target=send)
    thread.start()
    for received in (500, 3_000):
        eventually(lambda least=received: len(set(listener.payloads("numbers"))) > least)  # type: ignore[misc]
        broker.kill()
        broker.restart()
    eventually(lambda: len(set(listener.payloads("numbers"))) == total)
    thread.join()
    assert done.is_set()
    assert in_first_order(listener.payloads("numbers")) == list(range(total))
    late = reader_of_places(reader, settings)
    eventually(lambda: late.payloads("places/a") == [b"here"])
    publisher.close()


def reader_of_places(reader: Any, settings: Broker) -> Any:
    return reader(settings.model_copy(), "places/#")


def test_a_publisher_outlives_a_broker_that_is_away_for_a_while(
    broker: Any, reader: Any, eventually: Any
) -> None:
    publisher = Publisher(broker.settings(), "source")
    publisher.connect()
    broker.kill()
    sender = threading.Thread(
        target=lambda: publisher.publish("t", b"late", retain=True, standing=True)
    )
    sender.start()
    sender.join(0.5)
    broker.restart()
    listener = reader(broker.settings(), "t")
    eventually(lambda: b"late" in listener.payloads("t"))
    sender.join(120)
    publisher.close()


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Broker]:
    """A broker that speaks MQTT 5, where the machine has one."""
    program = shutil.which("mosquitto")
    if program is None:
        pytest.skip("mosquitto is not installed; MQTT 5 is tried with a broker of the test's own")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    configuration = tmp_path / "mosquitto.conf"
    configuration.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    with subprocess.Popen([program, "-c", configuration]) as process:
        yield Broker(port=port)
        process.terminate()


def test_a_broker_with_mqtt_5_is_spoken_to_in_it(
    mosquitto: Broker, reader: Any, eventually: Any
) -> None:
    """Everything arrives in order, with the broker's limit of messages in flight."""
    publisher = Publisher(mosquitto, "source")
    publisher.connect()
    assert publisher.version == MQTTProtocolVersion.MQTTv5
    listener = reader(mosquitto, "numbers")
    for n in range(500):
        publisher.publish("numbers", str(n).encode())
    eventually(lambda: len(listener.payloads("numbers")) >= 500)
    assert in_first_order(listener.payloads("numbers")) == list(range(500))
    publisher.close()
