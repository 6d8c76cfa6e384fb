"""The process that evaluates for a guard; it may be ended at any moment.

    python -m reasoning.engines.worker

Where knowledge is grounded once, each window is evaluated in a fork that adds the
window's facts to the ground knowledge and ends after its answer: nothing of a window is
left for the next. The fork for the next window is made before the window is there.
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
from dataclasses import asdict, dataclass
from functools import partial
from threading import Thread
from typing import Any, NoReturn, TypeVar

import psutil

from reasoning.engines import frames
from reasoning.engines.limits import LimitError, Limits, exceeded
from reasoning.engines.program import Program
from reasoning.engines.solver import AnswerSet, Solving
from reasoning.errors import SolvingError

STOPPED = 3
"""Exit code of a process that was stopped at a limit."""
_ENDED = 4
_POLL_S = 0.02
Result = TypeVar("Result")


@dataclass(frozen=True)
class Setup:
    """What a worker evaluates until the next setup.

    The program's rules and `knowledge` are grounded with every window; `once` is grounded
    now and shared by all windows (empty: nothing is).
    """

    program: Program
    limits: Limits
    knowledge: str = ""
    once: str = ""

    def to_json(self) -> dict[str, Any]:
        """Values for a message."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Setup:
        """The setup that `to_json` described."""
        what = values["program"] | {"priorities": tuple(values["program"]["priorities"])}
        limits = Limits(**values["limits"])
        return cls(Program(**what), limits, values["knowledge"], values["once"])


class Worker:
    """Answers the messages of one guard, one at a time."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._setup: Setup | None = None
        self._ground: Solving | None = None

    def serve(self) -> None:
        """Work until the guard closes its end."""
        while True:
            try:
                message = frames.receive(self._source)
            except frames.EndedError:
                return
            if "setup" not in message:
                self._answer(partial(self._fresh, message))
                continue
            self._answer(partial(self._prepare, message["setup"]))
            if self._ground is not None:
                self._serve_in_forks(self._ground)
                return

    def _prepare(self, values: dict[str, Any]) -> list[AnswerSet]:
        setup = self._setup = Setup.from_json(values)
        if setup.once:
            solving = Solving(setup.program, setup.limits)

            def ground() -> None:
                solving.add("base", setup.once)
                solving.add("window", setup.program.rules)
                solving.ground("base")

            watched(solving, setup.limits, ground, self._source)
            self._ground = solving
        return []

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
        gc.freeze()  # the forks share what is there now
        busy = mmap.mmap(-1, 1)
        while True:
            busy[0] = 0
            child = os.fork()
            if child == 0:
                self._serve_once(ground, busy)
            _pid, status = os.waitpid(child, 0)
            code = os.waitstatus_to_exitcode(status)
            if code == _ENDED:
                return
            if busy[0] and code not in (0, STOPPED):
                self._send({"error": f"request `{ground.name}`: the solver ended unexpectedly"})

    def _serve_once(self, ground: Solving, busy: mmap.mmap) -> NoReturn:
        """Answer one message with what is ground, and end."""
        assert self._setup is not None
        limits = self._setup.limits
        try:
            message = frames.receive(self._source)
        except frames.EndedError:
            os._exit(_ENDED)
        busy[0] = 1

        def evaluate() -> list[AnswerSet]:
            ground.add("facts", message["facts"])
            ground.ground("facts", "window")
            return list(ground.answer_sets(message["models"]))

        self._answer(lambda: watched(ground, limits, evaluate, self._source))
        os._exit(0)

    def _answer(self, work: Callable[[], list[AnswerSet]]) -> None:
        try:
            self._send({"answers": [[a.atoms, a.cost] for a in work()]})
        except LimitError as error:
            self._send({"limit": str(error)})
            os._exit(STOPPED)  # the thread that would not end ends with its process
        except SolvingError as error:
            self._send({"error": str(error)})
        except Exception:  # noqa: BLE001 - the guard reports it
            self._send({"fault": traceback.format_exc()})

    def _send(self, message: dict[str, Any]) -> None:
        try:
            frames.send(self._sink, message)
        except frames.EndedError:
            os._exit(0)


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

    thread = Thread(target=run, daemon=True)
    started = time.monotonic()
    thread.start()
    process = psutil.Process()
    guard = select.poll()
    guard.register(source, 0)  # tells only of its end
    while thread.is_alive():
        thread.join(_POLL_S)
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
    if time.monotonic() - started > limits.seconds:
        return f"it took more than {limits.seconds:g} s"
    used = process.memory_info().rss / 1e6
    if used > limits.megabytes:
        return f"it used more than {limits.megabytes:,} MB"
    if solving.phase == "grounding" and solving.atoms() > limits.atoms:
        return f"it has more than {limits.atoms:,} ground atoms"
    return None


def main() -> None:
    """Serve on standard input and output; whatever else prints goes to the error output."""
    sink = os.dup(1)
    os.dup2(2, 1)
    frames.send(sink, {"ready": True})
    Worker(sys.stdin.fileno(), sink).serve()


if __name__ == "__main__":
    main()
