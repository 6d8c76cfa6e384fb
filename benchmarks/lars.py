"""Plain LARS: the Laser paper's experiments (its section 4) beside clingo.

    citywise bench lars            # under four minutes
    citywise bench lars quick      # half a minute: fewer windows and repetitions
    citywise bench lars --json

Microseconds of CPU time per input atom at steady state (the window is full), from the
ground atoms of a point of time as text to: `deltas`, what came and went, as rows (`from rows`:
where the atoms were rows before; a □ alone is of texts in any case); `text of
deltas`, the same as sorted text; `text of answer`, the whole answer as sorted text at each
point. Baselines of the same run: `naive`, a fresh clingo control at each point over the
window's facts, whose text is made once (parse, ground, solve, read the atoms shown; then
also their sorted text), and `multi-shot`, one control that lives on, where the program is one
of joins. Repetitions are interleaved, ratios are medians over the pairs; answers are compared
with naive clingo's in each repetition.

Parts: `experiments` (data: benchmarks/incremental/laser.py), `rules` (the join 1 to 10 times),
`start` (seconds to parse and compile a program and take its first step), `bounds` (what was
to be reached, and whether it was).
"""

from __future__ import annotations

import gc
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import mean, median
from typing import Any, TypeAlias

from benchmarks.incremental.laser import EXPERIMENTS, Experiment, joins
from benchmarks.incremental.systems import Incremental, MultiShot, Naive, seldom_collected
from benchmarks.parallel import table
from citywise.reasoning.model.values import parsed_many

Row: TypeAlias = dict[str, Any]
FORMS = ("deltas", "deltas from rows", "text of deltas", "text of answer")
"""Of our answers."""
CLINGO = ("naive", "naive, text", "multi-shot")


@dataclass(frozen=True)
class Extent:
    """How much is measured."""

    windows: Mapping[int, Sequence[int]]
    """By atoms a point of time: window sizes."""
    repeats: Mapping[int, int]
    """By atoms a point of time."""
    rules: Sequence[int]
    """How often the join occurs in a program."""
    joined: tuple[int, int]
    """Atoms a point of time and window size of that program."""


EXTENTS = {
    "tiny": Extent({10: (1, 3)}, {10: 2}, (1, 2), (10, 3)),
    "quick": Extent({800: (10, 80)}, {800: 3, 200: 2}, (1, 10), (200, 20)),
    "default": Extent(
        {200: (1, 10, 80), 800: (1, 10, 20, 40, 80), 10_000: (10, 80)},
        {200: 3, 800: 5, 10_000: 1},
        (1, 2, 5, 10),
        (200, 80),
    ),
}
MULTI_SHOT = 100_000
"""Atoms in a window up to which multi-shot is measured: more would take minutes to fill."""
ATOMS = 12_000
"""Atoms that ours takes in one repetition, for each form of the answer."""
POINTS = (3, 25)
"""Points of time at least and at most, whatever their number of atoms."""


@dataclass(frozen=True)
class Bound:
    """What an experiment must reach at 800 atoms and window 80, and what it should reach."""

    ratio: float
    """To naive clingo, for deltas."""
    goal_ratio: float | None
    """Enough for the goal at 800 atoms; None: only microseconds are."""
    goal: Mapping[int, float]
    """By atoms a point of time: microseconds an atom, for deltas."""


BOUNDS = {  # the harder streams have the same, but nobody asked for them
    "diamond": Bound(400, 1000, {800: 0.3, 10_000: 0.15}),
    "box": Bound(600, None, {800: 0.2, 10_000: 0.1}),
    "join": Bound(150, None, {800: 1.5, 10_000: 0.6}),
    "cooling": Bound(80, 150, {800: 1.5, 10_000: 0.6}),
}
START_S, FLAT, TEXT_US = 0.3, 1.5, 5.0
"""Start-up in seconds, window 80 to window 10, microseconds of whole answers as text."""


def run(extent: str = "default") -> dict[str, list[Row]]:
    """Measure; each part is a list of rows."""
    if extent not in EXTENTS:
        raise SystemExit(f"no extent `{extent}`; there are {', '.join(EXTENTS)}")
    much = EXTENTS[extent]
    with seldom_collected():
        results = {
            "start": [start(name) for name in EXPERIMENTS],
            "experiments": list(_told(experiments(much))),
            "rules": list(_told(rules(much))),
        }
    return results | {"bounds": list(bounds(results))}


def report(results: Mapping[str, Sequence[Row]]) -> str:
    """The results as tables."""
    return "\n".join(line for part, rows in results.items() for line in table(part, rows))


def _told(rows: Iterator[Row]) -> Iterator[Row]:
    for row in rows:
        print("  ".join(f"{name} {value}" for name, value in row.items()), file=sys.stderr)
        yield row


# --- One program over one stream ---------------------------------------------------------


class Cell:
    """The systems side by side, their windows full."""

    def __init__(self, experiment: Experiment, rate: int, width: int) -> None:
        self.experiment, self.rate, self.width = experiment, rate, width
        self.seconds: dict[str, list[float]] = defaultdict(list)
        """CPU seconds a point of time, one value for each repetition."""
        self._from_rows = False
        """Whether atoms are rows before they are given."""
        self._ours = Incremental(experiment.program(width))
        self._naive = Naive(experiment, width)
        self._points = enumerate(experiment.stream(rate, width))
        self._several = self._multi_shot()
        for _ in range(width + 2):
            self._step(self._ours.deltas)

    def measure(self, repeats: int) -> None:
        """Let the systems take turns."""
        ours = self._ours
        asked = (ours.deltas, ours.deltas, ours.texts, ours.answer)
        for _ in range(repeats):
            for form, ask in zip(FORMS, asked, strict=True):
                gc.collect()
                for _ in range(POINTS[0]):
                    self._step(ask)  # what this form needs is there then
                self._from_rows = form == "deltas from rows"
                points = min(max(ATOMS // self.rate, POINTS[0]), POINTS[1])
                self.seconds[form].append(mean(self._step(ask) for _ in range(points)))
                self._from_rows = False
            self._clingo()
            if self._several is not None:
                gc.collect()
                self.seconds["multi-shot"].append(mean(islice(self._several, POINTS[0])))

    def row(self) -> Row:
        """Microseconds per input atom, and what naive clingo takes as a multiple of ours."""
        us = {name: median(found) / self.rate * 1e6 for name, found in self.seconds.items()}
        return {
            **{name: us.get(name) for name in (*FORMS, *CLINGO)},
            "x naive": self._times("naive", "deltas"),
            "x naive, text": self._times("naive, text", "text of answer"),
            "x multi-shot": self._times("multi-shot", "deltas"),
        }

    def _times(self, theirs: str, ours: str) -> float | None:
        """Median of the ratios of interleaved repetitions; None if it was not measured."""
        if theirs not in self.seconds:
            return None
        pairs = zip(self.seconds[theirs], self.seconds[ours], strict=True)
        return median(them / us for them, us in pairs)

    def _step(self, ask: Callable[[], object]) -> float:
        """One point of time: CPU seconds of ours, with the form of the answer asked for."""
        now, atoms = next(self._points)
        self._naive.push(now, atoms)
        self._ours.have(parsed_many(atoms) if self._from_rows else None)
        begun = time.process_time()
        self._ours.step(now, atoms)
        ask()
        return time.process_time() - begun

    def _clingo(self) -> None:
        gc.collect()
        begun = time.process_time()
        symbols = self._naive.evaluate()
        self.seconds["naive"].append(time.process_time() - begun)
        answer = tuple(sorted(map(str, symbols)))
        self.seconds["naive, text"].append(time.process_time() - begun)
        if answer != self._ours.answer():
            raise SystemExit(f"clingo has another answer to {self.experiment.lars}")

    def _multi_shot(self) -> Iterator[float] | None:
        """CPU seconds of each further point of time, if there is a form and the time for it."""
        if not self.experiment.arriving or self.rate * self.width > MULTI_SHOT:
            return None
        seconds = self._steps(MultiShot(self.experiment, self.width))
        for _ in islice(seconds, self.width + 1):
            pass
        return seconds

    def _steps(self, system: MultiShot) -> Iterator[float]:
        for now, atoms in enumerate(self.experiment.stream(self.rate, self.width)):
            begun = time.process_time()
            system.step(now, atoms)
            yield time.process_time() - begun


# --- Parts -------------------------------------------------------------------------------


def start(name: str) -> Row:
    """Seconds until a program has made its first step, none like it having run before."""
    experiment = EXPERIMENTS[name]
    atoms = next(experiment.stream(800, 80))
    begun = time.process_time()
    system = Incremental(experiment.program(80))
    ready = time.process_time()
    system.step(0, atoms)
    system.deltas()
    return {"program": name, "ready_s": ready - begun, "first_step_s": time.process_time() - ready}


def experiments(much: Extent) -> Iterator[Row]:
    """Every program at every rate and window size; those that nobody asked for at one rate
    and the sizes that are compared."""
    for name, experiment in EXPERIMENTS.items():
        for rate, windows in much.windows.items():
            for width in windows:
                if name not in BOUNDS and (rate, width) not in ((800, 10), (800, 80)):
                    continue
                cell = Cell(experiment, rate, width)
                cell.measure(much.repeats[rate])
                yield {"program": name, "atoms": rate, "window": width, **cell.row()}


def rules(much: Extent) -> Iterator[Row]:
    """The join several times in one program."""
    rate, width = much.joined
    for number in much.rules:
        cell = Cell(joins(number), rate, width)
        cell.measure(much.repeats[rate])
        yield {"rules": number, "atoms": rate, "window": width, **cell.row()}


def bounds(results: Mapping[str, Sequence[Row]]) -> Iterator[Row]:
    """What had to be reached, what should be, and what is."""
    found = {(row["program"], row["atoms"], row["window"]): row for row in results["experiments"]}
    for name, bound in BOUNDS.items():
        if (row := found.get((name, 800, 80))) is not None:
            ratio = row["x naive"]
            yield _bound(f"{name}: naive clingo", "must", "x", ratio, bound.ratio, least=True)
            if bound.goal_ratio is not None:
                goal = bound.goal_ratio
                yield _bound(f"{name}: naive clingo", "goal", "x", ratio, goal, least=True)
            yield _bound(f"{name}: answer as text", "goal", "us", row["text of answer"], TEXT_US)
            if (narrow := found.get((name, 800, 10))) is not None:
                flat = row["deltas"] / narrow["deltas"]
                yield _bound(f"{name}: window 80 to window 10", "must", "x", flat, FLAT)
        for rate, us in bound.goal.items():
            if (row := found.get((name, rate, 80))) is not None:
                yield _bound(f"{name}: {rate} atoms", "goal", "us", row["deltas"], us)
    slowest = max(row["ready_s"] + row["first_step_s"] for row in results["start"])
    yield _bound("start of a program", "must", "s", slowest, START_S)


def _bound(
    what: str, kind: str, unit: str, value: float, bound: float, *, least: bool = False
) -> Row:
    met = value >= bound if least else value <= bound
    return {
        "what": what,
        "kind": kind,
        "measured": value,
        "bound": f"{'>=' if least else '<='} {bound:g} {unit}",
        "met": "yes" if met else "NOT MET",
    }
