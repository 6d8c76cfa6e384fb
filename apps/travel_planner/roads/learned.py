"""What is usual at a place in an hour of the week.

Of a road it is the time per metre, of a garage the share of its places that is taken. Means
are running totals in which what was seen four weeks ago counts half.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from sqlalchemy import Connection, Engine, func, select

from citywise.apps.travel_planner.roads.network import F64, I64
from citywise.apps.travel_planner.roads.roles import Roles
from citywise.apps.travel_planner.roads.travel_times import pace
from citywise.apps.travel_planner.tables import LearnedRow
from citywise.backend.app import ReadingRow, times, upsert
from citywise.backend.kinds.installed import KnownKinds

SLOTS = 7 * 24
HALF_LIFE_MS = 28 * 24 * 3_600_000
ENOUGH = 2.0
"""Less weight than that tells nothing of an hour."""
_HOUR_MS = 3_600_000
_DAYS = (range(5), range(5, 7))
"""Days that are alike: an hour of which too little is known is as it is on the others."""


def slot(t_ms: int) -> int:
    """The hour of the week on the city's clock: weekday × 24 + hour, Monday is 0."""
    return _slot_of_hour(t_ms // _HOUR_MS, times.zone_name())


@lru_cache(maxsize=4096)
def _slot_of_hour(hour: int, zone: str) -> int:
    local = datetime.fromtimestamp(hour * 3600, ZoneInfo(zone))
    return local.weekday() * 24 + local.hour


def usual(weeks: F64, t_ms: int) -> F64:
    """What is usual at a time: `weeks` has an entry for each slot in its last axis.

    Between the middles of two hours it is interpolated; where one of them is not known, it
    is the other; NaN where neither is.
    """
    before = t_ms - _HOUR_MS // 2
    first, second = weeks[..., slot(before)], weeks[..., slot(before + _HOUR_MS)]
    share = before % _HOUR_MS / _HOUR_MS
    between = first * (1 - share) + second * share
    return np.where(np.isnan(first), second, np.where(np.isnan(second), first, between))


def means(total: F64, weight: F64) -> F64:
    """The mean of each slot (last axis); NaN where too little was seen on any alike day."""
    days = (*weight.shape[:-1], 7, 24)
    totals, weights = total.reshape(days), weight.reshape(days)
    found = np.full(days, np.nan)
    for alike in _DAYS:
        pick = list(alike)
        found[..., pick, :] = _mean(
            totals[..., pick, :].sum(axis=-2, keepdims=True),
            weights[..., pick, :].sum(axis=-2, keepdims=True),
        )
    own = _mean(totals, weights)
    return np.where(np.isnan(own), found, own).reshape(weight.shape)


def _mean(total: F64, weight: F64) -> F64:
    return np.where(weight >= ENOUGH, total / np.where(weight > 0, weight, 1.0), np.nan)


def weeks_of(places: int, place: I64, t_ms: I64, value: F64, now_ms: int) -> F64:
    """What is usual at places 0 … `places` - 1, by what was seen of them until now."""
    if not len(t_ms):
        return np.full((places, SLOTS), np.nan)
    hours = t_ms // _HOUR_MS
    first, last = int(hours.min()), int(hours.max())
    zone = times.zone_name()
    slots = np.array([_slot_of_hour(h, zone) for h in range(first, last + 1)], dtype=np.int64)
    worth = np.exp2((t_ms - now_ms) / HALF_LIFE_MS)
    cell = place * SLOTS + slots[hours - first]
    shape = (places, SLOTS)
    total = np.bincount(cell, worth * value, places * SLOTS).reshape(shape)
    weight = np.bincount(cell, worth, places * SLOTS).reshape(shape)
    return means(np.asarray(total, dtype=np.float64), np.asarray(weight, dtype=np.float64))


class Weeks:
    """What is usual at places, as the database has it."""

    def __init__(self) -> None:
        self._totals: dict[str, F64] = {}
        self._seen_ms: int | None = None

    def update(self, connection: Connection) -> bool:
        """Read what is new; whether there was anything."""
        table = LearnedRow
        query = select(table.place_id, table.slot, table.total, table.weight, table.updated_ms)
        if self._seen_ms is not None:
            # Sensors are not read in the order of their times.
            query = query.where(table.updated_ms > self._seen_ms - _HOUR_MS)
        rows = connection.execute(query).all()
        for place_id, at, total, weight, updated_ms in rows:
            self._totals.setdefault(place_id, np.zeros((2, SLOTS)))[:, at] = total, weight
            self._seen_ms = max(self._seen_ms or 0, updated_ms)
        return bool(rows)

    def of(self, places: Sequence[str]) -> F64:
        """The means of some places: a row for each."""
        nothing = np.zeros((2, SLOTS))
        totals = [self._totals.get(place, nothing) for place in places]
        both = np.array(totals).reshape(-1, 2, SLOTS)
        return means(both[:, 0], both[:, 1])


class _Seen(NamedTuple):
    """One value that a place had at a time."""

    place: str
    t_ms: int
    value: float


class Learner:
    """Keeps what is usual up to date in the database; only one process may."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kinds = KnownKinds()
        self._change = -1
        self._last_ms: dict[str, int] | None = None
        self._counted: dict[str, _Seen] = {}
        """What counted last of each place, in this process."""

    def learn(self) -> int:
        """Take in the readings that are new since the last call; returns how many counted.

        To be called about once a minute: it samples, since the database has only the last
        reading of each sensor. None is counted twice, restarts included. One that is corrected or
        withdrawn after it counted, and before the next, counts as what it says now.
        """
        with self._engine.begin() as connection:
            if self._last_ms is None:
                self._last_ms = _last(connection)
            roles = Roles(self._kinds.read(connection))
            rows = connection.execute(_readings(self._change, roles)).mappings().all()
            said = [(row["place_id"], row["observed_ms"], _seen(row, roles)) for row in rows]
            amended = [*self._amended(said)]
            upsert(connection, LearnedRow, _without(connection, amended))
            seen = [one for _place, _ms, one in said if one is not None and self._is_new(one)]
            seen += [now for _before, now in amended if now is not None]
            upsert(connection, LearnedRow, _counted(connection, seen))
        for before, now in amended:
            if now is None:
                del self._counted[before.place]
        self._counted |= {one.place: one for one in seen}
        self._change = max([self._change, *(row["change"] for row in rows)])
        self._last_ms |= {one.place: one.t_ms for one in seen}
        return len(seen)

    def _amended(
        self, said: Iterable[tuple[str, int, _Seen | None]]
    ) -> Iterator[tuple[_Seen, _Seen | None]]:
        """What has counted and says something else now, or nothing."""
        for place, observed_ms, now in said:
            before = self._counted.get(place)
            if before is not None and before.t_ms == observed_ms and before != now:
                yield before, now

    def _is_new(self, one: _Seen) -> bool:
        assert self._last_ms is not None
        return one.t_ms > self._last_ms.get(one.place, -1)


def _last(connection: Connection) -> dict[str, int]:
    query = select(LearnedRow.place_id, func.max(LearnedRow.updated_ms))
    rows = connection.execute(query.group_by(LearnedRow.place_id)).all()
    return {row[0]: row[1] for row in rows}


def _readings(change: int, roles: Roles) -> Any:
    row = ReadingRow
    columns = (row.kind, row.place_id, row.observed_ms, row.body, row.change)
    return select(*columns).where(row.change > change, row.kind.in_({*roles.roads, *roles.garages}))


def _seen(row: Mapping[Any, Any], roles: Roles) -> _Seen | None:
    """What a reading tells of its place; None: nothing."""
    body, place, observed_ms = row["body"], row["place_id"], row["observed_ms"]
    if counter := roles.garages.get(row["kind"]):
        count = counter.read(body)
        return count and _Seen(place, observed_ms, count.occupied / count.capacity)
    road = roles.roads[row["kind"]].read(body)
    if road is None or not road[1]:
        return None
    return _Seen(place, observed_ms, float(pace(np.array([road[0]]))[0]))


def _counted(connection: Connection, seen: Iterable[_Seen]) -> list[dict[str, Any]]:
    """The rows with some values more."""
    by_key = {(one.place, slot(one.t_ms)): one for one in seen}
    table = LearnedRow.__table__
    slots = {at for _, at in by_key}
    rows = connection.execute(select(table).where(table.c.slot.in_(slots))).mappings()
    before = {(row["place_id"], row["slot"]): row for row in rows} if slots else {}
    return [_added(before.get(key), *key, one) for key, one in by_key.items()]


def _without(
    connection: Connection, amended: Iterable[tuple[_Seen, _Seen | None]]
) -> list[dict[str, Any]]:
    """The rows without values that counted last of their places."""
    table = LearnedRow.__table__
    found = []
    for one, _now in amended:
        here = (table.c.place_id == one.place) & (table.c.slot == slot(one.t_ms))
        row = connection.execute(select(table).where(here)).mappings().one_or_none()
        if row is not None and row["updated_ms"] == one.t_ms:
            less = {"total": row["total"] - one.value, "weight": max(0.0, row["weight"] - 1.0)}
            found.append({**row, **less})
    return found


def _added(row: Mapping[Any, Any] | None, place: str, at: int, one: _Seen) -> dict[str, Any]:
    kept = 0.0 if row is None else 2 ** ((row["updated_ms"] - one.t_ms) / HALF_LIFE_MS)
    total, weight = (0.0, 0.0) if row is None else (row["total"], row["weight"])
    return {
        "place_id": place,
        "slot": at,
        "total": total * kept + one.value,
        "weight": weight * kept + 1.0,
        "updated_ms": one.t_ms,
    }
