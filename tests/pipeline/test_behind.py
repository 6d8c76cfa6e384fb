"""A request that fails stays behind alone: the others, the intake and the log go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable
from sqlalchemy import delete, select

from citywise.backend.ingest.log import LogError
from citywise.backend.ingest.service import _kept_for
from citywise.backend.packs.run import TemplateRun
from citywise.backend.pipeline.behind import Behind
from citywise.backend.pipeline.evaluation import RequestRun
from citywise.backend.pipeline.merging import merged
from citywise.backend.pipeline.requests import find
from citywise.backend.pipeline.results import Results
from citywise.backend.pipeline.worker import READINGS, Task, Worker
from citywise.backend.store import progress
from citywise.backend.store.models import CursorRow, TraceRow
from tests.packs.journaled import Journaled
from tests.packs.test_run import JAM, NEAR, event, instance, position, route, template
from tests.pipeline.stretches import LIMITS, Stretches, answer, plain, traffic
from tests.pipeline.test_running import Store, _here
from tests.pipeline.test_running import log as log
from tests.pipeline.test_running import store as store
from tests.pipeline.test_source import reader

JAMS = find("traffic_jam")
OTHER = template(NEAR, name="other")
BROKEN = JAM.request_name

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluate in this process."""
    monkeypatch.setattr("citywise.backend.packs.prepared.GuardedEngine", _in_process)


def _in_process(request: Any, knowledge: Any, _limits: Any) -> Any:
    from citywise.reasoning.engines.clingo.solver import SolverEngine

    return SolverEngine(request, knowledge)


# --- When it is tried again -----------------------------------------------------------------


def test_what_stays_is_tried_ever_more_seldom_and_what_moves_at_once() -> None:
    now = 0.0
    behind = Behind(lambda: now)
    tried = []
    for _tick in range(3000):
        tried.append(behind.tries("r", 10))
        now += 0.1
    assert 8 <= sum(tried) <= 12
    assert behind.tries("r", 20)
    due = [behind.is_due]
    now += 60
    due.append(behind.is_due)
    behind.keep(["other"])
    assert [*due, behind.is_due] == [False, True, False]


# --- What a worker says ---------------------------------------------------------------------


@pytest.fixture
def jammed(tmp_path: Path) -> Stretches:
    found = Stretches(tmp_path / "jams")
    found.write([(300, [traffic("1", 100, 20, 20)]), (600, [traffic("1", 400, 20, 20)])])
    return found


def _broken(error: Exception) -> Callable[..., Any]:
    def take(*_given: Any) -> Any:
        raise error

    return take


def test_a_request_of_the_city_that_fails_stays_and_says_why_once(
    jammed: Stretches, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker()
    _, before = answer(worker, jammed.task(JAMS, 0, 1, {}))
    task = jammed.task(JAMS, 1, 2, before, answered=before["answered_ms"])
    with monkeypatch.context() as broken:
        broken.setattr(RequestRun, "take", _broken(RuntimeError("no number")))
        (said,), cursor = answer(worker, task)
        nothing, again = answer(worker, task)
    assert said.body["error"] == "request `traffic_jam` is tried again: RuntimeError: no number"
    assert (said.t_ms, nothing) == (before["answered_ms"], [])
    assert cursor == again
    assert (cursor["start"], cursor["position"]) == (jammed.ends[1], jammed.ends[1])
    kept = ("resume_from", "answered_ms", "state")
    assert {k: cursor[k] for k in kept} == {k: before[k] for k in kept}
    healed, after = answer(worker, task)
    whole, _ = answer(Worker(), task)
    assert (plain(healed), after["position"]) == (plain(whole), jammed.ends[2])


def test_a_log_that_cannot_be_read_is_everybody_s_and_not_one_request_s(
    jammed: Stretches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RequestRun, "take", _broken(LogError("damaged")))
    with pytest.raises(LogError, match="damaged"):
        answer(Worker(), jammed.task(JAMS, 0, 1, {}))


# --- One that is slow -----------------------------------------------------------------------


def test_a_task_that_takes_too_long_ends_at_a_clock_and_the_next_goes_on_from_there(
    jammed: Stretches,
) -> None:
    slow, whole = Worker(patience_s=0), Worker()
    first, cursor = answer(slow, jammed.task(JAMS, 0, 2, {}))
    assert (cursor["start"], cursor["position"]) == (0, jammed.ends[1])
    rest, after = answer(slow, jammed.task(JAMS, 1, 2, cursor))
    expected, last = answer(whole, jammed.task(JAMS, 0, 2, {}))
    assert after["warm"]
    assert [r for r in plain([*first, *rest]) if r[2] == "change"] == [
        r for r in plain(expected) if r[2] == "change"
    ]
    kept = ("position", "resume_from", "answered_ms", "state")
    assert {k: after[k] for k in kept} == {k: last[k] for k in kept}
    _, part = answer(slow, jammed.task(JAMS, 0, 2, {}, parts=2))
    assert part["position"] == jammed.ends[2]


def test_a_template_that_is_slow_ends_at_a_clock_too(log: Journaled) -> None:
    log.write(instance("a"), route("a"), event("e", 10.2), 1, event("f", 10.21), 1, 1)
    body: dict[str, Any] = {"template": JAM.to_json(), "request": JAM.request_name, "source": ""}
    place: dict[str, Any] = {"location": str(log.folder), "limits": LIMITS, "end": log.end}
    cursor: dict[str, Any] = {"position": 0, "resume_from": 0, "state": {}}
    slow, told, ends = Worker(patience_s=0), [], []
    while cursor["position"] < log.end:
        task = Task(**body, **place, start=cursor.pop("position"), **{
            k: cursor[k] for k in ("resume_from", "state")})  # fmt: skip
        rows, cursor = answer(slow, task)
        told += [row.body["about"] for row in rows if row.kind == "notice"]
        ends.append(cursor["position"])
    assert (told, ends) == (["e", "f"], log.ends[1:])


# --- What the others do meanwhile -----------------------------------------------------------


class Pipeline:
    """Plans, evaluates and commits as Spark has it done: templates and the readings."""

    def __init__(self, folder: Path, store: Store, log: Journaled) -> None:
        self.now = 0.0
        self._planner, self._results = reader(folder), Results(store.engine)
        self._planner._behind = Behind(lambda: self.now)
        self._worker, self._log = Worker(), log
        self._offset: dict[str, int] = {"position": 0}

    def batch(self, *, new: bool = True) -> list[Task]:
        """Take what of the log is new, or what the planner finds if nothing is; returns the
        tasks of templates."""
        self.now += 100
        end = (
            {"position": self._log.end}
            if new
            else self._planner.latestOffset(self._offset, ReadAllAvailable())
        )
        shares = self._planner.partitions(self._offset, end)
        tasks = [
            _here(Task.from_json(text), self._log)
            for share in shares
            for text in share.tasks  # type: ignore[attr-defined]
        ]
        tasks = [task for task in tasks if task.template or task.request == READINGS]
        rows = [row for task in tasks for row in self._worker.run(task)]
        self._results.commit(merged(rows))
        self._offset = end
        return [task for task in tasks if task.template]


@pytest.fixture
def pipeline(
    tmp_path: Path, store: Store, log: Journaled, monkeypatch: pytest.MonkeyPatch
) -> Pipeline:
    """Two templates, each with an instance; one of them cannot take the event `bad`."""
    monkeypatch.setattr("citywise.backend.pipeline.source._PATIENCE_SECONDS", 0)
    take = TemplateRun.take

    def picky(run: TemplateRun, entry: Any) -> Any:
        is_bad = getattr(entry, "key", "") == "bad" and entry.body is not None
        if is_bad and run.template.request_name == BROKEN:
            raise RuntimeError("cannot be")
        return take(run, entry)

    monkeypatch.setattr(TemplateRun, "take", picky)
    store.install(JAM, OTHER)
    log.write(instance("a"), instance("a", name="other"), route("a"), event("e", 10.2), 1)
    return Pipeline(tmp_path, store, log)


def positions(store: Store) -> dict[str, int]:
    with store.engine.connect() as connection:
        rows = connection.execute(select(CursorRow.request, CursorRow.position)).all()
    return {row.request: row.position for row in rows}


def came(store: Store) -> progress.Progress:
    with store.engine.connect() as connection:
        return progress.read(connection)


def errors(store: Store) -> set[str]:
    with store.engine.connect() as connection:
        failed = select(TraceRow.request).where(TraceRow.error.is_not(None))
        return set(connection.scalars(failed))


def test_one_that_fails_stays_alone_and_the_others_and_the_intake_go_on(
    pipeline: Pipeline, store: Store, log: Journaled
) -> None:
    pipeline.batch()
    stands = log.end
    for _more in range(3):
        log.write(event("bad", 10.205), 1)
        pipeline.batch()
    assert positions(store) == {BROKEN: stands, OTHER.request_name: log.end, READINGS: log.end}
    now = came(store)
    assert (now.position, now.answered_ms, now.needed_by) == (log.end, log.now, BROKEN)
    assert now.needed_from < stands
    assert errors(store) == {BROKEN}
    assert f"kept for request `{BROKEN}`" in _kept_for(now)


def test_its_stretch_is_no_longer_than_a_batch_and_it_catches_up_without_news(
    pipeline: Pipeline, store: Store, log: Journaled, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline.batch()
    stands = log.end
    log.write(event("bad", 10.205), 1)
    pipeline.batch()
    log.write(*[1] * 30)
    (other, broken) = sorted(pipeline.batch(), key=lambda task: task.end, reverse=True)
    assert (other.end, broken.start) == (log.end, stands)
    assert broken.end - broken.start < 1200 < log.end - stands
    monkeypatch.undo()
    monkeypatch.setattr("citywise.backend.pipeline.source._PATIENCE_SECONDS", 0)
    turns = 0
    while positions(store)[BROKEN] < log.end:
        assert len(pipeline.batch(new=False)) == 1
        turns += 1
    assert turns > 1
    assert pipeline.batch(new=False) == []
    assert came(store).needed_by is None
    assert [n[2] for n in store.notices()] == [None] * 4


def test_one_that_was_behind_when_the_pipeline_ended_has_its_turn_when_it_starts(
    tmp_path: Path, store: Store, log: Journaled
) -> None:
    store.install(JAM)
    log.write(route("a"), event("e", 10.2), instance("a"), 1)
    store.cursor(READINGS, log.end)
    store.cursor(BROKEN, 0)
    planner = reader(tmp_path)
    offset = planner.latestOffset({"position": log.end}, ReadAllAvailable())
    assert offset == {"position": log.end, "turn": 1}
    planner._most = 1_000_000
    (share,) = planner.partitions({"position": log.end}, offset)
    tasks = [Task.from_json(text) for text in share.tasks]  # type: ignore[attr-defined]
    assert [(t.request, t.start, t.end) for t in tasks] == [(BROKEN, 0, log.end)]


def test_a_template_that_is_too_far_behind_begins_anew_with_what_stands(
    pipeline: Pipeline, store: Store, log: Journaled
) -> None:
    stands = failing(pipeline, log)
    told = log.now
    pipeline._planner._most_behind = 100
    begin = log.end
    log.write(event("f", 10.21), 1)
    (task,) = [task for task in pipeline.batch() if task.request == BROKEN]
    assert (task.moves, task.start, task.state) == (stands, begin, {})
    assert set(positions(store).values()) == {log.end}
    ours = [(closed, why) for _, name, closed, why in store.notices() if name == "a.jam"]
    assert sorted(ours, key=str) == [(told - 2 * 60_000, "removed"), *[(None, None)] * 3]
    log.write(("event", "f", None), 1)
    (task, _other) = pipeline.batch()
    assert (task.moves, task.start) == (None, log.ends[-2])
    assert len([n for n in store.notices() if n[1] == "a.jam" and n[3] == "ended"]) == 1


def test_even_one_that_cannot_begin_lets_the_log_be_trimmed(
    pipeline: Pipeline, store: Store, log: Journaled, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(pipeline, log)
    pipeline._planner._most_behind = 100
    monkeypatch.setattr(
        "citywise.backend.pipeline.templates.TemplateRun", _broken(RuntimeError("no"))
    )
    log.write(*[position("a", 10.19 + 0.0001 * n) for n in range(60)])
    log.refresh()
    before = came(store).needed_from
    log.write(1)
    pipeline.batch()
    begin = log.end
    log.write(1)
    pipeline.batch()
    assert positions(store)[BROKEN] >= begin
    assert came(store).needed_from > before
    assert all(why == "removed" for _, name, _, why in store.notices() if name == "a.jam")


def failing(pipeline: Pipeline, log: Journaled) -> int:
    """Let one template fail; returns where it stands."""
    pipeline.batch()
    stands = log.end
    log.write(event("bad", 10.205), 1)
    pipeline.batch()
    log.write(1)
    pipeline.batch()
    return stands


def test_the_log_is_trimmed_up_to_what_somebody_needs(store: Store) -> None:
    assert came(store) == progress.Progress()
    store.cursor("a", 30)
    store.cursor("b", 50)
    store.cursor("c", 50)
    assert came(store) == progress.Progress(50, 0, None, "a")
    with store.engine.begin() as connection:
        connection.execute(delete(CursorRow).where(CursorRow.request == "a"))
    assert came(store).needed_by is None
    assert _kept_for(came(store)) == ""
