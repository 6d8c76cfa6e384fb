"""Minutes given back to items that were shortened by more than is needed.

With many items the rules shorten one as much as it can be, or not at all. What is needed of that
follows from the order: an exact computation, no search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from citywise.apps.meeting_mgr.agenda.planning import Plan, Standing, counted, places
from citywise.apps.meeting_mgr.agenda.problem import Problem


def given_back(rest: Problem, stands: Standing, plan: Plan) -> Plan:
    """The same plan with as few items shortened as possible, and those by as few minutes.

    Nothing ends later than the meeting, nor later than somebody can stay who could stay to its
    end in `plan`. What comes later than in `plan` nobody misses for that.
    """
    if plan.is_best or not plan.shortened:
        return plan
    cuts = [rest.items[i].minutes - n for i, n in zip(plan.order, plan.minutes, strict=True)]
    back = restored(cuts, _slack(rest, stands, plan))
    minutes = tuple(n + more for n, more in zip(plan.minutes, back, strict=True))
    shortened = {i for i, n in zip(plan.order, minutes, strict=True) if n < rest.items[i].minutes}
    better = replace(plan, minutes=minutes, shortened=frozenset(shortened))
    return counted(rest, stands, better)


def restored(cuts: Sequence[int], slack: Sequence[int]) -> list[int]:
    """How many of its cut minutes each of several items in a row gets back, where the first k of
    them may get no more than `slack[k - 1]` together: such that as many as possible get all of
    them, and then as many minutes as possible.

    The first is Moore and Hodgson's rule for as many jobs in time as possible (cuts are lengths,
    slack is when a job is due); for the second what is left may be given in any order, since the
    limits are nested.
    """
    due = list(accumulate(reversed(slack), min))[::-1]
    whole: list[int] = []
    for n, cut in enumerate(cuts):
        whole += [n] if cut else []
        if sum(cuts[each] for each in whole) > due[n]:
            whole.remove(max(whole, key=cuts.__getitem__))
    back = [cut if n in whole else 0 for n, cut in enumerate(cuts)]
    for n, cut in enumerate(cuts):
        spent = list(accumulate(back))
        left = min(each - gone for each, gone in zip(due[n:], spent[n:], strict=True))
        back[n] += min(cut - back[n], left)
    return back


def _slack(rest: Problem, stands: Standing, plan: Plan) -> list[int]:
    """By how much later each item may end."""
    until = dict.fromkeys(plan.order, rest.until_end)
    ends = {i: begins + minutes for i, begins, minutes in places(plan)}
    for _u, i, from_minute, _until in stands.absent:
        if i in ends and ends[i] <= from_minute:
            until[i] = min(until[i], from_minute)
    return [until[i] - ends[i] for i in plan.order]
