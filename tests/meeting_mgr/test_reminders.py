"""Reminders by e-mail: who chooses one gets one letter, at the time at which the meeting is."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Engine, select

from citywise.apps.meeting_mgr import exported, reminders, store
from citywise.apps.meeting_mgr.process.service import Service
from citywise.apps.meeting_mgr.tables import ReminderRow
from citywise.backend.mail import addresses, letters
from citywise.backend.settings import Settings
from citywise.backend.store.outbox import begin
from citywise.backend.times import iso, wall_ms
from tests.api.browsers import Browser
from tests.api.test_openapi import assert_described, document_of
from tests.mail.conftest import SITE, Post, text_of
from tests.mail.conftest import anna as anna
from tests.mail.conftest import box as box
from tests.mail.conftest import post as post
from tests.mail.conftest import settings as settings
from tests.meeting_mgr.hosted import Json, host, join, make, me, of

MINUTE_MS = 60_000
START_MS = wall_ms() // MINUTE_MS * MINUTE_MS + 600 * MINUTE_MS
"""From when this is imported: a whole run of tests may take an hour."""
Pass = Callable[[float], int]


@pytest.fixture
def soon(anna: Browser) -> Json:
    """A meeting that Anna hosts, which begins in hours."""
    return make(anna, starts=iso(START_MS), ends=iso(START_MS + 60 * MINUTE_MS))


@pytest.fixture
def wait(engine: Engine, settings: Settings) -> Pass:
    """What the meetings' process does so many minutes before the start; how many it reminds."""

    def step(minutes: float) -> int:
        with engine.begin() as connection:
            begin(connection)
            now_ms = START_MS - round(minutes * MINUTE_MS)
            return reminders.remind(connection, store.boxes_of(settings), now_ms)

    return step


def choose(browser: Browser, meeting: Json, **body: Any) -> Json:
    answer = browser.put(f"{of(meeting)}/reminder", body)
    assert answer.status_code == 200, answer.json
    return dict(answer.json or {})


def change(browser: Browser, meeting: Json, **body: Any) -> None:
    version = browser.get(of(meeting)).json["version"]
    assert browser.patch(of(meeting), {"version": version, **body}).status_code == 200


def move(browser: Browser, meeting: Json, minutes: int) -> None:
    """Put a meeting so many minutes later."""
    start_ms = START_MS + minutes * MINUTE_MS
    change(browser, meeting, starts=iso(start_ms), ends=iso(start_ms + 60 * MINUTE_MS))


def test_who_chooses_it_gets_one_letter_before_the_start(
    anna: Browser, soon: Json, post: Post, wait: Pass
) -> None:
    assert anna.get(f"{of(soon)}/reminder").json == {
        "minutes": None, "usual": 15, "available": True,
    }  # fmt: skip
    assert choose(anna, soon)["minutes"] == 15
    assert (wait(15.1), post.deliver()) == (0, [])
    assert wait(15) == 1
    (mail,) = post.deliver()
    assert mail["To"].addresses[0].addr_spec == "anna@example.org"
    assert re.fullmatch(r"Business Meeting at \d\d:\d\d CES?T", mail["Subject"])
    text = text_of(mail)
    assert "Room: Room B" in text
    assert f"{SITE}/meetings/{soon['id']}" in text
    assert (wait(10), post.deliver()) == (0, [])


def test_nothing_is_sent_twice_after_a_restart(
    anna: Browser, soon: Json, post: Post, wait: Pass
) -> None:
    """Neither by what has reminded, nor by what sends letters."""
    choose(anna, soon, minutes=30)
    assert wait(30) == 1
    assert len(post.letters()) == 1
    assert wait(29) == 0  # a process that starts again reads what is due
    post.postman = post.another()
    assert len(post.deliver()) == 1
    post.postman = post.another()
    assert post.deliver() == []
    change(anna, soon, title="Another name")
    choose(anna, soon, minutes=10)
    assert wait(5) == 0


def test_a_meeting_that_is_moved_reminds_at_its_new_time(
    anna: Browser, soon: Json, post: Post, wait: Pass
) -> None:
    choose(anna, soon)
    move(anna, soon, 60)
    assert wait(10) == 0
    assert wait(15 - 60) == 1
    assert len(post.deliver()) == 1
    move(anna, soon, 120)  # of that start they have heard nothing
    assert wait(15 - 120) == 1
    assert len(post.deliver()) == 1


def test_a_letter_that_waits_while_the_meeting_is_moved_or_cancelled_does_not_leave(
    anna: Browser, soon: Json, post: Post, wait: Pass
) -> None:
    choose(anna, soon)
    assert wait(15) == 1
    move(anna, soon, 60)
    assert post.deliver() == []
    assert wait(15 - 60) == 1
    assert anna.delete(of(soon)).status_code == 200
    assert post.deliver() == []
    assert post.letters() == []


def test_a_meeting_that_is_cancelled_or_has_begun_reminds_of_nothing(
    anna: Browser, soon: Json, wait: Pass
) -> None:
    choose(anna, soon)
    assert anna.delete(of(soon)).status_code == 200
    assert wait(5) == 0
    change(anna, soon, state="planned")
    assert anna.post(f"{of(soon)}/actions", {"do": "start"}).status_code == 200
    assert wait(5) == 0
    past = make(anna, starts=iso(START_MS), ends=iso(START_MS + 60 * MINUTE_MS))
    choose(anna, past)
    assert wait(-1) == 0  # the system stood still until after the start


def test_what_was_due_while_the_system_stood_still_comes_late(
    anna: Browser, soon: Json, post: Post, wait: Pass
) -> None:
    choose(anna, soon)
    assert wait(2) == 1
    assert len(post.deliver()) == 1


def test_who_takes_part_is_reminded_with_the_link_in_their_language(
    app: Flask, engine: Engine, soon: Json, post: Post, wait: Pass
) -> None:
    bob = host(app, "Bob")
    with engine.begin() as connection:
        addresses.want(connection, bob.user, "bob@example.org", "da")
        secret = addresses.issue(connection, "verify", bob.user, "bob@example.org")
        addresses.verify(connection, secret)
    assert bob.get(f"{of(soon)}/reminder").status_code == 404
    assert bob.put(f"{of(soon)}/reminder", {}).status_code == 404
    key = {"key": soon["join"]["key"], "attendee": "a2"}
    assert bob.post(f"{of(soon)}/people", key).status_code == 201
    choose(bob, soon)
    assert wait(15) == 1
    (mail,) = post.deliver()
    assert mail["Content-Language"] == "da"
    assert f"{SITE}/meet/{soon['id']}?key=" in text_of(mail)
    assert bob.delete(me(soon)).status_code == 204
    assert bob.get(f"{of(soon)}/reminder").status_code == 404


def test_who_has_left_or_gives_it_up_gets_none(
    app: Flask, anna: Browser, soon: Json, wait: Pass
) -> None:
    bob = host(app, "Bob")
    key = {"key": soon["join"]["key"], "attendee": "a2"}
    assert bob.post(f"{of(soon)}/people", key).status_code == 201
    choose(bob, soon)
    assert bob.delete(me(soon)).status_code == 204
    choose(anna, soon)
    assert anna.delete(f"{of(soon)}/reminder").status_code == 204
    assert anna.get(f"{of(soon)}/reminder").json["minutes"] is None
    assert wait(5) == 0


def test_who_has_no_address_is_written_no_letter(
    app: Flask, soon: Json, post: Post, wait: Pass
) -> None:
    carl = host(app, "Carl")
    own = make(carl, starts=iso(START_MS), ends=iso(START_MS + MINUTE_MS))
    choose(carl, own)
    assert wait(15) == 1
    assert post.deliver() == []
    assert post.letters() == []


def test_only_who_is_logged_in_has_reminders(app: Flask, soon: Json) -> None:
    guest = join(app, soon)
    for answer in (
        guest.get(f"{of(soon)}/reminder"),
        guest.put(f"{of(soon)}/reminder", {}),
        guest.delete(f"{of(soon)}/reminder"),
    ):
        assert answer.status_code in (401, 403)


def test_the_answers_are_as_they_are_described(app: Flask, anna: Browser, soon: Json) -> None:
    document, path = document_of(app), "/api/v1/meetings/{meeting_id}/reminder"
    assert_described(document, path, "get", anna.get(f"{of(soon)}/reminder"))
    for minutes, status in ((30, 200), (0, 422), (10_081, 422)):
        answer = anna.put(f"{of(soon)}/reminder", {"minutes": minutes})
        assert answer.status_code == status
        assert_described(document, path, "put", answer)


def test_it_is_exported_and_goes_with_the_meeting(
    anna: Browser, soon: Json, engine: Engine, settings: Settings
) -> None:
    choose(anna, soon, minutes=30)
    with engine.connect() as connection:
        (told,) = exported.export(connection, settings, anna.user)
    assert told["reminder_minutes"] == 30
    assert anna.delete(of(soon)).status_code == 200
    assert anna.delete(f"{of(soon)}?forever=true").status_code == 204
    with engine.connect() as connection:
        assert connection.execute(select(ReminderRow.user)).all() == []


def test_the_process_reminds(
    anna: Browser, soon: Json, engine: Engine, settings: Settings, post: Post
) -> None:
    choose(anna, soon, minutes=601)  # it begins in 600: at once
    Service(settings, engine, threading.Event())._remind()
    assert len(post.deliver()) == 1
    with engine.connect() as connection:
        assert letters.waiting(connection) == 0
