"""Rules that may ground to far more than their data, or without end, and numbers that may become
larger than 32 bits (estimates).

What a stream delivers counts as large; what the text itself or a knowledge base lists, and
what is chosen or aggregated to a few atoms, is counted. Numbers of which nothing is known are
taken to be from 0 to 1,000.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import prod
from typing import TypeAlias

from clingo.ast import ASTType, BinaryOperator, ComparisonOperator, Sign, UnaryOperator

from citywise.reasoning.asp.dependencies import Dependencies, literals
from citywise.reasoning.asp.rules import atom_signatures, head_atoms
from citywise.reasoning.asp.syntax import Constants, Node, variables
from citywise.reasoning.errors import Finding
from citywise.reasoning.languages.casp.parsing import Reading
from citywise.reasoning.model.atoms import LARGEST, SMALLEST
from citywise.reasoning.model.request import Signature

LARGE = 1_000
"""Assumed number of atoms of a predicate that data supply."""
TOO_MANY = 1_000_000
"""Ground instances above which a rule is reported."""
_COUNTED = 10**15
"""Estimates above are not written out."""
_NAMED = 5
"""Atoms that a message lists."""
_FEW = 10
"""Assumed number of atoms that agree with a constant."""
_CHOICES = (ASTType.Aggregate, ASTType.HeadAggregate)
_GROWING = (ASTType.Function, ASTType.BinaryOperation, ASTType.UnaryOperation)
_BOUNDS = {
    ComparisonOperator.LessThan,
    ComparisonOperator.LessEqual,
    ComparisonOperator.GreaterThan,
    ComparisonOperator.GreaterEqual,
}
_UPPER = {ComparisonOperator.LessThan, ComparisonOperator.LessEqual, ComparisonOperator.Equal}


def suspects(
    reading: Reading, dependencies: Dependencies, given: Mapping[Signature, int]
) -> Iterator[Finding]:
    """Rules that look explosive, each with the reason.

    `given` has the numbers of atoms that knowledge bases or whoever runs the text supply.
    """
    counts = Counter(given)
    counts.update({s: f.count for s, f in reading.facts.items()})
    sizes = Sizes(reading.rules, counts)
    for rule in reading.rules:
        for code, message in (
            *_intervals(rule, sizes),
            *_products(rule, sizes),
            *_unbounded(rule, dependencies),
        ):
            index = reading.source.index(rule.line, rule.column)
            yield Finding(reading.source.location(index), "warning", code, message)


class Sizes:
    """Estimated numbers of atoms for the predicates of a program."""

    def __init__(self, statements: Sequence[Node], facts: Mapping[Signature, int]) -> None:
        self._constants = Constants(statements)
        self._rules: dict[Signature, list[Node]] = {}
        for statement in statements:
            for atom in head_atoms(statement):
                for signature in atom_signatures(atom):
                    self._rules.setdefault(signature, []).append(statement)
        self._known = {s: count for s, count in facts.items() if s not in self._rules}
        changed = True
        while changed:
            changed = False
            for signature, rules in self._rules.items():
                if signature not in self._known and (size := self._sum(rules)) is not None:
                    self._known[signature] = size + facts.get(signature, 0)
                    changed = True

    def of(self, signature: Signature) -> int:
        """The estimate; `LARGE` for what data supply or nothing bounds."""
        return self._known.get(signature, LARGE)

    def interval(self, node: Node) -> int:
        """How many numbers an interval holds, if its ends are known; else 1."""
        left, right = (self._constants.number(node.one(end)) for end in ("left", "right"))
        return 1 if left is None or right is None else max(0, right - left + 1)

    def _sum(self, rules: Iterable[Node]) -> int | None:
        """Atoms that rules derive, if all they look at is known already."""
        total = 0
        for rule in rules:
            size = self._instances(rule)
            if size is None:
                return None
            total += size
        return min(total, TOO_MANY)

    def _instances(self, rule: Node) -> int | None:
        head = rule.one("head")
        if (bound := _upper_bound(head)) is not None and not _positive(rule):
            return bound
        if head.kind in _CHOICES:
            return None
        size = prod(self.interval(n) for n in head.walk() if n.kind == ASTType.Interval)
        for atom in _positive(rule):
            known = [self._known.get(s) for s in atom_signatures(atom)]
            if None in known:
                return None
            size *= sum(k or 0 for k in known)
        return size


def _upper_bound(head: Node) -> int | None:
    """The largest number of atoms a choice lets through: `1 { … } 1`."""
    guard = head.parts.get("right_guard") if head.kind in _CHOICES else None
    if not isinstance(guard, Node) or guard.origin.comparison not in _UPPER:
        return None
    text = str(guard.one("term"))
    return int(text) if re.fullmatch("[0-9]{1,6}", text) else None


def _positive(rule: Node) -> list[Node]:
    """The atoms that bind a rule's variables."""
    return [
        atom
        for part in rule.many("body")
        if part.kind == ASTType.Literal and part.one("atom").kind == ASTType.SymbolicAtom
        for atom, negative in literals([part])
        if not negative
    ]


def _intervals(rule: Node, sizes: Sizes) -> Iterator[tuple[str, str]]:
    found = [n for n in rule.walk() if n.kind == ASTType.Interval]
    size = prod(max(1, sizes.interval(n)) for n in found)
    if size > TOO_MANY:
        listed = _listed(" × ", (n for n in found if sizes.interval(n) > 1))
        message = (
            f"{listed} gives {_about(size)} instances of this rule; narrow it, or bind the "
            "variable by what the data hold"
        )
        yield "huge-interval", message


def _about(size: int) -> str:
    return f"{size:,}" if size <= _COUNTED else "more than 10^15"


def _listed(separator: str, nodes: Iterable[Node]) -> str:
    """The first few nodes, as text."""
    found = [f"`{node}`" for node in nodes]
    return separator.join([*found[:_NAMED], "…"] if len(found) > _NAMED else found)


def _products(rule: Node, sizes: Sizes) -> Iterator[tuple[str, str]]:
    """Bodies, and conditions in heads, that combine everything with everything."""
    bodies = [node.many("condition") for node in rule.walk()]
    for body in [rule.many("body"), *filter(None, bodies)]:
        parts = [p for p in _parts(body) if _size(p, sizes) > 1]
        total = prod(_size(p, sizes) for p in parts)
        if len(parts) > 1 and total >= TOO_MANY:
            listed = _listed(", ", (part[0] for part in parts))
            message = (
                f"no variable joins {listed}: every combination is an instance of this rule (some "
                f"{_about(total)} if data give {LARGE:,} atoms each); join them or split the rule"
            )
            yield "product", message
            return


def _parts(body: Iterable[Node]) -> list[list[Node]]:
    """The atoms of a body, those together that share variables, if only through others."""
    joined = _Joined()
    atoms: list[tuple[Node, set[str]]] = []
    for literal in body:
        if literal.kind != ASTType.Literal or literal.origin.sign != Sign.NoSign:
            continue
        atom = literal.one("atom")
        if atom.kind not in (ASTType.SymbolicAtom, ASTType.Comparison):
            continue
        names = variables(atom) - {"_"}
        joined.add(names)
        if atom.kind == ASTType.SymbolicAtom:
            atoms.append((atom, names))
    parts: dict[str | int, list[Node]] = {}
    for place, (atom, names) in enumerate(atoms):
        parts.setdefault(joined.first(min(names)) if names else place, []).append(atom)
    return list(parts.values())


class _Joined:
    """Sets of variables that are joined: each is known by one of its variables."""

    def __init__(self) -> None:
        self._towards: dict[str, str] = {}

    def add(self, names: Iterable[str]) -> None:
        """Join some variables, and all that are joined with them already."""
        firsts = [self.first(name) for name in names]
        self._towards.update(dict.fromkeys(firsts[1:], firsts[0]) if firsts else {})

    def first(self, name: str) -> str:
        """The variable by which the set of `name` is known."""
        way = [name]
        while (following := self._towards.get(way[-1], way[-1])) != way[-1]:
            way.append(following)
        self._towards.update(dict.fromkeys(way, way[-1]))
        return way[-1]


def _size(part: Iterable[Node], sizes: Sizes) -> int:
    """The smallest relation of a part whose atoms are joined."""
    return min(_matches(atom, sizes) for atom in part)


def _matches(atom: Node, sizes: Sizes) -> int:
    """Atoms that match: one if the atom is ground, few if a constant selects."""
    arguments = atom.one("symbol").many("arguments")
    if not variables(atom):
        return 1
    size = sum(sizes.of(s) for s in atom_signatures(atom))
    selective = any(argument.kind == ASTType.SymbolicTerm for argument in arguments)
    return min(size, _FEW) if selective else size


def _unbounded(rule: Node, dependencies: Dependencies) -> Iterator[tuple[str, str]]:
    """Recursion that makes new terms of old ones, with nothing to end it."""
    if rule.kind != ASTType.Rule:
        return
    for head in head_atoms(rule):
        heads = set(atom_signatures(head))
        recursive = [
            atom
            for atom in _positive(rule)
            if any(dependencies.together(h, s) for h in heads for s in atom_signatures(atom))
        ]
        fed = {v for atom in recursive for v in variables(atom)} - _bound(rule, recursive)
        grown = _grown(head, rule) & fed
        if grown:
            listed = ", ".join(f"`{name}`" for name in sorted(grown))
            through = _listed(", ", recursive)
            message = (
                f"`{head}` builds a new term from {listed} of {through}, on which it depends: "
                "this may never end; bound it, e.g. by a comparison"
            )
            yield "unbounded", message


def _bound(rule: Node, recursive: list[Node]) -> set[str]:
    """Variables that a comparison or an atom outside the recursion keeps finite."""
    free = [atom for atom in _positive(rule) if atom not in recursive]
    found = {v for atom in free for v in variables(atom)}
    equations = []
    for part in rule.many("body"):
        for node in part.walk():
            if node.kind == ASTType.Comparison:
                operators = {g.origin.comparison for g in node.many("guards")}
                if operators & _BOUNDS:
                    found |= variables(node)
                elif ComparisonOperator.Equal in operators:
                    equations.append(variables(node))
    for names in equations:
        if names & found:
            found |= names
    return found


def _grown(head: Node, rule: Node) -> set[str]:
    """Variables below a function or operation in the head, or in what the head is equal to."""
    found: set[str] = set()
    direct = set()
    for argument in head.one("symbol").many("arguments"):
        if argument.kind in _GROWING:
            found |= _unlimited(argument)
        direct |= _unlimited(argument)
    for part in rule.many("body"):
        for node in part.walk():
            if node.kind == ASTType.Comparison and variables(node) & direct:
                operations = [n for n in _walk_unlimited(node) if n.kind in _GROWING]
                found |= {v for n in operations for v in _unlimited(n)}
    return found


def _unlimited(term: Node) -> set[str]:
    """Variables of a term but those whose values a modulo limits."""
    return {node.name for node in _walk_unlimited(term) if node.kind == ASTType.Variable}


def _walk_unlimited(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        is_modulo = (
            node.kind == ASTType.BinaryOperation
            and node.origin.operator_type == BinaryOperator.Modulo
        )
        stack.extend([node.one("right")] if is_modulo else node.children)


Ranges: TypeAlias = Mapping[tuple[str, int], tuple[int, int]]
"""What is known of numbers: a predicate's name and a position among its arguments, from 0 on;
the least and the greatest value."""
_ORDINARY = 1_000
"""Assumed greatest value of a number of which nothing is known, before it is scaled."""
_SHOWN = 60
"""Characters of a term that a message shows."""
_COMPARED: Mapping[ComparisonOperator, tuple[int | None, int | None]] = {
    ComparisonOperator.LessThan: (None, -1),
    ComparisonOperator.LessEqual: (None, 0),
    ComparisonOperator.GreaterThan: (1, None),
    ComparisonOperator.GreaterEqual: (0, None),
    ComparisonOperator.Equal: (0, 0),
}
"""What is added to the other side's least value to have that of a variable, and to its greatest."""
_FLIPPED = {
    ComparisonOperator.LessThan: ComparisonOperator.GreaterThan,
    ComparisonOperator.LessEqual: ComparisonOperator.GreaterEqual,
    ComparisonOperator.GreaterThan: ComparisonOperator.LessThan,
    ComparisonOperator.GreaterEqual: ComparisonOperator.LessEqual,
}


@dataclass(frozen=True)
class _Span:
    """The values of a term: a least and a greatest, and whether they are more than assumed."""

    low: int
    high: int
    known: bool

    def __or__(self, other: _Span) -> _Span:
        low, high = min(self.low, other.low), max(self.high, other.high)
        return _Span(low, high, self.known and other.known)

    @property
    def size(self) -> int:
        """The greatest value either way."""
        return max(abs(self.low), abs(self.high))

    def at_most(self, limit: int) -> _Span:
        """Its values, none of them beyond a limit either way."""
        low, high = (min(max(end, -limit), limit) for end in (self.low, self.high))
        return replace(self, low=low, high=high)

    def narrowed(self, low: int | None, high: int | None) -> _Span:
        """Those that a comparison leaves. What it says counts more than what is assumed."""
        if self.known:
            least = self.low if low is None else max(self.low, low)
            greatest = self.high if high is None else min(self.high, high)
            return _Span(least, max(least, greatest), True)
        least = self.low if low is None else low
        greatest = max(self.high, least + _ORDINARY) if high is None else high
        return _Span(min(least, greatest), greatest, low is not None and high is not None)


_Spans: TypeAlias = Mapping[str, _Span]
_SOME = _Span(0, _ORDINARY, False)


def overflows(reading: Reading, ranges: Ranges) -> Iterator[Finding]:
    """Arithmetic over variables that ordinary values, or those of known ranges, take beyond 32
    bits. Both engines wrap there, as clingo does."""
    if any(_operations(rule) for rule in reading.rules):
        yield from _Numbers(reading, ranges).findings()


class _Numbers:
    """The values that the terms of a program may have, as far as constants, comparisons and known
    ranges say."""

    def __init__(self, reading: Reading, ranges: Ranges) -> None:
        self._reading = reading
        self._ranges = ranges
        self._constants = Constants(reading.rules)
        self._given = {*reading.facts, *reading.request.inputs}
        self._derived: dict[tuple[Signature, int], _Span] = {}
        # Twice, for rules that stand before those they rest on. What depends on itself need not
        # come to an end: its values are an estimate.
        for _ in range(2):
            self._derived = self._heads()

    def findings(self) -> Iterator[Finding]:
        """Each least part of a term that does not fit."""
        for rule in self._reading.rules:
            if operations := _operations(rule):
                spans, found = self._variables(rule), list[Node]()
                for node in operations:
                    self._span(node, spans, found.append)
                yield from (self._finding(node, spans) for node in found)

    def _finding(self, node: Node, spans: _Spans) -> Finding:
        source, end = self._reading.source, node.origin.location.end
        index = source.index(node.line, node.column)
        written = source.text[index : source.index(end.line, end.column)]
        written = written if len(written) <= _SHOWN else f"{written[:_SHOWN]}…"
        names = sorted(variables(node))
        listed = ", ".join(f"`{name}`" for name in names)
        most = self._largest(node, spans)
        known = [
            f"`{name}` goes from {spans[name].low} to {spans[name].high}"
            for name in names
            if name in spans and spans[name].known
        ]
        why = f" ({', '.join(known)})" if known else ""
        keep = f", or compare before, `{names[0]} <= {most}`" if most and len(names) == 1 else ""
        message = (
            f"`{written}` fits 32 bits only while {listed} {'is' if len(names) == 1 else 'are'} at "
            f"most {most}{why}; beyond that it wraps to another number: use a larger unit, divide "
            f"before you multiply{keep}"
        )
        return Finding(source.location(index), "warning", "overflow", message)

    def _largest(self, node: Node, spans: _Spans) -> int:
        """The largest value of its variables with which a term still fits."""
        given = {name: spans.get(name, _SOME) for name in variables(node)}
        low, high = 0, max(span.size for span in given.values())
        while low < high:
            middle = (low + high + 1) // 2
            below = {name: span.at_most(middle) for name, span in given.items()}
            if _fits(self._span(node, below)):
                low = middle
            else:
                high = middle - 1
        return low

    # -- variables ------------------------------------------------------------------

    def _heads(self) -> dict[tuple[Signature, int], _Span]:
        """The values of the arguments that rules derive."""
        found: dict[tuple[Signature, int], _Span] = {}
        for rule in self._reading.rules:
            spans: _Spans | None = None
            for signature, arguments in _arguments(head_atoms(rule)):
                if signature in self._given:
                    continue
                for place, argument in enumerate(arguments):
                    if spans is None:
                        spans = self._variables(rule)
                    span = _held(self._span(argument, spans))
                    before = found.get((signature, place), span)
                    found[signature, place] = before | span
        return found

    def _variables(self, rule: Node) -> _Spans:
        """The values of a rule's variables."""
        spans: dict[str, _Span] = {}
        for signature, arguments in _arguments(_positive(rule)):
            for place, argument in enumerate(arguments):
                if argument.kind == ASTType.Variable:
                    span = self._argument(signature, place)
                    before = spans.get(argument.name, span)
                    spans[argument.name] = before if before.known else span
        for _ in range(2):  # What one comparison says may bound what another compares with.
            for left, comparison, right in _comparisons(rule):
                self._narrow(spans, left, comparison, right)
                self._narrow(spans, right, _FLIPPED.get(comparison, comparison), left)
        return spans

    def _argument(self, signature: Signature, place: int) -> _Span:
        if found := self._derived.get((signature, place)):
            return found
        if known := self._ranges.get((signature.name, place)):
            return _Span(*known, True)
        scale = self._reading.request.scales.get(signature.name, 1) if place == 1 else 1
        return _Span(0, _ORDINARY * scale, False)

    def _narrow(
        self, spans: dict[str, _Span], one: Node, comparison: ComparisonOperator, other: Node
    ) -> None:
        """What a comparison with something known says of a variable."""
        if one.kind != ASTType.Variable or comparison not in _COMPARED:
            return
        above, below = _COMPARED[comparison]
        span = _held(self._span(other, spans))
        if one.name not in spans and comparison == ComparisonOperator.Equal:
            spans[one.name] = span
        elif span.known:
            low = None if above is None else span.low + above
            high = None if below is None else span.high + below
            spans[one.name] = spans.get(one.name, _SOME).narrowed(low, high)

    # -- terms ----------------------------------------------------------------------

    def _span(
        self, term: Node, spans: _Spans, overflow: Callable[[Node], None] | None = None
    ) -> _Span:
        """The values of a term, which may not fit; `overflow` is told the least parts of it that do
        not."""
        if term.kind == ASTType.Variable:
            return spans.get(term.name, _SOME)
        if term.kind == ASTType.Interval:
            return self._span(term.one("left"), spans) | self._span(term.one("right"), spans)
        if term.kind == ASTType.SymbolicTerm:
            number = self._constants.number(term)
            return _SOME if number is None else _Span(number, number, True)
        given = [_held(self._span(part, spans, overflow)) for part in term.children]
        if term.kind == ASTType.UnaryOperation:
            span = _unary(int(term.origin.operator_type), *given)
        elif term.kind == ASTType.BinaryOperation:
            span = _binary(int(term.origin.operator_type), *given)
        else:
            return _SOME
        if overflow is not None and not _fits(span):
            if variables(term):  # what constants alone come to has been looked at
                overflow(term)
            return _SOME
        return span


def _fits(span: _Span) -> bool:
    return span.low >= SMALLEST and span.high <= LARGEST


def _held(span: _Span) -> _Span:
    """Values to go on with: powers of what does not fit could grow without measure."""
    return span if _fits(span) else _SOME


def _unary(operator: int, one: _Span) -> _Span:
    if operator == int(UnaryOperator.Absolute):
        low = 0 if one.low <= 0 <= one.high else min(abs(one.low), abs(one.high))
        return _Span(low, one.size, one.known)
    more = 1 if operator == int(UnaryOperator.Negation) else 0
    return _Span(-one.high - more, -one.low - more, one.known)


def _binary(operator: int, one: _Span, other: _Span) -> _Span:
    known = one.known and other.known
    match BinaryOperator(operator):
        case BinaryOperator.Plus:
            return _Span(one.low + other.low, one.high + other.high, known)
        case BinaryOperator.Minus:
            return _Span(one.low - other.high, one.high - other.low, known)
        case BinaryOperator.Multiplication if one.known or other.known:
            ends = [a * b for a, b in product((one.low, one.high), (other.low, other.high))]
            return _Span(min(ends), max(ends), known)
        case BinaryOperator.Division:
            least = 1 if other.low <= 0 <= other.high else min(abs(other.low), abs(other.high))
            size = one.size // least
            return _Span(-size if min(one.low, other.low) < 0 else 0, size, known)
        case BinaryOperator.Modulo:
            size = min(one.size, max(other.size - 1, 0))
            return _Span(-size if one.low < 0 else 0, size, known)
        case BinaryOperator.Power if other.known and other.low >= 0:
            # Beyond 64 it is out of 32 bits already, unless the base is 0 or 1.
            ends = [a ** min(b, 64) for a in (one.low, one.high) for b in (other.low, other.high)]
            return _Span(min(0, *ends), max(ends), known)
        case BinaryOperator.And | BinaryOperator.Or | BinaryOperator.XOr:
            size = 2 ** max(one.size, other.size).bit_length()
            return _Span(-size if min(one.low, other.low) < 0 else 0, size - 1, known)
    # A product of two numbers of which nothing is known would blame rules that are sound.
    return _SOME


def _operations(rule: Node) -> list[Node]:
    """The outermost operations that have variables; not the minus signs of atoms."""
    signs = {id(atom.one("symbol")) for atom in rule.walk() if atom.kind == ASTType.SymbolicAtom}
    found, stack = list[Node](), [rule]
    while stack:
        node = stack.pop()
        if node.kind in _GROWING[1:] and id(node) not in signs:
            found += [node] if variables(node) else []
        else:
            stack.extend(node.children[::-1])
    return found


def _arguments(atoms: Iterable[Node]) -> Iterator[tuple[Signature, tuple[Node, ...]]]:
    """Atoms without pools: their predicates, and their arguments."""
    for atom in atoms:
        symbol = atom.one("symbol")
        while symbol.kind == ASTType.UnaryOperation:
            symbol = symbol.one("argument")
        if symbol.kind == ASTType.Function:
            (signature,) = atom_signatures(atom)
            yield signature, symbol.many("arguments")


def _comparisons(rule: Node) -> Iterator[tuple[Node, ComparisonOperator, Node]]:
    """What must hold of the terms of a rule's body."""
    for part in rule.many("body"):
        if part.kind != ASTType.Literal or part.origin.sign == Sign.Negation:
            continue
        atom = part.one("atom")
        if atom.kind == ASTType.Comparison:
            terms = [atom.one("term"), *(guard.one("term") for guard in atom.many("guards"))]
            for (left, right), guard in zip(pairwise(terms), atom.many("guards"), strict=True):
                yield left, ComparisonOperator(guard.origin.comparison), right
