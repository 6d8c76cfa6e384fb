"""The relations of a program, moved from one point of time to the next by what changes.

Three things can happen to a row (Laser, section 3, and beyond it):

- it comes, or holds longer than was known: rules are joined with it (semi-naive
  evaluation, within a point of time and between them);
- it ends at its horizon: nothing is joined, for what rests on it has no later one;
- it is withdrawn before its horizon, because it was retracted, or something came whose
  absence it rested on: what may rest on it is taken out, and what still follows from the
  rest is derived again (the delete-and-rederive of incremental Datalog, with horizons).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING

from citywise.reasoning.engines.incremental.component import Component, Watch
from citywise.reasoning.engines.incremental.relation import (
    FOREVER,
    Horizons,
    Kept,
    Relation,
    Rows,
)
from citywise.reasoning.limits import Limits
from citywise.reasoning.model import rules
from citywise.reasoning.model.joins import gives_once, normal, pair_join
from citywise.reasoning.model.rules import CLOCK, Absent, Program, components, has_functions
from citywise.reasoning.model.values import Row

if TYPE_CHECKING:
    from citywise.reasoning.engines.incremental.columns import Codes, Columns

_NOTHING = Relation("")
"""Stands for relations that no rule mentions."""

_HAS_NUMPY = find_spec("numpy") is not None
"""The reasoner alone is installed without it."""


class RuleEvaluation:
    """The relations of a program.

    Between steps `insert` and `retract` say what changes; `step` brings all relations to a
    point of time. Raises `StratificationError` for a program with a loop through negation,
    `SafetyError` for a rule whose variables get no values.
    """

    def __init__(self, program: Program, limits: Limits | None = None) -> None:
        components(program)  # complains in the program's own words
        self.program = program
        ready, self._sources = rules.with_sources(program)
        ready, self._copied = rules.without_copies(ready)
        self.ready = ready
        """The program, with a relation of its own for what comes from outside into derived ones."""
        self.first: int | None = None
        """The point of time of the first step."""
        self.watch = Watch(ready.name, limits, self.sizes)
        self._inputs = ready.inputs
        self._functions = bool(ready.operators) or any(map(has_functions, ready.rules))
        # What nobody joins needs no list of what improved.
        joined, kept = _joined(ready), _kept(ready)
        self.relations = {n: Relation(n, n in joined, kept(n)) for n in _names(ready)}
        self._codes: Codes | None = None
        for name in _only_paired(ready, kept) if _HAS_NUMPY else ():
            self.relations[name].keep_in_columns(self._columns)
        self._pending: dict[str, _Pending] = {}
        self._clock: int | None = None
        self._broken = False
        self._components = [
            Component(names, ready, self.relations, self.watch)
            for names in components(ready)
            if names & _derived(ready)
        ]

    def insert(self, relation: str, rows: Iterable[Row], until: int | None = None) -> None:
        """Rows of an input hold from the next step on, up to `until` (inclusive; None: until
        they are retracted). Of several horizons of a row the latest counts."""
        horizon = FOREVER if until is None else until
        # A dictionary of its own: `retract` takes rows out of it, and the caller's rows are the
        # caller's.
        self._changes(relation).given.append((dict.fromkeys(rows, horizon), horizon))

    def retract(self, relation: str, rows: Iterable[Row]) -> None:
        """Rows of an input, whatever their horizon, hold no more from the next step on;
        those that do not hold are ignored. What is inserted after it holds."""
        changes = self._changes(relation)
        dropped = dict.fromkeys(rows)
        changes.dropped |= dropped
        # What is inserted after it holds, so only what is pending by now is taken back.
        for given, _horizon in changes.given:
            for row in dropped:
                given.pop(row, None)

    def step(self, now: int) -> None:
        """Bring all relations to a point of time, not before the last.

        Raises `LimitError` at a limit; nothing can be asked of it after that.
        """
        if self._broken:
            raise RuntimeError("this evaluation was stopped amid a step")
        if self._clock is not None and now < self._clock:
            raise ValueError(f"time does not go back from {self._clock} to {now}")
        # A limit may end the step anywhere; relations that are half there must not be taken for
        # an answer.
        self._broken = True
        self.watch.begin()
        # Not at the end of the step before: until now `came` and `gone` could be asked.
        for relation in self.relations.values():
            relation.settle()
            if self._clock is not None:
                relation.expire(self._clock, now)
        for name, changes in self._pending.items():
            changes.apply(self.relations[name], now)
        self._pending = {}
        # Its horizon is this point of time, so what rests on the time ends with it.
        self.relations[CLOCK].give({(now,): now}, now)
        try:
            for component in self._components:
                component.step(now, first=self._clock is None)
        except MemoryError:
            raise self.watch.exhausted() from None
        self.watch.end()
        if self.first is None:
            self.first = now
        self._clock = now
        self._broken = False

    def rows(self, relation: str) -> Rows:
        """The rows that hold."""
        return self._found(relation).rows()

    def horizons(self, relation: str, rows: Iterable[Row]) -> list[int]:
        """The horizons of rows that hold."""
        found = self._found(relation)
        found.list_rows()
        return [found.horizons[row] for row in rows]

    def came(self, relation: str) -> Rows:
        """Rows of an output that hold, and did not before the last step."""
        return self._found(relation).came()

    def gone(self, relation: str) -> Rows:
        """Rows of an output that held before the last step, and no more."""
        return self._found(relation).gone()

    def given(self, relation: str) -> Horizons:
        """The rows of an input that were inserted and hold, with their horizons (`FOREVER`:
        until they are retracted)."""
        found = self.relations[self._sources.get(relation, relation)]
        found.list_rows()
        return dict(found.horizons)

    def is_plain(self, most: int) -> bool:
        """Whether no value of the last step was a function of others, if a look at `most`
        rows that were inserted tells."""
        given = [self.relations[name] for name in self._inputs]
        # Also what ended: its text is asked for when it is gone.
        size = sum(len(r) + len(r.expired) + len(r.withdrawn) for r in given)
        if self._functions or size > most:
            return False
        groups = [rows for r in given for rows in (r.held(), r.expired, r.withdrawn) if rows]
        values = chain.from_iterable(chain.from_iterable(groups))
        return tuple not in set(map(type, values))

    def sizes(self) -> Iterator[tuple[str, int]]:
        """The number of rows of each relation."""
        return ((name, len(found)) for name, found in self.relations.items())

    def source(self, relation: str) -> str:
        """The relation that has what is inserted into an input."""
        return self._sources.get(relation, relation)

    def called(self, relation: str) -> str:
        """The relation that has the rows of an output."""
        return self._copied.get(relation, relation)

    def _columns(self) -> Columns:
        # Only who has many rows to join waits for numpy to be loaded.
        from citywise.reasoning.engines.incremental import columns

        if self._codes is None:
            self._codes = columns.Codes()
        return self._codes.relation()

    def _found(self, relation: str) -> Relation:
        return self.relations.get(self.called(relation), _NOTHING)

    def _changes(self, relation: str) -> _Pending:
        return self._pending.setdefault(self._sources.get(relation, relation), _Pending())


@dataclass
class _Pending:
    """What is to change of an input: first rows are dropped, then rows are given."""

    dropped: dict[Row, None] = field(default_factory=dict)
    given: list[tuple[Horizons, int]] = field(default_factory=list)

    def apply(self, relation: Relation, now: int) -> None:
        if self.dropped:
            relation.drop(self.dropped)
        for rows, horizon in self.given:
            # What has ended before the step never was.
            if horizon >= now and rows:
                relation.give(rows, horizon)


def _joined(program: Program) -> frozenset[str]:
    """Relations whose rows are joined."""
    looks = (literal for rule in program.rules for literal in rule.looks.values())
    return frozenset(each.relation for each in looks if not isinstance(each, Absent))


def _kept(program: Program) -> Callable[[str], Kept]:
    """How each relation keeps its rows (docs/decisions/incremental-engine.md)."""
    read = {literal.relation for rule in program.rules for literal in rule.looks.values()}
    read |= {name for each in program.operators for name in (*each.reads, each.result)}
    # Only one instance of one rule can give a row: it need not be asked whether it is known.
    heads = Counter(rule.head for rule in program.rules)
    found = {rule.head for rule in program.rules if heads[rule.head] == 1 and gives_once(rule)}
    once = found - program.inputs

    def kept(name: str) -> Kept:
        if name in read:
            return "listed"
        return "once" if name in once else "batched"

    return kept


def _only_paired(program: Program, kept: Callable[[str], Kept]) -> frozenset[str]:
    """Inputs whose rows are joined with those of another, or their own, and nothing else."""
    rules = [normal(rule) for rule in program.rules]
    looks = [(rule, {each.relation for each in rule.looks.values()}) for rule in rules]
    found = {name for _rule, looked in looks for name in looked} & program.inputs
    found -= program.outputs | _derived(program)
    found -= {name for each in program.operators for name in each.reads}
    size = len(found) + 1
    while len(found) < size:
        size = len(found)
        for rule, looked in looks:
            if pair_join(rule) is None or kept(rule.head) == "once" or not looked <= found:
                found -= looked
    return frozenset(found)


def _names(program: Program) -> Collection[str]:
    """All relations of a program, in a fixed order."""
    names = {CLOCK: None, **dict.fromkeys(sorted(program.inputs | program.outputs))}
    for rule in program.rules:
        names[rule.head] = None
        names |= dict.fromkeys(literal.relation for literal in rule.looks.values())
    for operator in program.operators:
        names |= dict.fromkeys((*operator.reads, operator.result))
    return names


def _derived(program: Program) -> frozenset[str]:
    return frozenset(rule.head for rule in program.rules) | frozenset(
        operator.result for operator in program.operators
    )
