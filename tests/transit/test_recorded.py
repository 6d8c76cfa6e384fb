"""Journeys of real feeds, ridden in the raw files."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
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
