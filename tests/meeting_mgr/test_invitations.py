"""Meetings as entries of calendars, and as mail that brings them."""

from __future__ import annotations

from typing import Any

import pytest
from icalendar import Calendar, Event

from citywise.apps.meeting_mgr.api import joining
from citywise.apps.meeting_mgr.model import Attendee, Item, Meeting, MeetingState, Room
from citywise.apps.meeting_mgr.papers import invitations, letters
from citywise.apps.meeting_mgr.papers.invitations import Invited, Organizer
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.backend.api.pages import translator
from citywise.backend.machine import REPOSITORY
from citywise.backend.packs.page_files import PageFiles
from citywise.backend.times import parse_ms

STARTS, ENDS = parse_ms("2026-07-14T19:42:00+02:00"), parse_ms("2026-07-14T20:42:00+02:00")
LINK = "https://city.example/meet/m-x?key=k"
MEETING = Meeting(
    title="Business Meeting; æøå",
    room=Room(name="Room B, Insight Centre", lat=56.1, lon=10.2),
    starts_ms=STARTS,
    ends_ms=ENDS,
    attendees=(
        Attendee(id="a1", name='Alice "Maud" Mary', email="alice@example.org"),
        Attendee(id="a2", name="Bob; Simmons: x", email="bobby@example.org", required=False),
        Attendee(id="a3", name="Charlie"),
    ),
    agenda=(
        Item(id="i1", title="Semantic Web", speaker="a1", minutes=30),
        Item(id="i2", title="Break", type="break", minutes=5),
    ),
)


FILES = PageFiles("meeting_mgr", REPOSITORY / "apps" / "meeting_mgr")


def record(state: MeetingState = "planned", version: int = 3, **changes: Any) -> MeetingRecord:
    meeting = MEETING.model_copy(update=changes)
    return MeetingRecord("m-x", "u-host", state, version, meeting, (), "k", STARTS, STARTS)


def invited(found: MeetingRecord, email: str | None = "meetings@city.example") -> Invited:
    return Invited(found, Organizer("Ann Host", email), LINK)


def entry(found: Invited, language: str = "en") -> tuple[Calendar, Event]:
    """The calendar that somebody gets, and the event in it."""
    text = invitations.calendar(found, STARTS, translator(language, FILES))
    calendar = Calendar.from_ical(text)
    assert isinstance(calendar, Calendar)
    (event,) = calendar.events
    return calendar, event


def test_where_nobody_has_an_address_nobody_is_asked_to_come() -> None:
    calendar, event = entry(invited(record(attendees=MEETING.attendees[2:])))
    assert (calendar["METHOD"], "ATTENDEE" in event) == ("PUBLISH", False)


def listed(found: MeetingRecord, now_ms: int = STARTS) -> list[str]:
    """The agenda in an invitation."""
    return invitations.described(invited(found), now_ms, translator("en", FILES)).split("\n")[3:]


def test_what_is_put_off_is_not_listed_and_makes_nothing_later() -> None:
    first, second = MEETING.agenda
    off = first.model_copy(update={"state": "put_off"})
    assert listed(record(agenda=(off, second))) == ["19:42 Break (5 min)"]


def test_while_a_meeting_runs_its_items_are_listed_as_they_come() -> None:
    first, second = MEETING.agenda
    begun = first.model_copy(update={"state": "current", "began_ms": STARTS + 60_000})
    assert listed(record("running", agenda=(second, begun))) == [
        '19:43 Semantic Web (Alice "Maud" Mary, 30 min)',
        "20:13 Break (5 min)",
    ]


def test_of_a_meeting_that_is_planned_anew_what_was_done_is_not_listed() -> None:
    first, second = MEETING.agenda
    times = {"state": "done", "began_ms": STARTS - 90_000, "ended_ms": STARTS - 60_000}
    again = record(agenda=(first.model_copy(update=times), second))
    assert listed(again) == ["19:42 Break (5 min)"]


def test_an_invitation_holds_what_a_calendar_needs() -> None:
    calendar, event = entry(invited(record()))
    assert (calendar["METHOD"], event["STATUS"]) == ("REQUEST", "CONFIRMED")
    assert event["UID"] == "m-x@citywise"
    assert event["SUMMARY"] == "Business Meeting; æøå"
    assert event["LOCATION"] == "Room B, Insight Centre"
    assert event["URL"] == LINK
    assert event["ORGANIZER"] == "mailto:meetings@city.example"
    assert event["ORGANIZER"].params["CN"] == "Ann Host"
    (alarm,) = event.walk("VALARM")
    assert alarm["TRIGGER"].dt.total_seconds() == -600


def test_times_are_in_utc_and_the_agenda_by_the_citys_clock() -> None:
    text = invitations.calendar(invited(record()), STARTS, translator("en", FILES)).decode()
    assert "DTSTART:20260714T174200Z" in text
    assert "DTEND:20260714T184200Z" in text
    _, event = entry(invited(record()))
    assert '19:42 Semantic Web (Alice "Maud" Mary, 30 min)\n20:12 Break (5 min)' in str(
        event["DESCRIPTION"]
    )
    assert f"Join: {LINK}" in str(event["DESCRIPTION"])


def test_who_has_an_address_is_an_attendee_required_or_optional() -> None:
    _, event = entry(invited(record()))
    found = {str(one): (one.params["CN"], one.params["ROLE"]) for one in event["ATTENDEE"]}
    assert found == {
        "mailto:alice@example.org": ("Alice 'Maud' Mary", "REQ-PARTICIPANT"),
        "mailto:bobby@example.org": ("Bob; Simmons: x", "OPT-PARTICIPANT"),
    }


def test_a_change_is_the_same_event_with_a_higher_sequence() -> None:
    _, before = entry(invited(record(version=3)))
    _, after = entry(invited(record(version=4, starts_ms=STARTS + 3_600_000)))
    assert before["UID"] == after["UID"]
    assert (before.sequence, after.sequence) == (3, 4)
    assert after.start > before.start


def test_a_cancellation_takes_the_event_out_again() -> None:
    calendar, event = entry(invited(record("cancelled", version=5)))
    assert (calendar["METHOD"], event["STATUS"]) == ("CANCEL", "CANCELLED")
    assert (event["UID"], event["SEQUENCE"]) == ("m-x@citywise", 5)
    assert event.walk("VALARM") == []


def test_without_a_mail_address_the_organizer_has_none() -> None:
    _, event = entry(invited(record(), None))
    assert event["ORGANIZER"] == "invalid:nomail"


def test_no_line_is_longer_than_calendars_take() -> None:
    text = invitations.calendar(invited(record()), STARTS, translator("da", FILES))
    assert text.endswith(b"\r\n")
    assert max(map(len, text.split(b"\r\n"))) <= 75


@pytest.mark.parametrize(
    ("language", "subject", "line"),
    [
        ("en", "Invitation: Business Meeting; æøå", "When: 14.07.2026, 19:42–20:42"),
        ("da", "Invitation: Business Meeting; æøå", "Hvornår: 14.07.2026, 19:42–20:42"),
    ],
)
def test_letters_say_what_when_where_and_how_to_join(
    language: str, subject: str, line: str
) -> None:
    found = letters.written(
        invited(record()), MEETING.attendees, STARTS, translator(language, FILES)
    )
    assert [one.to for one in found] == ["alice@example.org", "bobby@example.org"]
    assert found[0].subject == subject
    assert line in found[0].text
    assert LINK in found[0].text
    assert "Room B, Insight Centre" in found[0].text


def test_a_letter_of_a_cancellation_says_so() -> None:
    found = letters.written(
        invited(record("cancelled")), MEETING.attendees, STARTS, translator("en", FILES)
    )
    assert (found[0].method, found[0].subject) == ("CANCEL", "Cancelled: Business Meeting; æøå")


def test_a_title_in_braces_is_no_form_to_fill_in() -> None:
    found = letters.written(
        invited(record(title="{host} {0}")), MEETING.attendees, STARTS, translator("en", FILES)
    )
    assert "“{host} {0}”" in found[0].text


def test_the_link_to_join_holds_meeting_and_key() -> None:
    assert joining.url("https://city.example", "m-x", "k&y") == (
        "https://city.example/meet/m-x?key=k%26y"
    )


def test_the_code_is_a_drawing_without_scripts_that_differs_with_the_link() -> None:
    found = joining.svg(LINK)
    assert found.startswith(b"<?xml")
    assert b"<script" not in found
    assert found != joining.svg(LINK + "x")
