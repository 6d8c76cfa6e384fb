"""Why no option is admissible, and which constraints to loosen least."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, Decimal

from citywise.apps.travel_planner.decisions.bounds import change, needed
from citywise.apps.travel_planner.decisions.choice import choose
from citywise.apps.travel_planner.decisions.decision import Conflict, Loosening, Relaxation
from citywise.apps.travel_planner.decisions.encoding import distinct
from citywise.apps.travel_planner.decisions.question import Constraint, Option, Question
from citywise.apps.travel_planner.decisions.running import answers

MOST_CHANGE = 1_000_000
"""Thousandths of a bound; a change beyond a thousand times the bound counts as that."""

Violated = Mapping[int, Sequence[int]]
"""By position of the option, the positions of the constraints that it does not meet."""


def conflict(question: Question, violated: Violated) -> Conflict:
    """The conflict of a question none of whose options is admissible."""
    return Conflict(_minimal(question, violated), _relaxation(question, violated))


def _minimal(question: Question, violated: Violated) -> tuple[tuple[Constraint, ...], ...]:
    """All minimal sets of constraints of which every option violates one."""
    constraints = distinct(question)
    # Options that violate the same are one: there are few such sets, and all is in them.
    kinds = enumerate(sorted(set(map(tuple, violated.values()))))
    facts = (f"violates({kind},{c}).\n" for kind, broken in kinds for c in broken)
    found = (sorted(c for (c,) in a["conflicting"]) for a in answers("conflict", "".join(facts)))
    ordered = sorted(found, key=lambda members: (len(members), members))
    return tuple(tuple(constraints[c] for c in members) for members in ordered)


def _relaxation(question: Question, violated: Violated) -> Relaxation | None:
    """The cheapest relaxation; of several that cost the same, and loosen as many
    constraints, the one whose option is best by the wishes."""
    ways = {
        position: way
        for position, broken in violated.items()
        if (way := _loosenings(question, question.options[position], broken)) is not None
    }
    if not ways:
        return None
    cheapest = _cheapest(ways)
    best = _best(replace(question, options=[question.options[o] for o in cheapest], constraints=()))
    way = ways[cheapest[best]]
    if any(loosening.constraint.op == "=" for loosening in way):
        # A rounded value may also be that of an option which is better.
        return Relaxation(way, question.options[_best(_loosened(question, way))].id)
    return Relaxation(way, question.options[cheapest[best]].id)


def _cheapest(ways: Mapping[int, Iterable[Loosening]]) -> list[int]:
    facts = (
        f"change({position},{number},{_thousandths(loosening)}).\n"
        for position, way in ways.items()
        for number, loosening in enumerate(way)
    )
    return sorted(o for a in answers("relax", "".join(facts)) for (o,) in a["admit"])


def _thousandths(loosening: Loosening) -> int:
    """What a change counts, rounded up."""
    exact = (Decimal(str(loosening.change)) * 1000).to_integral_value(ROUND_CEILING)
    return min(MOST_CHANGE, int(exact))


def _loosenings(
    question: Question, option: Option, broken: Iterable[int]
) -> tuple[Loosening, ...] | None:
    """What an option needs to be admissible; None if it lacks a value that is asked for."""
    constraints, found = distinct(question), []
    for constraint in (constraints[c] for c in broken):
        value = option.values.get(constraint.on)
        if value is None:
            return None
        bound = needed(constraint, value, question.steps.get(constraint.on))
        found.append(Loosening(constraint, float(bound), float(change(constraint, bound))))
    return tuple(found)


def _loosened(question: Question, way: Iterable[Loosening]) -> Question:
    instead = {loosening.constraint: loosening.loosened for loosening in way}
    return replace(question, constraints=[instead.get(c, c) for c in question.constraints])


def _best(question: Question) -> int:
    """The best option of a question that has an admissible one."""
    return choose(question).best[0] if len(question.options) > 1 else 0
