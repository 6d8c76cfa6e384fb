"""A relation: its rows with their horizons, their ends, what changed, and its indices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import chain, compress, repeat
from operator import itemgetter

from citywise.reasoning.model.values import Row, Value

Positions = tuple[int, ...]
"""Where in the rows those values stand."""
Bucket = Row | list[Row] | dict[Row, None]
"""The rows of a key: the only one itself (there are many of these), a few, or many."""
Index = dict[Value, Bucket]
_FEW = 8
"""Rows up to which a list is faster than a dictionary."""


def empty() -> Index:
    """An index without rows.

    A dictionary that has had another key than texts keeps the hashes beside its keys; else
    each text that a look-up passes by is fetched, a tenth of the cost of a wide window's join.
    """
    index: Index = {(): ()}
    del index[()]
    return index


def add(index: Index, positions: Positions, rows: list[Row]) -> None:
    """Enter rows, none of which is there.

    Mostly keys are new, and each has one row.
    """
    keys = _keys(positions, rows)
    # All keys new, and no two alike: one call in C for all rows.
    if len(keys) == len(set(keys).difference(index)):
        index.update(zip(keys, rows, strict=True))
        return
    get = index.get
    for key, row in zip(keys, rows, strict=True):
        known = get(key)
        if known is None:
            index[key] = row
        elif isinstance(known, tuple):
            index[key] = [known, row]
        elif isinstance(known, dict):
            known[row] = None
        elif len(known) < _FEW:
            known.append(row)
        else:
            index[key] = dict.fromkeys((*known, row))


def remove(index: Index, positions: Positions, rows: list[Row]) -> None:
    """Take out rows that are there.

    Mostly each key has one row, and goes with it; the others are put back without theirs.
    """
    keys = _keys(positions, rows)
    # `None` of a key that an earlier row of this list has popped: its other rows were put back,
    # and it is popped again below.
    found = list(map(index.pop, keys, repeat(None)))
    if found == rows:
        return
    for key, row, entry in zip(keys, rows, found, strict=True):
        if isinstance(entry, tuple):
            continue
        known = index.pop(key) if entry is None else entry
        if isinstance(known, dict):
            del known[row]
        elif isinstance(known, list):
            known.remove(row)
        if known and not isinstance(known, tuple):
            index[key] = known


def _keys(positions: Positions, rows: list[Row]) -> list[Value]:
    return list(map(itemgetter(*positions), rows))


BEGINNING = -(1 << 61)
"""The instant of rows that have always been there, where instants are told apart."""
FOREVER = 1 << 62
"""The horizon of a row that nothing is known to end."""
NEVER = -(1 << 62)
"""Before all points of time."""
_STALE = 1000
"""Rows in buckets, beyond twice those that hold, from which on they are tidied."""

Rows = tuple[Row, ...]
"""Rows as they were: no step changes them."""
Horizons = dict[Row, int]
Improved = tuple[Horizons, int | None]
"""Rows with their horizons, and that of all of them if it is one."""


class Relation:
    """Rows with horizons: a row holds up to its horizon, inclusive (Laser, Definition 7).

    Its dictionaries live as long as it does: generated code holds on to them. `horizons`
    has the rows that hold; the indices may have ghosts besides, rows that were withdrawn in
    this step, so that what rested on them can be found. What leaves an evaluation (`rows`,
    `came`, `gone`) are tuples: the next step changes everything else in place.
    """

    def __init__(self, name: str, joined: bool = False, listed: bool = True) -> None:
        self.name = name
        self.listed = listed
        """Whether `horizons` has the rows. Else the buckets alone have them, and each was
        found once (`give_once`): nothing is looked up for a row that comes or ends."""
        self.extended = False
        """Whether a row that held before has come in this step, to hold longer."""
        self.horizons: Horizons = {}
        self.indices: dict[Positions, Index] = {}
        self.joined = joined
        """Whether a rule joins its rows; nobody looks at `improved` else."""
        self.improved: list[Improved] = []
        """Of this step: rows that came or hold longer, in the order in which they did."""
        self.fresh: list[Row] = []
        """Of this step: rows that were absent when they came (perhaps more than once)."""
        self.expired: list[Row] = []
        """Of this step: rows that ended at their horizon."""
        self.withdrawn: Horizons = {}
        """Of this step: rows that ended before their horizon, and that horizon."""
        self._net: tuple[Rows, Rows] | None = None
        self._ghosts: dict[Row, None] = {}
        self._buckets: defaultdict[int, list[Row]] = defaultdict(list)
        """Rows by the horizons they have or had."""
        self.scheduled = 0
        """Rows in all buckets, with those that will not end then."""
        self._last = NEVER
        """The latest horizon that a row has ever had."""

    @property
    def changed(self) -> bool:
        """Whether anything happened in this step."""
        return bool(self.improved or self.fresh or self.expired or self.withdrawn)

    # -- changes ----------------------------------------------------------------------

    def expire(self, since: int, now: int) -> None:
        """End the rows with horizons from `since` up to before `now`."""
        buckets = self._buckets
        if not buckets:
            return
        # After a long pause there are fewer buckets than points of time that have passed.
        if now - since > len(buckets):
            due: Iterable[int] = sorted(h for h in buckets if h < now)
        else:
            due = range(since, now)
        for horizon in due:
            if bucket := buckets.pop(horizon, None):
                self.scheduled -= len(bucket)
                if self.listed:
                    self._end(bucket, horizon)
                else:
                    self.expired += bucket

    def _end(self, bucket: list[Row], horizon: int) -> None:
        horizons = self.horizons
        # All are popped, in C, and those that hold longer by now put back. They are few: a row is
        # in the bucket of each horizon it has had.
        ends = list(map(horizons.pop, bucket, repeat(None)))
        ended = bucket
        if ends.count(horizon) != len(ends):
            ended = [row for row, end in zip(bucket, ends, strict=True) if end == horizon]
            others = zip(bucket, ends, strict=True)
            horizons.update((row, end) for row, end in others if end not in (None, horizon))
        self._forget(ended)
        self.expired += ended

    def give_once(self, rows: list[Row], ends: list[int]) -> None:
        """Rows that are absent, have not ended in this step, and are there once each hold
        up to horizons of their own; for a relation that is not joined."""
        if self.listed or FOREVER in ends:
            self.absorb(rows, ends)
            return
        buckets = self._buckets
        for row, end in zip(rows, ends, strict=True):
            buckets[end].append(row)
        self.scheduled += len(rows)
        self.fresh += rows

    def list_rows(self) -> None:
        """Have the rows in `horizons`, from now on."""
        if not self.listed:
            self.listed = True
            for horizon, bucket in self._buckets.items():
                self.horizons.update(dict.fromkeys(bucket, horizon))
            self._last = max(self._buckets, default=NEVER)

    def rows(self) -> Rows:
        """The rows that hold."""
        if self.listed:
            return tuple(self.horizons)
        return tuple(chain.from_iterable(self._buckets.values()))

    def __len__(self) -> int:
        return len(self.horizons) if self.listed else self.scheduled

    def give(self, rows: Horizons, horizon: int) -> None:
        """Rows hold up to one horizon, if not longer already."""
        self.list_rows()
        horizons = self.horizons
        # Later than that of any row so far, as with every item of a stream in order: no row can
        # hold longer already, and none is looked up.
        if horizon > self._last:
            self._last = horizon
        else:
            get = horizons.get
            rows = {row: horizon for row in rows if get(row, NEVER) < horizon}
        if not rows:
            return
        # Before the update. Most inputs are all new, which this tells without a loop in Python.
        absent = set(rows).difference(horizons) if horizons else rows
        if len(absent) == len(rows):
            fresh = [*rows]
        else:
            fresh = [row for row in rows if row in absent]
            self.extended = True
        horizons.update(rows)
        if self.joined:
            self.improved.append((rows, horizon))
        if horizon < FOREVER:
            self._buckets[horizon].extend(rows)
            self.scheduled += len(rows)
            # Tidying goes through all buckets, and pays once half of what they hold is stale: a
            # constant cost for each row in the long run.
            if self.scheduled > 2 * len(self.horizons) + _STALE:
                self._tidy()
        self._enter(fresh)

    def absorb(self, rows: list[Row], ends: list[int]) -> None:
        """Rows hold up to horizons of their own, if not longer already."""
        self.list_rows()
        new = dict(zip(rows, ends, strict=True))
        fresh = rows
        if len(new) < len(rows):
            new = _latest(rows, ends)
            fresh = list(new)
        horizons = self.horizons
        if not horizons.keys().isdisjoint(new):
            known = list(map(horizons.get, new))
            fresh = [row for row, before in zip(new, known, strict=True) if before is None]
            held = [(row, end) for row, end in zip(new, known, strict=True) if end is not None]
            for row, end in held:
                if new[row] <= end:
                    del new[row]
            self.extended = self.extended or len(new) > len(fresh)
        if new:
            horizons.update(new)
            if self.joined:
                self.improved.append((new, None))
            self._schedule(new)
            self._enter(fresh)

    def _schedule(self, rows: Horizons) -> None:
        """Note when rows end."""
        buckets = self._buckets
        ends = set(rows.values())
        if len(ends) == 1:
            buckets[ends.pop()].extend(rows)
        else:
            for row, end in rows.items():
                buckets[end].append(row)
        self._last = max((self._last, *buckets))
        # Nothing will end then; `_last` had to know, though.
        buckets.pop(FOREVER, None)
        self.scheduled += len(rows)
        if self.scheduled > 2 * len(self.horizons) + _STALE:
            self._tidy()

    def _tidy(self) -> None:
        """Forget ends of rows that have been withdrawn, or hold longer."""
        get = self.horizons.get
        for horizon, bucket in list(self._buckets.items()):
            bucket[:] = [row for row in bucket if get(row) == horizon]
            if not bucket:
                del self._buckets[horizon]
        self.scheduled = sum(map(len, self._buckets.values()))

    def _enter(self, fresh: list[Row]) -> None:
        if not fresh:
            return
        self.fresh += fresh
        if self._ghosts:
            ghosts = self._ghosts
            # A ghost is still in the indices. Coming back it stays there, and is a ghost no more.
            kept = [row for row in fresh if row in ghosts]
            fresh = [row for row in fresh if row not in ghosts]
            for row in kept:
                del ghosts[row]
        for positions, index in self.indices.items():
            add(index, positions, fresh)

    def withdraw(self, rows: Horizons) -> None:
        """Take note of rows that have been taken out of `horizons` before their horizon."""
        self.withdrawn.update(rows)
        self._ghosts.update(dict.fromkeys(rows))

    def drop(self, rows: Iterable[Row]) -> None:
        """End rows now, whatever their horizon; others are ignored."""
        self.list_rows()
        pop = self.horizons.pop
        self.withdraw({row: end for row in rows if (end := pop(row, None)) is not None})

    def settle(self) -> None:
        """The step is over: forget what changed in it."""
        if self._ghosts:
            self._forget(list(self._ghosts))
            self._ghosts.clear()
        if self.improved:
            self.improved = []
        if self.fresh:
            self.fresh = []
        if self.expired:
            self.expired = []
        if self.withdrawn:
            self.withdrawn = {}
        self._net = None
        self.extended = False

    # -- what changed -----------------------------------------------------------------

    def came(self) -> Rows:
        """Rows that hold, and did not before the step."""
        return self._changes()[0]

    def gone(self) -> Rows:
        """Rows that held before the step, and no more."""
        return self._changes()[1]

    def _changes(self) -> tuple[Rows, Rows]:
        if self._net is None:
            came, gone = self._found()
            self._net = tuple(came), tuple(gone)
        return self._net

    def _found(self) -> tuple[list[Row], list[Row]]:
        if not self.listed:
            return self.fresh, self.expired
        return self._netted() if self.withdrawn else self._renewed()

    def _renewed(self) -> tuple[list[Row], list[Row]]:
        """Where rows have only ended at their horizons: those that hold have come again."""
        if self.horizons.keys().isdisjoint(self.expired):
            return self.fresh, self.expired
        back = list(map(self.horizons.__contains__, self.expired))
        again = set(compress(self.expired, back))
        gone = [row for row, held in zip(self.expired, back, strict=True) if not held]
        return [row for row in self.fresh if row not in again], gone

    def _netted(self) -> tuple[list[Row], list[Row]]:
        # What went and came within the step did neither, seen from outside.
        ended = [*self.expired, *self.withdrawn]
        again = set(self.fresh).intersection(ended)
        if not again:
            return self.fresh, ended
        came = [row for row in dict.fromkeys(self.fresh) if row not in again]
        return came, [row for row in ended if row not in again]

    def is_new(self) -> bool:
        """Whether all that came in this step is new: it neither held nor ended before."""
        if self.extended or self.withdrawn:
            return False
        return self.horizons.keys().isdisjoint(self.expired)

    def shortened(self) -> Mapping[Row, int]:
        """Rows that hold no more, or less long, against what was known of them, and up to
        when they were to hold."""
        get = self.horizons.get
        return {row: end for row, end in self.withdrawn.items() if get(row, NEVER) < end}

    def ghosts(self) -> Collection[Row]:
        """Rows that were withdrawn in this step and have not come again."""
        return self._ghosts

    # -- indices ----------------------------------------------------------------------

    def index(self, positions: Positions) -> Index:
        """Rows by their values at `positions`: the value itself for one, else a tuple."""
        if positions not in self.indices:
            index = empty()
            # With ghosts: an index may be made amid a step, by a function that looks for what
            # rested on them.
            add(index, positions, list(chain(self.horizons, self._ghosts)))
            self.indices[positions] = index
        return self.indices[positions]

    def _forget(self, rows: list[Row]) -> None:
        for positions, index in self.indices.items():
            remove(index, positions, rows)


def _latest(rows: list[Row], ends: list[int]) -> Horizons:
    """Each row with the latest of its ends."""
    found: Horizons = {}
    get = found.get
    for row, end in zip(rows, ends, strict=True):
        if end > get(row, NEVER):
            found[row] = end
    return found
