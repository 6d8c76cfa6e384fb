"""What a process' log says of why it failed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_HEAD = re.compile(
    r"(?:\d\d/\d\d/\d\d|\d{4}-\d\d-\d\d) \d\d:\d\d:\d\d\S* (?:\S+ )?"
    r"(?P<level>TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b"
)
"""How Spark and we begin a message."""
_FAILURE = re.compile(r"Traceback \(most recent call last\)|[\w.]*(?:Error|Exception)\b")
_FAILED = ("ERROR", "CRITICAL", "FATAL")
_REMARKS = ("TRACE", "DEBUG", "INFO", "WARN", "WARNING")
_SPARKS_GREETING = (
    "WARNING: Using incubator",
    "Using Spark's default log4j",
    "Setting default log",
)
_READ_BYTES = 200_000
_LINES = 12


def cause(path: Path, since: int = 0) -> list[str]:
    """The lines of a log, from a byte on, that say why its process failed: the last failure it
    tells of, else its last lines that are no mere remarks, else its last lines."""
    text = _end_of(path, since)
    messages = [_Message(lines) for lines in _messages(text.splitlines())]
    failures = [message.lines for message in messages if message.is_failure]
    if failures:
        return _shortened(failures[-1])
    plain = [line for message in messages if not message.is_remark for line in message.lines]
    return (plain or text.splitlines())[-8:]


class _Message:
    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        head = _HEAD.match(lines[0])
        level = head["level"] if head else ""
        failing = any(_FAILURE.match(line) for line in lines)
        self.is_failure = level in _FAILED or (level not in _REMARKS and failing)
        self.is_remark = level in _REMARKS or lines[0].startswith(_SPARKS_GREETING)


def _end_of(path: Path, since: int) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(min(since, size), size - _READ_BYTES))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""


def _messages(lines: Sequence[str]) -> Iterator[list[str]]:
    """Messages with what belongs to them: indented lines, and the last line of a traceback."""
    message: list[str] = []
    for line in lines:
        if message and (not line[:1].strip() or _belongs(message, line)):
            message.append(line)
            continue
        if message:
            yield message
        message = [line]
    if message:
        yield message


def _belongs(message: Sequence[str], line: str) -> bool:
    if _HEAD.match(line):
        return False
    if line.startswith(("Caused by:", "During handling of", "The above exception")):
        return True
    inside = any(before.startswith("Traceback (") for before in message)
    if line.startswith("Traceback ("):
        # A remark is over where an interpreter ends with a traceback.
        return inside or _Message(message).is_failure
    return inside and not message[-1][:1].strip()


def _shortened(lines: Sequence[str]) -> list[str]:
    """The head of a long message, and its end: there a traceback names the error."""
    kept = [line for line in lines if line.strip()]
    if len(kept) <= _LINES:
        return list(kept)
    return [kept[0], "  …", *kept[2 - _LINES :]]
