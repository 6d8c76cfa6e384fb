"""Who closes the page is away within seconds, counts no more, and is back in the same place."""

from __future__ import annotations

import socket
import threading
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPResponse

import pytest
from flask import Flask
from sqlalchemy import Engine

from citywise.apps.meeting_mgr import agenda, store, views
from citywise.apps.meeting_mgr.agenda.members import GRACE_MS, PATIENCE_MS, members
from citywise.apps.meeting_mgr.api import open_pages
from citywise.apps.meeting_mgr.api.open_pages import OpenPages
from citywise.apps.meeting_mgr.process import reasoner as thinking
from citywise.apps.meeting_mgr.process.absence import LASTS_MS
from citywise.apps.meeting_mgr.process.reasoner import Reasoner
from citywise.apps.meeting_mgr.steps import running, taking_part
from citywise.backend.settings import Settings
from tests.api.browsers import Browser
from tests.api.town import soon
from tests.meeting_mgr.hosted import Json, me
from tests.meeting_mgr.kept import NOW_MS, Kept, heard
from tests.meeting_mgr.made import MINUTE_MS, person, record, state
from tests.meeting_mgr.made import NOW_MS as STARTS_MS
from tests.meeting_mgr.system import running as system
from tests.meeting_mgr.test_whole import Guest


@pytest.fixture
def kept(engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Kept:
    monkeypatch.setattr(agenda, "proposed", lambda *_given, **_more: None)
    monkeypatch.setattr(thinking, "PAGES_S", 0.0)
    return Kept(engine, settings)


@pytest.fixture
def reasoner(engine: Engine, settings: Settings, kept: Kept) -> Iterator[Reasoner]:
    found = Reasoner(settings, engine)
    found._since_ms = NOW_MS
    yield found
    found.close()


@pytest.fixture
def open_page(engine: Engine) -> Callable[[str, int], None]:
    """A page of somebody is open at a second."""

    def see(who: str, second: int) -> None:
        with engine.begin() as connection:
            store.see_pages(connection, [who], NOW_MS + 1000 * second)

    return see


def test_who_closes_the_page_is_away_and_comes_back_to_the_same_seat(
    kept: Kept, reasoner: Reasoner, open_page: Callable[[str, int], None]
) -> None:
    meeting = kept.make()
    bob = kept.join(meeting, "noise", attendee="a1")
    open_page(bob, 0)
    reasoner.step([], NOW_MS + LASTS_MS)
    assert kept.person(meeting, bob).is_there
    reasoner.step([], NOW_MS + LASTS_MS + 1)
    gone = kept.person(meeting, bob)
    assert (gone.away_ms, gone.left_ms) == (NOW_MS + LASTS_MS + 1, None)
    assert gone.sharing == ("noise",)
    open_page(bob, 20)
    reasoner.step([], NOW_MS + 20_000)
    assert kept.person(meeting, bob).is_there
    assert kept.told_to(bob)[-2:] == ["away", "back"]
    told = [one["is_away"] for one in kept.entries(meeting, bob) if one["kind"] == "away"]
    assert told == [True, False]


def test_who_is_heard_is_not_away_though_the_page_has_lost_the_net(
    kept: Kept, reasoner: Reasoner, open_page: Callable[[str, int], None]
) -> None:
    meeting = kept.make()
    bob = kept.join(meeting, "noise")
    open_page(bob, 0)
    for second in (5, 10, 15):
        at_ms = NOW_MS + 1000 * second
        reasoner.step([heard(meeting, bob, at_ms, noise_db=50)], at_ms)
    assert kept.person(meeting, bob).is_there
    reasoner.step([], NOW_MS + 30_000)
    assert not kept.person(meeting, bob).is_there


def test_who_never_had_a_page_is_not_away(kept: Kept, reasoner: Reasoner) -> None:
    meeting = kept.make()
    bob = kept.join(meeting, "noise")
    reasoner.step([], NOW_MS + 600_000)
    assert kept.person(meeting, bob).is_there


def test_a_process_that_starts_again_gives_pages_time_to_come_back(
    kept: Kept, engine: Engine, settings: Settings, open_page: Callable[[str, int], None]
) -> None:
    meeting = kept.make()
    bob = kept.join(meeting)
    open_page(bob, 0)
    again = Reasoner(settings, engine)
    again._since_ms = NOW_MS + 60_000
    again.step([], NOW_MS + 61_000)
    assert kept.person(meeting, bob).is_there
    again.close()


def test_a_short_absence_changes_no_agenda_and_is_unknown_till_then() -> None:
    found = running.start(record(), STARTS_MS).record
    closed_ms = STARTS_MS + 10 * MINUTE_MS
    (bob,) = taking_part.go_away(found, person("b", "a2", state=state()), closed_ms).people
    alice = person("c", "a1", state=state())
    soon_ms, late_ms = closed_ms + PATIENCE_MS - 1, closed_ms + PATIENCE_MS
    for now_ms, is_away in ((soon_ms, False), (late_ms, True)):
        one = next(m for m in members(found.meeting, [alice, bob], now_ms) if m.attendee.id == "a2")
        assert (one.present, one.is_away) == ((), is_away)
        view = views.host(found, [alice, bob], now_ms, join_url="")
        told = next(w for w in view["agenda"][0]["attendance"] if w["attendee"] == "a2")
        assert (told["can"], told["known"], told["person"]) == (not is_away, False, None)
    (back,) = taking_part.come_back(found, bob, late_ms).people
    assert members(found.meeting, [alice, back], late_ms)[1].present == (back,)


def test_who_joined_long_before_and_closed_the_page_may_come_a_little_late() -> None:
    found = running.start(record(), STARTS_MS).record
    bob = person("b", "a2", away_ms=STARTS_MS - 60 * MINUTE_MS)
    for now_ms, is_away in ((STARTS_MS + GRACE_MS - 1, False), (STARTS_MS + GRACE_MS, True)):
        assert members(found.meeting, [bob], now_ms)[1].is_away is is_away


def test_who_is_on_the_way_with_the_page_closed_is_still_expected() -> None:
    found = running.start(record(), STARTS_MS).record
    at_ms = STARTS_MS + 12 * MINUTE_MS
    bob = person("b", "a2", away_ms=STARTS_MS, arrives_ms=at_ms, tells_arrival=True)
    laptop = person("d", "a2", away_ms=STARTS_MS)
    one = members(found.meeting, [bob, laptop], STARTS_MS + 5 * MINUTE_MS)[1]
    assert (one.arrives_ms, one.is_away) == (at_ms, False)
    others = views.participant(found, [bob, laptop], person("c", "a1"), STARTS_MS)["people"]
    assert [each["id"] for each in others] == [bob.id]


def test_devices_that_are_away_are_neither_listed_twice_nor_counted() -> None:
    phone, laptop = person("b", "a2", away_ms=STARTS_MS), person("d", "a2", device=2)
    guest = person("e", None, away_ms=STARTS_MS)
    view = views.host(record(), [phone, laptop, guest], STARTS_MS, join_url="")
    assert [(one["id"], one["away"] is None) for one in view["people"]] == [
        (laptop.id, True),
        (guest.id, False),
    ]
    mine = views.participant(record(), [phone, laptop], laptop, STARTS_MS)
    assert (mine["me"]["devices"], mine["people"]) == (1, [])
    alone = views.host(record(), [phone], STARTS_MS, join_url="")
    assert [one["id"] for one in alone["people"]] == [phone.id]
    assert "a2" not in [one["id"] for one in alone["absent"]]


def test_an_open_stream_is_an_open_page_until_it_ends(
    app: Flask, bob: Browser, meeting: Json, engine: Engine
) -> None:
    def noted() -> dict[str, int]:
        with engine.connect() as connection:
            return store.pages(connection)

    assert noted() == {}
    answer = bob.get(f"{me(meeting)}/events")
    next(answer.iter_encoded())
    soon(lambda: bob.user in noted())
    pages: OpenPages = app.extensions[open_pages._EXTENSION]
    assert pages.people() == {bob.user}
    answer.close()
    assert pages.people() == set()
    soon(lambda: pages._thread is None)


def test_a_page_that_is_opened_anew_at_once_is_noted_at_the_usual_pace(engine: Engine) -> None:
    """The thread that the end of the only page roused is still noting when the next opens."""
    goes_on = threading.Event()

    class Slow(OpenPages):
        def _note(self) -> None:
            goes_on.wait(60)

    pages = Slow(engine)
    pages.add("p-b", None)()
    close = pages.add("p-b", None)
    assert not pages._ended.is_set()
    goes_on.set()
    close()
    soon(lambda: pages._thread is None)


def test_a_connection_that_was_closed_is_no_open_page(engine: Engine) -> None:
    """Whatever the server has noticed of it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        browser = socket.create_connection(server.getsockname())
        served, _ = server.accept()
        with served:
            pages = OpenPages(engine)
            close = pages.add("p-b", served)
            assert pages.people() == {"p-b"}
            browser.close()
            soon(lambda: pages.people() == set())
            close()


@pytest.mark.slow
def test_a_page_that_is_closed_is_missed_by_the_host_and_found_again(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """All processes: the stream of a page ends without a word, and another begins."""
    with system(tmp_path_factory.mktemp("away")) as city:
        guest = Guest(city)

        def is_away() -> bool:
            (bob,) = guest._done("GET", guest.path)["people"]
            assert (bob["id"], bob["left"]) == (guest.id, None)
            return bool(bob["away"])

        def looking() -> HTTPResponse:
            asked = urllib.request.Request(f"{city.url}/api/v1{guest.path}/people/me/events")
            asked.add_header("Cookie", guest.cookie or "")
            answer: HTTPResponse = urllib.request.urlopen(asked, timeout=60)
            assert b"retry" in answer.readline()
            return answer

        first = looking()
        assert not is_away()
        first.close()
        soon(is_away, 60)
        second = looking()
        soon(lambda: not is_away(), 60)
        second.close()
