"""The papers of a meeting over HTTP: for its host, and for nobody else."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from icalendar import Calendar
from sqlalchemy import Engine
from werkzeug.test import TestResponse

from citywise.apps.meeting_mgr import store
from citywise.apps.meeting_mgr.api import papers
from citywise.apps.meeting_mgr.papers import calendars
from citywise.backend.settings import Mail, Settings
from citywise.backend.times import from_ms, parse_ms
from tests.api.browsers import API, Browser
from tests.mail.mail_server import Box, served
from tests.meeting_mgr.hosted import BUSINESS, Json, conclude, host, join, make, of, show
from tests.ports import nobody_at

PAPERS = ("invitation.ics", "join.svg", "minutes.html", "minutes.md", "minutes.ics")


def paper(browser: Browser, meeting: Json, name: str) -> TestResponse:
    return browser.get(f"{of(meeting)}/{name}")


def put_calendar(
    browser: Browser, meeting: Json, body: bytes, attendee: str = "a2", kind: str = "text/calendar"
) -> TestResponse:
    path = f"{API}{of(meeting)}/attendees/{attendee}/calendar"
    heads = {"X-CSRF-Token": browser.csrf or "", "Content-Type": kind}
    return browser.client.put(path, data=body, headers=heads)


def calendar(*begins: str) -> bytes:
    """A calendar of events of an hour."""
    events = "".join(
        f"BEGIN:VEVENT\nUID:{n}\nSUMMARY:Dentist\nDTSTART:{begin}\nDURATION:PT1H\nEND:VEVENT\n"
        for n, begin in enumerate(begins)
    )
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\n{events}END:VCALENDAR\n".encode()


@pytest.mark.parametrize("name", PAPERS)
def test_only_the_host_sees_the_papers(
    app: Flask, alice: Browser, meeting: Json, name: str
) -> None:
    bob, mallory = join(app, meeting), host(app, "Mallory")
    assert paper(alice, meeting, name).status_code == 200
    assert paper(bob, meeting, name).status_code == 401
    refused = paper(mallory, meeting, name)
    assert refused.status_code == 404
    there_is_none = mallory.get(f"/meetings/m-{'x' * 20}/{name}")
    assert refused.json["title"] == there_is_none.json["title"]


def test_the_invitation_is_a_file_for_calendars(alice: Browser, meeting: Json) -> None:
    answer = paper(alice, meeting, "invitation.ics")
    assert answer.headers["Content-Type"] == "text/calendar; charset=utf-8; method=REQUEST"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="meeting.ics"'
    (event,) = Calendar.from_ical(answer.data).walk("VEVENT")
    assert event["SUMMARY"] == BUSINESS["title"]
    assert event["URL"] == meeting["join"]["url"]
    assert event["ORGANIZER"].params["CN"] == "Alice"


def test_what_was_cancelled_is_a_cancellation(alice: Browser, meeting: Json) -> None:
    alice.delete(of(meeting))
    answer = paper(alice, meeting, "invitation.ics")
    assert b"METHOD:CANCEL" in answer.data
    (event,) = Calendar.from_ical(answer.data).walk("VEVENT")
    assert event["SEQUENCE"] > meeting["version"]


def test_the_code_is_a_drawing(alice: Browser, meeting: Json) -> None:
    answer = paper(alice, meeting, "join.svg")
    assert answer.headers["Content-Type"] == "image/svg+xml"
    assert b"<svg" in answer.data


# --- Calendars -----------------------------------------------------------------------------------


def test_a_calendar_tells_when_somebody_is_busy_and_nothing_else(
    alice: Browser, meeting: Json
) -> None:
    answer = put_calendar(alice, meeting, calendar("20260504T093000Z", "20260505T080000Z"))
    assert answer.status_code == 200, answer.json
    expected = [
        {"from": "2026-05-04T09:30:00Z", "until": "2026-05-04T10:30:00Z"},
        {"from": "2026-05-05T08:00:00Z", "until": "2026-05-05T09:00:00Z"},
    ]
    assert answer.json == {"busy": expected}
    seen = show(alice, meeting)
    assert seen["attendees"][1]["busy"] == expected
    assert "Dentist" not in str(seen)
    assert [one["name"] for one in seen["attendees"]] == [
        one["name"] for one in BUSINESS["attendees"]
    ]


def test_a_calendar_given_again_replaces_the_one_before(alice: Browser, meeting: Json) -> None:
    put_calendar(alice, meeting, calendar("20260504T093000Z"))
    put_calendar(alice, meeting, calendar())
    assert show(alice, meeting)["attendees"][1]["busy"] == []


def test_only_the_days_to_which_a_meeting_may_be_moved_count(alice: Browser, meeting: Json) -> None:
    ends = from_ms(parse_ms(meeting["ends"]) + calendars.AFTER_MS)
    days = [ends + timedelta(days=n) for n in (-1, 1)]
    body = calendar(*(f"{day:%Y%m%dT%H%M%SZ}" for day in days))
    assert len(put_calendar(alice, meeting, body).json["busy"]) == 1


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"hello", "text/calendar", 422),
        (calendar("soon"), "text/calendar", 422),
        (calendar(), "application/json", 415),
        (b" " * 1_000_001, "text/calendar", 413),
    ],
)
def test_what_is_no_calendar_is_refused(
    alice: Browser, meeting: Json, body: bytes, kind: str, status: int
) -> None:
    assert put_calendar(alice, meeting, body, kind=kind).status_code == status


def test_a_calendar_of_nobody_is_refused(app: Flask, alice: Browser, meeting: Json) -> None:
    assert put_calendar(alice, meeting, calendar(), attendee="a9").status_code == 404
    mallory = host(app, "Mallory")
    assert put_calendar(mallory, meeting, calendar()).status_code == 404


# --- Mail ----------------------------------------------------------------------------------------


def invite(browser: Browser, meeting: Json, **body: Any) -> TestResponse:
    return browser.post(f"{of(meeting)}/invitations", body)


def test_without_a_mail_server_it_is_said_what_to_do(alice: Browser, meeting: Json) -> None:
    answer = invite(alice, meeting)
    assert (answer.status_code, answer.json["type"]) == (
        409,
        "urn:citywise:problem:mail-not-configured",
    )


def test_who_is_nobody_or_has_no_address_is_named(alice: Browser, meeting: Json) -> None:
    answer = invite(alice, meeting, attendees=["a1", "a3", "a9"])
    assert answer.status_code == 422
    assert [one["path"] for one in answer.json["errors"]] == ["attendees.1", "attendees.2"]


class TestWithAMailServer:
    """A system that sends mail."""

    @pytest.fixture
    def box(self) -> Box:
        return Box()

    @pytest.fixture
    def settings(self, tmp_path: Path, box: Box) -> Any:
        with served(box) as port:
            mail = Mail(host="127.0.0.1", port=port, security="none", sender="m@city.example")
            yield Settings(data_dir=tmp_path, mail=mail)

    def test_everybody_who_has_an_address_is_invited(
        self, alice: Browser, meeting: Json, box: Box
    ) -> None:
        answer = invite(alice, meeting)
        assert answer.json == {
            "sent": [
                {"attendee": "a1", "email": "alice@example.org"},
                {"attendee": "a2", "email": "bob@example.org"},
            ],
            "failed": [],
        }
        assert [mail["Subject"] for mail in box.mails] == ["Invitation: Business Meeting"] * 2
        assert meeting["join"]["url"] in str(box.mails[0])

    def test_or_those_who_are_chosen_and_who_is_refused_is_named(
        self, alice: Browser, box: Box
    ) -> None:
        people = [*BUSINESS["attendees"], {"id": "a4", "name": "X", "email": "nobody@example.org"}]
        answer = invite(alice, make(alice, attendees=people), attendees=["a4", "a2"])
        assert answer.json == {
            "sent": [{"attendee": "a2", "email": "bob@example.org"}],
            "failed": [
                {
                    "attendee": "a4",
                    "email": "nobody@example.org",
                    "reason": "550 5.1.1 no such mailbox",
                }
            ],
        }
        assert [mail["To"].addresses[0].addr_spec for mail in box.mails] == ["bob@example.org"]


def test_a_mail_server_that_is_away_is_a_problem_of_its_own(
    app: Flask, alice: Browser, meeting: Json, caplog: pytest.LogCaptureFixture
) -> None:
    """The host hears that it is so, the log says why, and the meeting is not touched."""
    with nobody_at() as port:
        away = Mail(host="127.0.0.1", port=port, sender="m@city.example")
        found = app.extensions["citywise"]
        settings = found.settings.model_copy(update={"mail": away})
        app.extensions["citywise"] = type(found)(settings, found.engine, found.hub)
        answer = invite(alice, meeting)
    assert (answer.status_code, answer.json["type"]) == (
        502,
        "urn:citywise:problem:mail-unavailable",
    )
    assert f":{port}" not in answer.text
    assert f"127.0.0.1:{port} cannot be used" in caplog.text
    assert "example.org" not in caplog.text
    assert show(alice, meeting)["version"] == meeting["version"]


# --- Minutes -------------------------------------------------------------------------------------


def test_minutes_tell_what_happened(
    app: Flask, alice: Browser, meeting: Json, engine: Engine, settings: Settings
) -> None:
    alice.post(f"{of(meeting)}/actions", {"do": "start"})
    bob = join(app, meeting, "Bob", attendee="a2")
    conclude(engine, settings, meeting, bob.user)
    alice.post(f"{of(meeting)}/decisions", {"text": "Prices stay", "item": "i1"})
    alice.post(f"{of(meeting)}/actions", {"do": "end"})
    text = paper(alice, meeting, "minutes.md").get_data(as_text=True)
    assert "# Minutes: Business Meeting" in text
    assert "Prices stay" in text
    assert "Bob" in text
    assert "example.org" not in text
    danish = paper(alice, meeting, "minutes.md?lang=da").get_data(as_text=True)
    assert "# Referat: Business Meeting" in danish


@pytest.mark.parametrize("name", [name for name in PAPERS if name.startswith("minutes")])
def test_minutes_are_made_where_they_hold_up_no_event_stream(
    alice: Browser, meeting: Json, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    is_aside: list[bool] = []

    def aside(work: Callable[[], Any]) -> Any:
        is_aside.append(True)
        made = work()
        is_aside.append(False)
        return made

    def opened(*given: Any) -> Any:
        assert is_aside == [True]
        return store_opened(*given)

    store_opened = store.opened
    monkeypatch.setattr(papers, "aside", aside)
    monkeypatch.setattr(store, "opened", opened)
    assert paper(alice, meeting, name).status_code == 200
    assert is_aside == [True, False]


def test_the_page_of_minutes_may_load_nothing(alice: Browser, meeting: Json) -> None:
    answer = paper(alice, meeting, "minutes.html")
    assert answer.headers["Content-Disposition"] == 'inline; filename="minutes.html"'
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    (nonce,) = re.findall(r'<style nonce="([^"]+)">', answer.text)
    assert f"style-src 'self' 'nonce-{nonce}'" in policy
