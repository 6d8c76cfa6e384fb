"""The reference finds by trying everything what it finds stratum by stratum."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from citywise.reasoning.languages.lars.parsing import parse
from tests.lars import programs
from tests.lars.grounding import Pair
from tests.lars.programs import Example
from tests.lars.reference import (
    Stream,
    answer_streams,
    perfect_stream,
    time_window,
    tuple_window,
)
from tests.lars.running import expected


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs.examples())
def test_the_two_ways_of_the_reference_agree_on_stratified_programs(example: Example) -> None:
    assert expected(example, answer_streams) == expected(example, perfect_stream)


def test_a_program_without_strata_has_none() -> None:
    program = parse("p :- not q. q :- not p.")
    with pytest.raises(ValueError, match="loop through negation"):
        perfect_stream(Stream(range(1), ()), frozenset(), program.rules, 0)


A, B, C = ("a", ()), ("b", ()), ("c", ())
STREAM = Stream(range(1, 7), ((A, 2), (B, 2), (C, 2), (A, 4), (B, 6)))


@pytest.mark.parametrize(
    ("size", "timeline", "pairs"),
    [
        (1, range(6, 7), ((B, 6),)),
        (2, range(4, 7), ((A, 4), (B, 6))),
        (3, range(2, 7), ((C, 2), (A, 4), (B, 6))),
        (4, range(2, 7), ((B, 2), (C, 2), (A, 4), (B, 6))),
        (6, range(1, 7), STREAM.pairs),
    ],
)
def test_tuple_windows_keep_what_arrived_last(
    size: int, timeline: range, pairs: tuple[Pair, ...]
) -> None:
    assert tuple_window(STREAM, size, 6) == Stream(timeline, pairs)


def test_time_windows_do_not_reach_before_the_timeline() -> None:
    assert time_window(STREAM, 9, 6).timeline == range(1, 7)
    assert time_window(STREAM, 2, 4) == Stream(range(2, 5), STREAM.pairs[:4])
