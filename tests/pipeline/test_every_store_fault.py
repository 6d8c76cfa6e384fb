"""Whatever statement or commit of the database fails, a batch is committed once and whole."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, select
from sqlalchemy.exc import OperationalError

from citywise.backend.pipeline.evaluation import Row
from citywise.backend.pipeline.results import Results
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import Base
from tests.pipeline.revising import START_MS, Disorder, System

SENSORS = [("traffic", str(number)) for number in range(3)] + [("parking", "G1")]
_WRITTEN = frozenset({"created_ms", "updated_ms"})
REQUESTS = ("traffic_jam", "garage_nearly_full")


class Failing:
    """Statements and commits of a database of which some fail; `fails` says of the number of a
    call whether it does. A commit that fails may have been made all the same."""

    def __init__(self, engine: Engine, fails: Callable[[int], bool], chance: random.Random) -> None:
        self._engine, self._fails, self._chance = engine, fails, chance
        self.calls = self.failed = self.made = 0

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Let them fail within the block."""
        dialect, commit = self._engine.dialect, self._engine.dialect.do_commit

        def commits(connection: Any) -> None:
            fails = self._next()
            if fails and self._chance.random() < 0.5:
                commit(connection)
                self.made += 1
            if fails:
                raise sqlite3.OperationalError("disk I/O error")
            commit(connection)

        def executes(*_given: object) -> None:
            if self._next():
                raise OperationalError("", {}, sqlite3.OperationalError("disk I/O error"))

        event.listen(self._engine, "before_cursor_execute", executes)
        dialect.do_commit = commits  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            dialect.do_commit = commit  # type: ignore[method-assign]
            event.remove(self._engine, "before_cursor_execute", executes)

    def _next(self) -> bool:
        self.calls += 1
        fails = self._fails(self.calls)
        self.failed += fails
        return fails


def everything(engine: Engine) -> dict[str, list[str]]:
    """All rows of all tables, as text, but for when they were written."""
    found: dict[str, list[str]] = {}
    with engine.connect() as connection:
        for table in Base.metadata.sorted_tables:
            kept = [column for column in table.columns if column.name not in _WRITTEN]
            found[table.name] = sorted(str(tuple(r)) for r in connection.execute(select(*kept)))
    return found


def lived(system: System, stream: Disorder, work: Callable[[], None]) -> None:
    """Let all of a stream come, a batch after each third clock."""
    waiting = list(stream.arrivals)
    for number, at in enumerate(range(START_MS, stream.end_ms, 150_000)):
        system.hear(one for when, _n, one in waiting if when <= at)
        waiting = [each for each in waiting if each[0] > at]
        system.tick(at)
        if number % 3 == 2:
            work()
    system.tick(stream.end_ms)
    work()


def test_a_batch_is_whole_whichever_call_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = System(tmp_path / "city", SENSORS, REQUESTS)
    batches: list[list[Row]] = []
    real = system._results.commit

    def commit(rows: list[Row]) -> None:
        batches.append(rows)
        real(rows)

    monkeypatch.setattr(system._results, "commit", commit)
    files: list[Path] = []

    def work() -> None:
        before = tmp_path / f"{len(batches)}.db"
        system.engine.dispose()
        shutil.copy(tmp_path / "city" / "db" / "city.db", before)
        files.append(before)
        system.work()

    lived(system, Disorder(random.Random(4), SENSORS, steps=6), work)
    rows, before = max(zip(batches, files, strict=True), key=lambda one: len(one[0]))
    copies = (tmp_path / f"copy-{number}.db" for number in count())

    def copied() -> Engine:
        path = next(copies)
        shutil.copy(before, path)
        return create_engine_for(f"sqlite:///{path}")

    undisturbed = copied()
    Results(undisturbed).commit(rows)
    wanted = everything(undisturbed)
    assert wanted != everything(copied())
    tried = made = 0
    for number in count(1):
        engine = copied()
        failing = Failing(engine, lambda call, n=number: call == n, random.Random(number))  # type: ignore[misc]
        with failing.at_work(), suppress(OperationalError):
            Results(engine).commit(rows)
        if not failing.failed:
            break
        tried, made = tried + 1, made + failing.made
        Results(engine).commit(rows)  # as who does not know what became of it
        assert everything(engine) == wanted, number
        engine.dispose()
    assert tried > 10


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 20))]
)
def test_many_faults_lose_double_and_reorder_nothing(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    stream = Disorder(chance, SENSORS, steps=8)
    system = System(tmp_path / "one", SENSORS, REQUESTS)
    failing = Failing(system.engine, lambda _call: chance.random() < 0.1, chance)

    def work() -> None:
        for _try in range(200):
            with suppress(OperationalError), failing.at_work():
                system.work()
                return
        raise AssertionError("it never succeeds")

    lived(system, stream, work)
    assert failing.failed > 5
    assert system.stored() == System.of_order(tmp_path / "other", SENSORS, stream.last, REQUESTS)
    assert system.heard() == system.stored()
