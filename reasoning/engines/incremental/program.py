"""What the incremental engine evaluates: rules and operators over named relations.

The model is that of no language: a relation is a set of rows, each with a horizon, the last
point of time up to which it is known to hold (Laser, Definition 7). Front ends name their
relations as they like; a name stands for one arity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import TypeAlias

from reasoning.engines.incremental.terms import Term, Value

CLOCK = "#now"
"""The relation of one row `(now,)`, the point of time that is evaluated."""
FALSE = "#false"
"""The relation without arguments that constraints derive: while its row holds there is no
answer."""

Comparator: TypeAlias = OneOf["=", "!=", "<", "<=", ">", ">="]
Function: TypeAlias = OneOf["count", "sum", "sum+", "min", "max"]


@dataclass(frozen=True)
class Scan:
    """A row of the relation matches the terms; gives its variables values."""

    relation: str
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Absent:
    """No row of the relation equals the terms, whose variables have values elsewhere."""

    relation: str
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Holds:
    """A row equals the terms, whose variables have values elsewhere: `not not p`. What it
    depends on must be complete before, as with `Absent`."""

    relation: str
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Compare:
    """A comparison in clingo's order of terms. `=` gives a variable on one side, or those of
    a compound, the values of the other side."""

    comparator: Comparator
    left: Term
    right: Term


@dataclass(frozen=True)
class Between:
    """An integer from `low` to `high`, both inclusive; `term` gets it, or has it."""

    term: Term
    low: Term
    high: Term


@dataclass(frozen=True)
class Call:
    """What a function of Python says of the arguments, whose variables have values elsewhere.

    The function is pure and total: it gives a value, or None where it has none; an instance
    of a rule in which it has none does not exist. `result` gets the value, or has it; without
    it the literal holds where the value is not None.
    """

    function: Callable[..., Value | None]
    arguments: tuple[Term, ...]
    result: Term | None = None
    name: str = ""
    """For messages."""


Looked: TypeAlias = Scan | Absent | Holds
"""A literal that looks at a relation."""
Literal: TypeAlias = Looked | Compare | Between | Call


@dataclass(frozen=True)
class Rule:
    """The head's row holds while all of the body does.

    `until` ends it earlier, at the value of a term (an integer) plus a number: the last
    point of time at which it may hold.
    """

    head: str
    terms: tuple[Term, ...]
    body: tuple[Literal, ...] = ()
    name: str = ""
    """For messages: label or line."""
    until: tuple[Term, int] | None = None

    @property
    def looks(self) -> dict[int, Looked]:
        """The literals that look at relations, by their places in the body."""
        body = enumerate(self.body)
        return {place: each for place, each in body if isinstance(each, Scan | Absent | Holds)}


@dataclass(frozen=True)
class Aggregate:
    """For each row `G` of `groups` a row `G + (value,)` of `result`.

    The value is that of `function` over the set of tuples `T` in the rows `G + (T,)` of
    `elements`, where each `T` is a tuple of ASP (`("", weight, …)`). A weight that is no
    number counts for nothing in a sum; without elements a count and a sum are 0, `min` is
    `#sup` and `max` is `#inf`.
    """

    result: str
    groups: str
    elements: str
    function: Function

    @property
    def reads(self) -> tuple[str, ...]:
        """The relations it looks at."""
        return self.groups, self.elements


@dataclass(frozen=True)
class Always:
    """A row `X` of `result` while `timed` has `X + (t,)` for each `t` of a window.

    The window is [max(first, now - width), now], where `first` is the first point of time
    that was evaluated: ⊞ⁿ□ (Laser, Definition 3).
    """

    result: str
    timed: str
    width: int

    @property
    def reads(self) -> tuple[str, ...]:
        """The relations it looks at."""
        return (self.timed,)


Operator: TypeAlias = Aggregate | Always


@dataclass(frozen=True)
class Program:
    """Rules, operators, and the relations that are filled from outside."""

    rules: tuple[Rule, ...]
    operators: tuple[Operator, ...] = ()
    inputs: frozenset[str] = frozenset()
    """Relations that `insert` fills; rules may derive rows of them as well."""
    name: str = ""
    """For messages."""
    outputs: frozenset[str] = field(default_factory=frozenset)
    """Relations whose changes are asked for."""
