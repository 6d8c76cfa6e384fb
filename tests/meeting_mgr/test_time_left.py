"""What is done about the time that an agenda has left: items are shortened, the meeting goes on
past its end, and what was put off is taken up again."""

from __future__ import annotations

from typing import Any

import pytest

from citywise.apps.meeting_mgr.agenda import proposed, same_as
from citywise.apps.meeting_mgr.agenda.overrunning import overrun
from citywise.apps.meeting_mgr.agenda.problem import least_minutes, parts, problem
from citywise.apps.meeting_mgr.model import (
    Busy,
    Cause,
    Item,
    Meeting,
    Person,
    PlannedItem,
    Proposal,
    Proposed,
    Room,
    Rules,
)
from citywise.apps.meeting_mgr.process.suggesting import answers, room_until_ms
from citywise.apps.meeting_mgr.record import MeetingError, MeetingRecord
from citywise.apps.meeting_mgr.steps import answering
from citywise.apps.meeting_mgr.steps.drafts import Changes, ItemDraft
from citywise.apps.meeting_mgr.steps.editing import edit
from tests.meeting_mgr.agendas import MINUTE, STARTS, person
from tests.meeting_mgr.three import ANN, BOB, CID, FIRST, NOISY, NOW, SECOND, THIRD, joined, meeting

PLENTY_S = 60.0


def found(about: Meeting, people: list[Person] | None = None, now_ms: int = NOW) -> Proposal | None:
    return proposed(about, joined() if people is None else people, now_ms, PLENTY_S)


def best(about: Meeting, people: list[Person] | None = None, now_ms: int = NOW) -> Proposed:
    proposal = found(about, people, now_ms)
    assert proposal is not None
    return proposal.options[0]


def minutes(option: Proposed) -> dict[str, int]:
    return {placed.item: placed.minutes for placed in option.agenda}


def states(about: Meeting) -> dict[str, str]:
    return {item.id: item.state for item in about.agenda}


# --- Shorter --------------------------------------------------------------------------------------


def test_an_item_is_shortened_by_no_more_than_is_needed() -> None:
    option = best(meeting(FIRST, SECOND, THIRD, minutes=27))
    assert minutes(option) == {"i1": 10, "i2": 7, "i3": 10}
    assert option.cost == (0, 0, 1, 3, 0, 0)


def test_one_item_is_shortened_rather_than_two_by_less() -> None:
    third = THIRD.model_copy(update={"least_minutes": 8})
    option = best(meeting(FIRST, SECOND, third, minutes=26))
    assert minutes(option) == {"i1": 10, "i2": 6, "i3": 10}


def test_two_items_are_shortened_where_one_is_not_enough() -> None:
    third = THIRD.model_copy(update={"least_minutes": 8})
    option = best(meeting(FIRST, SECOND, third, minutes=24))
    assert option.shortened == ("i2", "i3")
    assert sum(minutes(option).values()) == 24


@pytest.mark.parametrize("spare", [0, 1, 2, 3, 7, 8, 100, 479])
def test_sums_of_parts_are_all_that_an_item_can_do_without(spare: int) -> None:
    item = Item(id="i1", title="Any", minutes=spare + 1, least_minutes=1)
    sums = {0}
    for part in parts(item):
        sums |= {part + other for other in sums}
    assert sums == set(range(spare + 1))
    assert least_minutes(item) == 1


# --- Past the end ---------------------------------------------------------------------------------


def past_end(proposal: Proposal | None) -> Proposed | None:
    assert proposal is not None
    return next((one for one in proposal.options if one.ends_ms is not None), None)


def test_a_meeting_can_go_on_past_its_end_instead_of_dropping_anything() -> None:
    option = past_end(found(meeting(FIRST, SECOND, THIRD, minutes=25)))
    assert option is not None
    assert option.ends_ms == STARTS + 30 * MINUTE
    assert minutes(option) == {"i1": 10, "i2": 10, "i3": 10}
    assert (option.put_off, option.shortened) == ((), ())


def test_it_does_not_where_nothing_would_be_dropped() -> None:
    assert past_end(found(meeting(FIRST, SECOND, THIRD), joined(NOISY))) is None


def test_a_meeting_past_its_end_offers_to_go_on_beside_other_times() -> None:
    second = SECOND.model_copy(update={"speaker": None})
    done = FIRST.model_copy(update={"state": "done", "ended_ms": NOW})
    proposal = found(meeting(done, second, THIRD, minutes=10), now_ms=STARTS + 11 * MINUTE)
    option = past_end(proposal)
    assert proposal is not None
    assert proposal.kind == "reschedule"
    assert option is not None
    assert option.ends_ms == STARTS + 31 * MINUTE


@pytest.mark.parametrize(
    ("who", "begins", "is_offered"),
    [(ANN, 24, False), (BOB, 29, False), (ANN, 30, True), (CID, 26, True)],
)
def test_who_is_needed_must_be_free_by_their_calendars(
    who: object, begins: int, is_offered: bool
) -> None:
    busy = Busy(from_ms=STARTS + begins * MINUTE, until_ms=STARTS + 60 * MINUTE)
    cid = CID.model_copy(update={"required": False})
    invited = [
        one.model_copy(update={"busy": (busy,)}) if one.id == getattr(who, "id", "") else one
        for one in (ANN, BOB, cid)
    ]
    about = meeting(FIRST, SECOND, THIRD, minutes=25, attendees=tuple(invited))
    assert (overrun(about, problem(about, joined(), NOW), NOW) is not None) == is_offered


def test_the_room_must_be_free() -> None:
    about = meeting(FIRST, SECOND, THIRD, minutes=25)
    rest = problem(about, joined(), NOW)
    assert overrun(about, rest, NOW, STARTS + 30 * MINUTE) is not None
    assert overrun(about, rest, NOW, STARTS + 29 * MINUTE) is None
    proposal = proposed(about, joined(), NOW, PLENTY_S, room_until_ms=STARTS + 29 * MINUTE)
    assert past_end(proposal) is None


def test_the_room_is_free_until_the_next_meeting_of_the_same_host_there() -> None:
    ends_ms = STARTS + 25 * MINUTE
    about = meeting(minutes=25)
    mine = MeetingRecord("m-x", "u-x", "running", 1, about, (), "key", 0, 0)
    next_one = about.model_copy(update={"starts_ms": ends_ms + 1, "ends_ms": ends_ms + MINUTE})
    later = next_one.model_copy(update={"starts_ms": ends_ms + 9})
    elsewhere = next_one.model_copy(update={"room": Room(name="C")})
    planned = mine._replace(id="m-y", state="planned", meeting=next_one)
    not_in_the_way = [
        mine,
        planned._replace(user="u-y"),
        planned._replace(state="ended"),
        planned._replace(meeting=elsewhere),
    ]
    assert room_until_ms(mine, not_in_the_way) is None
    both = [*not_in_the_way, planned._replace(meeting=later), planned]
    assert room_until_ms(mine, both) == ends_ms + 1


def test_nobody_is_asked_to_stay_for_more_than_an_hour() -> None:
    for lasts, is_offered in ((60, True), (61, False)):
        long = Item(id="i2", title="Long", minutes=lasts)
        about = meeting(FIRST, long, minutes=10)
        assert (overrun(about, problem(about, joined(), NOW), NOW) is not None) == is_offered


def test_what_was_put_off_does_not_make_a_meeting_longer() -> None:
    off = SECOND.model_copy(update={"state": "put_off", "returns": True})
    about = meeting(FIRST, off, THIRD, minutes=18)
    longer = overrun(about, problem(about, joined(), NOW), NOW)
    assert longer is not None
    assert [item.id for item in longer.items] == ["i3"]
    assert longer.ends_ms == STARTS + 20 * MINUTE


def test_going_on_past_the_end_can_be_accepted_and_undone() -> None:
    about = meeting(FIRST, SECOND, THIRD, minutes=25)
    proposal = found(about)
    assert proposal is not None
    option = next(n for n, one in enumerate(proposal.options) if one.ends_ms is not None)
    record = MeetingRecord("m-x", "u-x", "running", 1, about, (), "key", 0, 0)
    after = answering.accept(answering.propose(record, proposal, NOW).record, 1, option, NOW)
    changed = after.record.meeting
    assert changed.ends_ms == STARTS + 30 * MINUTE
    assert changed.agenda == about.agenda
    assert found(changed) is None
    assert answering.undo(after.record, 1, NOW).record.meeting == about


def test_a_meeting_does_not_end_before_that_is_accepted() -> None:
    about = meeting(FIRST, SECOND, THIRD, minutes=25)
    proposal = found(about)
    assert proposal is not None
    option = next(n for n, one in enumerate(proposal.options) if one.ends_ms is not None)
    record = MeetingRecord("m-x", "u-x", "running", 1, about, (), "key", 0, 0)
    put = answering.propose(record, proposal, NOW).record
    with pytest.raises(MeetingError, match="is past by now") as error:
        answering.accept(put, 1, option, STARTS + 30 * MINUTE)
    assert error.value.code == "outdated"


# --- Taken up again -------------------------------------------------------------------------------


def put_off(*items: Item) -> tuple[Item, ...]:
    return tuple(one.model_copy(update={"state": "put_off", "returns": True}) for one in items)


def test_what_a_proposal_put_off_is_taken_up_when_its_speaker_can_speak_again() -> None:
    about = meeting(FIRST, THIRD, *put_off(SECOND))
    assert found(about, joined(NOISY)) is None
    proposal = found(about)
    assert proposal is not None
    assert (proposal.kind, proposal.options[0].taken_up) == ("take_up", ("i2",))
    assert proposal.causes == (Cause(item="i2", person=None, because=("again",)),)
    assert list(minutes(proposal.options[0])) == ["i1", "i3", "i2"]
    assert (proposal.options[0].moved, proposal.options[0].put_off) == ((), ())


def test_what_the_host_put_off_stays_so() -> None:
    off = SECOND.model_copy(update={"state": "put_off"})
    assert found(meeting(FIRST, THIRD, off)) is None


def test_it_stays_put_off_while_its_speaker_is_away_though_that_may_be_over_by_then() -> None:
    ann, bob, cid = joined()
    long = THIRD.model_copy(update={"minutes": 20})
    about = meeting(FIRST, long, *put_off(SECOND))
    gone = bob.model_copy(update={"left_ms": NOW})
    assert found(about, [ann, gone, cid]) is None
    assert found(about, [ann, gone, cid, person(5, "a1")]) is not None


def test_nothing_is_shortened_or_put_off_for_its_sake() -> None:
    third = THIRD.model_copy(update={"least_minutes": 5})
    assert found(meeting(FIRST, third, *put_off(SECOND), minutes=29)) is None
    assert found(meeting(FIRST, third, *put_off(SECOND), minutes=30)) is not None
    off = put_off(SECOND.model_copy(update={"minutes": 15}))
    assert found(meeting(FIRST, THIRD, *off, minutes=25)) is None


def test_with_an_item_comes_what_depends_on_it() -> None:
    fourth = THIRD.model_copy(update={"id": "i4", "after": ("i2",)})
    option = best(meeting(FIRST, THIRD, *put_off(SECOND, fourth)))
    assert option.taken_up == ("i2", "i4")
    short = best(meeting(FIRST, THIRD, *put_off(SECOND, fourth), minutes=35))
    assert short.taken_up == ("i2",)


def test_an_item_that_waits_for_what_was_put_off_comes_after_it() -> None:
    third = THIRD.model_copy(update={"after": ("i2",)})
    option = best(meeting(FIRST, third, *put_off(SECOND)))
    assert list(minutes(option)) == ["i1", "i2", "i3"]


def test_what_is_put_off_when_somebody_leaves_is_taken_up_when_they_come_back() -> None:
    third = THIRD.model_copy(update={"speaker": "a1"})
    fourth = THIRD.model_copy(update={"id": "i4"})
    about = meeting(FIRST, SECOND, third, fourth, rules=Rules(absence_minutes=40))
    record = MeetingRecord("m-x", "u-x", "running", 1, about, (), "key", 0, 0)
    ann, bob, cid = joined()
    without_bob = [ann, bob.model_copy(update={"left_ms": NOW}), cid]
    for people, expected in ((without_bob, "put_off"), ([*without_bob, person(5, "a1")], "open")):
        proposal = found(record.meeting, people)
        assert proposal is not None
        proposed_now = answering.propose(record, proposal, NOW).record
        number = proposed_now.proposals[-1].number
        record = answering.accept(proposed_now, number, 0, NOW).record
        now = {"i1": "current", "i2": expected, "i3": expected, "i4": "open"}
        assert states(record.meeting) == now
    assert not any(item.returns for item in record.meeting.agenda)
    undone = answering.undo(record, 2, NOW).record
    assert [item.returns for item in undone.meeting.agenda] == [False, False, True, True]


def test_it_is_taken_up_without_asking_also_where_nothing_else_is_left() -> None:
    rules = Rules(apply_automatically=("take_up",))
    about = meeting(FIRST, *put_off(SECOND, THIRD), rules=rules)
    record = MeetingRecord("m-x", "u-x", "running", 1, about, (), "key", 0, 0)
    *_before, last = answers(record, found(about), NOW)
    assert states(last.record.meeting) == {"i1": "current", "i2": "open", "i3": "open"}


@pytest.mark.parametrize(("kinds", "expected"), [(("take_up",), "open"), (("put_off",), "put_off")])
def test_it_is_taken_up_without_asking_only_where_the_host_has_said_so(
    kinds: tuple[str, ...], expected: str
) -> None:
    rules = Rules.model_validate({"apply_automatically": kinds})
    about = meeting(FIRST, THIRD, *put_off(SECOND), rules=rules)
    record = MeetingRecord("m-x", "u-x", "running", 1, about, (), "key", 0, 0)
    *_before, last = answers(record, found(about), NOW)
    assert states(last.record.meeting)["i2"] == expected


def test_what_the_host_opens_and_puts_off_again_is_theirs() -> None:
    about = meeting(FIRST, THIRD, *put_off(SECOND))
    record = MeetingRecord("m-x", "u-x", "running", 1, about, (), "key", 0, 0)
    for off, returns in ((True, True), (False, False), (True, False)):
        drafts = [ItemDraft(id=item.id, put_off=off if item.id == "i2" else None, **planned(item))
                  for item in record.meeting.agenda]  # fmt: skip
        record = edit(record, Changes(agenda=tuple(drafts)), NOW).record
        assert record.meeting.agenda[2].returns == returns
        assert record.meeting.agenda[2].state == ("put_off" if off else "open")


def planned(item: Item) -> dict[str, Any]:
    """What a host says of an item."""
    return {name: getattr(item, name) for name in PlannedItem.model_fields}


def test_a_host_who_declines_is_not_asked_again() -> None:
    proposal = found(meeting(FIRST, THIRD, *put_off(SECOND)))
    assert proposal is not None
    assert same_as(proposal, proposal.model_copy(update={"answer": "declined"}))


# --- Some seconds late ----------------------------------------------------------------------------


@pytest.mark.parametrize("late_ms", [1, 2_000, 59_999])
def test_what_is_less_than_a_minute_costs_no_item(late_ms: int) -> None:
    first = FIRST.model_copy(update={"began_ms": STARTS + late_ms})
    full = meeting(first, SECOND, THIRD, minutes=30)
    assert found(full, now_ms=STARTS + late_ms) is None
    waiting = meeting(FIRST.model_copy(update={"state": "done"}), THIRD, minutes=10)
    assert found(waiting, now_ms=STARTS + late_ms) is None


def test_a_minute_does() -> None:
    first = FIRST.model_copy(update={"began_ms": STARTS + MINUTE})
    proposal = found(meeting(first, SECOND, THIRD, minutes=30), now_ms=STARTS + MINUTE)
    assert proposal is not None
    assert proposal.kind == "shorten"
    late = past_end(proposal)
    assert late is not None
    assert late.ends_ms == STARTS + 31 * MINUTE


@pytest.mark.parametrize(("late_ms", "is_missed"), [(59_999, False), (60_000, True)])
def test_who_is_busy_from_its_end_on_stays_for_less_than_a_minute_more(
    late_ms: int, is_missed: bool
) -> None:
    busy = Busy(from_ms=STARTS + 30 * MINUTE, until_ms=STARTS + 60 * MINUTE)
    ann = ANN.model_copy(update={"busy": (busy,)})
    first = FIRST.model_copy(update={"began_ms": STARTS + late_ms})
    about = meeting(first, SECOND, THIRD, attendees=(ann, BOB, CID))
    assert (found(about, now_ms=STARTS + late_ms) is not None) == is_missed


def test_a_meeting_that_goes_on_past_its_end_ends_less_than_a_minute_before_all_is_done() -> None:
    first = FIRST.model_copy(update={"began_ms": STARTS + 20_000})
    about = meeting(first, SECOND, THIRD, minutes=25)
    option = past_end(found(about))
    assert option is not None
    assert option.ends_ms == STARTS + 30 * MINUTE
    assert found(about.model_copy(update={"ends_ms": option.ends_ms})) is None


# --- All at once ----------------------------------------------------------------------------------


def test_what_there_is_time_for_once_something_else_is_put_off_comes_with_that() -> None:
    short = Item(id="i4", title="Short", minutes=5)
    about = meeting(FIRST, SECOND, *put_off(short), minutes=25, rules=Rules(absence_minutes=40))
    proposal = found(about, joined(NOISY))
    assert proposal is not None
    assert proposal.kind == "put_off"
    assert (proposal.options[0].put_off, proposal.options[0].taken_up) == (("i2",), ("i4",))
    assert [(one.item, one.because) for one in proposal.causes] == [
        ("i2", ("noise",)),
        ("i4", ("again",)),
    ]
