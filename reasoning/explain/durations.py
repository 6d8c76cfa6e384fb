"""What explanations say of times: since when an atom has held, how long that is, how long was
asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import clingo
from clingo import Symbol
from clingo.ast import AST, ASTType, ComparisonOperator

from citywise.reasoning.explain.instances import evaluate
from citywise.reasoning.explain.model import Model
from citywise.reasoning.explain.notation import (
    Bindings,
    Notation,
    Role,
    is_atom,
    signature,
    statements_of,
)
from citywise.reasoning.explain.tree import Time, TreeNode
from citywise.reasoning.model.atoms import signature_of
from citywise.reasoning.model.carried import NOW, is_ours, last, since
from citywise.reasoning.model.request import Request, Signature

_WORDS = {
    ComparisonOperator.GreaterEqual: "at least",
    ComparisonOperator.GreaterThan: "more than",
    ComparisonOperator.LessEqual: "at most",
    ComparisonOperator.LessThan: "less than",
    ComparisonOperator.Equal: "exactly",
    ComparisonOperator.NotEqual: "other than",
}
_TURNED = {
    ComparisonOperator.GreaterEqual: ComparisonOperator.LessEqual,
    ComparisonOperator.GreaterThan: ComparisonOperator.LessThan,
    ComparisonOperator.LessEqual: ComparisonOperator.GreaterEqual,
    ComparisonOperator.LessThan: ComparisonOperator.GreaterThan,
}
_LATER = (ComparisonOperator.GreaterEqual, ComparisonOperator.GreaterThan)
"""What comes true as time passes."""
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


@dataclass(frozen=True)
class _Timed:
    """An atom of a body that has a time."""

    atom: AST
    time: str
    """The variable of its time."""


@dataclass(frozen=True)
class _Elapsed:
    """How long it is since a time, in a comparison."""

    units: int
    asked: int
    operator: ComparisonOperator


class TimedNotation(Notation):
    """Writes what is explained of a request that looks at times.

    `base` is what times in atoms count from, `write` gives a time as the recording has it.
    """

    def __init__(
        self, source: str, request: Request, base: int, write: Callable[[int], Time]
    ) -> None:
        super().__init__(source)
        self._since = {since(s): s for s in request.held}
        self._last = {last(s): s for s in request.last}
        self._sees_now = request.sees_now
        self._base, self._write = base, write
        self._per_second = request.ticks_per_second
        self._comparisons = dict(self._timed_comparisons(request.rules))

    # -- what goes without saying ---------------------------------------------------

    def atom(self, atom: Symbol) -> str:
        """See `Notation`."""
        predicate = signature_of(atom)
        return "" if predicate is not None and is_ours(predicate) else str(atom)

    def literal(self, node: AST, values: Bindings) -> str:
        """See `Notation`."""
        predicate = signature(_symbol(node))
        ours = predicate is not None and is_ours(predicate)
        return "" if ours else super().literal(node, values)

    def role(self, statement: AST) -> Role:
        """See `Notation`: rules of `#held` say of atoms what others say."""
        predicate = _head(statement)
        ours = predicate is not None and (predicate in self._since or is_ours(predicate))
        return "view" if ours else "told"

    # -- words ----------------------------------------------------------------------

    def derived(self, node: TreeNode, statement: AST, atoms: Sequence[Symbol]) -> TreeNode:
        """See `Notation`."""
        del atoms
        if _head(statement) not in self._since or node.atom is None:
            return node
        atom = clingo.parse_term(node.atom)
        children = tuple(child for child in node.children if child.kind != "absent")
        text = f"{node.atom}  {self._has_held(atom)}"
        return replace(node, text=text, rule=None, children=children)

    def hints(self, atom: Symbol, model: Model) -> Sequence[TreeNode]:
        """See `Notation`: the time that the atom has instead."""
        predicate = signature_of(atom)
        if predicate == NOW and self._sees_now:
            times = (now.arguments[0].number for now in model.by_predicate.get(NOW, ()))
            return [
                TreeNode("hint", f"it is {self._write(t + self._base)}", count=0) for t in times
            ]
        if predicate is None or predicate not in {**self._since, **self._last}:
            return ()
        others = model.by_predicate.get(predicate, ())
        same = [other for other in others if other.arguments[:-1] == atom.arguments[:-1]]
        if predicate in self._since:
            return [TreeNode("hint", self._has_held(a), count=0) for a in same]
        if same:
            return [TreeNode("hint", self._held_last(a), count=0) for a in same]
        text = f"{self._plain(atom)} has not held before, or so long ago that it is forgotten"
        return [TreeNode("hint", text, count=0)]

    def compares(self, node: AST, values: Bindings, *, holds: bool) -> str:
        """See `Notation`: how long it is, and how long was asked for."""
        timed, clocks = self._comparisons.get(_place(node), ((), ()))
        for each in timed:
            for clock in clocks:
                found = _elapsed(node, values, each.time, clock)
                if found is not None:
                    return self._describe(each, found, values, holds=holds)
        return ""

    def _describe(self, timed: _Timed, found: _Elapsed, values: Bindings, *, holds: bool) -> str:
        atom = evaluate(timed.atom, {**values, **_unknown(timed.atom, values)})
        predicate = signature_of(atom)
        assert predicate is not None
        how = self._duration(found.units)
        if predicate in self._since:
            said = f"{self._has_held(atom)}, that is {how}"
        else:
            said = f"{self._held_last(atom)}, that is {how} ago"
        said += f"; you asked for {_WORDS[found.operator]} {self._duration(found.asked)}"
        if not holds and found.operator in _LATER:
            left = found.asked - found.units
            left += found.operator == ComparisonOperator.GreaterThan
            said += f": in {self._duration(left)}, unless a reading says otherwise"
        return said

    def _has_held(self, atom: Symbol) -> str:
        return f"{self._plain(atom)} has held since {self._time(atom)}"

    def _held_last(self, atom: Symbol) -> str:
        return f"{self._plain(atom)} held last at {self._time(atom)}"

    def _time(self, atom: Symbol) -> Time:
        return self._write(atom.arguments[-1].number + self._base)

    def _plain(self, atom: Symbol) -> str:
        """The atom of which a time is told."""
        predicate = signature_of(atom)
        assert predicate is not None
        name = {**self._since, **self._last}[predicate].name
        return str(clingo.Function(name.lstrip("-"), atom.arguments[:-1], not name.startswith("-")))

    def _duration(self, units: int) -> str:
        return duration(units, self._per_second)

    # -- comparisons ----------------------------------------------------------------

    def _timed_comparisons(
        self, rules: str
    ) -> Iterator[tuple[tuple[int, int], tuple[tuple[_Timed, ...], tuple[str, ...]]]]:
        """The comparisons of rules that look at times, by their place."""
        for statement in statements_of(rules):
            body = getattr(statement, "body", ())
            atoms = [part.atom.symbol for part in body if is_atom(part)]
            timed = tuple(_Timed(a, str(_last_argument(a))) for a in atoms if self._is_timed(a))
            clocks = tuple(str(_last_argument(a)) for a in atoms if signature(a) == NOW)
            if not (timed and clocks):
                continue
            for part in body:
                if part.ast_type == ASTType.Literal and part.atom.ast_type == ASTType.Comparison:
                    yield _place(part), (timed, clocks)

    def _is_timed(self, atom: AST) -> bool:
        predicate = signature(atom)
        variable = predicate in self._since or predicate in self._last
        return variable and _last_argument(atom).ast_type == ASTType.Variable


def duration(units: int, per_second: int = 1) -> str:
    """A duration in words: `1 h 30 min`, `0 s`."""
    if units < 0:
        return f"-{duration(-units, per_second)}"
    seconds, rest = divmod(units, per_second)
    parts = []
    for name, size in _UNITS:
        number, seconds = divmod(seconds, size)
        parts += [f"{number} {name}"] if number else []
    parts += [f"{rest} ms"] if rest else []
    return " ".join(parts) or "0 s"


def _elapsed(node: AST, values: Bindings, time: str, clock: str) -> _Elapsed | None:
    """What a comparison says of `clock - time`, if it says something of that difference."""
    comparison = node.atom
    if len(comparison.guards) != 1 or time not in values or clock not in values:
        return None
    guard = comparison.guards[0]

    def difference(**moved: int) -> int:
        at = {v: clingo.Number(values[v].number + by) for v, by in moved.items()}
        sides = (evaluate(term, {**values, **at}).number for term in (comparison.term, guard.term))
        left, right = sides
        return left - right

    try:
        here = difference()
        grows = difference(**{clock: 1}) - here
        if abs(grows) != 1 or difference(**{time: 1}) - here != -grows:
            return None
    except RuntimeError:
        return None  # not numbers
    units = values[clock].number - values[time].number
    operator = ComparisonOperator(guard.comparison)
    if grows < 0:
        operator = _TURNED.get(operator, operator)
    asked = units - grows * here
    return _Elapsed(units, asked, operator) if asked >= 0 else None


def _unknown(atom: AST, values: Bindings) -> Mapping[str, Symbol]:
    """Names for what is not known of an atom."""
    names = (str(argument) for argument in atom.arguments if argument.ast_type == ASTType.Variable)
    return {name: clingo.Function("_") for name in names if name not in values}


def _last_argument(atom: AST) -> AST:
    while atom.ast_type == ASTType.UnaryOperation:
        atom = atom.argument
    last_one: AST = atom.arguments[-1]
    return last_one


def _symbol(node: AST) -> AST:
    """The term of the atom of a literal; another node as it is."""
    if node.ast_type == ASTType.Literal and node.atom.ast_type == ASTType.SymbolicAtom:
        node = node.atom.symbol
    return node


def _head(statement: AST) -> Signature | None:
    head = getattr(statement, "head", None)
    return signature(head.atom.symbol) if head is not None and is_atom(head) else None


def _place(node: AST) -> tuple[int, int]:
    begin = node.location.begin
    return begin.line, begin.column
