"""What follows from a stream, instant by instant, to be compared without keeping it."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import TypeAlias

Conclusion: TypeAlias = tuple[str, int, int]
"""A fact as text, and the first and last instant at which one justification holds."""
Changes: TypeAlias = Mapping[int, tuple[list[str], list[str]]]
"""What came and what went, by instant."""


def text(relation: str, row: Iterable[object]) -> str:
    """A fact of the engine as text."""
    return " ".join((relation, *map(str, row)))


def facts(found: Iterable[Conclusion]) -> Changes:
    """When facts come and go."""
    spans: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for fact, first, last in found:
        spans[fact].append((first, last))
    changes: defaultdict[int, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for fact, intervals in spans.items():
        for first, last in _merged(intervals):
            changes[first][0].append(fact)
            changes[last + 1][1].append(fact)
    return changes


def _merged(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The intervals in order, those that meet put together."""
    intervals.sort()
    ends: list[int] = []
    for _, last in intervals:
        ends.append(max(last, ends[-1]) if ends else last)
    cuts = [at for at, (one, two) in enumerate(pairwise(intervals)) if two[0] > ends[at] + 1]
    firsts = [0, *(cut + 1 for cut in cuts)]
    lasts = [*cuts, len(intervals) - 1]
    return [(intervals[one][0], ends[two]) for one, two in zip(firsts, lasts, strict=True)]


def instances(found: Iterable[Conclusion]) -> Changes:
    """When instances begin and end: the streams P and N."""
    best: dict[tuple[str, int], int] = {}
    for fact, first, last in found:
        best[fact, first] = max(last, best.get((fact, first), last))
    changes: defaultdict[int, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for (fact, first), last in best.items():
        instance = text(fact, (first, last))
        changes[first][0].append(instance)
        changes[last + 1][1].append(instance)
    return changes


def digest(came: Collection[str], gone: Collection[str]) -> str:
    """A change as a short text; the empty text where nothing changed."""
    if not came and not gone:
        return ""
    lines = "\n".join((*sorted(came), "", *sorted(gone)))
    return hashlib.sha256(lines.encode()).hexdigest()


def digests(changes: Changes) -> dict[int, str]:
    """The digests of all changes, by instant."""
    return {now: digest(*change) for now, change in changes.items()}
