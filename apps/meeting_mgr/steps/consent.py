"""What people agree to share with a meeting: their own word, and when it holds no longer."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from citywise.apps.meeting_mgr.model import OPEN, Ended, Ending, Person, PersonState, Sensor
from citywise.apps.meeting_mgr.record import MeetingError, MeetingRecord, Step
from citywise.apps.meeting_mgr.steps.about import about, news, require_there
from citywise.apps.meeting_mgr.steps.sharing import (
    EARLIEST_MS,
    gone,
    is_too_early,
    told_with,
    without,
)
from citywise.backend.app import times


def share(
    record: MeetingRecord,
    person: Person,
    sensors: tuple[Sensor, ...],
    now_ms: int,
    noted: tuple[Sensor, ...] = (),
) -> Step:
    """Somebody shares these sensors and no others from now on (`sharing`); what was kept of
    others goes. What was ended for them is shared again only where they have `noted` that: they
    may have spoken before they knew. Raises `MeetingError` where the meeting is over, or
    `too-early` where it is not before them yet: then one shares no more than one did."""
    require_there(person)
    ended = tuple(one for one in person.ended if one.sensor not in noted)
    unknown = {one.sensor for one in ended}
    wanted = tuple(name for name in dict.fromkeys(sensors) if name not in unknown)
    if set(wanted) - set(person.sharing):
        require_open(record)
        _require_near(record, now_ms)
    is_noted_alone = ended != person.ended and set(wanted) == set(person.sharing)
    less = frozenset() if is_noted_alone else gone(person, wanted, record.meeting.room)
    state = (
        without(person.state, less, now_ms)
        if less
        else person.state.model_copy(update={"due_ms": now_ms})
    )
    sharing = _sharing(person, wanted, state, ended, now_ms)
    return about(record, "sharing", sharing, now_ms)._replace(forgets=less)


def _sharing(
    person: Person,
    wanted: tuple[Sensor, ...],
    state: PersonState,
    ended: tuple[Ended, ...],
    now_ms: int,
) -> Person:
    """Somebody who shares some sensors from now on, and some of them since long."""
    before = {name: person.shared_ms.get(name, person.joined_ms) for name in person.sharing}
    shared_ms = {name: before.get(name, now_ms) for name in wanted}
    changes = {"sharing": wanted, "shared_ms": shared_ms, "state": state, "ended": ended}
    return person.model_copy(update=changes)


def cease(
    record: MeetingRecord, person: Person, because: Mapping[Sensor, Ending], now_ms: int
) -> Step:
    """Somebody shares some sensors no longer since what they shared them for is another
    (`sharing`): nothing is known of them from now on, and the minutes stay as they are. They are
    told, but where the meeting is over: what goes on after that asks for all anew."""
    wanted = tuple(name for name in person.sharing if name not in because)
    state = without(person.state, gone(person, wanted, record.meeting.room), now_ms)
    told = () if "over" in because.values() else (*person.ended, *_endings(because, now_ms))
    ceased = _sharing(person, wanted, state, told, now_ms)
    return about(record, "sharing", ceased, now_ms, *news(person.state, state))


def _endings(because: Mapping[Sensor, Ending], now_ms: int) -> list[Ended]:
    return [Ended(sensor=name, because=why, at_ms=now_ms) for name, why in because.items()]


def withdraw(
    record: MeetingRecord, person: Person, sensors: Collection[Sensor], now_ms: int
) -> Step:
    """Somebody shares some sensors no longer (`sharing`), and what these told goes, also of who
    has left or shared them before."""
    wanted = tuple(name for name in person.sharing if name not in sensors)
    step = about(record, "sharing", person, now_ms)
    if wanted != person.sharing:
        step = share(record, person, wanted, now_ms)
    less = told_with(sensors, wanted, record.meeting.room)
    return step._replace(forgets=step.forgets | less)


def require_open(record: MeetingRecord) -> None:
    """Raise `MeetingError` where a meeting is over: nothing is shared in it any more."""
    if record.state not in OPEN:
        detail = f"The meeting is {record.state}; nothing is shared in it."
        raise MeetingError("over", detail)


def _require_near(record: MeetingRecord, now_ms: int) -> None:
    if is_too_early(record, now_ms):
        first = times.iso(record.meeting.starts_ms - EARLIEST_MS)
        detail = f"The meeting is not before you yet; share from {first} on, or when it runs."
        raise MeetingError("too-early", detail)
