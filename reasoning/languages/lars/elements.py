"""The parts of a rule of plain LARS: what clingo reads of it, and what is ours.

What clingo reads stays at its place in the text and the rest is blanked, so that its
messages point at the source: of `@T a(X) [3]` it sees `   a(X)    `.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from citywise.reasoning.asp.statements import Source, Statement, blanked
from citywise.reasoning.errors import RequestError

ElementKind = Literal["plain", "at", "diamond", "box", "since", ">=", "<=", "="]
"""Of an element; comparators count points of time, `plain` is an atom now or a comparison."""

_OPAQUE = re.compile(r'"(?:[^"\\\n]|\\.)*"|[()\[\]{}]')
_NOT = re.compile(r"not(?![\w'])\s*")
_OPERATOR = re.compile(r"(<>|\[_*\]|@)\s*")
_SUGAR = re.compile(r"(?<=[\w')])\s*(?<![\w'])(at\s+least|at\s+most|count|always)(?![\w'])")
_SINCE = re.compile(r"(?<![\w'])since(?![\w'])")
_SINCE_AMID = re.compile(r"(?<=[\w')\]])\s*(?<![\w'])since\s+(?=<>|\[|@|-?\s*_*[A-Za-z])")
_ATOM = re.compile(r"(?<![\w'])(?:-\s*)?_*[a-z][A-Za-z0-9_']*\s*(?:\([^()]*\))?\Z")
_FRONT = re.compile(r"(?:<>|\[\s*\])?\s*\[\s*#?\s*\w[^\]]*\]\s*[^\s,;.]")
_NAMED: dict[str, ElementKind] = {"<": "diamond", "[": "box", "@": "at"}
_COUNTING: dict[str, ElementKind] = {"least": ">=", "most": "<=", "count": "=", "always": "box"}
_NOT_PLAIN = (
    (re.compile(r"#(?:count|sum\+?|min|max)(?!\w)"), "an aggregate"),
    (re.compile(r"\{"), "a choice or an aggregate"),
    (re.compile(r":(?!-)"), "a condition"),
)
_CURES = {
    "an aggregate": "count points of time with `p(X) at least 3 [20 m]`",
    "a choice or an aggregate": "write alternatives with `not`",
    "a condition": "define a predicate for what holds under it",
    "a disjunction": "write alternatives with `not`: `a :- not b.` and `b :- not a.`",
}


@dataclass(frozen=True)
class TextSpan:
    """A part of the source: the index where it begins, and its text."""

    start: int
    text: str

    @property
    def flat(self) -> str:
        """Its text with all that stands in brackets and strings as `_`."""
        return _flat(self.text)

    def part(self, start: int, end: int | None = None) -> TextSpan:
        """A part of it, without the white space around it."""
        text = self.text[start:end]
        return TextSpan(self.start + start + len(text) - len(text.lstrip()), text.strip())


@dataclass(frozen=True)
class WrittenElement:
    """An element of a body, or a head: what clingo reads of it is `literal`."""

    kind: ElementKind
    whole: TextSpan
    literal: TextSpan
    """The atom or comparison, without `not`."""
    negation: TextSpan | None = None
    """The `not` before it."""
    time: TextSpan | None = None
    """The term behind `@`."""
    number: TextSpan | None = None
    """The term behind `at least`, `at most` or `count`."""
    keyword: TextSpan | None = None
    """The `since` between two atoms."""
    window: TextSpan | None = None
    """What stands in the brackets behind it."""

    @property
    def read(self) -> str:
        """What clingo reads for `literal`: for `since`, which it has not, two literals, of which
        the second is negated as the first is."""
        if self.keyword is None:
            return self.literal.text
        cut = self.keyword.start - self.literal.start
        between = ", not" if self.negation else ",".ljust(len(self.keyword.text))
        return f"{self.literal.text[:cut]}{between}{self.literal.text[cut + len(between) :]}"

    @property
    def literals(self) -> int:
        """How many literals that is."""
        return 1 if self.keyword is None else 2


@dataclass(frozen=True)
class WrittenRule:
    """A rule as it is written; `head` is None in a constraint."""

    statement: Statement
    head: WrittenElement | None
    body: tuple[WrittenElement, ...]

    @property
    def seen(self) -> str:
        """What clingo reads: the statement's text with what is ours blanked."""
        pieces, position, text = [], 0, self.statement.text
        for element in (*([self.head] if self.head else ()), *self.body):
            negation = element.negation
            read = [] if negation is None else [(negation.start, negation.text)]
            for place, seen in (*read, (element.literal.start, element.read)):
                start = place - self.statement.start
                pieces += [self._between(position, start, element), seen]
                position = start + len(seen)
            end = element.whole.start + len(element.whole.text) - self.statement.start
            pieces.append(blanked(text[position:end]))
            position = end
        return "".join((*pieces, text[position:]))

    def _between(self, start: int, end: int, element: WrittenElement) -> str:
        """What stands before a part of an element: separators stay, what is ours does not."""
        text, begin = self.statement.text, element.whole.start - self.statement.start
        cut = max(start, begin)
        return text[start:cut] + blanked(text[cut:end])


def written(source: Source, statement: Statement) -> WrittenRule | None:
    """Read a rule; notes everything that is wrong with it and is None then."""
    faults = len(source.faults)
    text = TextSpan(statement.start, statement.text)
    flat = text.flat
    implied = flat.find(":-")
    head = _noted(source, _head, text.part(0, implied if implied >= 0 else None))
    parts = _parts(text, flat, implied + 2) if implied >= 0 else ()
    body = [_noted(source, _element, part) for part in parts]
    if len(source.faults) > faults:
        return None
    return WrittenRule(statement, head, tuple(element for element in body if element is not None))


def _parts(text: TextSpan, flat: str, start: int) -> Iterator[TextSpan]:
    """The elements of a body, empty ones too where there are several."""
    if not flat[start:].strip():
        return
    cuts = [start + match.start() for match in re.finditer("[,;]", flat[start:])]
    for begin, end in zip([start, *(cut + 1 for cut in cuts)], [*cuts, len(flat)], strict=True):
        yield text.part(begin, end)


def _flat(text: str) -> str:
    pieces, position, depth = [], 0, 0
    for token in _OPAQUE.finditer(text):
        found, between = token.group(), text[position : token.start()]
        pieces.append("_" * len(between) if depth else between)
        depth += (found in "([{") - (found in ")]}")
        outermost = depth == (found in "([{") and found[0] != '"'
        pieces.append(found if outermost else "_" * len(found))
        position = token.end()
    return "".join((*pieces, text[position:]))


def _noted(
    source: Source, read: Callable[[Source, TextSpan], WrittenElement | None], span: TextSpan
) -> WrittenElement | None:
    try:
        return read(source, span)
    except RequestError as error:
        source.note(span.start, error)
        return None


def _head(source: Source, whole: TextSpan) -> WrittenElement | None:
    """The head of a rule; None where there is none."""
    if not whole.text:
        return None
    flat = whole.flat
    if re.search(r"[,;|]", flat):
        raise _not_plain(source, whole, "a disjunction")
    _refuse_foreign(source, whole)
    if _NOT.match(flat):
        message = "a head does not begin with `not`; write a constraint: `:- a, body.`"
        raise source.error(whole.start, "head", message)
    operator = _OPERATOR.match(flat)
    ours = _SUGAR.search(flat) or _keyword(flat) is not None
    if flat.endswith("]") or (operator and operator[1] != "@") or ours:
        message = "a head is `a(X)` or `@T a(X)`, without a window; windows stand in bodies"
        raise source.error(whole.start, "head", message)
    if operator:
        time, atom = _timed(source, whole, whole.part(operator.end()))
        return WrittenElement("at", whole, atom, time=time)
    return WrittenElement("plain", whole, whole)


def _element(source: Source, whole: TextSpan) -> WrittenElement:
    """An element of a body."""
    _refuse_foreign(source, whole)
    negation, rest = _negation(source, whole)
    operator = _OPERATOR.match(rest.flat)
    if operator is not None:
        _check_front(source, whole, rest)
        rest = rest.part(operator.end())
    window, rest = _window(source, rest)
    if operator is None and (keyword := _since(source, whole, rest)) is not None:
        if window is None:
            raise _windowless(source, whole)
        return WrittenElement("since", whole, rest, negation, window=window, keyword=keyword)
    sugar = _SUGAR.search(rest.flat)
    if operator is not None:
        kind = _NAMED[operator[1][0]]
        return _operated(source, WrittenElement(kind, whole, rest, negation, window=window))
    if sugar is not None:
        return _counted(source, WrittenElement("plain", whole, rest, negation, window=window))
    if window is not None and not _ATOM.fullmatch(rest.flat):
        message = (
            f"`{_short(whole)}`: expected an operator of plain LARS: `<> a(X) [3]`, `[] a(X) [3]`, "
            "`@T a(X) [3]`, `a(X) always [3]`, `a(X) at least 3 [3]` (`at most`, `count`), or "
            "`a(X) since b(X) [3]`"
        )
        raise source.error(whole.start, "operator", message)
    if window is not None:
        message = (
            f"`{_short(whole)}` has a window but no operator: write `<> {_short(rest)} [..]` for "
            "at some point of its time, `[] ..` for at all of them, or `@T ..`"
        )
        raise source.error(whole.start, "operator", message)
    return WrittenElement("plain", whole, rest, negation)


def _keyword(flat: str) -> int | None:
    """Where the `since` between two atoms begins."""
    for found in _SINCE.finditer(flat):
        before, after = flat[: found.start()].rstrip(), flat[found.end() :].lstrip()
        if _ATOM.fullmatch(before) and _ATOM.fullmatch(after):
            return found.start()
    return None


def _since(source: Source, whole: TextSpan, rest: TextSpan) -> TextSpan | None:
    """The `since` between two atoms; None where there is no such keyword."""
    start = _keyword(rest.flat)
    if start is not None:
        return TextSpan(rest.start + start, "since")
    if _SINCE_AMID.search(rest.flat):
        message = (
            f"`{_short(whole)}`: `since` stands between two atoms: `p(X) since q(X) [5]`, with "
            "`not` before both; give another formula a rule of its own, and use its head"
        )
        raise source.error(rest.start, "operator", message)
    return None


def _check_front(source: Source, whole: TextSpan, rest: TextSpan) -> None:
    """Refuse a window that stands before what it is of."""
    if _FRONT.match(rest.text):
        message = f"`{_short(whole)}`: a window stands at the end: `<> a(X) [3]`"
        raise source.error(rest.start, "window", message)


def _negation(source: Source, whole: TextSpan) -> tuple[TextSpan | None, TextSpan]:
    negated = _NOT.match(whole.text)
    if negated is None:
        return None, whole
    rest = whole.part(negated.end())
    if _NOT.match(rest.text):
        message = "`not not` is no plain LARS; leave both out, or negate another predicate"
        raise source.error(rest.start, "operator", message)
    return whole.part(0, negated.end()), rest


def _window(source: Source, rest: TextSpan) -> tuple[TextSpan | None, TextSpan]:
    """What stands in the brackets at the end, and what is before them."""
    flat = rest.flat
    if not flat.endswith("]"):
        return None, rest
    opening = flat.rfind("[")
    before = rest.part(0, opening)
    if before.flat.endswith("]"):
        raise _nested(source, before)
    return TextSpan(rest.start + opening + 1, rest.text[opening + 1 : -1]), before


def _operated(source: Source, found: WrittenElement) -> WrittenElement:
    """An element that begins with an operator."""
    atom, time = found.literal, None
    if _SINCE_AMID.search(atom.flat):
        raise _nested(source, atom)
    if found.kind == "at":
        time, atom = _timed(source, found.whole, atom)
    inner = _flat(atom.text.lstrip("( \n"))
    if _NOT.match(inner):
        message = f"`{_short(found.whole)}`: write `not` before the operator: `not <> a(X) [3]`"
        raise source.error(atom.start, "operator", message)
    if _OPERATOR.match(inner):
        raise _nested(source, atom)
    if not _ATOM.fullmatch(atom.flat):
        message = f"`{_short(found.whole)}`: expected one atom behind its operator"
        raise source.error(atom.start, "operator", f"{message}, e.g. `<> a(X) [3]`")
    if found.window is None and found.kind != "at":
        raise _windowless(source, found.whole)
    return replace(found, literal=atom, time=time)


def _counted(source: Source, found: WrittenElement) -> WrittenElement:
    """`a(X) at least 3 [20 m]` and its like."""
    flat = found.literal.flat
    sugar = _SUGAR.search(flat)
    assert sugar is not None
    if found.window is None:
        raise _windowless(source, found.whole)
    word, number = sugar[1].split()[-1], found.literal.part(sugar.end())
    if (word == "always") == bool(number.text):
        wants = "no number" if number.text else "a number of points of time"
        message = f"`{_short(found.whole)}`: `{sugar[1]}` takes {wants} before its window"
        raise source.error(number.start, "operator", message)
    atom, given = found.literal.part(0, sugar.start()), number if number.text else None
    return replace(found, kind=_COUNTING[word], literal=atom, number=given)


def _timed(source: Source, whole: TextSpan, rest: TextSpan) -> tuple[TextSpan, TextSpan]:
    """The term behind `@`, and the atom."""
    atom = _ATOM.search(rest.flat)
    time = rest.part(0, atom.start() if atom else None)
    if atom is None or not time.text:
        if _OPERATOR.search(rest.flat):
            raise _nested(source, rest)
        message = f"`{_short(whole)}`: expected a time and an atom behind `@`, e.g. `@T a(X) [3]`"
        raise source.error(whole.start, "time", message)
    if operator := _OPERATOR.search(time.flat):
        raise _nested(source, rest.part(operator.start()))
    return time, rest.part(atom.start())


def _refuse_foreign(source: Source, whole: TextSpan) -> None:
    for pattern, what in _NOT_PLAIN:
        if pattern.search(whole.flat):
            raise _not_plain(source, whole, what)


def _not_plain(source: Source, whole: TextSpan, what: str) -> RequestError:
    message = (
        f"`{_short(whole)}` is {what}, which plain LARS has not; {_CURES[what]}, or write a "
        "C-ASP request (`.casp`)"
    )
    return source.error(whole.start, "plain", message)


def _nested(source: Source, inner: TextSpan) -> RequestError:
    message = (
        f"`{_short(inner)}`: plain LARS nests no windows and operators; give the inner formula a "
        "rule of its own, e.g. `b(X) :- <> a(X) [3].`, and use its head"
    )
    return source.error(inner.start, "nested", message)


def _windowless(source: Source, whole: TextSpan) -> RequestError:
    message = (
        f"`{_short(whole)}` has no window: write e.g. `[3]` (points of time), `[20 m]` or `[#5]` "
        "(input atoms) behind it"
    )
    return source.error(whole.start, "window", message)


def _short(span: TextSpan) -> str:
    text = " ".join(span.text.split())
    return text if len(text) <= 60 else f"{text[:59]}…"
