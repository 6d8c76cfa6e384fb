"""The tasks of a window by a plan, and where they run.

A task is a partition's program in one bucket, and the facts routed there. Tasks know
nothing of one another, so every executor gives the same answers.
"""

from __future__ import annotations

import select
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import psutil

from citywise.reasoning.asp.translation.program import UnsupportedError, translate
from citywise.reasoning.engines.choosing import Way
from citywise.reasoning.engines.clingo import guard
from citywise.reasoning.engines.clingo.guard import Guard, Worker, used_s
from citywise.reasoning.engines.clingo.messages import Setup
from citywise.reasoning.limits import UNLIMITED, LimitError, Limits
from citywise.reasoning.model.engine import AnswerSet, AspProgram, Knowledge
from citywise.reasoning.model.request import Signature
from citywise.reasoning.partition.plan import Plan
from citywise.reasoning.partition.routing import Router, grouped

_KEPT = 8
"""Processes with ground knowledge, or a window, that a worker's place keeps."""


@dataclass(frozen=True)
class ProgramPart:
    """What is evaluated in every window, where the facts are the window's."""

    program: AspProgram
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


@dataclass
class Layout:
    """The parts of a plan for a number of buckets, in the order of partitions."""

    parts: list[ProgramPart]
    router: Router | None
    warm: bool = False
    """Whether it has been evaluated: its times are then no longer those of a start."""


class Planned:
    """A program, its plan, and the plan's layouts.

    `seen` are the predicates that windows supply, as far as is known.
    """

    def __init__(
        self,
        what: AspProgram,
        plan: Plan,
        knowledge: Knowledge | None,
        seen: frozenset[Signature],
        limits: Limits,
    ) -> None:
        self.what = what
        self.plan = plan
        self._text = knowledge.text if knowledge else ""
        self._seen = seen
        self._limits = limits
        self._layouts: dict[Way, Layout] = {}

    def layout(self, way: Way) -> Layout:
        """How the program is laid out to go a way."""
        if way not in self._layouts:
            self._layouts[way] = self._laid_out(way) if way.buckets else self._whole(way)
        return self._layouts[way]

    @cached_property
    def keeps(self) -> bool:
        """Whether the incremental engine can evaluate a part."""
        programs = (partition.program() for partition in self.plan.partitions)
        return any(_is_kept(program, self._seen) for program in programs)

    def _whole(self, way: Way) -> Layout:
        return Layout([self._part(way, self.what, self._text)], None)

    def _laid_out(self, way: Way) -> Layout:
        plan = self.plan.split(way.buckets, way.variant)
        router = Router(plan, way.buckets, self._seen)
        settled = router.settle(grouped(self._text + self.plan.facts))
        parts = [
            self._part(way, partition.program(bucket), text, partition.shared(self._seen))
            for partition, texts in zip(plan.partitions, settled, strict=True)
            for bucket, text in enumerate(texts)
        ]
        return Layout(parts, router)

    def _part(
        self, way: Way, what: AspProgram, knowledge: str, more: frozenset[Signature] = frozenset()
    ) -> ProgramPart:
        seen = self._seen | more
        return ProgramPart(
            what, knowledge, seen, self._limits, way.incremental and _is_kept(what, seen)
        )


def _is_kept(what: AspProgram, supplied: frozenset[Signature]) -> bool:
    """Whether the incremental engine can evaluate a program."""
    try:
        translate(what, supplied)
    except UnsupportedError:
        return False
    return True


@dataclass(frozen=True)
class Task:
    """A part and the facts it gets of a window."""

    part: ProgramPart
    facts: str
    models: int = 0
    """So many answer sets at most; 0: all."""
    seconds: float | None = None
    """CPU time that the tasks of a run may take in each process, where that is less than
    limits allow."""


@dataclass(frozen=True)
class Outcome:
    """A task's answer sets, and the CPU time they took in seconds."""

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


class Warm:
    """Worker processes for one task at a time: one for all parts of which nothing is kept,
    and one for each of the last parts whose knowledge was grounded once, or whose window
    the incremental engine keeps."""

    def __init__(self, start: Callable[[], Worker] | None = None) -> None:
        self._start = start
        self._shared = Guard(start)
        self._own: OrderedDict[ProgramPart, Guard] = OrderedDict()

    def evaluate(self, task: Task) -> Outcome:
        """The outcome of a task; raises as `Executor.run` does."""
        guard = self.begin(task, task.seconds)
        return Outcome(_finished(guard), guard.seconds)

    def begin(self, task: Task, seconds: float | None) -> Guard:
        """The guard that has begun with a task; `Guard.proceed` gives its answers."""
        chosen = self._guard(task.part)
        chosen.begin(task.part.setup, task.facts, task.models, seconds)
        return chosen

    def _guard(self, part: ProgramPart) -> Guard:
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


_LEAST_S = 0.02
"""What a task is given where the time of the window is over, to say what it grew to."""
_PARTS = 256
"""Parts of which it is known where they were evaluated, and how long that took."""
_WATCH_S = 0.1
"""How often the memory of all workers is added up."""


class Processes:
    """Worker processes on this machine, each with the limits of its part.

    The parts of a window share the memory they may use: each may use all of it, but not
    all of them together more. Tasks are dealt out longest first, and to the place where
    their part was evaluated before: its process knows the program, and has the knowledge
    ground, or the window before. `start` makes a process.
    """

    def __init__(self, width: int, start: Callable[[], Worker] | None = None) -> None:
        self.width = width
        self._places = [Warm(start) for _ in range(width)]
        self._homes: dict[ProgramPart, int] = {}
        self._took: dict[ProgramPart, float] = {}

    def run(self, tasks: Sequence[Task]) -> list[Outcome]:
        """See `Executor`."""
        if len(self._homes) > _PARTS:
            self._homes.clear()
            self._took.clear()
        if len(tasks) == 1:
            (task,) = tasks
            return [self._places[self._homes.setdefault(task.part, 0)].evaluate(task)]
        # Longest first: a long task that begins last leaves the other places idle.
        window = _Window(tasks, sorted(range(len(tasks)), key=self._length(tasks), reverse=True))
        try:
            while window.waiting or window.busy:
                self._deal(window)
                window.wait()
        finally:
            window.stop()
        for task, outcome in zip(tasks, window.done, strict=True):
            self._took[task.part] = outcome.seconds
        return window.done

    def close(self) -> None:
        """See `Executor`."""
        for place in self._places:
            place.close()
        self._homes.clear()
        self._took.clear()

    def _length(self, tasks: Sequence[Task]) -> Callable[[int], float]:
        """How long each task will take: as the window before, or as it has facts."""
        if all(task.part in self._took for task in tasks):
            return lambda index: self._took[tasks[index].part]
        return lambda index: len(tasks[index].facts) + len(tasks[index].part.knowledge)

    def _deal(self, window: _Window) -> None:
        """Give each idle place a task."""
        for number, place in enumerate(self._places):
            if number not in window.busy and (index := self._choose(window, number)) is not None:
                window.waiting.remove(index)
                task = window.tasks[index]
                self._homes[task.part] = number
                window.begin(number, index, place)

    def _choose(self, window: _Window, place: int) -> int | None:
        """The longest task whose home is the place, else one without a home, else one that
        does not mind to move."""
        parts = [(index, window.tasks[index].part) for index in window.waiting]
        # A task goes home, where its knowledge is ground or its window kept. What stays at its
        # home waits for it; the others fill the gaps.
        own = (index for index, part in parts if self._homes.get(part) == place)
        new = (index for index, part in parts if part not in self._homes)
        mobile = (index for index, part in parts if not part.setup.stays)
        return next((index for found in (own, new, mobile) for index in found), None)


class _Window:
    """The tasks of a window: those waiting, those in work by place, and what came out."""

    def __init__(self, tasks: Sequence[Task], waiting: list[int]) -> None:
        self.tasks = tasks
        self.waiting = waiting
        self.busy: dict[int, _Work] = {}
        self._found: dict[int, Outcome] = {}
        self._spent: dict[int, float] = {}
        """CPU seconds that each place has used for the window."""
        self._watched = time.monotonic()

    @property
    def done(self) -> list[Outcome]:
        """The outcomes, in the tasks' order."""
        return [self._found[index] for index in range(len(self.tasks))]

    def begin(self, place: int, index: int, warm: Warm) -> None:
        """Start a task."""
        task = self.tasks[index]
        allowed = task.part.limits.seconds if task.seconds is None else task.seconds
        spent = self._spent.get(place, 0.0)
        # The limit is on what one process does for the window, so its second task has what the
        # first one left.
        left = max(_LEAST_S, allowed - spent) if spent > _LEAST_S else task.seconds
        started = time.perf_counter()
        self.busy[place] = _Work(index, warm.begin(task, left), started)

    def wait(self) -> None:
        """Take the replies that are there, or come soon."""
        ready = select.poll()
        places = {work.guard.source: place for place, work in self.busy.items()}
        for source in places:
            ready.register(source, select.POLLIN)
        now = time.monotonic()
        due = min(work.guard.deadline for work in self.busy.values()) - now
        found = {source for source, _event in ready.poll(max(0.0, min(due, _WATCH_S)) * 1000)}
        for source, place in places.items():
            if source in found or self.busy[place].guard.deadline <= now:
                self._proceed(place)
        self._watch_memory()

    def _proceed(self, place: int) -> None:
        work = self.busy[place]
        try:
            answers = work.guard.proceed()
        except LimitError as error:
            if len(self.tasks) == 1:
                raise
            more = type(error)(f"{error} (in one of {len(self.tasks)} parts)")
            more.seconds = self._spent.get(place, 0.0) + error.seconds
            raise more from None
        if answers is not None:
            self._spent[place] = self._spent.get(place, 0.0) + work.guard.seconds
            self._found[work.index] = Outcome(answers, work.guard.seconds)
            del self.busy[place]

    def _watch_memory(self) -> None:
        # Each worker looks at its own memory; that of all together only this process can see.
        # Asking costs some system calls, so seldom.
        if len(self.busy) < 2 or time.monotonic() - self._watched < _WATCH_S:
            return
        self._watched = time.monotonic()
        part = self.tasks[0].part
        used = sum(_memory(work.guard.process) for work in self.busy.values())
        if used > part.limits.megabytes:
            error = LimitError(
                f"request `{part.program.name}` was stopped: its {len(self.tasks)} parts used "
                f"more than {part.limits.megabytes:,} MB together"
            )
            error.seconds = max(map(self._used_s, self.busy))
            raise error

    def _used_s(self, place: int) -> float:
        """CPU seconds that a place has used for the window, at most: its process may have
        used some before."""
        work = self.busy[place]
        passed = time.perf_counter() - work.started
        return self._spent.get(place, 0.0) + min(passed, used_s(work.guard.process))

    def stop(self) -> None:
        """End what is still in work."""
        for work in self.busy.values():
            work.guard.close()


@dataclass(frozen=True)
class _Work:
    index: int
    guard: Guard
    started: float


def _memory(process: int | None) -> float:
    """Megabytes of a worker; a fork of it shares with it what was there before."""
    try:
        worker = psutil.Process(process)
        return max(p.memory_info().rss for p in (worker, *worker.children())) / 1e6
    except psutil.Error:
        return 0.0
