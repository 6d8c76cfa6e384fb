"""The Pareto set is that of all journeys, on small networks with all that a feed may have."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from citywise.apps.travel_planner.requests import RequestError
from citywise.apps.travel_planner.transit.decide import Transit, message_in
from citywise.apps.travel_planner.transit.feed import read_feed
from citywise.apps.travel_planner.transit.request import read
from citywise.apps.travel_planner.transit.timetable import Timetable
from tests.transit.networks import network, question, zipped
from tests.transit.oracle import Answer, Oracle
from tests.transit.updates import updates, written


def seen(route: dict[str, Any], arrive: bool) -> Answer:
    """What the oracle says of a journey."""
    at = int(datetime.fromisoformat(route["departs" if arrive else "arrives"]).timestamp())
    trips = tuple(leg["trip"] for leg in route["legs"] if leg["trip"])
    return at, route["changes"], route["walk_m"], trips


def compare(
    folder: Path, seed: int, changes: int = 0, via: int = 0, *, compiled: bool = False
) -> int:
    """Ask three questions of one network, with some real-time updates; how many journeys there
    are."""
    random = Random(seed)
    tables = network(random)
    feed = zipped(folder / f"{seed}.zip", tables)
    told = updates(random, Oracle(feed), changes) if changes else []
    oracle, count = Oracle(feed, told), 0
    messages = [message_in(written(folder / f"{seed}.pb", told))] if told else []
    planner = Transit(Timetable([read_feed(feed)]), messages, compiled=compiled)
    for _ in range(3):
        body = question(random, tables, via)
        ends = [body["from"], body["to"], *body.get("via", [])]
        if any("stop" in end and not oracle.ends(end, 0, 1) for end in ends):
            with pytest.raises(RequestError, match="no feed has"):  # a station without stops
                planner.answer(read(body), None)
            continue
        answer = planner.answer(read(body), None)
        found = [seen(route, "arrive" in body) for route in answer["routes"]]
        assert found == oracle.answer(body), (seed, body)
        count += len(found)
    return count


def compare_ranges(folder: Path, seed: int, via: int = 0, *, compiled: bool = False) -> int:
    """Ask two questions of one network over an hour or two; how many journeys there are."""
    random, count = Random(seed), 0
    tables = network(random)
    feed = zipped(folder / f"{seed}.zip", tables)
    told = updates(random, Oracle(feed), seed % 3) if seed % 3 else []
    oracle = Oracle(feed, told)
    messages = [message_in(written(folder / f"{seed}.pb", told))] if told else []
    planner = Transit(Timetable([read_feed(feed)]), messages, compiled=compiled)
    for within_min in (60, 180):
        body = question(random, tables, via)
        ends = [body["from"], body["to"], *body.get("via", [])]
        if any("stop" in end and not oracle.ends(end, 0, 1) for end in ends):
            continue
        answer = planner.answer(read({**body, "within_min": within_min}), None)
        found = [
            (
                *(
                    int(datetime.fromisoformat(route[end]).timestamp())
                    for end in ("departs", "arrives")
                ),
                route["changes"],
                route["walk_m"],
            )
            for route in answer["routes"]
        ]
        assert sorted(found) == oracle.ranged(body, within_min * 60), (seed, body)
        count += len(found)
    return count


def test_small_networks_have_the_journeys_of_the_oracle(tmp_path: Path) -> None:
    assert sum(compare(tmp_path, seed) for seed in range(100)) > 100


def test_small_networks_with_updates_have_the_journeys_of_the_oracle(tmp_path: Path) -> None:
    assert sum(compare(tmp_path, seed, changes=4) for seed in range(100)) > 100


def test_journeys_along_other_places_are_those_of_the_oracle(tmp_path: Path) -> None:
    assert sum(compare(tmp_path, seed, changes=2, via=1 + seed % 2) for seed in range(60)) > 20


def compare_reach(folder: Path, seed: int, *, compiled: bool = False) -> int:
    """Where one gets off within two hours, and when, is where the journeys to each stop end."""
    random = Random(seed)
    tables = network(random)
    feed = zipped(folder / f"{seed}.zip", tables)
    oracle, planner = Oracle(feed), Transit(Timetable([read_feed(feed)]), compiled=compiled)
    _, _, lat, lon, *_ = random.choice(tables["stops.txt"][1:])
    here = float(str(lat)) + 0.001, float(str(lon))
    body = {"from": {"lat": here[0], "lon": here[1]}, "mode": "transit"}
    since = int(datetime.fromisoformat("2024-04-02T09:30:00+02:00").timestamp())
    found = planner.reachable(*here, since, 120)["features"][1:]
    told = {
        each["id"]: int(datetime.fromisoformat(each["properties"]["arrives"]).timestamp())
        for each in found
    }
    expected = {}
    for stop in oracle.places:
        asked = {**body, "to": {"stop": stop}, "depart": "2024-04-02T09:30:00+02:00"}
        arrivals = [arrives for _, arrives, _, _, _ in oracle.every(asked)]
        if arrivals and min(arrivals) <= since + 7200:
            expected[stop] = min(arrivals)
    assert told == expected, seed
    return len(told)


@pytest.mark.parametrize("seed", range(1, 9))
def test_where_one_can_be_is_where_journeys_of_the_oracle_end(tmp_path: Path, seed: int) -> None:
    compare_reach(tmp_path, seed)


def test_ranges_of_departures_are_those_of_the_oracle(tmp_path: Path) -> None:
    found = [compare_ranges(tmp_path, seed, via=seed % 4 == 3) for seed in range(40)]
    assert sum(found) > 10


@pytest.mark.thorough
def test_the_compiled_search_finds_the_journeys_of_the_oracle(tmp_path: Path) -> None:
    """On those networks whose rules of changing name no lines; the others are searched as ever."""
    found = [compare(tmp_path, seed, changes=seed % 3, compiled=True) for seed in range(200, 250)]
    assert sum(found) > 50


@pytest.mark.thorough
def test_the_compiled_search_finds_the_ranges_of_the_oracle(tmp_path: Path) -> None:
    assert sum(compare_reach(tmp_path, seed, compiled=True) for seed in range(20)) > 10
    found = [compare_ranges(tmp_path, seed, compiled=True) for seed in range(200, 250)]
    assert sum(found) > 5


@pytest.mark.long
def test_five_hundred_networks_have_the_ranges_of_the_oracle(tmp_path: Path) -> None:
    found = [compare_ranges(tmp_path, seed, compiled=seed % 2 == 0) for seed in range(300, 800)]
    assert sum(found) > 100


@pytest.mark.long
def test_five_hundred_updated_networks_have_the_journeys_of_the_oracle(tmp_path: Path) -> None:
    assert sum(compare(tmp_path, seed, changes=6) for seed in range(100, 600)) > 500


@pytest.mark.long
def test_a_thousand_networks_have_the_journeys_of_the_oracle(tmp_path: Path) -> None:
    assert sum(compare(tmp_path, seed) for seed in range(100, 1_100)) > 1_000
