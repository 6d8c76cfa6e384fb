"""Two who act at once: one does, whatever the database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select

from citywise.backend.operations import events, schedule
from citywise.backend.operations.drafts import Draft
from citywise.backend.operations.errors import EventExistsError, EventOverError
from citywise.backend.store.models import AuditRow, OutboxRow
from citywise.backend.times import from_ms, parse_ms
from tests.api.town import NOON, Town
from tests.databases import emptied

pytestmark = pytest.mark.slow
AT = parse_ms(NOON)


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """A database of each kind we support; it is noon, and there is a road."""
    url = f"sqlite:///{tmp_path / 'test.db'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgresql_url")
    found = emptied(url)
    town = Town(found)
    town.running()
    town.road("1", "Ringgaden")
    yield found
    found.dispose()


def at_once(act: Callable[[], object], times: int = 6) -> list[object]:
    """What several threads get who act at the same moment; errors too."""
    gate, results = threading.Barrier(times), list[object]()

    def run() -> None:
        gate.wait()
        try:
            results.append(act())
        except (EventExistsError, EventOverError) as error:
            results.append(error)

    threads = [threading.Thread(target=run) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == times
    return results


def opens(engine: Engine, start_ms: int | None = None) -> events.Done:
    start = None if start_ms is None else from_ms(start_ms)
    draft = Draft(type="RoadWorks", place_id="1", start=start)
    with engine.begin() as connection:
        return events.open_event(connection, draft, "demo")


def ends(engine: Engine, event: str) -> events.Done:
    with engine.begin() as connection:
        return events.end_event(connection, event, "demo")


def announced(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.scalars(select(OutboxRow.kind).order_by(OutboxRow.id)))


def test_an_event_opens_ends_and_begins_once(engine: Engine) -> None:
    results = at_once(lambda: opens(engine))
    (done,) = (found for found in results if isinstance(found, events.Done))
    assert announced(engine) == ["event.opened"]
    ended = at_once(lambda: ends(engine, done.event.id))
    assert sum(isinstance(found, events.Done) for found in ended) == 1
    assert announced(engine) == ["event.opened", "event.cleared"]
    opens(engine, AT + 60_000)
    swept = at_once(lambda: schedule.sweep(engine, AT + 60_000))
    assert sorted(map(str, swept)) == ["0"] * 5 + ["1"]
    assert announced(engine) == ["event.opened", "event.cleared", "event.opened"]
    with engine.connect() as connection:
        assert connection.scalar(select(func.count(AuditRow.id))) == 3
