"""The parallel engine: a request evaluated in parts, with the answers of the whole."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence

from reasoning.engines.changes import Answered, WindowChange
from reasoning.engines.guard import is_large, supplied_by_windows
from reasoning.engines.incremental.choosing import Choice as EngineChoice
from reasoning.engines.limits import UNLIMITED, LimitError, Limits, TooManyAnswersError
from reasoning.engines.program import Knowledge, Program, WindowFacts, program
from reasoning.engines.solver import AnswerSet
from reasoning.parallel import greedy, sound
from reasoning.parallel.adaptive import KEPT, WHOLE, Adaptive, Choice, Way
from reasoning.parallel.combining import combined
from reasoning.parallel.executors import Executor, Task
from reasoning.parallel.graphs import input_predicates
from reasoning.parallel.keeping import Asked, Kept
from reasoning.parallel.layouts import Layout, Planned, with_keys
from reasoning.parallel.plan import Name, Plan
from reasoning.parallel.routing import Groups, by_signature, grouped
from reasoning.parallel.rules import read
from reasoning.program import Request, Signature

_QUICK_S = 0.2
"""A plan that took longer to make is made anew only where it must be."""
_REPLANNED = 10
"""After so many windows, the square of it and so on, it is planned anew."""


class ParallelEngine:
    """Evaluates a request by a plan, on an executor; an `Engine`.

    Parameters
    ----------
    executor:
        Where the parts run; it is closed with the engine.
    partitions:
        Into how many buckets the facts of a partition with a key are split.
    plan:
        `sound`, or `greedy` as the thesis has it (its answers may be wrong), or `whole`.
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
        plan: Name = "sound",
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
        self._name = plan
        self._keys = keys
        self._adaptive = adaptive
        self._weights = weights
        self._engine = engine
        self._kept = Kept.of(request, knowledge, limits, engine)
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

    @property
    def plan(self) -> Plan | None:
        """The plan by which the last window was evaluated."""
        return self._planned.plan if self._planned else None

    @property
    def refusal(self) -> str | None:
        """Why the last window could not be evaluated in parts; None if it could."""
        if self._planned is None or any(way.buckets for way in self._ways(self._planned)):
            return None
        return "; ".join(self._planned.plan.reasons) or f"the plan is `{self._name}`"

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
            return self._evaluate(asked, Choice(self._fixed))
        return self._adaptively(self._choosing, asked)

    @property
    def _fixed(self) -> Way:
        """The way that is gone where nothing is measured."""
        kept = self._engine != "solver"
        buckets = 0 if self._name == "whole" else self.partitions
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
        same = known is not None and known.what == what and supplied <= self._seen
        again = self._adaptive and self._planning_s < _QUICK_S
        if same and not (again and is_power(self._windows, _REPLANNED)):
            return
        self._seen |= supplied
        self._counts = {name: len(lines) for name, lines in grouped(asked.facts).items()}
        started = time.perf_counter()
        plan = self._plan(what)
        self._planning_s = time.perf_counter() - started
        if known is None or not same or _keys(plan) != _keys(known.plan):
            self._adopt(what, plan)

    def _plan(self, what: Program) -> Plan:
        present, labels = self._seen | self._supplied, self._request.labels
        if self._name == "whole":
            return sound.whole(what, labels, present)
        if self._name == "greedy":
            inputs = input_predicates(self._request, read(what.rules, labels).rules)
            return greedy.plan(what, inputs, labels, present=present)
        counts = self._counts if self._adaptive else {}
        seen = {s: counts[s.name] for s in present if s.name in counts}
        weights = seen if self._weights is None else self._weights
        return sound.plan(what, labels, present=present, weights=weights, keys=self._keys)

    def _adopt(self, what: Program, plan: Plan) -> None:
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
        of the others, in the time that is left."""
        size = self._size(asked)
        started = time.perf_counter()
        choice = choosing.choose(size)
        try:
            return self._measured(choosing, asked, choice)
        except TooManyAnswersError:
            raise
        except LimitError:
            left = self._limits.seconds - (time.perf_counter() - started)
            other = choosing.choose(size)
            if other.way == choice.way or left <= 0:
                raise
            return self._measured(choosing, asked, Choice(other.way, left))

    def _size(self, asked: Asked) -> int:
        """The number of facts in an evaluation, but for those that are ground already."""
        assert self._planned is not None
        once = self._request.streams and is_large(self._knowledge)
        known = self._knowledge.text.count("\n") if self._knowledge and not once else 0
        return asked.size + known + self._planned.plan.facts.count("\n")

    def _measured(self, choosing: Adaptive, asked: Asked, choice: Choice) -> Answered:
        size = self._size(asked)
        warm = self._is_warm(choice.way)
        if choice.way.incremental and not warm:
            choice = Choice(choice.way)  # it takes the whole window first, but only once
        started = time.perf_counter()
        try:
            answered = self._evaluate(asked, choice)
        except TooManyAnswersError:
            raise
        except LimitError:
            choosing.took(size, choice.way, float("inf"))
            raise
        if warm:
            choosing.took(size, choice.way, time.perf_counter() - started)
        return answered

    def _is_warm(self, way: Way) -> bool:
        """Whether an evaluation takes as long as those after it; what keeps windows must
        have had the one before."""
        assert self._planned is not None
        if way == KEPT:
            return self._kept is not None and self._kept.follows
        return self._planned.layout(way).warm and (not way.incremental or way == self._last)

    def _evaluate(self, asked: Asked, choice: Choice) -> Answered:
        self._last = None  # nobody knows what is kept, if it fails
        if self._kept is not None and choice.way == KEPT:
            answered = self._kept.answer(asked)
        else:
            if self._kept is not None:
                self._kept.follows = False
            answered = Answered(self._there(asked.facts, asked.models, choice))
        self._last = choice.way
        return answered

    def _there(self, facts: str, models: int, choice: Choice) -> tuple[AnswerSet, ...]:
        """The answers of the parts, from the facts of the window."""
        limits = self._limits
        allowed = limits.seconds if choice.seconds is None else choice.seconds
        deadline = time.monotonic() + allowed
        # A part may have too many answer sets, and the whole none.
        asked = models or limits.models + 1
        layout, texts = self._dealt(facts, choice.way)
        parts = self._run(layout, texts, asked, choice.seconds)
        answers = combined(parts, self._request.name, models, limits, deadline)
        if len(answers) < asked and all(parts) and any(len(part) == asked for part in parts):
            # Those that were asked for unite to fewer; there may be others.
            left = max(0.0, deadline - time.monotonic())
            return self._there(facts, models, Choice(WHOLE, left))
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
    keys = (p.key for p in with_keys(plan, Way(2, variant)).partitions)
    return sum(len(key.spread) for key in keys if key)


def is_power(number: int, base: int) -> bool:
    """Whether a number is 1, the base, its square and so on."""
    while number % base == 0:
        number //= base
    return number == 1


def _keys(plan: Plan) -> list[object]:
    return [(partition.key, partition.others) for partition in plan.partitions]
