"""A plan laid out for evaluation: its parts, and who gets which facts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

from reasoning.engines.incremental.casp import UnsupportedError, translate
from reasoning.engines.limits import Limits
from reasoning.engines.program import Knowledge, Program
from reasoning.parallel.adaptive import Way
from reasoning.parallel.executors import Part
from reasoning.parallel.plan import Key, Partition, Plan
from reasoning.parallel.routing import Router, grouped
from reasoning.program import Signature


@dataclass
class Layout:
    """The parts of a plan for a number of buckets, in the order of partitions."""

    parts: list[Part]
    router: Router | None
    warm: bool = False
    """Whether it has been evaluated: its times are then no longer those of a start."""


class Planned:
    """A program, its plan, and the plan's layouts.

    `seen` are the predicates that windows supply, as far as is known.
    """

    def __init__(
        self,
        what: Program,
        plan: Plan,
        knowledge: Knowledge | None,
        seen: frozenset[Signature],
        limits: Limits,
    ) -> None:
        self.what = what
        self.plan = plan
        self._text = knowledge.text if knowledge else ""
        self._seen = seen
        self._limits = limits
        self._layouts: dict[Way, Layout] = {}

    def layout(self, way: Way) -> Layout:
        """How the program is laid out to go a way."""
        if way not in self._layouts:
            self._layouts[way] = self._laid_out(way) if way.buckets else self._whole(way)
        return self._layouts[way]

    @cached_property
    def keeps(self) -> bool:
        """Whether the incremental engine can evaluate a part."""
        programs = (partition.program() for partition in self.plan.partitions)
        return any(_is_kept(program, self._seen) for program in programs)

    def _whole(self, way: Way) -> Layout:
        return Layout([self._part(way, self.what, self._text)], None)

    def _laid_out(self, way: Way) -> Layout:
        plan = with_keys(self.plan, way)
        router = Router(plan, way.buckets, self._seen)
        settled = router.settle(grouped(self._text + self.plan.facts))
        parts = [
            self._part(way, partition.program(bucket), text, shared(partition, self._seen))
            for partition, texts in zip(plan.partitions, settled, strict=True)
            for bucket, text in enumerate(texts)
        ]
        return Layout(parts, router)

    def _part(
        self, way: Way, what: Program, knowledge: str, more: frozenset[Signature] = frozenset()
    ) -> Part:
        seen = self._seen | more
        return Part(what, knowledge, seen, self._limits, way.incremental and _is_kept(what, seen))


def _is_kept(what: Program, supplied: frozenset[Signature]) -> bool:
    """Whether the incremental engine can evaluate a program."""
    try:
        translate(what, supplied)
    except UnsupportedError:
        return False
    return True


def with_keys(plan: Plan, way: Way) -> Plan:
    """The plan with the keys of a way: of several in each partition, one; of one bucket,
    none."""

    def chosen(partition: Partition) -> Key | None:
        if partition.key is None or way.buckets == 1:
            return None
        return (partition.key, *partition.others)[min(way.variant, len(partition.others))]

    return replace(plan, partitions=tuple(replace(p, key=chosen(p)) for p in plan.partitions))


def shared(partition: Partition, moving: Collection[Signature]) -> frozenset[Signature]:
    """The other names under which windows supply what moves."""
    shares = partition.key.shares.values() if partition.key else ()
    return frozenset(Signature(s.name, s.of.arity) for s in shares if s.of in moving)
