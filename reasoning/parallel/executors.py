"""Where the tasks of a window run.

A task is a partition's program in one bucket, and the facts routed there. Tasks know
nothing of one another, so every executor gives the same answers.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol

from reasoning.engines import guard
from reasoning.engines.guard import Guard, Worker
from reasoning.engines.incremental.engine import ProgramEngine
from reasoning.engines.limits import UNLIMITED, Limits
from reasoning.engines.program import Program
from reasoning.engines.solver import AnswerSet, Solving
from reasoning.engines.worker import Setup
from reasoning.program import Signature

_KEPT = 8
"""Processes with ground knowledge, or a window, that a worker's place keeps."""
_INLINE = 64
"""Incremental engines that this process keeps."""


@dataclass(frozen=True)
class Part:
    """What is evaluated in every window, where the facts are the window's."""

    program: Program
    knowledge: str = ""
    """Facts, one `atom.` a line."""
    dynamic: frozenset[Signature] = frozenset()
    """Predicates that windows supply."""
    limits: Limits = UNLIMITED
    incremental: bool = False
    """Whether the incremental engine evaluates it, which keeps the window before."""

    @cached_property
    def setup(self) -> Setup:
        """The same for a worker process; knowledge that is large is grounded once."""
        if self.incremental:
            kept = tuple(sorted(self.dynamic))
            return Setup(self.program, self.limits, self.knowledge, incremental=kept)
        once = guard.is_long(self.knowledge)
        return guard.setup(self.program, self.limits, self.knowledge, self.dynamic, once=once)


@dataclass(frozen=True)
class Task:
    """A part and the facts it gets of a window."""

    part: Part
    facts: str
    models: int = 0
    """So many answer sets at most; 0: all."""
    seconds: float | None = None
    """Wall time that all tasks of a run may take, where that is less than limits allow."""


@dataclass(frozen=True)
class Outcome:
    """A task's answer sets, and the wall time they took in seconds."""

    answers: tuple[AnswerSet, ...]
    seconds: float


class Executor(Protocol):
    """Evaluates tasks."""

    @property
    def width(self) -> int:
        """How many tasks it works on at the same time."""

    def run(self, tasks: Sequence[Task]) -> list[Outcome]:
        """The outcome of every task, in their order.

        Raises what the first task to fail raised (see `Engine.answer_sets`), when the
        others have been stopped.
        """

    def close(self) -> None:
        """Release processes and memory."""


class Inline:
    """One task after the other, in this process.

    Of the limits clingo keeps those on atoms and models; `Task.seconds` is ignored.
    """

    width = 1

    def __init__(self) -> None:
        self._engines: OrderedDict[Part, ProgramEngine] = OrderedDict()

    def run(self, tasks: Sequence[Task]) -> list[Outcome]:
        """See `Executor`."""
        return [_timed(partial(self._answered, task)) for task in tasks]

    def close(self) -> None:
        """Forget the windows."""
        self._engines.clear()

    def _answered(self, task: Task) -> tuple[AnswerSet, ...]:
        return (
            self._engine(task.part).answers(task.facts) if task.part.incremental else _solved(task)
        )

    def _engine(self, part: Part) -> ProgramEngine:
        if part not in self._engines:
            self._engines[part] = ProgramEngine(
                part.program, part.knowledge, part.dynamic, part.limits
            )
            if len(self._engines) > _INLINE:
                self._engines.popitem(last=False)
        self._engines.move_to_end(part)
        return self._engines[part]


def _solved(task: Task) -> tuple[AnswerSet, ...]:
    part = task.part
    solving = Solving(part.program, part.limits)
    solving.add("base", part.program.rules, part.knowledge, task.facts)
    solving.ground("base")
    return solving.answer_sets(task.models)


def _timed(work: Callable[[], tuple[AnswerSet, ...]]) -> Outcome:
    started = time.perf_counter()
    answers = work()
    return Outcome(answers, time.perf_counter() - started)


class Warm:
    """Worker processes for one task at a time: one for all parts of which nothing is kept,
    and one for each of the last parts whose knowledge was grounded once, or whose window
    the incremental engine keeps."""

    def __init__(self, start: Callable[[], Worker] | None = None) -> None:
        self._start = start
        self._shared = Guard(start)
        self._own: OrderedDict[Part, Guard] = OrderedDict()

    def evaluate(self, task: Task) -> Outcome:
        """The outcome of a task; raises as `Executor.run` does."""
        return _timed(lambda: _finished(self.begin(task, task.seconds)))

    def begin(self, task: Task, seconds: float | None) -> Guard:
        """The guard that has begun with a task; `Guard.proceed` gives its answers."""
        chosen = self._guard(task.part)
        chosen.begin(task.part.setup, task.facts, task.models, seconds)
        return chosen

    def _guard(self, part: Part) -> Guard:
        if not part.setup.stays:
            return self._shared
        if part not in self._own:
            self._own[part] = Guard(self._start)
            if len(self._own) > _KEPT:
                self._own.popitem(last=False)[1].close()
        self._own.move_to_end(part)
        return self._own[part]

    def close(self) -> None:
        """End the processes."""
        for each in (self._shared, *self._own.values()):
            each.close()
        self._own.clear()


def _finished(busy: Guard) -> tuple[AnswerSet, ...]:
    while (answers := busy.proceed()) is None:
        pass
    return answers
