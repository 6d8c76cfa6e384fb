"""Every plan on every executor in any number of buckets gives the answers of the whole."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Literal, NamedTuple

import pytest
from hypothesis import event, given, note, settings

from citywise.reasoning.engines.choosing import Choice as EngineName
from citywise.reasoning.engines.choosing import Way
from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.limits import LimitError, Limits
from citywise.reasoning.model.atoms import signature
from citywise.reasoning.model.engine import AnswerSet, Engine, WindowFacts
from citywise.reasoning.partition.engine import ParallelEngine
from citywise.reasoning.partition.executors import Executor, Processes
from citywise.reasoning.partition.plan import Plan
from tests.reasoning.oracle import ForkedWorker
from tests.reasoning.parallel.inline import Inline
from tests.reasoning.parallel.strategies import Example, examples

LIMITS = Limits(models=200)
UNCUT = "1 partitions, no key"
MANY = None
"""What an engine says that finds more answer sets than the limit."""


class Plans(NamedTuple):
    """A plan, and the ways it is gone: numbers of buckets, and which of several keys."""

    plan: Literal["sound", "whole"]
    keys: bool
    ways: tuple[Way, ...]


PLANS = (
    Plans("sound", True, (Way(2), Way(1), Way(3), Way(5), Way(2, 1), Way(2, 2))),
    Plans("sound", False, (Way(2),)),
    Plans("whole", False, (Way(2),)),
)


FEW = (Plans("sound", True, (Way(3),)), Plans("whole", False, (Way(2),)))


def windows(example: Example) -> list[WindowFacts]:
    """The windows as engines get them."""
    seen = [frozenset(map(signature, window)) for window in example.windows]
    supplied = frozenset().union(*seen) if example.told else frozenset()
    return [WindowFacts("".join(f"{a}.\n" for a in window), supplied) for window in example.windows]


def answers(engine: Engine, window: WindowFacts) -> tuple[AnswerSet, ...] | None:
    """The answers, or that there are too many."""
    try:
        return engine.answer_sets(window)
    except LimitError:
        return MANY


def check(
    example: Example,
    executor: Executor,
    plans: tuple[Plans, ...] = PLANS,
    evaluated_by: EngineName = "solver",
) -> None:
    """All ways lead to the answers of one clingo call."""
    note(str(example))
    request = parse(example.text)
    whole = SolverEngine(request, example.background, LIMITS)
    seen = windows(example)
    expected = [answers(whole, window) for window in seen]
    for plan, keys, ways in plans:
        engine = ParallelEngine(
            request,
            example.background,
            LIMITS,
            executor=executor,
            plan=plan,
            keys=keys,
            adaptive=False,
            weights=example.weights,
            engine=evaluated_by,
        )
        for engine.partitions, engine.variant, _kept in ways:
            found = [answers(engine, window) for window in seen]
            assert engine.plan is not None
            assert found == expected, f"{plan} {engine.partitions}\n{described(engine.plan)}"
        if keys and engine.plan:
            event(kind(engine.plan))


@given(examples(windows=1))
@settings(max_examples=24)
def test_parts_give_the_answers_of_the_whole(example: Example) -> None:
    check(example, Inline())


@given(examples())
@settings(max_examples=16)
def test_parts_that_keep_their_windows_give_the_answers_of_the_whole(example: Example) -> None:
    """Each part that can be is evaluated incrementally, the others by the solver."""
    check(example, Inline(), FEW, "auto")


@pytest.mark.long
@given(examples())
@settings(max_examples=40)
def test_parts_that_keep_their_windows_give_the_answers_of_the_whole_many_times_more(
    example: Example,
) -> None:
    check(example, Inline(), PLANS, "auto")


@pytest.mark.long
@given(examples())
@settings(max_examples=80)
def test_parts_give_the_answers_of_the_whole_many_times_more(example: Example) -> None:
    check(example, Inline())


@pytest.mark.slow
@given(examples())
@settings(max_examples=5)
def test_worker_processes_give_the_answers_of_the_whole(example: Example) -> None:
    on_processes(example)


def on_processes(example: Example) -> None:
    with closing(Processes(2, ForkedWorker)) as processes:
        check(example, processes)


def many(number: int, test: Callable[[Example], None]) -> None:
    """Test so many examples; none is remembered."""

    @given(examples(windows=1))
    @settings(max_examples=number, database=None)
    def tested(example: Example) -> None:
        test(example)

    tested()


SHARES = range(8)
"""The long tests come in so many parts: 8 × 2,500 examples inline, 2 × 250 on processes."""


@pytest.mark.long
@pytest.mark.parametrize("_share", SHARES)
def test_parts_give_the_answers_of_the_whole_20_000_times(_share: int) -> None:
    many(2_500, lambda example: check(example, Inline()))


@pytest.mark.long
@pytest.mark.parametrize("_share", SHARES[:2])
def test_worker_processes_give_the_answers_of_the_whole_500_times(_share: int) -> None:
    many(250, on_processes)


@pytest.mark.slow
def test_most_examples_can_be_cut() -> None:
    """Else all of this would show nothing."""
    cut: list[bool] = []

    def note_plan(example: Example) -> None:
        engine = ParallelEngine(parse(example.text), executor=Inline(), adaptive=False)
        answers(engine, windows(example)[0])
        assert engine.plan is not None
        cut.append(kind(engine.plan) != UNCUT)

    many(40, note_plan)
    assert sum(cut) > len(cut) / 3


def kind(plan: Plan) -> str:
    """How far a plan cuts."""
    keyed = any(partition.key for partition in plan.partitions)
    return f"{min(len(plan.partitions), 2)} partitions, {'a' if keyed else 'no'} key"


def described(plan: Plan) -> str:
    """A plan for the message of a failure."""
    return "\n".join(
        f"{p.key}\n{p.program().rules}wants {sorted(map(str, p.inputs))}" for p in plan.partitions
    )
