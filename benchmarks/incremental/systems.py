"""What is compared on plain LARS: our evaluator, a fresh clingo at each point of time, and
one clingo for all of them.

All take the ground atoms of a point of time as text, as they arrive.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import clingo

from benchmarks.incremental.laser import Experiment
from citywise.reasoning import budget
from citywise.reasoning.languages.lars.incremental import IncrementalEvaluator
from citywise.reasoning.languages.lars.parsing import parse
from citywise.reasoning.languages.lars.program import Point
from citywise.reasoning.model.engine import AnswerSet
from citywise.reasoning.model.values import Row


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Python looks for garbage as seldom as in the pipeline's workers, which all systems here
    gain from."""
    before = gc.get_threshold()
    budget.seldom_collected()
    try:
        yield
    finally:
        gc.set_threshold(*before)


class Incremental:
    """A program of plain LARS on the incremental engine."""

    def __init__(self, program: str) -> None:
        self._evaluator = IncrementalEvaluator(parse(program))
        self._read = self._evaluator._read
        self._answers: Sequence[AnswerSet] = ()

    def step(self, now: int, atoms: Sequence[str]) -> None:
        """Bring the answer to the next point of time."""
        self._answers = self._evaluator.step(Point(now, atoms))

    def have(self, rows: Mapping[str, list[Row]] | None) -> None:
        """The next points' atoms are these rows, ready; None: they are texts, to be read."""
        ready = self._read if rows is None else lambda _point: rows
        self._evaluator._read = ready  # type: ignore[method-assign]

    def deltas(self) -> object:
        """What came and went with the last step, as rows."""
        return [(list(came), list(gone)) for came, gone in self._evaluator.deltas().values()]

    def texts(self) -> object:
        """What came and went with the last step, as sorted text."""
        return self._evaluator.changes()

    def answer(self) -> tuple[str, ...]:
        """The whole answer as sorted text."""
        (answer,) = self._answers
        return answer.atoms


class Naive:
    """A fresh control for a window's facts, the text of each of which is made once."""

    def __init__(self, experiment: Experiment, width: int) -> None:
        self._experiment, self._width = experiment, width
        self._window: deque[str] = deque(maxlen=width + 1)
        self._now = 0

    def push(self, now: int, atoms: Sequence[str]) -> None:
        """Add a point of time to the window."""
        end = f",{now})." if self._experiment.stamped else ")."
        self._window.append("\n".join(f"{atom[:-1]}{end}" for atom in dict.fromkeys(atoms)))
        self._now = now

    def evaluate(self) -> Sequence[clingo.Symbol]:
        """Read, ground and solve; the atoms shown."""
        control = clingo.Control(["--warn=none"])
        since = max(0, self._now - self._width)
        control.add("base", [], f"#const now={self._now}. #const since={since}.")
        control.add("base", [], self._experiment.asp + "\n".join(self._window))
        control.ground([("base", [])])
        return solved(control)


class MultiShot:
    """One control for all points of time: rules are ground for what arrives, under an
    external atom of its point of time, which is released when it leaves the window."""

    def __init__(self, experiment: Experiment, width: int) -> None:
        self._width = width
        self._control = clingo.Control(["--warn=none"])
        self._control.add("step", ["t"], f"#external alive(t). {experiment.arriving}")

    def step(self, now: int, atoms: Sequence[str]) -> Sequence[clingo.Symbol]:
        """Ground the point's part and solve; the atoms shown, `q(A,B,_)` for `q(A,B)`."""
        time = clingo.Number(now)
        with self._control.backend() as backend:
            for atom in atoms:
                symbol = clingo.Function("p", [*map(clingo.Function, _arguments(atom)), time])
                backend.add_rule([backend.add_atom(symbol)])
        self._control.ground([("step", [time])])
        self._control.assign_external(_alive(now), True)
        self._control.release_external(_alive(now - self._width - 1))
        return solved(self._control)


def solved(control: clingo.Control) -> Sequence[clingo.Symbol]:
    """The atoms shown in the answer set of what has been ground."""
    with control.solve(yield_=True) as handle:
        for model in handle:
            symbols: Sequence[clingo.Symbol] = model.symbols(shown=True)
            return symbols
    raise AssertionError("no answer set")


def _arguments(atom: str) -> list[str]:
    return atom[2:-1].split(",")


def _alive(time: int) -> clingo.Symbol:
    return clingo.Function("alive", [clingo.Number(time)])
