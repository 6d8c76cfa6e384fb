"""Committing batches: once, whatever Spark repeats; and never out of order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, select

from citywise.apps.meeting_mgr.tables import Base as MeetingBase
from citywise.apps.travel_planner.tables import Base as TripsBase
from citywise.backend.pipeline.evaluation import Row
from citywise.backend.pipeline.results import PositionError, Results
from citywise.backend.store.models import (
    Base,
    CursorRow,
    DeadLetterRow,
    EventRow,
    OutboxRow,
    PlaceRow,
)
from tests.databases import emptied

T = 1_407_196_800_000
ROAD = {"id": "1", "kind": "road", "name": "Ringgaden", "lat": 56.2, "lon": 10.1}


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An empty database of each kind we support."""
    url = f"sqlite:///{tmp_path / 'test.db'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgresql_url")
    found = emptied(url)
    with found.begin() as connection:
        place = {**ROAD, "body": {}, "updated_ms": 0}
        connection.execute(PlaceRow.__table__.insert(), [place])  # type: ignore[attr-defined]
    yield found
    found.dispose()


def change(kind: str, t: int, confirmed: int, end: int | None = None, level: int = 1) -> Row:
    body: dict[str, Any] = {
        "kind": kind,
        "id": "TrafficJam-1-x",
        "type": "TrafficJam",
        "place_id": "1",
        "level": level,
        "start_ms": T,
        "confirmed_ms": confirmed,
        "end_ms": end,
        "atoms": [f"a({confirmed})"],
    }
    return Row("traffic_jam", t, kind.replace(kind, "change"), body)


def cursor(start: int, end: int, request: str = "traffic_jam") -> Row:
    body = {"start": start, "position": end, "resume_from": end, "answered_ms": T, "state": {}}
    return Row(request, T, "cursor", body)


def count(engine: Engine, table: type[Base]) -> int:
    with engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(table)) or 0


def announced(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.scalars(select(OutboxRow.kind).order_by(OutboxRow.id)))


def test_a_batch_that_is_repeated_changes_and_announces_nothing(engine: Engine) -> None:
    batch = [change("event.opened", T, T), cursor(0, 10)]
    Results(engine).commit(batch)
    Results(engine).commit(batch)
    assert announced(engine) == ["event.opened"]
    assert count(engine, EventRow) == 1


def test_an_event_keeps_its_start_and_takes_confirmation_level_and_end(engine: Engine) -> None:
    results = Results(engine)
    results.commit([change("event.opened", T, T), cursor(0, 10)])
    results.commit([change("event.updated", T + 1, T + 300_000, level=3), cursor(10, 20)])
    results.commit([change("event.cleared", T + 2, T + 300_000, end=T + 600_000), cursor(20, 30)])
    with engine.connect() as connection:
        row = connection.execute(select(EventRow.__table__)).mappings().one()
        body = connection.scalars(select(OutboxRow.body).order_by(OutboxRow.id.desc())).first()
    assert (row["start_ms"], row["confirmed_ms"], row["end_ms"]) == (T, T + 300_000, T + 600_000)
    assert row["level"] == 3
    assert row["causes"] == {
        "opened": [f"a({T})"],
        "confirmed": [f"a({T + 300_000})"],
        "ended": [f"a({T + 300_000})"],
    }
    assert body is not None
    assert body["place"] == ROAD
    assert body["end"] == "2014-08-05T00:10:00Z"
    assert announced(engine) == ["event.opened", "event.updated", "event.cleared"]


def test_a_confirmation_within_the_same_minute_is_kept_but_is_no_news(engine: Engine) -> None:
    results = Results(engine)
    results.commit([change("event.opened", T, T), cursor(0, 10)])
    results.commit([change("event.updated", T + 1, T + 250), cursor(10, 20)])
    with engine.connect() as connection:
        assert connection.scalar(select(EventRow.confirmed_ms)) == T + 250
    assert announced(engine) == ["event.opened"]


def test_a_gap_before_a_batch_is_refused_and_nothing_of_it_is_kept(engine: Engine) -> None:
    results = Results(engine)
    results.commit([cursor(0, 10)])
    with pytest.raises(PositionError, match=r"begins at 20 .* up to 10"):
        results.commit([change("event.opened", T, T), cursor(20, 30)])
    assert count(engine, EventRow) == 0
    assert announced(engine) == []


def test_one_request_of_a_batch_may_be_committed_already(engine: Engine) -> None:
    results = Results(engine)
    results.commit([cursor(0, 10, "garage_nearly_full")])
    batch = [cursor(0, 10, "garage_nearly_full"), change("event.opened", T, T), cursor(0, 10)]
    results.commit(batch)
    assert count(engine, EventRow) == 1
    assert count(engine, CursorRow) == 2


def test_the_cursor_of_a_request_no_longer_configured_is_forgotten(engine: Engine) -> None:
    Results(engine).commit([cursor(0, 10), cursor(0, 10, "old")])
    Results(engine).forget_others(["traffic_jam"])
    with engine.connect() as connection:
        assert list(connection.scalars(select(CursorRow.request))) == ["traffic_jam"]


def test_late_items_become_dead_letters_once(engine: Engine) -> None:
    late = Row("traffic_jam", T, "late", {"position": 7 << 16, "detail": "d", "payload": "p"})
    for start in (0, 10):
        Results(engine).commit([late, cursor(start, start + 10)])
    assert count(engine, DeadLetterRow) == 1


def test_migrations_make_the_tables_the_models_describe(engine: Engine) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with engine.connect() as connection:
        context = MigrationContext.configure(connection)
        every: Any = [Base.metadata, MeetingBase.metadata, TripsBase.metadata]
        assert compare_metadata(context, every) == []


def test_an_error_is_over_when_the_request_has_an_answer_again(engine: Engine) -> None:
    results = Results(engine)

    def trace(error: str | None) -> Row:
        body = {"items": 0, "atoms": 0, "seconds": 0.0, "error": error, "part": 0}
        return Row("traffic_jam", T, "trace", body)

    assert results.commit([trace("too slow"), cursor(0, 5)]) == {"traffic_jam": "too slow"}
    assert results.commit([cursor(5, 6)]) == {}
    assert results.commit([trace("too slow"), trace(None), cursor(6, 7)]) == {"traffic_jam": None}
