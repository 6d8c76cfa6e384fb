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
import weakref
from typing import Any, BinaryIO, cast

from reasoning.engines import frames
from reasoning.engines.limits import LimitError, Limits
from reasoning.engines.program import Knowledge, Program, WindowFacts, program
from reasoning.engines.solver import AnswerSet
from reasoning.engines.static import split
from reasoning.engines.worker import Setup
from reasoning.errors import SolvingError
from reasoning.program import Request, Signature, previous

GROUND_ONCE = 1000
"""Facts of knowledge from which on they are grounded once and not with every window;
measured by `citywise bench casp`."""
_START_S = 60.0
_GRACE_S = 0.9


def is_large(knowledge: Knowledge | None) -> bool:
    """Whether knowledge is worth being grounded once, in a process that keeps it."""
    return knowledge is not None and knowledge.text.count("\n") >= GROUND_ONCE


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
        self._process: _Process | None = None
        self._program: Program | None = None
        self._dynamic = request.inputs | _previous(request)

    def answer_sets(self, window: WindowFacts, models: int = 0) -> tuple[AnswerSet, ...]:
        """See `Engine`."""
        self._prepare(window.supplied)
        reply = self._ask({"facts": window.text, "models": models})
        return tuple(AnswerSet(tuple(atoms), tuple(cost)) for atoms, cost in reply["answers"])

    @property
    def process(self) -> int | None:
        """The id of the worker process, if one is running."""
        return None if self._process is None else self._process.pid

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def _prepare(self, supplied: frozenset[Signature]) -> None:
        """Have a process that evaluates the program for what the streams supply."""
        what = program(self._request, supplied | self._supplied)
        if self._process is None:
            self._process, self._program = _Process(), None
        if what != self._program or not supplied <= self._dynamic:
            self._dynamic |= supplied
            if self.grounds_once and self._program is not None:
                self._process.end()
                self._process = _Process()
            self._program = None
            self._ask({"setup": self._setup(what).to_json()})
            self._program = what

    def _setup(self, what: Program) -> Setup:
        if not self.grounds_once:
            return Setup(what, self._limits, knowledge=self._text)
        static, rules = split(what, self._dynamic)
        return Setup(rules, self._limits, once=static + self._text)

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a message and return the reply; raises what the reply says went wrong."""
        assert self._process is not None
        try:
            reply = self._process.ask(message, self._limits.seconds + _GRACE_S)
        except frames.OverdueError:
            self.close()
            raise LimitError(
                f"request `{self._request.name}` was stopped: it took more than "
                f"{self._limits.seconds:g} s"
            ) from None
        except frames.EndedError:
            self.close()
            raise SolvingError(
                f"request `{self._request.name}`: the solver's process ended unexpectedly"
            ) from None
        except BaseException:
            self.close()  # the reply, if it still comes, is no answer to the next message
            raise
        if "answers" in reply:
            return reply
        if "limit" in reply:
            self.close()
            raise LimitError(reply["limit"])
        if "fault" in reply:
            raise RuntimeError(reply["fault"])
        raise SolvingError(reply["error"])


def _previous(request: Request) -> frozenset[Signature]:
    """The predicates that the feedback supplies."""
    return frozenset(Signature(previous(s.name), s.arity) for s in request.feedback)


class _Process:
    """A worker process and its pipes."""

    def __init__(self) -> None:
        self._ready = False
        paths = os.pathsep.join(filter(None, sys.path))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "reasoning.engines.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": paths},
            process_group=0,  # it ends with its forks; Ctrl-C is for the guard
        )
        self.pid = self._process.pid
        self.end = weakref.finalize(self, _end, self._process)

    def ask(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send, and wait so long for the reply, not counting the start of the process."""
        source = cast("BinaryIO", self._process.stdout).fileno()
        if not self._ready:
            frames.receive(source, _START_S)
            self._ready = True
        frames.send(cast("BinaryIO", self._process.stdin).fileno(), message)
        return cast("dict[str, Any]", frames.receive(source, seconds))


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout):
        if pipe:
            pipe.close()
    process.wait()
