"""Where the keys of a TOML text stand; Python's own reader does not say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from citywise.reasoning import Location

_WORD = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_KEY = rf"{_WORD}(?:\s*\.\s*{_WORD})*"
_TABLE = re.compile(rf"\s*\[\[?\s*({_KEY})\s*\]\]?")
_ASSIGNMENT = re.compile(rf"\s*({_KEY})\s*=")
_PARTS = re.compile(_WORD)
_TOKEN = re.compile(r'"""|\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}]|\n', re.DOTALL)

Key = tuple[str, ...]


class Places:
    """The line and column, from 1, at which each key of a TOML text stands."""

    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self._found: dict[Key, tuple[int, int]] = {}
        table: Key = ()
        for number, line in _statements(text):
            if match := _TABLE.match(line):
                table = _split(match[1])
                self._note(table, number, match.start(1) + 1)
            elif match := _ASSIGNMENT.match(line):
                self._note((*table, *_split(match[1])), number, match.start(1) + 1)

    def _note(self, key: Key, line: int, column: int) -> None:
        for length in range(1, len(key) + 1):
            self._found.setdefault(key[:length], (line, column))

    def location(self, key: Sequence[str | int]) -> Location:
        """Where a key stands, or the nearest above it that the text writes down."""
        path = tuple(map(str, key))
        while path and path not in self._found:
            path = path[:-1]
        line, column = self._found.get(path, (1, 1))
        return Location(self._file, line, column)

    def __contains__(self, key: Sequence[str]) -> bool:
        return tuple(key) in self._found


def _split(key: str) -> Key:
    return tuple(part.strip("\"'") for part in _PARTS.findall(key))


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """The lines that begin a statement, with their numbers: not those within a value that
    goes on over several lines."""
    lines = text.split("\n")
    starts, number, depth, position = True, 1, 0, 0
    while position <= len(text):
        if starts:
            yield number, lines[number - 1]
        match = _TOKEN.search(text, position)
        if match is None:
            return
        mark, position = match[0], match.end()
        if mark in ('"""', "'''"):
            end = text.find(mark, position)
            end = len(text) if end < 0 else end + 3
            number += text.count("\n", position, end)
            position = end
        depth += mark in ("[", "{")
        depth -= mark in ("]", "}")
        starts = mark == "\n" and depth <= 0
        number += mark == "\n"
