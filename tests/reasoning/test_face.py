"""The face of the library: what it lists is there, documented, runs, and is enough for others."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from citywise import reasoning
from citywise.backend.machine import REPOSITORY

PAGE = (REPOSITORY / "docs" / "library.md").read_text(encoding="utf-8")
EXAMPLES = [
    (section.partition("\n")[0], example)
    for section in PAGE.split("\n## ")[1:]
    for example in re.findall(r"^```python\n(.*?)^```", section, re.M | re.S)
]
FACE = "citywise.reasoning"
BEHIND = {
    "citywise.reasoning.asp": "syntax trees of rules, for templates",
    "citywise.reasoning.budget": "limits on what a command does, and processes that reason",
    "citywise.reasoning.engines": "engines that are held for many requests",
    "citywise.reasoning.errors": "a finding's severity",
    "citywise.reasoning.explain": "explanations as trees",
    "citywise.reasoning.languages.casp": "readings of rules with their faults",
    "citywise.reasoning.languages.rif.entails": "`citywise entails`",
    "citywise.reasoning.limits": "the patience of who waits for a limited process",
    "citywise.reasoning.model": "atoms as text",
    "citywise.reasoning.partition": "cutting a request for Spark",
    "citywise.reasoning.rdf": "triples and their terms",
    "citywise.reasoning.run": "evaluation by keys, and the table of languages",
    "citywise.reasoning.streams.items": "readings as rows, without triples on the way",
}
"""Rooms behind the face into which the backend and the apps look, and what for."""


@pytest.mark.parametrize(
    "example", [text for _title, text in EXAMPLES], ids=[t for t, _ in EXAMPLES]
)
def test_the_examples_of_the_page_run(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "docs/library.md", "exec"), {"__name__": "example"})


def test_all_that_the_face_lists_is_there_and_on_its_page() -> None:
    for name in reasoning.__all__:
        assert getattr(reasoning, name) is not None
        assert re.search(rf"\b{name}\b", PAGE), name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = reasoning.nothing


def test_the_page_names_the_packages_that_it_imports() -> None:
    modules = [
        name
        for path in (REPOSITORY / "reasoning").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else []
        )
    ]  # fmt: skip
    others = {name.partition(".")[0] for name in modules} - {*sys.stdlib_module_names, "citywise"}
    (told,) = re.findall(r"It imports ([^.]*)\.", PAGE)
    assert others == set(re.findall(r"`(\w+)`", told))


def test_a_name_of_the_face_imports_only_its_room() -> None:
    program = "import sys; from citywise.reasoning import Limits; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert {m for m in done.stdout.split() if "reasoning" in m} == {
        "citywise.reasoning", "citywise.reasoning.errors", "citywise.reasoning.limits",
    }  # fmt: skip


def test_others_take_the_face_and_the_rooms_that_are_named() -> None:
    taken = {module for top in ("backend", "apps") for module in _taken(REPOSITORY / top)}
    rooms = tuple(f"{room}." for room in BEHIND)
    assert {m for m in taken - {FACE} if not f"{m}.".startswith(rooms)} == set()


def _taken(folder: Path) -> Iterator[str]:
    """The modules of reasoning that a package's modules import from."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            if module == FACE and isinstance(node, ast.ImportFrom):
                others = {alias.name for alias in node.names} - {*reasoning.__all__}
                yield from (FACE, *(f"{FACE}.{name}" for name in others))
            elif module.startswith(f"{FACE}."):
                yield module
