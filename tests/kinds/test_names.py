"""Nothing but a city's own folder knows a kind by its name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from citywise.backend.machine import REPOSITORY

FIRST = {"traffic", "parking", "weather", "air"}
OTHER_MEANINGS = {"parking", "air", "traffic"}
"""In the travel planner: what a plan is for, what it spares, and why it is made anew."""


def named(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and node.value in FIRST:
            yield path.relative_to(REPOSITORY).as_posix(), str(node.value)


def sources(*rooms: str) -> list[Path]:
    return [path for room in rooms for path in sorted((REPOSITORY / room).rglob("*.py"))]


def test_no_code_outside_the_cities_compares_with_or_maps_from_a_kind() -> None:
    """Connectors say which kind a foreign format becomes (docs/connectors.md)."""
    others = {"city", "connectors", "travel_planner"}
    files = sources("backend", "reasoning", "apps", "scripts")
    files = [path for path in files if others.isdisjoint(path.relative_to(REPOSITORY).parts)]
    found = {one for path in files for one in named(path)}
    assert found == {("scripts/plan_screenshots.py", "parking")}  # what a plan is for


def test_the_travel_planner_means_no_kind_by_such_a_word() -> None:
    files = sources("apps/travel_planner")
    assert {word for path in files for _file, word in named(path)} <= OTHER_MEANINGS
    asked = re.compile(rf"(?:kinds|readings|of_kind)[\[(]\"(?:{'|'.join(FIRST)})\"")
    assert [path.name for path in files if asked.search(path.read_text(encoding="utf-8"))] == []


def test_no_page_asks_for_a_kind_by_its_name() -> None:
    scripts = (REPOSITORY / "web" / "static").rglob("*.js")
    asked = re.compile(rf"(?:kind === |reading\()'(?:{'|'.join(FIRST)})'")
    assert [path.name for path in scripts if asked.search(path.read_text(encoding="utf-8"))] == []
