"""Recorded offices are read and sent as a room's sensors would send them."""

from __future__ import annotations

import gzip
import threading
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from citywise.apps.meeting_mgr import readings, replaying
from citywise.apps.meeting_mgr.replaying import BadRecordingError, Row
from citywise.backend.cli import cli

OFFICE = """sno,date,Temperature,Humidity,Light,CO2,HumidityRatio,Occupancy
1,2015-02-04 17:51:00,23.18,27.272,426.0,721.25,0.0047,1
2,2015-02-04 17:51:59,23.15,27.2675,429.5,714.0,0.0047,0
"""
ROOM = (
    "Date,Time,S1_Temp,S1_Light,S2_Light,S3_Light,S4_Light,S1_Sound,S2_Sound,S3_Sound,S4_Sound,"
    "S5_CO2,Room_Occupancy_Count\n"
    "2017-12-22,10:49:41,24.94,121,34,53,40,0.08,0.5,0.06,0.06,390.0,1\n"
)


@pytest.mark.parametrize("name", ["office.csv", "office.csv.gz"])
def test_an_office_has_light(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(gzip.compress(OFFICE.encode()) if name.endswith("gz") else OFFICE.encode())
    first, second = replaying.rows(file)
    assert second.at_ms - first.at_ms == 59_000
    assert first.values.light_lux == 426
    assert second.values.light_lux == 429.5
    assert first.values.noise_db is None


def test_a_room_has_the_mean_light_and_the_loudest_sound(tmp_path: Path) -> None:
    file = tmp_path / "room.csv"
    file.write_text(ROOM)
    [row] = replaying.rows(file)
    assert row.values.light_lux == 62
    assert row.values.noise_db == pytest.approx(65)  # ten times the quietest: 20 dB more


def test_an_hour_may_have_one_digit(tmp_path: Path) -> None:
    file = tmp_path / "room.csv"
    file.write_text(ROOM.replace("10:49:41", "0:00:34"))
    [row] = replaying.rows(file)
    assert row.at_ms % 86_400_000 == 34_000


def test_places_that_measured_nothing_do_not_count(tmp_path: Path) -> None:
    file = tmp_path / "room.csv"
    file.write_text(ROOM.replace("121,34,53,40", ",34,,40").replace("0.08,0.5,0.06,0.06", ",,,"))
    [row] = replaying.rows(file)
    assert (row.values.light_lux, row.values.noise_db) == (37, None)


@pytest.mark.parametrize(("volts", "level"), [(0.0, 45), (0.05, 45), (0.5, 65), (5.0, 85)])
def test_volts_become_a_level(volts: float, level: float) -> None:
    assert replaying.decibels(volts) == pytest.approx(level)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("date,Noise\n2015-02-04 17:51:00,4\n", "line 2: there is no column 'Light'"),
        (OFFICE.replace("429.5", "bright"), "line 3: could not convert string to float: 'bright'"),
        (OFFICE.replace("429.5", "-4"), "line 3: .*light_lux"),
        (OFFICE.replace("17:51:59", "noon"), "line 3: .*noon"),
    ],
)
def test_what_is_no_recording_is_refused_with_its_line(
    tmp_path: Path, text: str, says: str
) -> None:
    file = tmp_path / "office.csv"
    file.write_text(text)
    with pytest.raises(BadRecordingError, match=says):
        list(replaying.rows(file))


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "office.csv.gz"
    file.write_bytes(b"no gzip")
    with pytest.raises(BadRecordingError, match="cannot be read"):
        list(replaying.rows(file))


class Pace(threading.Event):
    """Waits for nothing, and remembers how long it should have."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.pauses: list[float] = []
        self._most = most

    def wait(self, timeout: float | None = None) -> bool:
        self.pauses.append(timeout or 0)
        return len(self.pauses) > self._most


def test_rows_go_out_as_fast_as_they_were_recorded_and_say_to_be_of_the_present(
    tmp_path: Path,
) -> None:
    file, sent, pace = tmp_path / "office.csv", list[bytes](), Pace(9)
    file.write_text(OFFICE)
    assert replaying.send(replaying.rows(file), 10, sent.append, pace) == 2
    assert pace.pauses == [0, 5.9]
    told = [readings.room_reading(payload) for payload in sent]
    assert readings.observed_in_room(told[0]) == {"light": 426}
    assert told[0].at > 1_700_000_000_000
    assert set(orjson.loads(sent[0])["values"]) == {"light_lux"}


def test_it_ends_when_it_is_told_to() -> None:
    rows = [Row(at, readings.RoomValues(light_lux=1)) for at in (0, 1000, 2000)]
    sent: list[bytes] = []
    assert replaying.send(rows, 1, sent.append, Pace(1)) == 1


def test_the_command_says_where_no_system_runs(tmp_path: Path) -> None:
    file = tmp_path / "office.csv"
    file.write_text(OFFICE)
    arguments = ["meetings", "replay-room", str(file), "--room", "a", "--state", str(tmp_path)]
    answer = CliRunner().invoke(cli, arguments)
    assert answer.exit_code != 0
    assert "no system runs in this folder" in str(answer.exception)
