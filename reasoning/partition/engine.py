"""The parallel engine: a request evaluated in parts, with the answers of the whole."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from citywise.reasoning.asp.translation.program import UnsupportedError
from citywise.reasoning.engines.choosing import KEPT, WHOLE, Adaptive, Turn, Way
from citywise.reasoning.engines.choosing import Choice as EngineChoice
from citywise.reasoning.engines.clingo.guard import is_large, supplied_by_windows
from citywise.reasoning.engines.programs import IncrementalEngine
from citywise.reasoning.limits import UNLIMITED, LimitError, Limits, TooManyAnswersError
from citywise.reasoning.model.carried import clock, remembered
from citywise.reasoning.model.engine import (
    Answered,
    AnswerSet,
    AspProgram,
    Knowledge,
    WindowChange,
    WindowFacts,
    program,
)
from citywise.reasoning.model.request import Request, Signature
from citywise.reasoning.partition import sound
from citywise.reasoning.partition.combining import combined
from citywise.reasoning.partition.executors import Executor, Layout, Planned, Task
from citywise.reasoning.partition.plan import Plan, Planner, Reason
from citywise.reasoning.partition.routing import Groups, by_signature, grouped

_QUICK_S = 0.2
"""A plan that took longer to make is made anew only where it must be."""
_REPLANNED = 10
"""After so many windows, the square of it and so on, it is planned anew."""


@dataclass(frozen=True)
class Asked:
    """What is to be evaluated: a window, or how it changed."""

    supplied: frozenset[Signature]
    models: int
    window: Callable[[], WindowFacts]
    change: WindowChange | None = None

    @cached_property
    def facts(self) -> str:
        """The window's, one `atom.` a line."""
        return self.window().text

    @property
    def size(self) -> int:
        """The number of its facts."""
        return self.facts.count("\n") if self.change is None else self.change.size


class KeptAnswers:
    """Answers what the engine is asked, which may have missed windows."""

    def __init__(self, engine: IncrementalEngine) -> None:
        self._engine = engine
        self.follows = False
        """Whether it has had the window before."""

    @classmethod
    def of(
        cls,
        request: Request,
        knowledge: Knowledge | None,
        limits: Limits | None,
        choice: EngineChoice,
    ) -> KeptAnswers | None:
        """The engine of a request, if it may be used and can evaluate it.

        Raises `UnsupportedError` if it must and cannot.
        """
        if choice == "solver":
            return None
        try:
            return cls(IncrementalEngine(request, knowledge, limits))
        except UnsupportedError:
            if choice == "incremental":
                raise
            return None

    def answer(self, asked: Asked) -> Answered:
        """The answer; what changed is known where the window before was answered here."""
        follows, self.follows = self.follows, False
        if asked.change is None:
            answered = Answered(self._engine.answer_sets(asked.window(), asked.models))
        elif follows:
            answered = self._engine.changed(asked.change, asked.models)
        else:
            change = replace(asked.change, anew=True)
            answered = Answered(self._engine.changed(change, asked.models).answer_sets)
        self.follows = True
        return answered


class ParallelEngine:
    """Evaluates a request by a plan, on an executor; an `Engine`.

    Parameters
    ----------
    executor:
        Where the parts run; it is closed with the engine.
    partitions:
        Into how many buckets the facts of a partition with a key are split.
    plan:
        `sound`, or `whole`, which cuts nothing; or what cuts programs (its answers may be
        wrong).
    keys:
        Whether `sound` looks for keys.
    adaptive:
        Whether measured times decide, window by window, if it is split, and into how much.
    weights:
        Facts of a window by predicate, by which keys are chosen; default: those of windows,
        if it is `adaptive`.
    engine:
        What evaluates the parts: `solver`; `incremental`, each part that can be, which keeps
        its window; `auto`, what measures faster if it is `adaptive`, else the same.

    Within limits, those on memory and time are on all parts together, those on atoms on
    each of them, and that on answer sets on what they combine to.
    """

    def __init__(
        self,
        request: Request,
        knowledge: Knowledge | None = None,
        limits: Limits | None = None,
        *,
        executor: Executor,
        partitions: int = 2,
        plan: Literal["sound", "whole"] | Planner = "sound",
        keys: bool = True,
        adaptive: bool = True,
        weights: Mapping[Signature, int] | None = None,
        engine: EngineChoice = "solver",
    ) -> None:
        self._request = request
        self._knowledge = knowledge
        self._supplied = knowledge.supplied if knowledge else frozenset()
        self._limits = limits or UNLIMITED
        self._executor = executor
        self.partitions = partitions
        self.variant = 0
        """Which of several keys is used if it is not measured (`adaptive`). Both may be
        changed between windows."""
        self._planner = plan
        self._keys = keys
        self._adaptive = adaptive
        self._weights = weights
        self._engine = engine
        self._kept = KeptAnswers.of(request, knowledge, limits, engine)
        self._last: Way | None = None
        """How the window before was evaluated."""
        self._choosing: Adaptive | None = None
        self._told: frozenset[Signature] = frozenset()
        self._seen = supplied_by_windows(request)
        self._asked: frozenset[Signature] = frozenset()
        """What streams had supplied when the window before was evaluated."""
        self._windows = 0
        self._counts: Mapping[str, int] = {}
        """Facts of a window, by the name of their predicate."""
        self._planned: Planned | None = None
        self._planning_s = 0.0
        self._beside_s = 0.0
        """CPU time that the parts of this evaluation took in processes of their own, as if each
        had the place to itself."""

    @property
    def plan(self) -> Plan | None:
        """The plan by which the last window was evaluated."""
        return self._planned.plan if self._planned else None

    @property
    def refusals(self) -> tuple[Reason, ...] | None:
        """Why the last window could not be evaluated in parts; None if it could."""
        if self._planned is None or any(way.buckets for way in self._ways(self._planned)):
            return None
        return self._planned.plan.because or (Reason(f"the plan is `{self._planned.plan.name}`"),)

    def answer_sets(self, window: WindowFacts, models: int = 0) -> tuple[AnswerSet, ...]:
        """See `Engine`."""
        return self._answered(Asked(window.supplied, models, lambda: window)).answer_sets

    def changed(self, change: WindowChange, models: int = 0) -> Answered:
        """See `ChangingEngine`."""
        return self._answered(Asked(change.supplied, models, change.window, change))

    def _answered(self, asked: Asked) -> Answered:
        self._windows += 1
        self._told = asked.supplied | supplied_by_windows(self._request)
        self._prepare(asked)
        if self._choosing is None:
            return self._evaluate(asked, Turn(self._fixed))
        return self._adaptively(self._choosing, asked)

    @property
    def _fixed(self) -> Way:
        """The way that is gone where nothing is measured."""
        kept = self._engine != "solver"
        buckets = 0 if self._planner == "whole" else self.partitions
        return Way(buckets, self.variant if buckets else 0, kept)

    def close(self) -> None:
        """See `Engine`."""
        self._executor.close()

    # -- plans ----------------------------------------------------------------------

    def _prepare(self, asked: Asked) -> None:
        """Have a plan for what the streams supply, and now and then see if it still suits."""
        supplied, known = asked.supplied, self._planned
        if supplied != self._asked or known is None:
            what, self._asked = program(self._request, supplied | self._supplied), supplied
        else:
            what = known.what
        # A predicate that nobody foresaw may make other keys wrong, not only slower: then a plan
        # must be made anew, however long that takes.
        same = known is not None and known.what == what and supplied <= self._seen
        again = self._adaptive and self._planning_s < _QUICK_S
        if same and not (again and is_power(self._windows, _REPLANNED)):
            return
        self._seen |= supplied
        self._counts = {name: len(lines) for name, lines in grouped(asked.facts).items()}
        started = time.thread_time()
        plan = self._plan(what)
        self._planning_s = time.thread_time() - started
        # A plan with the same keys keeps its processes, which have ground knowledge.
        if known is None or not same or _keys(plan) != _keys(known.plan):
            self._adopt(what, plan)

    def _plan(self, what: AspProgram) -> Plan:
        present, labels = self._seen | self._supplied, self._request.labels
        if self._planner == "whole":
            return sound.whole(what, labels, present)
        if callable(self._planner):
            return self._planner(what, present)
        counts = self._counts if self._adaptive else {}
        seen = {s: counts[s.name] for s in present if s.name in counts}
        weights = seen if self._weights is None else self._weights
        return sound.plan(
            what,
            labels,
            present=present,
            feedback=remembered(self._request),
            weights=weights,
            clock=clock(self._request),
            keys=self._keys,
        )

    def _adopt(self, what: AspProgram, plan: Plan) -> None:
        planned = Planned(what, plan, self._knowledge, self._seen, self._limits)
        self._planned, self._choosing = planned, None
        if self._adaptive and (plan.name != "whole" or self._engine != "solver"):
            first = None if self._kept is None else sys.maxsize
            self._choosing = Adaptive(self._ways(planned), first)

    def _ways(self, planned: Planned) -> list[Way]:
        """The ways worth trying; the incremental engine, where it has all of a request, is
        likely to be faster than any other."""
        cut = self._cuts(planned.plan)
        kept = [way._replace(incremental=True) for way in cut if self._engine != "solver"]
        kept = [KEPT] * (self._kept is not None) + kept * planned.keeps
        return kept if self._engine == "incremental" else [*kept, WHOLE, *cut]

    def _cuts(self, plan: Plan) -> list[Way]:
        """The ways that cut facts."""
        variants = max((len(p.others) + 1 for p in plan.partitions if p.key), default=0)
        if not variants:
            return [Way(1)] * (len(plan.partitions) > 1)
        few = min(self._executor.width, self.partitions)
        numbers = {few, self.partitions} - ({1} if len(plan.partitions) == 1 else set())
        order = sorted(range(variants), key=lambda v: _spread(plan, v))
        return [Way(n, v) for n in sorted(numbers) for v in order]

    # -- evaluation -----------------------------------------------------------------

    def _adaptively(self, choosing: Adaptive, asked: Asked) -> Answered:
        """Evaluate in the way that pays, or try another; if that reaches a limit, the best
        of the others, in the CPU time that is left."""
        size = self._size(asked)
        started = time.thread_time()
        choice = choosing.choose(size)
        try:
            return self._measured(choosing, asked, choice)
        # Another way would find as many.
        except TooManyAnswersError:
            raise
        except LimitError as error:
            left = self._limits.seconds - (time.thread_time() - started) - error.seconds
            other = choosing.choose(size)
            if other.way == choice.way or left <= 0:
                raise
            return self._measured(choosing, asked, Turn(other.way, left))

    def _size(self, asked: Asked) -> int:
        """The number of facts in an evaluation, but for those that are ground already."""
        assert self._planned is not None
        once = self._request.streams and is_large(self._knowledge)
        known = self._knowledge.text.count("\n") if self._knowledge and not once else 0
        return asked.size + known + self._planned.plan.facts.count("\n")

    def _measured(self, choosing: Adaptive, asked: Asked, choice: Turn) -> Answered:
        size = self._size(asked)
        warm = self._is_warm(choice.way)
        if choice.way.incremental and not warm:
            choice = Turn(choice.way)  # it takes the whole window first, but only once
        started, self._beside_s = time.thread_time(), 0.0
        try:
            answered = self._evaluate(asked, choice)
        except TooManyAnswersError:
            raise
        except LimitError:
            choosing.took(size, choice.way, float("inf"))
            raise
        if warm:
            choosing.took(size, choice.way, time.thread_time() - started + self._beside_s)
        return answered

    def _is_warm(self, way: Way) -> bool:
        """Whether an evaluation takes as long as those after it; what keeps windows must
        have had the one before."""
        assert self._planned is not None
        if way == KEPT:
            return self._kept is not None and self._kept.follows
        return self._planned.layout(way).warm and (not way.incremental or way == self._last)

    def _evaluate(self, asked: Asked, choice: Turn) -> Answered:
        self._last = None  # nobody knows what is kept, if it fails
        if self._kept is not None and choice.way == KEPT:
            # The whole request on the incremental engine, in this process: no facts are dealt
            # out, and changes are known.
            answered = self._kept.answer(asked)
        else:
            # It is not told of this window, so it cannot follow the next one.
            if self._kept is not None:
                self._kept.follows = False
            answered = Answered(self._there(asked.facts, asked.models, choice))
        self._last = choice.way
        return answered

    def _there(self, facts: str, models: int, choice: Turn) -> tuple[AnswerSet, ...]:
        """The answers of the parts, from the facts of the window."""
        limits = self._limits
        allowed = limits.seconds if choice.seconds is None else choice.seconds
        deadline = time.thread_time() + allowed
        # A part may have too many answer sets, and the whole none.
        asked = models or limits.models + 1
        layout, texts = self._dealt(facts, choice.way)
        parts = self._run(layout, texts, asked, choice.seconds)
        answers = combined(parts, self._request.name, models, limits, deadline)
        if len(answers) < asked and all(parts) and any(len(part) == asked for part in parts):
            # Those that were asked for unite to fewer; there may be others.
            left = max(0.0, deadline - time.thread_time())
            return self._there(facts, models, Turn(WHOLE, left))
        return answers

    def _unforeseen(self, groups: Groups) -> frozenset[Signature]:
        """Predicates of facts that nobody said would come."""
        told = {signature.name for signature in self._told}
        untold = (lines for name, lines in groups.items() if name not in told)
        return frozenset(s for lines in untold for s in by_signature(lines)) - self._seen

    def _run(
        self, layout: Layout, texts: Sequence[str], models: int, seconds: float | None
    ) -> list[tuple[AnswerSet, ...]]:
        tasks = [
            Task(part, text, models, seconds)
            for part, text in zip(layout.parts, texts, strict=True)
        ]
        outcomes = self._executor.run(tasks)
        # As long as the longest, and as all of them dealt out evenly.
        took = [outcome.seconds for outcome in outcomes]
        self._beside_s += max(max(took), sum(took) / self._executor.width)
        layout.warm = True
        return [outcome.answers for outcome in outcomes]

    def _dealt(self, facts: str, way: Way) -> tuple[Layout, list[str]]:
        """The facts for each part; plans anew where facts say more than was foreseen."""
        assert self._planned is not None
        if not way.buckets:
            return self._planned.layout(way), [facts]
        groups = grouped(facts)
        if unforeseen := self._unforeseen(groups):
            self._seen |= unforeseen
            self._adopt(self._planned.what, self._plan(self._planned.what))
        layout = self._planned.layout(way)
        assert layout.router is not None
        return layout, [text for texts in layout.router.route(groups) for text in texts]


def _spread(plan: Plan, variant: int) -> int:
    """How many predicates the keys of a variant may derive in several buckets: what comes
    out of a window is mostly more than what goes in."""
    keys = (p.keyed(variant).key for p in plan.partitions)
    return sum(len(key.spread) for key in keys if key)


def is_power(number: int, base: int) -> bool:
    """Whether a number is 1, the base, its square and so on."""
    while number % base == 0:
        number //= base
    return number == 1


def _keys(plan: Plan) -> list[object]:
    return [(partition.key, partition.others) for partition in plan.partitions]
