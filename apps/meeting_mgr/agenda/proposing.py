"""What to propose to a host, and why."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Literal

from apps.meeting_mgr.agenda.causes import absences, causes
from apps.meeting_mgr.agenda.moves import moved
from apps.meeting_mgr.agenda.planning import Plan, Standing, Wish, places, plan, standing
from apps.meeting_mgr.agenda.problem import Problem, has_begun, problem
from apps.meeting_mgr.agenda.rescheduling import Slot, slots
from apps.meeting_mgr.model import Cause, ItemId, Meeting, Person, Placed, Proposal, Proposed
from apps.meeting_mgr.planned import MINUTE_MS
from reasoning.engines.limits import LimitError

ALTERNATIVES = 2
_SHARE = 0.7
"""Of the time, for the best option; the alternatives have what is left."""


def proposed(
    meeting: Meeting,
    people: Sequence[Person],
    now_ms: int,
    number: int,
    limits_s: float = 1.5,
    refused: Sequence[Proposal] = (),
    patience_s: float | None = None,
) -> Proposal | None:
    """The best way to go on, and alternatives; None where the agenda as it stands is as good
    as any.

    `people` are all who have joined, also those who have left. `number` is the proposal's, and
    `limits_s` seconds are what all its options together may take: with few items each is
    proved to be the best, else `is_best` says which is. A new time for the meeting is not
    proposed where that was `refused`, but what can be done at this one, if anything can. Raises
    `LimitError` if no option at all was found in time, nor in `patience_s` (else `limits_s`)
    seconds more.
    """
    started_s = time.monotonic()
    rest = problem(meeting, people, now_ms)
    if not rest.items or (now_ms >= meeting.ends_ms and not has_begun(meeting)):
        return None
    stands = standing(rest)
    if missing := stands.cannot_come or _all_away(rest, stands):
        elsewhen = _rescheduled(meeting, rest, absences(rest, missing), now_ms, number)
        if elsewhen is not None and not _is_refused(elsewhen, refused):
            return elsewhen
    if stands.is_possible and not any(stands.cost):
        return None
    patience_s = limits_s if patience_s is None else patience_s
    best = plan(rest, started_s + _SHARE * limits_s, patience_s=patience_s)
    if best is None or not _is_better(best, stands):
        return None
    why = causes(rest, stands, best)
    if not best.order and not stands.too_early:  # Another time is better than none at all.
        elsewhen = _rescheduled(meeting, rest, why, now_ms, number)
        if elsewhen is not None:
            return elsewhen
    others = _alternatives(rest, stands, best, started_s + limits_s)
    options = tuple(_option(rest, each, why) for each in (best, *others))
    kind = _kind(options[0])
    return Proposal(number=number, at_ms=now_ms, kind=kind, causes=why, options=options)


def same_as(one: Proposal, other: Proposal) -> bool:
    """Whether there is no use in `one` beside `other`: both say the same for the same reasons;
    or the host did not want `other`, and `one` has no reason that it had not."""
    if other.answer in ("declined", "undone"):
        return set(one.causes) <= set(other.causes)
    same_causes = set(one.causes) == set(other.causes)
    return same_causes and one.kind == other.kind and _way(one) == _way(other)


def _is_refused(proposal: Proposal, refused: Sequence[Proposal]) -> bool:
    return any(same_as(proposal, other) for other in refused)


def _way(proposal: Proposal) -> tuple[object, ...]:
    """What its best option does; a little later it is the same, though all begins later."""
    best = proposal.options[0]
    items = tuple(placed.item for placed in best.agenda)
    return items, best.put_off, best.shortened, best.starts_ms


def _is_better(plan: Plan, stands: Standing) -> bool:
    return not stands.is_possible or plan.cost < stands.cost


def _kind(best: Proposed) -> Literal["reorder", "shorten", "put_off"]:
    if best.put_off:
        return "put_off"
    return "shorten" if best.shortened else "reorder"


def _alternatives(rest: Problem, stands: Standing, best: Plan, until_s: float) -> Iterator[Plan]:
    """The best ways that do without something that the best way of all does."""
    uses: dict[Wish, bool] = {
        "all_placed": bool(best.put_off),
        "unmoved": best.order != tuple(sorted(best.order)),
        "unshortened": bool(best.shortened),
    }
    wishes = [wish for wish, is_used in uses.items() if is_used]
    ways = {best.way}
    for n, wish in enumerate(wishes):
        now_s = time.monotonic()
        share_s = (until_s - now_s) / (len(wishes) - n)
        found = None
        with suppress(LimitError):
            found = plan(rest, now_s + share_s, wish)
        if found is None or found.way in ways or not _is_better(found, stands):
            continue
        ways.add(found.way)
        yield found
        if len(ways) > ALTERNATIVES:
            return


def _option(rest: Problem, plan: Plan, why: Sequence[Cause]) -> Proposed:
    items = rest.items
    failing = {cause.item for cause in why}
    weak = frozenset(i for i in plan.order if items[i].id in failing)
    return Proposed(
        agenda=(*_current(rest), *_placed(rest, plan)),
        put_off=_ids(rest, plan.put_off),
        moved=_ids(rest, moved(plan.order, weak)),
        shortened=_ids(rest, plan.shortened),
        cost=plan.cost,
        is_best=plan.is_best,
    )


def _current(rest: Problem) -> Iterator[Placed]:
    if (item := rest.current) is not None:
        began_ms = rest.first_ms if item.began_ms is None else item.began_ms
        yield Placed(item=item.id, starts_ms=began_ms, minutes=item.minutes)


def _placed(rest: Problem, plan: Plan) -> Iterator[Placed]:
    for i, begins, minutes in places(rest, plan):
        starts_ms = rest.first_ms + begins * MINUTE_MS
        yield Placed(item=rest.items[i].id, starts_ms=starts_ms, minutes=minutes)


def _ids(rest: Problem, positions: frozenset[int]) -> tuple[ItemId, ...]:
    return tuple(rest.items[i].id for i in sorted(positions))


# --- At another time -----------------------------------------------------------------------------


def _all_away(rest: Problem, stands: Standing) -> tuple[tuple[int, str], ...]:
    """All who are required, where none of them is there for what is to come."""
    required = {u: one for u, one in enumerate(rest.members) if one.attendee.required}
    missed = any(u in required for u, _i, _why in stands.misses)
    if not missed or not all(one.is_away for one in required.values()):
        return ()
    return tuple((u, "away") for u in required)


def _rescheduled(
    meeting: Meeting, rest: Problem, why: tuple[Cause, ...], now_ms: int, number: int
) -> Proposal | None:
    options = tuple(_elsewhen(rest, slot) for slot in slots(meeting, now_ms))
    if not options:
        return None
    return Proposal(number=number, at_ms=now_ms, kind="reschedule", causes=why, options=options)


def _elsewhen(rest: Problem, slot: Slot) -> Proposed:
    """All that is not done, from a slot's beginning on."""
    agenda, begins_ms = [], slot.starts_ms
    for item in (*([rest.current] if rest.current else []), *rest.items):
        agenda.append(Placed(item=item.id, starts_ms=begins_ms, minutes=item.minutes))
        begins_ms += item.minutes * MINUTE_MS
    return Proposed(agenda=tuple(agenda), starts_ms=slot.starts_ms, cost=(slot.missing,))
