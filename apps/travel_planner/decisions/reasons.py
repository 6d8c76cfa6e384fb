"""Why an option was chosen, or why not: codes and values, in the order that they matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from citywise.apps.travel_planner.decisions.bounds import thousandths
from citywise.apps.travel_planner.decisions.decision import Code, Reason
from citywise.apps.travel_planner.decisions.question import Constraint, Direction, Option, Question


class Compared(NamedTuple):
    """In what one option is better than another, worse, and equal, in order."""

    better: tuple[str, ...]
    worse: tuple[str, ...]
    equal: tuple[str, ...]


class Reasoning:
    """Says why, once it is known how the options of a question stand."""

    def __init__(self, question: Question) -> None:
        self._directions = question.directions
        self._wished = [on for on in self._directions if on in {w.on for w in question.wishes}]

    def chosen(
        self, option: Option, ties: Sequence[Option], others: Sequence[Option]
    ) -> list[Reason]:
        """Why this one: by what it is before the best of the others."""
        reasons = [] if ties or others else [Reason("only")]
        if others:
            reasons.append(self._against("best", option, min(others, key=self._losses)))
        reasons += [Reason("tie", against=tie.id) for tie in ties]
        return reasons + list(self._unknown(option))

    def tie(self, option: Option, chosen: Option) -> list[Reason]:
        """Why not this one, though it is as good."""
        return [Reason("tie", against=chosen.id), *self._unknown(option)]

    def behind(self, option: Option, chosen: Option) -> list[Reason]:
        """Why not this one, though nothing dominates it."""
        return [self._against("behind", option, chosen), *self._unknown(option)]

    def dominated(self, option: Option, by: Option) -> list[Reason]:
        """Why this one is not worth a look."""
        return [self._against("dominated", option, by), *self._unknown(option)]

    def rejected(self, option: Option, violated: tuple[Constraint, ...]) -> list[Reason]:
        """Why this one is not admissible."""
        reasons = [_violation(option, constraint) for constraint in violated]
        told = {constraint.on for constraint in violated}
        return reasons + [reason for reason in self._unknown(option) if reason.on not in told]

    def compare(self, one: Option, other: Option) -> Compared:
        """How two options stand to each other in all that counts."""
        ours, theirs = self._losses(one), self._losses(other)
        named = list(zip(self._directions, ours, theirs, strict=True))
        return Compared(
            tuple(on for on, mine, its in named if mine < its),
            tuple(on for on, mine, its in named if mine > its),
            tuple(on for on, mine, its in named if mine == its),
        )

    def _losses(self, option: Option) -> tuple[float, ...]:
        """What is better is smaller; the first counts most."""
        ways = self._directions.items()
        return tuple(_loss(option.values.get(on), direction) for on, direction in ways)

    def _against(self, code: Code, option: Option, other: Option) -> Reason:
        """The first difference that speaks for `option` (`best`), or against it."""
        compared = self.compare(option, other)
        on = (compared.better if code == "best" else compared.worse)[0]
        value, theirs = option.values.get(on), other.values.get(on)
        level = tuple(takewhile(lambda name: name != on, self._directions))
        return Reason(
            code, on, value, other.id, theirs, _distance(value, theirs), on in self._wished,
            level=level, better=compared.better, worse=compared.worse, equal=compared.equal,
        )  # fmt: skip

    def _unknown(self, option: Option) -> Iterator[Reason]:
        """Wishes of whose values nothing is known for this option."""
        for on in self._wished:
            if option.values.get(on) is None:
                yield Reason("unknown", on, wished=True)


def _violation(option: Option, constraint: Constraint) -> Reason:
    value = option.values.get(constraint.on)
    if value is None:
        return Reason("unknown", constraint.on, other=constraint.value, constraint=constraint)
    by = _distance(value, constraint.value)
    return Reason(
        "violates", constraint.on, value, other=constraint.value, by=by, constraint=constraint
    )


def _loss(value: float | None, direction: Direction) -> float:
    if value is None:
        return float("inf")
    return thousandths(value) if direction == "minimise" else -thousandths(value)


def _distance(value: float | None, other: float | None) -> float | None:
    """How far two values are apart; None where one is not known."""
    return None if value is None or other is None else round(abs(value - other), 3)
