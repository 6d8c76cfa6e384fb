"""Calendars of attendees become times when they are busy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.apps.meeting_mgr.busy import merged
from citywise.apps.meeting_mgr.model import Busy
from citywise.apps.meeting_mgr.papers import calendars
from citywise.apps.meeting_mgr.papers.calendar_bounds import CalendarError
from citywise.backend.times import ZONE, from_ms, to_ms

FROM = to_ms(datetime(2026, 10, 19, tzinfo=UTC))
UNTIL = to_ms(datetime(2026, 11, 9, tzinfo=UTC))


def calendar(*events: str, zone: str = "") -> bytes:
    """A calendar of events, each given by its lines."""
    inside = "".join(f"BEGIN:VEVENT\nUID:u{n}\n{one}\nEND:VEVENT\n" for n, one in enumerate(events))
    text = f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:test\n{zone}{inside}END:VCALENDAR\n"
    return text.replace("\n", "\r\n").encode()


def busy(ics: bytes) -> list[str]:
    """Busy times by the city's clock: `10-26 09:00-10:00`."""
    found = calendars.busy(ics, FROM, UNTIL)
    return [f"{shown(one.from_ms)}-{shown(one.until_ms)[6:]}" for one in found]


def shown(ms: int) -> str:
    return from_ms(ms).astimezone(ZoneInfo(ZONE)).strftime("%m-%d %H:%M")


HOUR = (
    "DTSTART;TZID=Europe/Copenhagen:20261020T090000\nDTEND;TZID=Europe/Copenhagen:20261020T100000"
)
CASES = {
    "an event is a busy time": (HOUR, ["10-20 09:00-10:00"]),
    "times in UTC are those of the world": (
        "DTSTART:20261020T070000Z\nDURATION:PT30M",
        ["10-20 09:00-09:30"],
    ),
    "times without a zone are the city's": (
        "DTSTART:20261020T090000\nDTEND:20261020T093000",
        ["10-20 09:00-09:30"],
    ),
    "a whole day is one of the city": (
        "DTSTART;VALUE=DATE:20261021",
        ["10-21 00:00-00:00"],
    ),
    "what is every day at nine stays at nine when summer time ends": (
        HOUR + "\nRRULE:FREQ=DAILY;INTERVAL=6;COUNT=3",
        ["10-20 09:00-10:00", "10-26 09:00-10:00", "11-01 09:00-10:00"],
    ),
    "an end in UTC is understood by the event's own clock": (
        HOUR + "\nRRULE:FREQ=DAILY;UNTIL=20261022T070000Z",
        ["10-20 09:00-10:00", "10-21 09:00-10:00", "10-22 09:00-10:00"],
    ),
    "an end that is a day includes it": (
        HOUR + "\nRRULE:FREQ=DAILY;UNTIL=20261021",
        ["10-20 09:00-10:00", "10-21 09:00-10:00"],
    ),
    "exceptions are left out and extra dates added": (
        HOUR
        + "\nRRULE:FREQ=WEEKLY;COUNT=3\nEXDATE;TZID=Europe/Copenhagen:20261027T090000"
        + "\nRDATE;TZID=Europe/Copenhagen:20261028T140000",
        ["10-20 09:00-10:00", "10-28 14:00-15:00", "11-03 09:00-10:00"],
    ),
    "a rule of weekdays": (
        HOUR + "\nRRULE:FREQ=MONTHLY;BYDAY=-1FR,1MO",
        ["10-20 09:00-10:00", "10-30 09:00-10:00", "11-02 09:00-10:00"],
    ),
    "what is cancelled does not count": (HOUR + "\nSTATUS:CANCELLED", []),
    "what is marked as free does not count": (HOUR + "\nTRANSP:TRANSPARENT", []),
    "what is before or after does not count": ("DTSTART:20260101T090000Z\nDURATION:PT1H", []),
    "what began before is cut": (
        "DTSTART:20261001T000000Z\nDTEND:20261019T080000Z",
        ["10-19 02:00-10:00"],
    ),
    "a moment is no busy time": ("DTSTART:20261020T090000Z", []),
}


@pytest.mark.parametrize(("event", "expected"), CASES.values(), ids=CASES)
def test_events_become_busy_times(event: str, expected: list[str]) -> None:
    assert busy(calendar(event)) == expected


def test_times_that_touch_or_overlap_are_one() -> None:
    ics = calendar(
        "DTSTART:20261020T090000Z\nDURATION:PT1H",
        "DTSTART:20261020T100000Z\nDURATION:PT1H",
        "DTSTART:20261020T093000Z\nDURATION:PT10M",
    )
    assert busy(ics) == ["10-20 11:00-13:00"]


def test_an_occurrence_that_was_moved_counts_where_it_is_now() -> None:
    moved = (
        "UID:series\nRECURRENCE-ID;TZID=Europe/Copenhagen:20261027T090000\n"
        "DTSTART;TZID=Europe/Copenhagen:20261027T150000\nDURATION:PT1H"
    )
    series = f"BEGIN:VEVENT\nUID:series\n{HOUR}\nRRULE:FREQ=WEEKLY;COUNT=3\nEND:VEVENT\n"
    text = calendar(zone=series + f"BEGIN:VEVENT\n{moved}\nEND:VEVENT\n")
    assert busy(text) == ["10-20 09:00-10:00", "10-27 15:00-16:00", "11-03 09:00-10:00"]


def test_a_zone_that_the_calendar_itself_describes_is_understood() -> None:
    zone = (
        "BEGIN:VTIMEZONE\nTZID:Office\nBEGIN:STANDARD\nDTSTART:19700101T000000\n"
        "TZOFFSETFROM:+0300\nTZOFFSETTO:+0300\nEND:STANDARD\nEND:VTIMEZONE\n"
    )
    ics = calendar("DTSTART;TZID=Office:20261020T120000\nDURATION:PT1H", zone=zone)
    assert busy(ics) == ["10-20 11:00-12:00"]


def test_the_busy_times_that_a_server_tells_count_and_the_free_ones_do_not() -> None:
    told = (
        "BEGIN:VFREEBUSY\nUID:f\nDTSTAMP:20261001T000000Z\n"
        "FREEBUSY:20261020T080000Z/PT1H,20261021T080000Z/20261021T090000Z\n"
        "FREEBUSY;FBTYPE=FREE:20261022T080000Z/PT1H\nEND:VFREEBUSY\n"
    )
    assert busy(calendar(zone=told)) == ["10-20 10:00-11:00", "10-21 10:00-11:00"]


NOT_READ = {
    "an empty file": (b"", "no calendar"),
    "another file": (b"\x89PNG\r\n", "no calendar"),
    "a card": (b"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:A\r\nEND:VCARD\r\n", "BEGIN:VCALENDAR"),
    "one that was cut off": (b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n", "no calendar"),
    "an event without a begin": (calendar("SUMMARY:x"), "event without a begin cannot be read"),
    "a begin that is no time": (calendar(HOUR, "DTSTART:soon"), "the event soon cannot be read"),
    "a rule that is true on no day": (
        calendar(HOUR + "\nRRULE:FREQ=DAILY;BYMONTH=13"),
        "BYMONTH that is not from 1 to 12",
    ),
    "a rule that takes for ever": (
        calendar(HOUR + "\nRRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"),
        "its rule has BYMONTHDAY; understood with FREQ=DAILY are",
    ),
    "a rule without sense": (calendar(HOUR + "\nRRULE:FREQ=MONTHLY;BYDAY=99MO"), "cannot be read"),
    "an occurrence of nothing": (calendar(HOUR + "\nRECURRENCE-ID:x"), "cannot be read"),
    "a rule by the second": (calendar(HOUR + "\nRRULE:FREQ=SECONDLY"), "FREQ=SECONDLY"),
    "a rule by minutes of hours": (
        calendar(HOUR + "\nRRULE:FREQ=DAILY;BYMINUTE=1,2"),
        "its rule has BYMINUTE",
    ),
    "every day since long ago": (
        calendar("DTSTART:10000101T090000Z\nDURATION:PT1H\nRRULE:FREQ=DAILY"),
        "more than 20000 times",
    ),
    "more rules than an event has": (
        calendar(HOUR + "\nRRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30|31".replace("|", ",") * 8_000),
        "the event 20261020T090000 has more than 10 rules",
    ),
    "more moments than an event has": (
        calendar(HOUR + "\nEXDATE:" + ",".join(["20261020T090000Z"] * 5_001)),
        "more than 5000 moments",
    ),
    "a rule that is longer than any": (
        calendar(HOUR + "\nRRULE:FREQ=YEARLY;BYYEARDAY=" + ",".join(["1"] * 3_000)),
        "bytes in a rule",
    ),
    "more rules than a calendar has": (
        calendar(*[f"{HOUR}\n" + "RRULE:FREQ=DAILY;COUNT=1\n" * 10] * 501),
        "5010 rules; a calendar may have 5000",
    ),
    "more parts than a calendar has": (
        calendar(HOUR, "BEGIN:VALARM\nEND:VALARM\n" * 20_000),
        "parts; a calendar may have 20000",
    ),
    "more time zones than there are": (
        calendar(HOUR, zone="BEGIN:VTIMEZONE\nEND:VTIMEZONE\n" * 101),
        "101 time zones",
    ),
    "a time zone that changes every second": (
        calendar(
            HOUR,
            zone="BEGIN:VTIMEZONE\nTZID:X\nBEGIN:STANDARD\nDTSTART:19700101T000000\n"
            "RRULE:FREQ=SECONDLY\nEND:STANDARD\nEND:VTIMEZONE\n",
        ),
        "FREQ=YEARLY",
    ),
    "a rule that stands still": (
        calendar(HOUR + "\nRRULE:FREQ=YEARLY;INTERVAL=0;BYMONTH=2;BYMONTHDAY=30"),
        "INTERVAL that is less than 1",
    ),
    "events that repeat too often together": (
        calendar(*["DTSTART:20180101T000000\nDURATION:P8000D\nRRULE:FREQ=DAILY"] * 80),
        "with it, events repeat more than 200000 times",
    ),
    "too much": (b"BEGIN:VCALENDAR" + b"\r\n" * 600_000, "bytes"),
}


@pytest.mark.parametrize(("ics", "expected"), NOT_READ.values(), ids=NOT_READ)
def test_what_cannot_be_read_is_named(ics: bytes, expected: str) -> None:
    with pytest.raises(CalendarError, match=expected):
        calendars.busy(ics, FROM, UNTIL)


def test_more_busy_times_than_are_kept_are_refused() -> None:
    begin = datetime(2026, 10, 20, tzinfo=UTC)
    starts = [(begin + timedelta(minutes=30 * n)).strftime("%Y%m%dT%H%M%SZ") for n in range(501)]
    ics = calendar(*(f"DTSTART:{one}\nDURATION:PT10M" for one in starts))
    with pytest.raises(CalendarError, match=r"501 busy times .* at most 500"):
        calendars.busy(ics, FROM, UNTIL)


@given(st.lists(st.tuples(st.integers(-50, 600), st.integers(1, 90)), max_size=12))
@settings(max_examples=40, deadline=None)
def test_busy_times_are_the_hours_of_the_events_and_no_others(
    events: list[tuple[int, int]],
) -> None:
    """Compared hour by hour with the events themselves."""
    begin = from_ms(FROM)
    lines = [
        f"DTSTART:{begin + timedelta(hours=at):%Y%m%dT%H%M%SZ}\nDURATION:PT{length}H"
        for at, length in events
    ]
    found = calendars.busy(calendar(*lines), FROM, UNTIL)
    hours = [FROM + n * 3_600_000 for n in range((UNTIL - FROM) // 3_600_000)]
    told = {ms for ms in hours for one in found if one.from_ms <= ms < one.until_ms}
    meant = {FROM + (at + n) * 3_600_000 for at, length in events for n in range(length)}
    assert told == meant & set(hours)
    assert all(one.until_ms < other.from_ms for one, other in pairwise(found))


# --- What people have -----------------------------------------------------------------------------

OUTLOOK = (
    "BEGIN:VTIMEZONE\nTZID:Romance Standard Time\nBEGIN:STANDARD\nDTSTART:16010101T030000\n"
    "TZOFFSETFROM:+0200\nTZOFFSETTO:+0100\n"
    "RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10\nEND:STANDARD\n"
    "BEGIN:DAYLIGHT\nDTSTART:16010101T020000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\n"
    "RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3\nEND:DAYLIGHT\nEND:VTIMEZONE\n"
)


def test_years_of_a_life_are_read() -> None:
    """Three thousand events of fifteen years, a third of them with a reminder, and two hundred
    series that began long ago and never end, with exceptions, in a zone as Outlook exports it."""
    zone = "TZID=Romance Standard Time"
    single = [
        f"DTSTART;{zone}:20{11 + n % 15}{1 + n % 12:02}{1 + n % 28:02}T1{n % 7}0000\n"
        f"DURATION:PT45M\nSUMMARY:Meeting {n}\\, with somebody\nDTSTAMP:20110101T000000Z"
        + ("\nBEGIN:VALARM\nACTION:DISPLAY\nTRIGGER:-PT15M\nEND:VALARM" if n % 3 == 0 else "")
        for n in range(3_000)
    ]
    series = [
        f"DTSTART;{zone}:20{11 + n % 15}1005T0{7 + n % 3}0000\nDURATION:PT15M\n"
        f"RRULE:FREQ={'WEEKLY;BYDAY=MO,TU,WE' if n % 2 else 'DAILY'}\n"
        f"EXDATE;{zone}:20251006T0{7 + n % 3}0000"
        for n in range(200)
    ]
    found = busy(calendar(*single, *series, zone=OUTLOOK))
    assert found[:3] == ["10-19 07:00-07:15", "10-19 08:00-08:15", "10-19 09:00-09:15"]
    assert len(found) == 3 * 21


@given(
    st.sampled_from(
        ("DAILY", "WEEKLY", "WEEKLY;BYDAY=MO,TH", "DAILY;BYMONTH=10", "WEEKLY;WKST=SU")
    ),
    st.integers(1, 9),
    st.integers(0, 4_000),
    st.integers(0, 400),
)
@settings(max_examples=60, deadline=None)
def test_what_began_long_ago_is_busy_as_if_it_had_been_followed_from_its_begin(
    rule: str, interval: int, days_ago: int, hours: int
) -> None:
    first = datetime(2026, 10, 25, 9, tzinfo=UTC) - timedelta(days=days_ago)
    lasts = timedelta(hours=hours, minutes=10)
    ics = calendar(
        f"DTSTART:{first:%Y%m%dT%H%M%S}Z\nDURATION:PT{hours}H10M\n"
        f"RRULE:FREQ={rule};INTERVAL={interval}"
    )
    begins = [
        first,
        *rrulestr(f"FREQ={rule};INTERVAL={interval};UNTIL=20261120T000000Z", dtstart=first),
    ]
    spans = [(to_ms(one), lasts // timedelta(milliseconds=1)) for one in begins]
    within = [
        Busy(from_ms=max(one, FROM), until_ms=min(one + length, UNTIL))
        for one, length in spans
        if one + length > FROM and one < UNTIL
    ]
    assert calendars.busy(ics, FROM, UNTIL) == tuple(merged(within))
