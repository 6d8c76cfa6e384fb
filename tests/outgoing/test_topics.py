"""Topics have what is open, retained, and nothing of what is over."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from citywise.backend.outgoing.topics import EventTopics, topic_of
from citywise.backend.store.models import EventRow
from citywise.backend.times import parse_ms
from tests.api.town import Town
from tests.databases import begun

BEGIN, END = "2026-05-04T09:00:00Z", "2026-05-04T09:30:00Z"


class Broker:
    """What is retained, and all that was published."""

    def __init__(self) -> None:
        self.retained: dict[str, Any] = {}
        self.said: list[tuple[str, Any]] = []
        self.is_away = False

    def publish(self, topic: str, payload: bytes, retain: bool) -> None:
        if self.is_away:
            raise ConnectionError("away")
        body = json.loads(payload) if payload else None
        self.said.append((topic, body and body["change"]))
        if retain:
            self.retained.pop(topic, None) if body is None else self.retained.update({topic: body})


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    engine = begun(f"sqlite:///{tmp_path / 'citywise.db'}")
    town = Town(engine)
    town.road("100", "Vej")
    yield town
    engine.dispose()


def stepped(topics: EventTopics) -> None:
    while topics.step():
        pass


def test_an_event_is_retained_while_it_is_open(town: Town) -> None:
    broker = Broker()
    topics = EventTopics(town.engine, broker.publish)
    stepped(topics)
    town.event("a", "100", BEGIN, announce="event.opened")
    town.event("b", "100", BEGIN, announce="event.opened")
    town.event("a", "100", BEGIN, END, announce="event.cleared")
    stepped(topics)
    topic = "city/events/TrafficJam/a"
    assert list(broker.retained) == ["city/events/TrafficJam/b"]
    assert broker.retained["city/events/TrafficJam/b"]["place"]["name"] == "Vej"
    told = [change for name, change in broker.said if name == topic]
    assert told == ["event.opened", "event.cleared", None]


def test_any_kind_of_announcement_leaves_and_a_withdrawn_event_is_gone(town: Town) -> None:
    broker = Broker()
    topics = EventTopics(town.engine, broker.publish)
    stepped(topics)
    for kind in ("event.opened", "event.corrected", "event.withdrawn"):
        town.event("a", "100", BEGIN, announce=kind)
    stepped(topics)
    assert [change for _, change in broker.said] == [
        "event.opened", "event.corrected", "event.withdrawn", None,
    ]  # fmt: skip
    assert broker.retained == {}


def test_after_a_connection_all_that_is_open_is_said_and_what_is_over_removed(town: Town) -> None:
    town.event("open", "100", BEGIN)
    broker = Broker()
    topics = EventTopics(town.engine, broker.publish)
    topics.connected()
    topics.hear("city/events/TrafficJam/over", b"{}")
    topics.hear("city/events/TrafficJam/open", b"{}")
    broker.retained["city/events/TrafficJam/over"] = {}
    stepped(topics)
    topics.tidy()
    assert list(broker.retained) == ["city/events/TrafficJam/open"]
    assert broker.retained["city/events/TrafficJam/open"]["change"] is None


def test_what_a_broker_that_was_away_did_not_take_is_told_again(town: Town) -> None:
    broker = Broker()
    topics = EventTopics(town.engine, broker.publish)
    stepped(topics)
    town.event("a", "100", BEGIN, announce="event.opened")
    broker.is_away = True
    with pytest.raises(ConnectionError):
        topics.step()
    broker.is_away = False
    stepped(EventTopics(town.engine, broker.publish))  # the process began anew
    assert ("city/events/TrafficJam/a", "event.opened") in broker.said


def test_whatever_ids_hold_a_topic_is_two_levels() -> None:
    assert topic_of("https://example.org/x#Flood+", "a/b+c#d") == (
        "city/events/Flood%2B/a%2Fb%2Bc%23d"
    )
    assert topic_of("https://example.org/Flood", "é") == "city/events/Flood/%C3%A9"


def test_ended_rows_are_not_said(town: Town) -> None:
    town.event("a", "100", BEGIN)
    with town.engine.begin() as connection:
        connection.execute(update(EventRow).values(end_ms=parse_ms(END)))
    broker = Broker()
    stepped(EventTopics(town.engine, broker.publish))
    assert broker.said == []
