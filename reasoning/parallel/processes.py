"""Tasks in worker processes of this machine."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import psutil

from reasoning.engines.guard import Guard, Worker
from reasoning.engines.limits import LimitError
from reasoning.parallel.executors import Outcome, Part, Task, Warm

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
        self._homes: dict[Part, int] = {}
        self._took: dict[Part, float] = {}

    def run(self, tasks: Sequence[Task]) -> list[Outcome]:
        """See `Executor`."""
        if len(self._homes) > _PARTS:
            self._homes.clear()
            self._took.clear()
        if len(tasks) == 1:
            (task,) = tasks
            return [self._places[self._homes.setdefault(task.part, 0)].evaluate(task)]
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

    def _alone(self, task: Task) -> Outcome:
        """The outcome of the only task: there is nothing to deal out."""
        place = self._homes.setdefault(task.part, 0)
        outcome = self._places[place].evaluate(task)
        self._took[task.part] = outcome.seconds
        return outcome

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
        self._started = self._watched = time.monotonic()

    @property
    def done(self) -> list[Outcome]:
        """The outcomes, in the tasks' order."""
        return [self._found[index] for index in range(len(self.tasks))]

    def begin(self, place: int, index: int, warm: Warm) -> None:
        """Start a task."""
        task = self.tasks[index]
        allowed = task.part.limits.seconds if task.seconds is None else task.seconds
        waited = time.monotonic() - self._started
        left = max(_LEAST_S, allowed - waited) if waited > _LEAST_S else task.seconds
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
            raise type(error)(f"{error} (in one of {len(self.tasks)} parts)") from None
        if answers is not None:
            self._found[work.index] = Outcome(answers, time.perf_counter() - work.started)
            del self.busy[place]

    def _watch_memory(self) -> None:
        if len(self.busy) < 2 or time.monotonic() - self._watched < _WATCH_S:
            return
        self._watched = time.monotonic()
        part = self.tasks[0].part
        used = sum(_memory(work.guard.process) for work in self.busy.values())
        if used > part.limits.megabytes:
            raise LimitError(
                f"request `{part.program.name}` was stopped: its {len(self.tasks)} parts used "
                f"more than {part.limits.megabytes:,} MB together"
            )

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
