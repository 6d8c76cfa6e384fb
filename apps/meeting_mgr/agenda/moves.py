"""Which items an order moves."""

from __future__ import annotations

from collections.abc import Sequence


def moved(order: Sequence[int], weak: frozenset[int] = frozenset()) -> frozenset[int]:
    """The fewest items of an order without which the others are sorted; of several such sets
    the one with most `weak` items, for which the order was changed."""
    kept: list[tuple[int, int, tuple[int, ...]]] = []
    """For each item, the best sorted choice that ends with it: how many, how few weak, which."""
    for item in order:
        before = max((best for best in kept if best[2][-1] < item), default=(0, 0, ()))
        many, strong, chosen = before
        kept.append((many + 1, strong + (item not in weak), (*chosen, item)))
    best = max(kept, default=(0, 0, ()))
    return frozenset(order) - frozenset(best[2])
