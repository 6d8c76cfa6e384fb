"""Nothing but a city's own folder knows a kind by its name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from citywise.backend.machine import REPOSITORY

FIRST = {"traffic", "parking", "weather", "air"}
OTHER_MEANINGS = {
    ("apps/travel_planner/roads/conditions.py", "air"),  # an attribute
    ("apps/travel_planner/roads/osm.py", "parking"),  # a tag of OpenStreetMap
}


def named(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and node.value in FIRST:
            yield path.relative_to(REPOSITORY).as_posix(), str(node.value)


def test_no_code_outside_the_cities_compares_with_or_maps_from_a_kind() -> None:
    files = [p for p in (REPOSITORY / "backend").rglob("*.py") if p.parts[-2] != "city"]
    others = {"city", "connectors"}
    files = [path for path in files if others.isdisjoint(path.relative_to(REPOSITORY).parts)]
    assert {found for path in files for found in named(path)} <= OTHER_MEANINGS


def test_no_page_asks_for_a_kind_by_its_name() -> None:
    scripts = (REPOSITORY / "web" / "static" / "js").glob("*.js")
    asked = re.compile(rf"(?:kind === |reading\()'(?:{'|'.join(FIRST)})'")
    assert [path.name for path in scripts if asked.search(path.read_text(encoding="utf-8"))] == []
