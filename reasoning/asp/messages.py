"""clingo's complaints about a program, as faults of its source with a hint at the cure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

import clingo
from clingo import MessageCode
from clingo import ast as clingo_ast

from citywise.reasoning.asp.statements import Source, Statement, decimal_at, not_a_number

_COMPLAINT = re.compile(r"<\w+>:(\d+):(\d+)-(?:\d+:)?\d+: (?:error|info): (.*)", re.DOTALL)
_UNSAFE = re.compile(r"<\w+>:(\d+):(\d+)-(?:\d+:)?\d+: note: '([^'#]+'*)' is unsafe")
_SLIPS = {
    "=<": "write `<=`",
    "=>": "write `>=`, or `:-` for an implication",
    "<-": "write `:-`",
    "->": "write `:-`, with the conclusion on its left",
    "&&": "write `,` between literals",
    "\\+": "write `not`",
    "!": "write `not`, or `!=` between terms",
    "~": "write `not`",
}
_COMMA = re.compile(r",\s*\n[^\n]*$")
"""At the end of the line before."""
_LIMIT = 1000


class Complaints:
    """Collects what clingo says of one text and notes it in the source."""

    def __init__(self, source: Source, bare: str, statements: Sequence[Statement]) -> None:
        self._source = source
        self._bare = bare
        self._statements = statements
        self._starts = [s.start for s in statements]
        self._told: set[int] = set()

    def parse(self, rules: str) -> list[clingo_ast.AST] | None:
        """clingo's statements of `rules`; None, and faults, if there are syntax errors."""
        found: list[clingo_ast.AST] = []
        messages: list[str] = []
        try:
            clingo_ast.parse_string(
                rules, found.append, logger=lambda _c, m: messages.append(m), message_limit=_LIMIT
            )
        except RuntimeError as error:
            self._note(messages or [str(error)])
            return None
        return found

    def check_safety(self, rules: str) -> None:
        """Note unsafe variables. clingo checks all rules before it grounds the (empty) base."""
        messages: list[str] = []

        def log(code: MessageCode, message: str) -> None:
            if code == MessageCode.RuntimeError:
                messages.append(message)

        # Only clingo knows all its rules of safety. The rules stand in a part that is never
        # ground, so this costs no grounding, whatever they say.
        control = clingo.Control([], logger=log, message_limit=_LIMIT)
        try:
            control.add("request", [], rules)
            control.ground([("base", [])])
        except RuntimeError as error:
            self._note(messages or [str(error)])

    def _note(self, messages: Sequence[str]) -> None:
        for message in messages:
            match = _COMPLAINT.match(message)
            if match is None:
                self._source.fault(0, "syntax", " ".join(message.split()))
                continue
            index = self._source.index(int(match.group(1)), int(match.group(2)))
            if match.group(3).startswith("unsafe variables"):
                self._unsafe(index, message)
            else:
                self._wrong(index, match.group(3))

    def _unsafe(self, index: int, message: str) -> None:
        places = {
            name: self._source.index(int(line), int(column))
            for line, column, name in reversed(_UNSAFE.findall(message))
        }
        names = sorted(places, key=lambda name: places[name])
        if not names:
            self._source.fault(index, "unsafe", "an unsafe variable: nothing binds it")
            return
        listed = ", ".join(f"`{name}`" for name in names)
        are = "is" if len(names) == 1 else "are"
        self._source.fault(
            places[names[0]],
            "unsafe",
            f"{listed} {are} unsafe in {self._rule(places[names[0]])}: no positive literal of "
            f"its body binds {'it' if len(names) == 1 else 'them'}; {self._cure(index)}",
        )

    def _cure(self, index: int) -> str:
        statement = self._statement(index)
        if statement is not None and "<-" in statement.text and ":-" not in statement.text:
            return "`<-` compares with a negative number; write `:-` for an implication"
        return "add one that does, or write `_` where any value will do"

    def _rule(self, index: int) -> str:
        statement = self._statement(index)
        if statement is None:
            return "this rule"
        line = self._source.location(statement.start).line
        if statement.label:
            return f"rule {statement.label} (line {line})"
        return f"the rule of line {line}"

    def _statement(self, index: int) -> Statement | None:
        place = bisect_right(self._starts, index) - 1
        return self._statements[place] if place >= 0 else None

    def _wrong(self, index: int, complaint: str) -> None:
        """Note a syntax error: of one statement the first, the others follow from it."""
        statement = self._statement(index)
        if statement is not None:
            # clingo goes on after an error wherever it can, and most of what it finds there is no
            # fault of the author's.
            if statement.start in self._told:
                return
            self._told.add(statement.start)
        what = " ".join(re.sub(r"<block>:\S+ note:", "", complaint).split())
        kind = re.match(r"(?:syntax|lexer) error, unexpected (\S+)", what)
        if kind is None:
            self._source.fault(index, "program", what)
            return
        what = what.partition(" error, ")[2].replace(kind.group(1), self._word(index), 1)
        what, _, expected = what.partition(" expecting ")
        if expected and self._bare[index : index + 1] not in expected.split(" or "):
            what += f" expecting {expected}"
        place, code, hint = self._hint(index, statement)
        self._source.fault(place, code, hint if code == "decimal" else f"{what}; {hint}")

    def _word(self, index: int) -> str:
        word = re.compile(r"#?[\w']+|\S").match(self._bare, index)
        return f"`{word.group()}`" if word else "end of the text"

    def _hint(self, index: int, statement: Statement | None) -> tuple[int, str, str]:
        """Where to point, the code, and what to write, for the usual slips."""
        if statement is None:
            return index, "syntax", "this begins no statement"
        text, start = self._bare, statement.start
        if start > 0 and (decimal := decimal_at(text, start - 1)):
            return decimal[1], "decimal", not_a_number(decimal[0])
        if decimal := decimal_at(text, index):
            return decimal[1], "decimal", not_a_number(decimal[0])
        for slip, cure in _SLIPS.items():
            if text.startswith(slip, index) or (
                len(slip) == 2 and index > 0 and text.startswith(slip, index - 1)
            ):
                return index, "syntax", cure
        before = text[start:index].rstrip()
        if label := re.search(r"\n\s*(\(\s*[\w']+\s*\))$", before):
            line = self._source.location(start).line
            found = f"`{label.group(1)}` begins a statement, but the one of line {line} is not "
            return start + label.start(1), "syntax", found + "ended; write `.` behind it"
        if text.startswith(":", index) and (comma := _COMMA.search(before)) and ":-" in before:
            line = self._source.location(index).line
            hint = f"line {line} begins a rule; is the `,` before it a `.`?"
            return start + comma.start(), "syntax", hint
        return index, "syntax", _missing(before, text[index : statement.end], text, index)


def _missing(before: str, after: str, text: str, index: int) -> str:
    """What seems to be missing between two parts of a statement."""
    on_new_line = "\n" in text[len(text[:index].rstrip()) : index]
    if re.search(r"(^|[,(])\s*-$", before) and after[:1] in ",)":
        return "`-` is no term; write `_` for any value"
    if re.search(r"\b[A-Z]\w*$", before) and after.startswith("("):
        return "a predicate begins with a lower-case letter; a capital begins a variable"
    if not before:
        return "a statement begins with a head, `:-`, `:~` or a directive"
    if re.search(r"[\w\"')}\]]$", before) and re.match(r"[\w\"'#_-]", after):
        if on_new_line and re.match(r"[^.]*?:-", after) and ":-" in before:
            return "the statement before it is not ended; write `.` there"
        if ":-" not in before and re.match(r"[^,]*\.$", after, re.DOTALL) is None:
            return "a `:-` or `,` is missing before it"
        return "a `,` is missing before it"
    if re.search(r"[,;]$", before) and after[:1] in ".)}":
        return "a literal or term is missing before it, or there is a separator too many"
    return "see docs/casp.md for what a statement looks like"
