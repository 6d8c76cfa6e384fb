"""Broken feeds: each is refused and the old one stays, or is used but for what is told of."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citywise.apps.travel_planner.transit import feed as feeds
from citywise.apps.travel_planner.transit import tables
from citywise.apps.travel_planner.transit.decide import Transit
from citywise.apps.travel_planner.transit.kept import take_feed
from citywise.apps.travel_planner.transit.request import read
from citywise.apps.travel_planner.transit.tables import FeedError
from citywise.apps.travel_planner.transit.timetable import Timetable
from tests.transit.networks import zipped
from tests.transit.test_feed import BODY, small

Break = Callable[[dict[str, Any]], object]


def text(rows: list[list[object]]) -> str:
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue()


def archive(path: Path, files: dict[str, bytes], **options: Any) -> Path:
    """The small feed with some files as they are given."""
    whole = {name: text(rows).encode() for name, rows in small().items()} | files
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in whole.items():
            opened.writestr(name, content, **options)
    return path


def without(name: str) -> Break:
    return lambda whole: whole.pop(name)


def more(name: str, *rows: list[object]) -> Break:
    return lambda whole: whole.update({name: [*whole[name], *rows]})


def column(name: str, at: int) -> Break:
    """Without a column."""
    return lambda whole: whole.update({name: [[*row[:at], *row[at + 1 :]] for row in whole[name]]})


REFUSED: dict[str, tuple[Break, str]] = {
    **{f"no {name}": (without(name), f"has no {name}") for name in tables.NEEDED},
    "no stop_id": (column("stops.txt", 0), "no column stop_id"),
    "no times": (column("stop_times.txt", 1), "no column arrival_time"),
    "no agency": (lambda w: w.update({"agency.txt": w["agency.txt"][:1]}), "0 time zones"),
    "two zones": (more("agency.txt", ["b", "Asia/Tokyo"]), "2 time zones"),
    "no zone": (
        lambda w: w.update({"agency.txt": [["agency_id", "agency_timezone"], ["a", "../x"]]}),
        "expected a time zone",
    ),
    "no trip": (lambda w: w.update({"trips.txt": w["trips.txt"][:1]}), "no trip that can be"),
    "no rows": (lambda w: w.update({"stop_times.txt": []}), "no column"),
}
TOLD: dict[str, tuple[Break, str]] = {
    "a stop twice": (more("stops.txt", ["s0", "again", 1, 1, 0, ""]), "there twice"),
    "a stop without position": (more("stops.txt", ["x", "", "", "", 0, ""]), "no position"),
    "a stop at no number": (more("stops.txt", ["x", "", "nan", "inf", 0, ""]), "no position"),
    "a stop beyond the pole": (more("stops.txt", ["x", "", 91, 0, 0, ""]), "no position"),
    "a parent that is not there": (more("stops.txt", ["x", "", 1, 1, 0, "gone"]), "no station"),
    "a parent of itself": (more("stops.txt", ["x", "", 1, 1, 0, "x"]), "no station"),
    "a route twice": (more("routes.txt", ["r1", 3]), "there twice"),
    "a trip twice": (more("trips.txt", ["r1", "wd", "t1", ""]), "there twice"),
    "a trip of no route": (more("trips.txt", ["rx", "wd", "tx", ""]), "has no route"),
    "a trip of no service": (more("trips.txt", ["r1", "sx", "tx", ""]), "that no calendar has"),
    "a trip that stands still": (more("trips.txt", ["r1", "wd", "tx", ""]), "fewer than two"),
    "times of no trip": (
        more("stop_times.txt", ["tx", "9:00:00", "9:00:00", "s0", 1, 0, 0, ""]),
        "no trip 'tx'",
    ),
    "a call at no stop": (
        more("stop_times.txt", ["t0", "11:00:00", "11:00:00", "moon", 9, 0, 0, ""]),
        "no stop 'moon'",
    ),
    "a call at a station": (
        more("stop_times.txt", ["t0", "11:00:00", "11:00:00", "A", 9, 0, 0, ""]),
        "no stop 'A'",
    ),
    "a trip through time": (
        more("stop_times.txt", ["t0", "9:00:00", "9:00:00", "s2", 9, 0, 0, ""]),
        "goes back in time",
    ),
    "a time that is none": (
        more("stop_times.txt", ["t0", "25:61:00", "", "s2", 9, 0, 0, ""]),
        "expected HH:MM:SS",
    ),
    "a time next month": (
        more("stop_times.txt", ["t0", "900:00:00", "", "s2", 9, 0, 0, ""]),
        "at most 168",
    ),
    "a sequence twice": (
        more("stop_times.txt", ["t0", "11:00:00", "11:00:00", "s2", 2, 0, 0, ""]),
        "twice",
    ),
    "a sequence that is none": (
        more("stop_times.txt", ["t0", "11:00:00", "11:00:00", "s2", "last", 0, 0, ""]),
        "t0",
    ),
    "a pickup that is none": (
        more("stop_times.txt", ["t0", "11:00:00", "11:00:00", "s2", 9, 7, 0, ""]),
        "0 to 3",
    ),
    "a calendar that ends first": (
        more("calendar.txt", ["x", 1, 1, 1, 1, 1, 1, 1, 20250101, 20240101]),
        "two dates",
    ),
    "a calendar without end": (
        more("calendar.txt", ["x", 1, 1, 1, 1, 1, 1, 1, 19000101, 21991231]),
        "two dates",
    ),
    "a year that is none": (more("calendar_dates.txt", ["wd", "00010101", 1]), "a date"),
    "an exception that is none": (more("calendar_dates.txt", ["wd", "20240401", 3]), "a date"),
    "a headway of nothing": (more("frequencies.txt", ["t0", "1:0:0", "2:0:0", 0]), "headway"),
    "a frequency of no trip": (
        more("frequencies.txt", ["tx", "01:00:00", "02:00:00", 600]),
        "no trip 'tx'",
    ),
    "a change of no length": (
        more("transfers.txt", ["s0", "s1", 2, -5, "", "", "", ""]),
        "min_transfer_time",
    ),
    "a change for ever": (
        more("transfers.txt", ["s0", "s1", 2, "9" * 30, "", "", "", ""]),
        "min_transfer_time",
    ),
}
FILES: dict[str, tuple[dict[str, bytes], str]] = {
    "Latin-1": ({"stops.txt": text([["stop_id"], ["Nørreport"]]).encode("latin-1")}, "not UTF-8"),
    "UTF-16": ({"stops.txt": text(small()["stops.txt"]).encode("utf-16")}, "not UTF-8"),
    "an open quote": ({"routes.txt": b'route_id,route_type\n"r1,3\n'}, "routes.txt:"),
    "one endless field": ({"routes.txt": b"x" * 300_000}, "routes.txt:"),
    "no table but a folder": ({"stops.txt": b""}, "no column stop_id"),
}


@pytest.fixture
def city(tmp_path: Path) -> Path:
    """A city that has a timetable."""
    folder = tmp_path / "city"
    list(take_feed(zipped(tmp_path / "feed.zip", small()), folder))
    return folder


def refused(city: Path, file: Path, said: str) -> None:
    kept = city / "timetables" / "feed.zip"
    before = kept.read_bytes()
    with pytest.raises(FeedError) as raised:
        list(take_feed(file, city))
    assert said in str(raised.value)
    assert str(file) in str(raised.value)
    assert kept.read_bytes() == before
    assert len(list(kept.parent.iterdir())) == 1


@pytest.mark.parametrize("name", REFUSED)
def test_what_leaves_no_timetable_is_refused_and_the_old_one_stays(
    city: Path, tmp_path: Path, name: str
) -> None:
    change, said = REFUSED[name]
    whole = small()
    change(whole)
    (tmp_path / "new").mkdir()
    refused(city, zipped(tmp_path / "new" / "feed.zip", whole), said)


@pytest.mark.parametrize("name", FILES)
def test_tables_that_cannot_be_read_are_refused(city: Path, tmp_path: Path, name: str) -> None:
    files, said = FILES[name]
    (tmp_path / "new").mkdir()
    refused(city, archive(tmp_path / "new" / "feed.zip", files), said)


@pytest.mark.parametrize("name", TOLD)
def test_what_is_faulty_is_told_of_and_the_rest_is_used(
    city: Path, tmp_path: Path, name: str
) -> None:
    change, said = TOLD[name]
    whole = small()
    change(whole)
    file = zipped(tmp_path / "feed.zip", whole)
    lines = list(take_feed(file, city))
    assert any(said in line for line in lines), lines
    answer = Transit(Timetable([feeds.read_feed(file)])).answer(read(BODY), None)
    assert len(answer["routes"]) == 1


def test_an_archive_that_unpacks_without_end_is_refused_unread(city: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    bomb = archive(tmp_path / "new" / "feed.zip", {"stop_times.txt": b"0" * 201_000_000})
    assert bomb.stat().st_size < 1_000_000
    refused(city, bomb, "expected at most")


def test_an_archive_that_is_cut_off_or_altered_is_refused(city: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    whole = zipped(tmp_path / "new" / "feed.zip", small())
    content = whole.read_bytes()
    whole.write_bytes(content[: len(content) // 2])
    refused(city, whole, "no zip archive")
    at = content.index(b"trip_id,arrival_time") + 200
    whole.write_bytes(content[:at] + b"???" + content[at + 3 :])
    refused(city, whole, "stop_times.txt")


def test_frequencies_and_blocks_without_measure_cost_no_memory(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "_MOST_CALLS", 500)
    monkeypatch.setattr(feeds, "_MOST_PAIRS", 20)
    (tmp_path / "new").mkdir()
    whole = small()
    whole["frequencies.txt"].append(["t0", "00:00:00", "20:00:00", 60])
    refused(city, zipped(tmp_path / "new" / "feed.zip", whole), "stop times a day")
    whole = small()
    for number in range(10):
        trip = f"b{number}"
        whole["trips.txt"].append(["r1", "wd", trip, "loop"])
        for at, stop in enumerate(("s0", "s1", "s0")):
            time = f"{10 + number}:0{at}:00"
            whole["stop_times.txt"].append([trip, time, time, stop, at, 0, 0, ""])
    lines = list(take_feed(zipped(tmp_path / "feed.zip", whole), city))
    assert any("too many trips to stay seated" in line for line in lines)
