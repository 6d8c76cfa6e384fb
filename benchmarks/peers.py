"""The same work, the same data, the same run: ours beside other systems'.

    make bench-peers         # bytewax and pathway, pinned, into a folder of their own
    citywise bench peers     # needs the Aarhus pack (CITYWISE_DATA)

*jams*: the traffic jams of 2014-08-05, the day before it for state. Ours is what `citywise
replay` does, with its requests for jams and for full garages, from the pack's files to events.
The others are programs written by hand for the jams alone (benchmarks/peer_programs/), over
the same readings as JSON lines. *loud*: another kind, another rule, no pack: where it becomes
loud in two days of 449 noise meters, ours as a request over the same JSON lines.

Figures are processor time per reading of the second day: of both days less that of the first
alone, so that no start counts. Turns are taken in the same run, ratios are medians of its
pairs, and all must find the same.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any, Literal

import numpy as np
import orjson

from benchmarks.measured.data import pack
from benchmarks.parallel import table
from citywise.backend.city.replay import Replay
from citywise.backend.city.steps import Batch, Reading, Step
from citywise.backend.ingest.payloads import Place
from citywise.backend.kinds import builtin
from citywise.backend.machine import REPOSITORY
from citywise.backend.pipeline.evaluation import RequestRun
from citywise.backend.pipeline.prepared import prepared
from citywise.backend.pipeline.recorded import changes, entries
from citywise.backend.settings import Pipeline
from citywise.backend.times import iso, parse_ms
from citywise.reasoning.budget import seldom_collected

PROGRAMS = REPOSITORY / "benchmarks" / "peer_programs"
PYTHON = REPOSITORY / ".cache" / "peers" / "bin" / "python"
ABSENT = "absent: make bench-peers installs it"
START = datetime(2014, 8, 5, tzinfo=UTC)
DAY = timedelta(days=1)
OURS, PLAIN = "citywise", "plain Python"
PEERS = {PLAIN: "plain", "bytewax": "bytewax", "pathway": "pathway"}
METERS, STEP = 449, timedelta(minutes=5)

Jams = frozenset[tuple[str, str]]
"""Of the day: road or meter, and the time at which the event opened."""
Work = Callable[[bool], tuple[float, Jams]]
"""With the day, or only with the one before it: processor seconds, and the jams that it found."""


def run(turns: str = "3", only: str = "") -> list[dict[str, Any]]:
    """Measure so many turns of each system; `only` "jams" or "loud"."""
    rows: list[dict[str, Any]] = []
    for name in (only,) if only else ("jams", "loud"):
        with tempfile.TemporaryDirectory() as folder:
            rows += _compared(name, Path(folder), int(turns))
    return rows


def _compared(name: str, folder: Path, turns: int) -> list[dict[str, Any]]:
    jams = name == "jams"
    data = pack() if jams else folder
    readings = _written(_traffic(data) if jams else _noise(), folder)
    peers = {p: program for p, program in PEERS.items() if _program_of(name, program).exists()}
    works: dict[str, Work] = {OURS: lambda day: _ours(name, data, day)}
    for peer, program in peers.items():
        if _present(peer):
            works[peer] = _program(_program_of(name, program), folder)
    took, found = _measured(works, turns, readings)
    return [{"work": name, **_row(system, took, found)} for system in (OURS, *peers)]


def report(rows: list[dict[str, Any]]) -> str:
    """The figures as a table."""
    return "\n".join(table("The events of a day, found by one rule", rows))


def _row(system: str, took: dict[str, list[float]], jams: dict[str, Jams]) -> dict[str, Any]:
    if system not in took:
        return {"system": system, "CPU µs": ABSENT, "ours is": "", "events": "", "same": ""}
    ratios = [ours / its for ours, its in zip(took[OURS], took[system], strict=True)]
    return {
        "system": system,
        "CPU µs": round(median(took[system]), 2),
        "ours is": f"{median(ratios):.2f} ×",
        "events": len(jams[system]),
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


def _written(readings: Iterable[tuple[datetime, Reading]], folder: Path) -> int:
    """Write readings as JSON lines; how many the day has."""
    of_day = 0
    with (folder / "before").open("wb") as before, (folder / "day").open("wb") as day:
        for time, reading in readings:
            line = orjson.dumps(reading) + b"\n"
            day.write(line)
            if time < START:
                before.write(line)
            else:
                of_day += 1
    return of_day


def _traffic(data: Path) -> Iterator[tuple[datetime, Reading]]:
    for step in _replay(data, day=True, kinds=("traffic",)).steps():
        for batch in step.batches:
            yield from ((step.time, reading) for reading in batch.readings)


def _noise() -> Iterator[tuple[datetime, Reading]]:
    """Two days of meters, loud now and then, and mostly for some time."""
    random = np.random.default_rng(1)
    level = random.normal(50, 5, METERS)
    time = START - DAY
    while time < START + DAY:
        level += 0.1 * (50 - level) + random.normal(0, 3, METERS)
        said = time.isoformat().replace("+00:00", "Z")
        for meter, value in enumerate(np.round(level, 1).tolist()):
            yield time, {"sensor": str(meter), "observed_at": said, "level": value}
        time += STEP


def _replay(data: Path, *, day: bool, kinds: tuple[str, ...] = ("traffic", "parking")) -> Replay:
    until = START + DAY if day else START
    return Replay(data, START - DAY, until - timedelta(seconds=1), timedelta(0), kinds)


def _ours(name: str, data: Path, day: bool) -> tuple[float, Jams]:
    """In a process of its own, as the others."""
    function = "replayed" if name == "jams" else "listened"
    code = f"import peers, sys; peers.{function}(sys.argv[1], sys.argv[2] == 'day')"
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


@dataclass(frozen=True)
class Lines:
    """Readings of noise as JSON lines: a source without places and without an end."""

    path: Path
    name: Literal["replay"] = "replay"
    start: datetime = START - DAY
    until: datetime | None = None

    def places(self) -> list[Place]:
        """None are needed."""
        return []

    def steps(self, since: datetime | None = None) -> Iterator[Step]:
        """The lines of one time as one batch."""
        del since
        with self.path.open("rb") as lines:
            for said, some in groupby(map(orjson.loads, lines), itemgetter("observed_at")):
                yield Step(parse_ms(said), (Batch("noise", list(some)),))


def listened(folder: str, day: bool) -> None:
    """Print where it becomes loud."""
    seldom_collected()
    limits = Pipeline().limits.of_engine()
    run = RequestRun(prepared(PROGRAMS / "loud.casp", builtin(), limits))
    for entry in entries(Lines(Path(folder) / ("day" if day else "before"))):
        for row in run.take(entry):
            if row.kind == "change" and row.body["kind"] == "event.opened":
                print(row.body["place_id"], iso(row.body["start_ms"]))


def _program_of(name: str, program: str) -> Path:
    return PROGRAMS / f"{name}_{program}.py"


def _program(program: Path, folder: Path) -> Work:
    def work(day: bool) -> tuple[float, Jams]:
        lines = str(folder / ("day" if day else "before"))
        python = sys.executable if program.stem.endswith("_plain") else str(PYTHON)
        return _timed([python, str(program), lines], None)

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
