"""Whoever is put out of a meeting keeps nothing that opens it; a second device opens no first."""

from __future__ import annotations

from typing import Any

import pytest

from citywise.apps.meeting_mgr import topics
from tests.api.browsers import Browser
from tests.meeting_mgr.hosted import Json, join, make, me, of, people
from tests.security.cast import Cast

COOKIE = "citywise-meeting"
OWN: tuple[tuple[str, str, Any], ...] = (
    ("GET", "", None),
    ("GET", "/events", None),
    ("PUT", "", {"hand": True}),
    ("PUT", "/sharing", {"sensors": ["noise"], "noted": ["noise"]}),
    ("POST", "/readings", {"at": "2026-05-04T09:03:00Z", "values": {"noise_db": 70}}),
    ("POST", "/mqtt", {}),
    ("DELETE", "", None),
)
"""What somebody does at their own seat."""


@pytest.fixture
def meeting(cast: Cast) -> Json:
    """A meeting of Anna's to which Bob is invited."""
    return make(cast.anna)


@pytest.fixture
def bob(cast: Cast, meeting: Json) -> Browser:
    return join(cast.app, meeting, attendee="a2")


def cookie(browser: Browser, meeting: Json) -> str:
    """What a browser shows to be who it is."""
    found = browser.client.get_cookie(COOKIE, path=f"/api/v1{people(meeting)}")
    assert found is not None
    return found.value


def with_cookie(cast: Cast, meeting: Json, value: str) -> Browser:
    """Another browser, to which somebody has copied a cookie."""
    found = Browser.of(cast.app)
    found.client.set_cookie(COOKIE, value, path=f"/api/v1{people(meeting)}")
    return found


def readers(cast: Cast) -> set[str]:
    """Who may send readings to the broker."""
    with cast.engine.connect() as connection:
        return {device.name for device in topics.devices(connection)}


def test_who_is_put_out_keeps_nothing_that_opens_the_meeting(
    cast: Cast, meeting: Json, bob: Browser
) -> None:
    copied = with_cookie(cast, meeting, cookie(bob, meeting))
    assert copied.get(me(meeting)).status_code == 200
    assert bob.user in readers(cast)
    body = {"do": "remove", "person": bob.user}
    assert cast.anna.post(f"{of(meeting)}/actions", body).status_code == 200
    assert bob.user not in readers(cast)
    link = {"key": meeting["join"]["key"], "attendee": "a2"}
    for browser in (bob, copied, Browser.of(cast.app)):
        for method, rest, told in OWN:
            assert browser.open(method, me(meeting) + rest, told).status_code == 404, rest
        assert browser.post(people(meeting), link).status_code == 404
        assert browser.get(f"{of(meeting)}/join?key={link['key']}").status_code == 404


def test_a_second_device_of_bobs_is_not_the_first(cast: Cast, meeting: Json, bob: Browser) -> None:
    bob.put(me(meeting), {"surroundings": "public", "hand": True})
    bob.put(f"{me(meeting)}/sharing", {"sensors": ["battery"]})
    other = join(cast.app, meeting, attendee="a2")
    seen = other.get(me(meeting))
    assert (seen.json["me"]["hand"], seen.json["me"]["sharing"]) == (False, [])
    assert not [word for word in ("public", "battery") if word in seen.text]
    other.put(f"{me(meeting)}/sharing", {"sensors": []})
    other.delete(me(meeting))
    assert bob.get(me(meeting)).json["me"]["sharing"] == ["battery"]


def test_ones_own_secret_opens_no_other_seat(cast: Cast, meeting: Json, bob: Browser) -> None:
    other = join(cast.app, meeting, attendee="a2")
    _id, _, secret = cookie(other, meeting).partition(".")
    forged = with_cookie(cast, meeting, f"{bob.user}.{secret}")
    for method, rest, told in OWN:
        assert forged.open(method, me(meeting) + rest, told).status_code == 404, rest


def test_nobody_but_the_host_puts_anybody_out(cast: Cast, meeting: Json, bob: Browser) -> None:
    body = {"do": "remove", "person": bob.user}
    other = join(cast.app, meeting, attendee="a2")
    answers = {each.post(f"{of(meeting)}/actions", body).status_code for each in (other, bob)}
    answers |= {cast.others["bert"].post(f"{of(meeting)}/actions", body).status_code}
    assert answers <= {401, 404}
    assert bob.get(me(meeting)).status_code == 200
