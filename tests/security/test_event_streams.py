"""An event stream tells of the city, and of no person but who listens."""

from __future__ import annotations

import json
from contextlib import closing
from itertools import count
from typing import Any

import pytest

from citywise.backend.notices import book
from tests.api.browsers import Browser
from tests.api.templates import NOON_MS, change
from tests.api.town import Town
from tests.security.cast import SECRET, Cast

_NUMBERS = count()
Messages = list[tuple[str, Any]]


def listen(browser: Browser, cast: Cast, query: str = "") -> Messages:
    """What comes over a stream from its beginning until after something new has happened to
    Anna and, after that, in the city."""
    answer = browser.get(f"/events/stream?last_event_id=0{query}")
    assert answer.status_code == 200, answer.text
    text = ""
    with closing(answer):
        chunks = iter(answer.iter_encoded())
        text += next(chunks).decode()
        _happen(cast)
        while "event: event.opened" not in text or not text.endswith("\n\n"):
            text += next(chunks).decode()
    messages = [
        dict(line.split(": ", 1) for line in message.splitlines() if not line.startswith(":"))
        for message in text.split("\n\n")
    ]
    return [(each["event"], json.loads(each["data"])) for each in messages if "event" in each]


def _happen(cast: Cast) -> None:
    updated = change("updated", NOON_MS + 60_000, instance=cast.instance, user=cast.anna.user)
    updated.body["details"] = {"metres": 10, "where": SECRET}
    updated.body["criticality"] = 4 + next(_NUMBERS) % 2
    with cast.engine.begin() as connection:
        book.apply(connection, [updated])
    Town(cast.engine).event("new", "100", "2014-08-05T11:59:00Z", announce="event.opened")


def notices(messages: Messages) -> set[str]:
    return {body["user"] for event, body in messages if event == "notice"}


@pytest.mark.parametrize("who", ["bert", "developer", "admin", "device", "nobody"])
def test_others_hear_of_the_city_and_nothing_of_anna(cast: Cast, who: str) -> None:
    messages = listen(cast.others[who], cast)
    assert notices(messages) == set()
    assert SECRET not in str(messages)
    assert cast.anna.user not in str(messages)


def test_anna_hears_of_herself_and_of_nobody_else(cast: Cast) -> None:
    assert notices(listen(cast.anna, cast)) == {cast.anna.user}


def test_who_presents_a_session_hears_of_it(cast: Cast) -> None:
    assert notices(listen(cast.nobody, cast, f"&user={cast.session}")) == {cast.session}


def test_developers_hear_of_test_persons_they_name(cast: Cast) -> None:
    assert notices(listen(cast.developer, cast, "&user=alice")) == {"alice"}


def test_a_device_without_the_right_hears_no_notices(cast: Cast) -> None:
    made = cast.anna.post("/me/tokens", {"label": "thermometer", "rights": ["context"]}).json
    device = Browser.device(cast.app, made["bearer"])
    assert notices(listen(device, cast)) == set()
    assert device.get(f"/events/stream?user={cast.anna.user}").status_code == 403
