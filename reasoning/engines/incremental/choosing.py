"""Which engine evaluates a request: what its rules allow, and what turns out to be faster."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias

from reasoning.engines.changes import Answered, WindowChange
from reasoning.engines.guard import GuardedEngine, is_large
from reasoning.engines.incremental.casp import UnsupportedError, split
from reasoning.engines.incremental.engine import (
    IncrementalEngine,
    RequestEngine,
    SplitEngine,
    foreseen,
)
from reasoning.engines.limits import UNLIMITED, LimitError, Limits
from reasoning.engines.program import Knowledge, WindowFacts, program
from reasoning.engines.solver import AnswerSet, Engine, SolverEngine
from reasoning.errors import SolvingError
from reasoning.parallel import adaptive
from reasoning.parallel.adaptive import KEPT, WHOLE, Adaptive
from reasoning.program import Request

Choice: TypeAlias = Literal["auto", "incremental", "solver"]
_START_S = 10.0
"""What a process of the solver may take to start and to ground what is known."""


def engine_for(
    request: Request,
    knowledge: Knowledge | None = None,
    limits: Limits | None = None,
    choice: Choice = "auto",
    solver: Callable[[], Engine] | None = None,
) -> Engine:
    """The engine of a request, for one reasoner.

    `incremental` raises `UnsupportedError` for a request outside the fragment. `auto` takes
    the incremental engine for as much of the request as it can evaluate, and the solver where
    it is faster; a request that reads no stream is evaluated once, by the solver.

    Parameters
    ----------
    solver:
        Gives the solver engine, which the caller closes; default: one of its own.
    """
    if choice == "incremental":
        return IncrementalEngine(request, knowledge, limits)
    if choice == "auto" and request.streams:
        engine = _incremental(request, knowledge, limits)
        if engine is not None:
            own = partial(solver_engine, request, knowledge, limits)
            return AutoEngine(engine, solver or own, owned=solver is None)
    return solver() if solver else solver_engine(request, knowledge, limits)


def suited(request: Request) -> tuple[str, tuple[str, ...]]:
    """The engine that a request's rules allow, as `citywise plan` calls it, and why
    statements are not in the incremental engine's fragment."""
    what, present = program(request, frozenset()), foreseen(request)
    cut = split(what, present, request.labels)
    if not cut.reasons:
        return "incremental", ()
    return "solver" if cut.bottom is None else "incremental below, solver above", cut.reasons


def solver_engine(
    request: Request, knowledge: Knowledge | None = None, limits: Limits | None = None
) -> Engine:
    """The solver: in this process where there are no limits, unless knowledge is large."""
    if limits is None and not is_large(knowledge):
        return SolverEngine(request, knowledge)
    return GuardedEngine(request, knowledge, limits or UNLIMITED)


def _incremental(
    request: Request, knowledge: Knowledge | None, limits: Limits | None
) -> RequestEngine | None:
    """The incremental engine for all of a request, else for its bottom, if there is one."""
    for kind in (IncrementalEngine, SplitEngine):
        with suppress(UnsupportedError):
            return kind(request, knowledge, limits)
    return None


class AutoEngine:
    """Evaluates incrementally, or with the solver where that is faster for windows of a
    size, as now and then is measured; a `ChangingEngine`.

    Parameters
    ----------
    incremental:
        Closed with it.
    solver:
        Gives the solver engine when it is wanted first; closed with it if `owned`.
    """

    def __init__(
        self, incremental: RequestEngine, solver: Callable[[], Engine], *, owned: bool = True
    ) -> None:
        self.incremental = incremental
        self._make = solver
        self._owned = owned
        self._solver: Engine | None = None
        self._ways = Adaptive([KEPT, WHOLE], first=sys.maxsize)
        self._follows = False
        """Whether the incremental engine was told of all changes so far."""
        self._answered = False
        """Whether it gave the last answer."""

    def answer_sets(self, window: WindowFacts, models: int = 0) -> tuple[AnswerSet, ...]:
        """See `Engine`."""

        def follow(_warm: bool) -> Answered:
            return Answered(self.incremental.answer_sets(window, models))

        size = window.text.count("\n")
        return self._answer(size, follow, lambda: window, models).answer_sets

    def changed(self, change: WindowChange, models: int = 0) -> Answered:
        """See `ChangingEngine`."""

        def follow(warm: bool) -> Answered:
            known = replace(change, anew=change.anew or not warm)
            return self.incremental.changed(known, models)

        return self._answer(change.size, follow, change.window, models)

    def close(self) -> None:
        """See `Engine`."""
        self.incremental.close()
        if self._solver is not None and self._owned:
            self._solver.close()

    def _answer(
        self,
        size: int,
        follow: Callable[[bool], Answered],
        window: Callable[[], WindowFacts],
        models: int,
    ) -> Answered:
        choice = self._ways.choose(size)
        if choice == adaptive.Choice(WHOLE):
            return self._solve(size, window(), models)
        answered = self._follow(size, follow)
        if choice.way == WHOLE and choice.seconds is not None:
            self._try_solver(size, window(), models, choice.seconds)
        return answered

    def _follow(self, size: int, follow: Callable[[bool], Answered]) -> Answered:
        """The incremental engine's answer; its time counts if it did not start anew."""
        warm, self._follows = self._follows, False
        started = time.perf_counter()
        try:
            answers, added, removed = follow(warm)
        except LimitError:
            self._ways.took(size, KEPT, float("inf"))
            raise
        if warm:
            self._ways.took(size, KEPT, time.perf_counter() - started)
        self._follows = True
        continued, self._answered = self._answered, True
        return Answered(answers, added, removed) if continued else Answered(answers)

    def _try_solver(self, size: int, window: WindowFacts, models: int, seconds: float) -> None:
        """Measure the solver, which must not take much longer, once it has started."""
        allowed = (seconds,) if self._is_warm() else (_START_S + 10 * seconds, seconds)
        took = [self._measured(window, models, most) for most in allowed]
        self._ways.took(size, WHOLE, took[-1])

    def _measured(self, window: WindowFacts, models: int, seconds: float) -> float:
        """How long the solver takes; infinitely long if it takes more than `seconds`."""
        solver = self._solving()
        started = time.perf_counter()
        try:
            if isinstance(solver, GuardedEngine):
                solver.answer_sets(window, models, seconds)
            else:
                solver.answer_sets(window, models)
        except SolvingError:
            return float("inf")
        return time.perf_counter() - started

    def _solve(self, size: int, window: WindowFacts, models: int) -> Answered:
        self._follows = self._answered = False
        warm = self._is_warm()
        started = time.perf_counter()
        try:
            answers = self._solving().answer_sets(window, models)
        except LimitError:
            self._ways.took(size, WHOLE, float("inf"))
            raise
        if warm:
            self._ways.took(size, WHOLE, time.perf_counter() - started)
        return Answered(answers)

    def _is_warm(self) -> bool:
        """Whether the solver need not start a process first."""
        solver = self._solving()
        return not isinstance(solver, GuardedEngine) or solver.process is not None

    def _solving(self) -> Engine:
        if self._solver is None:
            self._solver = self._make()
        return self._solver
