"""`citywise bench peers`: other systems' programs find what ours finds."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice
from pathlib import Path

import orjson
import pytest

from benchmarks import peers
from benchmarks.peers import ABSENT, OURS, PROGRAMS


def test_a_peer_that_is_not_installed_is_named_as_absent() -> None:
    row = peers._row("pathway", {OURS: [5.0]}, {OURS: frozenset()})
    assert (row["system"], row["CPU µs"]) == ("pathway", ABSENT)


def test_ratios_are_of_the_pairs_of_turns() -> None:
    took = {OURS: [6.0, 9.0, 8.0], "bytewax": [3.0, 3.0, 2.0]}
    same = {OURS: frozenset({("1", "t")}), "bytewax": frozenset({("1", "t")})}
    row = peers._row("bytewax", took, same)
    assert (row["ours is"], row["events"], row["same"]) == ("3.00 ×", 1, True)


def test_the_program_in_plain_python_finds_jams(tmp_path: Path) -> None:
    """A jam of the day counts, one of the day before does not, and one that goes on counts once."""
    readings = [
        ("1", "2014-08-04T23:00:00Z", 20, 12),
        ("1", "2014-08-05T01:00:00Z", 20, 12),
        ("1", "2014-08-05T02:00:00Z", 50, 3),
        ("1", "2014-08-05T03:00:00Z", 35, 10),
        ("2", "2014-08-05T03:00:00Z", 36, 12),
    ]
    names = ("sensor", "observed_at", "speed_kmh", "vehicle_count")
    lines = [orjson.dumps(dict(zip(names, each, strict=True))) + b"\n" for each in readings]
    (tmp_path / "day").write_bytes(b"".join(lines))
    command = [sys.executable, str(PROGRAMS / "jams_plain.py"), str(tmp_path / "day")]
    seconds, jams = peers._timed(command, None)
    assert jams == {("1", "2014-08-05T03:00:00Z")}
    assert seconds > 0


def test_our_request_finds_what_the_program_in_plain_python_finds_loud(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = list(islice(peers._noise(), 12 * peers.METERS))
    assert peers._written(given, tmp_path) == 0, "they are of the day before"
    command = [sys.executable, str(PROGRAMS / "loud_plain.py"), str(tmp_path / "before")]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    peers.listened(str(tmp_path), day=False)
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(found.splitlines()) != []
