"""Plans: which rules run together, on which facts, and how those are split (docs/parallel.md)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Literal

from citywise.reasoning.asp.rules import AspRule
from citywise.reasoning.model.engine import OURS, AspProgram
from citywise.reasoning.model.request import Signature

PlanName = Literal["sound", "greedy", "whole"]
Form = Literal["text", "json", "dot"]
"""How a plan is printed."""


_LISTED = 5
"""Further lines that a reason names."""


@dataclass(frozen=True)
class Follow:
    """An input whose atoms go where atoms of another go that agree with them.

    `p(a,b)` goes to the buckets of all atoms of `of` whose argument `there` is what `p` has
    at `argument` (both counted from 1).
    """

    argument: int
    of: Signature
    there: int


@dataclass(frozen=True)
class Share:
    """A body literal that reads, of facts given to all buckets, those whose argument belongs
    to its bucket: they are there once more, under another name."""

    literal: int
    """Its place in the body, from 0."""
    of: Signature
    argument: int

    @property
    def name(self) -> str:
        """The other name of the predicate."""
        return share_name(self.of, self.argument)

    def text(self, rule: AspRule) -> str:
        """The rule, reading its bucket's share."""
        tree = deepcopy(rule.tree.origin)
        tree.body[self.literal].atom.symbol.name = self.name
        return f"{tree}\n"


def share_name(signature: Signature, argument: int) -> str:
    """The name under which buckets get their shares of a predicate by an argument."""
    return f"{OURS}by_{argument}_{signature.name}"


@dataclass(frozen=True)
class Key:
    """How the facts of a partition are split over any number of buckets.

    An atom of a predicate in `positions` goes to the bucket of its argument there (counted
    from 1), one of `following` where another goes, one of `spread` to any, one of `whole`
    to all.
    """

    positions: Mapping[Signature, int]
    following: Mapping[Signature, Follow] = field(default_factory=dict)
    spread: frozenset[Signature] = frozenset()
    whole: frozenset[Signature] = frozenset()
    once: frozenset[str] = frozenset()
    """Names of rules that run in the first bucket only: they read what is whole."""
    shares: Mapping[str, Share] = field(default_factory=dict)
    """By name of a rule: what of it reads a share."""

    def text(self, rule: AspRule) -> str:
        """A rule as it runs in the buckets."""
        share = self.shares.get(rule.name)
        return rule.text if share is None else share.text(rule)


@dataclass(frozen=True)
class Partition:
    """Rules that run together, on all facts they read."""

    rules: tuple[AspRule, ...]
    inputs: frozenset[Signature]
    """Predicates of which facts are wanted, if there are any."""
    shows: frozenset[Signature]
    """Predicates it shows."""
    common: str = ""
    priorities: tuple[int, ...] = ()
    """Priorities of the program, if the partition has preferences."""
    key: Key | None = None
    others: tuple[Key, ...] = ()
    """Keys that are right as well, and may be faster: only measuring tells."""
    name: str = ""
    """Of the request."""

    def program(self, bucket: int = 0) -> AspProgram:
        """What is evaluated in a bucket; without a key there is one, number 0."""
        key = self.key or Key({})
        once, whole = (key.once, key.whole) if bucket else ((), ())
        rules = "".join(key.text(rule) for rule in self.rules if rule.name not in once)
        shows = "".join(f"#show {s}.\n" for s in sorted(self.shows) if s not in whole)
        return AspProgram(self.name, f"{self.common}{rules}#show.\n{shows}", self.priorities)

    def shared(self, moving: Collection[Signature]) -> frozenset[Signature]:
        """The other names under which windows supply what moves."""
        shares = self.key.shares.values() if self.key else ()
        return frozenset(Signature(s.name, s.of.arity) for s in shares if s.of in moving)

    def keyed(self, variant: int) -> Partition:
        """With one of its several keys, counted from 0; the last, if there are fewer."""
        if self.key is None:
            return self
        return replace(self, key=(self.key, *self.others)[min(variant, len(self.others))])


@dataclass(frozen=True)
class Reason:
    """Why something is cut or not cut: a sentence, and the rules that decide it."""

    text: str
    rules: tuple[AspRule, ...] = ()
    listed: bool = False
    """Whether the rules are named behind the sentence, and not within it."""
    partition: int = 0
    """The number of the partition it is about; 0: the plan."""

    def __str__(self) -> str:
        before = f"partition {self.partition}: " if self.partition else ""
        return f"{before}{self.text}{self._names if self.listed else ''}"

    @property
    def _names(self) -> str:
        return f": {', '.join(rule.cited for rule in self.rules)}"

    def at(self, file: str) -> str:
        """The sentence behind the place of the first rule, in a line of moderate length."""
        lines = sorted({rule.line for rule in self.rules})
        place = f"{file}:{lines[0]}: " if lines else f"{file}: "
        others = ", ".join(map(str, lines[1 : 1 + _LISTED]))
        more = ", …" if len(lines) > 1 + _LISTED else ""
        besides = f" (with line{'s' if len(lines) > 2 else ''} {others}{more})"
        return f"{place}{self.text}{besides if self.listed and others else ''}"


@dataclass(frozen=True)
class Plan:
    """Partitions whose answers combine to the request's, and why they are as they are."""

    name: PlanName
    partitions: tuple[Partition, ...]
    because: tuple[Reason, ...] = ()
    """For every cut and every refusal to cut."""
    facts: str = ""
    """Plain facts of the program, one `atom.` a line, to be dealt out like knowledge."""
    constants: str = ""
    """The `#const` statements, by which an argument may mean another value."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """For every cut and every refusal to cut: a sentence."""
        return tuple(map(str, self.because))

    def split(self, buckets: int, variant: int = 0) -> Plan:
        """The plan for a number of buckets: each partition has one of its keys, or none if
        there is one bucket."""
        return replace(
            self,
            partitions=tuple(
                replace(p, key=None) if buckets == 1 else p.keyed(variant) for p in self.partitions
            ),
        )


Planner = Callable[[AspProgram, frozenset[Signature]], Plan]
"""Cuts a program; the predicates are those of the facts there are besides its own."""
