"""The words of RIF's presentation syntax, a cursor over them, and brackets that do not match.

A reader notices a missing bracket late, often at the end of the text. Keywords that begin a
rule or part it, and indentation, tell earlier which bracket it is (`explained`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

from citywise.reasoning.asp.statements import Source
from citywise.reasoning.errors import RequestError
from citywise.reasoning.languages.rif.unparse import LOCAL, NAME

TokenKind: TypeAlias = Literal[
    "variable",
    "iri",
    "string",
    "language",
    "number",
    "curie",
    "local",
    "name",
    "symbol",
    "odd",
    "end",
]
_CHARACTERS = r"(?:[\w.%]|-(?!>))*"
"""Of names; `->` is none of them."""
_AFTER_NUMBER = r"(?=(?:ms|[smh])\b|[^\w.]|\Z)"
"""White space, a bracket, or the unit of a window."""
_TOKEN = re.compile(
    rf"""(?P<space>\s+)
      | (?P<meta>\(\*)
      | (?P<variable>\?(?:"(?:[^"\\\n]|\\.)*"|[\w]{_CHARACTERS}))
      | (?P<iri><[^<>"\s]*>)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<language>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
      | (?P<number>[-+]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?{_AFTER_NUMBER})
      | (?P<curie>(?:{NAME})?:(?!-)(?:{LOCAL})?)
      | (?P<local>_[\w]{_CHARACTERS})
      | (?P<name>[^\W\d]{_CHARACTERS})
      | (?P<symbol>:-|->|\#\#|\^\^|[()\[\]=\#|,])
      | (?P<odd>.)""",
    re.VERBOSE,
)
_IN_META = re.compile(r'"(?:[^"\\\n]|\\.)*"|<[^<>\s]*>|\*\)')
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "'": "'"}
_KEYWORDS = {
    word.lower(): word
    for word in (
        *("Document", "Base", "Prefix", "Import", "Group", "Forall", "Exists"),
        *("And", "Or", "If", "Then", "External", "List"),
    )
}
_SHOWN = 40


class Token(NamedTuple):
    """A word, where it begins, and the metadata before it, `(* … *)`, without its brackets."""

    kind: TokenKind
    text: str
    start: int
    meta: str = ""


def tokens(source: Source) -> Iterator[Token]:
    """The words of a text, without white space, and `end`; raises `RequestError`."""
    position, text, meta = 0, source.text, ""
    while found := _TOKEN.match(text, position):
        start, position, kind = found.start(), found.end(), found.lastgroup
        if kind == "meta":
            position = _end_of_meta(source, start)
            meta = meta or text[start + 2 : position - 2]
        elif kind == "odd":
            raise source.error(start, "syntax", _odd(text, start))
        elif kind != "space":
            yield Token(_KINDS[kind or ""], found.group(), start, meta)
            meta = ""
    yield Token("end", "", len(text))


_KINDS: dict[str, TokenKind] = {kind: kind for kind in get_args(TokenKind)}


def _end_of_meta(source: Source, start: int) -> int:
    for found in _IN_META.finditer(source.text, start + 2):
        if found.group() == "*)":
            return found.end()
    raise source.error(start, "syntax", "this `(*` is nowhere closed; write `*)` behind it")


def _odd(text: str, index: int) -> str:
    """What is wrong where no word begins."""
    if text[index] == '"':
        return "this string does not end on its line; close it, and write line ends as `\\n`"
    if text[index] == "<":
        return "an IRI in `<…>` holds no white space, quotes or brackets, and `>` ends it"
    if text[index].isdigit():
        return "a number is followed by white space or a bracket; names begin with a letter"
    if text[index] == ".":
        return "found `.`; rules of RIF end without a full stop"
    if text[index] == "?":
        return "a variable is `?` and a name without white space between, e.g. `?x`"
    return f"found `{text[index]}`, which begins no word of RIF's presentation syntax"


def unescaped(source: Source, token: Token, start: int = 1) -> str:
    """The characters of a string token between its quotes, the first at `start`."""

    def character(found: re.Match[str]) -> str:
        code = found.group(1) or found.group(2)
        if code is None and found.group(3) in _ESCAPES:
            return _ESCAPES[found.group(3)]
        number = int(code or "D800", 16)
        if 0xD800 <= number <= 0xDFFF or number > 0x10FFFF:
            message = (
                f'`{found.group()}` is no escape; write `\\\\`, `\\"`, `\\n`, `\\t` or `\\u00E6`'
            )
            raise source.error(token.start + start + found.start(), "syntax", message)
        return chr(number)

    return _ESCAPE.sub(character, token.text[start:-1])


class Cursor:
    """Walks over the words of a text."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = tuple(tokens(source))
        self._next = 0

    def peek(self, ahead: int = 0) -> Token:
        """The next word, or one after it."""
        return self.tokens[min(self._next + ahead, len(self.tokens) - 1)]

    def take(self) -> Token:
        """The next word, which is behind the cursor then."""
        token = self.peek()
        self._next += 1
        return token

    def sees(self, text: str, ahead: int = 0) -> bool:
        """Whether the next word, or one after it, is the keyword or symbol."""
        token = self.peek(ahead)
        return token.text == text and token.kind in ("name", "symbol")

    def takes(self, text: str) -> bool:
        """Take the next word if it is the keyword or symbol."""
        found = self.sees(text)
        if found:
            self._next += 1
        return found

    def expect(self, text: str, where: str) -> Token:
        """Take the keyword or symbol; raises `RequestError` if it is something else."""
        if not self.sees(text):
            raise self.error(f"`{text}` {where}")
        return self.take()

    def expect_kind(self, kind: TokenKind, expected: str) -> Token:
        """Take a word of a kind; raises `RequestError` if it is something else."""
        if self.peek().kind != kind:
            raise self.error(expected)
        return self.take()

    def error(self, expected: str) -> RequestError:
        """The error that says what is found at the cursor, and what was expected."""
        token = self.peek()
        found = f"`{token.text[:_SHOWN]}`" if token.kind != "end" else "the end of the text"
        message = f"found {found}, expected {expected}"
        return self.source.error(token.start, "syntax", message + hint(token))


def hint(token: Token) -> str:
    """What may have been meant by a word; empty if nothing else."""
    if token.text == ",":
        return "; RIF separates by white space, without commas"
    keyword = _KEYWORDS.get(token.text.lower(), token.text)
    if token.kind == "name" and keyword != token.text:
        return f"; keywords are case-sensitive: `{keyword}`"
    return ""


_CLOSING = {"(": ")", "[": "]"}
_OUTER = ("Document", "Group")
_SENTENCES = ("Forall", "Group", "Prefix", "Import", "Base")
"""Words that stand within `Document` and `Group` only."""
_PARTS = (":-", "If", "Then")
"""Words that stand within no formula."""


class _Open(NamedTuple):
    """A bracket that is open."""

    token: Token
    owner: str
    """The word it belongs to; empty if none."""

    @property
    def level(self) -> Literal["outer", "rule", "inner"]:
        """What may stand in it: sentences, one rule, or parts of a formula."""
        return "outer" if self.owner in _OUTER else "rule" if self.owner == "Forall" else "inner"

    @property
    def named(self) -> str:
        """How messages call it."""
        own = f" of `{self.owner}`" if self.owner else ""
        return f"the `{self.token.text}`{own}"


def explained(source: Source, tokens: Sequence[Token], error: RequestError) -> RequestError:
    """`error`, or what caused it: a bracket before its place that is not closed, or wrongly."""
    found = _Brackets(source, tokens).fault()
    if found is None:
        return error
    index, message = found
    place, noticed = source.location(index), error.location
    if (place.line, place.column) > (noticed.line, noticed.column):
        return error
    where = f"line {noticed.line}, column {noticed.column}"
    return source.error(index, "syntax", f"{message} (noticed in {where}: {error.message})")


class _Brackets:
    """Walks over the words of a text, with the brackets that are open."""

    def __init__(self, source: Source, tokens: Sequence[Token]) -> None:
        self._source = source
        self._tokens = tokens
        self._open: list[_Open] = []
        self._unclosed: list[_Open] = []
        """Brackets that something shows to be unclosed, in the order of what shows it."""
        self._outdented: list[_Open] = []
        """Brackets whose closing one begins a line, and is not laid out as theirs."""
        self._wrong: tuple[int, str] | None = None

    def fault(self) -> tuple[int, str] | None:
        """Where a bracket is at fault, and what to write; None if they are in order."""
        for number, token in enumerate(self._tokens):
            if token.kind == "symbol" and token.text in _CLOSING:
                self._open.append(_Open(token, self._owner(number)))
            elif token.kind == "symbol" and token.text in _CLOSING.values():
                self._close(number, token)
            elif token.kind == "name" or token.text == ":-":
                self._word(number, token)
            if self._wrong:
                return self._wrong
        if not self._is_short():
            return None
        found = [*self._unclosed, *self._outdented, *self._open[::-1]]
        first = found[0]
        closing = _CLOSING[first.token.text]
        return (
            first.token.start,
            f"{first.named} is not closed; write `{closing}` behind its content",
        )

    def _is_short(self) -> bool:
        """Whether there are fewer closing brackets than opening ones."""
        texts = [token.text for token in self._tokens if token.kind == "symbol"]
        return any(texts.count(o) > texts.count(c) for o, c in _CLOSING.items())

    def _owner(self, number: int) -> str:
        """The word before a bracket, and before the variables that it declares."""
        before = number - 1
        while before > 0 and self._tokens[before].kind == "variable":
            before -= 1
        token = self._tokens[max(before, 0)]
        declares = token.text in ("Forall", "Exists") or before == number - 1
        is_word = token.kind in ("name", "curie", "local", "iri")
        return token.text if is_word and declares and number else ""

    def _word(self, number: int, token: Token) -> None:
        """A word that shows which of the brackets before it are closed."""
        following = self._tokens[number + 1].text
        sentence = token.text in _SENTENCES and (token.text == "Forall" or following == "(")
        allowed = ("outer",) if sentence else ("outer", "rule")
        if sentence or token.text in _PARTS:
            while self._open and self._open[-1].level not in allowed:
                self._unclosed.append(self._open.pop())

    def _close(self, number: int, token: Token) -> None:
        fitting = [o for o in self._open if _CLOSING[o.token.text] == token.text]
        if not self._open:
            return
        if not fitting:
            last = self._open[-1]
            place = self._source.location(last.token.start)
            message = (
                f"`{token.text}` does not close {last.named} in line {place.line}, column "
                f"{place.column}; write `{_CLOSING[last.token.text]}`"
            )
            self._wrong = token.start, message
            return
        while _CLOSING[self._open[-1].token.text] != token.text:
            self._unclosed.append(self._open.pop())
        closed = self._open.pop()
        if self._begins_line(number) and self._is_outdented(token, closed):
            self._outdented.append(closed)

    def _is_outdented(self, token: Token, opened: _Open) -> bool:
        """Whether a bracket that begins a line looks as if it closed another than it does."""
        start, text = opened.token.start, self._source.text
        here, there = self._source.indent(token.start), self._source.indent(start)
        end = text.find("\n", start)
        goes_on = opened.level == "inner" and bool(text[start + 1 : end].strip())
        return here < there or (here == there and goes_on)

    def _begins_line(self, number: int) -> bool:
        line = self._source.location(self._tokens[number].start).line
        return line > self._source.location(self._tokens[number - 1].start).line
