"""The definitions of decision support, said once more and as slowly as they read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import combinations

from citywise.apps.travel_planner.decisions import Constraint, Option, Question

WORST = (1, Decimal(0))
"""A loss greater than any that is known."""


def number(value: float) -> Decimal:
    return Decimal(str(float(value)))


def rounded_like(value: Decimal, written: float) -> Decimal:
    """A value, rounded half up to the decimals that another is written with."""
    decimals = f"{written:.3f}".rstrip("0").partition(".")[2]
    shift = Decimal(10 ** len(decimals))
    return Decimal(math.floor(value * shift + Decimal("0.5"))) / shift


def meets(option: Option, constraint: Constraint) -> bool:
    known = option.values.get(constraint.on)
    if known is None:
        return False
    value, bound = number(known), number(constraint.value)
    return {
        "<": value < bound,
        "<=": value <= bound,
        "=": rounded_like(value, constraint.value) == bound,
        ">=": value >= bound,
        ">": value > bound,
    }[constraint.op]


def admissible(question: Question) -> list[Option]:
    return [o for o in question.options if all(meets(o, c) for c in question.constraints)]


def losses(question: Question, option: Option) -> tuple[tuple[int, Decimal], ...]:
    """What is better is smaller; the first wish first, the criteria last."""
    counting = {wish.on: wish.direction for wish in reversed(question.wishes)}
    names = list(dict.fromkeys([*(w.on for w in question.wishes), *question.criteria]))
    directions = {**question.criteria, **counting}
    found = []
    for on in names:
        value = option.values.get(on)
        sign = 1 if directions[on] == "minimise" else -1
        found.append(WORST if value is None else (0, sign * number(value)))
    return tuple(found)


def dominates(question: Question, one: Option, other: Option) -> bool:
    pairs = list(zip(losses(question, one), losses(question, other), strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def pareto(question: Question) -> list[Option]:
    """The admissible options that no admissible one dominates, best first."""
    candidates = admissible(question)
    kept = [o for o in candidates if not any(dominates(question, p, o) for p in candidates)]
    return sorted(kept, key=lambda option: losses(question, option))


def dominated(question: Question) -> dict[str, str]:
    """Dominated options, and the first in order of those that dominate them."""
    first = pareto(question)
    return {
        option.id: next(p.id for p in first if dominates(question, p, option))
        for option in admissible(question)
        if option not in first
    }


def conflicts(question: Question) -> set[frozenset[Constraint]]:
    """The minimal sets of constraints that no option meets together."""
    different = set(question.constraints)
    sets = [
        frozenset(chosen)
        for size in range(len(different) + 1)
        for chosen in combinations(different, size)
        if not any(all(meets(o, c) for c in chosen) for o in question.options)
    ]
    return {s for s in sets if not any(other < s for other in sets)}


def bound_for(question: Question, option: Option, constraint: Constraint) -> float:
    """The multiple of the step, nearest to the bound, with which the option would do."""
    value = number(option.values[constraint.on] or 0)
    if constraint.op == "=":
        return float(rounded_like(value, constraint.value))
    step = number(question.steps.get(constraint.on, 0.001))
    near = [(math.floor(value / step) + k) * step for k in range(-2, 4)]
    fitting = [b for b in near if meets(option, replace(constraint, value=float(b)))]
    return float(min(fitting, key=lambda bound: abs(bound - number(constraint.value))))


def counted(constraint: Constraint, to: float) -> int:
    """What a loosening counts: thousandths of the bound, at most a million."""
    bound = number(constraint.value)
    relative = abs(number(to) - bound) / abs(bound) if bound else Decimal(1)
    return min(1_000_000, math.ceil(relative * 1000))


def relaxations(question: Question) -> Iterator[tuple[Option, dict[Constraint, float]]]:
    for option in question.options:
        broken = [c for c in dict.fromkeys(question.constraints) if not meets(option, c)]
        if all(option.values.get(c.on) is not None for c in broken):
            yield option, {c: bound_for(question, option, c) for c in broken}


def relaxation(question: Question) -> tuple[dict[Constraint, float], str] | None:
    """The cheapest, then the fewest loosenings, then by the wishes; and what it leads to."""
    found = list(relaxations(question))
    if not found:
        return None

    def cost(found: tuple[Option, dict[Constraint, float]]) -> tuple[object, ...]:
        option, bounds = found
        total = sum(counted(constraint, to) for constraint, to in bounds.items())
        return total, len(bounds), losses(question, option)

    _option, bounds = min(found, key=cost)
    loosened = [replace(c, value=bounds.get(c, c.value)) for c in question.constraints]
    return bounds, pareto(replace(question, constraints=loosened))[0].id
