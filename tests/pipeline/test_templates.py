"""Tasks of templates over a real log: the same notices wherever they are evaluated, in
however many parts, and whatever is repeated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.backend.ingest import records
from citywise.backend.packs import prepared
from citywise.backend.packs.run import TemplateRun
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.pipeline.evaluation import Row
from citywise.backend.pipeline.merging import PartsError, merged
from citywise.backend.pipeline.parts import WHOLE
from citywise.backend.pipeline.slices import Slices, Stretch
from citywise.backend.pipeline.templates import TemplateRuns
from citywise.backend.pipeline.worker import Task, Worker
from citywise.reasoning.limits import Limits
from tests.packs.journaled import Journaled
from tests.packs.test_run import (
    BEGINNING,
    DAYS,
    JAM,
    RICH,
    Happening,
    event,
    instance,
    position,
    reading,
    route,
    steps_of,
)
from tests.pipeline.stretches import LIMITS, answer

Notices = list[tuple[int, dict[str, Any]]]
FULL = reading("parking", "g", occupied=7, capacity=9)
DAY: list[Happening] = [
    *BEGINNING, 1, event("f", 10.21), 1, FULL, 1, FULL, position("b", 10.21), 1,
    ("event", "e", None), 1, 1, ("instance", "a.jam", None), 1, instance("c"), route("c"), 1, 1,
]  # fmt: skip


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluate in this process: starting another takes longer than the whole test."""
    engine_of = prepared.engine_of
    monkeypatch.setattr(
        "citywise.backend.packs.run.engine_of", lambda found, _limits: engine_of(found, None)
    )


@pytest.fixture
def journaled(tmp_path: Path) -> Iterator[Journaled]:
    """The day's log."""
    found = Journaled(tmp_path / "log", DAY)
    yield found
    found.close()


def task(
    log: Journaled,
    start: int,
    end: int,
    cursor: dict[str, Any],
    of: TemplateVersion = RICH,
    part: int = 0,
    parts: int = 1,
) -> Task:
    """The template's task from one clock to another, continuing a committed cursor."""
    return Task(
        request=of.request_name,
        source="",
        location=str(log.folder),
        start=log.ends[start],
        end=log.ends[end],
        resume_from=cursor.get("resume_from", 0),
        state=cursor.get("state", {}),
        limits=LIMITS,
        template=of.to_json(),
        part=part,
        parts=parts,
    )  # fmt: skip


def batch(
    workers: Sequence[Worker], log: Journaled, start: int, end: int, cursor: dict[str, Any]
) -> tuple[list[Row], dict[str, Any]]:
    """A batch in as many parts as there are workers; its rows, and the cursor."""
    rows: list[Row] = []
    for number, worker in enumerate(workers):
        found, after = answer(
            worker, task(log, start, end, cursor, part=number, parts=len(workers))
        )
        rows += [*found, Row(RICH.request_name, 0, "cursor", after)]
    *together, last = merged(rows)
    return together, last.body


def notices(rows: Sequence[Row]) -> Notices:
    """The notices of rows; in parts, those of one time come in no order."""
    found = [(row.t_ms, row.body) for row in rows if row.kind == "notice"]
    found = [(t_ms, body) for t_ms, body in found if body["change"] != "refreshed"]
    return sorted(found, key=_key)


def _key(found: tuple[int, Any]) -> str:
    return f"{found[0]} {sorted(found[1].items(), key=str)}"


def straight(log: Journaled, of: TemplateVersion = RICH) -> Notices:
    """What a run tells that takes the whole log at once."""
    entries = list(records.read(log.folder, 0, log.ends[-1]))
    return sorted(((t, dict(c)) for t, c in steps_of(TemplateRun(of), entries)), key=_key)


# --- Any cutting, any worker, any number of parts ------------------------------------------


PLANS = st.lists(
    st.tuples(st.integers(1, 4), st.lists(st.integers(0, 2), min_size=1, max_size=3)),
    min_size=1,
    max_size=8,
)
"""Batches, one after the other and again from the first: how many clocks each takes, and the
workers that do its parts."""


@pytest.mark.usefixtures("here")
@settings(max_examples=30)
@given(DAYS, PLANS, st.integers(0, 3))
def test_any_stretches_parts_and_workers_give_the_same_notices(
    tmp_path_factory: pytest.TempPathFactory,
    happenings: list[Happening],
    plan: list[tuple[int, list[int]]],
    repeat: int,
) -> None:
    log = Journaled(tmp_path_factory.mktemp("day") / "log", happenings)
    workers = [Worker() for _ in range(3)]
    rows: list[Row] = []
    cursor: dict[str, Any] = {}
    start = number = 0
    while start < len(log.ends) - 1:
        clocks, who = plan[number % len(plan)]
        end = min(start + clocks, len(log.ends) - 1)
        if number == repeat:  # a batch that is done, and never committed
            batch([workers[w] for w in reversed(who)], log, start, end, cursor)
        found, cursor = batch([workers[w] for w in who], log, start, end, cursor)
        rows += found
        start, number = end, number + 1
    log.close()
    assert notices(rows) == straight(log)


def test_a_run_in_a_process_of_its_own_tells_the_same(journaled: Journaled) -> None:
    worker, last = Worker(), len(journaled.ends) - 1
    first, cursor = batch([worker], journaled, 0, 4, {})
    rest, after = batch([worker], journaled, 4, last, cursor)
    assert (cursor["warm"], after["warm"]) == (False, True)
    found = notices([*first, *rest])
    assert found == straight(journaled)
    assert {body["change"] for _, body in found} == {"opened", "closed"}
    assert {body["about"] for _, body in found} == {"e", "f", "busy"}


# --- What the next batch needs -------------------------------------------------------------


@pytest.mark.usefixtures("here")
def test_a_cursor_says_where_the_next_batch_begins_and_what_it_needs(
    journaled: Journaled,
) -> None:
    rows, cursor = batch([Worker()], journaled, 0, 4, {})
    assert (cursor["start"], cursor["position"]) == (0, journaled.ends[4])
    assert cursor["answered_ms"] == cursor["state"]["clock"][0]
    assert cursor["state"]["clock"][1] == journaled.clocks[3]
    assert cursor["resume_from"] == 0  # there stands what stands still
    _rows, lacking = batch(
        [Worker()], journaled, 4, 5, {**cursor, "resume_from": journaled.ends[4]}
    )
    assert notices(_rows) != notices(batch([Worker()], journaled, 4, 5, cursor)[0])
    assert lacking["position"] == journaled.ends[5]
    assert [row.kind for row in rows][:2] == ["trace", "notice"]


@pytest.mark.usefixtures("here")
def test_what_stands_is_needed_from_where_it_was_written_again(tmp_path: Path) -> None:
    log = Journaled(tmp_path, DAY)
    log.write(*[position("b", 10.19 + 0.0001 * n) for n in range(60)], 1)
    log.refresh()
    log.write(1)
    _, early = batch([Worker()], log, 0, len(log.ends) - 3, {})
    _, late = batch([Worker()], log, len(log.ends) - 3, len(log.ends) - 1, early)
    log.close()
    assert early["resume_from"] < late["resume_from"] < late["position"]


@pytest.mark.usefixtures("here")
def test_a_run_that_another_worker_overtook_reads_only_what_lies_between(
    journaled: Journaled,
) -> None:
    read: list[tuple[int, int]] = []

    def counted(location: str, start: int, end: int) -> list[records.LogEntry]:
        read.append((start, end))
        return list(records.read(location, start, end))

    slow, fast = Worker(Slices(read=counted)), Worker()
    _, first = batch([slow], journaled, 0, 3, {})
    _, second = batch([fast], journaled, 3, 6, first)
    read.clear()
    rows, third = batch([slow], journaled, 6, 9, second)
    assert third["warm"] is True
    assert min(start for start, _ in read) == journaled.ends[3]
    assert notices(rows) == notices(batch([Worker()], journaled, 6, 9, second)[0])


@pytest.mark.usefixtures("here")
def test_a_run_beyond_the_batch_is_built_anew_and_the_old_one_ended(
    journaled: Journaled, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[TemplateRun] = []
    monkeypatch.setattr(TemplateRun, "close", lambda run: ended.append(run))
    worker = Worker()
    _, cursor = batch([worker], journaled, 0, 3, {})
    batch([worker], journaled, 3, 6, cursor)
    rows, again = batch([worker], journaled, 3, 5, cursor)
    assert (again["warm"], len(ended)) == (False, 1)
    assert notices(rows) == notices(batch([Worker()], journaled, 3, 5, cursor)[0])


@pytest.mark.usefixtures("here")
def test_the_run_longest_unused_is_ended_when_there_are_too_many(
    journaled: Journaled, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []
    monkeypatch.setattr(TemplateRun, "close", lambda run: ended.append(run.template.request_name))
    runs = TemplateRuns(Slices(), most=1)
    stretch = Stretch(str(journaled.folder), 0, journaled.ends[1], 0, {})
    for template in (JAM, RICH.model_copy(update={"version": 2})):
        run, warm = runs.take(template, Limits(), stretch, WHOLE)
        assert not warm
        runs.keep(template, run, stretch, WHOLE)
    assert ended == [JAM.request_name]


# --- Parts ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("here")
def test_parts_divide_the_users_and_their_traces_become_one(journaled: Journaled) -> None:
    last = len(journaled.ends) - 1
    whole, one = batch([Worker()], journaled, 0, last, {})
    rows, cursor = batch([Worker(), Worker(), Worker()], journaled, 0, last, {})
    assert notices(rows) == notices(whole)
    assert {k: cursor[k] for k in ("position", "resume_from", "answered_ms", "state")} == {
        k: one[k] for k in ("position", "resume_from", "answered_ms", "state")
    }
    traces, together = (at_instants(found) for found in (whole, rows))
    assert together == traces
    assert ["a.jam", "b.jam"] in [instances for _, _, instances in together.values()]


def at_instants(rows: Sequence[Row]) -> dict[int, tuple[int, int, list[str]]]:
    """Of the traces of each time: how many keys, notices, and which instances."""
    found: dict[int, tuple[int, int, list[str]]] = {}
    for row in rows:
        if row.kind == "trace":
            keys, notices, instances = found.get(row.t_ms, (0, 0, []))
            instances = sorted([*instances, *row.body["changed"]["instances"]])
            found[row.t_ms] = keys + row.body["keys"], notices + row.body["notices"], instances
    return found


@pytest.mark.usefixtures("here")
def test_a_batch_that_lacks_a_part_is_not_committed(journaled: Journaled) -> None:
    rows: list[Row] = []
    for number in (0, 2):
        found, cursor = answer(Worker(), task(journaled, 0, 3, {}, part=number, parts=3))
        rows += [*found, Row(RICH.request_name, 0, "cursor", cursor)]
    with pytest.raises(PartsError, match="of 3 parts there are 1, 3"):
        merged(rows)
