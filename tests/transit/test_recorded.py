"""Journeys of real feeds, ridden in the raw files."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from citywise.apps.travel_planner.transit.decide import Transit
from citywise.apps.travel_planner.transit.feed import read_feed
from citywise.apps.travel_planner.transit.request import read
from citywise.apps.travel_planner.transit.timetable import Timetable
from tests.transit.oracle import Oracle

CAIRNS = [
    ((-16.92, 145.77), (-16.744, 145.6711), "2014-06-03T08:00:00+10:00"),
    ((-16.744, 145.6711), (-16.92, 145.77), "2014-06-07T22:30:00+10:00"),
    ((-16.93, 145.75), (-16.744, 145.6711), "2014-06-08T12:00:00+10:00"),
]
BART = [
    ("WCRK", "FRMT", "2019-03-05T17:00:00-08:00"),
    ("SFIA", "RICH", "2019-03-05T23:40:00-08:00"),
    ("ANTC", "MLBR", "2019-02-18T09:00:00-08:00"),
]


def feed_of(data_pack: Path, name: str) -> Path:
    path = data_pack / "feeds" / "gtfs" / f"{name}_gtfs.zip"
    if not path.is_file():
        pytest.skip(f"no {path}")
    return path


def ridden(raw: Oracle, route: dict[str, Any]) -> None:
    """Follow a journey leg by leg."""
    trips = {row["trip_id"]: row for row in raw.trips}
    now = datetime.fromisoformat(route["departs"])
    for leg in route["legs"]:
        departs, arrives = (datetime.fromisoformat(leg[end]) for end in ("departs", "arrives"))
        assert now <= departs <= arrives
        now = arrives
        if leg["mode"] == "walk":
            continue
        calls = [
            (row["stop_id"], departs_at, arrives_at)
            for row, arrives_at, departs_at in raw.times(leg["trip"])
        ]
        days = []
        for back in (0, 1):
            day = departs.astimezone(raw.zone).replace(hour=12, minute=0, second=0)
            day -= timedelta(back)
            zero = day.timestamp() - 12 * 3600
            on, off = departs.timestamp() - zero, arrives.timestamp() - zero
            at = [n for n, call in enumerate(calls) if call[:2] == (leg["stop_from"], on)]
            to = [n for n, call in enumerate(calls) if call[::2] == (leg["stop_to"], off)]
            if at and to and at[0] < to[-1]:
                days.append(raw.runs_on(trips[leg["trip"]]["service_id"], day))
        assert any(days), leg
    assert now == datetime.fromisoformat(route["arrives"])
    assert route["walk_m"] <= 1000


@pytest.mark.parametrize("name", ["cairns", "bart"])
def test_journeys_of_real_feeds_can_be_ridden(data_pack: Path, name: str) -> None:
    """Those with `arrive` at the time that the first was found to take are no worse."""
    path = feed_of(data_pack, name)
    feed, raw = read_feed(path), Oracle(path)
    assert feed.fault_count == 0
    transit = Transit(Timetable([feed]))
    for one, other, depart in CAIRNS if name == "cairns" else BART:
        ends: list[dict[str, Any]] = [
            {"stop": end} if isinstance(end, str) else {"lat": end[0], "lon": end[1]}
            for end in (one, other)
        ]
        body = {"from": ends[0], "to": ends[1], "mode": "transit", "alternatives": 1000}
        there = transit.answer(read({**body, "depart": depart}), None)["routes"]
        assert there
        back = transit.answer(read({**body, "arrive": there[0]["arrives"]}), None)["routes"]
        assert back[0]["departs"] == there[0]["departs"]
        for route in (*there, *back):
            ridden(raw, route)


def asked(random: Random, raw: Oracle, day: str, zone: str) -> dict[str, Any]:
    """Between two stops or points next to them, some time of a day."""
    ends: list[dict[str, Any]] = []
    for stop in random.sample(raw.places, 2):
        row = raw.stops[stop]
        near = {"lat": float(row["stop_lat"]) + 0.001, "lon": float(row["stop_lon"])}
        ends.append({"stop": stop} if random.random() < 0.3 else near)
    time = f"{random.randrange(5, 23):02d}:{random.randrange(60):02d}:00"
    body = {"from": ends[0], "to": ends[1], "mode": "transit", "alternatives": 1000}
    return {**body, "depart": f"{day}T{time}{zone}"}


def values(routes: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    trips = [tuple(leg["trip"] for leg in route["legs"]) for route in routes]
    ends = ("departs", "arrives", "changes", "walk_m")
    return sorted(
        (*(r[end] for end in ends), str(ids)) for r, ids in zip(routes, trips, strict=True)
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "day", "zone"),
    [("cairns", "2014-06-03", "+10:00"), ("bart", "2019-03-05", "-08:00")],
)
def test_five_hundred_questions_of_real_feeds(
    data_pack: Path, name: str, day: str, zone: str
) -> None:
    """Compiled and not the same journeys are found, each is ridden, none beats another, and who
    arrives by the time that the first arrives departs no earlier."""
    path, random = feed_of(data_pack, name), Random(name)
    raw, timetable = Oracle(path), Timetable([read_feed(path)])
    slow, fast = Transit(timetable), Transit(timetable, compiled=True)
    for number in range(250):
        body = asked(random, raw, day, zone)
        routes = fast.answer(read(body), None)["routes"]
        if number % 5 == 0:
            body |= {"within_min": 60} if number % 2 else {}
            routes = fast.answer(read(body), None)["routes"]
            assert values(routes) == values(slow.answer(read(body), None)["routes"]), body
        for route in routes:
            ridden(raw, route)
        by_line = [route for route in routes if route["changes"] or len(route["legs"]) > 1]
        if not by_line or "within_min" in body:
            continue
        for one, other in pairwise(routes):  # in order of arrival: each later one has an advantage
            assert one["arrives"] <= other["arrives"], body
        back = fast.answer(read({**body, "depart": None, "arrive": by_line[0]["arrives"]}), None)[
            "routes"
        ]
        assert max(route["departs"] for route in back) >= by_line[0]["departs"], body
        for route in back:
            ridden(raw, route)
