"""People share with a meeting that is before them, and not with one that is days away."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Engine

from citywise.apps.meeting_mgr import store
from citywise.apps.meeting_mgr.model import Placed, Proposal, Proposed
from citywise.apps.meeting_mgr.process.live import Live
from citywise.apps.meeting_mgr.record import MeetingError
from citywise.apps.meeting_mgr.steps import answering, consent
from citywise.apps.meeting_mgr.steps.sharing import EARLIEST_MS, unasked
from citywise.backend.settings import Settings
from citywise.backend.store.outbox import begin
from citywise.backend.times import iso, wall_ms
from tests.meeting_mgr.hosted import Json, host, join, make, me, of, stored
from tests.meeting_mgr.kept import payload
from tests.meeting_mgr.made import NOW_MS, person, record

EARLY_MS = NOW_MS - EARLIEST_MS
NOISE = {"sensors": ["noise"]}
DAY_MS = 86_400_000


def test_sharing_begins_half_an_hour_before_the_planned_start() -> None:
    with pytest.raises(MeetingError, match=r"from 2026-05-04T08:30:00Z on") as error:
        consent.share(record(), person(), ("noise",), EARLY_MS - 1)
    assert error.value.code == "too-early"
    for state, now_ms in (("planned", EARLY_MS), ("running", EARLY_MS - 1)):
        found = record(state)  # type: ignore[arg-type]
        assert consent.share(found, person(), ("noise",), now_ms).people[0].sharing
    assert not consent.share(record(), person(), (), EARLY_MS - 1).people[0].sharing


def test_people_are_asked_anew_where_the_meeting_is_put_far_ahead() -> None:
    later = record(starts_ms=NOW_MS + EARLIEST_MS + 1, ends_ms=NOW_MS + DAY_MS)
    assert unasked(record(), later, person(sharing=("noise",))) == {"noise": "over"}
    soon = record(starts_ms=NOW_MS + EARLIEST_MS, ends_ms=NOW_MS + DAY_MS)
    assert not unasked(record(), soon, person(sharing=("noise",)))


def test_readings_long_before_a_meeting_are_not_listened_to() -> None:
    bob = person(sharing=("noise",))
    live = Live(record(), [bob], EARLY_MS - 2000)
    assert not live.hear(bob.id, payload(EARLY_MS - 1, noise_db=50.0), EARLY_MS - 1)
    assert live.hear(bob.id, payload(EARLY_MS, noise_db=50.0), EARLY_MS)


def shared(browser: Any, meeting: Json) -> list[str]:
    found: list[str] = browser.get(me(meeting)).json["me"]["sharing"]
    return found


def test_who_shares_is_asked_anew_when_the_host_accepts_another_time(
    app: Flask, engine: Engine, settings: Settings
) -> None:
    alice = host(app)
    meeting = make(alice)
    bob = join(app, meeting)
    alice.post(f"{of(meeting)}/actions", {"do": "start"})
    assert bob.put(f"{me(meeting)}/sharing", NOISE).status_code == 200
    starts_ms = wall_ms() + DAY_MS
    placed = [Placed(item=name, starts_ms=starts_ms, minutes=25) for name in ("i1", "i2")]
    elsewhen = Proposal(
        number=1,
        at_ms=wall_ms(),
        kind="reschedule",
        causes=(),
        options=(Proposed(agenda=tuple(placed), starts_ms=starts_ms, cost=(0,)),),
    )
    with engine.begin() as connection:
        begin(connection)
        found, _bob = stored(connection, settings, meeting, bob.user)
        step = answering.propose(found, elsewhen, wall_ms())
        store.write(connection, store.boxes_of(settings), step)
    answer = alice.post(f"{of(meeting)}/proposals/1", {"answer": "accept"})
    assert (answer.json["state"], shared(bob, meeting)) == ("planned", [])
    refused = bob.put(f"{me(meeting)}/sharing", NOISE)
    assert (refused.status_code, refused.json["type"]) == (409, "urn:citywise:problem:too-early")


def test_who_shares_is_asked_anew_when_the_host_puts_the_meeting_to_another_day(
    app: Flask,
) -> None:
    alice = host(app)
    meeting = make(alice)
    bob = join(app, meeting)
    bob.put(f"{me(meeting)}/sharing", NOISE)
    starts_ms = wall_ms() + DAY_MS
    times = {"starts": iso(starts_ms), "ends": iso(starts_ms + 3_600_000)}
    assert alice.patch(of(meeting), {"version": meeting["version"], **times}).status_code == 200
    assert shared(bob, meeting) == []
