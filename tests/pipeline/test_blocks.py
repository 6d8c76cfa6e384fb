"""Readings in columns are evaluated as each by itself would be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from citywise.backend.city.steps import Table
from citywise.backend.ingest.blocks import Block, apart
from citywise.backend.ingest.records import ClockReading, Reading
from citywise.backend.kinds import builtin
from citywise.backend.pipeline.evaluation import RequestRun, Row
from citywise.backend.pipeline.prepared import prepared
from citywise.reasoning import Choice
from tests.pipeline.stretches import START_MS
from tests.pipeline.test_evaluation import LIMITS, write

LOUD = """
#prefix sosa : <http://www.w3.org/ns/sosa/>.
#prefix city : <https://w3id.org/citywise/city#>.
#prefix place : <https://w3id.org/citywise/place/>.
#prefix ev : <https://w3id.org/citywise/event#>.
#from stream <https://w3id.org/citywise/stream/noise> [WINDOW].
#scale city_noise_level 10.
#feedback event/5.
#show event/5.

event("ev_Loud",Place,1,Obs,Obs) :- sosa_hasFeatureOfInterest(Obs,Place),
    city_noise_level(Obs,Level), Level >= 650.
"""
WINDOWS = ["time 2s step 1s", "time 999ms step 1s", "time 1s step 1s", "count 3 step 2"]
NUMBERS: list[dict[str, Any]] = [
    {"level": 40.5},
    {"level": 70},
    {},
    {"level": 1e300},
    {"level": 65},
]


def stretch() -> list[Block | ClockReading]:
    """Some seconds of five meters, one without a number and one with a number too large."""
    found: list[Block | ClockReading] = []
    position = 0
    for second in range(6):
        some = [
            Reading("noise", str(n), at, at, NUMBERS[(n + second * n) % 5], position + n)
            for n, at in enumerate([START_MS + second * 1000 + 10 * (n % 2) for n in range(5)])
        ]
        position += 6
        now = START_MS + second * 1000 + 999
        found += [Block.of(some), ClockReading(now, now, position - 1)]
    return found


def told(
    tmp_path: Path, window: str, entries: Iterable[Any], engine: Choice
) -> tuple[list[Row], dict[str, Any]]:
    request = write(tmp_path, "loud.casp", LOUD.replace("WINDOW", window))
    run = RequestRun(prepared(request, builtin(), LIMITS, engine=engine))
    rows = [row for entry in entries for row in (*run.take(entry), *run.dead_letters())]
    same = [
        replace(row, body={k: v for k, v in row.body.items() if k != "seconds"}) for row in rows
    ]
    return same, run.snapshot(100)[0]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("engine", ["incremental", "solver"])
def test_a_block_is_evaluated_as_its_readings(tmp_path: Path, window: str, engine: Choice) -> None:
    """Events with their facts, dead letters, traces and states."""
    blocks = stretch()
    single = [
        each
        for entry in blocks
        for each in (apart([entry]) if isinstance(entry, Block) else [entry])
    ]
    found, state = told(tmp_path, window, blocks, engine)
    assert (found, state) == told(tmp_path, window, single, engine)
    kinds = {row.kind for row in found}
    assert {"change", "trace", "refused"} <= kinds
    opened = [row.body for row in found if row.body.get("kind") == "event.opened"]
    assert opened
    assert all(any("noise_level" in atom for atom in body["atoms"]) for body in opened)


def test_a_block_that_comes_too_late_is_told_of_reading_by_reading(tmp_path: Path) -> None:
    blocks = stretch()
    found, _state = told(tmp_path, WINDOWS[0], [*blocks, blocks[0]], "incremental")
    late = [row.body["position"] for row in found if row.kind == "late"]
    assert late == [0, 1, 2, 3, 4]


def test_columns_give_the_readings_that_they_hold() -> None:
    columns: dict[str, Any] = {"level": [40.5, None], "peak": [None, 3]}
    block = Block("noise", ["1", "2"], [START_MS, START_MS], 7, columns)
    first, second = block.readings()
    assert (first.values, second.values) == (
        {"level": 40.5, "peak": None},
        {"level": None, "peak": 3},
    )
    assert (block.reading(1), block.place("2", START_MS)) == (second, 1)
    assert block.place("2", START_MS + 1) is None
    assert block.column("other") == [None, None]


def test_a_table_of_readings_is_their_list() -> None:
    whole: dict[str, Any] = {"sensor": "1", "observed_at": "now", "level": 3}
    lacking: dict[str, Any] = {"sensor": "2", "observed_at": "now"}
    table = Table.of([whole, lacking])
    assert [*table] == [whole, {**lacking, "level": None}]
    assert table[:1] == [whole]
    assert Table.of(table) is table
