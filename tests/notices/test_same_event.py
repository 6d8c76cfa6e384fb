"""One notice for each event and person, whichever of their alerts it came from."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine, select

from citywise.backend.notices import advising, answers
from citywise.backend.notices.announcing import begin
from citywise.backend.store.models import NoticeRow
from tests.api.templates import Change, change
from tests.notices.booked import MINUTE, NOON_MS, alerts, apply, due, wish

pytestmark = pytest.mark.usefixtures("city")
FIRST, SECOND = "alice.jam_ahead", "alice.trip"


def of(instance: str, kind: str = "opened", minutes: int = 0, **more: Any) -> Change:
    return change(kind, NOON_MS + minutes * MINUTE, instance=instance, **more)


def held(engine: Engine) -> dict[str, str | None]:
    """Why the open notices are held back, by their instances."""
    with engine.connect() as connection:
        row = NoticeRow
        query = select(row.instance, row.held_because).where(row.closed_ms.is_(None))
        return {one.instance: one.held_because for one in connection.execute(query)}


@pytest.fixture
def twice(engine: Engine) -> Engine:
    """A jam of which two of Alice's alerts know."""
    apply(engine, of(FIRST), of(SECOND))
    return engine


def test_the_second_alert_of_an_event_is_held_back(twice: Engine) -> None:
    assert alerts(twice) == ["opened 3"]
    assert held(twice) == {FIRST: None, SECOND: "same-event"}


def test_others_and_other_events_are_told(twice: Engine) -> None:
    apply(twice, of("bob.jam", user="bob"), of(SECOND, about="jam-2"))
    assert len(alerts(twice)) == 3


def test_when_the_first_is_over_the_second_takes_its_place_silently(twice: Engine) -> None:
    with twice.begin() as connection:
        begin(connection)
        notice = connection.scalar(select(NoticeRow.id).where(NoticeRow.instance == FIRST))
        assert notice is not None
        answers.acknowledge(connection, notice, NOON_MS)
    apply(twice, of(FIRST, "closed", 1))
    assert held(twice) == {SECOND: None}
    with twice.connect() as connection:
        query = select(NoticeRow.acknowledged_ms).where(NoticeRow.instance == SECOND)
        assert connection.scalar(query) == NOON_MS
    apply(twice, of(SECOND, "updated", 2, details={"metres": 5}))
    assert alerts(twice) == ["opened 3"]


def test_both_may_be_over_at_once(twice: Engine) -> None:
    apply(twice, of(FIRST, "closed", 1), of(SECOND, "closed", 1))
    assert (held(twice), alerts(twice)) == ({}, ["opened 3"])


def test_one_that_is_more_critical_alerts_and_stands_for_both(twice: Engine) -> None:
    apply(twice, of(SECOND, "updated", 1, criticality=5))
    assert alerts(twice) == ["opened 3", "updated 5"]
    assert held(twice) == {FIRST: "same-event", SECOND: None}
    apply(twice, of(FIRST, "updated", 2, criticality=4))
    assert len(alerts(twice)) == 2


def test_after_quiet_hours_an_event_is_told_once(engine: Engine) -> None:
    wish(engine, quiet=[{"from": "13:30", "until": "14:30"}])
    apply(engine, of(FIRST), of(SECOND))
    assert due(engine, NOON_MS + 30 * MINUTE) == 2
    assert alerts(engine) == ["reminded 3"]
    assert sorted(held(engine).values(), key=str) == [None, "same-event"]


def test_what_is_muted_does_not_keep_another_alert_from_telling(engine: Engine) -> None:
    wish(engine, muted=[{"app": "jam_watch", "notice": "jam_ahead"}])
    apply(engine, of(FIRST), of(SECOND, notice="other"))
    assert held(engine) == {FIRST: "muted", SECOND: None}


def test_the_one_with_advice_comes_to_the_front(twice: Engine) -> None:
    with twice.begin() as connection:
        begin(connection)
        notice = connection.scalar(select(NoticeRow.id).where(NoticeRow.instance == SECOND))
        assert notice is not None
        advice = {"text": "Turn left", "url": "/plan"}
        assert advising.advise(connection, notice, advice, NOON_MS + MINUTE)
    assert held(twice) == {FIRST: "same-event", SECOND: None}
    assert alerts(twice) == ["opened 3", "updated 3"]
