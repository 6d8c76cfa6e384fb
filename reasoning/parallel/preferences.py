"""When two preferences may count the same tuple, which then counts once."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from clingo.ast import ASTType

from reasoning.languages.syntax import Node
from reasoning.parallel.rules import Rule


def tuple_of(rule: Rule) -> Sequence[Node]:
    """What a preference counts: weight, priority and terms."""
    tree = rule.tree
    return (tree.one("weight"), tree.one("priority"), *tree.many("terms"))


def may_count_together(one: Rule, other: Rule, constants: Collection[str]) -> bool:
    """Whether tuples of two preferences may be equal; `constants` may mean other values."""
    left, right = tuple_of(one), tuple_of(other)
    return len(left) == len(right) and all(
        _may_be_equal(a, b, constants) for a, b in zip(left, right, strict=True)
    )


def _may_be_equal(one: Node, other: Node, constants: Collection[str]) -> bool:
    """Whether two terms may have a value in common: two different constants have none."""
    if ASTType.SymbolicTerm != one.kind or one.kind != other.kind:
        return True
    texts = {str(one), str(other)}
    return len(texts) == 1 or any(name in text for name in constants for text in texts)
