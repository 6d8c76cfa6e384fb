"""What the source plans for a batch: tasks from where each request is committed, in parts
where that pays."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from citywise.backend.kinds import builtin
from citywise.backend.packs.telling import LATE_MS
from citywise.backend.pipeline.requests import find
from citywise.backend.pipeline.results import Results
from citywise.backend.pipeline.source import (
    CitywiseLogSource,
    LogStreamReader,
    TaskPartition,
    _in_time,
    parts_of,
)
from citywise.backend.pipeline.worker import READINGS, Task
from citywise.backend.store.clocks import StreamClock
from citywise.backend.store.database import create_engine_for
from citywise.reasoning.limits import Limits
from tests.databases import begun
from tests.pipeline.stretches import LIMITS
from tests.pipeline.test_results import cursor

JAMS, GARAGES = "traffic_jam", "garage_nearly_full"
NOW = 1_780_000_000_000


def reader(folder: Path, partitions: str = "auto", workers: int = 2) -> LogStreamReader:
    """The planner over an empty database in `folder`."""
    url = f"sqlite:///{folder / 'citywise.db'}"
    engine = begun(url)
    engine.dispose()
    options = {
        "log_dir": str(folder / "log"),
        "log_for_tasks": "http://127.0.0.1:1/log",
        "database": url,
        "requests": f"{JAMS},{GARAGES}",
        "sources": orjson.dumps({JAMS: "bundle:1/a.casp", GARAGES: "bundle:2/b.casp"}).decode(),
        "start": "0",
        "max_batch_bytes": "1000",
        "max_lag_bytes": "10000",
        "horizons": "{}",
        "workers": str(workers),
        "partitions": partitions,
        "limits": orjson.dumps(LIMITS).decode(),
        "engine": "auto",
    }
    found = CitywiseLogSource(options).streamReader(None)
    assert isinstance(found, LogStreamReader)
    return found


def planned(found: LogStreamReader, start: int, end: int) -> list[list[Task]]:
    shares = found.partitions({"position": start}, {"position": end})
    assert all(isinstance(share, TaskPartition) for share in shares)
    return [[Task.from_json(t) for t in s.tasks] for s in shares if isinstance(s, TaskPartition)]


def named(shares: Sequence[Sequence[Task]]) -> list[list[tuple[str, int, int]]]:
    return [[(task.request, task.part, task.parts) for task in share] for share in shares]


def test_a_small_batch_has_a_task_for_each_request_dealt_out_over_the_workers(
    tmp_path: Path,
) -> None:
    shares = planned(reader(tmp_path), 0, 100)
    assert named(shares) == [[(JAMS, 0, 1)], [(READINGS, 0, 1), (GARAGES, 0, 1)]]
    task = shares[0][0]
    assert (task.source, task.location) == ("bundle:1/a.casp", "http://127.0.0.1:1/log")
    assert (task.start, task.end, task.resume_from, task.state) == (0, 100, 0, {})


@pytest.mark.parametrize(
    ("speed", "late"), [(1.0, (NOW, LATE_MS)), (0, (NOW, LATE_MS)), (60.0, (NOW, 60 * LATE_MS))]
)
def test_what_is_late_for_a_template_is_measured_from_the_stream_s_own_present(
    speed: float, late: tuple[int, float]
) -> None:
    task = Task("a.jam", "", "", 0, 1, 0, {}, LIMITS)
    clock = StreamClock(NOW, speed, "sensors", None, None)
    found = _in_time(task, clock)
    assert (found.present_ms, found.late_ms) == late
    unpaced = _in_time(task, replace(clock, speed=None))
    assert (unpaced.present_ms, _in_time(task, None).present_ms) == (None, None)


def test_the_readings_need_no_worker_of_their_own(tmp_path: Path) -> None:
    """Two would each decode the log, and a run would move between them."""
    found = reader(tmp_path)
    engine = create_engine_for(f"sqlite:///{tmp_path / 'citywise.db'}")
    Results(engine).commit([cursor(0, 100, GARAGES)])
    engine.dispose()
    assert named(planned(found, 0, 100)) == [[(READINGS, 0, 1), (JAMS, 0, 1)]]


def test_parts_of_a_request_go_to_different_workers(tmp_path: Path) -> None:
    shares = planned(reader(tmp_path, "2"), 0, 100)
    for request in (JAMS, GARAGES):
        homes = [n for n, share in enumerate(shares) for t in share if t.request == request]
        assert sorted(homes) == [0, 1]


def test_a_request_continues_where_it_is_committed_and_rests_if_that_is_further(
    tmp_path: Path,
) -> None:
    found = reader(tmp_path)
    engine = create_engine_for(f"sqlite:///{tmp_path / 'citywise.db'}")
    Results(engine).commit([cursor(0, 60), cursor(0, 100, GARAGES)])
    engine.dispose()
    tasks = {t.request: t for share in planned(found, 0, 100) for t in share}
    assert set(tasks) == {READINGS, JAMS}
    assert (tasks[JAMS].start, tasks[JAMS].resume_from) == (60, 60)
    assert planned(found, 100, 100) == []


@pytest.mark.parametrize(
    ("partitions", "workers", "stretch", "parts"),
    [
        ("auto", 4, 30_000, 1),
        ("auto", 4, 45_000, 2),
        ("auto", 4, 2_000_000, 4),
        ("auto", 1, 2_000_000, 1),
        ("0", 4, 2_000_000, 1),
        ("1", 4, 2_000_000, 1),
        ("3", 2, 10, 3),
    ],
)
def test_a_request_is_divided_as_far_as_the_stretch_or_the_setting_says(
    partitions: str, workers: int, stretch: int, parts: int
) -> None:
    assert parts_of(find(JAMS), builtin(), partitions, workers, stretch, Limits(**LIMITS)) == parts


def test_a_request_that_does_not_divide_has_one_task_whatever_the_setting_says(
    tmp_path: Path,
) -> None:
    path = tmp_path / "any.casp"
    path.write_text(find(JAMS).read_text() + "\n{ lucky }.\n")
    assert parts_of(path, builtin(), "4", 4, 2_000_000, Limits(**LIMITS)) == 1


def test_workers_are_not_told_the_database_and_its_password(tmp_path: Path) -> None:
    found = reader(tmp_path)
    planned(found, 0, 100)
    assert b"citywise.db" not in pickle.dumps(found)
