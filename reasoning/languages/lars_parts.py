"""A text of plain LARS taken apart: directives, rules as written, and what clingo reads."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection
from pathlib import Path

from reasoning.errors import RequestError
from reasoning.languages import casp, lars_directives
from reasoning.languages.lars_directives import LarsDirectives
from reasoning.languages.lars_elements import WrittenRule, written
from reasoning.languages.statements import Source, Statement, blanked
from reasoning.languages.syntax import Node

_SIGNS = {
    "◇": "`<>`",
    "□": "`[]`",
    "⊞": "as a window behind the atom, `<> a(X) [3]`,",
    "←": "`:-`",
}


class Parts:
    """The statements of a text, each read as far as it is ours; faults go to the source."""

    def __init__(
        self, source: Source, bare: str, statements: tuple[Statement, ...], folder: Path
    ) -> None:
        self.source = source
        self.bare = bare
        self.statements = statements
        self.directives = LarsDirectives()
        self.written: dict[int, WrittenRule] = {}
        """Rules by the index at which their statement begins."""
        self._starts = [statement.start for statement in statements]
        pieces, position = [], 0
        for statement in statements:
            if source.is_hopeless:
                break
            pieces.append(blanked(bare[position : statement.start]))
            pieces.append(self._read(statement, folder))
            position = statement.end
        self.text = "".join((*pieces, blanked(bare[position:])))
        """What clingo reads: its directives, and rules without what is ours."""
        self._read_text = Source(self.text, source.file)

    def _read(self, statement: Statement, folder: Path) -> str:
        """Read a statement; what clingo is to read of it."""
        text = self.bare[statement.start : statement.end]
        try:
            if lars_directives.read(self.source, statement, self.directives, folder):
                return blanked(text)
        except RequestError as error:
            self.source.note(statement.start, error)
            return blanked(text)
        if statement.text.startswith("#"):
            return casp.ended(text, statement)
        rule = written(self.source, statement)
        if rule is None:
            return blanked(text)
        self.written[statement.start] = rule
        return casp.ended(rule.seen + text[len(rule.seen) :], statement)

    def statement(self, node: Node) -> Statement:
        """The statement that clingo read as a tree."""
        index = self._read_text.index(node.line, node.column)
        return self.statements[max(0, bisect_right(self._starts, index) - 1)]

    def sound(self) -> str:
        """`text` without the statements in which a fault was noted."""
        flaws = sorted(index for index, _error in self.source.faults)
        bad = {
            s for s in self.statements if bisect_left(flaws, s.start) < bisect_left(flaws, s.end)
        }
        return self._without(bad)

    def definitions(self) -> str:
        """`text` without all but its `#const` statements; empty if there are none."""
        others = {s for s in self.statements if not s.text.startswith("#const")}
        return self._without(others) if len(others) < len(self.statements) else ""

    def _without(self, statements: Collection[Statement]) -> str:
        pieces, position = [], 0
        for statement in self.statements:
            if statement in statements:
                pieces.append(self.text[position : statement.start])
                pieces.append(blanked(self.text[statement.start : statement.end]))
                position = statement.end
        return "".join((*pieces, self.text[position:]))


def translate_signs(source: Source) -> None:
    """Say of the operators that papers write how they are written here."""
    for place, (index, error) in enumerate(source.faults):
        if error.code == "character" and (here := _SIGNS.get(source.text[index])):
            message = f"`{source.text[index]}` is written {here} in a text"
            source.faults[place] = index, source.error(index, "character", message)
