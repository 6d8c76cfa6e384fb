"""All engines give the answers of the definitions, at every point of time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings

from citywise.reasoning.languages.lars.program import LarsRule
from tests.lars import programs
from tests.lars.grounding import Fact, Pair
from tests.lars.programs import Example
from tests.lars.reference import Stream, answer_streams, perfect_stream
from tests.lars.running import agreed

TRIED = settings(deadline=None, suppress_health_check=list(HealthCheck))
EITHER = programs.examples() | programs.examples(rivals=True)


@settings(TRIED, max_examples=25)
@given(programs.examples())
def test_stratified_programs_have_the_answers_of_the_reference(example: Example) -> None:
    agreed(example)


@settings(TRIED, max_examples=12)
@given(programs.examples(rivals=True))
def test_programs_with_loops_have_all_answer_streams_of_the_reference(example: Example) -> None:
    agreed(example, answer_streams)


@pytest.mark.slow
@settings(TRIED, max_examples=70)
@given(EITHER.filter(lambda example: programs.is_of_time(example.program)))
def test_programs_that_speak_of_durations_have_the_answers_of_the_reference(
    example: Example,
) -> None:
    agreed(example, either)


@pytest.mark.slow
@settings(TRIED, max_examples=50)
@given(EITHER)
def test_more_programs_have_the_answers_of_the_reference(example: Example) -> None:
    agreed(example, either)


def either(
    data: Stream, background: frozenset[Fact], rules: Sequence[LarsRule], t: int
) -> list[frozenset[Pair]]:
    """The answer streams by strata, where there are any."""
    try:
        return perfect_stream(data, background, rules, t)
    except ValueError:
        return answer_streams(data, background, rules, t)
