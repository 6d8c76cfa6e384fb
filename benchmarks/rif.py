"""RIF-Core over streams: the experiments of Monks et al. with R4 (their section "Evaluation").

    citywise bench rif              # both, under ten minutes
    citywise bench rif bsbm         # the offer rule: 1,000,000 triples, windows of 1, 5, 10 s
    citywise bench rif srbench      # the hurricane rule: 10 days of weather stations
    citywise bench rif bsbm quick   # a tenth of the stream

The documents are examples/rif/offers.rifps and hurricanes.rifps. Each runs over a file of JSON
Lines in a process of its own, as fast as it goes, as `citywise reason` evaluates it: from
reading to what came and went, as facts and as sorted text. `instances` has the streams P and N
besides (`--deltas`). The stream gives the offers 10,000 triples a second; every second ends in
the middle of an offer. *Reading* is reading alone; *rest* is what the whole takes beyond it.

Every change at every instant is compared with a computation without rules, by SHA-256; a
difference ends the run. Baseline of the same run: the joins of R4, over lists that are scanned
(benchmarks/r4/scans.py), for a second of the stream once the window is full; on it no
reading, no reasoning, no conclusions.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from statistics import mean
from typing import Any, TypeAlias

from benchmarks.parallel import table
from benchmarks.r4 import conclusions
from benchmarks.r4.experiment import Experiment
from benchmarks.r4.offers import OFFERS, Offers
from benchmarks.r4.scans import Lists
from benchmarks.r4.weather import DAYS, Weather
from citywise.backend.machine import REPOSITORY

Row: TypeAlias = dict[str, Any]
GOAL_S = 25.0
"""Processor seconds for a million triples, with reading."""
FLAT = 1.1
"""Memory at the end to memory when half of the instants are over."""
_LONG = 500_000
"""Triples of a stream at the end of which the caches of terms are long full."""
_QUICK = 10
_POINTS = 10
_PATIENCE_S = 60.0
"""Processor seconds after which the baseline is given up: it takes milliseconds a triple where
10,000 arrive a second and stay for ten."""
_SCANNED_S = 3.0
"""So long the baseline is measured, once its window is full."""


def run(which: str = "both", extent: str = "default") -> dict[str, list[Row]]:
    """Measure; each part is a list of rows."""
    share = {"default": 1, "quick": _QUICK}.get(extent)
    if share is None:
        raise SystemExit(f"no extent `{extent}`; there are default, quick")
    made: dict[str, Callable[[], Experiment]]
    made = {"bsbm": lambda: Offers(OFFERS // share), "srbench": lambda: Weather(DAYS / share)}
    if which != "both" and which not in made:
        raise SystemExit(f"no experiment `{which}`; there are both, {', '.join(made)}")
    wanted = made.values() if which == "both" else [made[which]]
    return measured([make() for make in wanted])


def measured(experiments: Sequence[Experiment]) -> dict[str, list[Row]]:
    """Measure experiments."""
    results: dict[str, list[Row]] = {}
    for experiment in experiments:
        with tempfile.TemporaryDirectory(prefix="citywise-rif-") as folder:
            stream, triples = experiment.write(Path(folder))
            results |= _Measurement(experiment, Path(folder), stream, triples).parts()
    return results | {"bounds": list(bounds(results))}


def report(results: Mapping[str, Sequence[Row]]) -> str:
    """The results as tables."""
    return "\n".join(line for part, rows in results.items() for line in table(part, rows))


class _Measurement:
    """An experiment whose stream has been written."""

    def __init__(self, experiment: Experiment, folder: Path, stream: Path, triples: int) -> None:
        self._experiment, self._folder = experiment, folder
        self._stream, self._triples = stream, triples
        self._memory: list[Row] = []

    def parts(self) -> dict[str, list[Row]]:
        """What is measured: runs, and their memory along the stream."""
        name = self._experiment.name
        rows = [row for width in self._experiment.windows for row in self._rows(width)]
        return {name: rows, f"{name}, memory in MB": self._memory}

    def _rows(self, width: int) -> Iterator[Row]:
        """Facts and instances, beside reading and R4's joins."""
        program = self._experiment.program(self._folder, width)
        read = self._child(program, "reading")["cpu_s"]
        scanned = self._scanned(width)
        for what in ("facts", "instances"):
            found = self._child(program, what)
            self._compare(width, what, found)
            row = {"window": width, "what": what, **self._seconds(found, read, scanned)}
            print(
                f"{self._experiment.name}, window {width} s, {what}: {found['cpu_s']:.1f} s",
                file=sys.stderr,
            )
            self._memory.append({"window": width, "what": what, **_memory(found["memory_mb"])})
            yield row

    def _seconds(self, found: Row, read: float, scanned: float | None) -> Row:
        """What a run took, beside reading and R4's joins."""
        rest = found["cpu_s"] - found["start_s"] - read
        return {
            "data": self._experiment.data,
            "triples": self._triples,
            "start_s": found["start_s"],
            "reading_s": read,
            "rest_s": rest,
            "cpu_s": found["cpu_s"],
            "wall_s": found["wall_s"],
            "us a triple": (found["cpu_s"] - found["start_s"]) / self._triples * 1e6,
            "shown": found["shown"],
            "changes": len(found["digests"]),
            "scans_s": scanned,
            "x scans": None if scanned is None else scanned / rest,
        }

    def _child(self, program: Path, what: str) -> Row:
        """A run in a process of its own."""
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.r4.evaluated", program, self._stream, what],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},  # also where PYTHONSAFEPATH is set
            stdout=subprocess.PIPE,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{program.name}, {what}: the run failed, see above")
        found: Row = json.loads(done.stdout)
        return found

    def _compare(self, width: int, what: str, found: Row) -> None:
        """End if a change is not what follows."""
        changes = conclusions.facts if what == "facts" else conclusions.instances
        expected = conclusions.digests(changes(self._experiment.conclusions(width)))
        got = {int(now): digest for now, digest in found["digests"].items()}
        wrong = sorted({now for now, _ in expected.items() ^ got.items()})
        if wrong:
            raise SystemExit(
                f"{self._experiment.name}, window {width} s, {what}: what came and went is not "
                f"what follows at {len(wrong)} of {len(expected)} instants, first at {wrong[0]}"
            )

    def _scanned(self, width: int) -> float | None:
        """Seconds of R4's joins for the whole stream, as long as it takes them once the window
        is full; None if it never is, or not soon."""
        joins = Lists(self._experiment.patterns, width)
        groups = groupby(self._experiment.arrivals(), lambda arrival: arrival.time)
        first, seconds, number, now = None, 0.0, 0, 0
        begun = time.process_time()
        for now, arrivals in groups:
            first = now if first is None else first
            statements = [arrival.statement for arrival in arrivals]
            since = time.process_time()
            if since - begun > _PATIENCE_S or seconds > _SCANNED_S:
                break
            for statement in statements:
                joins.push(now, *statement)
            if now >= first + width:
                seconds += time.process_time() - since
                number += len(statements)
        else:
            now += 1
        if joins.complete != self._experiment.joined(width, now - 1):
            raise SystemExit(f"{self._experiment.name}: R4's joins find something else")
        return seconds / number * self._triples if number else None


def _memory(points: Sequence[float]) -> Row:
    """Memory along the stream: its mean in each tenth of the instants."""
    ends = [len(points) * at // _POINTS for at in range(_POINTS + 1)]
    tenths = {
        f"{10 * (at + 1)} %": mean(points[one:two])
        for at, (one, two) in enumerate(pairwise(ends))
        if one < two
    }
    return tenths | {"peak": max(points)}


def bounds(results: Mapping[str, Sequence[Row]]) -> Iterator[Row]:
    """What was to be reached, and whether it was."""
    for name in [part for part in results if f"{part}, memory in MB" in results]:
        for row, memory in zip(results[name], results[f"{name}, memory in MB"], strict=True):
            what = f"{name}, window {row['window']} s, {row['what']}"
            for_a_million = row["start_s"] + row["us a triple"]
            yield _bound(f"{what}: a million triples, s", for_a_million, GOAL_S)
            if row["triples"] >= _LONG:
                yield _bound(f"{what}: memory", memory["100 %"] / memory["50 %"], FLAT)


def _bound(what: str, found: float, bound: float) -> Row:
    met = "yes" if found <= bound else "NOT MET"
    return {"what": what, "measured": found, "goal": f"<= {bound:g}", "met": met}
