"""What is to be decided: options with values, constraints on them, and wishes in order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from citywise.backend.app import CitywiseError

Op = Literal["<", "<=", "=", ">=", ">"]
Direction = Literal["minimise", "maximise"]

LARGEST = 1_000_000_000_000
"""Of a value: its thousandths are exact as a float."""
MOST_CONSTRAINTS = 16
"""The minimal conflicts of n constraints can be as many as n over n/2."""


class QuestionError(CitywiseError):
    """A question that cannot be put to the rules; the message names what and why."""


@dataclass(frozen=True)
class Constraint:
    """What a value must be: `on` names it, `value` is in its unit.

    `=` holds where the value, rounded half up to the decimals that `value` is written
    with (at most three), is `value`: 15 holds for [14.5, 15.5), 12.5 for [12.45, 12.55).
    """

    on: str
    op: Op
    value: float


@dataclass(frozen=True)
class Wish:
    """What should be as small, or as large, as can be."""

    on: str
    direction: Direction


@dataclass(frozen=True)
class Option:
    """Something that can be chosen, and its values by name.

    A value that is None, or not there, is unknown: no constraint on it holds, and for
    wishes and dominance it is worse than any known value. Values are compared to the
    thousandth, rounded half to even.
    """

    id: str
    values: Mapping[str, float | None]


@dataclass(frozen=True)
class Question:
    """A decision to be made.

    Parameters
    ----------
    options:
        What there is to choose from; the order decides between equals.
    constraints:
        What must hold; at most 16 different ones.
    wishes:
        What should be, the first matters most; of several on one value the first counts.
    criteria:
        All that counts besides the wishes, for dominance and between options that the
        wishes do not tell apart, in order, with the direction that is usually better (a
        wish's own direction overrides it).
    steps:
        By name, the step to whose multiples a relaxation's bounds are rounded outward,
        e.g. 60 for times in whole minutes; without one they are not rounded.

    Raises `QuestionError` for ids that repeat, values that are no numbers or too large,
    directions and operators that do not exist, and too many constraints.
    """

    options: Sequence[Option]
    constraints: Sequence[Constraint] = ()
    wishes: Sequence[Wish] = ()
    criteria: Mapping[str, Direction] = field(default_factory=dict)
    steps: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for fault in _faults(self):
            raise QuestionError(fault)

    @property
    def directions(self) -> dict[str, Direction]:
        """All that counts, what matters most first, and what is better: wishes, criteria."""
        found: dict[str, Direction] = {}
        for wish in self.wishes:
            found.setdefault(wish.on, wish.direction)
        return found | {on: way for on, way in self.criteria.items() if on not in found}


def _faults(question: Question) -> Iterator[str]:
    ids = [option.id for option in question.options]
    yield from (f"two options are called `{i}`" for i in dict.fromkeys(ids) if ids.count(i) > 1)
    for option in question.options:
        for on, value in option.values.items():
            if value is not None and not abs(value) <= LARGEST:
                yield (
                    f"option `{option.id}` has {on} = {value}; values are numbers from "
                    f"-{LARGEST:,} to {LARGEST:,}, or None where they are not known"
                )
    yield from _faults_of_wants(question)
    for on, step in question.steps.items():
        if not 0.001 <= step <= LARGEST:
            yield f"the step of {on} is {step}; a step is a number of at least 0.001"


def _faults_of_wants(question: Question) -> Iterator[str]:
    different = len(set(question.constraints))
    if different > MOST_CONSTRAINTS:
        yield f"there are {different} constraints; at most {MOST_CONSTRAINTS} can be weighed"
    for constraint in question.constraints:
        if constraint.op not in get_args(Op):
            yield f"`{constraint.op}` compares nothing; a constraint has one of < <= = >= >"
        if not math.isfinite(constraint.value):
            yield f"the constraint on {constraint.on} has no number to compare with"
    ways = [*question.criteria.values(), *(wish.direction for wish in question.wishes)]
    yield from (
        f"`{way}` is no direction; write `minimise` or `maximise`"
        for way in ways
        if way not in get_args(Direction)
    )
