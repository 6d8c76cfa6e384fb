"""Bodies without disjunctions, of which one must hold.

A disjunction is spread over bodies where that makes few of them; else it becomes a relation of
its own, so that bodies do not multiply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, count, product
from math import prod

from reasoning.model.joins import SafetyError, ordered, variables_of
from reasoning.model.rules import Call, Literal, Rule, Scan
from reasoning.model.terms import Value, Variable, variables

PART = "#part"
"""How names of relations begin that stand for a part of a body."""
_FEW = 8
"""Bodies over which the disjunctions of a condition are spread without further ado."""
_MOST = 4096

Body = list[Literal]


class BodyError(Exception):
    """Why a rule cannot be evaluated."""


@dataclass(frozen=True)
class Solvable(Call):
    """A call of which one argument may be found from the others."""

    solves: Mapping[int, Callable[..., Value | None]] = field(default_factory=dict, hash=False)

    def solved(self, known: frozenset[str]) -> Call | None:
        """The call that gives the only argument without a value its own; None if none does."""
        open_ = [at for at, term in enumerate(self.arguments) if not variables(term) <= known]
        if len(open_) != 1 or open_[0] not in self.solves:
            return None
        (at,) = open_
        others = self.arguments[:at] + self.arguments[at + 1 :]
        return Call(self.solves[at], others, self.arguments[at], self.name)


@dataclass
class Condition:
    """A conjunction of literals and of choices between conditions."""

    literals: Body = field(default_factory=list)
    choices: list[list[Condition]] = field(default_factory=list)

    def mentions(self) -> frozenset[str]:
        """The variables in it."""
        inner = (each.mentions() for each in chain(*self.choices))
        return mentioned(self.literals).union(*inner)


class Alternatives:
    """Takes disjunctions out of conditions; `parts` are rules that the bodies need besides."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self.parts: list[Rule] = []

    def bodies(self, condition: Condition, needed: frozenset[str], name: str) -> list[Body]:
        """Bodies of which one must hold; what is `needed` has values in all of them."""
        body = condition.literals
        choices: list[list[Body]] = []
        for choice in condition.choices:
            others = [each for other in condition.choices if other is not choice for each in other]
            around = needed.union(mentioned(body), *(each.mentions() for each in others))
            choices.append([b for each in choice for b in self.bodies(each, around, name)])
        choices.sort(key=len)
        while prod(map(len, choices)) > _FEW:
            smaller = self._fold(body, choices, needed, name)
            if smaller is None:
                break
            body, choices = smaller
        if prod(map(len, choices)) > _MOST:
            raise BodyError(
                f"its disjunctions make more than {_MOST:,} alternatives; write more rules"
            )
        return [_solved([*body, *chain(*each)]) for each in product(*choices)]

    def _fold(
        self, body: Body, choices: list[list[Body]], needed: frozenset[str], name: str
    ) -> tuple[Body, list[list[Body]]] | None:
        """The same with a relation in the place of the largest choice of which variables have
        values whatever is chosen elsewhere; None if there is none."""
        for at in reversed(range(len(choices))):
            others = choices[:at] + choices[at + 1 :]
            outside = needed.union(*(mentioned(each) for other in others for each in other))
            folded = self._folded(body, choices[at], outside, name)
            if folded is not None:
                return folded, others
        return None

    def _folded(
        self, body: Body, choice: list[Body], outside: frozenset[str], name: str
    ) -> Body | None:
        every = frozenset().union(*map(mentioned, choice))
        own = sorted(every & (outside | mentioned(body)))
        if all(_gives(each, own) for each in choice):
            return [*body, self.part(own, choice, name)]
        first = _ready(body)
        rest = [literal for literal in body if literal not in first]
        after = sorted((mentioned(first) | every) & (outside | mentioned(rest)))
        if not all(_gives([*first, *each], after) for each in choice):
            return None
        if len(first) > 1:
            before = sorted(mentioned(first) & every.union(after))
            first = [self.part(before, [first], name)]
        return [*rest, self.part(after, [[*first, *each] for each in choice], name)]

    def part(self, variables: Sequence[str], bodies: Iterable[Body], name: str) -> Scan:
        """A relation of its own for what one of some bodies says of variables."""
        terms = tuple(map(Variable, variables))
        relation = f"{PART} {next(self._numbers)}"
        self.parts += [Rule(relation, terms, tuple(body), name) for body in bodies]
        return Scan(relation, terms)


def mentioned(literals: Iterable[Literal]) -> frozenset[str]:
    """The names of the variables in literals."""
    return frozenset().union(*map(variables_of, literals))


def _gives(body: Body, names: Iterable[str]) -> bool:
    """Whether a body gives all of its variables values, and `names` among them."""
    body = _solved(body)
    return len(_ready(body)) == len(body) and mentioned(body).issuperset(names)


def _ready(body: Body) -> Body:
    """The literals that can be met without others."""
    found: Body = []
    with suppress(SafetyError):
        for literal, _known in ordered(body, frozenset(), Rule("", ())):
            found.append(literal)
    return found


def _solved(body: Body) -> Body:
    """The body with calls that give an argument its value from the others, where nothing else
    does."""
    while True:
        ready = _ready(body)
        if len(ready) == len(body):
            return body
        known = mentioned(ready)
        for at, literal in enumerate(body):
            solved = literal.solved(known) if isinstance(literal, Solvable) else None
            if solved is not None:
                body = [*body[:at], solved, *body[at + 1 :]]
                break
        else:
            return body
