"""Programs of plain LARS (Laser, section 2.1), as the parser makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from reasoning.model.request import Request, Signature
from reasoning.model.rules import Comparator
from reasoning.model.terms import Term


@dataclass(frozen=True)
class TimeSpan:
    """⊞ⁿ: the points of time [max(t1, t - size), t] (Definition 3)."""

    size: int


@dataclass(frozen=True)
class LastTuples:
    """⊞^#ⁿ: the last `size` input atoms by arrival (Laser, Definition 4; docs/lars.md)."""

    size: int


Window: TypeAlias = TimeSpan | LastTuples


@dataclass(frozen=True)
class Atom:
    """A predicate of terms; the name begins with `-` where it is classically negated."""

    name: str
    terms: tuple[Term, ...] = ()

    @property
    def signature(self) -> Signature:
        """Name and number of arguments."""
        return Signature(self.name, len(self.terms))


@dataclass(frozen=True)
class Now:
    """`a`: the atom holds now."""

    atom: Atom


@dataclass(frozen=True)
class At:
    """`@T a [w]`: it holds at a point of time of the window (None: of the whole timeline)."""

    time: Term
    atom: Atom
    window: Window | None


@dataclass(frozen=True)
class Diamond:
    """`<> a [w]`: it holds at some point of time of the window."""

    atom: Atom
    window: Window


@dataclass(frozen=True)
class Box:
    """`[] a [w]`, or `a always [w]`: it holds at every point of time of the window."""

    atom: Atom
    window: Window


@dataclass(frozen=True)
class Counted:
    """`a at least N [w]`, `a at most N [w]`, `a count N [w]`: at how many points of time of
    the window it holds (`>=`, `<=`, `=`)."""

    atom: Atom
    comparator: Comparator
    number: Term
    window: Window


@dataclass(frozen=True)
class Comparison:
    """`X < Y + 1`."""

    comparator: Comparator
    left: Term
    right: Term


Formula: TypeAlias = Now | At | Diamond | Box | Counted | Comparison


@dataclass(frozen=True)
class BodyElement:
    """A formula of a body, perhaps behind `not`."""

    formula: Formula
    negated: bool = False


@dataclass(frozen=True)
class LarsRule:
    """`a :- body.`, or `@T a :- body.` (`time` is None where the head holds now); a
    constraint where the head is None."""

    head: Atom | None
    time: Term | None
    body: tuple[BodyElement, ...]
    line: int
    label: str = ""

    @property
    def name(self) -> str:
        """How messages call it: its label, or its line."""
        return self.label or str(self.line)


@dataclass(frozen=True)
class LarsProgram:
    """A program with its constants resolved and its sugar read.

    `request` is what reading streams and knowledge bases asks of a program (prefixes,
    scales, `#from`, the only stream; no rules): `Encoder`, `Recording` and `background`
    take it.
    """

    rules: tuple[LarsRule, ...]
    request: Request
    shows: frozenset[Signature] | None = None
    """Predicates that are shown; None: those that rules derive (docs/reason.md)."""
    streamed: frozenset[Signature] = frozenset()
    """Derived predicates that later points of time see in the stream (`#stream p/1.`)."""
    constants: Mapping[str, str] = field(default_factory=dict)

    @property
    def derived(self) -> frozenset[Signature]:
        """Predicates of heads: the intensional ones."""
        return frozenset(rule.head.signature for rule in self.rules if rule.head is not None)
