"""Nothing but a city's own folder knows a kind by its name."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from citywise.backend.kinds import builtin
from citywise.backend.machine import REPOSITORY
from citywise.backend.packs.ontology import local_name

APPS = REPOSITORY / "apps"
STARTERS = REPOSITORY / "backend" / "packs" / "starters"
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


def test_no_app_and_none_to_begin_with_reads_a_kind_by_its_name() -> None:
    """They ask for roles. Requests of the city's own stand in its folder."""
    kinds = builtin().only(FIRST)
    terms = {local_name(iri.value) for kind in kinds.values() for _, iri, _ in kind.properties}
    read = re.compile(rf"stream/(?:{'|'.join(FIRST)})\b|\bcity_(?:{'|'.join(terms)})\(")
    for manifest in [*APPS.glob("*/app.toml"), *STARTERS.glob("*/app.toml")]:
        said = tomllib.loads(manifest.read_text(encoding="utf-8"))
        assert FIRST.isdisjoint(said.get("streams", ())), manifest
        for template in said.get("templates", {}).values():
            for parameter in template.get("parameters", {}).values():
                assert parameter.get("observes") not in FIRST, manifest
        for rules in manifest.parent.rglob("*.casp"):
            assert not read.search(rules.read_text(encoding="utf-8")), rules
    assert read.search("p(X) :- city_averageSpeed(X,V).")


def test_no_page_compares_with_a_kind_of_observations_or_of_places() -> None:
    """But for what a plan is for: `parking` in the travel planner's own scripts."""
    names = "|".join((*FIRST, *builtin().places))
    asked = re.compile(rf"(?:[=!]==? |\b(?:reading|told|get|has|includes|case)\W)'({names})'")
    folders = [REPOSITORY / "web" / "static", *APPS.glob("*/static")]
    found = {
        (path.parent.parent.name, word)
        for folder in folders
        for path in folder.rglob("*.js")
        for word in asked.findall(path.read_text(encoding="utf-8"))
    }
    assert found == {("travel_planner", "parking")}
