"""The best answer within a time: for questions where a good one now beats the best one later."""

from __future__ import annotations

import time
from dataclasses import dataclass
from threading import Event

import clingo

from reasoning.engines.clingo.solver import Solving, sorted_texts
from reasoning.limits import Limits, exceeded
from reasoning.model.engine import AnswerSet, AspProgram, WindowFacts, program
from reasoning.model.request import Request

_BETTER_AND_BETTER = (
    "--opt-mode=opt",
    "--models=0",
    "--configuration=crafty",
    "--heuristic=Domain",
)
"""`#heuristic` statements are followed. Of clingo's configurations this one was in front with
agendas, of 8 items (time to the proof) and of 20 (the best after a second)."""


@dataclass(frozen=True)
class Found:
    """The best answer set that was found, and whether it is proved that there is no better."""

    answer: AnswerSet
    is_best: bool


class AnytimeEngine:
    """Evaluates a request that minimises with a fresh clingo control, in this process.

    Solving ends when its time is over. Grounding cannot be interrupted: the rules are to be
    ours. Threads may share an engine.
    """

    def __init__(self, request: Request, limits: Limits | None = None) -> None:
        self._request = request
        self._limits = limits

    def best(self, window: WindowFacts, seconds: float, patience: float = 0) -> Found | None:
        """The best answer set that is found in so many seconds; None: there is none at all.

        Where none is found in time the first is waited for, `patience` seconds more. Raises
        `LimitError` if none was found then either, `SolvingError` with the solver's words.
        """
        until_s = time.monotonic() + seconds
        improving = _Improving(program(self._request, window.supplied), self._limits)
        improving.add("base", improving.rules, window.text)
        improving.ground("base")
        return improving.best(until_s, patience)


class _Improving(Solving):
    """Solving that goes from each answer set to a better one."""

    def __init__(self, what: AspProgram, limits: Limits | None) -> None:
        super().__init__(what, limits, _BETTER_AND_BETTER)
        self.rules = what.rules
        self._last: AnswerSet | None = None
        self._has_any = Event()

    def best(self, until_s: float, patience: float) -> Found | None:
        """See `AnytimeEngine.best`; it ends at `until_s` of `time.monotonic()`."""
        self._check_atoms()
        self.phase = "solving"
        with (
            self._in_its_words(),
            self.control.solve(on_model=self._keep, async_=True) as handle,
        ):
            is_done = _over(handle, until_s)
            if not is_done:
                # A first answer is worth waiting for; a better one is not.
                self._has_any.wait(patience)
                is_done = handle.wait(0)
            # `get` returns when the search has really ended; until then `_keep` may be called in
            # its thread, and `_last` may change.
            handle.cancel()
            handle.get()
        if self._last is not None:
            return Found(self._last, is_done)
        if is_done:
            return None
        raise exceeded(self.name, "no answer was found in time", self.phase, self.grown())

    def _keep(self, model: clingo.Model) -> bool:
        """Keep a model; whether to go on: where nothing to minimise is ground all are as good."""
        self._last = AnswerSet(sorted_texts(model.symbols(shown=True)), self.cost(model))
        self._has_any.set()
        return bool(model.cost)


def _over(handle: clingo.SolveHandle, until_s: float) -> bool:
    """Wait until solving is over or it is `until_s`; whether it is over.

    clingo's `wait` gives up at the first waking, for which the start of the solving is enough
    on a busy machine.
    """
    while (left_s := until_s - time.monotonic()) > 0:
        if handle.wait(left_s):
            return True
    return handle.wait(0)
