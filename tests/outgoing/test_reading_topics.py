"""Readings of public kinds leave as topics, and come to nobody else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from citywise.backend.ingest.subscription import TOPICS
from citywise.backend.kinds import Kind, builtin, installed
from citywise.backend.outgoing.topics import READERS, ReadingTopics
from citywise.backend.settings import Outgoing, Settings
from citywise.backend.store import followers
from citywise.backend.times import parse_ms
from tests.api.town import soon
from tests.brokers import SENT, City, client
from tests.databases import begun
from tests.history.recorded import append
from tests.notices.test_notifier import notifier

AT = "2026-05-04T07:00:00Z"
AT_MS = parse_ms(AT)
N1 = {"kind": "noise", "sensor": "n1", "observed_at": AT}
METER = "d-meter"


class Heard(list[tuple[str, Any]]):
    """What was published."""

    is_away = False

    def all(self, messages: Sequence[tuple[str, bytes]]) -> None:
        if self.is_away:
            raise ConnectionError("away")
        self.extend((topic, json.loads(payload)) for topic, payload in messages)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = begun(f"sqlite:///{tmp_path / 'citywise.db'}")
    secret = Kind.model_validate(
        {"kind": "visits", "fields": {"number": {"type": "integer"}}, "public": False}
    )
    installed.install(engine, builtin().with_kinds(secret))
    yield engine
    engine.dispose()


@pytest.fixture
def location(tmp_path: Path) -> Path:
    folder = tmp_path / "log"
    append(folder, [("noise", "n0", AT_MS, {"level": 30.0})])
    return folder


def stepped(topics: ReadingTopics) -> None:
    while topics.step():
        pass


def test_each_reading_of_a_public_kind_is_a_message_corrections_and_withdrawals_too(
    engine: Engine, location: Path
) -> None:
    heard = Heard()
    topics = ReadingTopics(engine, location, heard.all)
    stepped(topics)
    assert heard == []  # what was there before
    append(
        location,
        [
            ("noise", "n1", AT_MS, {"level": 63.4}),
            ("visits", "v1", AT_MS, {"number": 3}),
            ("noise", "n1", AT_MS, {"level": 63.5}),
            ("noise", "n1", AT_MS, {}),
            ("gone", "g1", AT_MS, {"number": 3}),
        ],
    )
    stepped(topics)
    assert heard == [
        ("city/readings/noise/n1", {**N1, "level": 63.4}),
        ("city/readings/noise/n1", {**N1, "level": 63.5}),
        ("city/readings/noise/n1", {**N1, "withdraw": True}),
    ]


def test_what_a_broker_that_was_away_did_not_take_is_told_after_a_restart(
    engine: Engine, location: Path
) -> None:
    heard = Heard()
    topics = ReadingTopics(engine, location, heard.all)
    stepped(topics)
    append(location, [("noise", "n1", AT_MS, {"level": 63.4})])
    heard.is_away = True
    with pytest.raises(ConnectionError):
        topics.step()
    heard.is_away = False
    stepped(ReadingTopics(engine, location, heard.all))
    assert heard == [("city/readings/noise/n1", {**N1, "level": 63.4})]


def test_a_kind_that_is_public_no_more_is_told_no_more(engine: Engine, location: Path) -> None:
    heard = Heard()
    topics = ReadingTopics(engine, location, heard.all)
    stepped(topics)
    noise = builtin()["noise"].model_copy(update={"public": False})
    with engine.begin() as connection:
        installed.put(connection, noise)
    append(location, [("noise", "n1", AT_MS, {"level": 63.4})])
    stepped(topics)
    assert heard == []


@pytest.mark.slow
@pytest.mark.parametrize("wants", [True, False], ids=["on", "off"])
def test_a_device_hears_them_at_a_real_broker_and_the_ingest_does_not(
    engine: Engine, location: Path, tmp_path: Path, wants: bool
) -> None:
    city = City(tmp_path, {METER: {"user": "u-anna", "rights": ["sensors"]}})
    settings = Settings(
        data_dir=tmp_path,
        broker=city.settings.of_process("notifier"),
        outgoing=Outgoing(readings=wants),
    )
    with engine.begin() as connection:
        followers.keep(connection, READERS, 0)  # before what the log has

    def position() -> int | None:
        with engine.connect() as connection:
            return followers.position(connection, READERS, 1_000_000)

    noise = ("town/city/readings/noise/n0", {**N1, "sensor": "n0", "level": 30.0})
    with client(city, METER) as meter, client(city, "citywise.ingest") as ingest:
        assert meter.reads("town/city/readings/+/+")
        assert all(ingest.reads(f"town/{topic}") for topic in TOPICS)
        with notifier(settings, engine):
            if wants:
                topic, payload = meter.heard.get(timeout=SENT)
                assert (topic, json.loads(payload)) == noise
            else:
                soon(lambda: position() is None)  # it would begin anew
        assert meter.heard.empty()
        assert ingest.heard.empty()
    city.embedded.stop()
