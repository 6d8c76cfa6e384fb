"""The same one of the invited is there with several devices; the host sees each, and removes it
alone; whoever is removed cannot come back with the link they have."""

from __future__ import annotations

from typing import cast

import pytest
from flask import Flask
from sqlalchemy import Engine

from citywise.apps.meeting_mgr import store
from citywise.apps.meeting_mgr.entries import Joined
from citywise.backend.settings import Settings
from tests.api.browsers import Browser
from tests.meeting_mgr.hosted import Json, join, me, of, people, show


def there(alice: Browser, meeting: Json) -> dict[str, int]:
    """Who is there as the host sees it: by their id, which device of theirs it is."""
    seen = show(alice, meeting)["people"]
    return {one["id"]: one["device"] for one in seen if one["left"] is None}


def devices(browser: Browser, meeting: Json) -> int:
    """With how many devices one is there, as one sees it oneself."""
    return cast("int", browser.get(me(meeting)).json["me"]["devices"])


def removed(alice: Browser, meeting: Json, person: Browser, **more: bool) -> Json:
    """The meeting after the host has removed somebody."""
    body = {"do": "remove", "person": person.user, **more}
    answer = alice.post(f"{of(meeting)}/actions", body)
    assert answer.status_code == 200, answer.json
    return cast("Json", answer.json)


def comes(browser: Browser, meeting: Json, key: str) -> int:
    """What is answered who wants to come in with a key."""
    return browser.post(people(meeting), {"key": key, "attendee": "a2"}).status_code


@pytest.fixture
def laptop(app: Flask, bob: Browser, meeting: Json) -> Browser:
    """Where Bob, or somebody who says so, joins once more."""
    return join(app, meeting, attendee="a2")


def test_the_host_sees_that_somebody_is_there_twice(
    alice: Browser,
    bob: Browser,
    laptop: Browser,
    meeting: Json,
    engine: Engine,
    settings: Settings,
) -> None:
    assert there(alice, meeting) == {bob.user: 1, laptop.user: 2}
    with engine.connect() as connection:
        entries = store.entries_of(connection, store.boxes_of(settings), meeting["id"])
    told = [entry.body.device for entry in entries if isinstance(entry.body, Joined)]
    assert told == [1, 2]


def test_who_is_there_twice_sees_that_on_both(bob: Browser, laptop: Browser, meeting: Json) -> None:
    assert (devices(bob, meeting), devices(laptop, meeting)) == (2, 2)
    laptop.delete(me(meeting))
    assert devices(bob, meeting) == 1


def test_of_others_than_the_invited_nobody_knows_whether_they_are_the_same(
    app: Flask, alice: Browser, meeting: Json
) -> None:
    guests = [join(app, meeting, "Guest") for _ in range(2)]
    assert [*there(alice, meeting).values()] == [1, 1]
    assert [devices(each, meeting) for each in guests] == [1, 1]


def test_a_browser_that_joins_again_is_no_second_device(
    alice: Browser, bob: Browser, meeting: Json
) -> None:
    assert comes(bob, meeting, meeting["join"]["key"]) == 201
    assert [*there(alice, meeting).values()] == [1]


def test_each_of_two_browsers_keeps_its_number_however_often_it_joins(
    alice: Browser, bob: Browser, laptop: Browser, meeting: Json
) -> None:
    for browser in (bob, laptop, bob, bob, laptop):
        assert comes(browser, meeting, meeting["join"]["key"]) == 201
        assert sorted(there(alice, meeting).values()) == [1, 2]


def test_numbers_that_are_free_again_are_given_again(
    app: Flask, alice: Browser, bob: Browser, laptop: Browser, meeting: Json
) -> None:
    for _ in range(3):
        tablet = join(app, meeting, attendee="a2")
        assert there(alice, meeting) == {bob.user: 1, laptop.user: 2, tablet.user: 3}
        tablet.delete(me(meeting))
    laptop.delete(me(meeting))
    again = join(app, meeting, attendee="a2")
    assert there(alice, meeting) == {bob.user: 1, again.user: 2}


def test_devices_keep_their_numbers_while_others_come_and_go(
    app: Flask, alice: Browser, bob: Browser, laptop: Browser, meeting: Json
) -> None:
    bob.delete(me(meeting))
    tablet = join(app, meeting, attendee="a2")
    assert there(alice, meeting) == {laptop.user: 2, tablet.user: 3}


def test_the_host_removes_one_device_alone(
    alice: Browser, bob: Browser, laptop: Browser, meeting: Json
) -> None:
    removed(alice, meeting, laptop)
    assert there(alice, meeting) == {bob.user: 1}
    assert bob.get(me(meeting)).status_code == 200
    assert laptop.get(me(meeting)).status_code == 404


def test_who_is_removed_cannot_come_back_with_the_same_link(
    app: Flask, alice: Browser, bob: Browser, meeting: Json
) -> None:
    old = meeting["join"]["key"]
    after = removed(alice, meeting, bob)["join"]
    new = after["key"]
    assert (new != old, new in after["url"], after["renewed"] is not None) == (True, True, True)
    for browser in (bob, Browser.of(app)):
        assert comes(browser, meeting, old) == 404
        assert browser.get(f"{of(meeting)}/join?key={old}").status_code == 404
    assert comes(bob, meeting, new) == 201


def test_who_is_still_there_sees_no_link(
    alice: Browser, bob: Browser, laptop: Browser, meeting: Json
) -> None:
    """Or whoever was removed could look at the other device."""
    key = removed(alice, meeting, laptop)["join"]["key"]
    assert key not in bob.get(me(meeting)).text


def test_the_link_is_kept_where_the_host_says_so(
    alice: Browser, bob: Browser, meeting: Json
) -> None:
    after = removed(alice, meeting, bob, keep_link=True)["join"]
    assert (after["key"], after["renewed"]) == (meeting["join"]["key"], None)
    assert comes(bob, meeting, after["key"]) == 201


def test_a_new_link_says_since_when_it_is_new(alice: Browser, meeting: Json) -> None:
    assert show(alice, meeting)["join"]["renewed"] is None
    answer = alice.post(f"{of(meeting)}/actions", {"do": "new_link"})
    assert answer.json["join"]["renewed"] is not None
