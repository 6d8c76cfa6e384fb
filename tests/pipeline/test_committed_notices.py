"""Committing what templates conclude: notices opened once and closed rightly, traces, and what
the city's events are for the templates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, insert, select, update
from sqlalchemy.exc import OperationalError

from citywise.backend.ingest.standing import checked
from citywise.backend.pipeline.evaluation import Row
from citywise.backend.pipeline.results import Results
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import (
    Base,
    CursorRow,
    InletRow,
    NoticeRow,
    OutboxRow,
    PlaceRow,
    TraceRow,
)
from tests.pipeline.test_results import ROAD, T, announced, change, cursor

LINE = {"type": "LineString", "coordinates": [[10.1, 56.2], [10.11, 56.2]]}
V1, V2 = "test/jam@1", "test/jam@2"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """A database that knows a road, but not where it is."""
    found = create_engine_for(f"sqlite:///{tmp_path / 'test.db'}")
    Base.metadata.create_all(found)
    with found.begin() as connection:
        connection.execute(insert(PlaceRow), [{**ROAD, "body": {}, "updated_ms": 0}])
    yield found
    found.dispose()


def notice(kind: str, t_ms: int, version: int = 1, **more: Any) -> Row:
    """A change of the notice to a about e."""
    body = {
        "change": kind, "app": "test", "template": "jam", "version": version,
        "instance": "a.jam", "user": "a", "notice": "jam", "about": "e", "about_type": "event",
        "criticality": 3, "details": {}, "closed_because": None, "why": [], "t_ms": t_ms, **more,
    }  # fmt: skip
    return Row(f"test/jam@{version}", t_ms, "notice", body)


def notices(engine: Engine) -> list[tuple[str, int, int | None, int]]:
    """Id's opening, version, closing and criticality, in order of opening."""
    with engine.connect() as connection:
        rows = connection.execute(
            select(NoticeRow.__table__).order_by(NoticeRow.opened_ms, NoticeRow.version)
        )
        return [(r.id.rsplit("~", 1)[1], r.version, r.closed_ms, r.criticality) for r in rows]


def told(engine: Engine) -> list[tuple[str, str]]:
    """Change and id of the announcements."""
    with engine.connect() as connection:
        bodies = connection.scalars(
            select(OutboxRow.body).where(OutboxRow.kind == "notice").order_by(OutboxRow.id)
        )
        return [(body["change"], body["id"].rsplit("~", 1)[1]) for body in bodies]


FIRST, LATER = "20140805T000000Z", "20140805T000200Z"


def test_a_repeated_batch_opens_no_notice_twice(engine: Engine) -> None:
    batch = [notice("opened", T), cursor(0, 10, V1)]
    for _ in range(2):
        Results(engine).commit(batch)
    assert notices(engine) == [(FIRST, 1, None, 3)]
    assert told(engine) == [("opened", FIRST)]


def test_a_run_that_is_built_anew_changes_the_notice_that_is_open(engine: Engine) -> None:
    """It does not know what an evaluation that failed had told before."""
    results = Results(engine)
    results.commit([notice("opened", T), cursor(0, 10, V1)])
    results.commit([notice("opened", T + 60_000), cursor(10, 20, V1)])
    assert told(engine) == [("opened", FIRST)]
    results.commit([notice("opened", T + 120_000, criticality=5), cursor(20, 30, V1)])
    assert notices(engine) == [(FIRST, 1, None, 5)]
    assert told(engine) == [("opened", FIRST), ("updated", FIRST)]


def test_a_notice_that_comes_again_is_another_and_its_end_closes_that_one(engine: Engine) -> None:
    results = Results(engine)
    results.commit([notice("opened", T), notice("closed", T + 60_000), cursor(0, 10, V1)])
    results.commit([notice("opened", T + 120_000), cursor(10, 20, V1)])
    ended = notice("closed", T + 180_000, closed_because="ended")
    results.commit([ended, cursor(20, 30, V1)])
    assert notices(engine) == [(FIRST, 1, T + 60_000, 3), (LATER, 1, T + 180_000, 3)]
    changes = ["opened", "closed", "opened", "closed"]
    assert told(engine) == list(zip(changes, [FIRST, FIRST, LATER, LATER], strict=True))


def test_changes_of_a_batch_count_in_the_order_of_their_times(engine: Engine) -> None:
    Results(engine).commit([notice("closed", T + 60_000), notice("opened", T), cursor(0, 10, V1)])
    assert notices(engine) == [(FIRST, 1, T + 60_000, 3)]


def test_what_was_never_opened_is_not_closed(engine: Engine) -> None:
    Results(engine).commit([notice("closed", T), cursor(0, 10, V1)])
    assert (notices(engine), told(engine)) == ([], [])


@pytest.mark.parametrize("newer_first", [True, False])
def test_versions_of_an_instance_have_notices_of_their_own(
    engine: Engine, newer_first: bool
) -> None:
    """As it moves, either version may tell first; then what is left may end in the same batch."""
    results = Results(engine)
    results.commit([notice("opened", T), cursor(0, 10, V1)])
    moves = [notice("closed", T + 120_000), notice("opened", T + 120_000, version=2)]
    ends = notice("closed", T + 180_000, version=2)
    batch = [*(reversed(moves) if newer_first else moves), ends]
    results.commit([*batch, cursor(10, 20, V1), cursor(0, 20, V2)])
    assert notices(engine) == [(FIRST, 1, T + 120_000, 3), (LATER, 2, T + 180_000, 3)]


# --- What cannot be kept --------------------------------------------------------------------

BAD: dict[str, Any] = {"instance": "b.jam", "user": "b", "about": "\ud800"}
"""No database takes half a character."""


def test_notices_that_cannot_be_kept_are_left_out_and_all_else_of_the_batch_is(
    engine: Engine,
) -> None:
    batch = [
        change("event.opened", T, T), cursor(0, 10),
        notice("opened", T, **BAD), notice("opened", T), cursor(0, 10, V1),
        notice("opened", T, version=2, about="f"), cursor(0, 10, V2),
    ]  # fmt: skip
    for _again in range(2):
        assert Results(engine).commit(batch) == {}
    assert announced(engine) == ["event.opened", "notice", "notice"]
    assert [(version, closed) for _, version, closed, _ in notices(engine)] == [
        (1, None),
        (2, None),
    ]
    with engine.connect() as connection:
        (trace,) = connection.execute(select(TraceRow.request, TraceRow.t_ms, TraceRow.error))
        assert set(connection.scalars(select(CursorRow.position))) == {10}
    assert (trace.request, trace.t_ms) == (V1, T)
    assert trace.error.startswith("notices of instance b.jam cannot be kept: ")


def test_a_database_that_is_locked_is_nobody_s_fault_and_nothing_is_left_out(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_given: Any) -> int:
        raise OperationalError("select", {}, Exception("database is locked"))

    with monkeypatch.context() as busy:
        busy.setattr("citywise.backend.notices.book.apply", locked)
        with pytest.raises(OperationalError):
            Results(engine).commit([notice("opened", T), cursor(0, 10, V1)])
    with engine.connect() as connection:
        assert connection.scalars(select(TraceRow.id)).all() == []
        assert connection.scalars(select(CursorRow.position)).all() == []


# --- The city's events for the templates ----------------------------------------------------


def revised(t_ms: int, events: list[dict[str, Any]]) -> Row:
    """The events of a request are these, in truth."""
    cause = {
        "kind": "traffic", "sensor": "1", "observed_ms": T, "what": "corrected",
        "before": {"speed_kmh": 9}, "after": {"speed_kmh": 90},
    }  # fmt: skip
    body = {"since_ms": None, "open": [], "events": events, "because": [cause]}
    return Row("traffic_jam", t_ms, "revised", body)


def taken_back(engine: Engine) -> list[tuple[str, str | None, list[str]]]:
    """Change, reason and the readings of the announced ends."""
    with engine.connect() as connection:
        bodies = connection.scalars(
            select(OutboxRow.body).where(OutboxRow.kind == "notice").order_by(OutboxRow.id)
        ).all()
    return [
        (
            body["change"],
            body["closed_because"],
            [one["what"] for one in body.get("taken_back", ())],
        )
        for body in bodies
        if body["change"] == "closed"
    ]


@pytest.mark.parametrize("first", ["the notice closes", "the event is withdrawn"])
def test_a_notice_whose_event_never_was_is_taken_back_once(engine: Engine, first: str) -> None:
    id_ = "TrafficJam-1-x"
    events = [change("event.opened", T, T), cursor(0, 10)]
    Results(engine).commit([*events, notice("opened", T, about=id_), cursor(0, 10, V1)])
    gone = [revised(T, []), cursor(10, 20)]
    closed = [notice("closed", T + 60_000, about=id_, closed_because="ended"), cursor(10, 20, V1)]
    for batch in (closed, gone) if first == "the notice closes" else (gone, closed):
        Results(engine).commit(batch)
        Results(engine).commit(batch)
    assert announced(engine)[-1] == "notice"
    found = taken_back(engine)
    assert found[-1] == ("closed", "withdrawn", ["corrected"])
    assert [one for one in found if one[1] == "withdrawn"] == found[-1:]
    with engine.connect() as connection:
        (row,) = connection.execute(select(NoticeRow.__table__))
        assert (row.closed_because, row.closed_ms) == ("withdrawn", T + 60_000)


@pytest.mark.usefixtures("road")
def test_a_notice_whose_event_is_corrected_says_from_what_to_what_until_it_changes_again(
    engine: Engine,
) -> None:
    id_, results = "TrafficJam-1-x", Results(engine)
    results.commit([change("event.opened", T, T, level=4), cursor(0, 10)])
    results.commit([notice("opened", T, about=id_, criticality=4), cursor(0, 10, V1)])
    corrected = {
        "id": id_, "key": id_, "type": "TrafficJam", "level": 2, "place_id": "1", "start_ms": T,
        "confirmed_ms": T, "end_ms": None, "request": "traffic_jam", "causes": {}, "place": None,
        "opened_ms": T, "revised": None, "withdrawn_ms": None,
    }  # fmt: skip
    results.commit([revised(T, [corrected]), cursor(10, 20)])
    assert [body and body.get("revision") for *_, body in inlet_rows(engine)] == [None, 1]
    with engine.connect() as connection:
        query = select(OutboxRow.body).where(OutboxRow.kind == "event.corrected")
        (said,) = connection.scalars(query)
    assert said["revised"]["was"] == {"level": 4, "start": "2014-08-05T00:00:00Z", "end": None}
    amended: dict[str, Any] = {"because": []}
    changes = [
        notice("updated", T + 60_000, about=id_, criticality=2, amended=amended),
        notice("refreshed", T + 120_000, about=id_, criticality=2, details={"far": 1}),
        notice("updated", T + 180_000, about=id_, criticality=5),
        notice("updated", T + 240_000, about=id_, criticality=1, amended=amended),
        notice("closed", T + 300_000, about=id_, closed_because="corrected", taken_back=[]),
    ]
    found = []
    for number, one in enumerate(changes):
        results.commit([one, cursor(10 * number + 10, 10 * number + 20, V1)])
        with engine.connect() as connection:
            found.append(connection.execute(select(NoticeRow.__table__)).one())
    was = [one.amended and one.amended["was"] for one in found]
    assert was == [4, 4, None, 5, None]
    assert found[0].amended["because"][0]["after"] == {"speed_kmh": 90}
    assert found[-1].taken_back == found[0].amended["because"]
    with engine.connect() as connection:
        query = select(OutboxRow.body).where(OutboxRow.kind == "notice").order_by(OutboxRow.id)
        bodies = connection.scalars(query).all()
    assert bodies[1]["amended"]["was"] == {"criticality": 4}
    assert bodies[1]["amended"]["because"][0]["observed_at"] == "2014-08-05T00:00:00Z"
    assert "amended" not in bodies[2]


def test_a_notice_that_was_told_late_says_by_how_much_until_it_changes(engine: Engine) -> None:
    results = Results(engine)
    results.commit([notice("opened", T, late_ms=1_500_000), cursor(0, 10, V1)])
    results.commit([notice("refreshed", T + 1, details={"far": 1}), cursor(10, 20, V1)])
    results.commit([notice("updated", T + 2, criticality=4), cursor(20, 30, V1)])
    with engine.connect() as connection:
        query = select(OutboxRow.body).where(OutboxRow.kind == "notice").order_by(OutboxRow.id)
        assert [body.get("late_s") for body in connection.scalars(query)] == [1500, None]


def inlet_rows(engine: Engine) -> list[tuple[str, str, Any]]:
    with engine.connect() as connection:
        rows = connection.execute(select(InletRow.__table__).order_by(InletRow.id))
        return [(row.subject, row.key, row.body) for row in rows]


@pytest.fixture
def road(engine: Engine) -> None:
    """The road has a geometry."""
    with engine.begin() as connection:
        connection.execute(update(PlaceRow).values(body={**ROAD, "geometry": LINE}))


@pytest.mark.usefixtures("road")
def test_an_announced_event_stands_and_an_ended_one_no_more(engine: Engine) -> None:
    results = Results(engine)
    results.commit([change("event.opened", T, T), cursor(0, 10)])
    results.commit([change("event.updated", T + 1, T + 1, level=3), cursor(10, 20)])
    results.commit([change("event.cleared", T + 2, T + 1, end=T + 2), cursor(20, 30)])
    opened, updated, ended = inlet_rows(engine)
    assert opened[:2] == updated[:2] == ("event", "TrafficJam-1-x")
    assert (opened[2]["geometry"], opened[2]["name"]) == (LINE, "Ringgaden")
    assert (opened[2]["level"], updated[2]["level"]) == (1, 3)
    assert ended == ("event", "TrafficJam-1-x", None)
    assert checked(*opened).body == {**opened[2], "revision": None}  # as the ingest takes it


@pytest.mark.usefixtures("road")
def test_what_is_not_announced_does_not_stand_anew(engine: Engine) -> None:
    batch = [change("event.opened", T, T), cursor(0, 10)]
    for _ in range(2):
        Results(engine).commit(batch)
    Results(engine).commit([change("event.updated", T + 1, T + 1), cursor(10, 20)])
    assert len(inlet_rows(engine)) == len(announced(engine)) == 1


def test_an_event_at_a_place_that_nobody_knows_where_it_is_does_not_stand(engine: Engine) -> None:
    Results(engine).commit([change("event.opened", T, T), cursor(0, 10)])
    assert inlet_rows(engine) == []


# --- Traces ---------------------------------------------------------------------------------


def test_a_trace_keeps_what_was_evaluated_and_what_came_of_it(engine: Engine) -> None:
    body = {"items": 2, "atoms": 9, "seconds": 0.25, "error": None, "part": 0}
    changed = {"instances": ["a.jam"], "notices": [{"change": "opened", "instance": "a.jam"}]}
    of_template = {"position": 77, "keys": 1, "notices": 1, "changed": changed}
    failed = {**body, **of_template, "error": "instance a.jam: out of memory"}
    errors = Results(engine).commit(
        [
            Row(V1, T, "trace", {**body, **of_template}),
            Row(V1, T + 1, "trace", failed),
            cursor(0, 10, V1),
            Row("traffic_jam", T, "trace", body),
            cursor(0, 10),
        ]
    )
    assert errors == {"traffic_jam": None}  # what is wrong with an app is the app's
    with engine.connect() as connection:
        found = connection.execute(select(TraceRow.__table__).order_by(TraceRow.id)).mappings()
        good, bad, other = found.all()
    assert {key: good[key] for key in of_template} == of_template
    assert (good["error"], bad["error"]) == (None, "instance a.jam: out of memory")
    assert (other["position"], other["keys"], other["changed"]) == (None, 0, None)
