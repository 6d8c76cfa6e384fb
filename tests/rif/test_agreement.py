"""Random windowed programs have the answers, P and N of the definitions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.rif.agreement import agreed
from tests.rif.programs import programs
from tests.rif.reference import WindowedProgram
from tests.rif.test_definitions import FIGURE

TRIED = settings(max_examples=100)


def test_the_interval_figure_is_what_the_engine_does() -> None:
    agreed(FIGURE)


@pytest.mark.slow
@TRIED
@given(programs())
def test_random_programs_agree_with_the_reference(program: WindowedProgram) -> None:
    agreed(program)


@pytest.mark.long
def test_5_000_random_programs_agree_with_the_reference() -> None:
    tried = 0

    @settings(TRIED, max_examples=5000)
    @given(programs())
    def compare(program: WindowedProgram) -> None:
        nonlocal tried
        agreed(program)
        tried += 1

    compare()
    assert tried >= 5000
