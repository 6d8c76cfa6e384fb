"""The relations last reported, so that only what differs is reported."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from citywise.backend.space.geometry import Bools, Floats, Ints
from citywise.backend.space.slots import grown

BEHIND, OPPOSITE = 1, 2


class Rows(NamedTuple):
    """Relations by slots of user and thing; metres, -1: none or unknown; one of each pair."""

    user: Ints
    thing: Ints
    route: Floats
    ahead: Floats
    away: Floats
    flags: npt.NDArray[np.int8]

    def take(self, which: Ints | Bools) -> Rows:
        """Some of them."""
        return Rows._make(column[which] for column in self)

    @property
    def key(self) -> Ints:
        """One number for each pair of user and thing."""
        return (self.user << 32) | self.thing


class Ledger:
    """All relations in columns, in no order; free rows have the user -1."""

    def __init__(self) -> None:
        none = np.zeros(0, dtype=np.int64)
        floats = (np.zeros(0), np.zeros(0), np.zeros(0))
        self._rows = Rows(none, none, *floats, np.zeros(0, dtype=np.int8))
        self._used = 0

    def replace(self, users: Bools, things: Bools, new: Rows) -> tuple[Rows, Rows]:
        """Let `new` be all relations of these users and of these things.

        Returns the new ones that were not so before, and the old ones that are no more.
        """
        user, thing = self._rows.user[: self._used], self._rows.thing[: self._used]
        taken = np.flatnonzero((user >= 0) & (users[user] | things[thing]))
        old = self._rows.take(taken)
        old, new = (rows.take(np.argsort(rows.key)) for rows in (old, new))
        found = np.minimum(np.searchsorted(old.key, new.key), max(0, len(old.key) - 1))
        same = np.zeros(len(new.user), dtype=bool)
        if len(old.user):
            before = old.take(found)
            same = np.logical_and.reduce([a == b for a, b in zip(before, new, strict=True)])
        self._write(taken, new)
        return new.take(~same), old.take(~np.isin(old.key, new.key, assume_unique=True))

    def _write(self, taken: Ints, new: Rows) -> None:
        self._rows.user[taken] = -1
        free = np.flatnonzero(self._rows.user[: self._used] < 0)[: len(new.user)]
        more = len(new.user) - len(free)
        rows = np.concatenate((free, np.arange(self._used, self._used + more)))
        self._used += more
        self._rows = Rows._make(grown(column, self._used) for column in self._rows)
        for name in Rows._fields:
            getattr(self._rows, name)[rows] = getattr(new, name)
