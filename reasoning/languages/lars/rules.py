"""Rules of plain LARS: what clingo read of them and what is ours, put together.

`window` reads what is in brackets (`3`, `20 m`, `#5`, or a name of `#const`), `RuleReader` a rule.
`alternatives` gives the rules that one with pools and intervals stands for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import prod

from clingo import Number
from clingo.ast import (
    AST,
    ASTType,
    Pool,
    Sign,
    SymbolicTerm,
    Transformer,
    parse_string,
)

from citywise.reasoning.asp.statements import Source, Statement
from citywise.reasoning.asp.syntax import ANONYMOUS, ForeignTermError, Node, Terms, copy
from citywise.reasoning.asp.translation.bodies import COMPARATORS
from citywise.reasoning.errors import RequestError
from citywise.reasoning.languages.casp.directives import LARGEST
from citywise.reasoning.languages.lars.bodies import message, solved, unsafe
from citywise.reasoning.languages.lars.elements import TextSpan, WrittenElement, WrittenRule
from citywise.reasoning.languages.lars.program import (
    At,
    Atom,
    BodyElement,
    Box,
    Counted,
    Diamond,
    LarsRule,
    LarsWindow,
    LastTuples,
    Now,
    Since,
    TimeSpan,
)
from citywise.reasoning.model.rules import Compare
from citywise.reasoning.model.values import Constant, Term, Value

MAX_FACTS, MAX_RULES = 10_000, 500
"""That one statement may stand for: without a body, and with one."""


class TooManyError(Exception):
    """A statement stands for more rules than are read."""


def alternatives(rule: Node, constants: Mapping[str, Value]) -> tuple[Node, ...]:
    """The rules that a rule with pools and intervals stands for, as clingo reads them.

    Raises `ForeignTermError` for an interval whose ends are no numbers, and `TooManyError`.
    """
    ranges = _ranges(rule, constants)
    pools = [len(node.many("arguments")) for node in rule.walk() if node.kind == ASTType.Pool]
    if not ranges and not pools:
        return (rule,)
    most = MAX_RULES if rule.many("body") else MAX_FACTS
    if prod((*map(len, ranges), *pools)) > most:
        raise TooManyError(
            f"the pools and intervals of this statement make more than {most:,} rules"
        )
    if not all(map(len, ranges)):
        return ()
    tree = _Ranges(ranges).visit(rule.origin) if ranges else rule.origin
    return tuple(map(copy, tree.unpool()))


def _ranges(rule: Node, constants: Mapping[str, Value]) -> list[range]:
    """The numbers of each interval, from left to right."""
    found = []
    for node in rule.walk():
        if node.kind == ASTType.Interval:
            left, right = (Terms(constants).read(node.one(end)) for end in ("left", "right"))
            match left, right:
                case Constant(int(first)), Constant(int(last)):
                    found.append(range(first, last + 1))
                case _:
                    raise ForeignTermError(node, "an interval")
    return found


class _Ranges(Transformer):
    """Replaces intervals, from left to right, by pools of their numbers."""

    def __init__(self, ranges: list[range]) -> None:
        self._ranges = iter(ranges)

    def visit_Interval(self, interval: AST) -> AST:  # noqa: N802  clingo's name
        """The pool of an interval."""
        place = interval.location
        return Pool(place, [SymbolicTerm(place, Number(n)) for n in next(self._ranges)])


_SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_SIZE = r"(?:(-?\s*[0-9]+)|(_*[a-z][A-Za-z0-9_']*)(?=\s|\.|\Z))\s*([A-Za-z_]\w*)?\s*"
_WINDOW = re.compile(rf"\s*(?:{_SIZE}(\.\.)|(#))?\s*{_SIZE}\Z")


def window(source: Source, span: TextSpan, constants: Mapping[str, Value]) -> LarsWindow:
    """The window in brackets; raises `RequestError` for what is none."""
    match = _WINDOW.match(span.text)
    if match is None:
        raise _error(source, span, f"`[{span.text.strip()}]` is no window")
    near_digits, near_name, near_unit, dots, tuples, digits, name, unit = match.groups()
    size = _size(source, span, digits, name, constants)
    if tuples:
        return _last(source, span, size, unit)
    size *= _seconds(source, span, unit)
    gap = _size(source, span, near_digits, near_name, constants) if dots else 0
    gap *= _seconds(source, span, near_unit or unit)
    if not 0 <= size <= LARGEST:
        raise _error(source, span, f"a window of {size:,} points of time is too {_how(size)}")
    if not 0 <= gap <= size:
        what = f"a window from {gap:,} to {size:,} points of time ago is none"
        raise _error(source, span, f"{what}: 0 <= {gap:,} <= {size:,} does not hold")
    return TimeSpan(size, gap)


def _size(
    source: Source, span: TextSpan, digits: str | None, name: str, constants: Mapping[str, Value]
) -> int:
    """A number of a window, or the one that a constant stands for."""
    return int("".join(digits.split())) if digits else _constant(source, span, name, constants)


def _seconds(source: Source, span: TextSpan, unit: str | None) -> int:
    if unit is not None and unit not in _SECONDS:
        raise _error(source, span, f"`{unit}` is no unit of time")
    return _SECONDS[unit or "s"]


def _last(source: Source, span: TextSpan, size: int, unit: str | None) -> LastTuples:
    """A window of the last input atoms, at least one."""
    if unit is not None:
        raise _error(source, span, f"`#{size}` counts input atoms, which have no unit")
    if not 1 <= size <= LARGEST:
        raise _error(source, span, f"a window of {size:,} input atoms is too {_how(size)}")
    return LastTuples(size)


def _constant(source: Source, span: TextSpan, name: str, constants: Mapping[str, Value]) -> int:
    value = constants.get(name)
    if isinstance(value, int):
        return value
    raise _error(source, span, f"`{name}` is no number; define it, e.g. `#const {name} = 10`")


def _how(size: int) -> str:
    return "large" if size > 0 else "small"


def _error(source: Source, span: TextSpan, what: str) -> RequestError:
    hint = (
        "write `[3]` (points of time), `[20 m]` (s, m, h, d), `[5..20 m]` (5 to 20 minutes ago) "
        "or `[#5]` (input atoms)"
    )
    start = span.start + len(span.text) - len(span.text.lstrip())
    return source.error(start, "window", f"{what}; {hint}")


_CURES = {
    "an interval": "its ends are to be numbers; compare instead, `1 <= X, X <= N`",
    "a pool": "write a rule for each of its alternatives",
    "an external function": "a program runs no scripts; compute with rules",
}


class RuleReader:
    """Turns one written rule and clingo's tree of it into a rule of the model."""

    def __init__(
        self, source: Source, written: WrittenRule, constants: Mapping[str, Value]
    ) -> None:
        self._source = source
        self._written = written
        self._constants = constants
        self._terms = Terms(constants)

    def read(self, tree: Node) -> Iterator[LarsRule]:
        """The rule, or those that its pools and intervals stand for; none, and a fault, if
        something in it is no plain LARS."""
        start, faults = self._written.statement.start, len(self._source.faults)
        try:
            for alternative in alternatives(tree, self._constants):
                yield self._checked(solved(self._rule(alternative)))
                if len(self._source.faults) > faults:
                    return
        except ForeignTermError as error:
            text = f"{error}, which plain LARS has not; {_CURES[error.what]}"
            self._source.fault(self._index(error.node), "plain", text)
        except TooManyError as error:
            self._source.fault(start, "pools", f"{error}; write `p(X)` and facts for `X`")
        except RequestError as error:
            self._source.note(start, error)

    def _rule(self, tree: Node) -> LarsRule:
        statement = self._written.statement
        self._terms = Terms(self._constants)
        literals = iter(tree.many("body"))
        parts = [(part, list(islice(literals, part.literals))) for part in self._written.body]
        if any(len(nodes) != part.literals for part, nodes in parts) or next(literals, None):
            message = "a `;` or `,` between `|` separates no elements; write two rules"
            raise self._source.error(statement.start, "plain", message)
        time, head = self._head(tree.one("head"))
        body = tuple(found for part, nodes in parts for found in self._element(part, nodes))
        line = self._source.location(statement.start).line
        return LarsRule(head, time, body, line, statement.label or "")

    # -- parts ----------------------------------------------------------------------

    def _head(self, node: Node) -> tuple[Term | None, Atom | None]:
        part = self._written.head
        if part is None:
            return None, None
        time = self._time(part.time) if part.time else None
        atom = node.parts.get("atom")
        if not isinstance(atom, Node) or atom.kind != ASTType.SymbolicAtom:
            raise self._error(part, "head", "a head is an atom: `a(X)` or `@T a(X)`")
        return time, self._atom(atom)

    def _element(self, part: WrittenElement, nodes: Sequence[Node]) -> Iterator[BodyElement]:
        """The element of a body; several for a chain of comparisons."""
        negated = part.negation is not None
        if part.kind == "since":
            yield BodyElement(self._since(part, *nodes), negated)
            return
        (node,) = nodes
        atom = node.parts.get("atom")
        if not isinstance(atom, Node) or atom.kind not in (
            ASTType.SymbolicAtom,
            ASTType.Comparison,
        ):
            raise self._error(part, "plain", "expected an atom or a comparison")
        if node.origin.sign == Sign.DoubleNegation:
            raise self._error(part, "operator", "`not not` is no plain LARS; leave both out")
        if atom.kind == ASTType.SymbolicAtom:
            yield BodyElement(self._formula(part, atom), negated)
            return
        found = list(self._comparisons(atom))
        if negated and len(found) > 1:
            raise self._error(part, "operator", "`not` stands before one comparison, not a chain")
        yield from (BodyElement(comparison, negated) for comparison in found)

    def _comparisons(self, node: Node) -> Iterator[Compare]:
        left = self._terms.read(node.one("term"))
        for guard in node.many("guards"):
            right = self._terms.read(guard.one("term"))
            yield Compare(COMPARATORS[int(guard.origin.comparison)], left, right)
            left = right

    def _formula(self, part: WrittenElement, node: Node) -> Now | At | Diamond | Box | Counted:
        if part.kind == "plain":
            return Now(self._atom(node))
        if part.kind == "at":
            assert part.time is not None
            time = self._time(part.time)
            return At(time, self._atom(node), self._window(part) if part.window else None)
        atom = self._atom(node)
        if part.kind == "diamond":
            return Diamond(atom, self._window(part))
        if part.kind == "box":
            return Box(atom, self._window(part))
        assert part.number is not None
        assert part.kind != "since"
        return Counted(atom, part.kind, self._number(part.number, "number"), self._window(part))

    def _since(self, part: WrittenElement, *nodes: Node) -> Since:
        held, begun = (self._atom(node.one("atom")) for node in nodes)
        window = self._window(part)
        if isinstance(window, LastTuples):
            message = "`since` takes a window of time, e.g. `[5]` or `[20 m]`"
            raise self._error(part, "window", message)
        return Since(held, begun, window)

    def _window(self, part: WrittenElement) -> LarsWindow:
        assert part.window is not None
        return window(self._source, part.window, self._constants)

    def _atom(self, node: Node) -> Atom:
        symbol, sign = node.one("symbol"), ""
        while symbol.kind == ASTType.UnaryOperation:
            symbol, sign = symbol.one("argument"), "" if sign else "-"
        return Atom(sign + symbol.name, tuple(map(self._terms.read, symbol.children)))

    def _time(self, span: TextSpan) -> Term:
        return self._number(span, "time")

    def _number(self, span: TextSpan, code: str) -> Term:
        """A term that is to be an integer."""
        node = term_tree(span.text)
        if node is None:
            expected = "a number of points of time" if code == "number" else "a time"
            raise self._source.error(
                span.start, code, f"`{span.text}` is no term; expected {expected}, e.g. `T` or `5`"
            )
        try:
            term = self._terms.read(node)
        except ForeignTermError as error:
            what = f"`{span.text}` is {error.what}, which plain LARS has not"
            raise self._source.error(span.start, "plain", f"{what}; {_CURES[error.what]}") from None
        if isinstance(term, Constant) and not isinstance(term.value, int):
            wanted = "points of time are integers, and so are their numbers"
            raise self._source.error(span.start, code, f"`{span.text}` is no number; {wanted}")
        return term

    # -- faults ---------------------------------------------------------------------

    def _checked(self, rule: LarsRule) -> LarsRule:
        """The rule; a fault for each of its variables that nothing binds."""
        where = rule_of(self._source, self._written.statement)
        for name, reason in unsafe(rule).items():
            self._source.fault(self._place(name), "unsafe", message(name, reason, where))
        return rule

    def _place(self, name: str) -> int:
        """Where a variable stands first in the statement."""
        statement = self._written.statement
        word, count = name, 1
        if name.startswith(ANONYMOUS) and name[1:].isdigit():
            word, count = ANONYMOUS, int(name[1:])
        pattern = rf'"(?:[^"\\\n]|\\.)*"|(?<![\w\'])({re.escape(word)})(?![\w\'])'
        for match in re.finditer(pattern, statement.text):
            if match[1]:
                count -= 1
                if not count:
                    return statement.start + match.start()
        return statement.start

    def _index(self, node: Node) -> int:
        return self._source.index(node.line, node.column)

    def _error(self, part: WrittenElement, code: str, message: str) -> RequestError:
        shown = " ".join(part.whole.text.split())[:60]
        return self._source.error(part.whole.start, code, f"`{shown}`: {message}")


def rule_of(source: Source, statement: Statement) -> str:
    """How messages call a rule."""
    line = source.location(statement.start).line
    return (
        f"rule {statement.label} (line {line})" if statement.label else f"the rule of line {line}"
    )


def term_tree(text: str) -> Node | None:
    """The syntax tree of one term; None if the text is none."""
    found: list[Node] = []
    try:
        parse_string(f"x({text}).", lambda tree: found.append(copy(tree)), logger=_silent)
    except RuntimeError:
        return None
    rules = [node for node in found if node.kind == ASTType.Rule]
    symbols = [node for rule in rules for node in rule.walk() if node.kind == ASTType.SymbolicAtom]
    arguments = symbols[0].one("symbol").children if len(symbols) == 1 else ()
    return arguments[0] if len(arguments) == 1 else None


def _silent(_code: object, _message: str) -> None:
    """What clingo says of a term is said better by what asked for it."""
