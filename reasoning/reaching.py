"""What is reached along the edges of a graph."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def reached(starts: Iterable[Node], following: Mapping[Node, Iterable[Node]]) -> frozenset[Node]:
    """The nodes to which a path leads from one of `starts`, these among them."""
    found = set(starts)
    waiting = list(found)
    while waiting:
        new = set(following.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return frozenset(found)
