"""A fault of one message is its own; a fault of disk or database is nobody's."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import pytest
from sqlalchemy.exc import DataError, OperationalError

from citywise.backend.ingest import isolation
from citywise.backend.ingest.frames import LogError


class Shelf:
    """Takes numbers, but not those that raise."""

    def __init__(self, faults: dict[int, Exception]) -> None:
        self.faults = faults
        self.kept: list[int] = []
        self.refused: list[int] = []

    def put(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            if number in self.faults:
                raise self.faults[number]
        self.kept += numbers

    def refuse(self, number: int, _error: Exception) -> None:
        self.refused.append(number)


@pytest.mark.parametrize(
    "error", [TypeError("64 bits"), DataError("", {}, ValueError("NUL")), KeyError("x")]
)
def test_one_that_cannot_be_taken_is_refused_and_the_others_are_kept(error: Exception) -> None:
    shelf = Shelf({2: error})
    isolation.each([1, 2, 3], shelf.put, shelf.refuse)
    assert (shelf.kept, shelf.refused) == ([1, 3], [2])


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        OperationalError("", {}, sqlite3.OperationalError("database is locked")),
        sqlite3.OperationalError("disk I/O error"),
        LogError("another process writes this log"),
        MemoryError(),
        DataError("", {}, ValueError("the server has gone"), connection_invalidated=True),
    ],
)
def test_what_is_around_them_is_raised_and_nothing_is_refused(error: Exception) -> None:
    shelf = Shelf({2: error})
    with pytest.raises(type(error)):
        isolation.each([1, 2, 3], shelf.put, shelf.refuse)
    assert (shelf.kept, shelf.refused) == ([], [])
