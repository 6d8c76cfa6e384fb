"""The simulated city: the same for the same seed, and like a city."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from citywise.backend.city.replay import Replay
from citywise.backend.city.simulated import town
from citywise.backend.city.simulated.day import Day
from citywise.backend.city.simulation import START, Simulation
from citywise.backend.city.steps import Reading, Source, SourceError, Step
from citywise.backend.ingest.payloads import LineString
from citywise.backend.kinds import builtin

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from tests.city.conftest import PackBuilder

DAY = timedelta(days=1)


def _digest(source: Source) -> str:
    digest = hashlib.sha256()
    for step in source.steps():
        for batch in step.batches:
            for payload in batch.payloads(500):
                digest.update(f"{step.ms}{batch.kind}".encode() + payload)
    return digest.hexdigest()


def _readings(source: Source) -> Iterator[tuple[Step, str, Reading]]:
    for step in source.steps():
        for batch in step.batches:
            for reading in batch.readings:
                yield step, batch.kind, reading


def _turns(source: Simulation) -> Iterator[tuple[float, str, bool]]:
    """(minutes after the start, sensor, whether it opens) of jams and full garages."""
    opened: set[str] = set()
    for step, kind, reading in _readings(source):
        sensor = str(reading["sensor"])
        now = _is_open(kind, reading)
        if now is not None and now != (sensor in opened):
            opened.symmetric_difference_update({sensor})
            yield (step.time - source.start).total_seconds() / 60, sensor, now


def _is_open(kind: str, reading: Reading) -> bool | None:
    if kind == "parking":
        return float(reading["occupied"] or 0) / float(reading["capacity"] or 1) >= 0.9
    if kind == "traffic":
        slow, busy = (
            float(reading["speed_kmh"] or 0) <= 35,
            float(reading["vehicle_count"] or 0) >= 10,
        )
        return slow if slow == busy else None
    return None


def test_the_same_seed_gives_the_same_day_byte_for_byte() -> None:
    assert _digest(Simulation(7, START, START + DAY)) == _digest(Simulation(7, START, START + DAY))


def test_another_seed_gives_another_day_in_the_same_town() -> None:
    assert _digest(Simulation(7, START, START + DAY)) != _digest(Simulation(8, START, START + DAY))
    assert Simulation(7).places() == Simulation(8).places()


def test_a_day_does_not_depend_on_where_the_simulation_begins() -> None:
    late = START + timedelta(hours=30)
    early = [s for s in Simulation(3, START, late).steps() if s.time >= START + DAY]
    assert early == list(Simulation(3, START + DAY, late, timedelta(0)).steps())


def test_every_reading_is_valid_and_has_a_place() -> None:
    source = Simulation(1, START, START + DAY)
    known = {(place.id, kind) for place in source.places() for kind in place.sensors}
    for step in source.steps():
        for batch in step.batches:
            for observation in batch.observations(builtin()[batch.kind]):
                assert (observation.sensor, batch.kind) in known
                assert observation.observed_at == step.time


def test_steps_grow_in_time_and_end_with_until() -> None:
    steps = list(Simulation(1, START, START + timedelta(hours=2)).steps())
    assert all(a.ms < b.ms for a, b in pairwise(steps))
    assert steps[0].time == START - timedelta(hours=3)
    assert steps[-1].time == START + timedelta(hours=2)


def test_without_an_end_it_goes_on_for_ever() -> None:
    source = Simulation(1)
    assert source.until is None
    horizon = START + timedelta(days=3)
    assert sum(1 for _ in takewhile(lambda step: step.time < horizon, source.steps())) > 1_600


def test_an_end_before_the_start_is_refused() -> None:
    with pytest.raises(SourceError, match="--until"):
        Simulation(1, START, START - DAY)


def test_the_default_morning_has_events_within_a_minute_at_60_times() -> None:
    """At ×60 jams are open after 20 seconds and some have cleared within a minute."""
    turns = list(_turns(Simulation(until=START + timedelta(hours=1))))
    jams = [(minute, opens) for minute, sensor, opens in turns if sensor.startswith("S")]
    opened = sum(1 for minute, opens in jams if opens and 0 <= minute <= 20)
    cleared = sum(1 for minute, opens in jams if not opens and 0 <= minute <= 60)
    garages = {(sensor, opens) for _, sensor, opens in turns if not sensor.startswith("S")}
    assert opened >= 3
    assert cleared >= 3
    assert {("voldhuset", False), ("banegaarden", True)} <= garages


def test_jams_come_with_the_rush_and_go_after_it() -> None:
    """More in the two rush hours than at any other time, and none left at night."""
    opened: dict[int, int] = defaultdict(int)
    state: set[str] = set()
    for minute, sensor, opens in _turns(Simulation(1, START, START + timedelta(hours=20))):
        if sensor.startswith("S"):
            opened[int(minute // 60)] += opens
            state.symmetric_difference_update({sensor})
    busiest = sorted(opened, key=lambda hour: -opened[hour])[:4]
    assert {0, 1} & set(busiest), "06:30 to 08:30"
    assert {8, 9, 10} & set(busiest), "14:30 to 17:30"
    assert not state


def test_days_off_have_less_traffic_than_workdays() -> None:
    roads = town.roads()
    tuesday, sunday = (Day(1, datetime(2025, 6, d, tzinfo=UTC).date(), roads) for d in (3, 8))
    assert sunday.count.sum() < 0.75 * tuesday.count.sum()
    rush = slice(5 * 12, 6 * 12)
    assert sunday.speed[rush].mean() > tuesday.speed[rush].mean() + 5


def test_rain_slows_traffic() -> None:
    roads = town.roads()
    wet: list[float] = []
    dry: list[float] = []
    for day in (Day(seed, START.date(), roads) for seed in range(30)):
        noon = slice(9 * 12, 11 * 12)
        (wet if day.rain[noon].mean() > 0.25 else dry).append(day.speed[noon].mean())
    assert wet
    assert np.mean(wet) < np.mean(dry) - 2


def test_air_is_worse_where_and_when_there_is_traffic() -> None:
    day = Day(1, START.date(), town.roads())
    nitrogen_dioxide = day.air[:, :, 4]
    rush, night = slice(5 * 12, 7 * 12), slice(0, 2 * 12)
    assert nitrogen_dioxide[rush].mean() > 1.5 * nitrogen_dioxide[night].mean()


def test_the_data_are_as_imperfect_as_real_ones() -> None:
    """Gaps, repeats, a sensor that sticks, stale speeds, and more cars than places."""
    day = Day(1, START.date(), town.roads())
    assert 0.005 < day.missing.mean() < 0.03
    assert 0 < day.twice.sum() < 300
    same = (day.speed[1:] == day.speed[:-1]) & (day.count[1:] == day.count[:-1])
    busy = same & (day.count[1:] > 0)
    assert busy.sum(axis=0).max() >= 15
    stale = (day.count[1:] == 0) & (day.speed[1:] == day.speed[:-1])
    assert stale.sum() == (day.count[1:] == 0).sum() > 100


def test_the_map_is_a_town_round_a_harbour() -> None:
    places = Simulation().places()
    roads = [place for place in places if place.kind == "road"]
    assert 150 <= len(roads) <= 250
    assert len({place.id for place in places}) == len(places)
    assert len({place.name for place in roads}) == len(roads)
    assert sum(place.kind == "garage" for place in places) == 6
    for place in roads:
        assert isinstance(place.geometry, LineString)
        for lon, lat in place.geometry.coordinates:
            assert abs(lon - 10.2) < 0.15
            assert abs(lat - 56.15) < 0.1
        assert place.length_m
        assert 100 < place.length_m < 4000


def test_both_sources_speak_of_the_same_things_in_the_same_words(small_pack: PackBuilder) -> None:
    """The same kinds of observation, with the same fields, and the same kinds of place."""
    start = datetime(2014, 8, 5, 7, tzinfo=UTC)
    small_pack.traffic([(11, "2014-08-05T07:00:00", 50, 3)])
    small_pack.air("pollution_5min_x.parquet", [(11, "2014-08-05T07:00:00", 3)])
    small_pack.parking([("BRUUNS", "2014-08-05 09:00:00", 10, 953, 1)])
    small_pack.weather(["2014-08-05T09:00:00,18.0,56.0,7.4"])
    replay = Replay(small_pack.root, start, start, timedelta(0))
    simulation = Simulation(1, START, START + timedelta(minutes=15))
    assert _fields(replay) == _fields(simulation)
    assert set(_fields(replay)) == {"traffic", "parking", "weather", "air"}
    assert {"road", "garage"} <= {p.kind for p in replay.places()}
    assert {p.kind for p in replay.places()} <= {p.kind for p in simulation.places()}


def _fields(source: Source) -> dict[str, set[str]]:
    return {kind: set(reading) for _, kind, reading in _readings(source)}


def test_a_replay_outside_the_data_says_where_they_are(small_pack: PackBuilder) -> None:
    small_pack.traffic([(11, "2014-08-05T07:00:00", 50, 3)])
    with pytest.raises(SourceError, match="2014-08-05T07:00Z"):
        Replay(small_pack.root, datetime(2020, 1, 1, tzinfo=UTC))


def test_a_replay_begins_in_the_morning_after_a_whole_lead_in(pack: Path) -> None:
    replay = Replay(pack)
    assert replay.start == datetime(2014, 8, 5, 5, tzinfo=UTC)
    assert replay.until == datetime(2014, 8, 31, 23, 55, tzinfo=UTC)
    first: dict[str, datetime] = {}
    for step in takewhile(lambda step: step.time <= replay.start, replay.steps()):
        for batch in step.batches:
            first.setdefault(batch.kind, step.time)
    assert first["traffic"] == replay.start - DAY
    assert replay.start - first["parking"] > timedelta(hours=23)
    assert replay.start - first["air"] == timedelta(hours=1), "air has no state to lead in"


def test_payloads_are_json_lists_of_what_the_models_say() -> None:
    step = next(Simulation(1, START, START).steps())
    (payload, *_) = step.batches[0].payloads(3)
    readings = json.loads(payload)
    assert len(readings) == 3
    assert set(readings[0]) == {"sensor", "observed_at", "speed_kmh", "vehicle_count"}
