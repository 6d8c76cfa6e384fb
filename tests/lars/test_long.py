"""Thousands of random programs of plain LARS have the answers of the definitions on all engines."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings

from tests.lars import programs
from tests.lars.programs import Example
from tests.lars.reference import Search, answer_streams, perfect_stream
from tests.lars.running import agreed
from tests.lars.test_agreement import EITHER, TRIED, either

pytestmark = pytest.mark.long


@pytest.mark.parametrize(
    ("rivals", "search", "number"),
    [(False, perfect_stream, 8_000), (True, answer_streams, 2_000)],
    ids=["stratified", "with loops"],
)
def test_10_000_programs_have_the_answers_of_the_reference(
    rivals: bool, search: Search, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    tried, started = 0, time.monotonic()

    @settings(TRIED, max_examples=number)
    @given(programs.examples(rivals))
    def compare(example: Example) -> None:
        nonlocal tried
        agreed(example, search)
        tried += 1
        if tried % 500 == 0:
            with capsys.disabled():
                print(f" {tried:,} of {number:,} in {time.monotonic() - started:.0f} s", flush=True)

    compare()
    assert tried >= number


def test_2_000_programs_that_speak_of_durations_have_the_answers_of_the_reference() -> None:
    @settings(TRIED, max_examples=2_000)
    @given(EITHER.filter(lambda example: programs.is_of_time(example.program)))
    def compare(example: Example) -> None:
        agreed(example, either)

    compare()
