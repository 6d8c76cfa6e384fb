"""Meetings as entries of people's calendars (iCalendar, RFC 5545; invitations, RFC 5546)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

from icalendar import Alarm, Calendar, Event, vCalAddress, vText

from citywise.apps.meeting_mgr.model import Attendee, Item, Meeting
from citywise.apps.meeting_mgr.planned import Span, planned
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.backend.app import times

PRODUCT = "-//Citywise//meeting_mgr//EN"
REMINDER = timedelta(minutes=10)
NO_MAIL = "invalid:nomail"
"""What stands for the address of who has none; an organizer needs one."""
Method = Literal["REQUEST", "CANCEL", "PUBLISH"]
Translate = Callable[..., str]


class Organizer(NamedTuple):
    """Whom an invitation comes from."""

    name: str
    email: str | None = None


class Invited(NamedTuple):
    """What stands in an invitation: the meeting, whom it comes from, how one joins."""

    record: MeetingRecord
    organizer: Organizer
    link: str


def method(record: MeetingRecord) -> Method:
    """What a calendar is to do with a meeting: enter or change it, or take it out; just enter it
    where nobody is asked, since a request needs attendees (RFC 5546, 3.2.2)."""
    if record.state == "cancelled":
        return "CANCEL"
    is_asked = any(one.email is not None for one in record.meeting.attendees)
    return "REQUEST" if is_asked else "PUBLISH"


def calendar(invited: Invited, now_ms: int, t: Translate) -> bytes:
    """An invitation, a change of it (the same id, a higher sequence) or its cancellation.

    Times are in UTC, which every calendar shows in its own zone; `t` translates.
    """
    record = invited.record
    entry = new_calendar()
    entry.add("method", method(record))
    entry.add_component(_event(invited, now_ms, t))
    return bytes(entry.to_ical())


def new_calendar() -> Calendar:
    """An empty calendar of ours."""
    entry = Calendar()
    entry.add("prodid", PRODUCT)
    entry.add("version", "2.0")
    return entry


def uid(record: MeetingRecord) -> str:
    """By which a calendar knows a meeting again."""
    return f"{record.id}@citywise"


def described(invited: Invited, now_ms: int, t: Translate) -> str:
    """Agenda and link as lines of text: what takes place at the meeting, and when."""
    record, link = invited.record, invited.link
    lines = [
        f"{clock(span.starts_ms)} {_titled(record.meeting, item, t)}"
        for item, span in _takes_place(record, now_ms)
    ]
    agenda = [t("papers.agenda"), *lines] if lines else []
    return "\n".join([t("papers.join", link=link), *([""] if agenda else []), *agenda])


def _takes_place(record: MeetingRecord, now_ms: int) -> list[tuple[Item, Span]]:
    """Neither what is put off nor what was done before the meeting was planned anew."""
    meeting = record.meeting
    spans = planned(meeting, record.state, now_ms)
    listed = [(item, spans[item.id]) for item in meeting.in_order() if item.id in spans]
    return [
        (item, span)
        for item, span in listed
        if item.state != "done" or span.ends_ms > meeting.starts_ms
    ]


def clock(ms: int) -> str:
    """Hours and minutes by the city's clock."""
    return local(ms).strftime("%H:%M")


def local(ms: int) -> datetime:
    """A time by the city's clock."""
    return times.from_ms(ms).astimezone(ZoneInfo(times.ZONE))


def _titled(meeting: Meeting, item: Item, t: Translate) -> str:
    speaker = meeting.named(item.speaker)
    about = t("papers.minutes", n=item.minutes)
    return f"{item.title} ({about if speaker is None else f'{speaker}, {about}'})"


def _event(invited: Invited, now_ms: int, t: Translate) -> Event:
    record, meeting = invited.record, invited.record.meeting
    event = Event()
    event.add("uid", uid(record))
    event.add("sequence", record.version)
    event.add("dtstamp", times.from_ms(now_ms))
    event.add("created", times.from_ms(record.created_ms))
    event.add("last-modified", times.from_ms(record.updated_ms))
    event.add("dtstart", times.from_ms(meeting.starts_ms))
    event.add("dtend", times.from_ms(meeting.ends_ms))
    event.add("summary", meeting.title)
    event.add("location", meeting.room.name)
    if meeting.room.lat is not None and meeting.room.lon is not None:
        event.add("geo", (meeting.room.lat, meeting.room.lon))
    event.add("url", invited.link)
    event.add("description", described(invited, now_ms, t))
    is_off = method(record) == "CANCEL"
    event.add("status", "CANCELLED" if is_off else "CONFIRMED")
    event["organizer"] = _address(*invited.organizer)
    for one in meeting.attendees:
        if one.email is not None:
            event.add("attendee", _attendee(one, one.email), encode=False)
    if not is_off:
        event.add_component(_alarm(meeting))
    return event


def _attendee(one: Attendee, email: str) -> vCalAddress:
    """Their calendar's answer would go to an address that nobody reads: hence no RSVP."""
    address = _address(one.name, email)
    address.params["ROLE"] = vText("REQ-PARTICIPANT" if one.required else "OPT-PARTICIPANT")
    address.params["PARTSTAT"] = vText("NEEDS-ACTION")
    address.params["RSVP"] = vText("FALSE")
    return address


def _address(name: str, email: str | None) -> vCalAddress:
    address = vCalAddress(NO_MAIL if email is None else f"mailto:{email}")
    # A quotation mark cannot stand in a parameter (RFC 5545, 3.1).
    address.params["CN"] = vText(name.replace('"', "'"))
    return address


def _alarm(meeting: Meeting) -> Alarm:
    alarm = Alarm()
    alarm.add("action", "DISPLAY")
    alarm.add("trigger", -REMINDER)
    alarm.add("description", meeting.title)
    return alarm
