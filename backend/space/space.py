"""How every user stands to every thing near their way or their position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from citywise.backend.space.geometry import Bools, Floats, Ints, Path
from citywise.backend.space.ledger import BEHIND, OPPOSITE, Ledger, Rows
from citywise.backend.space.paths import Book
from citywise.backend.space.progress import UNKNOWN, Positions
from citywise.backend.space.relating import Near, near_paths, near_things, relate
from citywise.backend.space.slots import Slots, marked
from citywise.backend.space.things import Things

OFF_ROUTE_M = 60.0
"""A position farther than this from the user's route is off it, metres."""


class Relation(NamedTuple):
    """How a user stands to a thing (event or place); metres, None: beyond reach or unknown."""

    route_m: float | None
    """From the thing to what remains of the route."""
    ahead_m: float | None
    """Along the route, from the position to the point of what remains that is nearest."""
    behind: bool
    """Within reach of the route, but only of the part behind the position."""
    opposite: bool
    """The thing is a directed line against the direction of travel there."""
    away_m: float | None
    """Straight line from the position."""


class Space:
    """Routes and positions of users among things, and how they stand to each other.

    What `settle` reports over time adds up to a function of the current things, routes,
    positions and reaches alone, whatever came before and however it was batched. `reach_m`:
    relations beyond it are none; `route`, `around`: which of the two kinds are wanted.
    """

    def __init__(self, reach_m: float, *, route: bool = True, around: bool = True) -> None:
        self._reach_m = reach_m
        self._own_reach: dict[int, float] = {}
        self._wanted = (route, around)
        self._users = Slots()
        self._things = Things()
        self._positions = Positions()
        self._routes = Book()
        self._spots = Book()  # positions as paths that stand still
        self._ledger = Ledger()
        self._changed: set[int] = set()
        self._widened = False

    def widen(self, reach_m: float) -> None:
        """Let the common reach be `reach_m`; all relations are new at the next settle."""
        self._widened = self._widened or reach_m != self._reach_m
        self._reach_m = reach_m

    def put_reach(self, user: str, reach_m: float | None) -> None:
        """Let one user's reach differ from the common one; None: no longer.

        Worth it where one user asks for 1000 m and all others for 100: what is reported grows
        with the reach, and with its square around positions.
        """
        slot = self._touched(user)
        if reach_m is None:
            self._own_reach.pop(slot, None)
        else:
            self._own_reach[slot] = reach_m
        for book in (self._routes, self._spots):
            book.reach(slot, self._reach(slot))

    def put_thing(
        self, key: str, geometry: Mapping[str, Any] | None, directed: bool = False
    ) -> None:
        """Set where a thing is (GeoJSON Point or LineString); None removes it."""
        self._things.put(key, geometry, directed)

    def put_route(self, user: str, coordinates: Sequence[Sequence[float]] | None) -> None:
        """Set a user's route, (lon, lat) pairs in order of travel; None removes it."""
        slot = self._touched(user)
        path = None if coordinates is None or len(coordinates) == 0 else Path.of(coordinates)
        self._routes.put(slot, path, self._reach(slot))

    def put_position(self, user: str, position: Mapping[str, Any] | None) -> None:
        """Set a user's position: `lat`, `lon`, perhaps `heading` (degrees) and `along_m`."""
        slot = self._touched(user)
        self._positions.put(slot, position)
        if self._wanted[1]:
            path = Path.of([[position["lon"], position["lat"]]]) if position else None
            self._spots.put(slot, path, self._reach(slot))

    def settle(self) -> Iterator[tuple[str, str, Relation | None]]:
        """Report (user, thing, relation) for all that changed since the last settle.

        None: no longer within reach. The work is done at the call, not while iterating.
        """
        put, gone = self._things.flush()
        self._positions.flush(len(self._users))
        changed = self._flush_users()
        self._positions.follow(changed, list(self._routes.of(changed)))
        route = self._near(self._routes, put, changed) if self._wanted[0] else Near.joined([])
        around = self._near(self._spots, put, changed)
        things = marked(np.concatenate((put, gone)), len(self._things.slots))
        new, old = self._ledger.replace(changed, things, _rows(route, around))
        found = [*self._relations(new), *self._lost(old)]
        self._release(gone)
        return iter(found)

    def off_route_m(self, user: str) -> float | None:
        """How far the position is from the route, as of the last settle; None: unknown."""
        return self._value(self._positions.off, user)

    def progress_m(self, user: str) -> float | None:
        """How far along the route the position is, as of the last settle; None: unknown."""
        return self._value(self._positions.progress, user)

    def _value(self, column: Floats, user: str) -> float | None:
        slot = self._users.get(user)
        if slot is None or slot >= len(column) or column[slot] == UNKNOWN:
            return None
        return float(column[slot])

    def _touched(self, user: str) -> int:
        slot = self._users.of(user)
        self._changed.add(slot)
        return slot

    def _reach(self, slot: int) -> float:
        return self._own_reach.get(slot, self._reach_m)

    def _flush_users(self) -> Bools:
        """Let what is pending count; marks the users whose relations are to be found anew."""
        size = len(self._users)
        if not self._widened:
            self._routes.flush()
            self._spots.flush()
            return marked(np.array(list(self._changed), dtype=np.int64), size)
        reach = np.full(size, self._reach_m)
        reach[list(self._own_reach)] = list(self._own_reach.values())
        self._routes.widen(reach)
        self._spots.widen(reach)
        self._widened = False
        return np.ones(size, dtype=bool)

    def _near(self, book: Book, put: Ints, changed: Bools) -> Near:
        """What things stand near paths, as far as either has changed."""
        found = []
        for run, paths in book.of(changed):
            for pairs in near_things(run, put, changed, self._things):
                found.append(relate(run, pairs, self._things, self._positions.progress))
            for pairs in near_paths(run, paths, self._things):
                found.append(relate(run, pairs, self._things, self._positions.progress))
        return Near.joined(found)

    def _relations(self, rows: Rows) -> Iterator[tuple[str, str, Relation]]:
        columns = [
            _optional(rows.route),
            _optional(rows.ahead),
            ((rows.flags & BEHIND) > 0).tolist(),
            ((rows.flags & OPPOSITE) > 0).tolist(),
            _optional(rows.away),
        ]
        relations = map(Relation._make, zip(*columns, strict=True))
        return zip(*self._names(rows), relations, strict=True)

    def _lost(self, rows: Rows) -> Iterator[tuple[str, str, None]]:
        return ((user, thing, None) for user, thing in zip(*self._names(rows), strict=True))

    def _names(self, rows: Rows) -> tuple[Iterator[str], Iterator[str]]:
        users, things = self._users.names, self._things.slots.names
        return map(users.__getitem__, rows.user.tolist()), map(
            things.__getitem__, rows.thing.tolist()
        )

    def _release(self, gone: Ints) -> None:
        """Give back the numbers of the things that went and of users without anything."""
        for slot in gone.tolist():
            self._things.slots.release(slot)
        for slot in self._changed:
            known = slot in self._routes or slot in self._own_reach or slot in self._positions
            if not known:
                self._users.release(slot)
        self._changed = set()


def _rows(route: Near, around: Near) -> Rows:
    """One row for each pair of user and thing that is near by route, by position, or both."""
    key = np.concatenate([(near.user << 32) | near.thing for near in (route, around)])
    pairs, back = np.unique(key, return_inverse=True)
    by_route, by_position = np.split(back, [len(route.user)])
    metres = np.full((3, len(pairs)), UNKNOWN)
    metres[0, by_route], metres[1, by_route] = route.route, route.ahead
    metres[2, by_position] = around.route
    flags = np.zeros(len(pairs), dtype=np.int8)
    flags[by_route] = np.where(route.route == UNKNOWN, BEHIND, OPPOSITE * route.opposite)
    return Rows(pairs >> 32, pairs & 0xFFFFFFFF, metres[0], metres[1], metres[2], flags)


def _optional(metres: Floats) -> list[float | None]:
    return [None if value == UNKNOWN else value for value in metres.tolist()]
