"""Meetings as entries of people's calendars (iCalendar, RFC 5545; invitations, RFC 5546)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Literal, NamedTuple

from icalendar import Alarm, Calendar, Event, vCalAddress, vRecur, vText

from citywise.apps.meeting_mgr.model import Attendee, Item, Meeting
from citywise.apps.meeting_mgr.planned import Span, planned
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.steps import repeating
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

    Times are in UTC, which every calendar shows in its own zone; those of a series are by the
    city's clock, so that it stays at its hour when summer time ends. `t` translates.
    """
    record = invited.record
    entry = new_calendar()
    entry.add("method", method(record))
    for event in _events(invited, now_ms, t):
        entry.add_component(event)
    if invited.record.meeting.series is not None:
        entry.add_missing_timezones()
    return bytes(entry.to_ical())


def new_calendar() -> Calendar:
    """An empty calendar of ours."""
    entry = Calendar()
    entry.add("prodid", PRODUCT)
    entry.add("version", "2.0")
    return entry


def uid(record: MeetingRecord) -> str:
    """By which a calendar knows a meeting again."""
    found = record.meeting.series
    return f"{record.id if found is None else found.id}@citywise"


def described(invited: Invited, now_ms: int, t: Translate) -> str:
    """Agenda and link as lines of text: what takes place at the meeting, and when."""
    record, link = invited.record, invited.link
    lines = [
        f"{times.clock(span.starts_ms)} {_titled(record.meeting, item, t)}"
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


def _titled(meeting: Meeting, item: Item, t: Translate) -> str:
    speaker = meeting.named(item.speaker)
    about = t("papers.minutes", n=item.minutes)
    return f"{item.title} ({about if speaker is None else f'{speaker}, {about}'})"


def _events(invited: Invited, now_ms: int, t: Translate) -> Iterator[Event]:
    """The meeting; of a series the series from now on, and this one where it is another time, or
    alone where it is cancelled."""
    record = invited.record
    found = record.meeting.series
    is_again = found is not None and found.every is not None
    if found is None or not is_again:
        yield _event(invited, now_ms, t)
        return
    if record.state != "cancelled":
        plan = found.plan.model_copy(update={"series": found})
        series = _event(invited._replace(record=record._replace(meeting=plan)), now_ms, t)
        series.add("rrule", vRecur.from_ical(found.rule))
        yield series
    if record.state == "cancelled" or repeating.is_other(record.meeting):
        one = _event(invited, now_ms, t)
        one.add("recurrence-id", times.local(found.plan.starts_ms))
        yield one


def _event(invited: Invited, now_ms: int, t: Translate) -> Event:
    record, meeting = invited.record, invited.record.meeting
    written = times.from_ms if meeting.series is None else times.local
    event = Event()
    event.add("uid", uid(record))
    event.add("sequence", record.version)
    event.add("dtstamp", times.from_ms(now_ms))
    event.add("created", times.from_ms(record.created_ms))
    event.add("last-modified", times.from_ms(record.updated_ms))
    event.add("dtstart", written(meeting.starts_ms))
    event.add("dtend", written(meeting.ends_ms))
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
