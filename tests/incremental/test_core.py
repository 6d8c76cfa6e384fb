"""The incremental engine holds, after every change, what its reference derives from nothing."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from hypothesis import given, settings

from citywise.reasoning.engines.incremental.evaluation import RuleEvaluation
from citywise.reasoning.model.values import Row
from tests.incremental import changes
from tests.incremental.changes import Example
from tests.incremental.naive import Naive


def compare(example: Example) -> None:
    """Fail at the first step at which the engine and its reference differ."""
    program = example.program
    engine, reference = RuleEvaluation(program), Naive(program)
    for number, step in enumerate(example.steps, 1):
        step.apply(engine)
        step.apply(reference)
        at = f"step {number} (time {step.now}): {{}}"
        for relation in example.relations:
            agree(at.format(relation), engine.rows(relation), reference.rows(relation))
        for relation in sorted(program.outputs):
            came, gone = f"came in {relation}", f"gone from {relation}"
            agree(at.format(came), engine.came(relation), reference.came(relation))
            agree(at.format(gone), engine.gone(relation), reference.gone(relation))


def agree(where: str, found: Collection[Row], expected: set[Row]) -> None:
    """Fail if rows are not those expected, each once."""
    assert f"{where}: {changes.rows_text(found)}" == f"{where}: {changes.rows_text(expected)}"


@settings(max_examples=20)
@given(changes.examples())
def test_relations_are_those_of_the_reference_after_every_step(example: Example) -> None:
    compare(example)


@pytest.mark.thorough
@settings(max_examples=60)
@given(changes.examples())
def test_more_programs_agree_with_the_reference(example: Example) -> None:
    compare(example)


@pytest.mark.long
@settings(max_examples=5_000)
@given(changes.examples())
def test_5_000_programs_agree_with_the_reference(example: Example) -> None:
    compare(example)
