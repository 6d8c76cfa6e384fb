"""Random C-ASP requests have the same answers on the incremental engine as on clingo."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, reject, settings

from reasoning.atoms import signature
from reasoning.engines.incremental.casp_bodies import UnsupportedError
from reasoning.engines.incremental.engine import IncrementalEngine, SplitEngine
from reasoning.engines.program import WindowFacts
from reasoning.engines.solver import Engine, SolverEngine
from reasoning.languages.casp import parse
from reasoning.program import Request
from reasoning.rdf.knowledge import Background
from reasoning.reasoner import Evaluation, Reasoner
from tests.incremental import programs
from tests.incremental.programs import Example, Recorded

Make = Callable[[Request, Background], Engine]
REFUSED = ("only its own recursion gives", "computes what has no value")
"""Why some programs are not in the fragment though their predicates have strata."""
TRIED = settings(suppress_health_check=list(HealthCheck))


def background(facts: tuple[str, ...]) -> Background:
    """Facts of a knowledge base."""
    return Background(facts, supplied=frozenset(map(signature, facts)))


def incremental(request: Request, known: Background) -> Engine:
    """The engine; rejects the few programs that need more than strata of predicates."""
    try:
        return IncrementalEngine(request, known)
    except UnsupportedError as error:
        if not any(reason in str(error) for reason in REFUSED):
            raise
        reject()


def split(request: Request, known: Background) -> Engine:
    """The incremental engine below, clingo above; rejects what cannot be cut."""
    try:
        return SplitEngine(request, known)
    except UnsupportedError:
        reject()


def compare(example: Example, make: Make = incremental) -> None:
    """Fail at the first window at which the engines differ."""
    request = parse(f"#from stream <urn:s> [time 1s step 1s].\n{example.program}")
    known = background(example.knowledge)
    solver, engine = SolverEngine(request, known), make(request, known)
    supplied = frozenset(signature(fact) for window in example.windows for fact in window)
    for number, window in enumerate(example.windows, 1):
        facts = WindowFacts("".join(f"{fact}.\n" for fact in window), supplied)
        assert (number, answers(engine, facts)) == (number, answers(solver, facts))


def answers(engine: Engine, facts: WindowFacts) -> list[tuple[tuple[str, ...], tuple[int, ...]]]:
    """Atoms and costs of all answer sets."""
    return [(tuple(answer.atoms), answer.cost) for answer in engine.answer_sets(facts)]


def compare_recorded(recorded: Recorded) -> None:
    """Fail at the first evaluation at which reasoners differ, or deltas are not those of the
    answers."""
    request, known = parse(recorded.request), background(recorded.knowledge)
    expected = run(recorded, request, known, SolverEngine(request, known))
    found = run(recorded, request, known, incremental(request, known))
    before: set[str] = set()
    for one, other in zip(expected, found, strict=True):
        assert described(other) == described(one)
        if other.error is None:
            now = {atom for answer in other.answer_sets[:1] for atom in answer.atoms}
            if other.added is not None:
                assert (set(other.added), set(other.removed or ())) == (now - before, before - now)
            before = now


def run(
    recorded: Recorded, request: Request, known: Background, engine: Engine
) -> list[Evaluation]:
    """All evaluations of a recording; its items are pushed a few at a time."""
    supplied = frozenset(signature(str(item.content)) for item in recorded.items)
    reasoner = Reasoner(request, background=known, engine=engine, supplied=supplied)
    evaluations: list[Evaluation] = []
    for start in range(0, len(recorded.items), 3):
        evaluations += reasoner.push(recorded.items[start : start + 3])
    return [*evaluations, *reasoner.finish()]


def described(evaluation: Evaluation) -> tuple[object, ...]:
    """What must be equal on all engines."""
    answers = [tuple(answer.atoms) for answer in evaluation.answer_sets]
    return evaluation.time, answers, evaluation.error, evaluation.fed_back, evaluation.atoms


@settings(TRIED, max_examples=12)
@given(programs.examples())
def test_windows_of_facts_have_the_answers_of_clingo(example: Example) -> None:
    compare(example)


@settings(TRIED, max_examples=8)
@given(programs.examples(guessing=True))
def test_programs_cut_in_two_have_the_answers_of_clingo(example: Example) -> None:
    compare(example, split)


@settings(TRIED, max_examples=8)
@given(programs.recorded())
def test_recordings_have_the_answers_of_clingo(recorded: Recorded) -> None:
    compare_recorded(recorded)


@pytest.mark.slow
@settings(TRIED, max_examples=60)
@given(programs.examples())
def test_more_windows_have_the_answers_of_clingo(example: Example) -> None:
    compare(example)


@pytest.mark.slow
@settings(TRIED, max_examples=60)
@given(programs.examples(guessing=True))
def test_more_programs_cut_in_two_have_the_answers_of_clingo(example: Example) -> None:
    compare(example, split)


@pytest.mark.slow
@settings(TRIED, max_examples=60)
@given(programs.recorded())
def test_more_recordings_have_the_answers_of_clingo(recorded: Recorded) -> None:
    compare_recorded(recorded)


@pytest.mark.long
@settings(TRIED, max_examples=3_000)
@given(programs.examples())
def test_3_000_programs_have_the_answers_of_clingo(example: Example) -> None:
    compare(example)


@pytest.mark.long
@settings(TRIED, max_examples=3_000)
@given(programs.recorded())
def test_3_000_recordings_have_the_answers_of_clingo(recorded: Recorded) -> None:
    compare_recorded(recorded)
