"""Sensors that are silent, or tell what cannot be: each fault is found, and nothing else."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from citywise.backend.city.replay import Replay
from citywise.backend.city.simulation import Simulation
from citywise.backend.city.steps import Source
from citywise.backend.ingest.payloads import Place
from citywise.backend.kinds import builtin
from citywise.backend.kinds.health import KEPT, Peers, Series, Values, Verdict, judge
from citywise.backend.times import to_ms

MINUTE = 60_000
NOON = 1_407_240_000_000
Readings = Mapping[tuple[str, str], list[tuple[int, Values]]]


def series(kind: str, values: Iterable[Values], every_min: int = 5, ends_ms: int = NOON) -> Series:
    """One whose last reading is at `ends_ms`."""
    found, told = Series(kind, "s"), list(values)
    for number, one in enumerate(told):
        found.take(ends_ms - (len(told) - 1 - number) * every_min * MINUTE, one)
    return found


def traffic(*speeds: float, count: int = 12) -> list[Values]:
    return [{"speed_kmh": speed, "vehicle_count": count + n % 2} for n, speed in enumerate(speeds)]


def parking(*occupied: int) -> list[Values]:
    return [{"occupied": number, "capacity": 200} for number in occupied]


def air(*ozone: int) -> list[Values]:
    rest = ("particulate_matter", "carbon_monoxide", "sulfur_dioxide", "nitrogen_dioxide")
    return [{"ozone": number, **dict.fromkeys(rest, 40)} for number in ozone]


def weather(*temperatures: float) -> list[Values]:
    return [{"temperature_c": t, "humidity_pct": 80.0, "wind_kmh": 9.0} for t in temperatures]


LIVELY = Peers([series("traffic", traffic(*range(30, 42))) for _ in range(10)])
"""Sensors whose last reading differs from the one before."""
LATER = NOON + 16 * MINUTE


def checks(found: Series, now_ms: int = NOON, **more: Any) -> list[str]:
    verdict = judge(found, builtin()[found.kind], more.pop("peers", LIVELY), now_ms, 0, **more)
    return [finding.check for finding in verdict.findings]


# --- Each fault --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "now_ms", "expected"),
    [
        pytest.param(series("traffic", traffic(*range(40, 52))), NOON, [], id="well"),
        pytest.param(series("traffic", traffic(50, 51)), NOON + 15 * MINUTE, [], id="late"),
        pytest.param(series("traffic", traffic(50, 51, 52)), LATER, ["silent"], id="silent"),
        pytest.param(series("traffic", []), NOON, ["never-heard"], id="never heard"),
        pytest.param(
            series("weather", weather(9, 10, 11, 12), 60), NOON + 179 * MINUTE, [], id="slow, well"
        ),
        pytest.param(
            series("weather", weather(9, 10, 11), 60), NOON + 181 * MINUTE, ["silent"], id="slow"
        ),
        pytest.param(
            series("traffic", [{"speed_kmh": 40, "vehicle_count": 9}] * 8), NOON, ["stuck"], id="8"
        ),
        pytest.param(
            series("traffic", [{"speed_kmh": 40, "vehicle_count": 9}] * 7), NOON, [], id="7 alike"
        ),
        pytest.param(
            series("traffic", [{"speed_kmh": 40, "vehicle_count": 0}] * 40), NOON, [], id="night"
        ),
        pytest.param(
            series("parking", parking(*[40] * 19), 30), NOON, ["stuck"], id="garage for 9 h"
        ),
        pytest.param(series("parking", parking(*[40] * 18), 30), NOON, [], id="garage for 8.5 h"),
        pytest.param(series("parking", parking(*[0] * 40), 30), NOON, [], id="empty garage"),
        pytest.param(series("parking", parking(190, 211), 30), NOON, ["over-capacity"], id="full+"),
        pytest.param(series("parking", parking(190, 210), 30), NOON, [], id="some wait"),
        pytest.param(
            series("parking", parking(20, 121, 122), 30), NOON, ["jump"], id="100 cars at once"
        ),
        pytest.param(series("parking", parking(20, 120), 30), NOON, [], id="half of them"),
        pytest.param(series("air", air(40, 141, 141)), NOON, ["jump"], id="air"),
        pytest.param(series("air", air(40, 140)), NOON, [], id="air, bad soon"),
        pytest.param(series("weather", weather(20, 9.9), 20), NOON, ["jump"], id="frost"),
    ],
)
def test_a_fault_is_found_where_the_document_draws_the_line(
    found: Series, now_ms: int, expected: list[str]
) -> None:
    assert checks(found, now_ms) == expected


def test_vehicles_twice_as_fast_as_free_flow_are_implausible_but_a_single_one_is_not() -> None:
    fast = series("traffic", traffic(*[101] * 6))
    assert checks(fast, free_flow_kmh=50) == ["too-fast"]
    assert checks(series("traffic", traffic(*[100] * 6)), free_flow_kmh=50) == []
    assert checks(series("traffic", traffic(50, 49, 50, 48, 51, 180)), free_flow_kmh=50) == []
    assert checks(fast) == []  # nobody knows the free flow
    parked = series("traffic", traffic(*[101] * 6, count=-1))
    assert [s.values["vehicle_count"] for s in parked.samples][-1] == 0
    assert checks(parked, free_flow_kmh=50) == []


def test_on_a_slow_road_it_takes_thirty_more() -> None:
    assert checks(series("traffic", traffic(*[49] * 6)), free_flow_kmh=20) == []
    assert checks(series("traffic", traffic(*[51] * 6)), free_flow_kmh=20) == ["too-fast"]


def test_what_stays_the_same_everywhere_is_not_stuck() -> None:
    """Nothing changes in the whole city: a feed that repeats itself, or a quiet night."""
    stuck = [series("traffic", [{"speed_kmh": 40, "vehicle_count": 9}] * 10) for _ in range(9)]
    assert checks(stuck[0], peers=Peers(stuck)) == []
    half = [*stuck[:5], *(series("traffic", traffic(*range(30, 42))) for _ in range(5))]
    assert checks(stuck[0], peers=Peers(half)) == ["stuck"]


def test_a_sensor_that_is_alone_has_to_stay_the_same_twice_as_long() -> None:
    def alone(readings: int) -> list[str]:
        found = series("weather", weather(*[12] * readings), 20)
        return checks(found, peers=Peers([found]))

    assert alone(24) == []
    assert alone(25) == ["stuck"]


def test_a_silent_sensor_is_not_also_judged_by_what_it_said() -> None:
    verdict = judge(
        series("parking", parking(500, 500, 500)), builtin()["parking"], LIVELY, NOON + 10**8, 0
    )
    assert (verdict.state, [f.check for f in verdict.findings]) == ("silent", ["silent"])


def test_a_reason_says_what_was_found_and_what_is_usual() -> None:
    told = series("traffic", traffic(50, 51, 52))
    (finding,) = judge(told, builtin()["traffic"], LIVELY, LATER, 0).findings
    assert finding.text == "no reading for 16 min; usually every 5 min"
    assert finding.numbers == {"age_s": 960, "limit_s": 900, "period_s": 300}


def test_only_the_last_readings_are_kept_but_how_long_they_have_been_alike_is_known() -> None:
    found = series("parking", parking(*[40] * 500), 30)
    assert (len(found.samples), found.same) == (KEPT, 500)
    assert found.since_ms == NOON - 499 * 30 * MINUTE


def test_a_reading_that_comes_late_changes_nothing() -> None:
    found = series("traffic", traffic(50, 51))
    found.take(NOON - 3 * MINUTE, {"speed_kmh": 1, "vehicle_count": 1})
    found.take(NOON, {"speed_kmh": 1, "vehicle_count": 1})
    assert [sample.values["speed_kmh"] for sample in found.samples] == [50, 51]


# --- Whole cities ------------------------------------------------------------------------


def readings_of(source: Source, until_ms: int) -> dict[tuple[str, str], list[tuple[int, Values]]]:
    found: dict[tuple[str, str], list[tuple[int, Values]]] = defaultdict(list)
    for step in source.steps():
        if step.ms > until_ms:
            break
        for batch in step.batches:
            for one in batch.readings:
                values = {k: v for k, v in one.items() if k not in ("sensor", "observed_at")}
                found[batch.kind, str(one["sensor"])].append((step.ms, values))
    return found


def judged(
    places: Iterable[Place], readings: Readings, now_ms: int
) -> dict[tuple[str, str], Verdict]:
    """Every sensor of a city, by kind and place."""
    known = {place.id: place for place in places}
    followed = {(kind, p.id): Series(kind, p.id) for p in known.values() for kind in p.sensors}
    for key, told in readings.items():
        for ms, values in told:
            if ms <= now_ms:
                followed[key].take(ms, values)
    first = min(ms for told in readings.values() for ms, _ in told[:1])
    peers = {kind: Peers(s for (k, _), s in followed.items() if k == kind) for kind in builtin()}
    return {
        (kind, name): judge(
            found, builtin()[kind], peers[kind], now_ms, first, known[name].free_flow_kmh
        )
        for (kind, name), found in followed.items()
    }


def named(found: Mapping[tuple[str, str], Verdict]) -> set[tuple[str, str]]:
    """Place and check of everything that is wrong."""
    return {(name, f.check) for (_, name), verdict in found.items() for f in verdict.findings}


START = datetime(2025, 5, 27, 4, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def simulated() -> tuple[list[Place], dict[tuple[str, str], list[tuple[int, Values]]]]:
    """Half a day of the simulated city."""
    city = Simulation(seed=1, start=START, lead_in=timedelta(hours=6))
    return city.places(), readings_of(city, to_ms(START) + 6 * 60 * MINUTE)


@pytest.mark.parametrize("hours", [0, 2, 4, 6])
def test_in_a_clean_simulated_city_nothing_is_wrong(simulated: Any, hours: int) -> None:
    """But for the one sensor that the simulation lets stick."""
    places, readings = simulated
    found = named(judged(places, readings, to_ms(START) + hours * 60 * MINUTE))
    assert {check for _, check in found} <= {"stuck"}
    assert len(found) <= 1


def spoilt(readings: Readings, kind: str, values: Values | None) -> tuple[str, Readings]:
    """A sensor of a kind, and the readings with its last hour told as `values` (None: not
    at all)."""
    name = sorted(sensor for k, sensor in readings if k == kind)[0]
    end = to_ms(START) + 4 * 60 * MINUTE
    told = readings[kind, name]
    late = [(ms, {**was, **values}) for ms, was in told if ms > end - 60 * MINUTE and values]
    kept = [(ms, was) for ms, was in told if ms <= end - 60 * MINUTE]
    return name, {**readings, (kind, name): [*kept, *late]}


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("traffic", None, {"silent"}),
        ("parking", None, {"silent"}),
        ("air", None, {"silent"}),
        ("traffic", {"speed_kmh": 31.0, "vehicle_count": 7}, {"stuck"}),
        ("parking", {"occupied": 9_999}, {"over-capacity", "jump"}),
        ("traffic", {"speed_kmh": 290.0}, {"too-fast"}),
        ("air", {"ozone": 499}, {"jump"}),
        ("weather", {"temperature_c": -40.0}, {"jump"}),
    ],
)
def test_a_fault_put_into_the_simulated_city_is_found_and_no_other(
    simulated: Any, kind: str, values: Values | None, expected: set[str]
) -> None:
    places, readings = simulated
    now = to_ms(START) + 4 * 60 * MINUTE
    before = named(judged(places, readings, now))
    name, changed = spoilt(readings, kind, values)
    found = named(judged(places, changed, now)) - before
    assert found == {(name, check) for check in expected}


def test_a_place_whose_sensor_never_spoke_is_named(simulated: Any) -> None:
    places, readings = simulated
    kind, name = next(iter(readings))
    left = {key: told for key, told in readings.items() if key != (kind, name)}
    found = named(judged(places, left, to_ms(START) + 60 * MINUTE))
    assert (name, "never-heard") in found


@pytest.mark.slow
def test_on_a_morning_in_aarhus_the_two_garages_that_stand_still_are_found(data_pack: Path) -> None:
    """5 August 2014, 09:00 in Denmark: 449 segments, 8 garages, a weather and 449 air stations.

    NORREPORT has said 41 of 65 for a day, SKOLEBAKKEN 512 of 512; on segment 190338, whose
    free flow is said to be 19 km/h, people drive 70. Nothing else is wrong.
    """
    now = datetime(2014, 8, 5, 7, tzinfo=UTC)
    replay = Replay(data_pack, start=now, until=now)
    found = judged(replay.places(), readings_of(replay, to_ms(now)), to_ms(now))
    assert named(found) == {
        ("NORREPORT", "stuck"),
        ("SKOLEBAKKEN", "stuck"),
        ("190338", "too-fast"),
    }
    states = Counter((kind, verdict.state) for (kind, _), verdict in found.items())
    assert states["traffic", "ok"] == 448
    assert (states["weather", "ok"], states["air", "ok"]) == (1, 449)
