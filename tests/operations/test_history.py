"""The last readings of all sensors follow the log, from wherever it begins."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from citywise.backend.ingest import log, records
from citywise.backend.ingest.frames import LogError
from citywise.backend.ingest.log import LogWriter
from citywise.backend.ingest.payloads import Clock
from citywise.backend.ingest.records import (
    StandingRow,
    encode_clock,
    encode_readings,
    encode_standing,
)
from citywise.backend.kinds import Observation
from citywise.backend.operations import history
from citywise.backend.operations.history import History

START = datetime(2014, 8, 5, 7, tzinfo=UTC)


class City:
    """A log into which sensors speak, one reading a minute."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writer = LogWriter(folder, segment_bytes=300)
        self.minute = 0

    def speaks(self, *sensors: str) -> None:
        at = START + timedelta(minutes=self.minute)
        self.minute += 1
        told = [
            Observation(sensor, at, {"speed_kmh": float(self.minute), "vehicle_count": 3}, {})
            for sensor in sensors
        ]
        place = StandingRow("position", "somebody", b'{"lat":56.15,"lon":10.2}')
        self.writer.append(
            [
                encode_readings("traffic", 0, list(told)),
                encode_standing([place], 0, 0),
                encode_clock(Clock(now=at, complete=at), 0),
            ]
        )
        self.writer.sync()


@pytest.fixture
def city(tmp_path: Path) -> Iterator[City]:
    found = City(tmp_path / "log")
    yield found
    found.writer.close()


def speeds(found: History, sensor: str) -> list[object]:
    return [s.values["speed_kmh"] for s in found.series("traffic", sensor).samples]


def test_what_is_said_later_is_read_without_reading_the_rest_again(
    city: City, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[int] = []
    read = log.read

    def noting(location: Path, start: int, end: int) -> Iterator[log.Record]:
        starts.append(start)
        return read(location, start, end)

    monkeypatch.setattr(log, "read", noting)
    city.speaks("a", "b")
    found = History(city.folder)
    found.follow()
    middle = city.writer.end
    city.speaks("a")
    found.follow()
    found.follow()
    assert (speeds(found, "a"), speeds(found, "b")) == ([1.0, 2.0], [1.0])
    assert starts == [0, middle, city.writer.end]


def test_before_the_first_reading_there_is_nothing(city: City) -> None:
    found = History(city.folder)
    found.follow()
    assert (speeds(found, "a"), found.since_ms) == ([], None)
    assert History(city.folder / "none").since_ms is None


def test_what_is_told_of_people_is_not_even_decoded(
    city: City, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[bytes] = []
    decode = records.decode

    def noting(record: log.Record) -> Iterator[records.LogEntry]:
        decoded.append(record.payload)
        return decode(record)

    monkeypatch.setattr(records, "decode", noting)
    city.speaks("a")
    found = History(city.folder)
    found.follow()
    assert len(decoded) == 2
    assert not any(b"somebody" in payload for payload in decoded)


def test_only_the_end_of_a_long_log_is_read_at_first(
    city: City, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "MOST_BYTES", 900)
    for _ in range(20):
        city.speaks("a")
    found = History(city.folder)
    found.follow()
    assert 2 <= len(speeds(found, "a")) < 10
    assert speeds(found, "a")[-1] == 20.0
    assert found.since_ms == round(START.timestamp() * 1000) + 60_000 * (
        20 - len(speeds(found, "a"))
    )


def test_where_the_log_was_trimmed_beyond_what_was_read_it_begins_again(city: City) -> None:
    city.speaks("a")
    found = History(city.folder)
    found.follow()
    for _ in range(5):
        city.speaks("b")
    for base in log.segments(city.folder)[:-1]:
        (city.folder / f"{base:020d}.log").unlink()
    found.follow()
    assert speeds(found, "a") == []
    assert speeds(found, "b")[-1] == 6.0


def test_a_damaged_log_is_an_error_until_it_is_mended(city: City) -> None:
    city.speaks("a")
    found = History(city.folder)
    found.follow()
    city.speaks("a")
    segment = city.folder / f"{log.segments(city.folder)[-1]:020d}.log"
    whole = segment.read_bytes()
    with segment.open("r+b") as file:
        file.seek(-3, os.SEEK_END)
        file.write(b"\0\0\0")
    with pytest.raises(LogError, match="damaged"):
        found.follow()
    segment.write_bytes(whole)
    found.follow()
    assert speeds(found, "a") == [1.0, 2.0]
