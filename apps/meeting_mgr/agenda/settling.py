"""To where a plan leads: what would be best next is a part of it, so that whoever accepts it is
not asked again at once."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from citywise.apps.meeting_mgr.agenda.causes import causes
from citywise.apps.meeting_mgr.agenda.giving_back import given_back
from citywise.apps.meeting_mgr.agenda.planning import Plan, Standing, counted, plan, standing
from citywise.apps.meeting_mgr.agenda.problem import Problem, after
from citywise.apps.meeting_mgr.model import Cause
from citywise.reasoning import LimitError

_MOST_STEPS = 4


class Settled:
    """A plan, and how the meeting stands once it is accepted."""

    def __init__(self, rest: Problem, stands: Standing, first: Plan, until_s: float) -> None:
        """Look for what is best next, as long as there is something, until `until_s` by
        `time.monotonic()`. Only where items can be taken up is there anything: all else the
        first plan could have done itself."""
        self._rest, self._stands = rest, stands
        self.plan = first
        self.causes = causes(rest, stands, first)
        self.then, self._before = after(rest, first.order, first.minutes)
        """What is left to be planned then."""
        self.stands = standing(self.then)
        for _ in range(_MOST_STEPS if rest.returning else 0):
            if not self._go_on(until_s):
                break

    def _go_on(self, until_s: float) -> bool:
        """Whether something more is best."""
        found = None
        with suppress(LimitError):
            found = plan(self.then, until_s, stands=self.stands)
        if found is None or not is_better(found, self.stands):
            return False
        found = given_back(self.then, self.stands, found)
        why = (*self.causes, *causes(self.then, self.stands, found))
        self.plan = self._both(found)
        self.causes = self._ordered(why)
        self.then, self._before = after(self._rest, self.plan.order, self.plan.minutes)
        self.stands = standing(self.then)
        return True

    def _both(self, second: Plan) -> Plan:
        """The plan so far and what comes next as one."""
        items, before = self._rest.items, self._before
        order = tuple(before[i] for i in second.order)
        shortened = {i for i, n in zip(order, second.minutes, strict=True) if n < items[i].minutes}
        together = replace(
            second,
            order=order,
            put_off=frozenset(before[i] for i in second.put_off),
            shortened=frozenset(shortened),
            is_best=self.plan.is_best and second.is_best,
        )
        return counted(self._rest, self._stands, together)

    def _ordered(self, why: tuple[Cause, ...]) -> tuple[Cause, ...]:
        """Each once, in the order of the agenda."""
        places = {item.id: n for n, item in enumerate(self._rest.items)}
        return tuple(sorted(dict.fromkeys(why), key=lambda cause: places[cause.item or ""]))


def is_better(plan: Plan, stands: Standing) -> bool:
    """Whether a plan is better than an agenda as it stands."""
    return not stands.is_possible or plan.cost < stands.cost
