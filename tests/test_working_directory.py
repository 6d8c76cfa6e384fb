"""Whatever lies in the working directory, it is none of our modules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from citywise.reasoning.budget import environment
from tests.small_system import small_system

NAMES = ("citywise", "apps", "backend", "reasoning", "pyspark", "flask", "json")
"""Of ours, of a library and of the standard library."""
RULE = "q(X) :- p(X), not r(X).\n#show q/1.\n"


@pytest.fixture
def crowded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with folders and modules of somebody else, called as ours are."""
    for name in NAMES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError(__file__)\n")
    (tmp_path / "logging.py").write_text("raise ImportError(__file__)\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_process_of_ours_finds_our_modules(crowded: Path) -> None:
    program = (
        "import json, logging; from citywise import apps, backend, reasoning; "
        "print(reasoning.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=crowded, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert not Path(done.stdout).is_relative_to(crowded)


def test_a_process_finds_what_is_found_here_though_nothing_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As from a checkout, where the folder is the working directory of a notebook."""
    monkeypatch.setattr(sys, "path", ["", "/somewhere"])
    root = str(Path(__file__).resolve().parents[1])
    assert environment()["PYTHONPATH"].split(":") == ["/somewhere", root]


def test_a_program_is_evaluated_in_a_crowded_folder(crowded: Path) -> None:
    """The solver works in a process of its own. `-P` is how the installed command runs."""
    (crowded / "program.lp").write_text(RULE + "p(1..2). r(1).\n")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "citywise", "reason", "program.lp", "--engine", "solver"],
        cwd=crowded, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout == '{"t":null,"answer_sets":[["q(2)"]]}\n'


@pytest.mark.thorough
def test_a_system_starts_in_a_crowded_folder(crowded: Path) -> None:
    with small_system(crowded / "data") as system:
        assert set(system.children) >= {"ingest", "notifier", "web", "travel_planner"}
