"""Meetings that are again: when, what each takes over, and what of a change holds for the next."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from icalendar import Calendar
from sqlalchemy import Engine

from citywise.apps.meeting_mgr import reminders, store
from citywise.apps.meeting_mgr.model import Every, Meeting
from citywise.apps.meeting_mgr.papers import invitations
from citywise.apps.meeting_mgr.papers.invitations import Invited, Organizer
from citywise.apps.meeting_mgr.process import again
from citywise.apps.meeting_mgr.process.service import Service
from citywise.apps.meeting_mgr.record import MeetingError, MeetingRecord
from citywise.apps.meeting_mgr.steps import answering, editing, repeating, running
from citywise.apps.meeting_mgr.steps.drafts import Changes, ItemDraft
from citywise.backend.settings import Settings
from citywise.backend.store.outbox import begin
from citywise.backend.times import iso, local, parse_ms, wall_ms
from tests.api.browsers import Browser
from tests.api.test_openapi import assert_described, document_of
from tests.meeting_mgr.hosted import Json, host, join, make, of, people
from tests.meeting_mgr.made import MINUTE_MS, NOW_MS, meeting, record, swapped

DAY_MS = 86_400_000


def again_and_again(starts: str, every: Every = "week", **more: Any) -> MeetingRecord:
    """A meeting of an hour that repeats."""
    starts_ms = parse_ms(starts)
    found = record(starts_ms=starts_ms, ends_ms=starts_ms + 60 * MINUTE_MS, **more)
    series = repeating.series(found.meeting, found.id, every)
    return found._replace(meeting=found.meeting.model_copy(update={"series": series}))


def after(found: MeetingRecord, now_ms: int | None = None) -> MeetingRecord:
    """The one that follows, made when the first is over."""
    steps = repeating.follow(found, found.meeting.ends_ms if now_ms is None else now_ms)
    assert steps is not None
    assert steps[0].record.meeting.series is not None
    assert steps[0].record.meeting.series.next == steps[1].record.id
    return steps[1].record


def begins(found: MeetingRecord, count: int) -> list[str]:
    """When those after it begin, by the city's clock."""
    said = []
    for _ in range(count):
        found = after(found)
        said.append(local(found.meeting.starts_ms).strftime("%a %d.%m. %H:%M"))
    return said


@pytest.mark.parametrize(
    ("every", "starts", "expected"),
    [
        # Summer time begins on 29 March and ends on 25 October 2026.
        ("week", "2026-03-25T09:00:00+01:00", ["Wed 01.04. 09:00", "Wed 08.04. 09:00"]),
        ("week", "2026-10-21T09:00:00+02:00", ["Wed 28.10. 09:00", "Wed 04.11. 09:00"]),
        ("fortnight", "2026-10-12T14:30:00+02:00", ["Mon 26.10. 14:30", "Mon 09.11. 14:30"]),
        ("weekdays", "2026-10-22T08:15:00+02:00", ["Fri 23.10. 08:15", "Mon 26.10. 08:15"]),
        ("weekdays", "2026-10-24T08:15:00+02:00", ["Mon 26.10. 08:15", "Tue 27.10. 08:15"]),
        ("month", "2026-10-13T10:00:00+02:00", ["Tue 10.11. 10:00", "Tue 08.12. 10:00"]),
        ("month", "2026-10-30T10:00:00+01:00", ["Fri 27.11. 10:00", "Fri 25.12. 10:00"]),
    ],
)
def test_the_next_is_at_the_same_hour_of_the_citys_clock(
    every: Every, starts: str, expected: list[str]
) -> None:
    """Also the last Friday of a month, which is the fourth of the next."""
    assert begins(again_and_again(starts, every), 2) == expected


def test_where_the_system_stood_still_the_first_that_is_not_past_is_made() -> None:
    found = again_and_again("2026-03-25T09:00:00+01:00")
    late = after(found, parse_ms("2026-04-15T09:30:00+02:00"))
    assert local(late.meeting.starts_ms).strftime("%d.%m.") == "15.04."  # it is going on
    late = after(found, parse_ms("2026-04-15T10:00:00+02:00"))
    assert local(late.meeting.starts_ms).strftime("%d.%m.") == "22.04."


def test_each_is_a_meeting_of_its_own_with_the_same_link() -> None:
    found = again_and_again("2026-03-25T09:00:00+01:00")
    now_ms = found.meeting.starts_ms
    found = running.extend(running.start(found, now_ms).record, 10, now_ms).record
    found = running.decide(found, "We go on.", None, now_ms).record
    found = running.end(running.next_item(found, now_ms).record, now_ms).record
    following = after(found, now_ms)
    assert following.id != found.id
    assert (following.join_key, following.user) == (found.join_key, found.user)
    assert (following.state, following.proposals) == ("planned", ())
    assert following.version > found.version
    plan = following.meeting
    assert {item.state for item in plan.agenda} == {"open"}
    assert [item.minutes for item in plan.agenda] == [20, 20, 20]
    assert (plan.decisions, plan.moves) == ((), ())
    assert all(one.busy == () for one in plan.attendees)
    assert plan.series is not None
    assert plan.series.id == found.id


def test_another_meeting_takes_an_agenda_as_it_was_planned() -> None:
    """An item was moved to the end, shortened and put off, and another came since."""
    found = running.start(record(), NOW_MS).record
    for number in (1, 2):
        offered = answering.propose(found, swapped(), NOW_MS).record
        found = answering.accept(offered, number, number - 1, NOW_MS).record
    kept = [
        ItemDraft(id=one.id, title=one.title, minutes=one.minutes) for one in found.meeting.agenda
    ]
    items = (*kept, ItemDraft(title="Late", minutes=7))
    found = editing.edit(found, Changes(agenda=items), NOW_MS).record
    assert [(one.title, one.minutes) for one in found.meeting.agenda] != [
        ("Item 1", 20),
        ("Item 2", 20),
        ("Item 3", 20),
        ("Late", 7),
    ]
    taken = repeating.agenda_for_another(found)
    assert [(one.title, one.minutes) for one in taken] == [
        ("Item 1", 20),
        ("Item 2", 20),
        ("Item 3", 20),
        ("Late", 7),
    ]
    assert {(one.state, one.began_ms, one.ended_ms, one.returns) for one in taken} == {
        ("open", None, None, False)
    }


def test_a_hosts_agenda_is_shown_for_another_meeting_with_who_speaks(
    app: Flask, alice: Browser, meeting: Json
) -> None:
    shown = alice.get(f"{of(meeting)}/agenda")
    assert_described(document_of(app), "/api/v1/meetings/{meeting_id}/agenda", "get", shown)
    assert shown.json["title"] == "Business Meeting"
    assert [one["name"] for one in shown.json["speakers"]] == ["Alice Maud Mary", "Bob Simmons"]
    other = make(alice, title="Another", agenda=shown.json["agenda"])
    assert alice.get(f"{of(other)}/agenda").json["agenda"] == shown.json["agenda"]
    assert [item["sensitive"] for item in other["agenda"]] == [False, True]
    bob = join(app, meeting, attendee="a2")
    assert bob.get(f"{of(meeting)}/agenda").status_code == 401
    assert host(app, "Eve").get(f"{of(meeting)}/agenda").status_code == 404


def test_a_change_holds_for_one_or_for_all_that_follow() -> None:
    found = again_and_again("2026-03-25T09:00:00+01:00")
    hour, week = 60 * MINUTE_MS, timedelta(days=7)
    moved: dict[str, Any] = {
        "starts_ms": found.meeting.starts_ms + hour,
        "ends_ms": found.meeting.ends_ms + hour,
    }
    one = editing.edit(found, Changes(title="Once", **moved), 0).record
    assert one.meeting.title == "Once"
    following = after(one).meeting
    assert following.title == found.meeting.title
    assert local(following.starts_ms) == local(found.meeting.starts_ms) + week
    items = (ItemDraft(title="New", minutes=5),)
    both = editing.edit(one, Changes(agenda=items), 0, following=True).record
    following = after(both).meeting
    assert [item.title for item in following.agenda] == ["New"]
    assert following.title == found.meeting.title
    assert local(following.starts_ms) == local(found.meeting.starts_ms) + week
    all_moved = editing.edit(found, Changes(**moved), 0, following=True).record
    assert local(after(all_moved).meeting.starts_ms).hour == 10


def test_another_day_for_all_that_follow_is_another_rule() -> None:
    found = again_and_again("2026-10-13T10:00:00+02:00", "month")
    moved: dict[str, Any] = {
        "starts_ms": found.meeting.starts_ms + DAY_MS,
        "ends_ms": found.meeting.ends_ms + DAY_MS,
    }
    changed = editing.edit(found, Changes(**moved), 0, following=True).record
    assert begins(changed, 2) == ["Wed 11.11. 10:00", "Wed 09.12. 10:00"]


def test_it_can_end_and_begin_again() -> None:
    found = again_and_again("2026-03-25T09:00:00+01:00")
    last = editing.edit(found, Changes(repeats="never"), 0).record
    assert repeating.due_ms(last) is None
    again_ = editing.edit(last, Changes(repeats="fortnight"), 0).record
    assert begins(again_, 1) == ["Wed 08.04. 09:00"]
    assert again_.meeting.series is not None
    assert again_.meeting.series.id == found.id
    over = running.end(running.start(found, 0).record, 0).record
    with pytest.raises(MeetingError):
        editing.edit(over, Changes(repeats="never"), 0)


def test_when_the_next_is_due() -> None:
    found = again_and_again("2026-03-25T09:00:00+01:00")
    assert repeating.due_ms(found) == found.meeting.ends_ms
    cancelled = running.cancel(found, 77).record
    assert repeating.due_ms(cancelled) == 77
    steps = repeating.follow(found, found.meeting.ends_ms)
    assert steps is not None
    assert repeating.due_ms(steps[0].record) is None
    assert repeating.due_ms(record()) is None


# --- Calendars -----------------------------------------------------------------------------------


def entries(found: MeetingRecord) -> tuple[Calendar, list[Any]]:
    """The calendar that people get, and the events in it."""
    invited = Invited(found, Organizer("Ann", "ann@example.org"), "https://city.example/meet/m-x")
    text = invitations.calendar(invited, found.meeting.starts_ms, lambda key, **_more: key)
    calendar = Calendar.from_ical(text)
    assert isinstance(calendar, Calendar)
    return calendar, list(calendar.events)


def test_calendars_get_the_series_by_the_citys_clock() -> None:
    found = again_and_again("2026-10-13T10:00:00+02:00", "month")
    calendar, (event,) = entries(found)
    assert event["RRULE"].to_ical() == b"FREQ=MONTHLY;BYDAY=2TU"
    assert event["DTSTART"].to_ical() == b"20261013T100000"
    zone = event["DTSTART"].params["TZID"]
    assert [one["TZID"] for one in calendar.timezones] == [zone]
    assert event["UID"] == f"{found.id}@citywise"
    _, (following,) = entries(after(found))
    assert following["UID"] == event["UID"]
    assert following["SEQUENCE"] > event["SEQUENCE"]


def test_calendars_get_one_that_is_moved_or_cancelled_as_an_exception() -> None:
    found = again_and_again("2026-10-13T10:00:00+02:00")
    start_ms = found.meeting.starts_ms
    hours: dict[str, Any] = {
        "starts_ms": start_ms + 120 * MINUTE_MS,
        "ends_ms": start_ms + 180 * MINUTE_MS,
    }
    _, (series, one) = entries(editing.edit(found, Changes(**hours), 0).record)
    assert (series["DTSTART"].to_ical(), "RRULE" in one) == (b"20261013T100000", False)
    assert one["DTSTART"].to_ical() == b"20261013T120000"
    assert one["RECURRENCE-ID"].to_ical() == b"20261013T100000"
    assert one["UID"] == series["UID"]
    calendar, (alone,) = entries(running.cancel(found, 0).record)
    assert (calendar["METHOD"], alone["STATUS"]) == ("CANCEL", "CANCELLED")
    assert alone["RECURRENCE-ID"].to_ical() == b"20261013T100000"
    never = editing.edit(found, Changes(repeats="never"), 0).record
    calendar, (whole,) = entries(running.cancel(never, 0).record)
    assert (calendar["METHOD"], "RECURRENCE-ID" in whole) == ("CANCEL", False)


def test_a_meeting_of_no_series_is_in_utc_as_ever() -> None:
    _, (event,) = entries(record())
    assert event["DTSTART"].to_ical().endswith(b"Z")
    assert meeting().series is None


# --- Over HTTP, and in the process ---------------------------------------------------------------


@pytest.fixture
def weekly(alice: Browser) -> Json:
    """A meeting that is every week, and begins now."""
    now_ms = wall_ms() // 1000 * 1000
    ends = iso(now_ms + 60 * MINUTE_MS)
    return make(alice, starts=iso(now_ms), ends=ends, repeats="week")


def act(browser: Browser, found: Json, do: str) -> None:
    assert browser.post(f"{of(found)}/actions", {"do": do}).status_code == 200


def listed(browser: Browser) -> list[Json]:
    return sorted(browser.get("/meetings").json["meetings"], key=lambda one: str(one["starts"]))


def test_the_next_is_made_once_when_one_ends_and_the_link_leads_to_it(
    app: Flask, alice: Browser, weekly: Json, engine: Engine, settings: Settings
) -> None:
    assert weekly["series"] == {"every": "week", "starts": weekly["starts"], "next": None}
    service = Service(settings, engine, threading.Event())
    service._repeat()
    assert len(listed(alice)) == 1
    bob = Browser.of(app)
    key = weekly["join"]["key"]
    assert bob.post(people(weekly), {"key": key, "attendee": "a2"}).status_code == 201
    act(alice, weekly, "start")
    act(alice, weekly, "end")
    for _ in range(2):
        service._repeat()
    first, second = listed(alice)
    assert (first["id"], second["repeats"]) == (weekly["id"], "week")
    shown = alice.get(of(second)).json
    assert parse_ms(shown["starts"]) > parse_ms(weekly["starts"]) + 6 * DAY_MS
    assert alice.get(of(weekly)).json["series"]["next"] == second["id"]
    answer = bob.get(f"{people(weekly)}/me")
    assert answer.json["next"] == second["id"]
    linked = bob.get(f"{of(weekly)}/join?key={key}")
    assert (linked.json["state"], linked.json["next"]) == ("ended", second["id"])
    assert bob.get(f"{of(second)}/join?key={key}").status_code == 200
    document = document_of(app)
    for path, got in (("/people/me", answer), ("/join", linked)):
        assert_described(document, f"/api/v1/meetings/{{meeting_id}}{path}", "get", got)
    answer = alice.get(of(weekly))
    assert_described(document, "/api/v1/meetings/{meeting_id}", "get", answer)
    assert_described(document, "/api/v1/meetings", "get", alice.get("/meetings"))


def test_who_was_removed_with_a_new_link_does_not_find_the_next(
    app: Flask, alice: Browser, weekly: Json, engine: Engine, settings: Settings
) -> None:
    old = weekly["join"]["key"]
    act(alice, weekly, "new_link")
    assert alice.delete(of(weekly)).status_code == 200
    Service(settings, engine, threading.Event())._repeat()
    _, second = listed(alice)
    assert Browser.of(app).get(f"{of(second)}/join?key={old}").status_code == 404


def test_one_is_cancelled_alone_or_with_all_that_follow(
    alice: Browser, weekly: Json, engine: Engine, settings: Settings
) -> None:
    service = Service(settings, engine, threading.Event())
    assert alice.delete(of(weekly)).status_code == 200
    service._repeat()
    _, second = listed(alice)
    answer = alice.delete(f"{of(second)}?following=true")
    assert (answer.json["state"], answer.json["series"]["every"]) == ("cancelled", None)
    service._repeat()
    assert len(listed(alice)) == 2
    body = {"version": answer.json["version"], "state": "planned", "repeats": "week"}
    assert alice.patch(of(second), body).json["series"]["every"] == "week"


def test_a_change_over_http_holds_for_those_that_follow(
    alice: Browser, weekly: Json, engine: Engine, settings: Settings
) -> None:
    body = {"version": weekly["version"], "title": "All", "following": True}
    answer = alice.patch(of(weekly), body)
    one = {"version": answer.json["version"], "title": "Once"}
    assert alice.patch(of(weekly), one).json["title"] == "Once"
    assert alice.delete(of(weekly)).status_code == 200
    Service(settings, engine, threading.Event())._repeat()
    assert [each["title"] for each in listed(alice)] == ["Once", "All"]


def test_the_hosts_reminder_goes_on_and_a_full_host_gets_no_more(
    alice: Browser,
    weekly: Json,
    engine: Engine,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    boxes = store.boxes_of(settings)
    assert alice.user is not None
    with engine.begin() as connection:
        begin(connection)
        found = store.find(connection, boxes, weekly["id"])
        assert found is not None
        reminders.choose(connection, found, alice.user, 30)
        assert again.make_due(connection, boxes, found.meeting.ends_ms) == 1
    _, second = listed(alice)
    assert alice.get(f"{of(second)}/reminder").json["minutes"] == 30
    monkeypatch.setattr(again, "MOST_MEETINGS", 2)
    with engine.begin() as connection:
        begin(connection)
        assert again.make_due(connection, boxes, parse_ms(second["ends"])) == 0
    assert len(listed(alice)) == 2


def test_a_plan_has_no_series_of_its_own() -> None:
    """Or each meeting would hold all before it."""
    found = again_and_again("2026-03-25T09:00:00+01:00")
    third = after(after(found))
    kept = Meeting.model_validate_json(third.meeting.model_dump_json())
    assert kept == third.meeting
    assert kept.series is not None
    assert kept.series.plan.series is None
