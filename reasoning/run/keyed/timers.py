"""When comparisons with `now/1` can change, as rules: `citywise_due(Entity,Time)`.

A rule that reads `now(N)` and compares it, `N-T >= D`, changes its mind when N reaches T+D. So for
each such comparison there is a rule with the positive body, whose head is the time for which the
comparison is solved, and the one after. What else the body asks is left out: an evaluation too
many changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clingo.ast import ASTType, BinaryOperator, Sign, UnaryOperator

from citywise.reasoning.asp.rules import atom_signatures, head_atoms
from citywise.reasoning.asp.syntax import Node, variables
from citywise.reasoning.model.carried import NOW
from citywise.reasoning.run.keyed.memory import DUE

_TIME = "CitywiseDue"


@dataclass(frozen=True)
class Unforeseeable:
    """A use of the time of which nobody can say when it changes."""

    node: Node
    why: str


def due_rules(rules: Sequence[Node]) -> tuple[list[str], list[Unforeseeable]]:
    """The rules that say when the time changes what rules derive, and where that cannot be
    said."""
    found: list[str] = []
    faults: list[Unforeseeable] = []
    for rule in rules:
        clocks = {v for atom in _positive(rule) if _is_now(atom) for v in variables(atom)}
        for each in _of_rule(rule, clocks - {"_"}) if any(map(_is_now, _atoms(rule))) else ():
            if isinstance(each, Unforeseeable):
                faults.append(each)
            else:
                found.append(each)
    return list(dict.fromkeys(found)), faults


def _of_rule(rule: Node, clocks: set[str]) -> Iterator[str | Unforeseeable]:
    heads = list(head_atoms(rule))
    root = _first(heads[0]) if len(heads) == 1 and rule.kind == ASTType.Rule else None
    if root is None:
        yield Unforeseeable(rule, "a rule that reads `now` derives one atom of an instance")
        return
    if variables(rule.one("head")) & clocks:
        yield Unforeseeable(heads[0].one("symbol"), "it would change with every second")
    body = rule.many("body")
    comparisons = [p for p in body if _is_comparison(p) and variables(p) & clocks]
    others = [p for p in body if p not in comparisons and not _is_clock(p)]
    for part in others:
        if variables(part) & clocks or (any(map(_is_now, _in(part)))):
            yield Unforeseeable(part, "`now(N)` gives a time to comparisons such as `N-T >= D`")
            return
    kept = [str(p.origin) for p in others if _is_positive(p) or _is_comparison(p)]
    bound = {v for p in others if _is_positive(p) for v in variables(p)}
    for part in comparisons:
        yield from _of_comparison(part, clocks, bound, root, kept)


def _of_comparison(
    part: Node, clocks: set[str], bound: set[str], root: str, kept: Sequence[str]
) -> Iterator[str | Unforeseeable]:
    comparison = part.one("atom")
    left = comparison.one("term")
    for guard in comparison.many("guards"):
        right = guard.one("term")
        sides = [(left, right), (right, left)]
        mine = [(one, other) for one, other in sides if variables(one) & clocks]
        if len(mine) == 1:
            solved = _solved(mine[0][0], str(mine[0][1].origin), clocks)
            free = (variables(left) | variables(right)) - clocks - bound
            if solved is None or free:
                yield Unforeseeable(part, "write it as `N-T >= D`, with T and D from the body")
                return
            head = f"{DUE.name}({root},{_TIME}..{_TIME}+1)"
            yield f"{head} :- {'; '.join([*kept, f'{_TIME} = {solved}'])}."
        elif mine:
            yield Unforeseeable(part, "`now` stands on both sides")
            return
        left = right


def _solved(term: Node, other: str, clocks: set[str]) -> str | None:
    """What the one clock in a term is where the term equals another; None: it cannot be said."""
    while term.kind != ASTType.Variable:
        if term.kind == ASTType.UnaryOperation:
            if term.origin.operator_type != UnaryOperator.Minus:
                return None
            term, other = term.one("argument"), f"-({other})"
            continue
        if term.kind != ASTType.BinaryOperation:
            return None
        left, right = term.one("left"), term.one("right")
        in_left, in_right = (bool(variables(side) & clocks) for side in (left, right))
        operator = term.origin.operator_type
        if in_left == in_right or operator not in (BinaryOperator.Plus, BinaryOperator.Minus):
            return None
        minus = operator == BinaryOperator.Minus
        if in_left:
            term, other = left, f"({other}){'+' if minus else '-'}({right.origin})"
        elif minus:
            term, other = right, f"({left.origin})-({other})"
        else:
            term, other = right, f"({other})-({left.origin})"
    return other


def _positive(rule: Node) -> Iterator[Node]:
    return (p.one("atom") for p in rule.many("body") if _is_positive(p))


def _is_positive(part: Node) -> bool:
    """Whether a part of a body is an atom that holds itself."""
    plain = part.kind == ASTType.Literal and part.origin.sign == Sign.NoSign
    return plain and part.one("atom").kind == ASTType.SymbolicAtom


def _is_comparison(part: Node) -> bool:
    return part.kind == ASTType.Literal and part.one("atom").kind == ASTType.Comparison


def _is_clock(part: Node) -> bool:
    return _is_positive(part) and _is_now(part.one("atom"))


def _is_now(atom: Node) -> bool:
    return NOW in set(atom_signatures(atom))


def _in(part: Node) -> Iterator[Node]:
    return (node for node in part.walk() if node.kind == ASTType.SymbolicAtom)


def _atoms(rule: Node) -> Iterator[Node]:
    return (atom for part in rule.many("body") for atom in _in(part))


def _first(atom: Node) -> str | None:
    arguments = atom.one("symbol").many("arguments")
    if not arguments or arguments[0].kind != ASTType.Variable:
        return None
    return arguments[0].name
