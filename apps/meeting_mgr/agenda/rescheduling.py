"""When else a meeting could be: slots that its people's calendars leave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import cache

from citywise.apps.meeting_mgr import RULES
from citywise.apps.meeting_mgr.agenda.planning import told
from citywise.apps.meeting_mgr.busy import merged
from citywise.apps.meeting_mgr.model import Attendee, Meeting
from citywise.apps.meeting_mgr.planned import MINUTE_MS
from citywise.backend.app import times
from citywise.reasoning import WindowFacts, parse_file
from citywise.reasoning.engines.clingo.solver import SolverEngine

DAYS = 14
OPENS, CLOSES = time(8), time(18)
"""Working hours of a day, in the city's zone."""
STEP = 15
"""Minutes between the times at which a meeting may begin."""
NOTICE_MS = 30 * MINUTE_MS
"""Nobody is asked to be there sooner than in that."""
MOST = 3
_WEEKDAYS = 5
_OPEN_MINUTES = (CLOSES.hour - OPENS.hour) * 60


@dataclass(frozen=True)
class Slot:
    """A time at which all who are required have time."""

    starts_ms: int
    missing: int
    """How many of the others have none."""


def slots(meeting: Meeting, now_ms: int) -> tuple[Slot, ...]:
    """Up to `MOST` slots of the meeting's length, none overlapping another: those with most of
    the others first, and the earliest of these."""
    minutes = -((meeting.starts_ms - meeting.ends_ms) // MINUTE_MS)
    found = sorted(_free(meeting, minutes, now_ms), key=lambda s: (s.missing, s.starts_ms))
    chosen: list[Slot] = []
    for slot in found:
        if len(chosen) < MOST and not any(_overlap(slot, other, minutes) for other in chosen):
            chosen.append(slot)
    return tuple(chosen)


def _overlap(one: Slot, other: Slot, minutes: int) -> bool:
    return abs(one.starts_ms - other.starts_ms) < minutes * MINUTE_MS


def _free(meeting: Meeting, minutes: int, now_ms: int) -> Iterator[Slot]:
    days = list(_days(now_ms))
    facts = [f"length({minutes})", *_slots(meeting, days, minutes, now_ms)]
    for u, attendee in enumerate(meeting.attendees):
        if attendee.required:
            facts.append(f"required({u})")
        facts += (f"busy({u},{d},{f},{t})" for d, f, t in _busy(attendee, days))
    (answer,) = _engine().answer_sets(WindowFacts("".join(f"{fact}.\n" for fact in facts)))
    for day, begins, missing in told(answer.atoms)["free"]:
        yield Slot(days[int(day)] + int(begins) * MINUTE_MS, int(missing))


@cache
def _engine() -> SolverEngine:
    return SolverEngine(parse_file(RULES / "rescheduling.casp"))


def _days(now_ms: int) -> Iterator[int]:
    """When the working hours of the days to come begin, but of Saturdays and Sundays."""
    zone = times.zone()
    for day in (times.local(now_ms).date() + timedelta(days=n) for n in range(DAYS)):
        if day.weekday() < _WEEKDAYS:
            yield times.to_ms(datetime.combine(day, OPENS, zone).astimezone(UTC))


def _slots(meeting: Meeting, days: Sequence[int], minutes: int, now_ms: int) -> Iterator[str]:
    """Where the meeting fits in the working hours, but not where it is already."""
    for d, opens_ms in enumerate(days):
        for begins in range(0, _OPEN_MINUTES - minutes + 1, STEP):
            starts_ms = opens_ms + begins * MINUTE_MS
            if starts_ms >= now_ms + NOTICE_MS and starts_ms != meeting.starts_ms:
                yield f"slot({d},{begins})"


def _busy(attendee: Attendee, days: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Day, first and last minute of the working hours for which somebody has no time."""
    for busy in merged(attendee.busy):
        for d, opens_ms in enumerate(days):
            begins = max(0, (busy.from_ms - opens_ms) // MINUTE_MS)
            ends = min(_OPEN_MINUTES, -((opens_ms - busy.until_ms) // MINUTE_MS))
            if begins < ends:
                yield d, begins, ends
