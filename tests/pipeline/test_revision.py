"""Readings that come late, are corrected or withdrawn leave the events of the stream in order."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from citywise.backend.ingest.records import Reading
from citywise.backend.pipeline.past import Corrected
from tests.pipeline.revising import START_MS, Disorder, System, message

ROADS = [("traffic", str(number)) for number in range(4)]
BOTH = [*ROADS, ("parking", "G1"), ("parking", "G2")]


def _cases() -> list[ParameterSet]:
    """Two that are quick, the others for when there is time."""
    ways = [(1, 1), (2, 1), (2, 2)]
    quick = [(0, 1, 1), (1, 2, 2)]
    rest = [(seed, *way) for seed in range(12) for way in ways if (seed, *way) not in quick]
    return [pytest.param(*one) for one in quick] + [
        pytest.param(*one, marks=pytest.mark.long) for one in rest
    ]


@pytest.mark.parametrize(("seed", "workers", "parts"), _cases())
def test_disorder_with_restarts_ends_in_the_events_of_the_stream_in_order(
    tmp_path: Path, seed: int, workers: int, parts: int
) -> None:
    chance = random.Random(seed)
    requests = ("traffic_jam", "garage_nearly_full")
    stream = Disorder(chance, BOTH, steps=10)
    system = System(tmp_path / "one", BOTH, requests, workers=workers, parts=parts)
    waiting = list(stream.arrivals)
    for at in range(START_MS, stream.end_ms, 150_000):
        system.hear(one for when, _n, one in waiting if when <= at)
        waiting = [each for each in waiting if each[0] > at]
        system.tick(at)
        if chance.random() < 0.6:
            system.work(crash=chance.random() < 0.2)
        if chance.random() < 0.1:
            system.restart_workers()
        if chance.random() < 0.1:
            system.restart_ingest()
    system.tick(stream.end_ms)
    system.work()
    assert system.dead == []
    assert system.stored() == System.of_order(tmp_path / "other", BOTH, stream.last, requests)
    assert system.heard() == system.stored()


@pytest.mark.long
def test_20_restarts_of_ingest_and_workers_lose_double_and_reorder_nothing(tmp_path: Path) -> None:
    """Each second time what was made is lost before it is committed."""
    stream = Disorder(random.Random(20), BOTH, steps=25)
    requests = ("traffic_jam", "garage_nearly_full")
    system = System(tmp_path / "one", BOTH, requests, workers=2, parts=2)
    waiting, restarts = list(stream.arrivals), 0
    for number, at in enumerate(range(START_MS, stream.end_ms, 150_000)):
        system.hear(one for when, _n, one in waiting if when <= at)
        waiting = [each for each in waiting if each[0] > at]
        system.tick(at)
        system.work(crash=number % 4 == 1)
        if number % 2:
            system.restart_workers()
            system.restart_ingest()
            restarts += 1
    system.tick(stream.end_ms)
    system.work()
    assert restarts >= 20
    assert system.dead == []
    assert system.stored() == System.of_order(tmp_path / "other", BOTH, stream.last, requests)
    assert system.heard() == system.stored()


def test_what_is_corrected_is_told_once_with_the_reading(tmp_path: Path) -> None:
    system = System(tmp_path / "city", ROADS)
    jam, free = {"speed_kmh": 10, "vehicle_count": 20}, {"speed_kmh": 90, "vehicle_count": 2}
    for minute, said in ((0, jam), (5, jam), (10, free)):
        system.hear([message("traffic", "1", START_MS + minute * 60_000, said)])
        system.tick(START_MS + minute * 60_000 + 1000)
    system.work()
    assert system.announced() == ["event.opened", "event.updated", "event.cleared"]
    system.hear([message("traffic", "1", START_MS, free)])
    system.hear([message("traffic", "1", START_MS, free)])
    system.work(crash=True)
    system.restart_workers()
    system.work()
    system.work()
    assert system.announced()[3:] == ["event.corrected"]
    ((_kind, body),) = system.told("event.corrected")
    assert (body["start"], body["end"]) == ("2014-08-05T00:05:00Z", "2014-08-05T00:10:00Z")
    assert body["id"].endswith("20140805T000000Z")
    (cause,) = body["revised"]["because"]
    assert (cause["what"], cause["observed_at"]) == ("corrected", "2014-08-05T00:00:00Z")
    assert cause["before"]["speed_kmh"] == 10
    assert cause["after"]["speed_kmh"] == 90
    system.hear([message("traffic", "1", START_MS + 300_000, None)])
    system.work()
    assert system.announced()[4:] == ["event.withdrawn"]
    assert system.stored() == []
    system.hear([message("traffic", "1", START_MS + 300_000, jam)])
    system.work()
    assert system.announced()[5:] == ["event.opened", "event.cleared"]
    assert system.heard() == system.stored()


def test_what_comes_beyond_the_horizon_is_late_and_changes_nothing(tmp_path: Path) -> None:
    system = System(tmp_path / "city", ROADS, horizon_s=600)
    jam = {"speed_kmh": 10, "vehicle_count": 20}
    for minute in (0, 20, 40):
        system.hear([message("traffic", "2", START_MS + minute * 60_000, jam)])
        system.tick(START_MS + minute * 60_000 + 1000)
        system.work()
    before = system.announced()
    system.hear([message("traffic", "1", START_MS + 29 * 60_000, jam)])
    system.hear([message("traffic", "2", START_MS, None)])
    system.work()
    assert system.announced() == before
    assert [reason for reason, _detail in system.letters()] == ["late", "late"]
    system.hear([message("traffic", "1", START_MS + 31 * 60_000, jam)])
    system.work()
    assert system.announced() == [*before, "event.opened"]


def test_without_a_horizon_the_first_word_counts(tmp_path: Path) -> None:
    system = System(tmp_path / "city", ROADS, horizon_s=0)
    jam, free = {"speed_kmh": 10, "vehicle_count": 20}, {"speed_kmh": 90, "vehicle_count": 2}
    system.hear([message("traffic", "1", START_MS, jam)])
    system.tick(START_MS + 1000)
    system.hear([message("traffic", "1", START_MS, free), message("traffic", "1", START_MS, None)])
    system.tick(START_MS + 2000)
    system.work()
    assert system.announced() == ["event.opened"]
    assert system.dead == ["not-withdrawn"]


def test_a_withdrawal_of_what_nobody_knows_is_a_dead_letter(tmp_path: Path) -> None:
    system = System(tmp_path / "city", ROADS)
    system.hear([message("traffic", "1", START_MS, None)])
    assert system.dead == ["not-withdrawn"]


def test_what_was_measured_of_a_kind_that_is_not_public_is_not_said() -> None:
    first, again = (
        Reading("traffic", "1", 1000, 1000, {"speed_kmh": said}, position)
        for position, said in ((0, 10), (5, 90))
    )
    for private, values in (((), (10, 90)), (("traffic",), (None, None))):
        (cause,) = Corrected([first, again], ["traffic"], (), 5, private).causes(2000)
        assert cause.what == "corrected"
        assert tuple(s and s["speed_kmh"] for s in (cause.before, cause.after)) == values
