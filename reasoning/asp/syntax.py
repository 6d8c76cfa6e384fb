"""A program's syntax tree, copied from clingo's once: walking clingo's own costs ten times more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clingo.ast import AST, ASTType

MAX_DEPTH = 250
"""Nested terms; a sum of so many numbers is one."""


class DepthError(Exception):
    """A statement is nested deeper than clingo can walk."""


@dataclass(slots=True, eq=False)
class Node:
    """A node of a syntax tree: its kind, its name if it has one, and what is below it."""

    kind: ASTType
    name: str
    """Of functions, variables and constants; empty for other kinds."""
    parts: dict[str, Node | tuple[Node, ...] | None]
    children: tuple[Node, ...]
    """All parts, from left to right."""
    origin: AST
    """clingo's node, for what is asked rarely: locations, operators, text."""

    def one(self, key: str) -> Node:
        """The part called `key`, which is a single node."""
        part = self.parts[key]
        assert isinstance(part, Node)
        return part

    def many(self, key: str) -> tuple[Node, ...]:
        """The parts called `key`; empty if there are none."""
        part = self.parts.get(key)
        if part is None:
            return ()
        return part if isinstance(part, tuple) else (part,)

    def walk(self) -> Iterator[Node]:
        """The node and everything below it, from left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            # Reversed, so that the leftmost comes next; a loop, as trees are as deep as their
            # sums are long.
            stack.extend(node.children[::-1])

    @property
    def line(self) -> int:
        """The line on which it begins."""
        return int(self.origin.location.begin.line)

    @property
    def column(self) -> int:
        """The column at which it begins, in bytes, as clingo counts."""
        return int(self.origin.location.begin.column)

    def __str__(self) -> str:
        return str(self.origin)


_NAMED = {ASTType.Function, ASTType.Variable, ASTType.Definition}
_CHILD_KEYS: dict[ASTType, tuple[str, ...]] = {}


def copy(tree: AST, depth: int = 0) -> Node:
    """The tree as nodes of ours; raises `DepthError`."""
    # This recursion is the first to walk the tree in Python; clingo's own would end the process
    # later, without a message.
    if depth > MAX_DEPTH:
        raise DepthError
    kind = tree.ast_type
    keys = _CHILD_KEYS.get(kind)
    if keys is None:
        keys = _CHILD_KEYS[kind] = tuple(tree.child_keys)
    parts: dict[str, Node | tuple[Node, ...] | None] = {}
    children: list[Node] = []
    for key in keys:
        part = getattr(tree, key)
        if isinstance(part, AST):
            parts[key] = node = copy(part, depth + 1)
            children.append(node)
        elif part is None:
            parts[key] = None
        else:
            first = len(children)
            for element in part:
                children.append(copy(element, depth + 1))
            parts[key] = tuple(children[first:])
    name = tree.name if kind in _NAMED else ""
    return Node(kind, name, parts, tuple(children), tree)


def variables(node: Node) -> set[str]:
    """Names of the variables in it, `_` included."""
    return {part.name for part in node.walk() if part.kind == ASTType.Variable}
