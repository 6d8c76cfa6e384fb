"""The process that evaluates for a guard; it may be ended at any moment.

    python -m citywise.reasoning.engines.worker

Where knowledge is grounded once, each window is evaluated in a fork that adds the
window's facts to the ground knowledge and ends after its answer: nothing of a window is
left for the next. The fork for the next window is made before the window is there.
Large windows, and those after a large answer, have a fork of their own as well: clingo
keeps every term it ever saw until its process ends.

Where the incremental engine evaluates, the process keeps it from window to window.
"""

from __future__ import annotations

import gc
import mmap
import os
import select
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

import psutil

from citywise.reasoning.engines.clingo import messages
from citywise.reasoning.engines.clingo.messages import Setup, send_answers
from citywise.reasoning.engines.clingo.solver import LARGE, Solving
from citywise.reasoning.errors import SolvingError
from citywise.reasoning.limits import LimitError, Limits, exceeded, too_large, too_long
from citywise.reasoning.model.engine import AnswerSet

if TYPE_CHECKING:
    from citywise.reasoning.engines.programs import ProgramEngine

STOPPED = 3
"""Exit code of a process that was stopped at a limit."""
_ENDED = 4
_POLL_S = 0.02
_LARGE_TEXT = 1_000_000
"""Characters of facts from which on a fork, of 3 ms, costs less than 1 % of the window."""
Result = TypeVar("Result")


class Worker:
    """Answers the messages of one guard, one at a time."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._setup: Setup | None = None
        self._ground: Solving | None = None
        self._kept: ProgramEngine | None = None
        # Anonymous memory that is mapped is shared with forks: what a child writes the parent
        # sees, also of one that has died.
        self._busy = mmap.mmap(-1, 1)
        """Not 0 while a fork has a message and no answer yet."""
        self._large = mmap.mmap(-1, 1)
        """Not 0 where the last answer was large."""

    def serve(self) -> None:
        """Work until the guard closes its end."""
        while True:
            try:
                message = messages.receive(self._source)
            except messages.EndedError:
                return
            if "setup" not in message:
                self._evaluate(message)
                continue
            self._answer(partial(self._prepare, message["setup"]))
            if self._ground is not None:
                self._serve_in_forks(self._ground)
                return

    def _prepare(self, values: dict[str, Any]) -> list[AnswerSet]:
        setup = self._setup = Setup.from_json(values)
        self._kept = None if setup.incremental is None else _incremental(setup)
        if setup.once:
            solving = Solving(setup.program, setup.limits)

            def ground() -> None:
                # Rules that windows reach go to a part of their own, which each fork grounds over
                # its facts and what is ground here.
                solving.add("base", setup.once)
                solving.add("window", setup.program.rules)
                solving.ground("base")

            watched(solving, setup.limits, ground, self._source)
            self._ground = solving
        return []

    def _evaluate(self, message: dict[str, Any]) -> None:
        """Answer a message with the engine that is kept, or with a control of its own: in a
        fork, if that may be large."""
        if (kept := self._kept) is not None:
            self._answer(lambda: list(kept.answers(message["facts"], message["models"])))
            return
        work = partial(self._fresh, message)
        large = bool(self._large[0]) or len(message["facts"]) >= _LARGE_TEXT
        if large and hasattr(os, "fork"):
            self._in_fork(lambda: self._answer(work))
        else:
            self._answer(work)

    def _fresh(self, message: dict[str, Any]) -> list[AnswerSet]:
        assert self._setup is not None
        setup = self._setup
        solving = Solving(setup.program, setup.limits)

        def evaluate() -> list[AnswerSet]:
            solving.add("base", setup.program.rules, setup.knowledge, message["facts"])
            solving.ground("base")
            return list(solving.answer_sets(message["models"]))

        return watched(solving, setup.limits, evaluate, self._source)

    def _serve_in_forks(self, ground: Solving) -> None:
        """A fork for every message; the setup stays what it is."""
        # Python's collector writes into every object it looks at, and a page that is written to
        # is copied. What is there now is no garbage: it need not look.
        gc.freeze()  # the forks share what is there now
        while self._in_fork(lambda: self._serve_once(ground)) != _ENDED:
            pass

    def _in_fork(self, serve: Callable[[], None]) -> int:
        """Serve in a process of its own, which ends; its exit code."""
        self._busy[0] = 0
        # No other thread runs now (what grounded has ended, see `watched`), so no lock is held
        # for ever in the child. The next fork is made when this one has ended, while the guard
        # still reads: it waits in `receive` for a message.
        child = os.fork()
        if child == 0:
            serve()
            # Not `sys.exit`: buffers and exit handlers are the parent's.
            os._exit(0)
        _pid, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        # A child that dies without a word (out of memory, a fault of clingo) must not leave the
        # guard waiting for an answer. One that died before it had a message owes none.
        if self._busy[0] and code not in (0, STOPPED, _ENDED):
            self._send({"error": f"request `{self._name}`: the solver ended unexpectedly"})
        return code

    @property
    def _name(self) -> str:
        return self._setup.program.name if self._setup else ""

    def _serve_once(self, ground: Solving) -> None:
        """Answer one message with what is ground."""
        assert self._setup is not None
        limits = self._setup.limits
        try:
            message = messages.receive(self._source)
        except messages.EndedError:
            os._exit(_ENDED)

        def evaluate() -> list[AnswerSet]:
            ground.add("facts", message["facts"])
            ground.ground("facts", "window")
            return list(ground.answer_sets(message["models"]))

        self._answer(lambda: watched(ground, limits, evaluate, self._source))

    def _answer(self, work: Callable[[], list[AnswerSet]]) -> None:
        self._busy[0] = 1
        began = time.process_time()
        try:
            answers = work()
            # clingo keeps the terms of a large answer until its process ends: after one, the next
            # window gets a fork of its own.
            self._large[0] = sum(len(answer.atoms) for answer in answers) >= LARGE
            send_answers(self._sink, answers, time.process_time() - began)
        except LimitError as error:
            self._send({"limit": str(error), "seconds": time.process_time() - began})
            os._exit(STOPPED)  # the thread that would not end ends with its process
        except SolvingError as error:
            self._send({"error": str(error)})
        except messages.EndedError:
            os._exit(0)
        except Exception:  # noqa: BLE001 - the guard reports it
            self._send({"fault": traceback.format_exc()})

    def _send(self, message: dict[str, Any]) -> None:
        try:
            messages.send(self._sink, message)
        except messages.EndedError:
            os._exit(0)


def _incremental(setup: Setup) -> ProgramEngine:
    from citywise.reasoning.engines.programs import ProgramEngine

    supplied = frozenset(setup.incremental or ())
    return ProgramEngine(setup.program, setup.knowledge, supplied, setup.limits)


def watched(solving: Solving, limits: Limits, work: Callable[[], Result], source: int) -> Result:
    """What `work` returns; raises `LimitError` when it goes beyond a limit.

    It runs in a thread that is left behind in that case: clingo cannot be interrupted
    while it grounds. When nobody is left at the other end of `source`, the process ends.
    """
    done: list[Result] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            failed.append(error)

    # clingo lets other threads run while it grounds and solves, and answers no signals.
    thread = Thread(target=run, daemon=True)
    started = time.process_time()
    thread.start()
    process = psutil.Process()
    guard = select.poll()
    guard.register(source, 0)  # tells only of its end
    while thread.is_alive():
        thread.join(_POLL_S)
        # Whoever asked is gone: nobody wants the answer, and a process that nobody would end must
        # end itself.
        if guard.poll(0):
            os._exit(_ENDED)
        if thread.is_alive() and (limit := _reached(solving, limits, process, started)):
            raise exceeded(solving.name, limit, solving.phase, solving.grown())
    if failed:
        raise failed[0]
    return done[0]


def _reached(
    solving: Solving, limits: Limits, process: psutil.Process, started: float
) -> str | None:
    if time.process_time() - started > limits.seconds:
        return too_long(limits.seconds)
    used = process.memory_info().rss / 1e6
    if used > limits.megabytes:
        return too_large(limits.megabytes)
    if solving.phase == "grounding" and solving.atoms() > limits.atoms:
        return f"it has more than {limits.atoms:,} ground atoms"
    return None


def main() -> None:
    """Serve on standard input and output; whatever else prints goes to the error output."""
    sink = os.dup(1)
    os.dup2(2, 1)
    messages.send(sink, {"ready": True})
    Worker(sys.stdin.fileno(), sink).serve()


if __name__ == "__main__":
    main()
