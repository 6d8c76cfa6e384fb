"""What a source sent and the city then refused is found for the source, by what the ingest keeps
anyway."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from citywise.backend.connectors import Found, Place, Reading
from citywise.backend.ingest.acceptance import Acceptor
from citywise.backend.ingest.intake import Entry, IntakeStore
from citywise.backend.kinds import builtin
from citywise.backend.settings import Ingest, Settings, Source
from citywise.backend.sources.refusals import NotTaken, Outcomes, Samples
from citywise.backend.sources.relay import Relay, Sent
from citywise.backend.times import to_ms, wall_ms
from tests.api.town import soon
from tests.databases import begun
from tests.ingest.test_service import Street
from tests.sources.running import listening, running
from tests.sources.servers import body, serving
from tests.sources.test_sources import _reports, station

NOW = datetime.now(UTC)
NOW_MS = to_ms(NOW)
METER = Place(
    {
        "id": "n1", "kind": "noise_meter", "name": "N", "sensors": ["noise"],
        "geometry": {"type": "Point", "coordinates": [10.2, 56.15]},
    }
)  # fmt: skip


def noise(sensor: str, at_ms: int = NOW_MS) -> Reading:
    return Reading("noise", sensor, at_ms, {"level": 60}, {})


class City:
    """What the ingest does with messages, without a broker."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.acceptor = Acceptor("citywise", Ingest(clock="wall"), builtin())
        self.store = IntakeStore(engine)
        self.outcomes = Outcomes("citywise")
        self.found()

    def takes(self, source: str | None, sent: list[Sent]) -> None:
        """A source, or a device that is none of ours, sends messages, which arrive together."""
        entries = []
        for one in sent:
            topic = f"citywise/{one.topic}"
            if source is not None:
                self.outcomes.sends(source, topic, one.payload)
            verdict = self.acceptor.judge(topic, one.payload, NOW)
            entries.append(Entry.of("citywise", topic, one.payload, wall_ms(), verdict))
        self.store.write([entry for entry in entries if entry.is_kept])

    def found(self) -> list[NotTaken]:
        with self.engine.connect() as connection:
            return self.outcomes.read(connection)


@pytest.fixture
def city(tmp_path: Path) -> Iterator[City]:
    engine = begun(Settings(data_dir=tmp_path).database_url)
    yield City(engine)
    engine.dispose()


def messages(*found: Found) -> list[Sent]:
    return list(Relay().messages(found))


def test_readings_that_the_city_refuses_are_counted_for_who_sent_them_with_the_reason(
    city: City,
) -> None:
    city.takes("meters", messages(METER, noise("n1"), noise("n2"), noise("n1", NOW_MS - 10**9)))
    city.takes(None, messages(noise("n3")))
    (found,) = city.found()
    assert (found.source, found.number) == ("meters", 2)
    unknown, old = found.samples
    assert (unknown["reason"], old["reason"]) == ("unknown-sensor", "ancient")
    assert unknown["at"] == "observations/noise"
    assert "no place `n2` with noise observations is known" in unknown["said"]
    assert json.loads(unknown["payload"])["sensor"] == "n2"
    assert city.found() == []


def test_a_place_that_the_city_refuses_is_counted(city: City) -> None:
    far = Place({**METER.body, "geometry": {"type": "Point", "coordinates": [999, 0]}})
    city.takes("meters", messages(far))
    (found,) = city.found()
    assert (found.number, found.samples[0]["at"]) == (1, "places/noise_meter/n1")


def test_thousands_at_once_of_which_few_letters_are_kept_are_all_counted(city: City) -> None:
    city.takes("many", messages(*(noise(f"m{number}") for number in range(12_345))))
    found = city.found()
    assert sum(one.number for one in found) == 12_345
    assert {one.source for one in found} == {"many"}
    assert all(one.samples for one in found)


def test_the_same_message_refused_again_after_a_restart_is_counted_anew(city: City) -> None:
    sent = messages(noise("n2"))
    for _start in range(2):
        city.takes("meters", sent)
        assert [one.number for one in city.found()] == [1]


def test_samples_are_the_newest_and_no_reason_pushes_out_another() -> None:
    samples = Samples()
    samples.add({"reason": "column", "said": "x" * 1000})
    for number in range(9):
        samples.add({"reason": "number", "said": str(number)})
    column, *numbers = samples.shown()
    assert (column["reason"], len(column["said"])) == ("column", 300)
    assert [one["said"] for one in numbers] == ["5", "6", "7", "8"]


@pytest.mark.slow
def test_the_page_is_told_what_a_running_city_did_not_take(tmp_path: Path) -> None:
    """The feed names no place for its station, as GBFS without its table of stations."""
    listen: Any = lambda _client: None  # noqa: E731
    with (
        listening(listen) as (at, _listener),
        serving(lambda handler: body(handler, station(5, wall_ms() // 1000))) as url,
    ):
        told = {"name": "bikes", "connector": "gbfs", "urls": (url,)}
        engine = begun(Settings(data_dir=tmp_path).database_url)
        street = Street(tmp_path, at, clock="wall")
        settings = Settings(data_dir=tmp_path, broker=at, sources=(Source.model_validate(told),))
        try:
            with running(settings, engine):
                soon(lambda: _reports(engine).get("bikes", {}).get("not_taken"))
        finally:
            street.stop()
        found = _reports(engine)["bikes"]
        engine.dispose()
    assert (found["observations"], found["refused"], found["not_taken"]) == (1, 0, 1)
    (sample,) = found["not_taken_samples"]
    assert sample["reason"] == "unknown-sensor"
    assert json.loads(sample["payload"])["sensor"] == "a"
