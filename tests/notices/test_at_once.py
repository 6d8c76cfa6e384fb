"""Pipeline, people and notifier change notices at the same time, in a database that lets them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, select

from citywise.backend.notices import answers, book
from citywise.backend.notices.announcing import begin
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import Base, OutboxRow
from tests.api.templates import change, install, jam_ahead
from tests.api.town import Town, soon
from tests.notices.booked import MINUTE, NOON_MS, alerts, announced, apply, due, row, wish

pytestmark = pytest.mark.slow


@pytest.fixture
def shared(postgresql_url: str) -> Iterator[Engine]:
    """A database in which transactions run at the same time."""
    engine = create_engine_for(postgresql_url)
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    town = Town(engine)
    town.running()
    install(town, jam_ahead())
    town.road("100", "Viborgvej")
    town.event("jam-1", "100", "2014-08-05T11:30:00Z")
    yield engine
    engine.dispose()


def test_what_a_user_answers_while_the_pipeline_commits_is_not_overwritten(
    shared: Engine,
) -> None:
    apply(shared, change("opened"))
    notice = row(shared)["id"]
    reading = threading.Event()

    def commit() -> None:
        with shared.begin() as connection:
            begin(connection)
            reading.set()
            time.sleep(0.3)
            book.apply(connection, [change("updated", NOON_MS + 1, criticality=2)])

    def snooze() -> None:
        reading.wait(120)
        with shared.begin() as connection:
            begin(connection)
            answers.snooze(connection, notice, NOON_MS + MINUTE, NOON_MS)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(commit), pool.submit(snooze)]:
            done.result(120)
    after = row(shared)
    assert (after["criticality"], after["snoozed_until_ms"]) == (2, NOON_MS + MINUTE)
    assert after["due_ms"] == NOON_MS + MINUTE
    with ThreadPoolExecutor(3) as pool:
        counts = list(pool.map(lambda _: due(shared, NOON_MS + MINUTE), range(3)))
    assert sum(counts) == 1
    assert alerts(shared) == ["opened 3", "reminded 2"]


def test_announcements_are_seen_in_the_order_of_their_ids(shared: Engine) -> None:
    """Else who follows the outbox would miss what is committed after something younger."""
    seen: list[int] = []
    stop = threading.Event()

    def follow() -> None:
        while not stop.is_set():
            query = select(OutboxRow.id).where(OutboxRow.id > (seen[-1] if seen else 0))
            with shared.connect() as connection:
                seen.extend(connection.scalars(query.order_by(OutboxRow.id)))

    def write(writer: int) -> None:
        for number in range(15):
            with shared.begin() as connection:
                begin(connection)
                about, user = f"jam-{writer}-{number}", f"user{writer}"
                opened = change("opened", about=about, user=user, instance=f"{user}.x")
                book.apply(connection, [opened])
                time.sleep(0.002 * writer)

    follower = threading.Thread(target=follow)
    follower.start()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    soon(lambda: len(seen) >= 60)
    stop.set()
    follower.join()
    assert len(seen) == len(announced(shared)) == 60


def test_wishes_hold_back_as_they_do_elsewhere(shared: Engine) -> None:
    wish(shared, cool_down_s=600, quiet=[{"from": "13:30", "until": "14:30"}])
    apply(shared, change("opened"), change("opened", about="jam-2"))
    assert [one["held_because"] for one in announced(shared)] == ["quiet-hours"] * 2
    assert due(shared, NOON_MS + 30 * MINUTE) == 2
    apply(shared, change("opened", NOON_MS + 31 * MINUTE, about="jam-3"))
    assert announced(shared)[-1]["held_because"] == "cool-down"
