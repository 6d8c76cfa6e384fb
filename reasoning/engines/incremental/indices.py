"""Rows of a relation by some of their values."""

from __future__ import annotations

from itertools import repeat
from operator import itemgetter

from reasoning.engines.incremental.terms import Row, Value

Positions = tuple[int, ...]
"""Where in the rows those values stand."""
Rows = Row | list[Row] | dict[Row, None]
"""The rows of a key: the only one itself (there are many of these), a few, or many."""
Index = dict[Value, Rows]
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
