"""docs/tutorial.md, as written: its files are saved, its commands run, its answers compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from citywise.backend.machine import REPOSITORY

TUTORIAL = REPOSITORY / "docs" / "tutorial.md"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"`(\w+\.(?:casp|jsonl|ttl))`[^`]*\Z")


def blocks(text: str) -> list[tuple[str, str, str | None]]:
    """Each fenced block: its language, its text, and the file that the prose calls it."""
    found = []
    for match in _BLOCK.finditer(text):
        named = _NAMED.search(text[: match.start()])
        found.append((match[1], match[2], named[1] if named else None))
    return found


def sessions(block: str) -> list[tuple[str, str]]:
    """Commands of a console block, each with the output that follows it."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """An environment in which `citywise` is ours."""
    command = tmp_path / "bin" / "citywise"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m citywise.backend.cli "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(REPOSITORY)}


@pytest.mark.slow
def test_the_tutorial_works_as_written(tmp_path: Path, shell: dict[str, str]) -> None:
    program = ""
    ran = 0
    for language, text, name in blocks(TUTORIAL.read_text(encoding="utf-8")):
        if language == "python":
            program = text
        elif language != "console":
            assert name, f"the prose names no file for this block:\n{text}"
            (tmp_path / name).write_text(text, encoding="utf-8")
        elif not text.startswith("$"):
            assert output([sys.executable, "-c", program], tmp_path, shell) == text
        else:
            for command, expected in sessions(text):
                assert output(["sh", "-c", command], tmp_path, shell) == expected, command
                ran += 1
    assert ran >= 8


def output(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    """Everything a command prints, its messages included."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout
