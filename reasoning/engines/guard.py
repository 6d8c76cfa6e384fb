"""Evaluation in a process of its own, within limits (DESIGN B3).

clingo cannot be interrupted while it grounds, and a wrong rule can ground for ever: the
guard ends the process instead, and starts another for the next evaluation. Knowledge that
is large is grounded once in that process and shared by all windows (see `worker`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Protocol, TypeVar, cast

from reasoning.engines import frames, replies
from reasoning.engines.limits import LimitError, Limits
from reasoning.engines.program import Knowledge, Program, WindowFacts, program
from reasoning.engines.solver import AnswerSet
from reasoning.engines.static import split
from reasoning.engines.warm import Warm
from reasoning.engines.worker import Setup
from reasoning.errors import SolvingError
from reasoning.program import Request, Signature, previous

GROUND_ONCE = 1000
"""Facts of knowledge from which on they are grounded once and not with every window;
measured by `citywise bench casp`."""
Message = TypeVar("Message")
_START_S = 60.0
_GRACE_S = 0.9


def is_large(knowledge: Knowledge | None) -> bool:
    """Whether knowledge is worth being grounded once, in a process that keeps it."""
    return knowledge is not None and is_long(knowledge.text)


def is_long(facts: str) -> bool:
    """Whether there are enough facts, one a line, to be grounded once."""
    return hasattr(os, "fork") and facts.count("\n") >= GROUND_ONCE


def setup(
    what: Program, limits: Limits, knowledge: str, dynamic: frozenset[Signature], *, once: bool
) -> Setup:
    """What a worker is told of a program: `once` grounds knowledge and what follows from it
    now, and not with every window; `dynamic` are the predicates that windows supply."""
    if not once:
        return Setup(what, limits, knowledge=knowledge)
    static, rules = split(what, dynamic)
    return Setup(rules, limits, once=static + knowledge)


class GuardedEngine:
    """Evaluates in a worker process; starts it when it is needed.

    Parameters
    ----------
    once:
        Whether knowledge is grounded once; None lets its size decide.
    """

    def __init__(
        self,
        request: Request,
        knowledge: Knowledge | None = None,
        limits: Limits | None = None,
        *,
        once: bool | None = None,
    ) -> None:
        self._request = request
        self._text = knowledge.text if knowledge else ""
        self._supplied = knowledge.supplied if knowledge else frozenset()
        self._limits = limits or Limits()
        self.grounds_once = hasattr(os, "fork") and (is_large(knowledge) if once is None else once)
        """Whether knowledge is grounded once and shared by all windows."""
        self.guard = Guard()
        self._program: Program | None = None
        self._setup: Setup | None = None
        self._dynamic = supplied_by_windows(request)

    def answer_sets(
        self, window: WindowFacts, models: int = 0, seconds: float | None = None
    ) -> tuple[AnswerSet, ...]:
        """See `Engine`; `seconds` may allow it less time than the limits do."""
        return self.guard.evaluate(self._current(window.supplied), window.text, models, seconds)

    @property
    def process(self) -> int | None:
        """The id of the worker process, if one is running."""
        return self.guard.process

    def close(self) -> None:
        """End the process, or leave it to the next engine (see `WARM`)."""
        self.guard.leave()

    def _current(self, supplied: frozenset[Signature]) -> Setup:
        """How a worker evaluates the program for what the streams supply."""
        what = program(self._request, supplied | self._supplied)
        if self._setup is None or what != self._program or not supplied <= self._dynamic:
            self._dynamic |= supplied
            self._program = what
            self._setup = setup(
                what, self._limits, self._text, self._dynamic, once=self.grounds_once
            )
        return self._setup


def supplied_by_windows(request: Request) -> frozenset[Signature]:
    """The predicates that windows of a request are known to supply: inputs and feedback."""
    return request.inputs | frozenset(
        Signature(previous(s.name), s.arity) for s in request.feedback
    )


class Worker(Protocol):
    """A process that evaluates: `reasoning.engines.worker`."""

    @property
    def pid(self) -> int:
        """The id of the process."""

    @property
    def source(self) -> int:
        """The descriptor its replies come from; the first says that it is ready."""

    @property
    def sink(self) -> int:
        """The descriptor it reads messages from."""

    def end(self) -> None:
        """End the process and close the descriptors."""


class Guard:
    """A worker process that is set up and asked; starts when it is needed.

    `evaluate` waits for the answers. `begin` does not: whoever has several guards calls
    `proceed` when there is something to read from `source`, until it gives answers.
    """

    def __init__(self, start: Callable[[], Worker] | None = None) -> None:
        self._start = start or WorkerProcess
        self._worker: Worker | None = None
        self._setup: Setup | None = None
        """What the worker is set up for."""
        self._coming: Setup | None = None
        self._unsent: deque[dict[str, Any]] = deque()
        self._seconds: float | None = None
        self.deadline = 0.0
        """Until when (`time.monotonic()`) the next reply must have come."""

    @property
    def process(self) -> int | None:
        """The id of the worker process, if one is running."""
        return None if self._worker is None else self._worker.pid

    @property
    def source(self) -> int:
        """The descriptor from which the next reply comes."""
        assert self._worker is not None
        return self._worker.source

    def evaluate(
        self, what: Setup, facts: str, models: int = 0, seconds: float | None = None
    ) -> tuple[AnswerSet, ...]:
        """The answers to a window's facts; see `Engine.answer_sets` and `begin`."""
        self.begin(what, facts, models, seconds)
        while (answers := self.proceed()) is None:
            pass
        return answers

    def begin(self, what: Setup, facts: str, models: int = 0, seconds: float | None = None) -> None:
        """Start an evaluation; `seconds` may allow it less time than the limits do."""
        if self._setup is not None and self._setup.once and self._setup != what:
            self.close()  # what is ground stays with its process
        self._coming = what
        self._seconds = seconds
        if self._setup != what:
            self._setup = None
            self._unsent.append({"setup": what.to_json()})
        self._unsent.append({"facts": facts, "models": models})
        if self._worker is None and self._start is WorkerProcess:
            self._worker = WARM.take()
        if self._worker is None:
            self._worker = self._start()
            self.deadline = time.monotonic() + _START_S
        else:
            self._send()

    def proceed(self) -> tuple[AnswerSet, ...] | None:
        """Wait for the next reply: the answers, or None if there is another to wait for.

        Raises what went wrong; then, and when it is interrupted, the process has ended or
        is as it was before.
        """
        reply = self._receive(frames.receive)
        if "limit" in reply:
            self.close()
            raise LimitError(reply["limit"])
        if "error" in reply or "fault" in reply:
            self._unsent.clear()
            if "error" in reply:
                raise SolvingError(reply["error"])
            raise RuntimeError(reply["fault"])
        if self._unsent:
            self._send()
            return None
        self._setup = self._coming
        return replies.answer_sets(reply, lambda: self._receive(frames.receive_text))

    def close(self) -> None:
        """End the process, with whatever it is doing."""
        if self._worker is not None:
            self._worker.end()
        self._worker = self._setup = None
        self._unsent.clear()

    def leave(self) -> None:
        """Let another guard have the process, if one is wanted; between evaluations only."""
        if isinstance(self._worker, WorkerProcess) and not (self._coming and self._coming.once):
            WARM.leave(self._worker)
            self._worker = self._setup = None
        self.close()

    def _send(self) -> None:
        message = self._unsent.popleft()
        with self._watched() as what:
            seconds = what.limits.seconds + _GRACE_S
            if "facts" in message and self._seconds is not None:
                seconds = min(seconds, self._seconds)
            self.deadline = time.monotonic() + seconds
            assert self._worker is not None
            frames.send(self._worker.sink, message)

    def _receive(self, receive: Callable[[int, float], Message]) -> Message:
        left = max(0.0, self.deadline - time.monotonic())
        with self._watched():
            return receive(self.source, left)

    @contextlib.contextmanager
    def _watched(self) -> Iterator[Setup]:
        """Words for what happens to the process; it is not kept."""
        assert self._coming is not None
        name, seconds = self._coming.program.name, self._coming.limits.seconds
        try:
            yield self._coming
        except frames.OverdueError:
            self.close()
            raise LimitError(
                f"request `{name}` was stopped: it took more than {seconds:g} s"
            ) from None
        except frames.EndedError:
            self.close()
            raise SolvingError(
                f"request `{name}`: the solver's process ended unexpectedly"
            ) from None
        except BaseException:
            self.close()  # the reply, if it still comes, is no answer to the next message
            raise


class WorkerProcess:
    """A process of its own, and its pipes."""

    def __init__(self) -> None:
        paths = os.pathsep.join(filter(None, sys.path))
        process = subprocess.Popen(
            [sys.executable, "-m", "reasoning.engines.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": paths},
            process_group=0,  # it ends with its forks; Ctrl-C is for the guard
        )
        self.pid = process.pid
        self.uses = 0
        self._process = process
        self.source = cast("BinaryIO", process.stdout).fileno()
        self.sink = cast("BinaryIO", process.stdin).fileno()
        self.end = weakref.finalize(self, _end, process)

    @property
    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None


WARM: Warm[WorkerProcess] = Warm()
"""The processes that engines leave to others when they are closed, in this process."""


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout):
        if pipe:
            pipe.close()
    process.wait()
