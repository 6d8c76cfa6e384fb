"""The documentation keeps up with the code."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest
from pydantic import BaseModel

from citywise.backend.cli import cli
from citywise.backend.machine import REPOSITORY
from citywise.backend.packs.parts import found
from citywise.backend.settings import Settings

DOCS = [*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")]


def settings_keys(model: type[BaseModel], prefix: str = "") -> set[str]:
    """Dotted names of all settings."""
    keys: set[str] = set()
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            keys |= settings_keys(kind, f"{prefix}{name}.")
        else:
            keys.add(prefix + name)
    return keys


def dotted(values: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    """Dotted names of the keys of a TOML document."""
    for key, value in values.items():
        if value and isinstance(value, dict):
            yield from dotted(value, f"{prefix}{key}.")
        else:
            yield prefix + key


def test_every_setting_is_documented_and_the_example_is_valid() -> None:
    text = (REPOSITORY / "docs" / "configuration.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    example = tomllib.loads(block)
    Settings.model_validate(example, strict=False)
    sections = [item for app in found().values() for item in app.settings.items()]
    of_apps = [settings_keys(model, f"{name}.") for name, model in sections]
    assert set(dotted(example)) == settings_keys(Settings).union(*of_apps)
    for name, model in sections:
        model.model_validate(example[name])


def test_every_page_is_in_the_contents_of_the_site() -> None:
    folder = REPOSITORY / "docs"
    listed = re.findall(r"^([\w/-]+)$", (folder / "index.md").read_text("utf-8"), re.MULTILINE)
    pages = {path.stem for path in folder.glob("*.md")} - {"index"}
    assert sorted(set(listed) - {"decisions/index"}) == sorted(pages)


@pytest.mark.parametrize("path", DOCS, ids=lambda p: str(p.relative_to(REPOSITORY)))
def test_links_between_our_documents_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{path.name}: {target}"


@pytest.mark.parametrize("path", DOCS, ids=lambda p: str(p.relative_to(REPOSITORY)))
def test_files_of_ours_that_our_documents_name_are_there(path: Path) -> None:
    tops = "apps|backend|benchmarks|deploy|examples|ontologies|reasoning|scripts|tests|web"
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(rf"`((?:{tops})/[\w/.-]*)[`:]", text))
    assert [name for name in sorted(named) if not (REPOSITORY / name).exists()] == []


@pytest.mark.parametrize("path", DOCS, ids=lambda p: str(p.relative_to(REPOSITORY)))
def test_modules_that_our_documents_name_by_their_folder_are_there(path: Path) -> None:
    """`rdf/regimes.py` is below `reasoning`, `backend` or an app, or as it is written."""
    tops = [REPOSITORY, *(REPOSITORY / top for top in ("reasoning", "backend"))]
    folders = [*tops, *(REPOSITORY / "apps").iterdir()]
    named = set(re.findall(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|lp))`", path.read_text("utf-8")))
    assert [name for name in sorted(named) if not any((f / name).exists() for f in folders)] == []


def test_every_command_and_option_has_help() -> None:
    for name, command in cli.commands.items():
        assert command.help, name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.opts}"


# --- The inside ---------------------------------------------------------------------------

INTERNALS = (REPOSITORY / "docs" / "internals.md").read_text(encoding="utf-8")
REASONING = REPOSITORY / "reasoning"
FOR_ALL = {"errors", "limits", "budget"}
"""Modules of `reasoning` that every room may import."""


def imports_among_rooms() -> set[tuple[str, str]]:
    """Which room of `reasoning` imports which."""
    found = set()
    for path in REASONING.rglob("*.py"):
        room, *inner = path.relative_to(REASONING).with_suffix("").parts
        if not inner:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                inside = f"{node.module}.".removeprefix("citywise.reasoning.")
                if inside != f"{node.module}.":
                    other = inside.partition(".")[0]
                    found |= {(room, other or name.name) for name in node.names}
    return {(room, other) for room, other in found if room != other and other not in FOR_ALL}


def test_rooms_import_what_the_picture_of_them_allows_and_no_arrow_is_idle() -> None:
    (picture,) = re.findall(r"```mermaid\nflowchart TD\n(.*?)```", INTERNALS, re.DOTALL)
    arrows = set(re.findall(r"^  (\w+) --> (\w+)$", picture, re.M))
    reached = set(arrows)
    while more := {(a, d) for a, b in reached for c, d in arrows if b == c} - reached:
        reached |= more
    assert arrows
    assert not {pair for pair in reached if pair[::-1] in reached}, "the picture has a circle"
    imported = imports_among_rooms()
    assert imported <= reached
    assert arrows <= imported


def test_the_inside_is_told_of_as_it_is() -> None:
    """Each file, function and class that docs/internals.md names is there."""
    folders = [REASONING, REPOSITORY / "backend", REPOSITORY / "tests"]
    modules = [path for folder in folders for path in folder.rglob("*.py")]
    names = {path.name for path in modules}
    source = "\n".join(path.read_text(encoding="utf-8") for path in modules)
    defined = set(re.findall(r"(?:def|class) (\w+)|^([A-Z_a-z]+)(?:: .*)? = ", source, re.M))
    known = {name for pair in defined for name in pair}
    quoted = set(re.findall(r"`([^`\s]+)`", INTERNALS))
    files = {text for text in quoted if text.endswith((".py", "/"))}
    assert len(files) > 60
    assert [
        text
        for text in sorted(files)
        if not any((folder / text).exists() for folder in (REPOSITORY, REASONING))
        and text not in names
    ] == []
    called = {text.removesuffix("()") for text in quoted if text.endswith("()")}
    classes = {text for text in quoted if re.fullmatch(r"_?[A-Z]\w+", text)}
    assert len(called | classes) > 80
    ours = {name for text in called | classes for name in text.split(".")}
    assert sorted(ours - known - {path.stem for path in modules}) == []
