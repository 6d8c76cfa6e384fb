"""`citywise check`: one line a finding, and the exit code says whether one is an error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from citywise.backend.machine import REPOSITORY
from tests.command import Done, Folder

FINDING = re.compile(r"\S+:\d+:\d+: (?:error|warning) [a-z0-9-]+: \S.*")
CLEAN = "#from stream <s> [time 2s step 1s].\nin(X) :- d(X).\n#show in/1.\n"
UNSAFE = "#from stream <s> [time 2s step 1s].\nin(X) :- not d(X).\n#show in/1.\n"
MISSPELT = CLEAN.replace("in", "inside") + "#show insde/1.\n"
LOOPED = CLEAN + "p :- not q. q :- not p. #show p/0.\n"


def check(*arguments: str | Path) -> Done:
    return Folder(REPOSITORY).run("check", *map(str, arguments))


@pytest.mark.parametrize(
    ("text", "options", "code", "words"),
    [
        (CLEAN, [], 0, []),
        (MISSPELT, [], 0, ["warning", "did you mean `inside/1`"]),
        (UNSAFE, [], 1, ["error", "unsafe", "X"]),
        (LOOPED, [], 0, []),
        (LOOPED, ["--partitioned"], 1, ["error", "unstratified"]),
    ],
)
def test_findings_are_lines_and_errors_an_exit_code(
    tmp_path: Path, text: str, options: list[str], code: int, words: list[str]
) -> None:
    path = tmp_path / "program.casp"
    path.write_text(text, encoding="utf-8")
    done = check(path, *options)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (code, "")
    assert len(lines) == bool(words)
    for line in lines:
        assert FINDING.fullmatch(line)
        assert all(word in line for word in words), line


def test_a_folder_is_checked_whole_and_one_without_programs_is_wrong_usage(tmp_path: Path) -> None:
    assert check(tmp_path).returncode == 2
    (tmp_path / "deep").mkdir()
    (tmp_path / "fine.casp").write_text(CLEAN)
    (tmp_path / "deep" / "unsafe.casp").write_text(UNSAFE)
    done = check(tmp_path)
    assert done.returncode == 1
    assert "unsafe.casp:2:4: error unsafe" in done.stdout
    assert "fine.casp" not in done.stdout


def test_what_we_ship_is_without_errors() -> None:
    assert check(REPOSITORY / "backend" / "city" / "requests").stdout == ""
    # An app with Python is checked where it is installed: tests/api/test_example_app.py.
    examples = {path for path in (REPOSITORY / "examples").iterdir() if path.name != "pulse"}
    assert {path.name for path in examples if check(path).returncode} == set()


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("p.lp", "a :- b.\n", "`b/0`; give facts of it, or declare `#defined b/0.` if there may"),
        ("p.lars", "a(X) :- <> b(X) [1.5].\n", "`1.5`: expected a whole number in `[…]`"),
    ],
)
def test_the_cure_is_one_that_the_language_has(
    tmp_path: Path, name: str, text: str, says: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert says in check(tmp_path / name).stdout
