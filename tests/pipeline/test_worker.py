"""Tasks on warm and cold workers: the same rows, wherever they run and however often."""

from __future__ import annotations

import os
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from citywise.backend.pipeline.evaluation import Row
from citywise.backend.pipeline.requests import find
from citywise.backend.pipeline.worker import Worker
from citywise.reasoning.engines.choosing import Choice
from tests.pipeline.stretches import Stretches, answer, plain, traffic

JAMS = find("traffic_jam")
BATCHES = 12
LONGEST: dict[Choice, int] = {"solver": 1, "incremental": 2, "auto": 2}
"""Every so many batches a run may be asked and still go on: what keeps its window catches up
with one batch; after two, nothing of its window is needed any more."""


@pytest.fixture(scope="module")
def stretches(tmp_path_factory: pytest.TempPathFactory) -> Stretches:
    """Six roads that jam and clear, late readings, and readings that no number fits."""
    found = Stretches(tmp_path_factory.mktemp("log"))
    chance = random.Random(5)
    batches = []
    for number in range(BATCHES):
        begin = number * 300
        values = [
            traffic(str(road), begin + 40 * road + 1, chance.choice([20, 50]), 2 + 16 * (road % 2))
            for road in chance.sample(range(6), 4)
        ]
        values.append(traffic("7", begin + 290, 20, 20 if number % 4 < 2 else 2))
        if number == 5:
            values.append(traffic("3", 10, 20, 20))
        if number == 6:
            values.append(traffic("4", begin + 295, 1e12, 20))
        batches.append((begin + 300, values))
    found.write(batches)
    return found


def through(
    stretches: Stretches, workers: list[Worker], ends: list[int], engine: Choice = "solver"
) -> tuple[list[Any], Any]:
    """All batches, each on the next worker in turn and committed; the rows and last cursor."""
    rows: list[Any] = []
    cursor: dict[str, Any] = {}
    for number, (start, end) in enumerate(pairwise(ends)):
        task = stretches.task(JAMS, start, end, cursor, engine=engine)
        found, cursor = answer(workers[number % len(workers)], task)
        rows += plain(found)
    return rows, cursor


@pytest.fixture(scope="module")
def cold(stretches: Stretches) -> tuple[list[Any], Any]:
    """What workers answer that have never seen anything before, by the solver."""
    ends = list(range(BATCHES + 1))
    rows, cursor = through(stretches, [Worker() for _ in ends], ends)
    assert not cursor["warm"]
    assert {kind for _, _, kind, _ in rows} == {"change", "trace", "late", "refused"}
    return rows, cursor


def unrepeated(rows: list[Any]) -> list[Any]:
    """An item without a value is said again by every run that is rebuilt over it."""
    refused: set[int] = set()
    return [
        row
        for row in rows
        if row[2] != "refused"
        or not (row[3]["position"] in refused or refused.add(row[3]["position"]))  # type: ignore[func-returns-value]
    ]


@pytest.mark.parametrize("engine", ["solver", "incremental", "auto"])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_partitions_that_move_between_workers_change_no_row(
    stretches: Stretches, cold: tuple[list[Any], Any], workers: int, engine: Choice
) -> None:
    ends = list(range(BATCHES + 1))
    rows, cursor = through(stretches, [Worker() for _ in range(workers)], ends, engine)
    assert unrepeated(rows) == unrepeated(cold[0])
    assert cursor["warm"] == (workers <= LONGEST[engine])
    apart = ("warm", "seconds")
    assert {k: v for k, v in cursor.items() if k not in apart} == {
        k: v for k, v in cold[1].items() if k not in apart
    }


def test_a_batch_done_twice_gives_the_same_rows_and_the_next_goes_on(
    stretches: Stretches, cold: tuple[list[Any], Any]
) -> None:
    worker = Worker()
    begun, cursor = answer(worker, stretches.task(JAMS, 0, 4, {}))
    task = stretches.task(JAMS, 4, 8, cursor)
    first, after = answer(worker, task)
    second, again = answer(worker, task)
    assert (after["warm"], again["warm"]) == (True, False)
    assert unrepeated(plain(second)) == plain(first)
    rest, _ = answer(worker, stretches.task(JAMS, 8, BATCHES, again))
    done = plain([*begun, *second, *rest])
    assert [r for r in done if r[2] == "change"] == [r for r in cold[0] if r[2] == "change"]


def test_a_run_that_is_behind_takes_what_others_answered_and_says_nothing_of_it(
    stretches: Stretches, cold: tuple[list[Any], Any]
) -> None:
    """Late and refused items are told once, by whoever has met them."""
    first, second = Worker(), Worker()
    begun, cursor = answer(first, stretches.task(JAMS, 0, 4, {}, engine="incremental"))
    between: list[Row] = []
    for number in range(4, 9):
        task = stretches.task(JAMS, number, number + 1, cursor, engine="incremental")
        found, cursor = answer((second, first)[number % 2], task)
        assert cursor["warm"] == (number > 4)
        between += found
    rest, _ = answer(second, stretches.task(JAMS, 9, BATCHES, cursor, engine="incremental"))
    assert unrepeated(plain([*begun, *between, *rest])) == unrepeated(cold[0])


@pytest.mark.parametrize("overtaken", [False, True])
def test_a_run_whose_batch_was_never_committed_is_not_continued(
    stretches: Stretches, overtaken: bool
) -> None:
    """The same position is not enough: the state has to be the committed one too, or what
    the run comes to when it follows."""
    worker, more = Worker(), {"engine": "incremental" if overtaken else "solver"}
    _, cursor = answer(worker, stretches.task(JAMS, 0, 6 - overtaken, {}, **more))
    if overtaken:
        _, cursor = answer(Worker(), stretches.task(JAMS, 5, 6, cursor, **more))
    committed = {**cursor, "state": {**cursor["state"], "feedback": []}}
    task = stretches.task(JAMS, 6, BATCHES, committed, **more)
    rows, after = answer(worker, task)
    expected, _ = answer(Worker(), task)
    assert not after["warm"]
    assert plain(rows) == plain(expected)
    assert cursor["state"]["feedback"] != []


def test_a_request_that_changes_is_read_again(stretches: Stretches, tmp_path: Path) -> None:
    path = tmp_path / "jams.casp"
    path.write_text(JAMS.read_text())
    worker = Worker()
    _, cursor = answer(worker, stretches.task(path, 0, 4, {}))
    path.write_text(JAMS.read_text().replace("slow = 35000", "slow = 1000"))
    os.utime(path, (1, 1))
    rows, after = answer(worker, stretches.task(path, 4, 8, cursor))
    assert not after["warm"]
    assert not [r for r in rows if r.kind == "change" and r.body["kind"] == "event.opened"]
