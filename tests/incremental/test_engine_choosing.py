"""`--engine auto`: what measures faster for windows of a size, with the same answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain

import pytest

from citywise.reasoning.engines import choosing
from citywise.reasoning.engines.choosing import KEPT, WHOLE, Adaptive, AutoEngine, Turn, suited
from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.engines.programs import IncrementalEngine
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.limits import LimitError
from citywise.reasoning.model.engine import Answered, AnswerSet, WindowChange, WindowFacts
from citywise.reasoning.run.reasoner import Reasoner
from citywise.reasoning.streams.items import Item
from citywise.reasoning.streams.results import Evaluation, OutputStream

RULES = "#from stream <s> [time 3s step 1s]. in(X) :- d(X). #show in/1."
STREAM = [Item(t, f"d({t})", t, stream="s") for t in range(120)]


class Clock:
    """A clock that only moves where an engine says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def thread_time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(choosing, "time", made)
    return made


class Slow(IncrementalEngine):
    """The incremental engine, whose time is what is said."""

    calls: list[bool]
    """Whether each began anew."""

    def begin(self, clock: Clock, seconds: Callable[[], float]) -> Slow:
        self.calls, self._clock, self._seconds = [], clock, seconds
        return self

    def changed(self, change: WindowChange, models: int = 0) -> Answered:
        self.calls.append(change.anew)
        self._clock.now += self._seconds()
        return super().changed(change, models)


class Solver(SolverEngine):
    """The solver, whose time is what is said."""

    def begin(self, clock: Clock, seconds: float) -> Solver:
        self.calls, self._clock, self._seconds = 0, clock, seconds
        return self

    def answer_sets(self, window: WindowFacts, models: int = 0) -> tuple[AnswerSet, ...]:
        self.calls += 1
        self._clock.now += self._seconds
        return super().answer_sets(window, models)


def engines(
    clock: Clock, incremental: Callable[[], float], solver: float
) -> tuple[AutoEngine, Slow, Solver]:
    request = parse(RULES)
    below = Slow(request).begin(clock, incremental)
    beside = Solver(request).begin(clock, solver)
    return AutoEngine(below, lambda: beside), below, beside


def run(engine: AutoEngine) -> list[Evaluation]:
    with Reasoner(parse(RULES), engine=engine) as reasoner:
        return [*reasoner.push(STREAM), *reasoner.finish()]


def right(found: list[Evaluation]) -> bool:
    """Whether the answers are the solver's; where changes are told, they are right."""
    with Reasoner(parse(RULES)) as reasoner:
        expected = [*reasoner.push(STREAM), *reasoner.finish()]
    told = [(e.added, e.removed) for e in found if e.added is not None]
    whole = [
        (tuple(sorted(new - old)), tuple(sorted(old - new)))
        for old, new in zip([set(), *map(_atoms, found)], map(_atoms, found), strict=False)
    ]
    assert set(told) <= set(whole)
    return [e.answer_sets for e in found] == [e.answer_sets for e in expected]


REMEMBERED = """
#from stream <s> [time 6s step 1s].
h(Z) :- q(Z,Y).
d(W) :- r(X), W = X * 2.
h(X) :- prev_h(X), not q(X,_).
#show h/1.
#show d/1.
#feedback h/1.
"""
ARRIVING = [
    (2, "r(4)"), (6, "q(3,2)"), (10, "r(3)"), (10, "p(1,2)"), (12, "q(1,1)"), (14, "p(2,2)"),
]  # fmt: skip


class Now(Adaptive):
    """Takes the solver for one evaluation, and the incremental engine for all others."""

    def __init__(self, number: int) -> None:
        super().__init__([KEPT, WHOLE])
        self._left = number

    def choose(self, facts: int) -> Turn:
        super().choose(facts)
        self._left -= 1
        return Turn(KEPT if self._left else WHOLE)


@pytest.mark.parametrize("number", range(1, 10))
def test_nothing_is_emitted_twice_where_the_engine_changes(number: int) -> None:
    """The solver does not tell what came: its answer is compared with that of before."""
    request = parse(REMEMBERED)
    items = [Item(t, atom, n, stream="s") for n, (t, atom) in enumerate(ARRIVING)]
    engine = AutoEngine(IncrementalEngine(request), partial(SolverEngine, request))
    engine._ways = Now(number)
    with Reasoner(request, engine=engine) as reasoner:
        evaluations = chain(reasoner.push(items), reasoner.finish())
        emitted = [(i.time, i.content) for i in OutputStream(request).istream(evaluations)]
    assert emitted == [(8, "d(8)"), (8, "h(3)"), (10, "d(6)"), (12, "h(1)")]


def _atoms(evaluation: Evaluation) -> set[str]:
    return set(evaluation.answer_sets[0].atoms)


def test_what_takes_little_time_is_not_measured_against_the_solver(clock: Clock) -> None:
    auto, incremental, solver = engines(clock, lambda: 0.005, 0.001)
    assert right(run(auto))
    assert (solver.calls, incremental.calls) == (0, [True] + [False] * 116)


def test_the_slower_solver_is_tried_ever_more_rarely_beside_the_incremental_engine(
    clock: Clock,
) -> None:
    """The incremental engine answers meanwhile, and need not begin anew."""
    auto, incremental, solver = engines(clock, lambda: 0.1, 0.5)
    assert right(run(auto))
    assert 1 < solver.calls < 5
    assert incremental.calls == [True] + [False] * 116


def test_a_faster_solver_takes_over_and_the_incremental_engine_is_tried_again(
    clock: Clock,
) -> None:
    seconds = [0.1]
    auto, incremental, solver = engines(clock, lambda: seconds[0], 0.02)
    found = run(auto)
    assert right(found)
    assert solver.calls > 100
    assert found[-1].added is None
    assert 3 < len(incremental.calls) < 15
    begun = len(incremental.calls)
    seconds[0] = 0.001
    assert all(right(run(auto)) for _ in range(2))
    assert len(incremental.calls) > begun + 100


def test_a_solver_that_saves_little_does_not_take_over() -> None:
    """Each return to the incremental engine reads the window anew, which no measurement shows."""
    ways = Adaptive([KEPT, WHOLE])
    for way, seconds in ((KEPT, 0.012), (WHOLE, 0.008)):
        ways.choose(100)
        ways.took(100, way, seconds)
    assert ways.choose(100).way == KEPT
    ways.took(100, KEPT, 0.1)
    ways.took(100, KEPT, 0.1)
    assert ways.choose(100).way == WHOLE


def test_an_engine_that_reaches_a_limit_leaves_the_next_window_to_the_other(clock: Clock) -> None:
    def stopped() -> float:
        raise LimitError("stopped")

    auto, _incremental, solver = engines(clock, stopped, 0.02)
    found = run(auto)
    assert [e.error for e in found[:3]] == ["stopped", None, None]
    assert solver.calls > 100


def test_a_given_solver_is_left_to_who_gave_it(clock: Clock) -> None:
    class Closed(Solver):
        closed = False

        def close(self) -> None:
            self.closed = True

    request = parse(RULES)
    for owned in (True, False):
        solver = Closed(request)
        engine = AutoEngine(IncrementalEngine(request), lambda s=solver: s, owned=owned)  # type: ignore[misc]
        solver.begin(clock, 0.0)
        engine._solving()
        engine.close()
        assert solver.closed == owned


@pytest.mark.parametrize(
    ("rules", "engine", "reasons"),
    [
        ("a(X) :- b(X), not c(X). c(1) :- b(1).", "incremental", ()),
        ("(pick) {a(X) : b(X)}.", "solver", ("(pick) is a choice",)),
        (
            "c(X) :- b(X). (pick) {a(X) : c(X)}.",
            "incremental below, solver above",
            ("(pick) is a choice",),
        ),
    ],
)
def test_a_plan_says_what_the_rules_allow_and_why_not_more(
    rules: str, engine: str, reasons: tuple[str, ...]
) -> None:
    assert suited(parse(rules)) == (engine, reasons)
