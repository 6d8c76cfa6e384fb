"""What a host does while a meeting runs: each step gives the meeting after it, or refuses."""

from __future__ import annotations

from collections.abc import Iterable

from citywise.apps.meeting_mgr.entries import Body, Decided, Entry, ItemChanged, StateChanged
from citywise.apps.meeting_mgr.model import (
    LONGEST_MINUTES,
    Decision,
    Item,
    ItemState,
    MeetingState,
    Person,
)
from citywise.apps.meeting_mgr.record import Change, FaultError, MeetingError, MeetingRecord, Step
from citywise.apps.meeting_mgr.steps.about import quiet
from citywise.backend.app import people

MOST_DECISIONS = 500


def start(record: MeetingRecord, now_ms: int) -> Step:
    """Begin with the first item, or go on with the last of a meeting that was ended
    (`started`)."""
    require(record, "be started", "planned", "ended")
    following = _resumed(record) if record.state == "ended" else _first_open(record)
    agenda = record.meeting.agenda
    if following is not None:
        agenda = _with(agenda, _current(following, now_ms))
    return _step(record, "started", now_ms, agenda, "running")


def next_item(record: MeetingRecord, now_ms: int, seen: str | None = None) -> Step:
    """End the current item and begin the next, if there is one (`item`). Raises `MeetingError`
    `stale` where the current one is not that which was `seen`: somebody has gone on already."""
    require(record, "go on", "running")
    now, following = record.meeting.current(), _first_open(record)
    if seen is not None and (now is None or now.id != seen):
        at = "no item" if now is None else now.id
        raise MeetingError("stale", f"item: found {seen!r}, but the meeting is at {at} by now.")
    if now is None and following is None:
        raise MeetingError("no-item", "There is no item left on the agenda.")
    changed = [_ended_item(now, now_ms)] if now else []
    changed += [_current(following, now_ms)] if following else []
    return _step(record, "item", now_ms, _with(record.meeting.agenda, *changed))


def go_to(record: MeetingRecord, item: str, now_ms: int) -> Step:
    """Go on with another item (`item`).

    One that was done goes on as if it had not been, and what was begun instead has not begun;
    otherwise the current item is done.
    """
    require(record, "go on", "running")
    wanted, now = find_item(record, item), record.meeting.current()
    if now is not None and now.id == wanted.id:
        raise MeetingError("current-item", f"The meeting is at {wanted.title!r} already.")
    is_back = wanted.state == "done"
    changed = [_current(wanted, now_ms)]
    if now is not None:
        changed.append(_open(now) if is_back else _ended_item(now, now_ms))
    return _step(record, "item", now_ms, _with(record.meeting.agenda, *changed))


def extend(record: MeetingRecord, minutes: int, now_ms: int) -> Step:
    """Give the current item so many minutes more (`extended`)."""
    require(record, "be extended", "running")
    now = record.meeting.current()
    if now is None:
        raise MeetingError("no-item", "There is no current item to extend.")
    longer = now.minutes + minutes
    if minutes < 1 or longer > LONGEST_MINUTES:
        detail = f"minutes: found {minutes}; an item takes at most {LONGEST_MINUTES}, this {longer}"
        raise FaultError("too-long", "minutes", detail)
    agenda = _with(record.meeting.agenda, now.model_copy(update={"minutes": longer}))
    return _step(record, "extended", now_ms, agenda)


def end(record: MeetingRecord, now_ms: int, people: Iterable[Person] = ()) -> Step:
    """End the meeting (`ended`); `start` goes on with it. What its `people` were asked, or asked
    for themselves, is over."""
    require(record, "be ended", "running")
    now = record.meeting.current()
    agenda = record.meeting.agenda
    if now is not None:
        agenda = _with(agenda, _ended_item(now, now_ms))
    step = _step(record, "ended", now_ms, agenda, "ended")
    return step._replace(people=_quieted(people))


def cancel(record: MeetingRecord, now_ms: int, people: Iterable[Person] = ()) -> Step:
    """Cancel a meeting that has not begun (`cancelled`); to its `people` it is over as by `end`."""
    require(record, "be cancelled", "planned")
    step = _step(record, "cancelled", now_ms, record.meeting.agenda, "cancelled")
    return step._replace(people=_quieted(people))


def _quieted(people: Iterable[Person]) -> tuple[Person, ...]:
    """Those of some people to whom the end of a meeting makes a difference."""
    return tuple(after for person in people if (after := quiet(person)) != person)


def restore(record: MeetingRecord, now_ms: int) -> Step:
    """A cancelled meeting is planned again (`restored`)."""
    require(record, "be restored", "cancelled")
    return _step(record, "restored", now_ms, record.meeting.agenda, "planned")


def decide(record: MeetingRecord, text: str, item: str | None, now_ms: int) -> Step:
    """Note a decision (`decided`), of an item or in general."""
    require(record, "decide anything", "planned", "running", "ended")
    title = None if item is None else find_item(record, item).title
    decisions = record.meeting.decisions
    if len(decisions) >= MOST_DECISIONS:
        raise MeetingError("too-many", f"{MOST_DECISIONS} decisions are kept of a meeting.")
    noted = Decision(at_ms=now_ms, item=item, title=title, text=text)
    changed = record.with_meeting(now_ms, decisions=(*decisions, noted))
    return Step(changed, "decided", entries=(Entry(now_ms, Decided(index=len(decisions))),))


def new_link(record: MeetingRecord, now_ms: int) -> Step:
    """A new key to join with; the old link leads nowhere (`link`)."""
    renewed = record.with_meeting(now_ms, renewed_ms=now_ms)
    return Step(renewed._replace(join_key=people.secret.random_text()), "link")


# --- Items ---------------------------------------------------------------------------------------


def find_item(record: MeetingRecord, item: str) -> Item:
    """An item of the agenda; raises `FaultError`."""
    for each in record.meeting.agenda:
        if each.id == item:
            return each
    known = ", ".join(each.id for each in record.meeting.agenda) or "none"
    detail = f"item: found {item!r}; the agenda has {known}"
    raise FaultError("unknown-item", "item", detail)


def reopened(agenda: Iterable[Item]) -> tuple[Item, ...]:
    """An agenda of which nothing is going on."""
    return tuple(_open(item) if item.state == "current" else item for item in agenda)


def item_entries(before: Iterable[Item], after: Iterable[Item], now_ms: int) -> list[Entry]:
    """What the minutes tell of items whose state has changed."""
    states: dict[str, ItemState] = {item.id: item.state for item in before}
    bodies: list[Body] = [
        ItemChanged(item=item.id, title=item.title, state=item.state)
        for item in sorted(after, key=lambda item: item.state == "current")
        if states.get(item.id, "open") != item.state
    ]
    return [Entry(now_ms, body) for body in bodies]


def _first_open(record: MeetingRecord) -> Item | None:
    return next((item for item in record.meeting.agenda if item.state == "open"), None)


def _resumed(record: MeetingRecord) -> Item | None:
    """What an ended meeting goes on with: what was done last, or else what is to come."""
    done = [item for item in record.meeting.agenda if item.state == "done"]
    last = max(done, key=lambda item: item.ended_ms or 0, default=None)
    return last if last is not None else _first_open(record)


def _current(item: Item, now_ms: int) -> Item:
    began = item.began_ms if item.state == "done" and item.began_ms is not None else now_ms
    now = {"state": "current", "returns": False, "began_ms": began, "ended_ms": None}
    return item.model_copy(update=now)


def _ended_item(item: Item, now_ms: int) -> Item:
    return item.model_copy(update={"state": "done", "ended_ms": now_ms})


def _open(item: Item) -> Item:
    return item.model_copy(update={"state": "open", "began_ms": None, "ended_ms": None})


def _with(agenda: tuple[Item, ...], *changed: Item) -> tuple[Item, ...]:
    by_id = {item.id: item for item in changed}
    return tuple(by_id.get(item.id, item) for item in agenda)


def require(record: MeetingRecord, what: str, *states: MeetingState) -> None:
    """Raise `MeetingError` `wrong-state` in other states than these."""
    if record.state not in states:
        detail = (
            f"A meeting that is {record.state} cannot {what}; it must be {' or '.join(states)}."
        )
        raise MeetingError("wrong-state", detail)


def _step(
    record: MeetingRecord,
    change: Change,
    now_ms: int,
    agenda: tuple[Item, ...],
    state: MeetingState | None = None,
) -> Step:
    changed = record.with_meeting(now_ms, agenda=agenda)
    entries = item_entries(record.meeting.agenda, agenda, now_ms)
    if state is not None:
        changed = changed._replace(state=state)
        entries.insert(0, Entry(now_ms, StateChanged(state=state)))
    return Step(changed, change, entries=tuple(entries))
