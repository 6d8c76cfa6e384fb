"""Why something is proposed: who cannot take part in what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from citywise.apps.meeting_mgr.agenda.planning import Plan, Standing
from citywise.apps.meeting_mgr.agenda.problem import Problem
from citywise.apps.meeting_mgr.model import CAPABILITIES, Because, Capability, Cause, Item


def causes(rest: Problem, stands: Standing, best: Plan) -> tuple[Cause, ...]:
    """What the best plan is better in: whoever cannot attend with it either is no cause of it.

    An item without a person is `late` where it would end after the meeting, can take place
    `again` where it had been put off, and has no reason where it comes before what it depends
    on. In the order of the agenda.
    """
    solved: dict[tuple[int, int], list[str]] = {}
    for u, i, why in stands.misses:
        if i in best.put_off or (u, i) not in best.misses:
            solved.setdefault((i, u), []).append(why)
    found = [(i, _cause(rest, u, i, whys)) for (i, u), whys in solved.items()]
    found += [(i, _of_item(rest.items[i])) for i in stands.too_early]
    found += [(i, _of_item(rest.items[i], "late")) for i in stands.too_late]
    found += [(i, _of_item(rest.items[i], "again")) for i in rest.returning & {*best.order}]
    return tuple(cause for _i, cause in sorted(found, key=lambda pair: pair[0]))


def absences(rest: Problem, missing: Iterable[tuple[int, str]]) -> tuple[Cause, ...]:
    """Who does not come at all, and why: `missing` as `Standing.cannot_come`."""
    whys: dict[int, list[str]] = {}
    for u, why in missing:
        whys.setdefault(u, []).append(why)
    return tuple(_cause(rest, u, None, why) for u, why in whys.items())


def _of_item(item: Item, *because: Because) -> Cause:
    return Cause(item=item.id, person=None, because=because)


def _cause(rest: Problem, u: int, i: int | None, whys: Sequence[str]) -> Cause:
    item = None if i is None else rest.items[i]
    return Cause(
        item=None if item is None else item.id,
        person=rest.members[u].attendee.id,
        lacks=tuple(_capabilities(whys)),
        because=tuple(dict.fromkeys(_because(rest, u, whys))),
    )


def _capabilities(whys: Iterable[str]) -> Iterator[Capability]:
    return (capability for capability in CAPABILITIES if capability in whys)


def _because(rest: Problem, u: int, whys: Sequence[str]) -> Iterator[Because]:
    """`away` is who has left, `late` who has not come yet, `busy` whose calendar says so,
    `arriving` who is on the way."""
    member = rest.members[u]
    for capability in _capabilities(whys):
        yield from member.because(capability)
    for why in whys:
        if why in ("away", "late"):
            yield "away" if member.has_left else "late"
        elif why == "busy":
            yield "busy"
        elif why == "arriving":
            yield "arriving"
