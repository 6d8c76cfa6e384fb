"""A host runs a meeting: what each step makes of it, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from citywise.apps.meeting_mgr.entries import ItemChanged, StateChanged
from citywise.apps.meeting_mgr.record import FaultError, MeetingError, MeetingRecord, Step
from citywise.apps.meeting_mgr.steps import running
from tests.meeting_mgr.made import MINUTE_MS, NOW_MS, item, record, states

LATER_MS = NOW_MS + 10 * MINUTE_MS


def started() -> MeetingRecord:
    return running.start(record(), NOW_MS).record


def code(error: pytest.ExceptionInfo[MeetingError]) -> str:
    return error.value.code


def test_a_meeting_starts_with_its_first_item() -> None:
    step = running.start(record(), LATER_MS)
    assert (step.record.state, step.change, step.record.version) == ("running", "started", 2)
    assert states(step) == {"i1": "current", "i2": "open", "i3": "open"}
    assert step.record.meeting.agenda[0].began_ms == LATER_MS
    told = [entry.body for entry in step.entries]
    assert told == [
        StateChanged(state="running"),
        ItemChanged(item="i1", title="Item 1", state="current"),
    ]


def test_a_meeting_without_an_agenda_runs_too() -> None:
    step = running.start(record(agenda=()), NOW_MS)
    assert step.record.state == "running"
    assert running.end(step.record, LATER_MS).record.state == "ended"


def test_the_next_item_comes_when_the_current_one_is_over() -> None:
    step = running.next_item(started(), LATER_MS)
    assert states(step) == {"i1": "done", "i2": "current", "i3": "open"}
    first, second, _third = step.record.meeting.agenda
    assert (first.began_ms, first.ended_ms, second.began_ms) == (NOW_MS, LATER_MS, LATER_MS)


def test_after_the_last_item_nothing_goes_on() -> None:
    step = running.start(record(agenda=(item("i1"),)), NOW_MS)
    step = running.next_item(step.record, LATER_MS)
    assert states(step) == {"i1": "done"}
    with pytest.raises(MeetingError) as error:
        running.next_item(step.record, LATER_MS)
    assert code(error) == "no-item"


def test_going_back_undoes_going_on() -> None:
    before = started()
    after = running.next_item(before, LATER_MS).record
    back = running.go_to(after, "i1", LATER_MS + 1_000).record
    assert back.meeting == before.meeting


def test_going_ahead_ends_the_current_item_and_going_back_undoes_it() -> None:
    before = started()
    step = running.go_to(before, "i3", LATER_MS)
    assert states(step) == {"i1": "done", "i2": "open", "i3": "current"}
    assert [one.id for one in step.record.meeting.in_order()] == ["i1", "i3", "i2"]
    assert running.go_to(step.record, "i1", LATER_MS).record.meeting == before.meeting


def test_an_item_that_was_put_off_can_be_gone_to() -> None:
    off = running.start(record(agenda=(item("i1"), item("i2", state="put_off"))), NOW_MS).record
    assert states(running.go_to(off, "i2", LATER_MS)) == {"i1": "done", "i2": "current"}


def test_nobody_goes_to_the_current_item_or_one_that_is_not_there() -> None:
    with pytest.raises(MeetingError) as error:
        running.go_to(started(), "i1", LATER_MS)
    assert code(error) == "current-item"
    with pytest.raises(FaultError, match="'i9'; the agenda has i1, i2, i3"):
        running.go_to(started(), "i9", LATER_MS)


def test_the_current_item_can_be_extended_but_not_beyond_eight_hours() -> None:
    step = running.extend(started(), 5, LATER_MS)
    assert step.record.meeting.agenda[0].minutes == 25
    with pytest.raises(FaultError, match="at most 480") as error:
        running.extend(started(), 470, LATER_MS)
    assert error.value.field == "minutes"


def test_ending_a_meeting_can_be_undone_by_starting_it_again() -> None:
    before = running.next_item(started(), LATER_MS).record
    ended = running.end(before, LATER_MS + 1)
    assert (ended.record.state, states(ended)["i2"]) == ("ended", "done")
    assert running.start(ended.record, LATER_MS + 9).record.meeting == before.meeting


def test_a_meeting_that_has_not_begun_can_be_cancelled_and_restored() -> None:
    step = running.cancel(record(), NOW_MS)
    assert (step.record.state, step.change) == ("cancelled", "cancelled")
    assert running.restore(step.record, NOW_MS).record.state == "planned"
    with pytest.raises(MeetingError, match="running cannot be cancelled; it must be planned"):
        running.cancel(started(), NOW_MS)


@pytest.mark.parametrize("state", ["planned", "ended", "cancelled"])
def test_only_a_running_meeting_goes_on(state: str) -> None:
    there = record()._replace(state=state)  # type: ignore[arg-type]
    steps: tuple[Callable[[], Step], ...] = (
        lambda: running.next_item(there, NOW_MS),
        lambda: running.go_to(there, "i2", NOW_MS),
        lambda: running.extend(there, 5, NOW_MS),
        lambda: running.end(there, NOW_MS),
    )
    for step in steps:
        with pytest.raises(MeetingError) as error:
            step()
        assert code(error) == "wrong-state"


def test_decisions_are_noted_with_their_item() -> None:
    step = running.decide(started(), "We buy it.", "i1", LATER_MS)
    step = running.decide(step.record, "And soon.", None, LATER_MS)
    told = [(one.item, one.text, one.at_ms) for one in step.record.meeting.decisions]
    assert told == [("i1", "We buy it.", LATER_MS), (None, "And soon.", LATER_MS)]
    with pytest.raises(FaultError):
        running.decide(started(), "What?", "i9", LATER_MS)


def test_a_new_link_has_another_key() -> None:
    assert running.new_link(record(), NOW_MS).record.join_key != record().join_key


def test_going_on_from_an_item_that_is_over_already_is_refused() -> None:
    gone_on = running.next_item(started(), LATER_MS, "i1").record
    with pytest.raises(MeetingError, match="'i1', but the meeting is at i2") as error:
        running.next_item(gone_on, LATER_MS, "i1")
    assert code(error) == "stale"
    last = running.next_item(running.next_item(gone_on, LATER_MS).record, LATER_MS).record
    with pytest.raises(MeetingError) as error:
        running.next_item(last, LATER_MS, "i3")
    assert code(error) == "stale"
