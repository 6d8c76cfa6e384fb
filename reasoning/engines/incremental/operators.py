"""Aggregates, ⊞ⁿ□ and what has lasted as they are maintained: what did not change is not looked
at."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from citywise.reasoning.engines.incremental.relation import FOREVER, Relation
from citywise.reasoning.model import values
from citywise.reasoning.model.rules import Aggregate, Always, Lasting, Operator
from citywise.reasoning.model.values import Row, Value


class State(Protocol):
    """What an operator keeps from step to step."""

    def update(self, now: int) -> None:
        """Bring the result to a point of time; what it reads is there already."""


def state(operator: Operator, relations: Mapping[str, Relation]) -> State:
    """The state of an operator over empty relations."""
    match operator:
        case Aggregate():
            return _Aggregate(operator, relations)
        case Always():
            return _Always(operator, relations)
        case Lasting():
            return _Lasting(operator, relations)


class _Aggregate:
    def __init__(self, operator: Aggregate, relations: Mapping[str, Relation]) -> None:
        self._groups = relations[operator.groups]
        self._elements = relations[operator.elements]
        self._result = relations[operator.result]
        self._empty = members(operator)
        self._members: defaultdict[Row, _Members] = defaultdict(self._empty)
        self._shown: dict[Row, Value] = {}

    def update(self, _now: int) -> None:
        if not (self._groups.changed or self._elements.changed):
            return
        touched: dict[Row, None] = {}
        for row in self._elements.gone():
            self._take_out(row)
            touched[row[:-1]] = None
        # `came` may name a row twice, and a member that was counted twice would never be gone.
        for row in dict.fromkeys(self._elements.came()):
            self._members[row[:-1]].add(row[-1])
            touched[row[:-1]] = None
        # A group without elements has a value too (0, `#sup`), from when the group comes.
        for group in (*self._groups.gone(), *self._groups.came()):
            touched[group] = None
        self._show(touched)

    def _take_out(self, row: Row) -> None:
        members = self._members[row[:-1]]
        members.remove(row[-1])
        if not members.number:
            # Else every group there ever was would stay in memory.
            del self._members[row[:-1]]

    def _show(self, touched: Mapping[Row, None]) -> None:
        old: list[Row] = []
        new: dict[Row, int] = {}
        for group in touched:
            value = self._value(group) if group in self._groups.horizons else None
            # Rows of the result hold until they are dropped, so the value shown last must be
            # known. A value that comes out the same disturbs nobody.
            known = self._shown.get(group)
            if value == known:
                continue
            if known is not None:
                old.append((*group, known))
                del self._shown[group]
            if value is not None:
                new[*group, value] = FOREVER
                self._shown[group] = value
        self._result.drop(old)
        if new:
            self._result.give(new, FOREVER)

    def _value(self, group: Row) -> Value:
        members = self._members.get(group)
        return (members or self._empty()).value()


class _Members:
    """The tuples of a group."""

    def __init__(self) -> None:
        self.number = 0

    def add(self, item: Value) -> None:
        self.number += 1
        self.weigh(_weight(item), 1)

    def remove(self, item: Value) -> None:
        self.number -= 1
        self.weigh(_weight(item), -1)

    def weigh(self, weight: Value | None, sign: int) -> None:
        """Count a weight in, or out."""

    def value(self) -> Value:
        """What the aggregate is."""
        return self.number


def members(operator: Aggregate) -> type[_Members]:
    """What keeps the tuples of a group of an aggregate."""
    kinds: Mapping[str, type[_Members]] = {"count": _Count, "min": _Least, "max": _Greatest}
    kind = kinds.get(operator.function)
    return kind or (_PositiveSum if operator.function == "sum+" else _Sum)


def _weight(item: Value) -> Value | None:
    return item[1] if isinstance(item, tuple) and len(item) > 1 else None


class _Count(_Members):
    pass


class _Sum(_Members):
    def __init__(self) -> None:
        super().__init__()
        self._sum = 0

    def weigh(self, weight: Value | None, sign: int) -> None:
        if isinstance(weight, int):
            self._sum += sign * weight

    def value(self) -> Value:
        return self._sum


class _PositiveSum(_Sum):
    def weigh(self, weight: Value | None, sign: int) -> None:
        if isinstance(weight, int) and weight > 0:
            super().weigh(weight, sign)


class _Ordered(_Members):
    """Weights in clingo's order."""

    def __init__(self) -> None:
        super().__init__()
        self._keys: list[tuple[tuple[object, ...], Value]] = []

    def weigh(self, weight: Value | None, sign: int) -> None:
        if weight is None:
            return
        item = (values.order(weight), weight)
        if sign > 0:
            # A list and not a heap: weights leave in any order, and moving a list's end is one
            # call in C.
            insort(self._keys, item, key=_key)
        else:
            del self._keys[bisect_left(self._keys, item[0], key=_key)]


def _key(item: tuple[tuple[object, ...], Value]) -> tuple[object, ...]:
    return item[0]


class _Least(_Ordered):
    def value(self) -> Value:
        return self._keys[0][1] if self._keys else "#sup"


class _Greatest(_Ordered):
    def value(self) -> Value:
        return self._keys[-1][1] if self._keys else "#inf"


class _Runs:
    """Runs of points of time that end now, or a while before, by what holds at them."""

    def __init__(self, timed: Relation, width: int) -> None:
        self._timed, self._width = timed, width
        self._times: defaultdict[Row, set[Value]] = defaultdict(set)
        self._at: defaultdict[Value, dict[Row, None]] = defaultdict(dict)
        """The same by time."""
        self._since: dict[Row, tuple[int, int]] = {}
        """The run of each that held when it was last looked at: its first and last time."""

    def update(self, now: int, end: int) -> None:
        """Follow what came and went up to `now`."""
        start = now - self._width
        for row in self._timed.gone():
            self._take_out(row[:-1], row[-1], start)
        for row in dict.fromkeys(self._timed.came()):
            self._put_in(row[:-1], row[-1])
        # Only what holds at the last point can hold throughout a window, so runs are looked at
        # from their ends, and what does not hold there costs nothing.
        self._since = {item: (self._run(item, end), end) for item in self._at.get(end, ())}

    @property
    def begun(self) -> Iterator[tuple[Row, int]]:
        """What holds at the end, and since when it has at every point."""
        return ((item, since) for item, (since, _end) in self._since.items())

    def _take_out(self, item: Row, time: Value, start: int) -> None:
        times = self._times[item]
        times.discard(time)
        if not times:
            del self._times[item]
        del self._at[time][item]
        if not self._at[time]:
            del self._at[time]
        since, last = self._since.get(item, (0, -1))
        if isinstance(time, int) and max(since, start) <= time <= last:
            # The run goes on behind the hole; what the window has left behind is none.
            self._since[item] = (time + 1, last)

    def _put_in(self, item: Row, time: Value) -> None:
        self._times[item].add(time)
        self._at[time][item] = None
        since, last = self._since.get(item, (0, -1))
        if isinstance(time, int) and time < since <= last:
            del self._since[item]  # the run may go on before it

    def _run(self, item: Row, end: int) -> int:
        """The first time of the run that ends there."""
        since, last = self._since.get(item, (end, end - 2))
        # What was known of the run up to the last step is carried on: points are walked back only
        # where something before has changed.
        if last in (end - 1, end) and since <= last + 1:
            return min(since, end)
        times, since = self._times[item], end
        while since - 1 in times:
            since -= 1
        return since


class _Always:
    def __init__(self, operator: Always, relations: Mapping[str, Relation]) -> None:
        self._runs = _Runs(relations[operator.timed], operator.width)
        self._result = relations[operator.result]
        self._width, self._gap = operator.width, operator.gap
        self._first: int | None = None

    def update(self, now: int) -> None:
        if self._first is None:
            self._first = now
        start, end = max(self._first, now - self._width), now - self._gap
        self._runs.update(now, end)
        lasting = (item for item, since in self._runs.begun if since <= start)
        _have(self._result, lasting if start <= end else ())


class _Lasting:
    def __init__(self, operator: Lasting, relations: Mapping[str, Relation]) -> None:
        self._runs = _Runs(relations[operator.timed], operator.width)
        self._result = relations[operator.result]

    def update(self, now: int) -> None:
        self._runs.update(now, now)
        _have(self._result, ((*item, since) for item, since in self._runs.begun))


def _have(result: Relation, rows: Iterable[Row]) -> None:
    """Let a result have these rows, and no others."""
    holding, known = dict.fromkeys(rows), result.horizons
    result.drop([row for row in known if row not in holding])
    new = dict.fromkeys((row for row in holding if row not in known), FOREVER)
    if new:
        result.give(new, FOREVER)
