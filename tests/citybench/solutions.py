"""Solutions of C-SPARQL queries as the requests show them, and their comparison.

Sets are compared: an answer set holds an atom once, where SPARQL may repeat a solution.
Values that a request scales are compared at its resolution.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import cache

from pyoxigraph import BlankNode, NamedNode

from tests.citybench import sparql
from tests.citybench.answers import Blank, Row, Value

DEGREES = 100_000
_SCALES = {
    "Q3": {"v1": 1_000_000, "v3": 1_000_000, "avgCongest": 1_000_000},
    "Q4": dict.fromkeys(("lat1", "lon1", "lat2", "lon2"), DEGREES),
    "Q5": dict.fromkeys(("lat2", "lon2"), DEGREES),
}
"""What the requests multiply values by, as their `#scale` says."""

Ticks = Iterable[tuple[int, list[Row]]]
"""Unix milliseconds → solutions; made as one goes, for a day has hundreds of thousands."""


@cache
def value(term: sparql.Term, scale: int | None) -> Value:
    """A term of a SPARQL solution as the request shows it."""
    if isinstance(term, NamedNode):
        return term.value
    if isinstance(term, BlankNode):
        return Blank(str(term))
    if term.datatype.value.endswith("#string"):
        return term.value
    return round(Decimal(term.value) * scale) if scale else float(term.value)


def expected(name: str, answers: Iterable[tuple[int, sparql.Answer]]) -> Ticks:
    """The answers to a query's SELECT as its request shows them."""
    scales = _SCALES.get(name, {})
    for tick, answer in answers:
        assert isinstance(answer, sparql.Solutions)
        factors = [scales.get(variable) for variable in answer.variables]
        yield tick, [tuple(map(value, row, factors)) for row in answer.rows]


def with_nodes_by_event(ticks: Ticks) -> Ticks:
    """Blank nodes named by the events (first in a row) they come with, not by label."""
    events: dict[Blank, set[str]] = defaultdict(set)
    known = list(ticks)
    for row in (row for _tick, rows in known for row in rows):
        for node in row:
            if isinstance(node, Blank):
                events[node].add(str(row[0]))

    def named(item: Value) -> Value:
        return Blank(" ".join(sorted(events[item]))) if isinstance(item, Blank) else item

    return [(tick, [tuple(map(named, row)) for row in rows]) for tick, rows in known]


def are_same(ours: Sequence[Row], theirs: Sequence[Row]) -> bool:
    """Whether these are the same sets."""
    return set(ours) == set(theirs)


def are_same_but_for_means(ours: Sequence[Row], theirs: Sequence[Row]) -> bool:
    """The same, where the last value is a mean: that of rounded values, rounded down, is
    off by at most one of the request's units."""
    mine, other = _means(ours), _means(theirs)
    return mine.keys() == other.keys() and all(abs(mine[r] - other[r]) <= 1 for r in mine)


def assert_same(
    ours: Ticks, theirs: Ticks, agree: Callable[[list[Row], list[Row]], bool] = are_same
) -> None:
    """Same ticks, and at each solutions that agree; there are some at all."""
    some = False
    for (tick, found), (other_tick, other) in zip(ours, theirs, strict=True):
        assert tick == other_tick
        assert agree(found, other), f"at {tick}: {found[:3]} …, expected {other[:3]} …"
        some = some or bool(other)
    assert some


def _means(rows: Sequence[Row]) -> dict[Row, int]:
    return {row[:-1]: row[-1] for row in rows if isinstance(row[-1], int)}
