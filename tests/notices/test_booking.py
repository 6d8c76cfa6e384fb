"""What the book decides in the transaction of a change, and what comes later."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine, delete, select, update

from citywise.backend.notices import book
from citywise.backend.notices.announcing import begin
from citywise.backend.people import accounts
from citywise.backend.store.models import AccountRow, NoticeRow, OutboxRow
from tests.api.browsers import PASSWORD, quick_passwords
from tests.api.templates import change
from tests.notices.booked import MINUTE, NOON_MS, alerts, announced, apply, due, row, wish

pytestmark = pytest.mark.usefixtures("city")
QUIET: dict[str, Any] = {"quiet": [{"from": "13:30", "until": "14:30", "except_from": 5}]}
"""In the city it is 14:00 at noon UTC."""


def later(minutes: int, kind: str = "updated", **more: Any) -> Any:
    return change(kind, NOON_MS + minutes * MINUTE, **more)


def test_without_wishes_a_notice_alerts_when_it_opens_and_when_it_gets_worse(
    engine: Engine,
) -> None:
    apply(
        engine,
        change("opened"),
        later(1, details={"metres": 1}),
        later(2, criticality=5),
        later(3, criticality=2),
        later(4, criticality=4),
        later(5, "closed"),
    )
    assert alerts(engine) == ["opened 3", "updated 5"]
    assert len(announced(engine)) == 6
    with engine.connect() as connection:
        assert set(connection.scalars(select(OutboxRow.user))) == {"alice"}


def test_what_is_held_back_says_why_and_when_it_comes(engine: Engine) -> None:
    wish(engine, **QUIET)
    apply(engine, change("opened"))
    (body,) = announced(engine)
    assert (body["alert"], body["held_because"], body["due"]) == (
        False,
        "quiet-hours",
        "2014-08-05T12:30:00Z",
    )
    assert body["alerted"] is None


def test_what_was_held_back_comes_once_when_it_is_due(engine: Engine) -> None:
    wish(engine, **QUIET)
    apply(engine, change("opened"))
    assert due(engine, NOON_MS + 30 * MINUTE - 1) == 0
    assert [due(engine, NOON_MS + 30 * MINUTE) for _ in range(3)] == [1, 0, 0]
    assert alerts(engine) == ["reminded 3"]
    assert row(engine)["alerted_ms"] == NOON_MS + 30 * MINUTE
    apply(engine, later(31))
    assert alerts(engine) == ["reminded 3"]


def test_what_has_ended_meanwhile_does_not_come(engine: Engine) -> None:
    wish(engine, **QUIET)
    apply(engine, change("opened"), later(1, "closed"))
    assert due(engine, NOON_MS + 90 * MINUTE) == 0
    assert alerts(engine) == []
    assert announced(engine)[-1]["held_because"] is None


def test_what_runs_no_more_is_not_due_and_its_end_is_told(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book, "_ENDED_AT_ONCE", 1)
    wish(engine, **QUIET)
    apply(engine, change("opened"), change("opened", about="jam-2", user="bob"))
    running = [f"{one['app']}/{one['template']}@{one['version']}" for one in announced(engine)]
    for still_running in (running, [], []):
        with engine.begin() as connection:
            begin(connection)
            book.end_others(connection, still_running)
    assert row(engine)["due_ms"] is None
    assert due(engine, NOON_MS + 90 * MINUTE) == 0
    told = [(one["user"], one["change"], one["alert"]) for one in announced(engine)[2:]]
    assert sorted(told) == [("alice", "closed", False), ("bob", "closed", False)]
    assert {one["closed"] for one in announced(engine)[2:]} == {"2014-08-05T12:00:00Z"}
    assert announced(engine)[-1]["closed_because"] == "removed"


def test_a_cool_down_counts_for_one_kind_and_one_user_and_across_batches(engine: Engine) -> None:
    wish(engine, cool_down_s=600)
    apply(engine, change("opened"))
    apply(
        engine,
        later(5, "opened", about="jam-2"),
        later(5, "opened", about="jam-3", notice="other"),
        later(5, "opened", about="jam-4", user="bob", instance="bob.jam_ahead"),
    )
    told = {body["about"]["id"]: body["alert"] for body in announced(engine)}
    assert told == {"jam-1": True, "jam-2": False, "jam-3": True, "jam-4": True}
    assert row(engine, "jam-2")["due_ms"] == NOON_MS + 10 * MINUTE
    assert due(engine, NOON_MS + 10 * MINUTE) == 1
    assert alerts(engine)[-1] == "reminded 3"


def test_of_two_that_open_at_once_the_second_waits_for_the_cool_down(engine: Engine) -> None:
    wish(engine, cool_down_s=600)
    apply(engine, change("opened"), change("opened", about="jam-2"))
    assert [body["held_because"] for body in announced(engine)] == [None, "cool-down"]


def test_wishes_that_cannot_be_read_hold_nothing_back(engine: Engine) -> None:
    wish(engine, threshold="high")
    apply(engine, change("opened"))
    assert alerts(engine) == ["opened 3"]


def test_who_is_forgotten_is_told_nothing_and_nothing_is_kept(engine: Engine) -> None:
    with quick_passwords(), engine.begin() as connection:
        known = accounts.create(connection, "Alice", PASSWORD).id
        gone = accounts.create(connection, "Bob", PASSWORD).id
        connection.execute(delete(AccountRow).where(AccountRow.id == gone))
    changes = [change("opened", user=user, instance=f"{user}.x") for user in (known, gone, "carol")]
    assert apply(engine, *changes) == 2
    with engine.connect() as connection:
        assert set(connection.scalars(select(NoticeRow.user))) == {known, "carol"}
        assert set(connection.scalars(select(OutboxRow.user))) == {known, "carol"}


def test_a_batch_only_for_who_is_forgotten_changes_nothing(engine: Engine) -> None:
    assert apply(engine, change("opened", user="u-" + "a" * 20)) == 0
    assert announced(engine) == []


def test_reminders_of_one_moment_come_together_in_spite_of_a_cool_down(engine: Engine) -> None:
    wish(engine, cool_down_s=600, **QUIET)
    apply(engine, change("opened"), change("opened", about="jam-2"))
    assert due(engine, NOON_MS + 30 * MINUTE) == 2
    assert alerts(engine) == ["reminded 3", "reminded 3"]


def test_what_was_acknowledged_is_not_reminded_of(engine: Engine) -> None:
    wish(engine, **QUIET)
    apply(engine, change("opened"))
    with engine.begin() as connection:
        connection.execute(update(NoticeRow).values(acknowledged_ms=NOON_MS))
    assert due(engine, NOON_MS + 90 * MINUTE) == 0
