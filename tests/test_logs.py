"""Logs are bounded, and nobody can write lines of their own into them."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import pytest

from citywise.backend import own_files
from citywise.backend.logs import Discreet, Json

ID = "u-abcdefghijklmnopqrst"
EVIL = f"topic x\n2026-01-01 ingest INFO all is well \x1b[31m {ID}\u2028\x85\r"


def record(*, failing: bool = False) -> logging.LogRecord:
    error = ValueError("a\nb")
    caught = (ValueError, error, None) if failing else None
    made = logging.LogRecord("citywise.x", logging.ERROR, "f.py", 1, "bad: %s", (EVIL,), caught)
    made.trace = "abc"
    return made


def test_a_message_is_one_line_and_names_nobody() -> None:
    (line,) = Discreet("ingest").format(record()).splitlines()
    assert "bad: topic x\\n2026-01-01" in line
    assert "\\x1b[31m u-…" in line
    assert not any(ord(c) < 32 for c in line)


def test_a_traceback_keeps_its_lines() -> None:
    lines = Discreet("ingest").format(record(failing=True)).splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("ValueError: a")


def test_as_json_a_message_is_an_object_with_its_trace() -> None:
    text = Json("ingest").format(record(failing=True))
    assert len(text.split("\n")) == 1
    said = json.loads(text)
    assert said["text"].startswith("bad: topic x\n2026")
    assert (said["role"], said["level"], said["trace"]) == ("ingest", "ERROR", "abc")
    assert ID not in text
    assert "ValueError" in said["error"]


def test_a_log_that_is_large_begins_anew_and_a_few_are_kept(tmp_path: Path) -> None:
    log = tmp_path / "pipeline.log"
    assert not own_files.rotate(log, 100, 3)
    writing = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in range(6):
        os.write(writing, b"%d" % number * 101)
        assert own_files.rotate(log, 100, 3)
        assert log.read_bytes() == b""
    os.write(writing, b"on")
    os.close(writing)
    assert log.read_bytes() == b"on"
    assert not own_files.rotate(log, 100, 3)
    found = {path.name: path.read_bytes()[:1] for path in tmp_path.glob("*.log.*")}
    assert found == {"pipeline.log.1": b"5", "pipeline.log.2": b"4", "pipeline.log.3": b"3"}
    assert log.with_name("pipeline.log.1").stat().st_mode & 0o77 == 0


@pytest.mark.parametrize("kept", [1, 2])
def test_no_more_are_kept_than_asked_for(tmp_path: Path, kept: int) -> None:
    log = tmp_path / "web.log"
    for _ in range(4):
        log.write_bytes(b"x" * 11)
        own_files.rotate(log, 10, kept)
    assert len(list(tmp_path.iterdir())) == kept + 1
