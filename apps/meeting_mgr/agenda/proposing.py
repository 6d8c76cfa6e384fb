"""What to propose to a host, and why."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from citywise.apps.meeting_mgr.agenda.causes import absences
from citywise.apps.meeting_mgr.agenda.giving_back import given_back
from citywise.apps.meeting_mgr.agenda.moves import moved
from citywise.apps.meeting_mgr.agenda.overrunning import overrun
from citywise.apps.meeting_mgr.agenda.planning import Plan, Standing, Wish, places, plan, standing
from citywise.apps.meeting_mgr.agenda.problem import Problem, has_begun, problem
from citywise.apps.meeting_mgr.agenda.rescheduling import Slot, slots
from citywise.apps.meeting_mgr.agenda.settling import Settled, is_better
from citywise.apps.meeting_mgr.model import (
    Cause,
    Item,
    ItemId,
    Kind,
    Meeting,
    Person,
    Placed,
    Proposal,
    Proposed,
)
from citywise.apps.meeting_mgr.planned import MINUTE_MS
from citywise.reasoning import LimitError

ALTERNATIVES = 2
_SHARE, _SETTLED = 0.7, 0.85
"""Of the time, for the best option, and until it is known to what it leads; the alternatives
have what is left."""


def proposed(
    meeting: Meeting,
    people: Sequence[Person],
    now_ms: int,
    limits_s: float = 1.5,
    refused: Sequence[Proposal] = (),
    patience_s: float | None = None,
    room_until_ms: int | None = None,
) -> Proposal | None:
    """The best way to go on, and alternatives; None where the agenda as it stands is as good
    as any, or waiting for somebody who is on the way is better.

    `people` are all who have joined, also those who have left. `limits_s` seconds are what all
    options together may take: with few items each is proved to be the best, else `is_best` says
    which is. Where nothing better than the agenda as it stands was found in time, that is waited
    for, `patience_s` (else `limits_s`) seconds more. A new time for the meeting is not proposed
    where that was `refused`, but what can be done at this one, if anything can. From
    `room_until_ms` on nobody can go on in the room. Raises `LimitError` if no plan at all was
    found then either.
    """
    started_s = time.monotonic()
    rest = problem(meeting, people, now_ms)
    if not rest.items or (now_ms >= meeting.ends_ms and not has_begun(meeting)):
        return None
    stands = standing(rest)
    if missing := stands.cannot_come or _all_away(rest, stands):
        elsewhen = _rescheduled(meeting, rest, absences(rest, missing), now_ms)
        if elsewhen is not None and not _is_refused(elsewhen, refused):
            return elsewhen
    if stands.is_possible and not any(stands.cost):
        return None
    patience_s = limits_s if patience_s is None else patience_s
    found = plan(rest, started_s + _SHARE * limits_s, patience_s=patience_s, stands=stands)
    best = None if found is None else given_back(rest, stands, found)
    if best is None or not is_better(best, stands):
        return None
    if best.put_off - rest.returning and _is_worth_waiting(rest, best, started_s + limits_s):
        return None
    settled = Settled(rest, stands, best, started_s + _SETTLED * limits_s)
    best, why = settled.plan, settled.causes
    if missing := settled.stands.cannot_come or _all_away(rest, settled.stands):
        elsewhen = _rescheduled(meeting, rest, absences(settled.then, missing), now_ms)
        if elsewhen is not None and not _is_refused(elsewhen, refused):
            return elsewhen
    until_s = started_s + limits_s
    drops = best.shortened or best.put_off - rest.returning
    longer = overrun(meeting, rest, now_ms, room_until_ms) if drops else None
    past_end = () if longer is None else tuple(_past_end(longer, why, until_s))
    if not best.order and not stands.too_early:  # Another time is better than none at all.
        elsewhen = _rescheduled(meeting, rest, why, now_ms, past_end)
        if elsewhen is not None:
            return elsewhen
    others = _alternatives(rest, stands, best, until_s)
    options = (*(_option(rest, each, why) for each in (best, *others)), *past_end)
    return Proposal(at_ms=now_ms, kind=_kind(options[0]), causes=why, options=options)


def _is_worth_waiting(rest: Problem, best: Plan, until_s: float) -> bool:
    """Whether less is put off where the meeting waits for the first who arrives and speaks; of
    a plan that time cut short this is not known, as it may be the time that makes the difference.
    """
    if not best.is_whole:
        return False
    speakers = {item.speaker for item in rest.open_items}
    arrivals = (one.arrives_ms for one in rest.members if one.attendee.id in speakers)
    later = [at_ms for at_ms in arrivals if at_ms is not None and at_ms > rest.first_ms]
    if not later:
        return False
    found = None
    with suppress(LimitError):
        found = plan(replace(rest, first_ms=min(later)), until_s)
    return found is not None and found.cost[0] < best.cost[0]


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


def _kind(best: Proposed) -> Kind:
    if best.put_off:
        return "put_off"
    if best.shortened:
        return "shorten"
    return "take_up" if best.taken_up else "reorder"


def _alternatives(rest: Problem, stands: Standing, best: Plan, until_s: float) -> Iterator[Plan]:
    """The best ways that do without something that the best way of all does."""
    uses: dict[Wish, bool] = {
        "all_placed": bool(best.put_off - rest.returning),
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
            found = plan(rest, now_s + share_s, wish, stands=stands)
        found = None if found is None else given_back(rest, stands, found)
        if found is None or found.way in ways or not is_better(found, stands):
            continue
        ways.add(found.way)
        yield found
        if len(ways) > ALTERNATIVES:
            return


def _past_end(longer: Problem, why: Sequence[Cause], until_s: float) -> Iterator[Proposed]:
    """Going on past the meeting's end instead of dropping something."""
    now_s = time.monotonic()
    with suppress(LimitError):
        share_s = (until_s - now_s) / 3
        found = plan(longer, now_s + share_s, "all_placed", "unshortened")
        if found is not None:
            yield _option(longer, found, why).model_copy(update={"ends_ms": longer.ends_ms})


def _option(rest: Problem, plan: Plan, why: Sequence[Cause]) -> Proposed:
    items = rest.items
    failing = {cause.item for cause in why}
    weak = frozenset(i for i in plan.order if items[i].id in failing)
    order = [i for i in plan.order if i not in rest.returning]
    return Proposed(
        agenda=(*_current(rest), *_placed(rest, plan)),
        put_off=_ids(rest, plan.put_off - rest.returning),
        moved=_ids(rest, moved(order, weak)),
        shortened=_ids(rest, plan.shortened),
        taken_up=_ids(rest, rest.returning - plan.put_off),
        cost=plan.cost,
        is_best=plan.is_best,
    )


def _current(rest: Problem) -> Iterator[Placed]:
    if (item := rest.current) is not None:
        began_ms = rest.first_ms if item.began_ms is None else item.began_ms
        yield Placed(item=item.id, starts_ms=began_ms, minutes=item.minutes)


def _placed(rest: Problem, plan: Plan) -> Iterator[Placed]:
    for i, begins, minutes in places(plan):
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
    meeting: Meeting,
    rest: Problem,
    why: tuple[Cause, ...],
    now_ms: int,
    others: Iterable[Proposed] = (),
) -> Proposal | None:
    options = tuple(_elsewhen(rest, slot) for slot in slots(meeting, now_ms))
    if not options:
        return None
    return Proposal(at_ms=now_ms, kind="reschedule", causes=why, options=(*options, *others))


def _elsewhen(rest: Problem, slot: Slot) -> Proposed:
    """All that is not done, from a slot's beginning on."""
    agenda, begins_ms = [], slot.starts_ms
    ahead: tuple[Item | None, ...] = (rest.current, *rest.open_items)
    for item in (item for item in ahead if item is not None):
        agenda.append(Placed(item=item.id, starts_ms=begins_ms, minutes=item.minutes))
        begins_ms += item.minutes * MINUTE_MS
    return Proposed(agenda=tuple(agenda), starts_ms=slot.starts_ms, cost=(slot.missing,))
