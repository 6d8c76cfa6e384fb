"""Rows with all the steps at which they hold, and rules over them, as Python.

A set of steps is a number whose bits are the steps: the steps at which a body holds are those of
its literals, `&`; those of a head are those of its bodies, `|`. So one join does for all steps what
`generated` does for the newest.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from citywise.reasoning.engines.incremental.generated import Look, RuleWriter
from citywise.reasoning.engines.incremental.relation import Index, Positions, add, empty, remove
from citywise.reasoning.model.joins import flat, is_known, ordered
from citywise.reasoning.model.rules import (
    Absent,
    Between,
    Call,
    Compare,
    Holds,
    Literal,
    Rule,
    Scan,
)
from citywise.reasoning.model.values import Row

Steps = int
"""A set of steps, a bit for each; below 0: all from some step on."""
Changed = Mapping[Row, Steps]
"""Rows, and steps at which they came to hold, or hold no more."""
Meet = Callable[[Changed, list[Row], list[Steps]], None]
"""`function(changed, found, steps)`: adds rows of the head to `found`, and to `steps` those at
which a body with a changed row holds."""
Happened = tuple[int, Collection[Row], Collection[Row]]
"""A step, rows that came with it, and rows that went."""
UpTo = Callable[[int], Steps]
"""The steps up to a time."""


class Validity:
    """The rows of a relation with their steps.

    A row that holds at the newest step has all steps from then on: it ends when that is said.
    While steps of the past change, `was` has what they were, and rows without a step stay in the
    indices, where what rested on them is found.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.steps: dict[Row, Steps] = {}
        self.was: dict[Row, Steps] = {}
        self.indices: dict[Positions, Index] = {}

    def index(self, positions: Positions) -> Index:
        """Rows by their values at `positions`: the value itself for one, else a tuple."""
        if positions not in self.indices:
            self.indices[positions] = index = empty()
            add(index, positions, list(self.steps))
        return self.indices[positions]

    # -- what the newest step brings ----------------------------------------------------

    def end(self, rows: Iterable[Row], before: Steps) -> None:
        """Rows hold no more: of their steps those of `before` are left."""
        steps = self.steps
        for row in rows:
            if row in steps:
                steps[row] &= before

    def begin(self, rows: Iterable[Row], since: Steps) -> None:
        """Rows hold from a step on."""
        steps = self.steps
        new = dict.fromkeys(rows, since)
        known = [] if steps.keys().isdisjoint(new) else [row for row in new if row in steps]
        for row in known:
            steps[row] |= since
            del new[row]
        steps.update(new)
        if new:
            for positions, index in self.indices.items():
                add(index, positions, list(new))

    def look_back(self, rows: Iterable[Row], changes: Iterable[Happened]) -> None:
        """Find all steps of a relation without any: of the rows that hold now, and of those that
        came with a step and went with it, the newest first."""
        steps = self.steps
        steps.update(dict.fromkeys(rows, -1))
        for step, came, gone in changes:
            since, before = -1 << step, (1 << step) - 1
            for row in came:
                if row in steps:
                    steps[row] &= since
            for row in gone:
                steps[row] = steps.get(row, 0) | before
        for positions, index in self.indices.items():
            add(index, positions, list(steps))

    def clear(self) -> None:
        """Forget all steps."""
        self.steps.clear()  # functions hold on to the dictionary, and to the indices
        for index in self.indices.values():
            index.clear()

    def forget(self, number: int) -> None:
        """Forget the first steps, and rows without others."""
        old = self.steps
        kept = {row: later for row, steps in old.items() if (later := steps >> number)}
        if len(kept) < len(old):
            self._leave([row for row in old if row not in kept])
        self.steps.clear()
        self.steps.update(kept)  # functions hold on to the dictionary

    # -- what changes in the past -------------------------------------------------------

    def change(self, row: Row, steps: Steps) -> None:
        """A row has other steps."""
        old = self.steps.get(row)
        if old is None:
            for positions, index in self.indices.items():
                add(index, positions, [row])
        self.was.setdefault(row, old or 0)
        self.steps[row] = steps

    def before(self, row: Row) -> Steps:
        """The steps of a row before anything changed."""
        found = self.was.get(row)
        return self.steps.get(row, 0) if found is None else found

    def gained(self) -> dict[Row, Steps]:
        """Rows with the steps that came."""
        steps = self.steps
        return {row: new for row, old in self.was.items() if (new := steps[row] & ~old)}

    def lost(self) -> dict[Row, Steps]:
        """Rows with the steps that are gone."""
        steps = self.steps
        return {row: gone for row, old in self.was.items() if (gone := old & ~steps[row])}

    def settle(self) -> None:
        """All has changed that was to."""
        gone = [row for row in self.was if not self.steps[row]]
        for row in gone:
            del self.steps[row]
        if gone:
            self._leave(gone)
        self.was.clear()

    def _leave(self, rows: list[Row]) -> None:
        for positions, index in self.indices.items():
            remove(index, positions, rows)


class Timeline:
    """The times of the steps, which grow; the first of them is bit 0 of a set."""

    def __init__(self, time: int) -> None:
        self.times: list[int] = [time]
        self.first: int | None = None
        """The time of the evaluation's first step, which may have been before."""

    def between(self, first: int, last: int, without: Iterable[tuple[int, int]] = ()) -> Steps:
        """The steps at times from one up to another, `without` those of other spans."""
        times = self.times
        steps = (1 << bisect_right(times, last)) - (1 << bisect_right(times, first - 1))
        for span in without:
            steps &= ~self.between(*span)
        return steps

    def upto(self, time: int) -> Steps:
        """The steps up to a time."""
        return (1 << bisect_right(self.times, time)) - 1


def each_of(steps: Steps) -> Iterator[int]:
    """The places of steps; mostly they follow each other."""
    while steps:
        low = (steps & -steps).bit_length() - 1
        rest = steps >> low
        if not rest & (rest + 1):  # all of them follow
            yield from range(low, low + rest.bit_length())
            return
        run = (~rest & (rest + 1)).bit_length() - 1
        yield from range(low, low + run)
        steps = rest >> run << (low + run)


def meeting(
    rule: Rule,
    trigger: int,
    relations: Mapping[str, Validity],
    look: Look,
    upto: UpTo,
    *,
    lost: bool,
) -> Meet:
    """The function that meets changes of a body literal with the others: as they are, or as
    they were, where something is `lost`."""
    others = list(rule.body)
    start = others.pop(trigger)
    assert isinstance(start, Scan | Absent | Holds)
    terms, arithmetic = flat(start.terms, "#t")
    writer = _StepsWriter(rule, relations, look, upto, lost=lost)
    return writer.meeting(terms, [*arithmetic, *others])


def rederiving(rule: Rule, relations: Mapping[str, Validity], look: Look, upto: UpTo) -> Meet:
    """The function that finds bodies for rows of the head."""
    terms, arithmetic = flat(rule.terms, "#h")
    writer = _StepsWriter(rule, relations, look, upto, lost=False)
    return writer.meeting(terms, [*arithmetic, *rule.body])


class _StepsWriter(RuleWriter):
    """Writes one function over steps."""

    def __init__(
        self,
        rule: Rule,
        relations: Mapping[str, Validity],
        look: Look,
        upto: UpTo,
        *,
        lost: bool,
    ) -> None:
        super().__init__(rule, look)
        self._validity = relations
        self._upto = upto
        self._lost = lost

    def meeting(self, trigger: tuple[Any, ...], others: list[Literal]) -> Meet:
        row, later = self._unpacked(trigger)
        self._loop(f"for {row}, h0 in changed.items():")
        for name, term in later:
            self._match(name, term)
        steps = self._body_steps(others)
        if self._rule.until is not None:
            term, more = self._rule.until
            upto = self._use("upto", self._upto)
            steps = self._both(steps, f"{upto}({self._integer(term)} + {more})")
        self._line(f"found.append({self._row(self._rule.terms)})")
        self._line(f"steps.append({steps})")
        self._close()
        return self._compiled("def run(changed, found, steps")  # type: ignore[no-any-return]

    def _body_steps(self, others: list[Literal]) -> str:
        """Meet the literals; the name of the steps at which all of them hold."""
        steps = "h0"
        for literal, bound in ordered(others, frozenset(self._bound), self._rule):
            match literal:
                case Scan():
                    steps = self._scan_steps(literal, bound, steps)
                case Holds():
                    steps = self._both(steps, self._steps_of(literal, self._row(literal.terms)))
                case Absent():
                    found = self._steps_of(literal, self._row(literal.terms))
                    steps = self._both(steps, f"~{found}")
                case Compare():
                    self._compare(literal, bound)
                case Between():
                    self._between(literal, bound)
                case Call():
                    self._call(literal)
        return steps

    def _scan_steps(self, scan: Scan, bound: frozenset[str], steps: str) -> str:
        known = [i for i, term in enumerate(scan.terms) if is_known(term, bound)]
        if len(known) == len(scan.terms):
            return self._both(steps, self._steps_of(scan, self._row(scan.terms)))
        relation, row = self._validity[scan.relation], self._fresh("row")
        self._look_now_and_then()
        if known:
            find, found = relation.index(tuple(known)).get, self._fresh("rows")
            keys = [self._expression(scan.terms[position]) for position in known]
            key = keys[0] if len(keys) == 1 else f"({', '.join(keys)})"
            self._line(f"{found} = {self._use('find', find)}({key})")
            self._skip_if(f"{found} is None")
            # A copy of many: what is found is taken in when all has been met.
            self._loop(f"for {row} in ({found},) if {found}.__class__ is tuple else {found}:")
        else:
            self._loop(f"for {row} in {self._use('rows', relation.steps)}:")
        steps = self._both(steps, self._steps_of(scan, row))
        unpacked, later = self._unpacked(scan.terms, frozenset(known))
        if unpacked != "_":
            self._line(f"{unpacked} = {row}")
        for name, term in later:
            self._match(name, term)
        return steps

    def _steps_of(self, literal: Scan | Absent | Holds, row: str) -> str:
        relation = self._validity[literal.relation]
        if self._lost:
            return f"{self._use('before', relation.before)}({row})"
        return f"{self._use('steps', relation.steps.get)}({row}, 0)"

    def _both(self, steps: str, others: str) -> str:
        """The name of the steps that two sets have in common, if there are any."""
        name = self._fresh("h")
        self._line(f"{name} = {steps} & {others}")
        self._skip_if(f"not {name}")
        return name
