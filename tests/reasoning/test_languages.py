"""A language is one folder and one line of the table: `reason`, `check`, `plan`, `explain`."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from citywise.backend.cli import cli
from citywise.reasoning.run import language
from citywise.reasoning.run.language import LANGUAGES

JAMS = "seconds 2\njam when slow and busy unless holiday or blocked\n"
ITEMS = [(1, "slow(a)"), (1, "busy(a)"), (2, "blocked(b)"), (4, "slow(c)")]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of a language that is in the table, and nowhere else."""
    monkeypatch.setitem(LANGUAGES, ".toy", "tests.reasoning.toy.language")
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps({"t": t, "atom": a}) for t, a in ITEMS]
    (tmp_path / "s.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = tmp_path / "jams.toy"
    path.write_text(JAMS, encoding="utf-8")
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), catch_exceptions=False)


@pytest.mark.usefixtures("program")
def test_a_new_language_is_reasoned_with() -> None:
    done = run("reason", "jams.toy", "--stream", "s.jsonl")
    answers = {row["t"]: row["answer_sets"] for row in map(json.loads, done.stdout.splitlines())}
    assert answers == {3: [["jam(a)", "jam(b)"]], 4: [["jam(b)"]]}


@pytest.mark.usefixtures("program")
def test_a_new_language_is_cut_in_parts() -> None:
    done = run("reason", "jams.toy", "--stream", "s.jsonl", "--parallel", "2")
    assert done.stdout == run("reason", "jams.toy", "--stream", "s.jsonl").stdout
    assert "one process" not in done.stderr


def test_a_new_language_is_checked(program: Path) -> None:
    assert run("check", "jams.toy").output == ""
    program.write_text("seconds 2\njam when slow and !\n", encoding="utf-8")
    found = run("check", "jams.toy")
    assert found.output == "jams.toy:2:19: error syntax: found `!`, expected a word\n"
    assert found.exit_code == 1


@pytest.mark.usefixtures("program")
@pytest.mark.parametrize("form", ["text", "json", "dot"])
def test_a_new_language_is_planned(form: str) -> None:
    done = run("plan", "jams.toy", "--format", form)
    assert done.exit_code == 0
    assert "jam/1" in done.output


@pytest.mark.usefixtures("program")
def test_a_new_language_is_explained() -> None:
    why = run("explain", "jams.toy", "--atom", "jam(a)", "--stream", "s.jsonl", "--at", "3").output
    assert "by rule line 2: jam when slow and busy" in why
    assert "slow(a)" in why
    assert "s.jsonl:1" in why
    about = ("--atom", "jam(c)", "--not", "--stream", "s.jsonl", "--at", "4")
    why_not = run("explain", "jams.toy", *about).output
    assert "busy(c)" in why_not


@pytest.mark.parametrize(
    ("name", "says"),
    [("p.txt", "`.txt` is no language of ours"), ("p", "it has no extension")],
)
def test_an_extension_that_is_no_language_is_named(tmp_path: Path, name: str, says: str) -> None:
    with pytest.raises(language.RecordedError, match=re.escape(f"{says}; use .casp")):
        language.read(tmp_path / name)


@pytest.mark.parametrize("name", sorted(set(LANGUAGES.values())))
def test_every_language_of_the_table_is_there(name: str) -> None:
    found = import_module(name).LANGUAGE
    assert callable(found.read)
    assert callable(found.check)
