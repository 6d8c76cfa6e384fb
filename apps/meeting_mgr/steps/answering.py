"""Other agendas: proposed, accepted, declined, undone."""

from __future__ import annotations

from typing import Any, Literal

from citywise.apps.meeting_mgr.entries import Entry, ProposalChanged
from citywise.apps.meeting_mgr.model import (
    OPEN,
    Cause,
    Item,
    Meeting,
    MeetingState,
    Proposal,
    Proposed,
)
from citywise.apps.meeting_mgr.record import Change, MeetingError, MeetingRecord, Step, outdated
from citywise.apps.meeting_mgr.steps.running import item_entries, reopened

MOST_KEPT = 30
"""So many proposals of a meeting are kept, the last ones."""


def propose(record: MeetingRecord, proposal: Proposal | None, now_ms: int) -> Step:
    """Put a proposal to the host in place of an open one (`proposed`), which is outdated then;
    with None there is nothing to propose any more (`outdated`). `number` is given here."""
    kept = outdated(record.proposals)
    if proposal is None:
        return Step(record._replace(proposals=kept, updated_ms=now_ms), "outdated")
    number = 1 + max((one.number for one in kept), default=0)
    numbered = proposal.model_copy(update={"number": number})
    kept = (*kept, numbered)[-MOST_KEPT:]
    entry = Entry(now_ms, ProposalChanged.of(numbered))
    changed = record._replace(proposals=kept, updated_ms=now_ms)
    return Step(changed, "proposed", entries=(entry,))


def accept(
    record: MeetingRecord, number: int, option: int, now_ms: int, *, automatic: bool = False
) -> Step:
    """The agenda, or the times, as an option of an open proposal has them (`accepted`).

    Raises `MeetingError`: `unknown-proposal`, `answered`, `unknown-option`, or `outdated` where
    the agenda has other items than the proposal is about, or the time it names has passed.
    """
    proposal = _open_proposal(record, number, "open")
    if not 0 <= option < len(proposal.options):
        detail = (
            f"Proposal {number} has the options 0 to {len(proposal.options) - 1}, not {option}."
        )
        raise MeetingError("unknown-option", detail)
    if record.state not in OPEN:
        raise MeetingError("wrong-state", f"The agenda of a meeting that is {record.state} stays.")
    chosen = proposal.options[option]
    if any(at is not None and at <= now_ms for at in (chosen.starts_ms, chosen.ends_ms)):
        raise MeetingError("outdated", "What was proposed is past by now; another comes soon.")
    answered = {
        "answer": "accepted",
        "chosen": option,
        "automatic": automatic,
        "before": record.meeting.agenda,
        "before_times": (record.meeting.starts_ms, record.meeting.ends_ms),
        "before_state": record.state,
    }
    meeting, state = _applied(record.meeting, record.state, chosen)
    return _step(record, meeting, state, proposal, answered, "accepted", now_ms)


def decline(record: MeetingRecord, number: int, now_ms: int) -> Step:
    """Say no to an open proposal (`declined`)."""
    return _answered(record, _open_proposal(record, number, "open"), "declined", now_ms)


def undo(record: MeetingRecord, number: int, now_ms: int) -> Step:
    """Agenda and times exactly as they were before a proposal was accepted (`undone`); one that
    was declined is open again (`proposed`).

    Raises `MeetingError` `changed-since` where something else has changed them meanwhile.
    """
    proposal = _open_proposal(record, number, "accepted", "declined")
    if proposal.answer == "declined":
        return _reopen(record, proposal, now_ms)
    return _undone(record, proposal, "undone", now_ms)


def _undone(
    record: MeetingRecord, proposal: Proposal, answer: Literal["undone", "outdated"], now_ms: int
) -> Step:
    before, state = _before(record.meeting, proposal)
    assert proposal.chosen is not None
    after, state_after = _applied(before, state, proposal.options[proposal.chosen])
    if (after.planned(), state_after) != (record.meeting.planned(), record.state):
        raise _changed_since(proposal.number)
    return _step(record, before, state, proposal, {"answer": answer}, "undone", now_ms)


def without_arrival(record: MeetingRecord, attendee: str, now_ms: int) -> Step:
    """A meeting as if nobody had said when one of the invited arrives: what was accepted because
    of it is undone (`undone`), the last first, unless something else has changed agenda or times
    since; what is open because of it is outdated, and no proposal tells of it."""
    entries: list[Entry] = []
    change: Change = "arrival"
    for one in reversed(record.proposals):
        if one.answer == "accepted" and any(_is_arrival(c, attendee) for c in one.causes):
            starts_ms = _before(record.meeting, one)[0].starts_ms
            if starts_ms != record.meeting.starts_ms and starts_ms <= now_ms:
                break  # It cannot begin in the past.
            try:
                step = _undone(record, one, "outdated", now_ms)
            except MeetingError:
                break
            record, change = step.record, "undone"
            entries += step.entries
    kept = tuple(_without_arrival(one, attendee) for one in record.proposals)
    if kept != record.proposals:
        record = record._replace(proposals=kept, updated_ms=now_ms)
    return Step(record, change, entries=tuple(entries))


def _without_arrival(one: Proposal, attendee: str) -> Proposal:
    causes = tuple(cause for cause in one.causes if not _is_arrival(cause, attendee))
    if causes == one.causes:
        return one
    answer = "outdated" if one.answer == "open" else one.answer
    return one.model_copy(update={"causes": causes, "answer": answer})


def _is_arrival(cause: Cause, attendee: str) -> bool:
    return cause.person == attendee and "arriving" in cause.because


def _reopen(record: MeetingRecord, proposal: Proposal, now_ms: int) -> Step:
    """Where agenda or times have changed since, the option no longer fits, or is not the best."""
    later = [one for one in record.proposals if one.number > proposal.number]
    if any(one.answer in ("open", "accepted") for one in later):
        raise _changed_since(proposal.number)
    for option in proposal.options:
        _applied(record.meeting, record.state, option)
    return _answered(record, proposal, "open", now_ms)


def _answered(record: MeetingRecord, proposal: Proposal, answer: str, now_ms: int) -> Step:
    change: Change = "declined" if answer == "declined" else "proposed"
    return _step(record, record.meeting, record.state, proposal, {"answer": answer}, change, now_ms)


def _step(
    record: MeetingRecord,
    meeting: Meeting,
    state: MeetingState,
    proposal: Proposal,
    answer: dict[str, Any],
    change: Change,
    now_ms: int,
) -> Step:
    answered = proposal.model_copy(update=answer)
    others = record.proposals
    version = record.version
    if (meeting.planned(), state) != (record.meeting.planned(), record.state):
        others, version = outdated(others), version + 1
    changed = record._replace(
        meeting=meeting,
        state=state,
        version=version,
        proposals=tuple(answered if one.number == proposal.number else one for one in others),
        updated_ms=now_ms,
    )
    items = item_entries(record.meeting.agenda, meeting.agenda, now_ms)
    return Step(changed, change, entries=(Entry(now_ms, ProposalChanged.of(answered)), *items))


def _open_proposal(record: MeetingRecord, number: int, *answers: str) -> Proposal:
    for one in record.proposals:
        if one.number == number and one.answer in answers:
            return one
        if one.number == number:
            code = "outdated" if one.answer == "outdated" else "answered"
            detail = f"Proposal {number} is {one.answer}; read the meeting again."
            raise MeetingError(code, detail)
    raise MeetingError("unknown-proposal", f"There is no proposal {number} (any more).")


def _changed_since(number: int) -> MeetingError:
    detail = f"Agenda or times have changed since proposal {number} was answered."
    return MeetingError("changed-since", detail)


def _before(meeting: Meeting, proposal: Proposal) -> tuple[Meeting, MeetingState]:
    """The meeting as it was before a proposal was accepted."""
    assert proposal.before is not None
    assert proposal.before_times is not None
    assert proposal.before_state is not None
    starts, ends = proposal.before_times
    before = {"agenda": proposal.before, "starts_ms": starts, "ends_ms": ends}
    return meeting.model_copy(update=before), proposal.before_state


def _applied(
    meeting: Meeting, state: MeetingState, option: Proposed
) -> tuple[Meeting, MeetingState]:
    """A meeting as an option has it: order, lengths of what is shortened, what is put off, and
    when it ends. With another time it is planned anew, and nothing of it goes on. Raises
    `MeetingError` `outdated` where an item would be lost or come twice.
    """
    minutes = {placed.item: placed.minutes for placed in option.agenda}
    named = [*(placed.item for placed in option.agenda), *option.put_off]
    by_id = {item.id: item for item in meeting.agenda}
    ahead = {item.id for item in meeting.agenda if item.state in ("open", "current")}
    possible = ahead | {item.id for item in meeting.agenda if item.state == "put_off"}
    if len(set(named)) < len(named) or not ahead <= set(named) <= possible:
        raise MeetingError("outdated", "The agenda has other items now than were proposed.")
    shortened = {name: minutes[name] for name in option.shortened if name in minutes}
    placed = [_placed(by_id[one.item], shortened.get(one.item)) for one in option.agenda]
    put_off = [by_id[name].model_copy(update=_PUT_OFF) for name in option.put_off]
    done = [item for item in meeting.agenda if item.state == "done"]
    still_off = [i for i in meeting.agenda if i.state == "put_off" and i.id not in named]
    changes: dict[str, Any] = {"agenda": (*done, *placed, *put_off, *still_off)}
    if option.starts_ms is None:
        changes["ends_ms"] = option.ends_ms or meeting.ends_ms
        return meeting.model_copy(update=changes), state
    length = meeting.ends_ms - meeting.starts_ms
    changes |= {"starts_ms": option.starts_ms, "ends_ms": option.starts_ms + length}
    changes["agenda"] = reopened(changes["agenda"])
    return meeting.model_copy(update=changes), "planned"


_PUT_OFF = {"state": "put_off", "returns": True, "began_ms": None, "ended_ms": None}


def _placed(item: Item, minutes: int | None) -> Item:
    """An item in its new place; the current one goes on as long as it was to."""
    if item.state == "current":
        return item
    lasts = {} if minutes is None else {"minutes": minutes}
    return item.model_copy(update={"state": "open", "returns": False, **lasts})
