"""Tutorials of apps, as written: files are saved, commands run, answers compared."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from citywise.backend.machine import REPOSITORY
from citywise.backend.packs.check import checked
from citywise.backend.packs.scenario_run import run
from citywise.backend.pipeline.recorded import concluded
from tests.command import Folder
from tests.test_tutorial import output, sessions, shell

__all__ = ["shell"]

TUTORIAL = REPOSITORY / "docs" / "tutorial-app.md"
METER = REPOSITORY / "docs" / "tutorial-meter.md"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"`([\w./]+\.(?:toml|casp|jsonl|json))`[^`]*\Z")


def blocks(page: Path = TUTORIAL) -> list[tuple[str, str, str]]:
    """Each block: its language, its text, and the file that the prose before it names."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        named = _NAMED.search(text[: match.start()])
        found.append((match[1], match[2], named[1] if named else ""))
    return found


def write(folder: Path, page: Path = TUTORIAL) -> Path:
    """A tutorial's files, slips included; returns the app's folder."""
    for language, text, name in blocks(page):
        if language not in ("console", "sh"):
            assert name, f"the prose names no file for this block:\n{text}"
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    return folder / ("jam_watch" if page == TUTORIAL else "loud")


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """The app as it is at the tutorial's end."""
    folder = write(tmp_path)
    for name, old, new in (
        ("templates/jam_ahead.casp", "near_rout(", "near_route("),
        ("scenarios/first.jsonl", '"near"', "100"),
    ):
        path = folder / name
        path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return folder


@pytest.mark.thorough
@pytest.mark.parametrize(("page", "commands"), [(TUTORIAL, 8), (METER, 4)])
def test_a_tutorial_works_as_written(
    tmp_path: Path, shell: dict[str, str], page: Path, commands: int
) -> None:
    ran = 0
    for language, text, name in blocks(page):
        if language == "console":
            for command, expected in sessions(text):
                assert output(["sh", "-c", command], tmp_path, shell) == expected, command
                ran += 1
        elif language != "sh":
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
    assert ran >= commands


def test_the_tutorials_app_is_short_and_has_no_python(app: Path) -> None:
    files = [path for path in app.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".toml", ".casp", ".jsonl", ".json"}
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 60


def test_the_tutorials_app_notifies_in_both_languages(app: Path) -> None:
    pack = checked(app)
    opened, closed = run(pack, app / "scenarios" / "first.jsonl", concluded).got
    assert (opened["text"], closed["closed_because"]) == ("Bridge Street in 745 m", "passed")
    assert pack.strings["da"]["notices.jam_ahead.text"] == "{about} om {metres} m"


@pytest.mark.slow
def test_the_tutorials_app_notifies_travellers_of_a_recorded_morning(
    app: Path, data_pack: Path
) -> None:
    (command,) = [text.split() for kind, text, _ in blocks() if kind == "sh" and "replay" in text]
    arguments = [str(data_pack) if word == "DIR" else word for word in command[1:]]
    done = Folder(app.parent).run(*arguments, "--lead-in", "2")
    assert done.returncode == 0, done.stderr
    notices = [json.loads(line) for line in done.stdout.splitlines()]
    assert {notice["kind"] for notice in notices} == {"notice"}
    assert {notice["change"] for notice in notices} >= {"opened", "closed"}
    assert all(notice["title"] == "Jam ahead" for notice in notices)
