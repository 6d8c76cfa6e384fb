"""Choosing among journeys of all modes: limits, ordered wishes, conflict and relaxation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from citywise.apps.travel_planner.choosing import Choice, Wanted, choose, conflict_object
from citywise.apps.travel_planner.decisions import Constraint, Direction, Wish
from citywise.apps.travel_planner.transit.request import TransitRequest
from citywise.apps.travel_planner.wording import Values, Words

MOST_REJECTED = 10
MOST_WEIGHED = 200
"""Journeys that are put to the rules, the best first; the others follow in their order, and only
where nothing is limited or wished."""
Json = dict[str, Any]
_UNWEIGHED: Json = {
    "chosen": False, "why": "", "reasons": [], "difference": None, "best_at": []
}  # fmt: skip


@dataclass(frozen=True)
class Offer:
    """A journey that could be chosen; `tell` says all of it."""

    mode: str
    values: Values
    tell: Callable[[], Json]


def wanted_of(request: TransitRequest) -> Wanted:
    """What counts: when one is there (or leaves), changes and walking, unless wished otherwise."""
    ways: dict[str, Direction] = {"departure": "maximise", "arrival": "minimise"}
    first = request.times[0]
    criteria = {name: ways[name] for name in request.times}
    criteria |= {"changes": "minimise", "walk": "minimise"}
    wishes = tuple(Wish(each.on, each.direction) for each in request.preferences)
    return Wanted(
        tuple(Constraint(each.on, each.op, each.value) for each in request.constraints),
        wishes or (Wish(first, criteria[first]),),
        criteria,
    )


def chosen(offers: Sequence[Offer], request: TransitRequest, words: Words) -> Json:
    """Routes, those left out, and the conflict if none keeps to all limits (docs/api.md)."""
    named = {f"c{number}": offer for number, offer in enumerate(offers[:MOST_WEIGHED])}
    values = {name: offer.values for name, offer in named.items()}
    choice = choose(values, wanted_of(request), words, "ways")
    shown, rejected = _dealt(choice, named, request)
    names = {name: f"r{number}" for number, name in enumerate([*shown, *rejected], 1)}
    modes = {name: words.mode(offer.mode) for name, offer in named.items()}
    conflict = conflict_object(choice, "relaxation", modes)
    if conflict and conflict["then"]:
        conflict["then"]["option"] = names.get(conflict["then"]["option"])

    def told(name: str) -> Json:
        return {"id": names[name], **named[name].tell(), **choice.told(name, names)}

    routes = [told(name) for name in shown]
    if not (request.constraints or request.preferences):
        rest = enumerate(offers[MOST_WEIGHED : request.alternatives], MOST_WEIGHED + 1)
        routes += [{"id": f"r{number}", **offer.tell(), **_UNWEIGHED} for number, offer in rest]
    return {
        "routes": routes,
        "rejected": [told(name) for name in rejected],
        "ties": [names[name] for name in choice.decision.ties if name in names],
        "conflict": conflict,
        "criteria": list(choice.wanted.criteria),
    }


def _dealt(
    choice: Choice, named: Mapping[str, Offer], request: TransitRequest
) -> tuple[list[str], list[str]]:
    """What is shown and what is not: of all modes the best of each first, also where another
    mode is better in all that counts."""
    order = list(choice.decision.order)
    if request.mode == "all":
        ways = choice.wanted.criteria
        order += sorted(
            choice.decision.dominated,
            key=lambda name: [
                (choice.values[name][on] or 0.0) * (1 if way == "minimise" else -1)
                for on, way in ways.items()
            ],
        )
    firsts = {named[name].mode: name for name in reversed(order)}.values()
    wanted = [*order[:1], *(name for name in order if name in firsts), *order]
    picked = set(list(dict.fromkeys(wanted))[: request.alternatives])
    shown = [name for name in order if name in picked]
    others = [name for name in (*order, *choice.others) if name not in picked]
    return shown, list(dict.fromkeys(others))[:MOST_REJECTED]
