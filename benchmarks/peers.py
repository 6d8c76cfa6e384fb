"""The same work, the same data, the same run: ours beside other systems'.

    make bench-peers         # bytewax and pathway, pinned, into a folder of their own
    citywise bench peers     # needs the Aarhus pack (CITYWISE_DATA)

*jams*: the traffic jams of 2014-08-05, the day before it for state. Ours is what `citywise
replay` does, with its requests for jams and for full garages, from the pack's files to events.
The others are programs written by hand for the jams alone (benchmarks/peer_programs/), over
the same readings as JSON lines. Figures are processor time per traffic reading of that day: of
both days less that of the first alone, so that no start counts. Turns are taken in the same
run, ratios are medians of its pairs, and all must find the same jams.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from benchmarks.measured.data import pack
from benchmarks.parallel import table
from citywise.backend.city.replay import Replay
from citywise.backend.machine import REPOSITORY
from citywise.backend.pipeline.recorded import changes
from citywise.reasoning.interpreter import seldom_collected

PROGRAMS = REPOSITORY / "benchmarks" / "peer_programs"
PYTHON = REPOSITORY / ".cache" / "peers" / "bin" / "python"
ABSENT = "absent: make bench-peers installs it"
START = datetime(2014, 8, 5, tzinfo=UTC)
DAY = timedelta(days=1)
OURS, PLAIN = "citywise replay", "plain Python"
PEERS = {PLAIN: "plain", "bytewax": "bytewax", "pathway": "pathway"}

Jams = frozenset[tuple[str, str]]
"""Of the day: road, and the time at which the jam opened."""
Work = Callable[[bool], tuple[float, Jams]]
"""With the day, or only with the one before it: processor seconds, and the jams that it found."""


def run(turns: str = "3") -> list[dict[str, Any]]:
    """Measure so many turns of each system."""
    data = pack()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        readings = _written(data, folder)
        works: dict[str, Work] = {OURS: lambda day: _ours(data, day)}
        for peer, program in PEERS.items():
            if _present(peer):
                works[peer] = _program(program, folder)
        took, jams = _measured(works, int(turns), readings)
    return [_row(system, took, jams) for system in (OURS, *PEERS)]


def report(rows: list[dict[str, Any]]) -> str:
    """The figures as a table."""
    return "\n".join(table("The traffic jams of 2014-08-05", rows))


def _row(system: str, took: dict[str, list[float]], jams: dict[str, Jams]) -> dict[str, Any]:
    if system not in took:
        return {"system": system, "CPU µs": ABSENT, "ours is": "", "jams": "", "same": ""}
    ratios = [ours / its for ours, its in zip(took[OURS], took[system], strict=True)]
    return {
        "system": system,
        "CPU µs": round(median(took[system]), 2),
        "ours is": f"{median(ratios):.2f} ×",
        "jams": len(jams[system]),
        "same": jams[system] == jams[OURS],
    }


def _measured(
    works: dict[str, Work], turns: int, readings: int
) -> tuple[dict[str, list[float]], dict[str, Jams]]:
    """Microseconds per reading of the day by system, one a turn, and the jams that each found."""
    took: dict[str, list[float]] = {system: [] for system in works}
    jams: dict[str, Jams] = {}
    for _turn in range(turns):
        for system, work in works.items():
            before, _none = work(False)
            both, jams[system] = work(True)
            took[system].append((both - before) / readings * 1e6)
    return took, jams


def _written(data: Path, folder: Path) -> int:
    """Write the traffic readings as JSON lines; how many the day has."""
    readings = 0
    with (folder / "before").open("wb") as before, (folder / "day").open("wb") as day:
        for step in _replay(data, day=True, kinds=("traffic",)).steps():
            for reading in (reading for batch in step.batches for reading in batch.readings):
                line = orjson.dumps(reading) + b"\n"
                day.write(line)
                if step.time < START:
                    before.write(line)
                else:
                    readings += 1
    return readings


def _replay(data: Path, *, day: bool, kinds: tuple[str, ...] = ("traffic", "parking")) -> Replay:
    until = START + DAY if day else START
    return Replay(data, START - DAY, until - timedelta(seconds=1), timedelta(0), kinds)


def _ours(data: Path, day: bool) -> tuple[float, Jams]:
    """In a process of its own, as the others."""
    code = "import peers, sys; peers.replayed(sys.argv[1], sys.argv[2] == 'day')"
    search = os.pathsep.join([str(REPOSITORY / "benchmarks"), str(REPOSITORY)])
    environment = {**os.environ, "PYTHONPATH": search}
    given = [str(data), "day" if day else "before"]
    return _timed([sys.executable, "-c", code, *given], environment)


def replayed(data: str, day: bool) -> None:
    """Print the jams that open in a replay."""
    seldom_collected()
    for _t_ms, kind, event in changes(_replay(Path(data), day=day)):
        if kind == "event.opened" and event["type"] == "TrafficJam":
            print(event["place"]["id"], event["start"])


def _program(name: str, folder: Path) -> Work:
    program = str(PROGRAMS / f"jams_{name}.py")

    def work(day: bool) -> tuple[float, Jams]:
        lines = str(folder / ("day" if day else "before"))
        python = sys.executable if name == "plain" else str(PYTHON)
        return _timed([python, program, lines], None)

    return work


def _present(peer: str) -> bool:
    if peer == PLAIN:
        return True
    asked = [str(PYTHON), "-c", f"import {PEERS[peer]}"]
    return PYTHON.exists() and subprocess.run(asked, capture_output=True).returncode == 0


def _timed(command: list[str], environment: dict[str, str] | None) -> tuple[float, Jams]:
    """A program's processor seconds, with those of all it started, and the day's jams it prints."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    assert process.stdout is not None
    with process.stdout as lines:
        jams = frozenset(_of_day(lines))
    _pid, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, jams


def _of_day(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        road, start = line.split()
        if datetime.fromisoformat(start) >= START:
            yield road, start
