"""The documentation keeps up with the code."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest
from pydantic import BaseModel

from backend.cli import cli
from backend.settings import REPOSITORY, Settings

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
        if isinstance(value, dict):
            yield from dotted(value, f"{prefix}{key}.")
        else:
            yield prefix + key


def test_every_setting_is_documented_and_the_example_is_valid() -> None:
    text = (REPOSITORY / "docs" / "configuration.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    example = tomllib.loads(block)
    Settings.model_validate(example, strict=False)
    assert set(dotted(example)) == settings_keys(Settings)


@pytest.mark.parametrize("path", DOCS, ids=lambda p: str(p.relative_to(REPOSITORY)))
def test_links_between_our_documents_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_every_command_and_option_has_help() -> None:
    for name, command in cli.commands.items():
        assert command.help, name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.opts}"
