"""Explanations as text for a terminal: an indented tree."""

from __future__ import annotations

from collections.abc import Iterator

from reasoning.explain.tree import Explanation, Node


def render(explanation: Explanation, depth: int | None = None) -> str:
    """The tree as lines, at most `depth` levels of it (None: all that was built)."""
    return "\n".join(_lines(explanation.tree, "", "", depth)) + "\n"


def _lines(node: Node, first: str, rest: str, depth: int | None) -> Iterator[str]:
    head, *more = node.text.split("\n")
    yield first + head
    yield from (rest + line for line in more)
    children = node.children
    if children and depth == 0:
        yield f"{rest}└─ …"
        return
    for number, child in enumerate(children, 1):
        last = number == len(children)
        below = None if depth is None else depth - 1
        yield from _lines(
            child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "), below
        )
