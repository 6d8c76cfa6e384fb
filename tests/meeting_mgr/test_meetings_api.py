"""Hosts make, change and run their meetings over HTTP; nobody else does."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from flask import Flask
from limits import RateLimitItemPerHour
from sqlalchemy import Engine, select
from werkzeug.test import TestResponse

from citywise.apps.meeting_mgr.api import meetings as api_meetings
from citywise.apps.meeting_mgr.tables import MeetingPersonRow, MeetingRow
from citywise.backend.api import limits
from citywise.backend.privacy.boxes import Boxes
from citywise.backend.settings import Settings
from tests.api.browsers import Browser
from tests.api.test_openapi import assert_described, document_of
from tests.meeting_mgr.hosted import (
    BUSINESS,
    Json,
    conclude,
    host,
    join,
    me,
    of,
    people,
    show,
)


def act(browser: Browser, meeting: Json, do: str, **more: Any) -> TestResponse:
    return browser.post(f"{of(meeting)}/actions", {"do": do, **more})


def code(answer: TestResponse) -> tuple[int, str]:
    return answer.status_code, answer.json["type"].rpartition(":")[2]


def test_a_meeting_is_made_as_it_was_written(alice: Browser, meeting: Json) -> None:
    assert (meeting["state"], meeting["host"]) == ("planned", True)
    assert meeting["title"] == BUSINESS["title"]
    assert (meeting["starts"], meeting["ends"]) == (BUSINESS["starts"], BUSINESS["ends"])
    assert [item["id"] for item in meeting["agenda"]] == ["i1", "i2"]
    assert meeting["rules"]["thresholds"]["noise"]["upper"] == 80
    assert meeting["join"]["url"].startswith("http://localhost/meet/")
    (brief,) = alice.get("/meetings").json["meetings"]
    assert (brief["id"], brief["title"]) == (meeting["id"], "Business Meeting")


def test_what_a_meeting_is_about_is_sealed(meeting: Json, engine: Engine, app: Flask) -> None:
    join(app, meeting, "Bob Simmons")
    with engine.connect() as connection:
        rows = [
            dict(row)
            for table in (MeetingRow.__table__, MeetingPersonRow.__table__)
            for row in connection.execute(select(table)).mappings()
        ]
    # Each has a character that sealed text never has.
    for word in ("Business Meeting", "Alice Maud", "alice@", "Bob Simmons"):
        assert word not in str(rows)


def test_all_that_is_wrong_with_a_meeting_is_said_at_once(alice: Browser) -> None:
    faulty = {
        "title": "",
        "room": {"name": "B", "lat": 99},
        "starts": "tomorrow",
        "agenda": [{"title": "x", "minutes": 0}, {"title": "y", "minutes": 1, "state": "done"}],
        "attendees": [{"name": "A", "busy": [{"from": "now", "until": "2026-05-04T09:00:00Z"}]}],
    }
    answer = alice.post("/meetings", faulty)
    assert code(answer) == (422, "invalid")
    assert {error["path"] for error in answer.json["errors"]} == {
        "title",
        "room.lat",
        "starts",
        "ends",
        "agenda.0.minutes",
        "agenda.1.state",
        "attendees.0.busy.0.from",
    }


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"ends": "2026-05-04T08:00:00Z"}, "ends"),
        ({"agenda": [{"title": "x", "minutes": 5, "speaker": "a9"}]}, "agenda.0.speaker"),
    ],
)
def test_what_cannot_be_is_refused_with_where_it_stands(
    alice: Browser, changed: Json, path: str
) -> None:
    answer = alice.post("/meetings", {**BUSINESS, **changed})
    assert code(answer) == (422, "invalid")
    assert [error["path"] for error in answer.json["errors"]] == [path]


def test_nobody_is_told_at_an_address_that_the_operator_does_not_allow(
    alice: Browser, meeting: Json
) -> None:
    hook = {"url": "http://169.254.169.254/", "secret": "s" * 16}
    made = alice.post("/meetings", {**BUSINESS, "hook": hook})
    changed = alice.patch(of(meeting), {"version": meeting["version"], "hook": hook})
    for answer in (made, changed):
        assert code(answer) == (422, "invalid")
        assert [error["path"] for error in answer.json["errors"]] == ["hook.url"]


def test_a_host_has_not_more_meetings_than_can_be_shown(
    alice: Browser, meeting: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_meetings, "MOST_MEETINGS", 1)
    assert code(alice.post("/meetings", BUSINESS)) == (409, "too-many-meetings")


def test_a_new_meeting_opens_none_of_the_others(
    alice: Browser, meeting: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All who write wait for it meanwhile."""
    opened = boxes_opened(monkeypatch)
    many = [len(opened)]
    for _ in range(3):
        assert alice.post("/meetings", BUSINESS).status_code == 201
        many.append(len(opened))
    assert len({after - before for before, after in pairwise(many)}) == 1


def test_a_list_of_meetings_opens_one_box_of_each(
    alice: Browser, meeting: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = boxes_opened(monkeypatch)
    assert len(alice.get("/meetings").json["meetings"]) == len(opened) == 1


def boxes_opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The boxes that are opened from now on."""
    opened: list[str] = []
    usual = Boxes.open

    def noted(own: Boxes, boxes: Sequence[str]) -> list[bytes | None]:
        opened.extend(boxes)
        return usual(own, boxes)

    monkeypatch.setattr(Boxes, "open", noted)
    return opened


def test_what_is_left_out_of_a_change_stays(alice: Browser, meeting: Json) -> None:
    busy = [{"from": "2026-05-04T09:00:00Z", "until": "2026-05-04T09:30:00Z"}]
    attendees = [dict(each, busy=busy) for each in BUSINESS["attendees"]]
    before = alice.patch(of(meeting), {"version": meeting["version"], "attendees": attendees}).json
    rules = {"thresholds": {"noise": {"upper": 70}}, "dwell_s": 20}
    answer = alice.patch(
        of(meeting),
        {"version": before["version"], "rules": rules, "attendees": BUSINESS["attendees"][:2]},
    )
    assert answer.status_code == 200, answer.json
    after = answer.json
    assert after["rules"]["thresholds"]["noise"]["upper"] == 70
    assert after["rules"]["thresholds"]["light"] == before["rules"]["thresholds"]["light"]
    assert after["rules"]["silent_s"] == before["rules"]["silent_s"]
    assert after["attendees"] == before["attendees"][:2]
    assert after["attendees"][0]["busy"] == busy
    assert after["title"] == "Business Meeting"


def test_a_change_of_what_was_read_too_long_ago_is_refused(alice: Browser, meeting: Json) -> None:
    first = {"version": meeting["version"], "title": "First"}
    assert alice.patch(of(meeting), first).status_code == 200
    second = alice.patch(of(meeting), {**first, "title": "Second"})
    assert code(second) == (409, "stale")
    assert show(alice, meeting)["title"] == "First"


def test_a_meeting_runs_from_item_to_item(alice: Browser, meeting: Json) -> None:
    assert code(act(alice, meeting, "next"))[0] == 409
    running = act(alice, meeting, "start").json
    assert (running["state"], running["current"]["item"]) == ("running", "i1")
    assert act(alice, meeting, "extend", minutes=5).json["agenda"][0]["minutes"] == 35
    assert act(alice, meeting, "next").json["current"]["item"] == "i2"
    assert act(alice, meeting, "go_to", item="i1").json["current"]["item"] == "i1"
    assert act(alice, meeting, "end").json["state"] == "ended"


@pytest.mark.parametrize("do", ["go_to", "extend", "mute", "hand_over", "remove", "dance"])
def test_an_action_says_what_it_needs(alice: Browser, meeting: Json, do: str) -> None:
    assert code(act(alice, meeting, do)) == (422, "invalid")


def test_a_meeting_is_cancelled_and_restored(alice: Browser, meeting: Json) -> None:
    cancelled = alice.delete(of(meeting)).json
    assert cancelled["state"] == "cancelled"
    body = {"version": cancelled["version"], "state": "planned"}
    assert alice.patch(of(meeting), body).json["state"] == "planned"


def test_a_meeting_that_runs_is_not_removed(alice: Browser, meeting: Json) -> None:
    act(alice, meeting, "start")
    assert code(alice.delete(f"{of(meeting)}?forever=true")) == (409, "running")
    act(alice, meeting, "end")
    assert alice.delete(f"{of(meeting)}?forever=true").status_code == 204
    assert alice.get(of(meeting)).status_code == 404
    assert alice.get("/meetings").json["meetings"] == []


def test_the_meetings_that_an_account_is_in_are_listed_until_it_leaves(
    app: Flask, alice: Browser, meeting: Json
) -> None:
    carol = host(app, "Carol")
    told = {"key": meeting["join"]["key"], "name": "Carol"}
    assert carol.post(people(meeting), told).status_code == 201
    answer = carol.get("/meetings")
    assert_described(document_of(app), "/api/v1/meetings", "get", answer)
    assert answer.json["meetings"] == []
    (joined,) = answer.json["joined"]
    assert (joined["id"], joined["title"]) == (meeting["id"], "Business Meeting")
    assert alice.get("/meetings").json["joined"] == []
    carol.delete(me(meeting))
    assert carol.get("/meetings").json["joined"] == []


def test_a_host_asks_and_says_what_somebody_can_do(
    app: Flask, alice: Browser, meeting: Json
) -> None:
    bob = join(app, meeting, attendee="a2")
    asked = act(alice, meeting, "ask_to_speak", person=bob.user).json
    assert asked["people"][0]["asked"]["what"] == "speak"
    said = alice.put(f"{people(meeting)}/{bob.user}/overrides", {"speak": "off"}).json
    assert said["people"][0]["overrides"] == {"speak": "off"}
    assert bob.get(me(meeting)).json["me"]["asked"]["what"] == "speak"
    act(alice, meeting, "ask_to_present", person=bob.user)
    assert bob.get(me(meeting)).json["me"]["asked"]["what"] == "present"
    assert bob.put(me(meeting), {"presents": True}).json["me"]["asked"] is None
    assert show(alice, meeting)["people"][0]["presents"] is True
    taken = alice.put(f"{people(meeting)}/{bob.user}/overrides", {"speak": None}).json
    assert taken["people"][0]["overrides"] == {}


@pytest.mark.parametrize("over", ["end", "cancel"])
def test_what_was_asked_is_over_with_the_meeting(
    alice: Browser, bob: Browser, meeting: Json, over: str
) -> None:
    if over == "end":
        act(alice, meeting, "start")
    bob.put(me(meeting), {"hand": True})
    bob.put(me(meeting), {"presents": True})
    act(alice, meeting, "ask_to_present", person=bob.user)
    assert asked(show(alice, meeting)) == (True, True, True)
    if over == "end":
        act(alice, meeting, "end")
    else:
        alice.delete(of(meeting))
    assert asked(show(alice, meeting)) == (False, False, False)


def asked(seen: Json) -> tuple[bool, bool, bool]:
    """Whether the one who is there has a raised hand, shows the screen, and is asked for
    something."""
    [bob] = seen["people"]
    return bob["hand"], bob["presents"], bob["asked"] is not None


def test_what_cannot_be_seen_is_refused_in_words(alice: Browser) -> None:
    answer = alice.post("/meetings", {**BUSINESS, "title": "a\u202eb", "attendees": [
        {"name": "A", "email": "a?bcc=x@y.dk"}]})  # fmt: skip
    messages = {error["path"]: error["message"] for error in answer.json["errors"]}
    assert messages == {
        "title": "found 'a\\u202eb', expected one line of text that can be seen",
        "attendees.0.email": "found 'a?bcc=x@y.dk', expected an address such as ann@example.org",
    }


def test_next_pressed_twice_goes_on_once(alice: Browser, meeting: Json) -> None:
    act(alice, meeting, "start")
    assert act(alice, meeting, "next", item="i1").json["current"]["item"] == "i2"
    assert code(act(alice, meeting, "next", item="i1")) == (409, "stale")
    assert show(alice, meeting)["current"]["item"] == "i2"


def test_who_is_put_out_is_nobody_any_more(app: Flask, alice: Browser, meeting: Json) -> None:
    bob = join(app, meeting)
    assert act(alice, meeting, "remove", person=bob.user).status_code == 200
    assert bob.get(me(meeting)).status_code == 404
    assert code(act(alice, meeting, "remove", person=bob.user)) == (404, "not-found")


def test_a_new_link_makes_the_old_one_lead_nowhere(
    app: Flask, alice: Browser, meeting: Json
) -> None:
    bob = join(app, meeting)
    new = act(alice, meeting, "new_link").json["join"]["key"]
    old = meeting["join"]["key"]
    assert new != old
    assert alice.get(f"{of(meeting)}/join?key={old}").status_code == 404
    assert alice.get(f"{of(meeting)}/join?key={new}").status_code == 200
    assert bob.get(me(meeting)).status_code == 200


def test_a_proposal_that_there_is_not_is_not_answered(alice: Browser, meeting: Json) -> None:
    answer = alice.post(f"{of(meeting)}/proposals/7", {"answer": "accept"})
    assert code(answer) == (409, "unknown-proposal")


def test_decisions_are_noted(alice: Browser, meeting: Json) -> None:
    told = {"text": "We buy it.\nToday.", "item": "i2"}
    (decision,) = alice.post(f"{of(meeting)}/decisions", told).json["decisions"]
    assert (decision["text"], decision["item"]) == (told["text"], "i2")


def test_another_account_has_no_such_meeting(app: Flask, meeting: Json) -> None:
    bert = host(app, "Bert")
    for path in (of(meeting), f"{of(meeting)}/events"):
        assert bert.get(path).status_code == 404
    assert bert.get("/meetings").json["meetings"] == []
    assert Browser.of(app).get(of(meeting)).status_code == 401


def test_answers_have_the_shape_that_is_described(
    app: Flask, alice: Browser, meeting: Json
) -> None:
    document, path = document_of(app), "/api/v1/meetings/{meeting_id}"
    bob = join(app, meeting, attendee="a2")
    act(alice, meeting, "start")
    assert_described(document, "/api/v1/meetings", "get", alice.get("/meetings"))
    assert_described(document, path, "get", alice.get(of(meeting)))
    assert_described(document, f"{path}/people/me", "get", bob.get(me(meeting)))
    link = bob.get(f"{of(meeting)}/join?key={meeting['join']['key']}")
    assert_described(document, f"{path}/join", "get", link)


# --- What people shared it for -------------------------------------------------------------------


def shared(browser: Browser, meeting: Json) -> list[str]:
    found: list[str] = browser.get(me(meeting)).json["me"]["sharing"]
    return found


def test_who_takes_part_shares_nothing_with_a_meeting_that_has_ended_and_is_started_again(
    app: Flask, alice: Browser, meeting: Json, engine: Engine, settings: Settings
) -> None:
    bob = join(app, meeting)
    bob.put(f"{me(meeting)}/sharing", {"sensors": ["noise"]})
    act(alice, meeting, "start")
    conclude(engine, settings, meeting, bob.user)
    (seen,) = act(alice, meeting, "end").json["people"]
    assert {one["state"] for one in seen["abilities"].values()} == {"unknown"}
    assert shared(bob, meeting) == []
    reading = {"at": "2026-05-04T09:03:00Z", "values": {"noise_db": 85.5}}
    for answer in (
        bob.put(f"{me(meeting)}/sharing", {"sensors": ["noise"]}),
        bob.post(f"{me(meeting)}/readings", reading),
        bob.post(f"{me(meeting)}/mqtt", {}),
    ):
        assert code(answer) == (409, "over")
    assert bob.put(f"{me(meeting)}/sharing", {"sensors": []}).status_code == 200
    act(alice, meeting, "start")
    assert shared(bob, meeting) == []


def test_who_takes_part_shares_nothing_with_a_meeting_that_is_cancelled(
    app: Flask, alice: Browser, meeting: Json
) -> None:
    bob = join(app, meeting)
    bob.put(f"{me(meeting)}/sharing", {"sensors": ["noise"]})
    alice.delete(of(meeting))
    assert shared(bob, meeting) == []


def test_a_room_that_moves_is_told_no_longer_how_far_away_people_are(
    app: Flask, alice: Browser, meeting: Json
) -> None:
    bob = join(app, meeting)
    bob.put(f"{me(meeting)}/sharing", {"sensors": ["noise", "distance"]})
    near, far = ({**BUSINESS["room"], "lat": lat} for lat in (56.1555, 56.1655))
    moved = alice.patch(of(meeting), {"version": meeting["version"], "room": near}).json
    assert shared(bob, meeting) == ["noise", "distance"]
    assert alice.patch(of(meeting), {"version": moved["version"], "room": far}).status_code == 200
    assert shared(bob, meeting) == ["noise"]


@pytest.mark.parametrize(
    "threshold", [{"upper": 1e308}, {"lower": -1e308}, {"upper": 80, "hysteresis": 1e308}]
)
def test_a_bound_that_nothing_can_be_compared_with_is_refused(
    alice: Browser, meeting: Json, threshold: Json
) -> None:
    rules = {"thresholds": {"noise": threshold}}
    answer = alice.patch(of(meeting), {"version": meeting["version"], "rules": rules})
    assert answer.status_code == 422
    assert "1000000000" in answer.json["detail"]


def test_bounds_are_not_moved_again_and_again_while_people_are_there(
    app: Flask, alice: Browser, meeting: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(app.extensions[limits._OF_APPS], "bounds", RateLimitItemPerHour(1))

    def bound(upper: float) -> TestResponse:
        rules = {"thresholds": {"noise": {"upper": upper}}}
        version = show(alice, meeting)["version"]
        return alice.patch(of(meeting), {"version": version, "rules": rules})

    assert [bound(upper).status_code for upper in (70, 71, 72)] == [200] * 3
    bob = join(app, meeting)
    assert [bound(upper).status_code for upper in (73, 73)] == [200] * 2
    assert "bounds" in bound(74).json["detail"]
    assert alice.patch(of(meeting), {"version": 6, "rules": {"dwell_s": 3}}).status_code == 200
    bob.delete(me(meeting))
    assert bound(75).status_code == 200
