"""Feeds at fault are refused or told of; what is not offered is refused."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import pytest

from citywise.apps.travel_planner.requests import RequestError
from citywise.apps.travel_planner.transit import tables
from citywise.apps.travel_planner.transit.decide import transit
from citywise.apps.travel_planner.transit.feed import read_feed
from citywise.apps.travel_planner.transit.tables import FeedError
from tests.command import Folder
from tests.transit.networks import Tables, network, zipped

BODY: dict[str, Any] = {"from": {"stop": "s0"}, "to": {"stop": "s1"}, "mode": "transit"}


def small() -> dict[str, Any]:
    """A feed of a trip t1 from s0 to s1 at 10:00 on Mondays to Fridays, and t0 on weekends."""
    whole: Tables = network(Random(0))
    calls: list[list[object]] = []
    for trip in ("t0", "t1"):
        calls.append([trip, "10:00:00", "10:00:00", "s0", 1, 0, 0, ""])
        calls.append([trip, "10:05:00", "10:05:00", "s1", 2, 0, 0, ""])
    trips = [["r1", "we", "t0", ""], ["r1", "wd", "t1", ""]]
    return {
        **whole,
        "trips.txt": [whole["trips.txt"][0], *trips],
        "stop_times.txt": [whole["stop_times.txt"][0], *calls],
        "frequencies.txt": whole["frequencies.txt"][:1],
        "transfers.txt": whole["transfers.txt"][:1],
    }


def changed(folder: Path, table: str, *rows: list[object]) -> Path:
    """The small feed with more rows in a table."""
    whole = small()
    return zipped(folder / "feed.zip", {**whole, table: [*whole[table], *rows]})


def test_without_a_time_one_departs_on_the_first_day_of_service(tmp_path: Path) -> None:
    answer = transit(BODY, [zipped(tmp_path / "feed.zip", small())], None)
    (route,) = answer["routes"]
    assert answer["now"].startswith("2024-03-25T00:00:00")
    assert route["departs"].startswith("2024-03-25T10:00:00")
    assert (route["changes"], route["walk_m"], route["cost"]) == (0, 0, None)
    (leg,) = route["legs"]
    assert (leg["stop_from"], leg["stop_to"], leg["trip"]) == ("s0", "s1", "t1")
    assert leg["planned"] == {"departs": leg["departs"], "arrives": leg["arrives"]}


@pytest.mark.parametrize(
    ("table", "row", "said"),
    [
        ("stops.txt", ["s0", "twice", 1, 1, 0, ""], "stops.txt:"),
        ("stops.txt", ["x", "far", 100, 1, 0, ""], "has no position"),
        ("trips.txt", ["none", "wd", "t2", ""], "trips.txt:4: trip 't2'"),
        ("trips.txt", ["r1", "wd", "t2", ""], "fewer than two stops"),
        ("stop_times.txt", ["t1", "9:00:00", "9:00:00", "s2", 3, 0, 0, ""], "back in time"),
        ("stop_times.txt", ["t1", "later", "", "s2", 3, 0, 0, ""], "stop_times.txt:6:"),
        ("stop_times.txt", ["t1", "", "", "s2", 3, 0, 0, ""], "no time at its first or last"),
        ("stop_times.txt", ["t1", "11:00:00", "", "nowhere", 3, 0, 0, ""], "no stop 'nowhere'"),
        ("stop_times.txt", ["t1", "11:00:00", "", "s2", 2, 0, 0, ""], "`stop_sequence` 2 twice"),
        ("calendar_dates.txt", ["wd", "2024-04-01", 1], "calendar_dates.txt:4"),
        ("frequencies.txt", ["t0", "10:00:00", "11:00:00", 0], "frequencies.txt:2"),
        ("frequencies.txt", ["t0", "0:00:00", "900:00:00", 1], "frequencies.txt:2"),
        ("transfers.txt", ["s0", "nowhere", 0, "", "", "", "", ""], "transfers.txt:2: no stop"),
        ("transfers.txt", ["s0", "s1", 2, "", "", "", "", ""], "no `min_transfer_time`"),
        ("transfers.txt", ["s0", "s1", 4, "", "", "", "", ""], "type '4' is not known"),
    ],
)
def test_what_is_faulty_is_left_out_and_named_with_its_line(
    tmp_path: Path, table: str, row: list[object], said: str
) -> None:
    feed = read_feed(changed(tmp_path, table, row))
    assert len(feed.faults) == 1
    assert said in feed.faults[0]


def test_missing_times_are_those_of_the_length_ridden(tmp_path: Path) -> None:
    whole = small()
    whole["stop_times.txt"] = [
        whole["stop_times.txt"][0],
        ["t1", "10:00:00", "10:00:00", "s0", 1, 0, 0, 0],
        ["t1", "", "", "s1", 2, 0, 0, 1],
        ["t1", "10:00:49", "10:00:49", "s2", 3, 0, 0, 49],
    ]
    whole["trips.txt"] = [whole["trips.txt"][0], ["r1", "wd", "t1", ""]]
    (trip,) = read_feed(zipped(tmp_path / "feed.zip", whole)).trips
    assert [call.arrives - 36_000 for call in trip.calls] == [0, 1, 49]


@pytest.mark.parametrize("table", [*tables.NEEDED])
def test_a_feed_without_a_table_is_refused(tmp_path: Path, table: str) -> None:
    whole = small()
    del whole[table]
    with pytest.raises(FeedError, match=f"has no {table}"):
        read_feed(zipped(tmp_path / "feed.zip", whole))


def test_what_is_no_feed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tmp_path / "text.zip"
    text.write_text("no archive")
    with pytest.raises(FeedError, match="is no zip archive"):
        read_feed(text)
    whole = small()
    whole["stops.txt"] = [["stop_name"], ["x"]]
    with pytest.raises(FeedError, match=r"stops\.txt:1: has no column stop_id"):
        read_feed(zipped(tmp_path / "column.zip", whole))
    latin = zipped(tmp_path / "latin.zip", {n: t for n, t in small().items() if n != "routes.txt"})
    with zipfile.ZipFile(latin, "a") as archive:
        archive.writestr("routes.txt", "route_id\nKøbenhavn\n".encode("latin-1"))
    with pytest.raises(FeedError, match=r"routes\.txt: is not UTF-8"):
        read_feed(latin)
    monkeypatch.setattr(tables, "MOST_BYTES", 100)
    with pytest.raises(FeedError, match=r"bytes unpacked; expected at most 100"):
        read_feed(zipped(tmp_path / "large.zip", small()))


def test_a_feed_whose_trips_are_all_faulty_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FeedError, match="has no trip that can be ridden"):
        read_feed(
            zipped(tmp_path / "feed.zip", {**small(), "trips.txt": [small()["trips.txt"][0]]})
        )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"mode": "car"}, "give streets (--data) for other modes"),
        ({"mode": "tram"}, "mode: "),
        ({"via": [{"lat": 1.0}]}, "via[0]: expected"),
        ({"via": [{"stop": "s0"}]}, "via[0]: it is where you come from"),
        ({"via": 3}, "via: "),
        ({"preferences": [{"minimise": "luck"}]}, "preferences"),
        ({"preferences": [{"minimise": "walk"}, {"maximise": "walk"}]}, "both least and most"),
        ({"constraints": [{"on": "walk", "op": "~", "value": 3}]}, "constraints"),
        ({"to": {"stop": "none"}}, "no feed has a stop or station 'none'"),
        ({"to": {"stop": "s0"}}, "it is where you start"),
        ({"to": {"lat": 1.0}}, "to: expected"),
        ({"depart": "2024-03-25T10:00:00"}, "with a zone"),
        ({"depart": "0001-01-01T00:00:00Z"}, "depart: expected a time in the years"),
        ({"arrive": "9999-12-31T23:59:00Z"}, "arrive: expected a time in the years"),
        ({"to": 5}, "to: expected"),
        ({"alternatives": 1001}, "alternatives"),
    ],
)
def test_what_is_not_offered_is_refused(tmp_path: Path, more: dict[str, Any], said: str) -> None:
    feed = zipped(tmp_path / "feed.zip", small())
    with pytest.raises(RequestError) as raised:
        transit({**BODY, **more}, [feed], None)
    assert said in str(raised.value)


def test_the_command_answers_from_feeds_alone(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    zipped(tmp_path / "feed.zip", small())
    folder.write("ask.json", json.dumps(BODY))
    folder.write("bad.zip", "no archive")
    done = folder.run("decide", "travel", "ask.json", "--gtfs", "feed.zip")
    assert json.loads(done.stdout)["found"] == 1
    refused = folder.run("decide", "travel", "ask.json", "--gtfs", "bad.zip")
    assert (refused.returncode, "is no zip archive" in refused.stderr) == (1, True)
    assert folder.run("decide", "travel", "ask.json").returncode == 2
    assert folder.run("decide", "parking", "ask.json", "--gtfs", "feed.zip").returncode == 2


@pytest.mark.parametrize(
    ("trip", "station", "stop", "told"),
    [("1", "1", "0", True), ("1", "1", "2", False), ("2", "1", "1", False), ("1", "", "", None)],
)
def test_a_leg_says_whether_it_takes_a_wheelchair(
    tmp_path: Path, trip: str, station: str, stop: str, told: bool | None
) -> None:
    """A stop that says nothing is as its station is."""
    whole = small()
    whole["trips.txt"] = [
        [*row, *more]
        for row, more in zip(
            whole["trips.txt"],
            [["wheelchair_accessible", "bikes_allowed"], [trip, "2"], [trip, "2"]],
            strict=True,
        )
    ]
    header, *rows = whole["stops.txt"]
    whole["stops.txt"] = [
        [*header, "wheelchair_boarding"],
        *([*row[:5], "", station] if row[4] == 1 else [*row[:5], "A", stop] for row in rows),
    ]
    (route,) = transit(BODY, [zipped(tmp_path / "feed.zip", whole)], None)["routes"]
    assert (route["legs"][0]["wheelchair"], route["legs"][0]["bicycles"]) == (told, False)
