"""People take part in meetings over HTTP with what the link gave their browser, and with
nothing else; what they tell is seen by nobody."""

from __future__ import annotations

import sqlite3
import time
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from flask import Flask
from limits import RateLimitItemPerMinute
from limits.storage import memory
from sqlalchemy import Engine, select
from sqlalchemy.exc import OperationalError

from citywise.apps.meeting_mgr import store
from citywise.apps.meeting_mgr.api import people as api_people
from citywise.apps.meeting_mgr.entries import AbilityChanged
from citywise.apps.meeting_mgr.tables import MeetingPersonRow
from citywise.backend import handing
from citywise.backend.api.limits import LIMITS
from citywise.backend.network import websocket
from citywise.backend.settings import Broker, Settings
from tests.api.browsers import Browser
from tests.databases import tables
from tests.meeting_mgr.hosted import Json, conclude, host, join, make, me, of, people, show

NOISY = {"at": "2026-05-04T09:03:00Z", "values": {"noise_db": 85.5}}
KEYS: tuple[tuple[str, str, Any], ...] = (
    ("GET", "", None),
    ("PUT", "", {"hand": True}),
    ("DELETE", "", None),
    ("PUT", "/sharing", {"sensors": ["noise"]}),
    ("POST", "/readings", NOISY),
    ("POST", "/mqtt", {}),
    ("GET", "/events", None),
)


@pytest.fixture
def forwarded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, Any]]:
    """What would go to the broker."""
    found: list[tuple[str, str, Any]] = []

    def send(_broker: Broker, topic: str, body: bytes, *_: object, **_more: object) -> None:
        meeting, person = topic.split("/")[-2:]
        found.append((meeting, person, orjson.loads(body)))

    monkeypatch.setattr(handing, "hand", send)
    return found


def test_the_link_shows_what_it_leads_to_and_no_addresses(app: Flask, meeting: Json) -> None:
    answer = Browser.of(app).get(f"{of(meeting)}/join?key={meeting['join']['key']}")
    assert answer.json["title"] == "Business Meeting"
    assert [each["name"] for each in answer.json["attendees"]][1] == "Bob Simmons"
    assert "@" not in answer.text


def test_joining_gives_the_browser_a_cookie_for_this_meeting_alone(
    app: Flask, meeting: Json
) -> None:
    browser = Browser.of(app)
    answer = browser.post(people(meeting), {"key": meeting["join"]["key"], "attendee": "a2"})
    assert (answer.status_code, answer.json["host"]) == (201, False)
    assert answer.json["me"]["name"] == "Bob Simmons"
    cookie = answer.headers["Set-Cookie"]
    assert f"Path=/api/v1{people(meeting)};" in f"{cookie};"
    for word in ("HttpOnly", "SameSite=Strict"):
        assert word in cookie
    assert browser.get(me(meeting)).json["me"]["id"] == answer.json["me"]["id"]


def test_over_https_the_cookie_stays_there(app: Flask, meeting: Json) -> None:
    answer = app.test_client().post(
        f"/api/v1{people(meeting)}",
        json={"key": meeting["join"]["key"], "name": "Bob"},
        base_url="https://localhost",
    )
    assert "Secure" in answer.headers["Set-Cookie"]


@pytest.mark.parametrize("key", ["x", "ø", "a" * 20])
def test_nobody_joins_without_the_key(app: Flask, meeting: Json, key: str) -> None:
    browser = Browser.of(app)
    answer = browser.post(people(meeting), {"key": key, "name": "Eve"})
    other = browser.post("/meetings/m-aaaaaaaaaaaaaaaaaaaa/people", {"key": key, "name": "Eve"})
    assert answer.status_code == other.status_code == 404
    assert answer.json["detail"].replace(meeting["id"], "") == other.json["detail"].replace(
        "m-aaaaaaaaaaaaaaaaaaaa", ""
    )


def test_a_logged_in_browser_proves_that_it_joins(
    app: Flask, meeting: Json, engine: Engine
) -> None:
    body = {"key": meeting["join"]["key"], "name": "Bert"}
    bert = host(app, "Bert")
    careless = Browser(bert.client, bert.address)
    assert careless.post(people(meeting), body).status_code == 403
    assert bert.post(people(meeting), body).status_code == 201
    with engine.connect() as connection:
        assert connection.scalars(select(MeetingPersonRow.user)).all() == [bert.user]


def test_what_somebody_says_is_seen_by_the_host(
    alice: Browser, bob: Browser, meeting: Json
) -> None:
    said = bob.put(me(meeting), {"hand": True, "surroundings": "public"})
    assert said.status_code == 200, said.json
    assert (said.json["me"]["hand"], said.json["me"]["says"]) == (True, "public")
    bob.put(me(meeting), {"muted": True})
    (person,) = show(alice, meeting)["people"]
    assert (person["hand"], person["muted"]) == (True, True)


def test_readings_are_handed_on_and_answered_with_nothing(
    bob: Browser, meeting: Json, forwarded: list[Any]
) -> None:
    answer = bob.post(f"{me(meeting)}/readings", NOISY)
    assert (answer.status_code, answer.json) == (202, {})
    assert forwarded == [(meeting["id"], bob.user, NOISY)]


def test_no_answer_and_no_table_holds_what_a_sensor_measured(
    alice: Browser, bob: Browser, meeting: Json, forwarded: list[Any], engine: Engine
) -> None:
    told = {"noise_db": 71.625, "lat": 56.171625, "lon": 10.171625, "light_lux": 171625.25}
    answer = bob.post(f"{me(meeting)}/readings", {**NOISY, "values": told})
    assert len(forwarded) == 1
    seen = [answer.text, str(show(alice, meeting)), bob.get(me(meeting)).text]
    with engine.connect() as connection:
        for table in tables():
            seen.append(str(connection.execute(select(table)).all()))
    for value in told.values():  # With the point: times, ids and digests have no such number.
        assert str(value) not in "".join(seen)


@pytest.mark.parametrize(
    "body",
    [
        {"values": {"noise_db": 1}},
        {"at": "now", "values": {}},
        {"at": "2026-05-04T09:03:00Z", "values": {"smell": 1}},
        {"at": "2026-05-04T09:03:00Z", "values": {"lat": 56.1}},
    ],
)
def test_what_is_no_reading_is_refused(
    bob: Browser, meeting: Json, forwarded: list[Any], body: Json
) -> None:
    assert bob.post(f"{me(meeting)}/readings", body).status_code == 422
    assert forwarded == []


def test_readings_are_taken_twice_a_second_of_each(
    app: Flask,
    bob: Browser,
    meeting: Json,
    forwarded: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    charlie = join(app, meeting, "Charlie")
    charlie.address = bob.address
    now_s = time.time()
    monkeypatch.setattr(memory, "time", SimpleNamespace(time=lambda: now_s))
    told = [bob.post(f"{me(meeting)}/readings", NOISY).status_code for _ in range(3)]
    assert told == [202, 202, 429]
    assert charlie.post(f"{me(meeting)}/readings", NOISY).status_code == 202


def test_who_hears_that_the_broker_is_away_can_try_again(
    bob: Browser, meeting: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send(*_: object, **_more: object) -> None:
        raise handing.NotHandedError("not handed to the broker at 10.1.2.3:1883; again")

    monkeypatch.setattr(handing, "hand", send)
    answer = bob.post(f"{me(meeting)}/readings", NOISY)
    assert (answer.status_code, answer.json["type"]) == (503, "urn:citywise:problem:broker-away")
    assert "10.1.2.3" not in answer.text


def test_mqtt_is_opened_with_a_new_password_each_time(
    bob: Browser, meeting: Json, monkeypatch: pytest.MonkeyPatch, engine: Engine
) -> None:
    assert bob.post(f"{me(meeting)}/mqtt").json == {"mqtt": None}
    monkeypatch.setattr(websocket, "address", lambda *_: "ws://localhost:1")
    first, second = (bob.post(f"{me(meeting)}/mqtt").json["mqtt"] for _ in range(2))
    assert first["password"] != second["password"]
    assert first["username"] == bob.user
    assert first["topic"] == f"citywise/meetings/{meeting['id']}/{bob.user}"
    with engine.connect() as connection:
        kept = connection.scalars(select(MeetingPersonRow.broker_hash)).one()
    assert second["password"] not in kept


def test_who_shares_nothing_any_more_is_judged_by_nothing(
    alice: Browser, bob: Browser, meeting: Json, engine: Engine, settings: Settings
) -> None:
    bob.put(f"{me(meeting)}/sharing", {"sensors": ["noise"]})
    conclude(engine, settings, meeting, bob.user)
    (person,) = show(alice, meeting)["people"]
    assert person["abilities"]["speak"]["state"] == "off"
    answer = bob.put(f"{me(meeting)}/sharing", {"sensors": []})
    assert answer.json["me"]["sharing"] == []
    (person,) = show(alice, meeting)["people"]
    assert person["abilities"].get("speak", {"state": "unknown"})["state"] != "off"


def test_leaving_ends_everything(app: Flask, alice: Browser, bob: Browser, meeting: Json) -> None:
    thief = Browser.of(app)
    path = f"/api/v1{people(meeting)}"
    cookie = bob.client.get_cookie("citywise-meeting", path=path)
    assert cookie is not None
    thief.client.set_cookie("citywise-meeting", cookie.value, path=path)
    assert thief.get(me(meeting)).status_code == 200
    left = bob.delete(me(meeting))
    assert left.status_code == 204
    assert "citywise-meeting=;" in left.headers["Set-Cookie"]
    for method, rest, body in KEYS:
        for browser in (bob, thief):
            assert browser.open(method, me(meeting) + rest, body).status_code == 404, rest
    assert show(alice, meeting)["people"][0]["left"] is not None


def test_a_seat_in_another_meeting_is_none_here(
    app: Flask, alice: Browser, bob: Browser, meeting: Json
) -> None:
    other = make(alice)
    cookie = bob.client.get_cookie("citywise-meeting", path=f"/api/v1{people(meeting)}")
    assert cookie is not None
    eve = Browser.of(app)
    eve.client.set_cookie("citywise-meeting", cookie.value, path=f"/api/v1{people(other)}")
    for method, rest, body in KEYS:
        assert eve.open(method, me(other) + rest, body).status_code == 404, rest


@pytest.mark.parametrize("cookie", [".", "x.y", "p-", '"p-\\000.x"', "ø.ø", "." * 3_000])
def test_nonsense_in_the_cookie_is_nobody(bob: Browser, meeting: Json, cookie: str) -> None:
    bob.client.set_cookie("citywise-meeting", cookie, path=f"/api/v1{people(meeting)}")
    assert bob.get(me(meeting)).status_code == 404


@pytest.mark.parametrize("who", ["alice", "nobody", "device"])
def test_who_takes_no_part_has_no_seat(
    app: Flask, alice: Browser, meeting: Json, who: str, forwarded: list[Any]
) -> None:
    """Not even the host: what somebody tells of themselves is theirs."""
    bearer = alice.post("/me/tokens", {"label": "script", "rights": ["all"]}).json["bearer"]
    device = Browser.device(app, bearer)
    browser = {"alice": alice, "nobody": Browser.of(app), "device": device}[who]
    for method, rest, body in KEYS:
        there = browser.open(method, me(meeting) + rest, body)
        none = browser.open(method, f"/meetings/m-aaaaaaaaaaaaaaaaaaaa/people/me{rest}", body)
        assert there.status_code == none.status_code == 404, rest
    assert forwarded == []


def test_a_participant_is_no_host(bob: Browser, meeting: Json) -> None:
    for method, path, body in (
        ("GET", of(meeting), None),
        ("POST", f"{of(meeting)}/actions", {"do": "start"}),
        ("PUT", f"{people(meeting)}/{bob.user}/overrides", {"speak": "on"}),
        ("GET", f"{of(meeting)}/events", None),
    ):
        assert bob.open(method, path, body).status_code == 401, path


def test_no_view_of_a_participant_tells_of_others_more_than_the_host_lets_them(
    app: Flask, alice: Browser, bob: Browser, meeting: Json
) -> None:
    charlie = join(app, meeting, "Charlie", attendee="a3")
    alice.put(f"{people(meeting)}/{bob.user}/overrides", {"speak": "off"})
    bob.put(me(meeting), {"surroundings": "public"})
    text = charlie.get(me(meeting)).text
    for hidden in ("@", meeting["join"]["key"], 'overrides":{"speak', "public"):
        assert hidden not in text


def test_a_browser_that_joins_again_is_there_once(
    alice: Browser, bob: Browser, meeting: Json
) -> None:
    bob.post(people(meeting), {"key": meeting["join"]["key"], "name": "Robert"})
    here = [each["name"] for each in show(alice, meeting)["people"] if each["left"] is None]
    assert here == ["Robert"]


def test_what_is_withdrawn_goes_also_of_who_somebody_was_before_they_joined_again(
    bob: Browser, meeting: Json, engine: Engine, settings: Settings
) -> None:
    def told() -> list[str]:
        with engine.connect() as connection:
            found = store.entries_of(connection, store.boxes_of(settings), meeting["id"])
        return [entry.body.state for entry in found if isinstance(entry.body, AbilityChanged)]

    bob.put(f"{me(meeting)}/sharing", {"sensors": ["noise"]})
    conclude(engine, settings, meeting, bob.user)
    bob.post(people(meeting), {"key": meeting["join"]["key"], "name": "Robert"})
    assert told() == ["off"]
    bob.put(f"{me(meeting)}/sharing", {"sensors": []})
    assert told() == ["unknown"]


def test_leaving_takes_along_what_was_concluded_only_where_that_is_said(
    app: Flask, bob: Browser, meeting: Json, engine: Engine, settings: Settings
) -> None:
    charlie = join(app, meeting, "Charlie")
    for browser, query in ((bob, ""), (charlie, "?forget=true")):
        browser.put(f"{me(meeting)}/sharing", {"sensors": ["noise"]})
        conclude(engine, settings, meeting, browser.user)
        assert browser.delete(me(meeting) + query).status_code == 204
    with engine.connect() as connection:
        found = store.entries_of(connection, store.boxes_of(settings), meeting["id"])
    told = [one for one in found if isinstance(one.body, AbilityChanged)]
    assert [(one.person, one.body.state) for one in told] == [
        (bob.user, "off"),
        (charlie.user, "unknown"),
    ]


def test_nobody_fills_a_meeting_without_end(
    app: Flask, meeting: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_people, "MOST_PEOPLE", 1)
    bob = join(app, meeting)
    bob.delete(me(meeting))
    answer = bob.post(people(meeting), {"key": meeting["join"]["key"], "name": "Bob"})
    assert (answer.status_code, answer.json["type"]) == (409, "urn:citywise:problem:full")


def test_many_at_one_address_take_part(
    app: Flask, alice: Browser, meeting: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An office has one address; what its people do counts for each of them."""
    monkeypatch.setitem(LIMITS, "writes", RateLimitItemPerMinute(20))
    browsers = [join(app, meeting, f"P{number}") for number in range(3)]
    for browser in browsers:
        browser.address = alice.address
    for _ in range(8):
        for browser in browsers:
            assert browser.delete(f"{me(meeting)}/none").status_code != 429
    for browser in browsers:
        assert browser.put(me(meeting), {"hand": True}).status_code == 200


def test_where_the_database_does_not_answer_one_hears_that_and_no_more(
    bob: Browser, meeting: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_: object) -> None:
        raise OperationalError("UPDATE", {"box": "said in private"}, Exception("is locked"))

    monkeypatch.setattr(store, "write", locked)
    answer = bob.put(me(meeting), {"hand": True})
    assert (answer.status_code, "later" in answer.json["detail"]) == (503, True)
    assert "private" not in answer.text


@pytest.mark.parametrize("error", [PermissionError, sqlite3.OperationalError])
def test_where_keys_cannot_be_used_nobody_hears_where_they_are(
    bob: Browser,
    meeting: Json,
    error: type[Exception],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def unreadable(*_: object) -> None:
        raise error("cannot open /srv/citywise/keys.db")

    monkeypatch.setattr(store, "write", unreadable)
    answer = bob.put(me(meeting), {"hand": True})
    assert (answer.status_code, "later" in answer.json["detail"]) == (503, True)
    assert "/srv" not in answer.text
    assert "/srv/citywise/keys.db" in caplog.text
