"""Pools and intervals of plain LARS: the rules that a rule with them stands for."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from clingo import Number
from clingo.ast import AST, ASTType, Pool, SymbolicTerm, Transformer

from reasoning.engines.incremental.terms import Constant, Value
from reasoning.languages.syntax import Node, copy
from reasoning.languages.terms import ForeignTermError, Terms

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
