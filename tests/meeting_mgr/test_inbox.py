"""Readings come from the broker into the inbox, and out of it once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from citywise.apps.meeting_mgr import topics
from citywise.apps.meeting_mgr.model import APP
from citywise.apps.meeting_mgr.process import inbox
from citywise.apps.meeting_mgr.process.inbox import Inbox
from citywise.apps.meeting_mgr.topics import Source
from citywise.backend import handing, mqtt
from citywise.backend.broker import EmbeddedBroker
from citywise.backend.handing import Hand, NotHandedError
from citywise.backend.machine import free_port
from citywise.backend.settings import Broker, Settings
from citywise.backend.times import wall_ms
from tests.api.town import soon
from tests.brokers import SENT, City, client
from tests.ports import nobody_at

MEETING, BOB = "m-" + "a" * 20, "p-" + "b" * 20
TOPIC = f"town/meetings/{MEETING}/{BOB}"
RIGHTS = {BOB: {"user": BOB, "write": [f"meetings/{MEETING}/{BOB}"]}}


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[City]:
    city = City(tmp_path_factory.mktemp("city"), RIGHTS, {APP: topics.TOPICS})
    yield city
    city.embedded.stop()


@pytest.fixture
def opened(city: City) -> Iterator[Inbox]:
    found = Inbox(Settings(broker=city.settings.of_process(APP)))
    found.open()
    assert found.wait_connected(SENT)
    yield found
    found.close()


@pytest.fixture
def forwarder(city: City) -> Iterator[Hand]:
    found = Hand(city.settings.of_process("web"), SENT, is_sure=False)
    yield found
    found.close()


def test_what_comes_is_taken_once_with_whose_it_is_and_when_it_came(
    city: City, opened: Inbox
) -> None:
    before_ms = wall_ms()
    with client(city, BOB) as bob:
        assert bob.sends(f"town/meetings/{MEETING}/{BOB}", b"reading")
    assert opened.arrived.wait(SENT)
    [one] = opened.take()
    assert (one.source, one.payload) == (Source(MEETING, BOB), b"reading")
    assert before_ms <= one.heard_ms <= wall_ms()
    assert opened.take() == []


def test_what_was_retained_is_no_reading(city: City) -> None:
    with client(city, "city", name="operator") as operator:
        assert operator.sends("town/rooms/office-1", b"old", retain=True)
        late = Inbox(Settings(broker=city.settings.of_process(APP)))
        late.open()
        assert late.wait_connected(SENT)
        assert operator.sends("town/rooms/office-1", b"", retain=True)
        assert operator.sends("town/rooms/office-1", b"new")
        while not (heard := [one for one in late.take() if one.payload]):
            assert late.arrived.wait(SENT)
    late.close()
    assert heard[0].payload == b"new"
    assert heard[0].source == Source(None, "office-1")


def test_of_more_than_can_wait_the_oldest_go_and_are_counted(
    monkeypatch: pytest.MonkeyPatch, city: City, forwarder: Hand
) -> None:
    monkeypatch.setattr(inbox, "MOST", 3)
    small = Inbox(Settings(broker=city.settings.of_process(APP)))
    small.open()
    assert small.wait_connected(SENT)
    for number in range(6):  # By one connection: of several, what is sent later may come first.
        forwarder.give(TOPIC, b"%d" % number)
    soon(lambda: small._waiting and small._waiting[-1].payload == b"5")
    heard = small.take()
    small.close()
    assert [one.payload for one in heard] == [b"3", b"4", b"5"]
    assert small.lost == 3


# --- Forwarding ----------------------------------------------------------------------------------


def test_what_a_browser_posts_comes_as_if_it_had_sent_it(opened: Inbox, forwarder: Hand) -> None:
    forwarder.give(TOPIC, b"posted")
    assert opened.arrived.wait(SENT)
    assert [(one.source, one.payload) for one in opened.take()] == [
        (Source(MEETING, BOB), b"posted")
    ]


def test_all_of_a_process_share_one_connection(city: City, opened: Inbox) -> None:
    web = city.settings.of_process("web")
    try:
        for _ in range(3):
            handing.hand(web, TOPIC, b"posted", SENT, is_sure=False)
        assert len(handing._hands) == 1
        heard = 0
        while heard < 3:
            assert opened.arrived.wait(SENT)
            heard += len(opened.take())
    finally:
        handing.close()


def test_without_a_broker_a_reading_is_refused_with_what_to_do() -> None:
    with nobody_at() as port:
        away = Hand(Broker(port=port), is_sure=False)
        with pytest.raises(NotHandedError, match="not handed to the broker"):
            away.give(TOPIC, b"posted")


@pytest.mark.slow
def test_a_broker_that_goes_away_is_said_and_one_that_comes_back_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    port = free_port()
    first = EmbeddedBroker(port, "city", "password", apps={APP: topics.TOPICS})
    first.start()
    at = Broker(port=port, username="city", password="password")
    forwarder = Hand(at, SENT, is_sure=False)
    forwarder.give(TOPIC, b"posted")
    first.stop()
    while forwarder.is_connected:  # it has to notice first
        threading.Event().wait(0.005)
    forwarder.patience_s = 0.1
    with pytest.raises(NotHandedError):
        forwarder.give(TOPIC, b"posted")
    second = EmbeddedBroker(port, "city", "password", apps={APP: topics.TOPICS})
    second.start()
    forwarder.patience_s = SENT
    forwarder.give(TOPIC, b"posted")
    forwarder.close()
    second.stop()


def test_a_broker_that_was_not_there_is_not_looked_for_by_every_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handing, "REST_S", SENT)
    looked_for: list[str] = []
    connect = mqtt.connect

    def counted(broker: Broker, name: str, **more: Any) -> Any:
        looked_for.append(name)
        return connect(broker, name, **more)

    monkeypatch.setattr(mqtt, "connect", counted)
    with nobody_at() as port:
        away = Hand(Broker(port=port), is_sure=False)
        for _ in range(5):
            with pytest.raises(NotHandedError, match="not handed to the broker"):
                away.give(TOPIC, b"posted")
    assert len(looked_for) == 1


def test_a_reading_does_not_wait_behind_another_for_a_broker_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, answered = threading.Event(), threading.Event()

    def silent(*_given: Any, **_more: Any) -> Any:
        asked.set()
        assert answered.wait(SENT)
        raise ConnectionError("no answer")

    monkeypatch.setattr(mqtt, "connect", silent)
    away = Hand(Broker(), 0.01, is_sure=False)
    refused: list[str] = []

    def send() -> None:
        with pytest.raises(NotHandedError) as caught:
            away.give(TOPIC, b"posted")
        refused.append(str(caught.value))

    first = threading.Thread(target=send)
    first.start()
    assert asked.wait(SENT)
    send()
    answered.set()
    first.join()
    assert ["it does not answer" in each for each in refused] == [True, False]
