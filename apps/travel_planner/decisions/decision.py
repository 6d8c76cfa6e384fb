"""What was decided and why; codes and values, which who asks puts into words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from citywise.apps.travel_planner.decisions.question import Constraint

Code = Literal["only", "best", "tie", "behind", "dominated", "violates", "unknown"]


@dataclass(frozen=True)
class Reason:
    """One thing that speaks for or against an option.

    | Code | Says of an option |
    |---|---|
    | `only` | chosen: no other is admissible |
    | `best` | chosen: `on` is the first value in which it is better than `against`, the next in |
    | `tie` | as good as `against` in all that counts; the question names the chosen one first |
    | `behind` | not dominated: `on` is the first value in which `against`, the chosen, is better |
    | `dominated` | `against` is nowhere worse: `on` is the first value in which it is better |
    | `violates` | `constraint` is not met; `other` is its bound |
    | `unknown` | nothing is known of `on`, which a `constraint` or a wish (`wished`) is about |

    `by` is the distance of `value` and `other`, in their unit and never negative; None
    where one of them is not known.
    """

    code: Code
    on: str | None = None
    value: float | None = None
    against: str | None = None
    other: float | None = None
    by: float | None = None
    wished: bool = False
    """Whether `on` is wished for, and not just one of the criteria."""
    constraint: Constraint | None = None
    level: tuple[str, ...] = ()
    """What counts more than `on`; in all of it the two are equal."""
    better: tuple[str, ...] = ()
    """In what this option is better than `against`."""
    worse: tuple[str, ...] = ()
    """In what it is worse."""
    equal: tuple[str, ...] = ()
    """In what the two are equal."""


@dataclass(frozen=True)
class Loosening:
    """A constraint, and the value to which it is to be loosened."""

    constraint: Constraint
    to: float
    change: float
    """How much that is, relative to the value it has: 0.1 is a tenth. From 0 any is 1."""

    @property
    def loosened(self) -> Constraint:
        """The constraint as it is then."""
        return Constraint(self.constraint.on, self.constraint.op, self.to)


@dataclass(frozen=True)
class Relaxation:
    """The cheapest loosening of constraints that makes an option admissible."""

    loosenings: tuple[Loosening, ...]
    option: str
    """What would be chosen then."""

    @property
    def cost(self) -> float:
        """The sum of the relative changes."""
        return sum(loosening.change for loosening in self.loosenings)


@dataclass(frozen=True)
class Conflict:
    """Why no option is admissible."""

    minimal: tuple[tuple[Constraint, ...], ...]
    """All sets of constraints that no option meets together, though it would without any
    one of them; smallest first, then in the order of the constraints."""
    relaxation: Relaxation | None
    """None if every option lacks a value that a constraint asks for: no bound helps."""


@dataclass(frozen=True)
class Decision:
    """The answer to a question."""

    chosen: str | None
    """The best admissible option: first wish, then second …, then the criteria."""
    ties: tuple[str, ...]
    """Other options that are as good in all that counts."""
    order: tuple[str, ...]
    """The Pareto set: admissible options that no admissible one dominates, best first."""
    dominated: Mapping[str, str]
    """Admissible options that are dominated, and the best of those that dominate them."""
    violated: Mapping[str, tuple[Constraint, ...]]
    """Options that are not admissible, and the constraints that they do not meet."""
    reasons: Mapping[str, tuple[Reason, ...]]
    """Of every option."""
    conflict: Conflict | None
    """None if there is an admissible option, or no option at all."""
