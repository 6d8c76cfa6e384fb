"""Random windows of facts have the same answers on the incremental engine as on clingo."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings

from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.model.atoms import signature
from citywise.reasoning.model.engine import Engine, WindowFacts
from citywise.reasoning.rdf.knowledge import Background
from tests.incremental import programs
from tests.incremental.programs import Example
from tests.incremental.test_long_streams import Make, incremental, split

TRIED = settings(suppress_health_check=list(HealthCheck))


def background(facts: tuple[str, ...]) -> Background:
    """Facts of a knowledge base."""
    return Background(facts, supplied=frozenset(map(signature, facts)))


def compare(example: Example, make: Make = incremental) -> None:
    """Fail at the first window at which the engines differ."""
    request = parse(f"#from stream <urn:s> [time 1s step 1s].\n{example.program}")
    known = background(example.knowledge)
    solver, engine = SolverEngine(request, known), make(request, known, Random(0))
    supplied = frozenset(signature(fact) for window in example.windows for fact in window)
    for number, window in enumerate(example.windows, 1):
        facts = WindowFacts("".join(f"{fact}.\n" for fact in window), supplied)
        assert (number, answers(engine, facts)) == (number, answers(solver, facts))


def answers(engine: Engine, facts: WindowFacts) -> list[tuple[tuple[str, ...], tuple[int, ...]]]:
    """Atoms and costs of all answer sets."""
    return [(tuple(answer.atoms), answer.cost) for answer in engine.answer_sets(facts)]


@settings(TRIED, max_examples=12)
@given(programs.examples())
def test_windows_of_facts_have_the_answers_of_clingo(example: Example) -> None:
    compare(example)


@settings(TRIED, max_examples=8)
@given(programs.examples(guessing=True))
def test_programs_cut_in_two_have_the_answers_of_clingo(example: Example) -> None:
    compare(example, split)


@pytest.mark.slow
@settings(TRIED, max_examples=20)
@given(programs.examples())
def test_more_windows_have_the_answers_of_clingo(example: Example) -> None:
    compare(example)


@pytest.mark.slow
@settings(TRIED, max_examples=20)
@given(programs.examples(guessing=True))
def test_more_programs_cut_in_two_have_the_answers_of_clingo(example: Example) -> None:
    compare(example, split)


@pytest.mark.long
@settings(TRIED, max_examples=3_000)
@given(programs.examples())
def test_3_000_programs_have_the_answers_of_clingo(example: Example) -> None:
    compare(example)
