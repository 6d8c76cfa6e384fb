"""A relation: its rows with their horizons, their ends, what changed, and its indices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain, compress, repeat, starmap
from operator import itemgetter
from typing import TYPE_CHECKING, Literal

from citywise.reasoning.model.values import Row, Value

if TYPE_CHECKING:
    from citywise.reasoning.engines.incremental.columns import Columns

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
_LOOKED_FOR = 100
"""Sets of a step that may be gone through for rows that hold already, besides one for each row."""
_MANY = 200
"""Rows of a step from which on columns are faster."""
_STALE = 1000
"""Rows in buckets, beyond twice those that hold, from which on they are tidied."""

Rows = tuple[Row, ...]
"""Rows as they were: no step changes them."""
Horizons = dict[Row, int]
Kept = Literal["listed", "columns", "batched", "once"]
"""How a relation keeps its rows: in a dictionary of horizons, or in columns (`columns`); where
nobody looks at them by their horizons alone (`Batches`), or in buckets, if each is found once."""
Improved = tuple[Horizons, int | None]
"""Rows with their horizons, and that of all of them if it is one."""


class Batches:
    """Rows that nobody looks at, by their horizons.

    Sets keep the hashes of their rows: a batch comes, ends and is compared with all that hold
    without a look at its rows, which would be fetched from memory for it.
    """

    def __init__(self) -> None:
        self.known: set[Row] = set()
        """All that hold."""
        self.ends: dict[int, tuple[set[Row], list[Row]]] = {}
        """Those of each horizon; also in their order, with those that hold longer by now."""
        self.over: list[set[Row]] = []
        """Those that ended in this step."""
        self._sought = 0

    def give(self, rows: Collection[Row], end: int) -> tuple[list[Row], bool] | None:
        """Rows hold up to a horizon, if not longer already: those that did not hold, and
        whether others did, and less long. None, and nothing changes, if so many hold already
        that it does not pay to look for their horizons."""
        new, fresh, extended = set(rows), [*rows], False
        if len(new) < len(fresh):
            fresh = list(dict.fromkeys(rows))
        listed = fresh
        if not self.known.isdisjoint(new):
            again = self.known & new
            # Mostly joins have found a row from two sides.
            if end in self.ends:
                new -= self.ends[end][0]
                again &= new
            # Few at a time add up: where a quarter of all rows hold longer again, none is worth it.
            self._sought = max(0, self._sought + 4 * len(again) - len(fresh))
            if max(self._sought, len(again) * len(self.ends) - len(new)) > _LOOKED_FOR:
                return None
            for row in again:
                held = next(h for h, (found, _listed) in self.ends.items() if row in found)
                if held < end:
                    self.ends[held][0].discard(row)
                    extended = True
                else:
                    new.discard(row)
            listed = [row for row in fresh if row in new]
            fresh = [row for row in listed if row not in again]
        self.known.update(new)
        if end in self.ends:
            found, others = self.ends[end]
            found.update(new)
            others += listed
        elif new:
            self.ends[end] = new, [*listed]
        return fresh, extended

    def end(self, horizon: int) -> list[Row]:
        """Rows that end at a horizon."""
        if horizon not in self.ends:
            return []
        found, listed = self.ends.pop(horizon)
        self.known.difference_update(found)
        self.over.append(found)
        return _in_order(found, listed)

    def rows(self) -> list[Row]:
        """All that hold."""
        return list(chain.from_iterable(starmap(_in_order, self.ends.values())))

    def taken(self) -> dict[int, list[Row]]:
        """All that hold by their horizons; they are forgotten here."""
        ends = {horizon: _in_order(*rows) for horizon, rows in self.ends.items()}
        self.ends.clear()
        self.known.clear()
        return ends


def _in_order(found: set[Row], listed: list[Row]) -> list[Row]:
    return listed if len(found) == len(listed) else [row for row in listed if row in found]


def _due(ends: Mapping[int, object], since: int, now: int) -> Iterable[int]:
    """The horizons from `since` up to before `now`."""
    # After a long pause there are fewer of them than points of time that have passed.
    if now - since > len(ends):
        return sorted(horizon for horizon in ends if horizon < now)
    return range(since, now)


class Relation:
    """Rows with horizons: a row holds up to its horizon, inclusive (Laser, Definition 7).

    Its dictionaries live as long as it does: generated code holds on to them. `horizons`
    has the rows that hold; the indices may have ghosts besides, rows that were withdrawn in
    this step, so that what rested on them can be found. What leaves an evaluation (`rows`,
    `came`, `gone`) are tuples: the next step changes everything else in place.
    """

    def __init__(self, name: str, joined: bool = False, kept: Kept = "listed") -> None:
        self.name = name
        self.listed = kept == "listed"
        """Whether `horizons` has the rows."""
        self.once = kept == "once"
        """Whether the buckets alone have them, and each was found once (`give_once`): nothing
        is looked up for a row that comes or ends."""
        self._batched = kept == "batched"
        self._batches = Batches()
        """Where nobody looks at rows, those that hold."""
        self.columns: Columns | None = None
        """The rows, where it has them in columns."""
        self._make_columns: Callable[[], Columns] | None = None
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

    def keep_in_columns(self, make: Callable[[], Columns]) -> None:
        """Have the rows in columns, if many come with the first step in which any do."""
        self.listed, self._make_columns = False, make

    @property
    def in_columns(self) -> bool:
        """Whether the rows are in columns, or will be once there are some."""
        return self._make_columns is not None

    @property
    def changed(self) -> bool:
        """Whether anything happened in this step."""
        if self.columns is not None:
            return bool(self.columns.given)
        return bool(self.improved or self.fresh or self.expired or self.withdrawn)

    # -- changes ----------------------------------------------------------------------

    def expire(self, since: int, now: int) -> None:
        """End the rows with horizons from `since` up to before `now`."""
        if self.columns is not None:
            self.columns.expire(now)
            return
        if self._batched:
            for horizon in _due(self._batches.ends, since, now):
                if ended := self._batches.end(horizon):
                    self.expired = [*self.expired, *ended] if self.expired else ended
            return
        buckets = self._buckets
        for horizon in _due(buckets, since, now):
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
        if not self.once or FOREVER in ends:
            self.absorb(rows, ends)
            return
        buckets = self._buckets
        for row, end in zip(rows, ends, strict=True):
            buckets[end].append(row)
        self.scheduled += len(rows)
        self.fresh += rows

    def list_rows(self) -> None:
        """Have the rows in `horizons`, from now on."""
        if self._make_columns is not None:
            self._leave_columns()
        elif not self.listed:
            if self._batched:
                self._buckets.update(self._batches.taken())
                self.scheduled = sum(map(len, self._buckets.values()))
            self.listed, self.once, self._batched = True, False, False
            for horizon, bucket in self._buckets.items():
                self.horizons.update(dict.fromkeys(bucket, horizon))
            self._last = max(self._buckets, default=NEVER)
            self.scheduled -= len(self._buckets.pop(FOREVER, ()))

    def _leave_columns(self) -> None:
        """Be as if the rows had been listed all along."""
        columns, self.columns, self._make_columns = self.columns, None, None
        self.listed = True
        if columns is None:
            return
        rows, self.expired = columns.before()
        columns.codes.leave(columns)
        self.horizons.update(rows)
        if rows:
            self._schedule(rows)
        for positions, index in self.indices.items():
            add(index, positions, list(rows))
        for given, horizon in columns.given:
            self.give(given, horizon)

    def rows(self) -> Rows:
        """The rows that hold."""
        return tuple(self.held())

    def held(self) -> Collection[Row]:
        """The same, as they are kept until the next step."""
        if self._make_columns is not None:
            self.list_rows()
        if self.once:
            return list(chain.from_iterable(self._buckets.values()))
        return self.horizons if self.listed else self._batches.rows()

    def __len__(self) -> int:
        if self.columns is not None:
            return len(self.columns)
        if self.once:
            return self.scheduled
        return len(self.horizons if self.listed else self._batches.known)

    def give(self, rows: Horizons, horizon: int) -> None:
        """Rows hold up to one horizon, if not longer already."""
        if self._make_columns is not None and self._enters_columns(rows, horizon):
            return
        if self._batched and self._batch(rows, horizon):
            return
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

    def give_found(self, rows: list[Row], horizon: int) -> None:
        """The same for rows of which some may be there twice."""
        if not (self._batched and self._batch(rows, horizon)):
            self.give(dict.fromkeys(rows, horizon), horizon)

    def _batch(self, rows: Collection[Row], horizon: int) -> bool:
        if (found := self._batches.give(rows, horizon)) is None:
            return False
        fresh, extended = found
        self.fresh += fresh
        self.extended = self.extended or extended
        return True

    def _enters_columns(self, rows: Horizons, horizon: int) -> bool:
        if self.columns is None:
            if len(rows) < _MANY or self._make_columns is None:
                return False
            self.columns = self._make_columns()
        return self.columns.enter(rows, horizon)

    def absorb(self, rows: list[Row], ends: list[int]) -> None:
        """Rows hold up to horizons of their own, if not longer already."""
        if self._batched:
            # Those that hold longest first: what is found again then changes nothing.
            for end, found in sorted(_by_end(rows, ends).items(), reverse=True):
                self.give(found, end)
            return
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
        if self.columns is not None:
            self.columns.settle()
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
        if self._batches.over:
            self._batches.over = []
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
        if self._make_columns is not None:
            self.list_rows()
        if self._net is None:
            came, gone = self._found()
            self._net = tuple(came), tuple(gone)
        return self._net

    def _found(self) -> tuple[list[Row], list[Row]]:
        if self.once:
            return self.fresh, self.expired
        return self._netted() if self.withdrawn else self._renewed()

    def _renewed(self) -> tuple[list[Row], list[Row]]:
        """Where rows have only ended at their horizons: those that hold have come again."""
        held = self.horizons.keys() if self.listed else self._batches.known
        over = [self.expired] if self.listed else self._batches.over
        if all(map(held.isdisjoint, over)):
            return self.fresh, self.expired
        back = list(map(held.__contains__, self.expired))
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


def _by_end(rows: list[Row], ends: list[int]) -> dict[int, Horizons]:
    if ends.count(ends[0]) == len(ends):
        return {ends[0]: dict.fromkeys(rows, ends[0])}
    found: defaultdict[int, Horizons] = defaultdict(dict)
    for row, end in zip(rows, ends, strict=True):
        found[end][row] = end
    return found


def _latest(rows: list[Row], ends: list[int]) -> Horizons:
    """Each row with the latest of its ends."""
    found: Horizons = {}
    get = found.get
    for row, end in zip(rows, ends, strict=True):
        if end > get(row, NEVER):
            found[row] = end
    return found
