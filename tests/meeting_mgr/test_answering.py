"""A host answers what is proposed: accepting, declining, and undoing either."""

from __future__ import annotations

import pytest

from citywise.apps.meeting_mgr.entries import ProposalChanged
from citywise.apps.meeting_mgr.model import Item, Placed, Proposed
from citywise.apps.meeting_mgr.record import MeetingError, MeetingRecord
from citywise.apps.meeting_mgr.steps import answering, running
from tests.meeting_mgr.made import MINUTE_MS, NOW_MS, item, record, swapped

LATER_MS = NOW_MS + 10 * MINUTE_MS


def started() -> MeetingRecord:
    return running.start(record(), NOW_MS).record


def code(error: pytest.ExceptionInfo[MeetingError]) -> str:
    return error.value.code


def proposed(meeting: MeetingRecord | None = None) -> MeetingRecord:
    return answering.propose(meeting or started(), swapped(99), LATER_MS).record


def order(found: MeetingRecord) -> list[tuple[str, int, str]]:
    return [(one.id, one.minutes, one.state) for one in found.meeting.agenda]


def test_a_proposal_is_numbered_and_takes_the_place_of_the_open_one() -> None:
    first = proposed()
    second = answering.propose(first, swapped(), LATER_MS)
    assert [(one.number, one.answer) for one in second.record.proposals] == [
        (1, "outdated"),
        (2, "open"),
    ]
    assert second.record.version == first.version
    nothing = answering.propose(second.record, None, LATER_MS)
    assert (nothing.change, nothing.record.proposals[-1].answer) == ("outdated", "outdated")


def test_only_the_last_proposals_are_kept() -> None:
    found = started()
    for _ in range(answering.MOST_KEPT + 5):
        found = proposed(found)
    assert [one.number for one in found.proposals][::29] == [6, 35]


def test_accepting_makes_the_agenda_as_proposed() -> None:
    step = answering.accept(proposed(), 1, 0, LATER_MS)
    assert order(step.record) == [("i1", 20, "current"), ("i3", 20, "open"), ("i2", 10, "open")]
    answer = step.record.proposals[-1]
    assert (answer.answer, answer.chosen, answer.automatic) == ("accepted", 0, False)
    assert step.entries[0].body == ProposalChanged(
        number=1, proposed="reorder", answer="accepted", option=0
    )


def test_an_alternative_can_be_accepted_instead() -> None:
    step = answering.accept(proposed(), 1, 1, LATER_MS, automatic=True)
    assert order(step.record) == [("i1", 20, "current"), ("i3", 20, "open"), ("i2", 20, "put_off")]
    assert step.record.proposals[-1].automatic
    assert [entry.body.kind for entry in step.entries] == ["proposal", "item"]
    with pytest.raises(MeetingError, match="options 0 to 1, not 2") as error:
        answering.accept(proposed(), 1, 2, LATER_MS)
    assert code(error) == "unknown-option"


def test_undoing_restores_agenda_and_times_exactly() -> None:
    for option in (0, 1):
        before = proposed()
        after = answering.accept(before, 1, option, LATER_MS).record
        undone = answering.undo(after, 1, LATER_MS + 1)
        assert undone.record.meeting == before.meeting
        assert undone.record.state == before.state
        assert undone.record.proposals[-1].answer == "undone"


def test_another_time_for_the_meeting_can_be_accepted_and_undone() -> None:
    before = started()
    tomorrow = NOW_MS + 24 * 60 * MINUTE_MS
    agenda = tuple(
        Placed(item=one.id, starts_ms=tomorrow, minutes=20) for one in before.meeting.agenda
    )
    option = Proposed(agenda=agenda, starts_ms=tomorrow, cost=(0,))
    proposal = swapped().model_copy(update={"kind": "reschedule", "options": (option,)})
    before = answering.propose(before, proposal, LATER_MS).record
    after = answering.accept(before, 1, 0, LATER_MS).record
    assert (after.state, after.meeting.starts_ms) == ("planned", tomorrow)
    assert after.meeting.ends_ms == tomorrow + 60 * MINUTE_MS
    assert [one.state for one in after.meeting.agenda] == ["open"] * 3
    undone = answering.undo(after, 1, LATER_MS).record
    assert (undone.state, undone.meeting) == ("running", before.meeting)


def test_what_changed_since_cannot_be_undone() -> None:
    after = answering.accept(proposed(), 1, 0, LATER_MS).record
    for changed in (
        running.next_item(after, LATER_MS).record,
        running.extend(after, 5, LATER_MS).record,
        running.end(after, LATER_MS).record,
    ):
        with pytest.raises(MeetingError) as error:
            answering.undo(changed, 1, LATER_MS)
        assert code(error) == "changed-since"


def test_what_does_not_concern_the_agenda_does_not_hinder_undoing() -> None:
    after = answering.accept(proposed(), 1, 0, LATER_MS).record
    decided = running.decide(after, "Yes.", None, LATER_MS).record
    undone = answering.undo(decided, 1, LATER_MS).record
    assert undone.meeting.agenda == started().meeting.agenda
    assert len(undone.meeting.decisions) == 1


def test_a_proposal_is_outdated_when_the_agenda_changes() -> None:
    found = running.next_item(proposed(), LATER_MS).record
    assert found.proposals[-1].answer == "outdated"
    with pytest.raises(MeetingError) as error:
        answering.accept(found, 1, 0, LATER_MS)
    assert code(error) == "outdated"


def test_a_proposal_never_drops_or_repeats_an_item() -> None:
    option = swapped().options[0]
    for agenda in (option.agenda[:2], (*option.agenda, option.agenda[0])):
        faulty = option.model_copy(update={"agenda": agenda})
        bad = swapped().model_copy(update={"options": (faulty,)})
        found = answering.propose(started(), bad, LATER_MS).record
        with pytest.raises(MeetingError, match="other items") as error:
            answering.accept(found, 1, 0, LATER_MS)
        assert code(error) == "outdated"


def test_a_proposal_can_be_declined_and_opened_again() -> None:
    declined = answering.decline(proposed(), 1, LATER_MS)
    assert (declined.change, declined.record.proposals[-1].answer) == ("declined", "declined")
    with pytest.raises(MeetingError) as error:
        answering.accept(declined.record, 1, 0, LATER_MS)
    assert code(error) == "answered"
    again = answering.undo(declined.record, 1, LATER_MS).record
    assert again.proposals[-1].answer == "open"
    assert order(answering.accept(again, 1, 0, LATER_MS).record)[-1][0] == "i2"


def test_what_was_declined_is_not_opened_again_beside_another() -> None:
    declined = answering.decline(proposed(), 1, LATER_MS).record
    with pytest.raises(MeetingError) as error:
        answering.undo(proposed(declined), 1, LATER_MS)
    assert code(error) == "changed-since"


def test_an_unknown_proposal_is_said_to_be_so() -> None:
    with pytest.raises(MeetingError) as error:
        answering.decline(started(), 7, LATER_MS)
    assert code(error) == "unknown-proposal"


def test_what_was_put_off_can_come_back_by_a_proposal() -> None:
    agenda: tuple[Item, ...] = (item("i1"), item("i2", state="put_off"))
    option = Proposed(
        agenda=tuple(Placed(item=one.id, starts_ms=NOW_MS, minutes=20) for one in agenda), cost=()
    )
    bad = swapped().model_copy(update={"options": (option,)})
    found = answering.propose(record(agenda=agenda), bad, NOW_MS).record
    assert order(answering.accept(found, 1, 0, NOW_MS).record)[1] == ("i2", 20, "open")
