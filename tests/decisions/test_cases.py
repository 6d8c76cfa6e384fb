"""Decisions as people would make them: options, wishes and limits beside what is expected."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from citywise.apps.travel_planner.decisions import Constraint, Option, Question, Wish, decide

FILES = sorted(Path(__file__).with_name("cases").glob("*.toml"))


def cases() -> Iterator[Any]:
    for file in FILES:
        told = tomllib.loads(file.read_text(encoding="utf-8"))
        for case in told["cases"]:
            yield pytest.param(told, case, id=f"{file.stem}: {case['name']}")


def constraint(text: str) -> Constraint:
    on, op, value = text.split()
    return Constraint(on, op, float(value))  # type: ignore[arg-type]


def question(told: dict[str, Any], case: dict[str, Any]) -> Question:
    return Question(
        [Option(name, values) for name, values in told["options"].items()],
        [constraint(text) for text in case.get("constraints", ())],
        [Wish(on, way) for wish in case["wishes"] for way, on in wish.items()],
        told["criteria"],
        case.get("steps", {}),
    )


@pytest.mark.parametrize(("told", "case"), list(cases()))
def test_the_decision_is_as_written(told: dict[str, Any], case: dict[str, Any]) -> None:
    found = decide(question(told, case))
    assert list(found.order) == case["order"]
    assert found.chosen == (case["order"] or [None])[0]
    assert list(found.ties) == case.get("ties", [])
    assert found.dominated == case.get("dominated", {})
    assert list(found.violated) == case.get("violated", [])
    minimal = found.conflict.minimal if found.conflict else ()
    conflicts = [tuple(map(constraint, texts)) for texts in case.get("conflicts", ())]
    assert list(minimal) == conflicts
    if found.conflict and found.conflict.relaxation:
        relaxed = {x.constraint: x.to for x in found.conflict.relaxation.loosenings}
        assert relaxed == {constraint(text): to for text, to in case["relaxed"].items()}
        assert found.conflict.relaxation.option == case["leads_to"]
    else:
        assert "relaxed" not in case
