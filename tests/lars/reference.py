"""Plain LARS as the Laser paper defines it, found by trying everything.

Definitions 1-6 in their order, over ground programs: streams, window functions, structures
and entailment, models, reduct, answer streams, output. What the paper leaves open is decided
as `docs/lars.md` says. For small programs only: `answer_streams` tries every
set of derived atoms; `perfect_stream` finds the answer stream of a stratified program
stratum by stratum, as a second way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Protocol

from citywise.reasoning.languages.lars.program import (
    At,
    BodyElement,
    Box,
    Counted,
    Diamond,
    Formula,
    LarsRule,
    LarsWindow,
    Now,
    Since,
    TimeSpan,
    atoms_of,
)
from citywise.reasoning.model.request import Signature
from citywise.reasoning.model.rules import Compare
from tests.incremental.unification import compared
from tests.lars.grounding import Fact, Pair, fact, value

# -- Definitions 1 to 4: streams and window functions --------------------------------------


@dataclass(frozen=True)
class Stream:
    """Definition 1: a timeline and an evaluation function, as pairs in order of arrival."""

    timeline: range
    pairs: tuple[Pair, ...]

    @cached_property
    def held(self) -> frozenset[Pair]:
        """The evaluation function as a set."""
        return frozenset(self.pairs)

    def within(self, timeline: range) -> Stream:
        """The stream on a part of its timeline."""
        return Stream(timeline, tuple(pair for pair in self.pairs if pair[1] in timeline))


def time_window(stream: Stream, size: int, t: int, gap: int = 0) -> Stream:
    """Definition 3: what `size` points of time before `t`, and `t`, hold; without the last `gap`
    of them, of which there may be more (docs/lars.md)."""
    first = max(stream.timeline[0], t - size)
    return stream.within(range(first, t + 1 - gap))


def tuple_window(stream: Stream, size: int, t: int) -> Stream:
    """Definition 4: the last `size` tuples; of those at its first point, the last to arrive."""
    first = stream.timeline[0]
    for u in stream.timeline:
        if len(time_window(stream, t - u, t).pairs) >= size:
            first = max(first, u)
    found = time_window(stream, t - first, t)
    return found if len(found.pairs) <= size else replace(found, pairs=found.pairs[-size:])


# -- structures and entailment -------------------------------------------------------------


@dataclass(frozen=True)
class Structure:
    """⟨S, W, B⟩, where S is a data stream and what is derived: tuple windows are over the
    data alone (docs/lars.md)."""

    data: Stream
    derived: frozenset[Pair]
    background: frozenset[Fact]

    @property
    def timeline(self) -> range:
        return self.data.timeline

    def has(self, fact: Fact, t: int) -> bool:
        """M, t ⊩ a."""
        pair = fact, t
        return pair in self.data.held or pair in self.derived or fact in self.background

    def times(self, fact: Fact) -> list[int]:
        """Where in the timeline an atom holds."""
        return [t for t in self.timeline if self.has(fact, t)]

    def window(self, window: LarsWindow, t: int) -> Structure:
        """The structure that a window operator evaluates in."""
        if isinstance(window, TimeSpan):
            data = time_window(self.data, window.size, t, window.gap)
            derived = frozenset(pair for pair in self.derived if pair[1] in data.timeline)
            return Structure(data, derived, self.background)
        return Structure(tuple_window(self.data, window.size, t), frozenset(), self.background)


def entails(structure: Structure, t: int, formula: Formula) -> bool:
    """M, t ⊩ α, for a ground formula."""
    match formula:
        case Now(atom):
            return structure.has(fact(atom), t)
        case Diamond(atom, window):
            return bool(structure.window(window, t).times(fact(atom)))
        case Box(atom, window):
            found = structure.window(window, t)
            return bool(found.timeline) and found.times(fact(atom)) == list(found.timeline)
        case At(time, atom, window):
            found = structure if window is None else structure.window(window, t)
            return value(time) in found.times(fact(atom))
        case Counted(atom, comparator, number, window):
            times = structure.window(window, t).times(fact(atom))
            return compared(comparator, len(times), value(number))
        case Since(held, atom, window):
            began = structure.window(window, t).times(fact(atom))
            after = (range(u + 1, t + 1) for u in began)
            return any(all(structure.has(fact(held), v) for v in points) for points in after)
        case Compare(comparator, left, right):
            return compared(comparator, value(left), value(right))


def satisfied(structure: Structure, t: int, body: Iterable[BodyElement]) -> bool:
    """M, t ⊨ B(r)."""
    return all(entails(structure, t, e.formula) != e.negated for e in body)


# -- Definition 5: models, reduct, answer streams ------------------------------------------


def holds(structure: Structure, t: int, rule: LarsRule) -> bool:
    """M, t ⊨ r, for a ground rule."""
    return head_holds(structure, t, rule) or not satisfied(structure, t, rule.body)


def head_holds(structure: Structure, t: int, rule: LarsRule) -> bool:
    """M, t ⊩ H(r): never, for a constraint or an `@` outside the timeline."""
    if rule.head is None:
        return False
    if rule.time is None:
        return structure.has(fact(rule.head), t)
    return value(rule.time) in structure.times(fact(rule.head))


def is_model(structure: Structure, t: int, rules: Iterable[LarsRule]) -> bool:
    """M, t ⊨ P."""
    return all(holds(structure, t, rule) for rule in rules)


MOST = 7
"""So many derived atoms are tried in all combinations."""


class TooManyError(Exception):
    """Rules may derive more atoms than can be tried."""


def answer_streams(
    data: Stream, background: frozenset[Fact], rules: Sequence[LarsRule], t: int
) -> list[frozenset[Pair]]:
    """Definition 5: what each answer stream holds besides the data, by trying every set of
    heads: a minimal model holds nothing else. Raises `TooManyError`."""
    candidates = sorted(heads(rules, data.timeline, t) - data.held, key=repr)
    if len(candidates) > MOST:
        raise TooManyError
    found = []
    for chosen in subsets(candidates):
        structure = Structure(data, chosen, background)
        if not is_model(structure, t, rules):
            continue
        reduct = [rule for rule in rules if satisfied(structure, t, rule.body)]
        smaller = (replace(structure, derived=less) for less in subsets(chosen) if less != chosen)
        if not any(is_model(less, t, reduct) for less in smaller):
            found.append(chosen)
    return found


def heads(rules: Iterable[LarsRule], timeline: range, t: int) -> frozenset[Pair]:
    """Atoms that ground rules may put at points of the timeline."""
    found: set[Pair] = set()
    for rule in rules:
        time = t if rule.time is None else value(rule.time)
        if rule.head is not None and isinstance(time, int) and time in timeline:
            found.add((fact(rule.head), time))
    return frozenset(found)


def subsets(pairs: Iterable[Pair]) -> Iterator[frozenset[Pair]]:
    """All subsets, smaller ones first."""
    everything = list(pairs)
    for size in range(len(everything) + 1):
        yield from map(frozenset, combinations(everything, size))


# -- a second way, for stratified programs -------------------------------------------------


class Search(Protocol):
    """Definition 5: the answer streams of ground rules, as what each adds to the data."""

    def __call__(
        self, data: Stream, background: frozenset[Fact], rules: Sequence[LarsRule], t: int
    ) -> list[frozenset[Pair]]: ...


def perfect_stream(
    data: Stream, background: frozenset[Fact], rules: Sequence[LarsRule], t: int
) -> list[frozenset[Pair]]:
    """The answer stream of a stratified ground program, if it has one: strata are completed
    one after the other. Raises `ValueError` where there are none."""
    structure = Structure(data, frozenset(), background)
    for stratum in strata(rules):
        while True:
            broken = [rule for rule in stratum if not holds(structure, t, rule)]
            more = structure.derived | heads(broken, data.timeline, t)
            if more == structure.derived:
                break
            structure = replace(structure, derived=more)
    return [structure.derived] if is_model(structure, t, rules) else []


def strata(rules: Sequence[LarsRule]) -> list[list[LarsRule]]:
    """Rules with heads, by the strata of their predicates."""
    level = {rule.head.signature: 0 for rule in rules if rule.head is not None}
    for _ in range(len(level) + 1):
        before = dict(level)
        for rule in rules:
            if rule.head is not None:
                least = [level.get(p, 0) + strict for p, strict in dependencies(rule)]
                level[rule.head.signature] = max(level[rule.head.signature], *least, 0)
        if level == before:
            headed = [(level[r.head.signature], r) for r in rules if r.head is not None]
            return [[r for n, r in headed if n == number] for number in sorted(set(level.values()))]
    raise ValueError("a loop through negation")


def dependencies(rule: LarsRule) -> list[tuple[Signature, bool]]:
    """Predicates of a body, and whether they must be complete before the head's."""
    found = []
    for element in rule.body:
        formula = element.formula
        if not isinstance(formula, Compare):
            at_least = isinstance(formula, Counted) and formula.comparator == ">="
            strict = element.negated or (isinstance(formula, Counted) and not at_least)
            found += [(atom.signature, strict) for atom in atoms_of(formula)]
    return found
