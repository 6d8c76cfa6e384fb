"""Splitting a C-ASP text into statements that know where they stand (DESIGN A6)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from reasoning.errors import Location, RequestError

_TOKEN = re.compile(
    r"""(?P<block>%\*.*?\*%)
      | (?P<comment>%[^\n]*)
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<unclosed>"|%\*)
      | (?P<dots>\.\.)
      | (?P<open>[(\[{])
      | (?P<close>[)\]}])
      | (?P<end>\.)
      | (?P<semicolon>;)
      | (?P<space>\s+)
      | (?P<other>[^\s])""",
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE_IRI = re.compile(r"#(?:prefix|from)\b[^<\n]*(<[^>\n]*>)")
_PAIR = {")": "(", "]": "[", "}": "{"}
_TAILED = (":~", "#external", "#heuristic")


@dataclass(frozen=True)
class Statement:
    """A statement's text without its terminator, and its span in the source."""

    text: str
    start: int
    end: int
    """Index after the terminator (and after the weight of a weak constraint)."""
    terminator: int
    """Index of the `.` or `;` that ends it."""


class Source:
    """A text and its file name; turns indexes into line and column."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self._lines = [0, *(m.end() for m in re.finditer("\n", text))]

    def location(self, index: int) -> Location:
        """Line and column of an index, from 1."""
        line = bisect_right(self._lines, index)
        return Location(self.file, line, index - self._lines[line - 1] + 1)

    def error(self, index: int, code: str, message: str) -> RequestError:
        """A `RequestError` that points at `index`."""
        return RequestError(self.location(index), code, message)

    def indent(self, index: int) -> int:
        """Indentation of the line in which `index` stands."""
        start = self._lines[bisect_right(self._lines, index) - 1]
        line = self.text[start:].split("\n", 1)[0]
        return len(line) - len(line.lstrip())


def split(source: Source) -> Iterator[Statement]:
    """Yield the statements of `source`; raises `RequestError` on unbalanced text."""
    text = source.text
    position, start = 0, -1
    brackets: list[tuple[str, int]] = []
    while position < len(text):
        if start < 0 and (iri := _DIRECTIVE_IRI.match(text, position)):
            start, position = position, iri.end()
            continue
        token = _TOKEN.match(text, position)
        assert token is not None
        kind, index, position = token.lastgroup, position, token.end()
        if kind in ("space", "comment", "block"):
            continue
        if kind == "unclosed":
            what = "string" if token.group() == '"' else "block comment"
            raise source.error(index, "unclosed", f"this {what} is never closed")
        if start < 0:
            start = index
        if kind == "open":
            brackets.append((token.group(), index))
        elif kind == "close":
            if not brackets or brackets.pop()[0] != _PAIR[token.group()]:
                raise source.error(index, "bracket", f"`{token.group()}` closes nothing")
        elif kind == "end" or (kind == "semicolon" and _ends(source, start, position, brackets)):
            if brackets:
                found, where = brackets[-1]
                raise source.error(where, "bracket", f"`{found}` is not closed in its statement")
            end = _tail(text, start, position)
            yield Statement(text[start:index], start, end, index)
            position, start = end, -1
    if start >= 0:
        raise source.error(start, "unfinished", "this statement is not ended by `.`")


def _ends(source: Source, start: int, after: int, brackets: list[tuple[str, int]]) -> bool:
    """Whether the `;` just read ends the statement that began at `start`."""
    rest = source.text[after:]
    line, _, following = rest.partition("\n")
    if brackets or line.split("%", 1)[0].strip():
        return False
    for offset, text in _lines(following):
        if text.strip() and not text.lstrip().startswith("%"):
            index = after + len(line) + 1 + offset
            return source.indent(index) <= source.indent(start)
    return True


def _lines(text: str) -> Iterator[tuple[int, str]]:
    offset = 0
    for line in text.splitlines(keepends=True):
        yield offset, line
        offset += len(line)


def _tail(text: str, start: int, after: int) -> int:
    """The end of a statement, its weight or type in `[…]` included."""
    if not text.startswith(_TAILED, start):
        return after
    tail = re.compile(r"(?:\s|%[^\n]*)*\[[^\]]*\]").match(text, after)
    return tail.end() if tail else after
