"""Plans: which rules run together, on which facts, and how those are split (DESIGN A7)."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Literal

from reasoning.engines.program import OURS, Program
from reasoning.parallel.rules import Rule
from reasoning.program import Signature

Name = Literal["sound", "greedy", "whole"]


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

    def text(self, rule: Rule) -> str:
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

    def text(self, rule: Rule) -> str:
        """A rule as it runs in the buckets."""
        share = self.shares.get(rule.name)
        return rule.text if share is None else share.text(rule)


@dataclass(frozen=True)
class Partition:
    """Rules that run together, on all facts they read."""

    rules: tuple[Rule, ...]
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

    def program(self, bucket: int = 0) -> Program:
        """What is evaluated in a bucket; without a key there is one, number 0."""
        key = self.key or Key({})
        once, whole = (key.once, key.whole) if bucket else ((), ())
        rules = "".join(key.text(rule) for rule in self.rules if rule.name not in once)
        shows = "".join(f"#show {s}.\n" for s in sorted(self.shows) if s not in whole)
        return Program(self.name, f"{self.common}{rules}#show.\n{shows}", self.priorities)


@dataclass(frozen=True)
class Plan:
    """Partitions whose answers combine to the request's, and why they are as they are."""

    name: Name
    partitions: tuple[Partition, ...]
    reasons: tuple[str, ...] = ()
    """For every cut and every refusal to cut: a sentence."""
    facts: str = ""
    """Plain facts of the program, one `atom.` a line, to be dealt out like knowledge."""
    constants: str = ""
    """The `#const` statements, by which an argument may mean another value."""
