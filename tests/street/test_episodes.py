"""What is concluded from recorded Aarhus are the episodes derived from the data."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from citywise.backend.city.replay import Replay
from citywise.backend.pipeline.recorded import changes
from tests.street import running as street

# The data begin at midnight, so a morning from there on needs no earlier state.
START = datetime(2014, 8, 4, tzinfo=UTC)
UNTIL = datetime(2014, 8, 4, 7, 30, tzinfo=UTC)
Episode = tuple[str, datetime, datetime | None]


@pytest.mark.slow
def test_a_morning_has_exactly_the_derived_episodes(data_pack: Path) -> None:
    source = Replay(data_pack, START, UNTIL, timedelta(0))
    events = {body["id"]: body for _t_ms, _kind, body in changes(source, "incremental")}
    are_derived(data_pack, {_event(key, body) for key, body in events.items()})


@pytest.mark.long
@pytest.mark.spark
def test_a_replayed_morning_has_exactly_the_derived_episodes(
    data_pack: Path, tmp_path: Path
) -> None:
    play = {
        "data": str(data_pack),
        "speed": None,
        "start": START.isoformat(),
        "until": UNTIL.isoformat(),
        "lead_in_s": 0,
        "seed": 1,
    }
    with street.system(tmp_path, play) as system:
        end = UNTIL.timestamp() * 1000
        street.wait_until(system, lambda: street.answered(system) > end)
        found = street.events(system)
    are_derived(data_pack, {_episode(key, row) for key, row in found.items()})


def are_derived(pack: Path, found: set[tuple[str, Episode]]) -> None:
    """Episodes by kind are those that the pack has, of jams and of full garages."""
    jams = {episode for kind, episode in found if kind == "TrafficJam"}
    assert jams == set(_jams(pack))
    assert len(jams) > 100
    garages = {episode for kind, episode in found if kind == "ParkingFull"}
    derived = set(_garages(pack))
    assert {g for g in garages if g[1] >= START.replace(hour=1)} == derived
    # Full since before the data begin: the first reading opens what was open already.
    assert {g[0] for g in garages - derived} == {"BUSGADEHUSET", "SKOLEBAKKEN"}


def _event(key: str, body: dict[str, Any]) -> tuple[str, Episode]:
    start, end = body["start"], body["end"]
    kind, sensor, *_ = key.split("-")
    return kind, (sensor, datetime.fromisoformat(start), end and datetime.fromisoformat(end))


def _episode(key: str, row: tuple[int, int, int | None, int]) -> tuple[str, Episode]:
    start, _confirmed, end, _level = row
    kind, sensor, *_ = key.split("-")
    return kind, (sensor, _time(start), None if end is None else _time(end))


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _jams(pack: Path) -> Iterator[Episode]:
    for row in _rows(pack, "derived_traffic_congestion_episodes_2014-08.csv.gz"):
        start = _utc(row["start"], UTC)
        if START <= start <= UNTIL:
            yield row["report_id"], start, _end(row["cleared_at"], UTC)


def _garages(pack: Path) -> Iterator[Episode]:
    local = ZoneInfo("Europe/Copenhagen")
    for row in _rows(pack, "derived_parking_full_episodes_to_2014-08.csv.gz"):
        start = _utc(row["full_from"], local)
        if START <= start <= UNTIL:
            yield row["garagecode"], start, _end(row["free_at"], local)


def _utc(text: str, zone: tzinfo) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone).astimezone(UTC)


def _end(text: str, zone: tzinfo) -> datetime | None:
    """The end of an episode, None for one that lasts beyond what is replayed."""
    end = _utc(text, zone) if text else None
    return end if end is not None and end <= UNTIL else None


def _rows(pack: Path, name: str) -> Iterator[dict[str, str]]:
    with gzip.open(pack / "citybench" / name, "rt", encoding="utf-8") as file:
        yield from csv.DictReader(file)
