"""Brackets in RIF's presentation syntax that nothing closes, or that another kind closes.

A reader notices a missing bracket late, often at the end of the text. Keywords that begin a
rule or part it, and indentation, tell earlier which bracket it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from reasoning.asp.statements import Source
from reasoning.errors import RequestError
from reasoning.languages.rif.tokens import Token

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
