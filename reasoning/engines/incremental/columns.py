"""Rows of an input that is only joined, as columns of numbers.

Each value has a number, each row a place (its *slot*) in arrays; rows end in the order in which
they came, so none is ever taken out of an index. A join of many rows costs some calls of numpy,
where dictionaries fetch each row and partner from memory. What does not fit (few rows at a time,
rows that come again and again, keys of many rows, retractions) is kept in dictionaries instead
(`Relation.list_rows`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from citywise.reasoning.model.joins import PairJoin
from citywise.reasoning.model.values import Row, Value

Numbers: TypeAlias = NDArray[np.int64]
Given: TypeAlias = list[tuple[dict[Row, int], int]]
"""Rows and the horizon of all of them, as they came."""
_LONGEST = 16
"""Rows of a key, from which on dictionaries are faster."""
_REPEATED = 8
"""Of so many rows one may hold already."""
_SMALL = 32
"""Rows of a step that are few for numpy; so many such steps in a row end it."""
_SPARE = 4_096
"""Slots, and numbers, that are there before they are needed."""
_DEAD = np.int64(-(1 << 62))


class LongKeyError(Exception):
    """A key has too many rows."""


class Codes:
    """Numbers of the values of some relations; those that no row has are given up now and then."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        """By number."""
        self._numbers: dict[Value, int] = {}
        self._relations: list[Columns] = []
        self._most = _SPARE

    def relation(self) -> Columns:
        """A relation without rows."""
        self._relations.append(found := Columns(self))
        return found

    def of(self, column: Sequence[Value]) -> Numbers:
        """The numbers of values."""
        # A value's number is the place at which it came first: one look-up in C for each.
        base = len(self.values)
        numbers = map(self._numbers.setdefault, column, range(base, base + len(column)))
        self.values += column
        return np.fromiter(numbers, np.int64, len(column))

    def leave(self, relation: Columns) -> None:
        """A relation has no rows here any more."""
        self._relations.remove(relation)
        if not self._relations:
            self.values, self._numbers, self._most = [], {}, _SPARE

    def tidy(self) -> None:
        """Give up numbers, if there are many more than values."""
        if len(self.values) <= self._most:
            return
        used = np.zeros(len(self.values), np.bool_)
        for relation in self._relations:
            for column in relation.held():
                used[column] = True
        kept = np.flatnonzero(used)
        renumbered = np.full(len(self.values), -1, np.int64)
        renumbered[kept] = np.arange(len(kept))
        self.values = list(map(self.values.__getitem__, kept.tolist()))
        self._numbers = dict(zip(self.values, range(len(self.values)), strict=True))
        for relation in self._relations:
            relation.renumber(renumbered, kept)
        self._most = 3 * len(self.values) + _SPARE


class Columns:
    """The rows of one relation. Those from `low` on hold, those from `new` on came in this step."""

    def __init__(self, codes: Codes) -> None:
        self.codes = codes
        self.low = self.new = self.size = 0
        self._before = 0
        """`low` before the step."""
        self.given: Given = []
        """What came in this step."""
        self._columns: list[Numbers] = []
        self.ends = np.empty(0, np.int64)
        self._dead: list[tuple[int, int]] = []
        """Slots of rows that came again in this step, with the horizons that they had."""
        self._lost = 0
        """How many such slots there are from `low` on."""
        self._marks: deque[tuple[int, int]] = deque()
        """Horizons, and the slots before which rows have them or lesser ones."""
        self._firsts: dict[int, Numbers] = {}
        """By column: the newest slot with each number, or one that is over."""
        self._nexts: dict[int, Numbers] = {}
        """By column: for each slot the next older one with the same number."""
        self._small = 0

    def __len__(self) -> int:
        return self.size - self.low - self._lost

    # -- steps ---------------------------------------------------------------------------

    def settle(self) -> None:
        """The step is over."""
        self.given, self._dead = [], []
        self._before, self.new = self.low, self.size

    def expire(self, now: int) -> None:
        """End the rows with horizons before `now`."""
        while self._marks and self._marks[0][0] < now:
            self.low = self._marks.popleft()[1]
        if self._lost:
            self._lost = int(np.count_nonzero(self.ends[self.low : self.size] == _DEAD))

    def enter(self, rows: dict[Row, int], horizon: int) -> bool:
        """Rows hold up to a horizon; False, and nothing changes, if they do not fit."""
        self._small = self._small + 1 if len(rows) < _SMALL else 0
        if self._small > _SMALL or (self._marks and horizon < self._marks[-1][0]):
            return False
        self.codes.tidy()
        self._make_room(len(rows))
        numbers = [self.codes.of(column) for column in zip(*rows, strict=True)]
        if not self._columns:
            self._columns = [np.empty(len(self.ends), np.int64) for _ in numbers]
        elif not self._see_to_known(numbers, len(rows)):
            return False
        first, self.size = self.size, self.size + len(rows)
        for column, found in zip(self._columns, numbers, strict=True):
            column[first : self.size] = found
        self.ends[first : self.size] = horizon
        for place in self._firsts:
            self._link(place, first)
        self._marks.append((horizon, self.size))
        self.given.append((rows, horizon))
        return True

    def _see_to_known(self, numbers: list[Numbers], count: int) -> bool:
        """Rows that hold already hold longer from now on: their slots are given up."""
        place = next(iter(self._firsts), 0)
        try:
            rows, slots = self.find(place, numbers[place])
        except LongKeyError:
            return False
        same = np.ones(len(rows), np.bool_)
        for column, found in zip(self._columns, numbers, strict=True):
            same &= column[slots] == found[rows]
        again = slots[same]
        if len(again) * _REPEATED > count:
            return False
        self._dead += zip(again.tolist(), self.ends[again].tolist(), strict=True)
        self.ends[again] = _DEAD
        self._lost += len(again)
        return True

    # -- looking up -----------------------------------------------------------------------

    def column(self, place: int, slots: Numbers | slice) -> Numbers:
        """The numbers in a column."""
        return self._columns[place][slots]

    def find(self, place: int, wanted: Numbers) -> tuple[Numbers, Numbers]:
        """Which of the wanted numbers are in a column, and the slots of those.

        Raises `LongKeyError`.
        """
        if place not in self._firsts:
            self._firsts[place] = np.full(0, -1, np.int64)
            self._nexts[place] = np.empty(len(self.ends), np.int64)
            self._link(place, self._before)
        firsts, nexts = self._firsts[place], self._nexts[place]
        # What came since the last row was entered is in none.
        at = np.flatnonzero(wanted < len(firsts))
        slots = firsts[wanted if len(at) == len(wanted) else wanted[at]]
        found: list[tuple[Numbers, Numbers]] = []
        for _round in range(_LONGEST):
            live = slots >= self.low
            at, slots = at[live], slots[live]
            if not len(slots):
                break
            found.append((at, slots))
            slots = nexts[slots]
        else:
            raise LongKeyError
        rows = np.concatenate([rows for rows, _slots in found]) if found else at
        slots = np.concatenate([slots for _rows, slots in found]) if found else slots
        if self._lost:
            live = self.ends[slots] != _DEAD
            rows, slots = rows[live], slots[live]
        return rows, slots

    def _link(self, place: int, first: int) -> None:
        """Enter the slots from `first` on in the index of a column."""
        firsts, nexts = self._firsts[place], self._nexts[place]
        if len(firsts) < len(self.codes.values):
            more = np.full(len(self.codes.values) + _SPARE - len(firsts), -1, np.int64)
            firsts = self._firsts[place] = np.concatenate([firsts, more])
        numbers, slots = self._columns[place][first : self.size], np.arange(first, self.size)
        nexts[slots] = firsts[numbers]
        firsts[numbers] = slots
        if (firsts[numbers] != slots).any():  # some have the same number: each leads to the next
            order = np.argsort(numbers, kind="stable")
            same = np.flatnonzero(np.diff(numbers[order]) == 0)
            nexts[slots[order[same + 1]]] = slots[order[same]]
            firsts[numbers[order]] = slots[order]

    # -- room -------------------------------------------------------------------------------

    def held(self) -> list[Numbers]:
        """The numbers of all rows that held in this step."""
        return [column[self._before : self.size] for column in self._columns]

    def renumber(self, numbers: Numbers, kept: Numbers) -> None:
        """Values have other numbers: of the old ones, and the old ones of the new."""
        for column in self._columns:
            column[self._before : self.size] = numbers[column[self._before : self.size]]
        for place, firsts in self._firsts.items():
            more = np.full(max(0, len(numbers) - len(firsts)), -1, np.int64)
            self._firsts[place] = np.concatenate([firsts, more])[kept]

    def _make_room(self, count: int) -> None:
        """Have slots for more rows; those that are over are given up."""
        if self.size + count <= len(self.ends):
            return
        over, held = self._before, self.size - self._before
        length = 2 * (held + count) + _SPARE

        def moved(old: Numbers) -> Numbers:
            new = np.empty(length, np.int64)
            new[:held] = old[over : self.size]
            return new

        self._columns = list(map(moved, self._columns))
        self.ends = moved(self.ends)
        for place, nexts in self._nexts.items():
            self._nexts[place] = moved(nexts)
            self._nexts[place][:held] -= over
            self._firsts[place] -= over
        self._dead = [(slot - over, end) for slot, end in self._dead]
        self._marks = deque((horizon, slot - over) for horizon, slot in self._marks)
        self.low -= over
        self.new -= over
        self.size -= over
        self._before = 0

    # -- rows -------------------------------------------------------------------------------

    def rows(self, slots: Numbers) -> Iterator[Row]:
        """The rows in slots."""
        columns = (self.values(place, slots) for place in range(len(self._columns)))
        return zip(*columns, strict=True)

    def values(self, place: int, slots: Numbers) -> Iterator[Value]:
        """What stands in a column."""
        return map(self.codes.values.__getitem__, self._columns[place][slots].tolist())

    def before(self) -> tuple[dict[Row, int], list[Row]]:
        """The rows that held before this step and did not end with it, with their horizons, and
        those that ended with it."""
        ends = self.ends[: self.new].copy()
        for slot, end in self._dead:
            if slot < self.new:
                ends[slot] = end
        there = np.arange(self._before, self.new)
        there = there[ends[self._before :] != _DEAD]
        held = there[there >= self.low]
        rows = dict(zip(self.rows(held), ends[held].tolist(), strict=True))
        return rows, list(self.rows(there[there < self.low]))


def joined(
    join: PairJoin, trigger: int, sides: tuple[Columns, Columns]
) -> Iterator[tuple[list[Row], int]]:
    """What new rows of one side give with the rows of the other, by horizon, the latest first;
    those of the second do not meet new rows of the first again. Raises `LongKeyError`."""
    mine, other = sides[trigger], sides[1 - trigger]
    place, theirs = join.shared[0] if trigger == 0 else join.shared[0][::-1]
    rows, slots = other.find(theirs, mine.column(place, slice(mine.new, mine.size)))
    rows += mine.new
    # A row that came twice in this step has been given up, too.
    kept = mine.ends[rows] != _DEAD
    if trigger == 1:
        kept &= slots < other.new
    pair = (rows, slots) if trigger == 0 else (slots, rows)
    for left, right in join.shared[1:]:
        kept &= sides[0].column(left, pair[0]) == sides[1].column(right, pair[1])
    if not kept.all():
        pair = pair[0][kept], pair[1][kept]
    ends = np.minimum(sides[0].ends[pair[0]], sides[1].ends[pair[1]])
    order = np.argsort(-ends, kind="stable")
    ends = ends[order]
    columns = [sides[side].values(at, pair[side][order]) for side, at in join.head]
    given = list(zip(*columns, strict=True))
    bounds = [0, *(np.flatnonzero(np.diff(ends)) + 1).tolist(), len(given)]
    for start, stop in pairwise(bounds):
        if start < stop:
            yield given[start:stop], int(ends[start])
