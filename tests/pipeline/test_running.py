"""Which templates are evaluated, and what is planned for them, while the system runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, delete, insert, select

from citywise.backend.ingest import inlet
from citywise.backend.packs.run import TemplateRun
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.pipeline.evaluation import Row
from citywise.backend.pipeline.merging import merged
from citywise.backend.pipeline.results import Results
from citywise.backend.pipeline.running import Running, RunningTemplates
from citywise.backend.pipeline.worker import READINGS, Task, Worker
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import CursorRow, InstanceRow, NoticeRow, TemplateVersionRow
from tests.packs.journaled import Journaled
from tests.packs.test_run import (
    JAM,
    NEAR,
    Happening,
    event,
    instance,
    reading,
    route,
    template,
)
from tests.pipeline.stretches import answer
from tests.pipeline.test_source import planned, reader

NEWER = template(NEAR, version=2)


class Store:
    """A database in which templates, instances, cursors and notices are put."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def install(self, *templates: TemplateVersion) -> None:
        for found in templates:
            body = {"body": found.to_json(), "digest": found.digest, "installed_ms": 0}
            self._put(TemplateVersionRow, **_of(found), **body)

    def instances(self, found: TemplateVersion, *users: str) -> None:
        rows = [
            {
                "app": found.app, "template": found.name, "version": found.version,
                "id": f"{user}.jam", "user": user, "values": {}, "created_ms": 0, "updated_ms": 0,
            }
            for user in users
        ]  # fmt: skip
        with self.engine.begin() as connection:
            connection.execute(insert(InstanceRow), rows)

    def remove(self, *users: str) -> None:
        with self.engine.begin() as connection:
            names = [f"{user}.jam" for user in users]
            connection.execute(delete(InstanceRow).where(InstanceRow.id.in_(names)))

    def cursor(self, request: str, position: int = 0) -> None:
        values = {"position": position, "resume_from": 0, "state": {}, "updated_ms": 0}
        self._put(CursorRow, request=request, **values)

    def running(self) -> dict[str, Running]:
        with self.engine.connect() as connection:
            return {found.request: found for found in RunningTemplates().read(connection)}

    def cursors(self) -> set[str]:
        with self.engine.connect() as connection:
            return set(connection.scalars(select(CursorRow.request)))

    def notices(self) -> list[tuple[int, str, int | None, str | None]]:
        """Version, instance, closing and its reason of all notices."""
        table = NoticeRow
        columns = (table.version, table.instance, table.closed_ms, table.closed_because)
        with self.engine.connect() as connection:
            rows = connection.execute(select(*columns).order_by(table.version, table.instance))
            return [(row[0], row[1], row[2], row[3]) for row in rows]

    def _put(self, table: Any, **values: Any) -> None:
        with self.engine.begin() as connection:
            connection.execute(insert(table), [values])


def _of(found: TemplateVersion) -> dict[str, Any]:
    return {"app": found.app, "name": found.name, "version": found.version}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """The database of the planner that `reader` gives."""
    reader(tmp_path)
    engine = create_engine_for(f"sqlite:///{tmp_path / 'citywise.db'}")
    yield Store(engine)
    engine.dispose()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Journaled]:
    """A log, empty yet, where the planner looks for it."""
    found = Journaled(tmp_path / "log")
    yield found
    found.close()


# --- Which versions run ---------------------------------------------------------------------


def test_the_newest_version_runs_and_older_ones_that_have_instances(store: Store) -> None:
    third = template(NEAR, version=3)
    store.install(JAM, NEWER, third)
    store.instances(JAM, "a", "b")
    running = store.running()
    assert {name: found.instances for name, found in running.items()} == {
        "test/jam@1": 2,
        "test/jam@3": 0,
    }
    assert TemplateVersion.from_json(running["test/jam@1"].body) == JAM


def test_a_tenth_version_is_newer_than_a_ninth(store: Store) -> None:
    store.install(template(NEAR, version=10), template(NEAR, version=9))
    assert set(store.running()) == {"test/jam@10"}


def test_a_version_without_instances_stops_and_its_cursor_is_removed(store: Store) -> None:
    store.install(JAM, NEWER)
    store.instances(JAM, "a")
    for request in ("test/jam@1", "test/jam@2", "traffic_jam", "gone"):
        store.cursor(request)
    results = Results(store.engine)
    results.forget_others(["traffic_jam"])
    assert store.cursors() == {"test/jam@1", "test/jam@2", "traffic_jam"}
    store.remove("a")
    results.forget_others(["traffic_jam"])
    assert set(store.running()) == {"test/jam@2"}
    assert store.cursors() == {"test/jam@2", "traffic_jam"}


@pytest.mark.parametrize(
    ("partitions", "instances", "workers", "local", "parts"),
    [
        ("auto", 1_999, 4, True, 1),
        ("auto", 2_000, 4, True, 4),
        ("auto", 2_000, 4, False, 1),
        ("3", 1, 4, True, 3),
        ("3", 1, 4, False, 1),
        ("0", 9_999, 4, True, 1),
    ],
)
def test_parts_follow_the_number_of_instances_where_users_can_be_told_apart(
    partitions: str, instances: int, workers: int, local: bool, parts: int
) -> None:
    many = instances >= 2_000
    found = Running("r", {}, instances, local, many=many)
    assert found.parts(partitions, workers) == parts


def test_rules_that_join_users_run_in_one_piece(store: Store) -> None:
    crowd = 'notice(Me,"jam",crowd,1) :- user(Me,_), 2 <= #count{ O : user(O,_) }.'
    store.install(JAM, template(crowd, name="crowd"))
    assert {name: found.local for name, found in store.running().items()} == {
        "test/crowd@1": False,
        "test/jam@1": True,
    }


# --- What is planned for them ---------------------------------------------------------------


def test_a_template_installed_while_it_runs_gets_all_that_stood_before(
    tmp_path: Path, store: Store, log: Journaled
) -> None:
    planner = reader(tmp_path)
    log.write(route("a"), event("e", 10.2), 1, 1)
    assert {t.request for share in planned(planner, 0, log.end) for t in share} == {
        READINGS, "traffic_jam", "garage_nearly_full",
    }  # fmt: skip
    begin = log.end
    log.write(instance("a"), 1)
    store.install(JAM)
    (task,) = [t for s in planned(planner, begin, log.end) for t in s if t.template]
    assert (task.start, task.end, task.resume_from) == (begin, log.end, 0)
    rows, _cursor = answer(Worker(), _here(task, log))
    assert [row.body["about"] for row in rows if row.kind == "notice"] == ["e"]


def test_an_old_and_a_new_version_are_planned_side_by_side(
    tmp_path: Path, store: Store, log: Journaled
) -> None:
    planner = reader(tmp_path, "2")
    store.install(JAM, NEWER)
    store.instances(JAM, "a")
    log.write(instance("a"), 1, 1, 1)
    _, first, second, third = log.ends
    store.cursor("test/jam@1", second)
    tasks = [t for share in planned(planner, first, third) for t in share if t.template]
    assert sorted((t.request, t.start, t.part, t.parts) for t in tasks) == [
        ("test/jam@1", second, 0, 2),
        ("test/jam@1", second, 1, 2),
        ("test/jam@2", first, 0, 2),
        ("test/jam@2", first, 1, 2),
    ]
    assert {t.template["version"] for t in tasks if t.template} == {1, 2}


def _here(task: Task, log: Journaled) -> Task:
    return Task(**{**vars(task), "location": str(log.folder)})


# --- An old version ends --------------------------------------------------------------------


class Pipeline:
    """Plans, evaluates and commits, as Spark has it done; it is never started again.

    `warm` says of each task of a template whether the run was at hand.
    """

    def __init__(self, folder: Path, store: Store, log: Journaled) -> None:
        self._planner, self._results = reader(folder), Results(store.engine)
        self._workers = [Worker(), Worker()]
        self._log, self._position = log, 0
        self.warm: list[bool] = []

    def batch(self) -> None:
        """Take what of the log is new."""
        rows: list[Row] = []
        end = self._log.end
        for worker, share in zip(
            self._workers, planned(self._planner, self._position, end), strict=False
        ):
            for task in share:
                if task.template is not None:
                    rows += worker.run(_here(task, self._log))
        self._results.commit(merged(rows))
        self._position = end
        self.warm += [row.body["warm"] for row in rows if row.kind == "cursor"]


def test_the_last_instance_of_an_old_version_closes_its_notices_when_it_goes(
    tmp_path: Path, store: Store, log: Journaled
) -> None:
    """The database knows at once that it is gone, the log a moment later."""
    pipeline = Pipeline(tmp_path, store, log)
    store.install(JAM, NEWER)
    store.instances(JAM, "a")
    log.write(instance("a"), route("a"), event("e", 10.2), 1)
    pipeline.batch()
    assert store.notices() == [(1, "a.jam", None, None)]
    store.remove("a")
    log.write(1)
    pipeline.batch()
    Results(store.engine).forget_others([])
    log.write(("instance", "a.jam", None), 1)
    pipeline.batch()
    assert store.notices() == [(1, "a.jam", log.now, "removed")]
    assert set(store.running()) == {"test/jam@2"}


def test_an_instance_that_moves_to_another_version_has_its_notices_there(
    tmp_path: Path, store: Store, log: Journaled
) -> None:
    pipeline = Pipeline(tmp_path, store, log)
    store.install(JAM, NEWER)
    store.instances(JAM, "a")
    log.write(instance("a"), route("a"), event("e", 10.2), 1)
    pipeline.batch()
    store.remove("a")
    store.instances(NEWER, "a")
    log.write(instance("a", version=2), 1, ("event", "e", None), 1, event("e", 10.21), 1)
    pipeline.batch()
    minute = 60_000
    assert [(n[0], n[2]) for n in store.notices()] == [
        (1, log.now - 2 * minute), (2, log.now - minute), (2, None),
    ]  # fmt: skip


# --- Instances come, change and go ----------------------------------------------------------


BUSY = template(
    NEAR
    + """
    #from stream <https://w3id.org/citywise/stream/parking> [time 4m step 1m].
    #scale city_occupiedPlaces 1.
    seen(N) :- city_occupiedPlaces(_,N).
    notice(Me,"jam",full,1) :- radius(Me,R), 3 <= #count{ N : seen(N), N > R }.
    """
)
"""Three readings of the last four minutes decide, above the instance's own number."""


def full(occupied: int) -> Happening:
    return reading("parking", "g", occupied=occupied, capacity=999)


class Website:
    """Adds, changes and removes instances as the API does; the ingest takes them over."""

    def __init__(self, store: Store, log: Journaled) -> None:
        self._store, self._log = store, log

    def save(self, user: str, radius: int) -> None:
        subject, key, body = instance(user, radius=radius)
        self._store.remove(user)
        self._store.instances(BUSY, user)
        self._write(subject, key, body)

    def remove(self, user: str) -> None:
        self._store.remove(user)
        self._write("instance", f"{user}.jam", None)

    def _write(self, *entry: Any) -> None:
        with self._store.engine.begin() as connection:
            inlet.write(connection, [entry])
        taken = inlet.Inlet(self._store.engine).take()
        assert taken.dead == []
        self._log.write(*taken.entries)
        inlet.Inlet(self._store.engine).remove(taken.ids)


def test_instances_change_in_the_middle_of_a_window_and_nothing_of_it_is_lost(
    tmp_path: Path, store: Store, log: Journaled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each batch goes on in the same processes, and the readings from before count."""
    began: list[TemplateRun] = []
    begin = TemplateRun.__init__

    def beginning(run: TemplateRun, *given: Any, **more: Any) -> None:
        began.append(run)
        begin(run, *given, **more)

    monkeypatch.setattr(TemplateRun, "__init__", beginning)
    pipeline, website = Pipeline(tmp_path, store, log), Website(store, log)
    store.install(BUSY)
    website.save("a", 500)
    website.save("b", 500)
    log.write(1, full(1), 1, full(601), 1)
    pipeline.batch()
    website.save("a", 550)  # changed
    log.write(full(602), 1)
    pipeline.batch()
    website.save("c", 600)  # added
    website.remove("b")
    log.write(full(603), 1, 1)
    pipeline.batch()
    assert store.notices() == [(1, "a.jam", None, None), (1, "c.jam", None, None)]
    website.save("c", 602)  # too few are above
    website.remove("a")
    website.save("b", 10)  # comes back
    log.write(1)
    pipeline.batch()
    assert store.notices() == [
        (1, "a.jam", log.now, "removed"),
        (1, "b.jam", None, None),
        (1, "c.jam", log.now, "no_longer"),
    ]
    assert pipeline.warm == [False, True, True, True]
    assert len(began) == 1
