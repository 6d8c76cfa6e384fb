"""What it costs that answers correct themselves (docs/revision.md).

    citywise bench revision           # about a minute
    citywise bench revision quick     # half a minute
    citywise bench revision --json

The join and the cooling of the Laser paper (benchmarks/incremental/laser.py), and its box and
diamond in order, with a horizon as long as the window. Microseconds of CPU time per input atom at
steady state, from a point's items to what came and went:

- `plain`: the reasoner without a horizon, items in order;
- `in order`: with a horizon, the same items;
- `late`: one item in ten comes later by 1 to so many points as the horizon has, uniformly.
  Items are taken a point at a time; what they revise is told for each point they affect;
- `again`: for one late item, the windows it affects evaluated anew by clingo, as text to sorted
  text, against `revise`: the item alone, until all it revises is told.

Systems take turns in each repetition; ratios are medians over the repetitions.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from statistics import mean, median
from typing import Any, TypeAlias

from benchmarks.incremental.laser import EXPERIMENTS, Experiment
from benchmarks.incremental.systems import Naive, seldom_collected
from benchmarks.parallel import table
from citywise.reasoning.languages.lars.incremental import IncrementalEvaluator
from citywise.reasoning.languages.lars.parsing import parse
from citywise.reasoning.languages.lars.program import LarsProgram
from citywise.reasoning.languages.lars.reasoner import LarsCourse, LarsReasoner
from citywise.reasoning.run.revision import Revising
from citywise.reasoning.streams.items import Encoder, Item

Row: TypeAlias = dict[str, Any]
LATE = 10
"""One item in so many is late."""


@dataclass(frozen=True)
class Extent:
    """How much is measured."""

    rate: int
    width: int
    repeats: int
    points: int
    """In one repetition."""
    alone: int
    """Late items that are timed one by one, and against clingo."""


EXTENTS = {
    "tiny": Extent(20, 4, 2, 3, 1),
    "quick": Extent(800, 80, 3, 10, 2),
    "default": Extent(800, 80, 9, 20, 4),
}
BOUNDS = {"in order / plain": 1.05, "late / in order": 3.0, "revise / again": 1 / 20}
"""Ratios, and what they may be at most."""
IN_ORDER = ("box", "diamond")
"""Experiments of which only streams in order are measured."""


def run(extent: str = "default") -> dict[str, list[Row]]:
    """Measure; each part is a list of rows."""
    if extent not in EXTENTS:
        raise SystemExit(f"no extent `{extent}`; there are {', '.join(EXTENTS)}")
    with seldom_collected():
        rows = [_measured(name, EXTENTS[extent]) for name in ("join", "cooling")]
        ordered = [_in_order(name, EXTENTS[extent]) for name in IN_ORDER]
    bounds = [bound for row in (*rows, *ordered) for bound in _bounds(row)]
    return {"revision": rows, "in order": ordered, "bounds": bounds}


def report(results: Mapping[str, Sequence[Row]]) -> str:
    """The results as tables."""
    return "\n".join(line for part, rows in results.items() for line in table(part, rows))


def _bounds(row: Row) -> Iterator[Row]:
    for name, bound in BOUNDS.items():
        if name in row:
            yield {
                "experiment": row["experiment"],
                "ratio": name,
                "at most": bound,
                "is": row[name],
                "holds": row[name] <= bound,
            }


def _measured(name: str, much: Extent) -> Row:
    experiment = EXPERIMENTS[name]
    systems = {
        "plain": Plain(experiment, much),
        "in order": Revised(experiment, much, late=0),
        "late": Revised(experiment, much, late=LATE),
    }
    taken = _taken(systems, much)
    alone, again = zip(*(systems["late"].alone() for _ in range(much.alone)), strict=True)
    row = _row(name, taken, much)
    row["revise, ms"] = round(1e3 * median(alone), 2)
    row["again, ms"] = round(1e3 * median(again), 1)
    row["revise / again"] = round(median(a / b for a, b in zip(alone, again, strict=True)), 4)
    _say(row)
    return row


def _in_order(name: str, much: Extent) -> Row:
    experiment = EXPERIMENTS[name]
    systems = {"plain": Plain(experiment, much), "in order": Revised(experiment, much, late=0)}
    row = _row(name, _taken(systems, much), much)
    _say(row)
    return row


def _taken(systems: Mapping[str, Plain], much: Extent) -> dict[str, list[float]]:
    """Seconds a point, of each repetition; the systems take turns at each point."""
    for system in systems.values():
        for _ in range(3 * much.width):
            system.step()
    taken: dict[str, list[float]] = {name: [] for name in systems}
    for _ in range(much.repeats):
        gc.collect()
        points = [{n: each.step() for n, each in systems.items()} for _ in range(much.points)]
        for each, times in taken.items():
            times.append(mean(point[each] for point in points))
    return taken


def _row(name: str, taken: Mapping[str, Sequence[float]], much: Extent) -> Row:
    row: Row = {"experiment": name, "atoms": much.rate, "window": much.width}
    row |= {each: round(1e6 * median(s) / much.rate, 2) for each, s in taken.items()}
    for one, other in (("in order", "plain"), ("late", "in order")):
        if one in taken:
            pairs = zip(taken[one], taken[other], strict=True)
            row[f"{one} / {other}"] = round(median(a / b for a, b in pairs), 2)
    return row


def _say(row: Row) -> None:
    print("  ".join(f"{key} {value}" for key, value in row.items()), file=sys.stderr)


class Plain:
    """The reasoner without a horizon."""

    def __init__(self, experiment: Experiment, much: Extent) -> None:
        program = parse(experiment.program(much.width))
        self._reasoner = _reasoner(program, Encoder(program.request))
        self._points = enumerate(experiment.stream(much.rate, much.width))
        self._position = 0

    def step(self) -> float:
        """Take a point's items; CPU seconds."""
        now, atoms = next(self._points)
        items = [Item(now, atom, self._position + n) for n, atom in enumerate(atoms)]
        self._position += len(items)
        started = time.process_time()
        for evaluation in self._reasoner.push(items):
            _ = evaluation.added, evaluation.removed
        return time.process_time() - started

    def alone(self) -> tuple[float, float]:
        """See `Revised`."""
        raise NotImplementedError


class Revised(Plain):
    """With a horizon; one item in `late` comes late (0: none)."""

    def __init__(self, experiment: Experiment, much: Extent, late: int) -> None:
        super().__init__(experiment, much)
        program = parse(experiment.program(much.width))
        self._much, self._late, self._experiment = much, late, experiment
        course = LarsCourse(program, lambda encoder: _reasoner(program, encoder), 0)
        self._revising = Revising(course, much.width)
        self._chance = random.Random(7)
        self._waiting: dict[int, list[tuple[int, str]]] = {}
        self._now = 0

    def step(self) -> float:
        """Take the items that come at a point; CPU seconds until all that is due is told."""
        now, atoms = next(self._points)
        self._now = now
        coming = self._waiting.pop(now, [])
        for place, atom in enumerate(atoms):
            if self._late and place % self._late == 0:
                at = now + self._chance.randint(1, self._much.width)
                self._waiting.setdefault(at, []).append((now, atom))
            else:
                coming.append((now, atom))
        return self._taken(coming)

    def alone(self) -> tuple[float, float]:
        """CPU seconds for one late item, and for clingo over each window that it affects."""
        self._now, atoms = next(self._points)
        self._taken([(self._now, atom) for atom in atoms])
        self._taken([(self._now + 1, atom) for atom in next(self._points)[1]])
        when = self._now - self._much.width // 2
        atom = self._chance.choice(atoms)
        taken = self._taken([(when, atom)])
        naive = Naive(self._experiment, self._much.width)
        stream = self._experiment.stream(self._much.rate, self._much.width)
        for now in range(self._much.width + 1):
            naive.push(now, next(stream))
        started = time.process_time()
        naive.evaluate()
        one = time.process_time() - started
        return taken, one * (self._now - when + 1)

    def _taken(self, coming: list[tuple[int, str]]) -> float:
        first = self._position
        items = [Item(at, atom, first + n) for n, (at, atom) in enumerate(coming)]
        self._position += len(items)
        started = time.process_time()
        for revision in self._revising.push(items):
            _ = revision.changes
        return time.process_time() - started


def _reasoner(program: LarsProgram, encoder: Encoder) -> LarsReasoner:
    with closing(IncrementalEvaluator(program)) as evaluator:
        return LarsReasoner(program, evaluator, start=0, encoder=encoder)
