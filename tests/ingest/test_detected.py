"""Events that others detect are events of the city."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, insert, select

from citywise.backend.ingest.detected import keep
from citywise.backend.ingest.standing import Entry, event_entries
from citywise.backend.store.models import EventRow, InletRow, OutboxRow
from tests.databases import begun

AT = 1_407_240_000_000
CRASH = (
    b'{"type": "Accident", "level": 4, "geometry": {"type": "Point", "coordinates": [10.2, 56.15]},'
    b' "start_ms": 1407239990000, "source": "citizen", "name": "Vesterbro Torv"}'
)
WORSE = CRASH.replace(b'"level": 4', b'"level": 5')


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = begun(f"sqlite:///{tmp_path / 'city.db'}")
    yield engine
    engine.dispose()


def announced(engine: Engine) -> list[tuple[str, int, str | None]]:
    with engine.connect() as connection:
        rows = connection.execute(select(OutboxRow.kind, OutboxRow.body).order_by(OutboxRow.id))
        return [(kind, body["level"], body["end"]) for kind, body in rows]


def event(engine: Engine) -> dict[str, Any]:
    with engine.connect() as connection:
        return dict(connection.execute(select(EventRow.__table__)).mappings().one())


def test_a_reported_event_opens_changes_and_clears(engine: Engine) -> None:
    keep(engine, event_entries("crash-1", CRASH), AT)
    keep(engine, event_entries("crash-1", WORSE), AT + 1000)
    keep(engine, event_entries("crash-1", b""), AT + 2000)
    assert announced(engine) == [
        ("event.opened", 4, None),
        ("event.updated", 5, None),
        ("event.cleared", 5, "2014-08-05T12:00:02Z"),
    ]
    row = event(engine)
    assert (row["type"], row["start_ms"], row["end_ms"]) == ("Accident", AT - 10_000, AT + 2000)
    assert row["place"]["name"] == "Vesterbro Torv"
    assert (row["place"]["lat"], row["place"]["lon"]) == (56.15, 10.2)


def test_what_is_reported_again_is_not_announced_again(engine: Engine) -> None:
    for second in range(3):
        keep(engine, event_entries("crash-1", CRASH), AT + 1000 * second)
    keep(engine, event_entries("crash-1", b""), AT + 5000)
    keep(engine, event_entries("crash-1", b""), AT + 6000)
    keep(engine, event_entries("never-heard-of", b""), AT + 6000)
    assert [kind for kind, *_ in announced(engine)] == ["event.opened", "event.cleared"]


def test_an_event_may_come_back_under_its_id(engine: Engine) -> None:
    keep(engine, event_entries("crash-1", CRASH), AT)
    keep(engine, event_entries("crash-1", b""), AT + 1000)
    keep(engine, event_entries("crash-1", CRASH), AT + 2000)
    assert [kind for kind, *_ in announced(engine)][-1] == "event.opened"
    assert event(engine)["end_ms"] is None


def test_nobody_ends_or_changes_an_event_that_a_request_concluded(engine: Engine) -> None:
    keep(engine, event_entries("crash-1", CRASH), AT)
    ours = {**event(engine), "id": "TrafficJam-100-x", "request": "traffic_jam"}
    with engine.begin() as connection:
        connection.execute(insert(EventRow), ours)
    keep(engine, [Entry("event", "TrafficJam-100-x", None)], AT)
    keep(engine, event_entries("TrafficJam-100-x", WORSE), AT)
    with engine.connect() as connection:
        rows = connection.execute(select(EventRow.level, EventRow.end_ms)).all()
    assert set(rows) == {(4, None)}


def test_the_log_is_told_nothing_that_it_has_told_itself(engine: Engine) -> None:
    keep(engine, event_entries("crash-1", CRASH), AT)
    with engine.connect() as connection:
        assert connection.execute(select(InletRow.id)).all() == []
