"""Requests of a process share what they read: the log's records, triples and facts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from citywise.backend.city.observations import stream_iri, triples
from citywise.backend.ingest import records
from citywise.backend.ingest.records import ClockReading, Reading
from citywise.backend.kinds import builtin
from citywise.backend.pipeline.sharing import Memory, Sight
from citywise.backend.pipeline.slices import Entry, Slices
from citywise.reasoning import Encoder, Item
from citywise.reasoning.languages.casp.parsing import parse, parse_file
from tests.pipeline.stretches import START_MS, Stretches, traffic
from tests.pipeline.test_evaluation import REQUEST, STREETS, write

SOSA = "http://www.w3.org/ns/sosa/"
CITY = "https://w3id.org/citywise/city#"


class Log:
    """Counts what is read; every 10 positions there is a record with two readings."""

    def __init__(self) -> None:
        self.reads: list[tuple[int, int]] = []

    def read(self, location: str, start: int, end: int) -> Iterable[Entry]:
        self.reads.append((start, end))
        for position in range(start, end, 10):
            first = records.item_position(position)
            for number in (first, first + 1):
                yield Reading("traffic", location, number, number, {}, number)


def positions(entries: Iterable[Entry]) -> list[int]:
    return [records.record_position(e.position) for e in entries][::2]


def test_a_stretch_that_several_requests_read_is_decoded_once() -> None:
    log = Log()
    slices = Slices(read=log.read)
    first = slices.read("a", 0, 50)
    second = slices.read("a", 0, 50)
    assert all(one is other for one, other in zip(first, second, strict=True))
    assert positions(slices.read("a", 20, 70)) == [20, 30, 40, 50, 60]
    assert log.reads == [(0, 50), (50, 70)]


@pytest.mark.parametrize(("start", "end"), [(0, 10), (30, 60), (200, 230), (0, 230), (60, 60)])
def test_a_stretch_is_what_the_log_holds_whatever_was_read_before(start: int, end: int) -> None:
    slices = Slices(read=Log().read)
    slices.read("a", 30, 60)
    assert positions(slices.read("a", start, end)) == list(range(start, end, 10))


def test_what_is_held_is_bounded_and_older_records_are_read_again() -> None:
    log = Log()
    slices = Slices(most=10, read=log.read)
    slices.read("a", 0, 100)
    assert positions(slices.read("a", 80, 120)) == [80, 90, 100, 110]
    assert positions(slices.read("a", 0, 30)) == [0, 10, 20]
    assert log.reads == [(0, 100), (100, 120), (0, 30)]


def test_logs_are_kept_apart() -> None:
    slices = Slices(read=Log().read)
    assert [e.sensor for e in slices.read("a", 0, 10) if isinstance(e, Reading)] == ["a", "a"]
    assert [e.sensor for e in slices.read("b", 0, 10) if isinstance(e, Reading)] == ["b", "b"]


def test_a_read_that_fails_half_way_leaves_nothing_behind() -> None:
    log = Log()

    def read(location: str, start: int, end: int) -> Iterable[Entry]:
        yield from log.read(location, start, end)
        if len(log.reads) == 1:
            raise OSError("lost")

    slices = Slices(read=read)
    with pytest.raises(OSError, match="lost"):
        slices.read("a", 0, 50)
    assert positions(slices.read("a", 0, 50)) == [0, 10, 20, 30, 40]


def test_when_a_user_was_forgotten_all_is_read_again() -> None:
    log, forgotten = Log(), [0]
    slices = Slices(read=log.read, forgettings=lambda _location: forgotten[0])
    slices.read("a", 0, 50)
    forgotten[0] = 1
    for _ in range(2):
        assert positions(slices.read("a", 20, 50)) == [20, 30, 40]
    assert log.reads == [(0, 50), (20, 50)]


def test_slices_read_a_real_log(tmp_path: Path) -> None:
    stretches = Stretches(tmp_path)
    stretches.write([(100, [traffic("1", 50, 20, 20)]), (200, [])])
    found = Slices().read(str(tmp_path), 0, stretches.ends[-1])
    assert [type(entry) for entry in found] == [Reading, ClockReading, ClockReading]


def reading(sensor: str = "1", position: int = 1, speed: float = 5) -> Reading:
    values = {"speed_kmh": speed, "vehicle_count": 3}
    return Reading("traffic", sensor, START_MS, START_MS, values, position)


def test_requests_that_see_a_reading_alike_share_its_triples_and_facts(tmp_path: Path) -> None:
    write(tmp_path, "main_streets.ttl", STREETS)
    other = REQUEST.replace("Speed < 100", "Speed < 77")
    sights = [
        Sight(parse_file(write(tmp_path, f"{number}.casp", text)), builtin().only(["traffic"]))
        for number, text in enumerate((REQUEST, other))
    ]
    shared = reading()
    first, second = (sight.item(shared) for sight in sights)
    assert first is second
    facts = [sight.encoder.facts(first) for sight in sights]
    assert facts[0] is facts[1]
    assert sights[0].encoder.supplied == sights[1].encoder.supplied != frozenset()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("city_averageSpeed 10.", "city_averageSpeed 100."), "city_averageSpeed(O,500)"),
        (("#prefix place :", "#prefix street :"), 'sosa_hasFeatureOfInterest(O,"street_1")'),
        (("[time 1s", "[time 1000ms"), "city_averageSpeed(O,50)"),
        (
            ("Obs,Road)", "Obs,Road,_)"),
            f'sosa_hasFeatureOfInterest(O,"place_1",{START_MS // 1000})',
        ),
    ],
)
def test_requests_that_see_a_reading_differently_each_get_their_own_facts(
    tmp_path: Path, change: tuple[str, str], expected: str
) -> None:
    write(tmp_path, "main_streets.ttl", STREETS)
    assert change[0] in REQUEST
    texts = REQUEST, REQUEST.replace(*change)
    shared, found = reading(), []
    for number, text in enumerate(texts):
        request = parse_file(write(tmp_path, f"{number}.casp", text))
        sight = Sight(request, builtin().only(["traffic"]))
        item = sight.item(shared)
        base = 0 if request.unit == "s" else START_MS
        found.append([f.replace(str(_subject(f)), "O") for f in sight.encoder.facts(item, base)])
        alone = Sight(request, builtin().only(["traffic"]))
        assert sight.encoder.facts(item, base) == alone.encoder.facts(alone.item(reading()), base)
    assert expected in found[1]


def _subject(fact: str) -> str:
    return fact[fact.index("(") + 1 : fact.index(",")]


def test_readings_of_other_logs_at_the_same_position_are_told_apart() -> None:
    memory: Memory[Reading, str] = Memory()
    one, other = reading("1"), reading("2")
    memory.put(one, "one")
    assert memory.get(one) == "one"
    assert memory.get(other) is None


def test_a_memory_is_bounded() -> None:
    memory: Memory[Reading, int] = Memory(most=10)
    kept = [reading(position=number) for number in range(100)]
    for number, source in enumerate(kept):
        memory.put(source, number)
    known = [source.position for source in kept if memory.get(source) is not None]
    assert 5 <= len(known) <= 10
    assert known[-1] == 99


@pytest.mark.parametrize("prefix", [SOSA, CITY, "http://elsewhere/"])
@pytest.mark.parametrize("listed", ["", "#input p_averageSpeed/2."])
def test_a_count_window_counts_readings_as_it_counts_their_triples(
    prefix: str, listed: str
) -> None:
    request = parse(
        f"#prefix p: <{prefix}>. #from stream <{stream_iri('traffic')}> [count 2 step 1]. {listed} "
        "a(X) :- p_averageSpeed(X,_)."
    )
    kind = builtin()["traffic"]
    sight = Sight(request, builtin().only(["traffic"]))
    for said in ({"averageSpeed": 7}, {"vehicleCount": 7}, {}):
        reading = Reading("traffic", "1", START_MS, START_MS, said, 0)
        seen = Encoder(request).is_relevant(Item(0, triples(reading, kind)))
        assert sight.encoder.is_relevant(sight.item(reading)) == seen
        assert sight.encoder.is_relevant(sight.blank(reading)) == seen
