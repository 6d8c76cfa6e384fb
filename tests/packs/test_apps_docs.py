"""docs/apps.md names all there is."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
from pydantic import BaseModel

from citywise.backend.app_commands import app as group
from citywise.backend.kinds import builtin
from citywise.backend.machine import REPOSITORY
from citywise.backend.packs import scenarios
from citywise.backend.packs.manifest import Manifest, TemplateEntry
from citywise.backend.packs.parameters import TYPES
from citywise.backend.packs.scaffold import starters
from citywise.backend.packs.template import NoticeText
from citywise.backend.packs.vocabulary import (
    CONCLUSION_ATOMS,
    PREDICATES,
    Supplied,
    supplied_properties,
)
from tests.packs.folders import AppFolder

TEXT = (REPOSITORY / "docs" / "apps.md").read_text(encoding="utf-8")


def examples(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("supplied", PREDICATES.values(), ids=lambda s: s.signature.name)
def test_every_predicate_is_listed_with_what_it_needs(supplied: Supplied) -> None:
    (row,) = [line for line in TEXT.splitlines() if line.startswith(f"| `{supplied.atom}` |")]
    cells = [cell.strip() for cell in row.split("|")]
    needs = [f"`{permission}`" for permission in supplied.permissions]
    needs += [" or ".join(supplied.streams)] if supplied.streams else []
    assert cells[2:4] == [supplied.meaning, ", ".join(needs)]


def test_every_property_and_conclusion_is_listed() -> None:
    own = {
        s.atom
        for s in supplied_properties(builtin()).values()
        if not s.atom.startswith("property(")
    }
    for atom in own | set(CONCLUSION_ATOMS.values()):
        assert f"`{atom}`" in TEXT


@pytest.mark.parametrize("name", TYPES)
def test_every_type_of_parameter_is_listed_with_its_keys(name: str) -> None:
    common = {"type", "title", "help", "default", "optional", "needed_when"}
    common |= {"repeated", "max_items"}
    (row,) = [line for line in TEXT.splitlines() if line.startswith(f"| `{name}` |")]
    filled = {"kinds"} if name == "sensor" else set()
    for key in TYPES[name].model_fields.keys() - common - filled:
        assert f"`{key}`" in row


@pytest.mark.parametrize("model", [Manifest, TemplateEntry, NoticeText])
def test_every_key_of_the_manifest_is_in_its_example(model: type[BaseModel]) -> None:
    (example,) = examples("toml")
    for key in model.model_fields:
        assert re.search(rf"^(?:\[.*\b)?{key}\b", example, re.MULTILINE), key


def test_the_example_of_a_manifest_is_valid() -> None:
    (example,) = examples("toml")
    Manifest.model_validate(tomllib.loads(example))


def test_the_examples_of_scenarios_are_valid(app: AppFolder) -> None:
    scenario = next(text for text in examples("json") if '"place"' in text)
    path = app.write("scenarios/first.jsonl", scenario)
    assert len(scenarios.entries(path, [app.template()])) == 12


def test_the_example_of_translations_is_valid(app: AppFolder) -> None:
    texts = next(text for text in examples("json") if "Kø forude" in text)
    app.write("strings/da.json", texts)
    assert not [found for found in app.findings() if "error" in found]
    assert json.loads(texts)


def test_every_command_and_starter_is_listed() -> None:
    for name, command in group.commands.items():
        assert f"citywise app {name}" in TEXT
        for parameter in command.params:
            for option in (o for o in parameter.opts if o.startswith("--")):
                assert option in TEXT, f"{name} {option}"
    assert "|".join(starters()) in TEXT
