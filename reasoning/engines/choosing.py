"""Which engine a request gets, and which way of evaluating pays for windows of a size.

Windows are classed by their number of facts, in powers of two. A way that has not been
tried is tried once the one that has takes long enough to be beaten; the ways that lost are
tried again, ever more rarely. A trial may take little longer than the way it is measured
against, so that all trials together cost a few per cent. Time is CPU time: what else the machine
does says nothing about a way.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from math import isinf
from statistics import median
from typing import Literal, NamedTuple, TypeAlias

from citywise.reasoning.asp.translation.program import UnsupportedError, split
from citywise.reasoning.engines.clingo.guard import GuardedEngine, is_large
from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.engines.programs import (
    IncrementalEngine,
    RequestEngine,
    SplitEngine,
    foreseen,
)
from citywise.reasoning.errors import SolvingError
from citywise.reasoning.limits import UNLIMITED, LimitError, Limits
from citywise.reasoning.model.engine import (
    Answered,
    AnswerSet,
    Engine,
    Knowledge,
    WindowChange,
    WindowFacts,
    program,
)
from citywise.reasoning.model.request import Request

WORTH_S = 0.01
"""Evaluations that take less are left whole."""
LARGE = 4_000
"""Facts from which on the first window is split before anything was measured."""
_REMEMBERED = 5
_FIRST_WAIT, _LONGEST_WAIT = 32, 1024
"""Evaluations between trials of what lost."""
_UNTRIED_WAIT = 8
"""Evaluations between trials of what was not tried, but for the first."""


class Way(NamedTuple):
    """How a window is evaluated."""

    buckets: int
    """Into how many facts with a key are split; 0: nothing is cut."""
    variant: int = 0
    """Which of several keys is used."""
    incremental: bool = False
    """Whether the incremental engine evaluates all parts that it can."""


WHOLE, KEPT = Way(0), Way(0, incremental=True)
"""Everything at once by the solver, and by the incremental engine."""


class Turn(NamedTuple):
    """A way, and the seconds it may take if it is a trial; None: as long as limits allow."""

    way: Way
    seconds: float | None = None


@dataclass
class _Class:
    """What was measured for windows of one size."""

    seconds: dict[Way, deque[float]] = field(default_factory=dict)
    """Of the last evaluations, by way; those that lost in the order of their trials."""
    since: int = 0
    """Evaluations since the last trial."""
    wait: int = _FIRST_WAIT

    def took(self, way: Way, seconds: float) -> None:
        self.seconds.setdefault(way, deque(maxlen=_REMEMBERED)).append(seconds)

    @property
    def best(self) -> tuple[float, Way]:
        """The fastest way, after the seconds it takes."""
        return min((median(took), way) for way, took in self.seconds.items())


class Adaptive:
    """Chooses among ways: a whole one, and then what is most likely to be faster first.

    Parameters
    ----------
    first:
        Facts from which on the second way is tried first; default: `LARGE`.
    """

    def __init__(self, ways: Sequence[Way], first: int | None = None) -> None:
        self._ways = ways
        self._first = LARGE if first is None else first
        self._classes: dict[int, _Class] = {}

    def choose(self, facts: int) -> Turn:
        """How to evaluate a window of so many facts."""
        known = self._classes.setdefault(facts.bit_length(), _Class())
        if not known.seconds:
            return Turn(self._expected(facts))
        seconds, best = self._best(known)
        known.since += 1
        others = [way for way in self._ways if way != best]
        # Below 10 ms too little can be won to pay for trials.
        if not others or (not best.buckets and seconds < WORTH_S):
            return Turn(best)
        untried = [way for way in others if way not in known.seconds]
        patience = min(_FIRST_WAIT, _UNTRIED_WAIT * (len(known.seconds) - 1))
        if known.since <= (patience if untried else known.wait):
            return Turn(best)
        # Dictionaries keep their order, and `took` puts what has just lost last: the next one to
        # try is the one that lost longest ago.
        way = untried[0] if untried else next(way for way in known.seconds if way != best)
        return Turn(way, None if isinf(seconds) else 1.25 * seconds + WORTH_S)

    def took(self, facts: int, way: Way, seconds: float) -> None:
        """Note how long an evaluation took; infinitely long if it reached a limit."""
        known = self._classes[facts.bit_length()]
        before = known.best[1] if known.seconds else way
        if way != before:
            # Also moves it to the end of the order.
            known.seconds.pop(way, None)  # what was measured long ago
            known.since = 0
        known.took(way, seconds)
        if way != before:
            lost = known.best[1] == before
            # Each trial lost makes the next one rarer; a trial won begins anew, since things have
            # changed.
            known.wait = min(2 * known.wait, _LONGEST_WAIT) if lost else _FIRST_WAIT

    def _best(self, known: _Class) -> tuple[float, Way]:
        """The fastest way. The first is left for another whole one only where that saves enough:
        to come back to it costs a window that is read anew, which nobody measures here."""
        seconds, best = known.best
        first = self._ways[0]
        if not best.buckets and first in known.seconds:
            its = median(known.seconds[first])
            if its < seconds + WORTH_S:
                return its, first
        return seconds, best

    def _expected(self, facts: int) -> Way:
        """The best for the nearest size that was measured, else by the number of facts."""
        size = facts.bit_length()
        measured = [
            (abs(other - size), other)
            for other, known in self._classes.items()
            if len(known.seconds) > 1
        ]
        if measured:
            return self._classes[min(measured)[1]].best[1]
        return self._ways[1 if facts >= self._first and len(self._ways) > 1 else 0]


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
    # Without streams there is one evaluation, and functions made for each rule would be used
    # once.
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
        # `maxsize`: a first window is never left to the solver, however large; the incremental
        # engine must read it in any case, to follow from there on.
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
            # A change it was not told of cannot be made up for: it reads the whole window again.
            known = replace(change, anew=change.anew or not warm)
            return self.incremental.changed(known, models)

        return self._answer(change.size, follow, change.window, models)

    @property
    def following(self) -> RequestEngine | None:
        """The incremental engine, if it has given the last answer."""
        return self.incremental if self._follows and self._answered else None

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
        if choice == Turn(WHOLE):
            return self._solve(size, window(), models)
        # A trial runs besides: the answer is the incremental engine's, so that it stays in step,
        # and a trial that reaches a limit costs time and no answer.
        answered = self._follow(size, follow)
        if choice.way == WHOLE and choice.seconds is not None:
            self._try_solver(size, window(), models, choice.seconds)
        return answered

    def _follow(self, size: int, follow: Callable[[bool], Answered]) -> Answered:
        """The incremental engine's answer; its time counts if it did not start anew."""
        # Until it has answered: after an error it does not know where it stands.
        warm, self._follows = self._follows, False
        started = time.thread_time()
        try:
            answers, added, removed = follow(warm)
        except LimitError:
            self._ways.took(size, KEPT, float("inf"))
            raise
        # The first evaluation after a pause pays for the whole window, which says nothing about
        # following it.
        if warm:
            self._ways.took(size, KEPT, time.thread_time() - started)
        self._follows = True
        # What came and went is told against the engine's own last answer, which is the last one
        # given only if that was its own, too.
        continued, self._answered = self._answered, True
        return Answered(answers, added, removed) if continued else Answered(answers)

    def _try_solver(self, size: int, window: WindowFacts, models: int, seconds: float) -> None:
        """Measure the solver, which must not take much longer, once it has started."""
        # A cold solver is asked twice: the first run pays for its process and what it grounds
        # once, the second is what counts.
        allowed = (seconds,) if self._is_warm() else (_START_S + 10 * seconds, seconds)
        took = [self._measured(window, models, most) for most in allowed]
        self._ways.took(size, WHOLE, took[-1])

    def _measured(self, window: WindowFacts, models: int, seconds: float) -> float:
        """How long the solver takes; infinitely long if it takes more than `seconds`."""
        solver = self._solving()
        started = time.thread_time()
        try:
            if isinstance(solver, GuardedEngine):
                solver.answer_sets(window, models, seconds)
            else:
                solver.answer_sets(window, models)
        except SolvingError:
            return float("inf")
        return time.thread_time() - started + self._beside_s()

    def _beside_s(self) -> float:
        """The CPU time of the last evaluation in the solver's own process."""
        solver = self._solving()
        return solver.guard.seconds if isinstance(solver, GuardedEngine) else 0.0

    def _solve(self, size: int, window: WindowFacts, models: int) -> Answered:
        # The incremental engine is not told of this change, so it cannot follow the next one.
        self._follows = self._answered = False
        warm = self._is_warm()
        started = time.thread_time()
        try:
            answers = self._solving().answer_sets(window, models)
        except LimitError:
            self._ways.took(size, WHOLE, float("inf"))
            raise
        if warm:
            self._ways.took(size, WHOLE, time.thread_time() - started + self._beside_s())
        return Answered(answers)

    def _is_warm(self) -> bool:
        """Whether the solver need not start a process first."""
        solver = self._solving()
        return not isinstance(solver, GuardedEngine) or solver.process is not None

    def _solving(self) -> Engine:
        if self._solver is None:
            self._solver = self._make()
        return self._solver
