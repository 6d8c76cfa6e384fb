"""How soon a better agenda is found: 20 items, 30 people.

A part of `citywise bench meetings`. Usual agendas have few people who cannot take part, some
calendars and dependencies; in the hard ones half of the people have something that hinders them
and there is too little time. Each is planned as the service does it, with its time limit. The
baseline is the solver with the same rules, for a second: how many of the best plans are cheaper
or dearer than what it has found by then.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from citywise.apps.meeting_mgr.agenda import proposed
from citywise.apps.meeting_mgr.agenda.giving_back import given_back
from citywise.apps.meeting_mgr.agenda.planning import meeting_reasoner, plan, standing
from citywise.apps.meeting_mgr.agenda.problem import problem
from citywise.apps.meeting_mgr.model import (
    CAPABILITIES,
    Attendee,
    Busy,
    Item,
    Meeting,
    Person,
    Room,
)
from citywise.reasoning import WindowFacts
from citywise.reasoning.engines.clingo.solver import AnytimeEngine
from tests.meeting_mgr.agendas import MINUTE, STARTS, off, person, random_meeting

ITEMS, PEOPLE = 20, 30
SOLVER_S, PATIENCE_S = 1.0, 60.0
_HINDERED, _ABSENT, _BUSY = (4, 17), (9,), (2, 11, 23)


def measure(times: int = 15) -> list[dict[str, Any]]:
    """A row each for usual and hard agendas: seconds to a proposal with all its options, and how
    the best one compares with the solver's."""
    return [
        _row("usual", usual, times),
        _row("hard", lambda seed: random_meeting(seed, ITEMS, PEOPLE), times),
    ]


def usual(seed: int) -> tuple[Meeting, list[Person], int]:
    """A meeting of half a day, two minutes after its beginning."""
    agenda = tuple(_item(seed, n) for n in range(ITEMS))
    ends_ms = STARTS + sum(item.minutes for item in agenda) * MINUTE
    meeting = Meeting(
        title="Usual",
        room=Room(name="B"),
        starts_ms=STARTS,
        ends_ms=ends_ms,
        attendees=tuple(_attendee(seed, n, ends_ms) for n in range(PEOPLE)),
        agenda=agenda,
    )
    people = [_joined(seed, n) for n in range(PEOPLE) if (n + seed) % PEOPLE not in _ABSENT]
    return meeting, people, STARTS + 2 * MINUTE


def _item(seed: int, number: int) -> Item:
    return Item(
        id=f"i{number}",
        title=f"Item {number}",
        type="break" if number == ITEMS // 2 else "talk",
        speaker=f"a{(7 * number + seed) % PEOPLE}",
        minutes=(10, 15, 5, 20)[number % 4],
        least_minutes=10 if number % 4 == 1 else None,
        after=(f"i{number - 3}",) if number % 5 == 4 else (),
    )


def _attendee(seed: int, number: int, ends_ms: int) -> Attendee:
    half = Busy(from_ms=(STARTS + ends_ms) // 2, until_ms=ends_ms)
    busy = (half,) if (number + seed) % PEOPLE in _BUSY else ()
    return Attendee(id=f"a{number}", name=f"A{number}", required=number % 3 != 2, busy=busy)


def _joined(seed: int, number: int) -> Person:
    lost = off(*CAPABILITIES[:2]) if (number + seed) % PEOPLE in _HINDERED else {}
    return person(number, f"a{number}", state={"abilities": lost})


def _row(
    name: str, make: Callable[[int], tuple[Meeting, list[Person], int]], times: int
) -> dict[str, Any]:
    taken, cheaper, dearer = [], 0, 0
    for seed in range(times):
        meeting, people, now_ms = make(seed)
        began_s = time.perf_counter()
        proposed(meeting, people, now_ms)
        taken.append(time.perf_counter() - began_s)
        rest = problem(meeting, people, now_ms)
        found, stands = plan(rest, time.monotonic() + SOLVER_S), standing(rest)
        found = None if found is None else given_back(rest, stands, found)
        facts = WindowFacts(rest.facts())
        solved = AnytimeEngine(meeting_reasoner()).best(facts, SOLVER_S, PATIENCE_S)
        if found is not None and solved is not None:
            cheaper += found.cost < solved.answer.cost
            dearer += found.cost > solved.answer.cost
    return {
        "measured": f"agenda, {name}",
        "items": ITEMS,
        "people": PEOPLE,
        "median_s": round(statistics.median(taken), 3),
        "most_s": round(max(taken), 3),
        "cheaper": f"{cheaper}/{times}",
        "dearer": f"{dearer}/{times}",
    }
