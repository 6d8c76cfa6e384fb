"""The program model: what a continuous reasoning request says, whatever its notation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

from citywise.reasoning.errors import ItemError

Unit = Literal["s", "ms"]
Entailment = Literal["rdfs", "owl-rl"]
PLAIN = ".lp"
"""Suffix of files in clingo's own language, without labels and `;` at a line's end."""
OURS = "citywise_"
"""How the names begin that we add to a program; messages do not name them."""


class Signature(NamedTuple):
    """A predicate: name and number of arguments."""

    name: str
    arity: int

    def __str__(self) -> str:
        return f"{self.name}/{self.arity}"


@dataclass(frozen=True)
class TimeWindow:
    """Items with time in [t - width, t], evaluated every `slide`; in the request's unit.

    Thesis, Definition 4.3, with the ticks of docs/casp.md.
    """

    width: int
    slide: int

    def first_tick(self, first: int) -> int:
        """The time of its first evaluation, where the request's first time is `first`."""
        # T0 + ω, with T0 the multiple of the slide at or before the first item.
        return self.slide * (first // self.slide) + self.width


@dataclass(frozen=True)
class CountWindow:
    """The last `width` items, evaluated after every `slide` more (Definition 4.4)."""

    width: int
    slide: int

    def held_of(self, arrived: int) -> int:
        """How many of so many items it can still need: what it held at its last evaluation, and
        what came since."""
        over = arrived - self.width
        return arrived if over < 0 else self.width + over % self.slide


Window = TimeWindow | CountWindow


@dataclass(frozen=True)
class StreamSource:
    """A stream and the window through which the request sees it."""

    iri: str
    window: Window
    entailment: Entailment | None = None
    """What is inferred from what the window holds (`rdf.inferring`)."""


@dataclass(frozen=True)
class KnowledgeSource:
    """A knowledge base: its file, and what is to be inferred from it when it is loaded."""

    path: str
    entailment: Entailment | None = None
    written: str = field(default="", compare=False)
    """The file as `#from` names it, for messages; empty where no request asks for it."""


@dataclass(frozen=True)
class Request:
    """A continuous reasoning request (thesis, Definition 4.5), ready to be evaluated.

    `rules` is the request's text with everything that is not clingo's blanked out, so that
    positions in messages are those of the source.
    """

    name: str
    rules: str
    streams: tuple[StreamSource, ...] = ()
    knowledge: tuple[KnowledgeSource, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict)
    hidden: Mapping[str, str] = field(default_factory=dict)
    """Predicates of properties under no prefix that rules of an entailment look at, by IRI."""
    inputs: frozenset[Signature] = frozenset()
    shows: frozenset[Signature] = frozenset()
    shows_terms: bool = False
    feedback: frozenset[Signature] = frozenset()
    held: frozenset[Signature] = frozenset()
    """Predicates of which rules see since when each atom has held (`model.carried`)."""
    last: Mapping[Signature, int | None] = field(default_factory=dict)
    """Predicates of which rules see when each atom held last, and after how long that is
    forgotten; None: never."""
    sees_now: bool = False
    """Whether `now/1` is the evaluation's time, unless something supplies it."""
    lateness: int = 0
    revise: int | None = None
    """How far back items may come, be corrected and withdrawn (docs/revision.md); None: never."""
    scales: Mapping[str, int] = field(default_factory=dict)
    timezone: ZoneInfo | None = None
    unit: Unit = "s"
    derived: frozenset[Signature] = frozenset()
    used: frozenset[Signature] = frozenset()
    compared: Mapping[Signature, int] = field(default_factory=dict)
    """Predicates whose second argument meets arithmetic or an order comparison, perhaps
    after some rules, and the line of the one that computes."""
    priorities: tuple[int, ...] = ()
    """Priorities of weak constraints and optimisation statements, highest first."""
    appended: str = field(default="", compare=False)
    """The rules at the end of `rules` that are not the request's own but those of `#held` and
    `#last`, and of an entailment, a line each with its label."""
    labels: Mapping[tuple[int, int], str] = field(default_factory=dict, compare=False)
    """Labels of statements of `rules`, by the line and column (from 1, in bytes) at which
    clingo's syntax tree says they begin."""

    @property
    def ticks_per_second(self) -> int:
        """Units of the request's time in one second."""
        return 1000 if self.unit == "ms" else 1

    def arities(self, name: str) -> frozenset[int]:
        """Numbers of arguments with which the rules' bodies mention predicate `name`."""
        return frozenset(s.arity for s in self.used if s.name == name)


def previous(atom: str) -> str:
    """What an atom, or a predicate, is called in the evaluation after: `p(1)` as `prev_p(1)`,
    `-p(1)` as `-prev_p(1)`."""
    return f"-prev_{atom[1:]}" if atom.startswith("-") else f"prev_{atom}"


_DURATION = re.compile(r"\s*([0-9]{1,15})\s*(d|h|ms|m|s)?\s*\Z")
_MILLISECONDS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}


def parse_duration(text: int | str, unit: Unit) -> int:
    """A duration in a unit: `1h`, or a number that counts in it; raises `ItemError`."""
    match = _DURATION.match(str(text))
    if match is None:
        raise ItemError(
            f"{str(text)[:80]!r} is no duration; write a whole number with d, h, m, s or ms, e.g. "
            f"`1h`, or without one, which counts in {unit}"
        )
    number, given = int(match[1]), match[2] or unit
    found, rest = divmod(number * _MILLISECONDS[given], _MILLISECONDS[unit])
    if rest:
        raise ItemError(f"`{match[0].strip()}` is not whole: the program's times count in {unit}")
    return found
