"""Splitting a text into statements that know where they stand (docs/casp.md).

clingo reads the rules from a copy of the text in which everything else is blanked. That is
sound only if both see the same strings and comments; hence comments are blanked first, and a
string or character that clingo would not read as we do is a fault.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from citywise.reasoning.errors import Location, RequestError
from citywise.reasoning.model.request import Signature

MAX_CHARACTERS = 2_000_000
"""Of a text: two seconds to read if most of it is plain facts."""
MAX_FAULTS = 100
MAX_BRACKETS = 200
MAX_OPERATORS = 2_000
"""Operators in one literal or element. clingo's parser and grounder walk terms recursively:
with a stack of 8 MB they died between 10,000 and 30,000 nested operators."""

# What of a text must be skipped as a whole. An IRI may hold `%` and `"`, which begin comments and
# strings elsewhere.
_OPAQUE = re.compile(r'"|%|#script\b|#(?:prefix|from)\b[^<"%\n]{0,200}<[^>\n]*>')
_STRING = re.compile(r'"(?:[^"\\\n]|\\["\\n])*"')
_LENIENT_STRING = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"')
_IN_BLOCK = re.compile(r"%\*|\*%|%[^\n]*")
_NOT_OURS = re.compile(r"[^\t\n\r -~]")
_SURROGATE_OR_NUL = re.compile("[\0\ud800-\udfff]")
_DIRECTIVE_IRI = re.compile(r"#(?:prefix|from)\b[^<\n]{0,200}(<[^>\n]*>)")
_TOKEN = re.compile(
    r"""(?P<operator>\.\.|[-+*/\\&?^~|])
      | (?P<string>"[^"\\\n]*(?:\\.[^"\\\n]*)*")
      | (?P<comma>,)
      | (?P<open>[(\[{])
      | (?P<close>[)\]}])
      | (?P<end>\.)
      | (?P<semicolon>;)
      | (?P<space>\s+)
      | (?P<other>[^\s"(),.;\[\]{}+*/\\&?^~|-]+)
      | (?P<odd>.)""",
    re.VERBOSE,
)
_MEASURES = re.compile(r"#(?:from|lateness|revise|scale)\b")
_LABEL = re.compile(r"\(\s*([\w']+)\s*\)\s*(?=[A-Za-z_:{#\-\d&@])")
_PAIR = {")": "(", "]": "[", "}": "{"}
_CLOSING = {opened: closed for closed, opened in _PAIR.items()}
_TAILED = (":~", "#external", "#heuristic", "#const")
_TAIL = re.compile(r"\s*\[[^\]]*\]")
_BLANK = re.compile(r"[^\n\r]")


@dataclass(frozen=True)
class Statement:
    """A statement's text without label and terminator, and its span in the source."""

    text: str
    start: int
    end: int
    """Index after the terminator (and after the weight of a weak constraint)."""
    terminator: int
    """Index of the `.` or `;` that ends it."""
    label: str | None = None
    label_start: int = 0


class Source:
    """A text and its file name; turns indexes into line and column, and keeps its faults."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.faults: list[tuple[int, RequestError]] = []
        self._lines = [0, *(m.end() for m in re.finditer("\n", text))]
        self._ascii = text.isascii()

    @property
    def is_hopeless(self) -> bool:
        """Whether so much is wrong that it is no use to read on."""
        return len(self.faults) >= MAX_FAULTS

    def location(self, index: int) -> Location:
        """Line and column of an index, from 1."""
        line = bisect_right(self._lines, index)
        return Location(self.file, line, index - self._lines[line - 1] + 1)

    def index(self, line: int, column: int) -> int:
        """The index of a position of clingo's, whose columns count bytes of UTF-8."""
        start = self._lines[min(line, len(self._lines)) - 1]
        if self._ascii:
            return min(start + column - 1, len(self.text))
        end = self._lines[line] if line < len(self._lines) else len(self.text)
        # Only here bytes matter; most texts are ASCII and never come here.
        before = self.text[start:end].encode()[: column - 1]
        return start + len(before.decode(errors="ignore"))

    def error(self, index: int, code: str, message: str) -> RequestError:
        """A `RequestError` that points at `index`."""
        return RequestError(self.location(index), code, message)

    def fault(self, index: int, code: str, message: str) -> None:
        """Note a fault and go on reading; of very many some are kept."""
        self.note(index, self.error(index, code, message))

    def note(self, index: int, error: RequestError) -> None:
        """Note a fault that was raised."""
        if not self.is_hopeless:
            self.faults.append((index, error))

    def indent(self, index: int) -> int:
        """Width of the white space before the first character of the line of `index`."""
        start = self._lines[bisect_right(self._lines, index) - 1]
        found = re.compile(r"[^\S\n]*").match(self.text, start)
        return found.end() - start if found else 0


def blanked(text: str) -> str:
    """`text` with everything but line ends as spaces."""
    return _BLANK.sub(" ", text)


def without_comments(source: Source) -> str:
    """The text with its comments blanked; notes strings and characters clingo cannot read."""
    text, pieces, position = source.text, [], 0
    while token := _OPAQUE.search(text, position):
        index = token.start()
        pieces.append(_plain(source, position, index))
        if token.group() == '"':
            piece, position = _string(source, index)
        elif token.group() == "%":
            position = _comment_end(source, index)
            piece = blanked(text[index:position])
        elif token.group() == "#script":
            position = _script_end(text, token.end())
            piece = token.group() + blanked(text[token.end() : position])
        else:
            piece, position = token.group(), token.end()
        pieces.append(piece)
    pieces.append(_plain(source, position, len(text)))
    return "".join(pieces)


def _plain(source: Source, start: int, end: int) -> str:
    """Text outside strings and comments, where clingo reads ASCII only."""
    text = source.text[start:end]
    if odd := _NOT_OURS.search(text):
        index = start + odd.start()
        source.fault(
            index,
            "character",
            f"{_named(odd.group())} stands outside strings and comments; names and operators "
            "are ASCII",
        )
        # One character for one, so that all that follows keeps its place, and the rest can be
        # read for more faults.
        return _NOT_OURS.sub("_", text)
    return text


def _named(character: str) -> str:
    shown = f"`{character}` " if character.isprintable() else ""
    return f"the character {shown}(U+{ord(character):04X})"


def _string(source: Source, index: int) -> tuple[str, int]:
    """The string that begins at `index` as clingo may read it, and where it ends."""
    text = source.text
    if found := _STRING.match(text, index):
        if _SURROGATE_OR_NUL.search(found.group()):
            source.fault(index, "character", "this string holds a character no text can hold")
            return '"' + " " * (len(found.group()) - 2) + '"', found.end()
        return found.group(), found.end()
    if found := _LENIENT_STRING.match(text, index):
        source.fault(
            index, "escape", 'strings know the escapes `\\n`, `\\"` and `\\\\` only; write `\\\\`'
        )
        return '"' + " " * (len(found.group()) - 2) + '"', found.end()
    source.fault(index, "unclosed", 'this string is never closed; write `"` behind it')
    end = text.find("\n", index)
    end = len(text) if end < 0 else end
    return " " * (end - index), end


def _script_end(text: str, start: int) -> int:
    """Where the script that begins before `start` ends; its text is no ASP."""
    end = text.find("#end", start)
    return len(text) if end < 0 else end + len("#end")


def _comment_end(source: Source, index: int) -> int:
    """Where the comment that begins at `index` ends; block comments nest, as in clingo."""
    text = source.text
    if not text.startswith("%*", index):
        end = text.find("\n", index)
        return len(text) if end < 0 else end
    depth, position = 0, index
    while token := _IN_BLOCK.search(text, position):
        position = token.end()
        # A `%` within a block hides what follows on its line, as in clingo, also a `*%`.
        depth += {"%*": 1, "*%": -1}.get(token.group(), 0)
        if depth == 0:
            return position
    source.fault(index, "unclosed", "this block comment is never closed; write `*%` behind it")
    return len(text)


class Splitter:
    """Finds where the statements of a text without comments begin and end.

    `plain`: clingo's language, in which there are no labels and `;` ends nothing.
    """

    def __init__(self, source: Source, bare: str, *, plain: bool = False) -> None:
        self._source = source
        self._bare = bare
        self._plain = plain
        self._flaws = sorted(index for index, _error in source.faults)
        """Where strings and characters are at fault: their statements are not read."""
        self._begin(0)

    def _begin(self, position: int) -> None:
        """Expect a statement at `position`."""
        self._start = -1
        self._first = position
        self._label: tuple[str, int] | None = None
        self._brackets: list[tuple[str, int]] = []
        self._operators = 0
        self._sound = True

    def statements(self) -> Iterator[Statement]:
        """The statements, without those in which a fault was noted."""
        text, position = self._bare, 0
        while position < len(text) and not self._source.is_hopeless:
            if self._start < 0:
                position = self._opening(position)
                if position >= len(text):
                    break
            token = _TOKEN.match(text, position)
            assert token is not None
            index, position = position, token.end()
            if self._take(token, index):
                end = _tail(text, self._start, position)
                if self._sound and not self._is_flawed(end):
                    yield self._statement(index, end)
                position = end
                self._begin(position)
        if self._start >= 0 and not self._source.is_hopeless:
            if self._brackets:
                self._unclosed(len(text))
            message = "this statement is not ended by `.`; write one behind it"
            self._fault(self._start, "unfinished", message, until=len(text))

    def _opening(self, position: int) -> int:
        """Skip to where a statement begins: its label and a directive's IRI are read here."""
        text = self._bare
        space = re.compile(r"\s*").match(text, position)
        position = space.end() if space else position
        if position < len(text):
            if not self._plain and (label := _LABEL.match(text, position)):
                self._label = label.group(1), position
                position = label.end()
            self._start = position
            if iri := _DIRECTIVE_IRI.match(text, position):
                position = iri.end()
        return position

    def _statement(self, index: int, end: int) -> Statement:
        text = self._bare[self._start : index]
        label, at = self._label or (None, self._start)
        return Statement(text, self._start, end, index, label, at)

    def _take(self, token: re.Match[str], index: int) -> bool:
        """Note a token; whether it ends the statement."""
        kind = token.lastgroup
        if kind == "open":
            self._open(token.group(), index)
        elif kind == "close":
            self._close(token.group(), index)
        elif kind == "operator":
            self._operator(index)
        elif kind == "end":
            return self._is_stop(index)
        elif kind == "semicolon" and not self._plain and self._is_end(token.end()):
            return True
        elif kind in ("comma", "semicolon") and all(b == "{" for b, _ in self._brackets):
            self._operators = 0
        return False

    def _fault(self, index: int, code: str, message: str, until: int | None = None) -> None:
        """Note the statement's first fault; what follows in it is likely its consequence."""
        if self._sound and not self._is_flawed(index if until is None else until):
            self._source.fault(index, code, message)
        self._sound = False

    def _is_flawed(self, until: int) -> bool:
        """Whether a string or character of the statement is at fault."""
        place = bisect_left(self._flaws, self._start)
        return place < len(self._flaws) and self._flaws[place] < until

    def _open(self, bracket: str, index: int) -> None:
        self._brackets.append((bracket, index))
        if len(self._brackets) > MAX_BRACKETS:
            self._fault(
                index, "nesting", f"more than {MAX_BRACKETS} brackets are open here; nest less"
            )

    def _close(self, bracket: str, index: int) -> None:
        if not self._brackets:
            self._fault(index, "bracket", f"`{bracket}` closes nothing; remove it")
        elif self._brackets[-1][0] == _PAIR[bracket]:
            self._brackets.pop()
        elif any(opened == _PAIR[bracket] for opened, _where in self._brackets):
            opened, where = self._brackets[-1]
            message = f"`{opened}` is not closed before `{bracket}`; write `{_CLOSING[opened]}`"
            self._fault(where, "bracket", f"{message} behind its content")
            # As if the missing ones were there: one slip, one fault.
            while self._brackets.pop()[0] != _PAIR[bracket]:
                pass
        else:
            opened, where = self._brackets.pop()
            place = self._source.location(where)
            message = f"`{bracket}` does not close the `{opened}` in line {place.line}, column "
            self._fault(index, "bracket", f"{message}{place.column}; write `{_CLOSING[opened]}`")

    def _unclosed(self, until: int) -> None:
        """The innermost bracket is still open where its statement ends."""
        opened, where = self._brackets[-1]
        more = len(self._brackets) - 1
        besides = f"; {more} before it {'is' if more == 1 else 'are'} not closed either"
        message = (
            f"`{opened}` is not closed in its statement; write `{_CLOSING[opened]}` behind its "
            f"content{besides if more else ''}"
        )
        self._fault(where, "bracket", message, until=until)

    def _operator(self, index: int) -> None:
        self._operators += 1
        if self._operators > MAX_OPERATORS:
            self._fault(
                index,
                "nesting",
                f"more than {MAX_OPERATORS} operators in one literal; split it over several rules",
            )

    def _is_stop(self, index: int) -> bool:
        """Whether the `.` at `index` ends the statement, or is the point of a decimal."""
        if index == self._start:
            self._fault(index, "syntax", "there is no statement before this `.`; remove it")
        measures = _MEASURES.match(self._bare, self._start)
        if not self._brackets and not measures:
            return True
        if decimal := decimal_at(self._bare, index):
            if measures:  # the directive's reader knows what should stand there
                return False
            said = not_a_number(decimal[0], in_window=self._brackets[-1][0] == "[")
            self._fault(decimal[1], "decimal", said)
            return False
        if not self._brackets:
            return True
        self._unclosed(index)
        return True

    def _is_end(self, after: int) -> bool:
        """Whether the `;` just read ends the statement."""
        if self._brackets:
            return False
        following = re.compile(r"[^\S\n]*(\n\s*)?").match(self._bare, after)
        assert following is not None
        if following.end() == len(self._bare):
            return True
        if following.group(1) is None:
            return False
        # clingo's own `;` separates literals, and the thesis ends statements by it. The line
        # after tells them apart: what belongs to the statement is indented deeper.
        return self._source.indent(following.end()) <= self._source.indent(self._start)


def split(source: Source, bare: str, *, plain: bool = False) -> Iterator[Statement]:
    """The statements of `bare`, which is `source` without comments; faults go to `source`."""
    return Splitter(source, bare, plain=plain).statements()


def decimal_at(text: str, index: int) -> tuple[str, int] | None:
    """The decimal whose point stands at `index`, and where it begins."""
    # A bounded look back, since it is asked for every point.
    before = re.compile(r"(?<![\w.])[0-9]+$").search(text, max(0, index - 40), index)
    after = re.compile(r"\.[0-9]+").match(text, index)
    if before and after:
        return before.group() + after.group(), before.start()
    return None


def not_a_number(decimal: str, *, in_window: bool = False) -> str:
    """What to say of a decimal in a rule, or in the brackets of a window or weight."""
    if in_window:
        return f"`{decimal}`: expected a whole number in `[…]`"
    places = 10 ** len(decimal.partition(".")[2])
    return (
        f"`{decimal}`: rules compute with whole numbers only; declare `#scale predicate "
        f"{places}.` for the predicate it is compared with and write {decimal.replace('.', '')}"
    )


def _tail(text: str, start: int, after: int) -> int:
    """The end of a statement, its weight or type in `[…]` included."""
    if not text.startswith(_TAILED, start):
        return after
    tail = _TAIL.match(text, after)
    return tail.end() if tail else after


_ARGUMENT = r"""-?(?:0|[1-9][0-9]*)\b|_*[a-z][A-Za-z0-9_']*|"(?:[^"\\\n]|\\["\\n])*\""""
_FACT = re.compile(
    rf"(-?_*[a-z][A-Za-z0-9_']*)(?:\(\s*((?:{_ARGUMENT})(?:\s*,\s*(?:{_ARGUMENT}))*)\s*\))?\s*\Z"
)
_ARGUMENTS = re.compile(_ARGUMENT)


@dataclass(frozen=True)
class FactCount:
    """How many plain facts of a predicate there are, and the index of the first."""

    first: int
    count: int


def is_plain_fact(statement: Statement) -> bool:
    """Whether a statement is an atom of plain arguments."""
    fact = _FACT.match(statement.text)
    return fact is not None and fact.group(1) != "not"


def separate(rules: str, statements: Iterable[Statement]) -> tuple[str, dict[Signature, FactCount]]:
    """`rules` with the plain facts blanked, and how many of each predicate there were."""
    pieces: list[str] = []
    position = 0
    found: dict[Signature, FactCount] = {}
    for statement in statements:
        fact = _FACT.match(statement.text)
        if fact is None or fact.group(1) == "not":
            continue
        signature = Signature(fact.group(1), len(_ARGUMENTS.findall(fact.group(2) or "")))
        before = found.get(signature, FactCount(statement.start, 0))
        found[signature] = FactCount(before.first, before.count + 1)
        # Blanked, not cut out: positions in what is left are those of the text.
        pieces += rules[position : statement.start], blanked(rules[statement.start : statement.end])
        position = statement.end
    return "".join((*pieces, rules[position:])), found
