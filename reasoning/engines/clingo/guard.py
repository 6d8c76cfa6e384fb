"""The guard of a worker process: an evaluation that goes beyond a limit is ended with its process.

Processes that nobody uses wait in `WARM` for whoever evaluates next.
Starting one takes some 80 ms, a short evaluation one: who answers many short questions,
each of other rules, keeps a few.

`limited` does other work in a process of its own that is ended at a limit (docs/reason.md): for
what calls clingo in this process, where nothing interrupts it while it grounds, and for what others
wrote where this process has more to do than that.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import select
import signal
import subprocess
import sys
import time
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any, BinaryIO, Generic, Protocol, TypeVar, cast

import psutil

from citywise.reasoning.asp.dependencies import split
from citywise.reasoning.budget import environment
from citywise.reasoning.engines.clingo import messages
from citywise.reasoning.engines.clingo.messages import Setup
from citywise.reasoning.errors import ReasoningError, SolvingError
from citywise.reasoning.limits import LimitError, Limits, patience_s, too_large, too_long
from citywise.reasoning.model.carried import clock, fed
from citywise.reasoning.model.engine import AnswerSet, AspProgram, Knowledge, WindowFacts, program
from citywise.reasoning.model.request import Request, Signature

_MOST_USES = 500
"""After so many a process ends: clingo keeps every term that it ever saw."""


class Waiting(Protocol):
    """A process that can wait."""

    uses: int
    """How often it has been kept."""

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""

    def end(self) -> None:
        """End it."""


Process = TypeVar("Process", bound=Waiting)


class WarmPool(Generic[Process]):
    """At most `most` processes; none until somebody sets that. Threads may share it."""

    def __init__(self, most: int = 0) -> None:
        self.most = most
        self._waiting: deque[Process] = deque()

    def take(self) -> Process | None:
        """A process that waits, which is the taker's from here on."""
        while self._waiting:
            # The last one left is taken first: its memory is most likely still in the caches.
            process = self._waiting.pop()
            if process.alive:
                return process
            # It has died while it waited, perhaps for want of memory; it is reaped here.
            process.end()
        return None

    def leave(self, process: Process) -> None:
        """Keep a process that does nothing now, or end it."""
        process.uses += 1
        if len(self._waiting) < self.most and process.uses < _MOST_USES and process.alive:
            self._waiting.append(process)
        else:
            process.end()

    def close(self) -> None:
        """Keep none any more."""
        self.most = 0
        while (process := self.take()) is not None:
            process.end()


GROUND_ONCE = 1000
"""Facts of knowledge from which on they are grounded once and not with every window;
measured by `citywise bench casp`."""
Message = TypeVar("Message")
_START_S = 60.0
# The worker stops itself at the limit, and can say what grew; the guard ends it a little later if
# it has not.
_GRACE_S = 0.9
_READ_S = 60.0
"""Wall time for the rest of a reply that has begun to come."""
_WAIT_S = 3600.0
"""One wait: `poll` counts milliseconds in 32 bits."""


def is_large(knowledge: Knowledge | None) -> bool:
    """Whether knowledge is worth being grounded once, in a process that keeps it."""
    return knowledge is not None and is_long(knowledge.text)


def is_long(facts: str) -> bool:
    """Whether there are enough facts, one a line, to be grounded once."""
    return hasattr(os, "fork") and facts.count("\n") >= GROUND_ONCE


def setup(
    what: AspProgram, limits: Limits, knowledge: str, dynamic: frozenset[Signature], *, once: bool
) -> Setup:
    """What a worker is told of a program: `once` grounds knowledge and what follows from it
    now, and not with every window; `dynamic` are the predicates that windows supply."""
    if not once:
        return Setup(what, limits, knowledge=knowledge)
    # Rules that no window can reach go where the knowledge is, and are grounded with it.
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
        self._program: AspProgram | None = None
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
        # `dynamic` only grows: a predicate that a stream has supplied once may come again, and
        # rules over it must not be ground as if it could not.
        if self._setup is None or what != self._program or not supplied <= self._dynamic:
            self._dynamic |= supplied
            self._program = what
            self._setup = setup(
                what, self._limits, self._text, self._dynamic, once=self.grounds_once
            )
        return self._setup


def supplied_by_windows(request: Request) -> frozenset[Signature]:
    """The predicates that windows of a request are known to supply: inputs, what evaluations
    leave to the next, and the time."""
    return frozenset({*request.inputs, *fed(request), *clock(request)})


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
        self._allowed = 0.0
        """CPU time that the worker may use for the next reply."""
        self._counted_s: float | None = None
        """CPU time it had used when it was first looked at."""
        self._latest = 0.0
        """Until when (`time.monotonic()`) the next reply must have come in any case."""
        self.deadline = 0.0
        """When (`time.monotonic()`) `proceed` looks how much the worker has used, if there is
        no reply."""
        self.seconds = 0.0
        """CPU time of the last answers."""

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
        # Not set up until the worker has said so: if it dies on the way the next one is told
        # again.
        if self._setup != what:
            self._setup = None
            self._unsent.append({"setup": what.to_json()})
        self._unsent.append({"facts": facts, "models": models})
        # Only processes of the usual kind wait in `WARM`: a caller's own way to start, such as a
        # fork, gives others.
        if self._worker is None and self._start is WorkerProcess:
            self._worker = WARM.take()
        if self._worker is None:
            self._worker = self._start()
            self._allow(_START_S)
        else:
            self._send()

    def proceed(self) -> tuple[AnswerSet, ...] | None:
        """Wait for the next reply, or for `deadline`: the answers, or None if there is more
        to wait for.

        Raises what went wrong; then, and when it is interrupted, the process has ended or
        is as it was before.
        """
        if not self._has_come():
            return None
        reply = self._receive(messages.receive)
        if "limit" in reply:
            self.close()
            raise _stopped(reply["limit"], reply["seconds"])
        if "error" in reply or "fault" in reply:
            self._unsent.clear()
            if "error" in reply:
                raise SolvingError(reply["error"])
            raise RuntimeError(reply["fault"])
        # One message at a time: the worker answers each before it reads the next, so neither can
        # wait for the other to empty a pipe.
        if self._unsent:
            self._send()
            return None
        # Set up now, since the last message has been answered.
        self._setup = self._coming
        self.seconds = reply["seconds"]
        return messages.answer_sets(reply, lambda: self._receive(messages.receive_text))

    def close(self) -> None:
        """End the process, with whatever it is doing."""
        if self._worker is not None:
            self._worker.end()
        self._worker = self._setup = None
        self._unsent.clear()

    def leave(self) -> None:
        """Let another guard have the process, if one is wanted; between evaluations only."""
        # What is ground for one program is of no use to others.
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
            self._allow(seconds)
            assert self._worker is not None
            messages.send(self._worker.sink, message)

    def _allow(self, seconds: float) -> None:
        """The next reply may cost the worker so many seconds of CPU from now on; these are
        counted when as many have passed, so that quick replies cost nothing here."""
        now = time.monotonic()
        self._allowed, self._counted_s = seconds, None
        self.deadline, self._latest = now + seconds, now + patience_s(seconds)

    def _has_come(self) -> bool:
        """Whether a reply begins to come before the deadline. If not, another is set, as long
        as the worker has CPU time left: it may have got none on a loaded machine."""
        ready = select.poll()
        ready.register(self.source, select.POLLIN)
        with self._watched():
            while (left := self.deadline - time.monotonic()) > 0:
                if ready.poll(min(left, _WAIT_S) * 1000):
                    return True
            if ready.poll(0):
                return True
            # The limit is CPU time, but waiting is by the clock. When the clock says it could be
            # over, the worker is asked what it has really used.
            used = used_s(self.process)
            if self._counted_s is None:
                self._counted_s = used
            left = min(self._allowed - (used - self._counted_s), self._latest - time.monotonic())
            if left <= 0:
                raise messages.OverdueError
            self.deadline = time.monotonic() + left
        return False

    def _receive(self, receive: Callable[[int, float], Message]) -> Message:
        with self._watched():
            return receive(self.source, _READ_S)

    @contextlib.contextmanager
    def _watched(self) -> Iterator[Setup]:
        """Words for what happens to the process; it is not kept."""
        assert self._coming is not None
        name, seconds = self._coming.program.name, self._coming.limits.seconds
        try:
            yield self._coming
        except messages.OverdueError:
            self.close()
            text = f"request `{name}` was stopped: {too_long(seconds)}"
            # A trial is allowed less than the limit, and what follows it has the rest.
            raise _stopped(text, min(seconds, self._allowed)) from None
        except messages.EndedError:
            self.close()
            raise SolvingError(
                f"request `{name}`: the solver's process ended unexpectedly"
            ) from None
        except BaseException:
            self.close()  # the reply, if it still comes, is no answer to the next message
            raise


def _stopped(text: str, seconds: float) -> LimitError:
    """The error of a worker that was stopped after so many seconds of CPU."""
    error = LimitError(text)
    error.seconds = seconds
    return error


def used_s(process: int | None) -> float:
    """CPU time that a process and those it started have used, in seconds; 0 if it is gone."""
    try:
        worker = psutil.Process(process)
        times = [worker.cpu_times(), *(child.cpu_times() for child in worker.children())]
    except psutil.Error:
        return 0.0
    return sum(t.user + t.system + t.children_user + t.children_system for t in times)


class WorkerProcess:
    """A process of its own, and its pipes."""

    def __init__(self) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "citywise.reasoning.engines.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=environment(),
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


WARM: WarmPool[WorkerProcess] = WarmPool()
"""The processes that engines leave to others when they are closed, in this process."""


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        # The group: a fork that evaluates must not outlive the worker.
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout):
        if pipe:
            pipe.close()
    process.wait()


_POLL_S = 0.02
OPTIONS = "--time-limit", "--memory-limit"
"""What the limits are called in a command."""
Result = TypeVar("Result")


def limited(
    work: Callable[[], Result], limits: Limits, what: str, names: tuple[str, str] = OPTIONS
) -> Result:
    """What `work` returns, or raises; its result must be one that can be pickled.

    Of the limits those on CPU time and memory hold. Raises `LimitError` that says of `what`
    it was stopped at which of them, and by `names` where they are set. Nothing of the process is
    left behind, also where this one is interrupted or killed.
    """
    context = multiprocessing.get_context("fork")
    replies, sink = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(work, sink))
    process.start()
    pid = cast("int", process.pid)
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)  # whoever of the two comes first
    sink.close()
    try:
        _wait(replies, pid, limits, what, names)
        result, error = replies.recv()
    except EOFError:
        raise SolvingError(f"{what} failed: its process ended unexpectedly") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        process.join()
        process.close()
        replies.close()
    if error is not None:
        raise error
    return cast("Result", result)


def _wait(replies: Connection, pid: int, limits: Limits, what: str, names: tuple[str, str]) -> None:
    """Until the reply begins to come; raises `LimitError`."""
    process, until = psutil.Process(pid), time.monotonic() + patience_s(limits.seconds)
    had = process.memory_info().rss  # of what this one had, which it shares
    while not replies.poll(_POLL_S):
        if used_s(pid) > limits.seconds or time.monotonic() > until:
            raise LimitError(f"{what} was stopped: {too_long(limits.seconds)} ({names[0]})")
        if (process.memory_info().rss - had) / 1e6 > limits.megabytes:
            raise LimitError(f"{what} was stopped: {too_large(limits.megabytes)} ({names[1]})")


def _serve(work: Callable[[], object], sink: Connection) -> None:
    """Work and send what came of it; ends with the process that waits for it."""
    os.setpgid(0, 0)  # Ctrl-C is for the one that waits
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        reply: tuple[object, Exception | None] = (work(), None)
    except ReasoningError as error:
        reply = (None, error)
    except Exception:  # noqa: BLE001 - the one that waits reports it
        reply = (None, RuntimeError(traceback.format_exc()))
    sink.send(reply)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
