"""Whatever call of the system fails, and however often, the log holds what was acknowledged, once
and in order."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from citywise.backend.ingest import log
from citywise.backend.ingest.log import LogWriter

CALLS = "write", "fdatasync", "fsync", "open", "pwrite", "ftruncate"
MOST_TRIES = 20_000


class Failing:
    """Calls of the system of which some fail, a write after part of its work; `fails` says of the
    number of a call whether it does."""

    def __init__(
        self, names: tuple[str, ...], fails: Callable[[int], bool], chance: random.Random
    ) -> None:
        self._fails, self._chance, self.failed, self.calls = fails, chance, 0, 0
        self._real: dict[str, Callable[..., Any]] = {name: getattr(os, name) for name in names}

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Let them fail from here on."""
        for name in self._real:
            patch.setattr(os, name, lambda *given, name=name: self._call(name, *given))

    def _call(self, name: str, *given: Any) -> Any:
        self.calls += 1
        if not self._fails(self.calls):
            return self._real[name](*given)
        self.failed += 1
        if name == "write":
            self._real[name](given[0], given[1][: self._chance.randrange(len(given[1]) + 1)])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def until_done(what: Callable[[], Any]) -> Any:
    """Try something as the ingest does: again, until it does not fail."""
    for _ in range(MOST_TRIES):
        try:
            return what()
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
    raise AssertionError("it never succeeds")


def written(folder: Path, groups: int, chance: random.Random) -> list[bytes]:
    """Groups of records that are acknowledged, with restarts in between; all of them."""
    writer = until_done(lambda: LogWriter(folder, 300))
    acknowledged: list[bytes] = []
    for number in range(groups):
        group = [b"%d-%d" % (number, n) + b"." * chance.randint(0, 90) for n in range(3)]

        def write(group: list[bytes] = group, writer: LogWriter = writer) -> None:
            writer.append(group)
            writer.sync()

        until_done(write)
        acknowledged += group
        if chance.random() < 0.1:
            die(writer)
            writer = until_done(lambda: LogWriter(folder, 300))
    die(writer)
    return acknowledged


def die(writer: LogWriter) -> None:
    """Its process is gone."""
    os.close(writer._file)
    os.close(writer._mark)


def read(folder: Path) -> Iterator[bytes]:
    for record in log.read(folder, 0, log.durable_end(folder)):
        yield bytes(record.payload)


def check(folder: Path, acknowledged: list[bytes]) -> None:
    """It is all there, once and in order, also for who opens it again."""
    assert list(read(folder)) == acknowledged
    log.check(folder)
    LogWriter(folder).close()
    assert list(read(folder)) == acknowledged


@pytest.mark.parametrize("name", CALLS)
def test_each_single_call_fails_once_and_nothing_is_lost_or_doubled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    number, has_failed = 0, True
    while has_failed:
        number += 1
        failing = Failing((name,), lambda call, n=number: call == n, random.Random(number))  # type: ignore[misc]
        folder = tmp_path / str(number)
        with monkeypatch.context() as patch:
            failing.install(patch)
            acknowledged = written(folder, 10, random.Random(1))
        check(folder, acknowledged)
        has_failed = bool(failing.failed)
    assert number > 3


@pytest.mark.parametrize("every", [2, 3, 5, 11])
def test_calls_fail_at_random_and_nothing_is_lost_or_doubled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    chance = random.Random(every)
    failing = Failing(CALLS, lambda _call: chance.randrange(every) == 0, chance)
    with monkeypatch.context() as patch:
        failing.install(patch)
        acknowledged = written(tmp_path, 60, chance)
    assert failing.failed > 10
    check(tmp_path, acknowledged)
