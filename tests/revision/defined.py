"""A case by its number: whatever comes late, is corrected or withdrawn, the last answers are those
of the definitions."""

from __future__ import annotations

from pathlib import Path
from random import Random

from citywise.reasoning import RecordedError
from citywise.reasoning.asp.translation.program import UnsupportedError
from tests.revision import cases
from tests.revision.agreement import assert_is_as_defined, defined

_KINDS = (
    *[cases.casp] * 11, *[cases.casp_past] * 3,
    *[cases.lars] * 3, cases.lars_past, *[cases.rif] * 2,
)  # fmt: skip
"""The kind of each of twenty cases, and so on."""


def assert_defined(seed: int, folder: Path) -> int:
    """On every engine that can evaluate it, with a restart in the middle; in how many runs."""
    chance = Random(seed)
    case = _KINDS[seed % len(_KINDS)](chance)
    expected = defined(case, folder)
    runs = 0
    for engine in case.engines:
        parts = case.suffix == ".casp" and chance.random() < 0.3
        forgetful, stop = chance.random() < 0.5, chance.randint(0, len(case.lines))
        try:
            assert_is_as_defined(
                case, folder, engine, expected, stop=stop, parts=parts, forgetful=forgetful
            )
        except (RecordedError, UnsupportedError):
            assert engine == "incremental"  # choices and disjunctions are the solver's
            continue
        runs += 1
    return runs
