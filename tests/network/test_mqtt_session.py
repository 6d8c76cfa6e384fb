"""A session with the broker outlives its connections, and says what the broker refuses."""

from __future__ import annotations

import logging
import queue
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import paho.mqtt.client as paho
import pytest

from citywise.backend.broker import EmbeddedBroker
from citywise.backend.machine import free_port
from citywise.backend.mqtt_session import BrokerSession
from citywise.backend.network.topics import Topics
from citywise.backend.settings import Broker
from tests.api.town import soon
from tests.brokers import SENT, City, client

APP = "bell_ringers"
TOPICS = Topics(read=("bells/+",), web=("bells/+",))
TOWERS, HOUSES = "bells/+", "houses/+"


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[City]:
    city = City(tmp_path_factory.mktemp("city"), {}, {APP: TOPICS})
    yield city
    city.embedded.stop()


def at_once(client: paho.Client) -> None:
    """A session that does not wait before it connects again."""
    client.reconnect_delay_set(0.01, 0.01)  # type: ignore[arg-type]


def ring(city: City, tower: str = "1") -> None:
    with client(city, "city", name="operator") as operator:
        assert operator.sends(f"town/bells/{tower}", b"ding")


def test_a_message_that_cannot_be_heard_does_not_end_the_session(city: City) -> None:
    heard: queue.Queue[str] = queue.Queue()

    def hear(message: paho.MQTTMessage) -> None:
        heard.put(message.topic)
        if message.topic.endswith("1"):
            raise ValueError("a bell with a crack")

    session = BrokerSession(city.settings.of_process(APP), APP, (TOWERS,), hear=hear)
    session.open()
    assert session.wait_connected(SENT)
    for tower in "12":
        ring(city, tower)
        assert heard.get(timeout=SENT) == f"town/bells/{tower}"
    session.close()


def test_it_hears_again_after_the_connection_broke(city: City) -> None:
    heard: queue.Queue[str] = queue.Queue()
    connections = threading.Semaphore(0)
    clients: list[paho.Client] = []

    def prepare(made: paho.Client) -> None:
        at_once(made)
        clients.append(made)

    session = BrokerSession(
        city.settings.of_process(APP),
        APP,
        (TOWERS,),
        hear=lambda message: heard.put(message.topic),
        connected=connections.release,
        prepare=prepare,
    )
    session.open()
    for _ in range(2):
        assert connections.acquire(timeout=SENT)
        assert session.wait_connected(SENT)
        ring(city)
        assert heard.get(timeout=SENT) == "town/bells/1"
        connection = clients[0].socket()
        assert isinstance(connection, socket.socket)
        connection.shutdown(socket.SHUT_RDWR)
    assert connections.acquire(timeout=SENT)
    session.close()
    assert (session.is_open, session.is_connected) == (False, False)
    session.close()


def test_a_broker_that_is_stopped_for_a_while_loses_nothing_of_what_it_was_sent(city: City) -> None:
    """As on a machine that sleeps: whoever sends waits for the answer, and has it."""
    heard: queue.Queue[bytes] = queue.Queue()
    session = BrokerSession(
        city.settings.of_process(APP),
        APP,
        (TOWERS,),
        hear=lambda message: heard.put(bytes(message.payload)),
    )
    session.open()
    assert session.wait_connected(SENT)
    process = city.embedded.process
    assert process is not None
    with client(city, "city", name="operator") as operator, ThreadPoolExecutor(20) as pool:
        process.send_signal(signal.SIGSTOP)
        try:
            told = [pool.submit(operator.sends, f"town/bells/{n}", b"%d" % n) for n in range(20)]
            assert wait(told, 0.3).done == set()
        finally:
            process.send_signal(signal.SIGCONT)
        assert all(each.result() for each in told)
    assert sorted(int(heard.get(timeout=SENT)) for _ in told) == list(range(20))
    session.close()


def test_a_topic_that_it_may_not_read_is_named_and_others_are_heard(
    city: City, caplog: pytest.LogCaptureFixture
) -> None:
    heard: queue.Queue[str] = queue.Queue()
    session = BrokerSession(
        city.settings.of_process(APP),
        APP,
        (HOUSES, TOWERS),
        hear=lambda message: heard.put(message.topic),
    )
    with caplog.at_level(logging.WARNING):
        session.open()
        assert session.wait_connected(SENT)
        ring(city)
        assert heard.get(timeout=SENT) == "town/bells/1"
    session.close()
    told = f"refuses client `{APP}`: it may not read `town/houses/+`; give it the right"
    assert told in (session.refusal or "")
    assert told in caplog.text


def test_where_it_may_read_nothing_it_does_not_count_as_connected(city: City) -> None:
    session = BrokerSession(city.settings.of_process(APP), APP, (HOUSES,))
    session.open()
    soon(lambda: session.refusal)
    assert not session.is_connected
    session.close()


@pytest.mark.slow
def test_a_password_that_was_changed_while_it_was_connected_is_said_once_until_it_is_right(
    caplog: pytest.LogCaptureFixture,
) -> None:
    port, answers = free_port(), threading.Semaphore(0)

    def prepare(made: paho.Client) -> None:
        at_once(made)
        told: Any = made.on_connect

        def answered(*given: Any) -> None:
            told(*given)
            answers.release()

        made.on_connect = answered

    def started(password: str) -> EmbeddedBroker:
        broker = EmbeddedBroker(port, "city", password)
        broker.start()
        return broker

    before = started("old")
    session = BrokerSession(
        Broker(port=port, username="city", password="old"), "web-1", prepare=prepare
    )
    session.open()
    assert session.wait_connected(SENT)
    before.stop()
    between = started("new")
    with caplog.at_level(logging.WARNING, "citywise.mqtt"):
        for _ in ("before", "refused", "again"):
            assert answers.acquire(timeout=SENT)
    assert not session.is_connected
    told = session.refusal or ""
    assert f"127.0.0.1:{port} refuses client `web-1`: " in told
    assert "check broker.username and broker.password" in told
    assert len(caplog.records) == 1
    between.stop()
    after = started("old")
    assert session.wait_connected(SENT)
    assert not session.refusal
    session.close()
    after.stop()
