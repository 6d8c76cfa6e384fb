"""Every listing of the thesis: the well-formed run as printed, the others say what is wrong.

Beside each program of `tests/cases/thesis` stands what is expected of it: options as of
`citywise reason` and the answers, worked out by hand, or the findings. Elided IRIs are filled
in; listings that are rules only get the directives they need.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from citywise.reasoning.errors import RequestError
from citywise.reasoning.languages.casp.parsing import parse_file
from citywise.reasoning.run.language import check
from citywise.reasoning.run.recorded import Recorded

FOLDER = Path(__file__).parent.parent / "cases" / "thesis"
EXPECTED = sorted(FOLDER.glob("*.expected"))
PRINTED = ("2_3", "4_1", "4_2", "4_3", "4_4", "4_6", "5_3", "5_4", "6_1", "6_2", "7_2", "7_3",
           "7_4", "7_5")  # fmt: skip


def lines(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("%")]


def program(expected: Path) -> Path:
    (found,) = [p for p in FOLDER.glob(f"{expected.stem}.*p") if p.suffix in (".casp", ".lp")]
    return found


def is_sound(expected: Path) -> bool:
    return not any(" error " in line for line in lines(expected))


SOUND = [path for path in EXPECTED if is_sound(path)]
FAULTY = [path for path in EXPECTED if not is_sound(path)]


def answers(expected: Path) -> tuple[Recorded, list[dict[str, Any]]]:
    """The run that an expectation asks for, and its results."""
    options = [line.split() for line in lines(expected) if line.startswith("--")]
    streams = [FOLDER / value for name, value in options if name == "--stream"]
    until = next((int(value) for name, value in options if name == "--until"), None)
    return Recorded(program(expected), streams, until=until, limits=None), [
        json.loads(line) for line in lines(expected) if line.startswith("{")
    ]


@pytest.mark.parametrize("expected", SOUND, ids=lambda path: path.stem)
def test_a_well_formed_listing_gives_the_answers_worked_out_by_hand(expected: Path) -> None:
    recorded, wanted = answers(expected)
    assert wanted
    assert list(recorded.results()) == wanted
    assert recorded.problems == []


@pytest.mark.parametrize("expected", SOUND, ids=lambda path: path.stem)
def test_a_well_formed_listing_has_no_errors(expected: Path) -> None:
    assert [f for f in check(program(expected)) if f.severity == "error"] == []


@pytest.mark.parametrize("expected", FAULTY, ids=lambda path: path.stem)
def test_an_ill_formed_listing_says_where_and_what_is_wrong(expected: Path) -> None:
    found = check(program(expected))
    wanted = [line.split(": ", 1) for line in lines(expected)]
    assert [f"{f.location.line}:{f.location.column} {f.severity} {f.code}" for f in found] == [
        place for place, _says in wanted
    ]
    for finding, (_place, says) in zip(found, wanted, strict=True):
        assert says in finding.message


@pytest.mark.parametrize("expected", FAULTY, ids=lambda path: path.stem)
def test_an_ill_formed_listing_is_refused_before_any_evaluation(expected: Path) -> None:
    with pytest.raises(RequestError):
        parse_file(program(expected))


def test_every_listing_with_rules_is_here_and_every_ill_formed_one_corrected() -> None:
    names = {path.stem for path in EXPECTED}
    assert {f"listing_{name}" for name in PRINTED} <= names
    assert {f"{path.stem.removesuffix('_ended')}_corrected" for path in FAULTY} <= names
