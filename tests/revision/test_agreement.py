"""After the last line the last results are what `reason` says of the stream in order."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from citywise.reasoning import ReasoningError
from tests.revision import cases
from tests.revision.agreement import (
    assert_agrees,
    assert_agrees_in_batches,
    assert_emits,
    assert_goes_on,
)
from tests.revision.defined import assert_defined

MAKERS = {
    "casp": cases.casp,
    "casp_past": cases.casp_past,
    "lars": cases.lars,
    "lars_past": cases.lars_past,
    "rif": cases.rif,
}
OPERATORS = ("rstream", "istream", "dstream")


def _agree(kind: str, seed: int, folder: Path) -> None:
    chance = Random(seed)
    case = MAKERS[kind](chance)
    for engine in case.engines:
        way = chance.randrange(5)
        try:
            if way == 0:
                prefix = chance.randint(0, len(case.lines))
                assert_agrees(case, folder, engine, prefix=prefix)
            elif way == 1:
                assert_emits(case, folder, engine, chance.choice(OPERATORS))
            elif way == 4:
                assert_agrees_in_batches(case, folder, engine, chance)
            else:
                assert_agrees(case, folder, engine, deltas=way == 2)
        except ReasoningError:
            # The plain run says the same: not in the fragment, or several answer sets.
            continue


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
def test_the_last_results_are_those_of_the_stream_in_order(kind: str, tmp_path: Path) -> None:
    for seed in range(20):
        _agree(kind, seed, tmp_path)


@pytest.mark.parametrize("kind", MAKERS)
def test_a_restart_changes_no_line(kind: str, tmp_path: Path) -> None:
    for seed in range(3):
        chance = Random(seed)
        case = MAKERS[kind](chance)
        with suppress(ReasoningError):  # it is not in the fragment of the engine
            assert_goes_on(case, tmp_path, chance.choice(case.engines), chance)


@pytest.mark.long
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("block", range(10))
def test_thousands_of_last_results_are_those_of_the_stream_in_order(
    kind: str, block: int, tmp_path: Path
) -> None:
    for seed in range(1000 + 300 * block, 1300 + 300 * block):
        _agree(kind, seed, tmp_path)


@pytest.mark.parametrize("part", range(3))
def test_the_last_results_are_those_of_the_definitions(part: int, tmp_path: Path) -> None:
    """Of every kind of case, on both engines, whole and in parts, with restarts in the middle."""
    assert sum(assert_defined(seed, tmp_path) for seed in range(part, 30, 3)) >= 10


def test_what_a_count_window_ticked_last_stays_until_its_next_tick(tmp_path: Path) -> None:
    assert assert_defined(4162, tmp_path) == 3


@pytest.mark.long
@pytest.mark.parametrize("block", range(20))
def test_ten_thousand_last_results_are_those_of_the_definitions(block: int, tmp_path: Path) -> None:
    """`python -m tests.revision` tells how far it is, and goes on anywhere."""
    assert sum(assert_defined(s, tmp_path) for s in range(500 * block, 500 * (block + 1))) >= 500


@pytest.mark.slow
def test_parts_side_by_side_revise_as_the_whole_does(tmp_path: Path) -> None:
    for seed in range(8):
        case = cases.casp(Random(seed), "positive")
        assert_agrees(case, tmp_path, "auto", parallel=2)
