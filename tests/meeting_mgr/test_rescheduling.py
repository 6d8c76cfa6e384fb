"""Another time for a meeting to which somebody does not come."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from random import Random
from zoneinfo import ZoneInfo

import pytest

from citywise.apps.meeting_mgr.agenda import proposed as proposed_in_time
from citywise.apps.meeting_mgr.agenda import same_as
from citywise.apps.meeting_mgr.agenda.rescheduling import Slot, slots
from citywise.apps.meeting_mgr.model import Attendee, Busy, Item, Meeting, Person, Proposal, Room
from tests.meeting_mgr.agendas import MINUTE, off, person

ZONE = ZoneInfo("Europe/Copenhagen")
MONDAY = datetime(2026, 10, 19, 10, tzinfo=ZONE)
"""The clocks are put back on the Sunday that follows."""
HOUR = 60 * MINUTE
proposed = partial(proposed_in_time, limits_s=60.0)


def ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def busy(begins: datetime, minutes: int) -> Busy:
    return Busy(from_ms=ms(begins), until_ms=ms(begins) + minutes * MINUTE)


def meeting(*calendars: tuple[Busy, ...], minutes: int = 60, optional: int = 0) -> Meeting:
    """A meeting on Monday at ten; of the invited the last few are optional."""
    items = (
        Item(id="i1", title="First", speaker="a0", minutes=minutes // 2),
        Item(id="i2", title="Second", minutes=minutes // 2),
    )
    invited = tuple(
        Attendee(
            id=f"a{n}", name=f"A{n}", required=n < len(calendars) - optional, busy=calendars[n]
        )
        for n in range(len(calendars))
    )
    starts_ms = ms(MONDAY)
    ends_ms = starts_ms + minutes * MINUTE
    return Meeting(
        title="Any",
        room=Room(name="B"),
        starts_ms=starts_ms,
        ends_ms=ends_ms,
        attendees=invited,
        agenda=items,
    )


# --- Slots ----------------------------------------------------------------------------------------


def tried(about: Meeting, now_ms: int) -> list[Slot]:
    """All quarters of an hour of two weeks, each tried with each calendar."""
    length_ms = about.ends_ms - about.starts_ms
    midnight = datetime.fromtimestamp(now_ms / 1000, ZONE).replace(hour=0, minute=0, second=0)
    found = []
    for quarter in range(14 * 24 * 4):
        begins = (midnight + timedelta(minutes=15 * quarter)).replace(microsecond=0)
        from_ms = ms(begins)
        ends = datetime.fromtimestamp((from_ms + length_ms) / 1000, ZONE)
        is_working = begins.weekday() < 5 and begins.hour >= 8 and ends.date() == begins.date()
        if not is_working or (ends.hour, ends.minute, ends.second) > (18, 0, 0):
            continue
        if from_ms < now_ms + 30 * MINUTE or from_ms == about.starts_ms:
            continue
        missing = [
            a
            for a in about.attendees
            if any(b.from_ms < from_ms + length_ms and from_ms < b.until_ms for b in a.busy)
        ]
        if not any(a.required for a in missing):
            found.append(Slot(from_ms, len(missing)))
    return sorted(found, key=lambda slot: (slot.missing, slot.starts_ms))


@pytest.mark.parametrize("seed", range(12))
def test_slots_are_those_that_trying_all_finds(seed: int) -> None:
    random = Random(seed)
    calendars = [
        tuple(
            busy(
                MONDAY + timedelta(minutes=random.randrange(-300, 16 * 24 * 60)),
                random.choice([10, 45, 90, 400, 3000]),
            )
            for _ in range(random.choice([0, 10, 40]))
        )
        for _ in range(6)
    ]
    about = meeting(*calendars, minutes=random.choice([20, 60, 95, 240]), optional=3)
    now_ms = ms(MONDAY) + random.randrange(-HOUR, 10 * HOUR)
    every, found = tried(about, now_ms), slots(about, now_ms)
    assert set(found) <= set(every)
    assert found[:1] == tuple(every[:1])
    length_ms = about.ends_ms - about.starts_ms
    chosen: list[Slot] = []
    for slot in every:
        if all(abs(slot.starts_ms - other.starts_ms) >= length_ms for other in chosen):
            chosen.append(slot)
    assert list(found) == chosen[:3]


def test_slots_are_in_working_hours_of_the_city_also_after_the_clocks_change() -> None:
    week = busy(MONDAY, 6 * 24 * 60)
    (first, *_others) = slots(meeting((week,)), ms(MONDAY))
    assert first.starts_ms == ms(datetime(2026, 10, 26, 8, tzinfo=ZONE))


def test_there_is_no_slot_for_a_meeting_longer_than_a_working_day() -> None:
    assert slots(meeting((), minutes=601), ms(MONDAY)) == ()


# --- When another time is proposed ----------------------------------------------------------------


def test_a_calendar_that_is_full_all_the_time_moves_the_meeting() -> None:
    about = meeting((), (busy(MONDAY - timedelta(minutes=5), 70),), ())
    proposal = proposed(about, [], ms(MONDAY) - 24 * HOUR)
    assert proposal is not None
    assert proposal.kind == "reschedule"
    (cause,) = proposal.causes
    assert (cause.item, cause.person, cause.because) == (None, "a1", ("busy",))
    assert len(proposal.options) == 3
    for option in proposal.options:
        assert option.starts_ms is not None
        assert [placed.item for placed in option.agenda] == ["i1", "i2"]
        assert option.agenda[1].starts_ms == option.starts_ms + HOUR // 2


def everybody_but(*missing: int, many: int = 4) -> list[Person]:
    return [person(n, f"a{n}") for n in range(many) if n not in missing]


def test_who_is_not_there_in_time_is_late_and_then_not_expected_any_more() -> None:
    about = meeting((), (), (), ())
    soon = proposed(about, everybody_but(1), ms(MONDAY) + 14 * MINUTE)
    assert soon is None or soon.kind != "reschedule"
    proposal = proposed(about, everybody_but(1), ms(MONDAY) + 15 * MINUTE)
    assert proposal is not None
    assert proposal.kind == "reschedule"
    assert [(cause.person, cause.because) for cause in proposal.causes] == [("a1", ("late",))]


def test_who_left_is_waited_for_before_another_time_is_proposed() -> None:
    now_ms = ms(MONDAY) + 20 * MINUTE
    people = [*everybody_but(1), person(1, "a1", left_ms=now_ms - 14 * MINUTE)]
    waiting = proposed(meeting((), (), (), ()), people, now_ms)
    assert waiting is None or waiting.kind != "reschedule"
    gone = proposed(meeting((), (), (), ()), people, now_ms + MINUTE)
    assert gone is not None
    assert [cause.because for cause in gone.causes] == [("away",)]


def test_an_optional_person_does_not_move_a_meeting() -> None:
    about = meeting((), (), (), (), optional=1)
    proposal = proposed(about, everybody_but(3), ms(MONDAY) + 15 * MINUTE)
    assert proposal is None or proposal.kind != "reschedule"


def deaf(*who: int) -> list[Person]:
    state = {"abilities": off("listen", "speak")}
    return [person(n, f"a{n}", **({"state": state} if n in who else {})) for n in range(4)]


def test_half_of_the_required_who_can_attend_nothing_move_a_meeting() -> None:
    about = meeting((), (), (), (), minutes=20)
    one = proposed(about, deaf(1), ms(MONDAY))
    assert one is None or one.kind != "reschedule"
    two = proposed(about, deaf(1, 2), ms(MONDAY))
    assert two is not None
    assert two.kind == "reschedule"
    assert [(cause.person, cause.lacks) for cause in two.causes] == [
        ("a1", ("listen",)),
        ("a2", ("listen",)),
    ]


def refused(proposal: Proposal) -> Proposal:
    return proposal.model_copy(update={"answer": "declined"})


def test_a_host_who_does_not_want_another_time_is_told_what_can_be_done_at_this_one() -> None:
    about = meeting((), (), (), (), minutes=60)
    now_ms = ms(MONDAY) + 15 * MINUTE
    first = proposed(about, everybody_but(0), now_ms)
    assert first is not None
    again = proposed(about, everybody_but(0), now_ms, refused=[refused(first)])
    assert again is not None
    assert again.kind != "reschedule"
    assert not same_as(again, first)


def test_where_nobody_is_there_another_time_is_the_first_proposal() -> None:
    about, now_ms = meeting((), (), ()), ms(MONDAY) + MINUTE // 2
    gone = [person(n, f"a{n}", left_ms=now_ms) for n in range(3)]
    proposal = proposed(about, gone, now_ms)
    assert proposal is not None
    assert proposal.kind == "reschedule"
    assert {cause.because for cause in proposal.causes} == {("away",)}
    one_there = proposed(about, [person(0, "a0"), *gone[1:]], now_ms)
    assert one_there is None or one_there.kind != "reschedule"


def test_where_required_people_could_attend_nothing_that_is_left_another_time_comes_first() -> None:
    about, now_ms = meeting((), (), ()), ms(MONDAY) + MINUTE
    there = [person(0, "a0"), *(person(n, f"a{n}", left_ms=now_ms) for n in (1, 2))]
    proposal = proposed(about, there, now_ms)
    assert proposal is not None
    assert proposal.kind == "reschedule"
    assert [cause.person for cause in proposal.causes] == ["a1", "a2"]
    again = proposed(about, there, now_ms, refused=[refused(proposal)])
    assert again is not None
    assert (again.kind, again.options[0].put_off) == ("put_off", ("i2",))


def test_where_all_would_be_put_off_another_time_is_proposed_instead() -> None:
    about, now_ms = meeting((), (), ()), ms(MONDAY) + HOUR + MINUTE
    first = about.agenda[0].model_copy(update={"state": "done", "began_ms": ms(MONDAY)})
    overrun = about.model_copy(update={"agenda": (first, about.agenda[1])})
    proposal = proposed(overrun, everybody_but(many=3), now_ms)
    assert proposal is not None
    assert (proposal.kind, proposal.causes[0].because) == ("reschedule", ("late",))
    assert [placed.item for placed in proposal.options[0].agenda] == ["i2"]
    again = proposed(overrun, everybody_but(many=3), now_ms, refused=[refused(proposal)])
    assert again is not None
    assert same_as(again, refused(proposal))
