"""Everything there is to say about how a program is cut (`citywise plan`, DESIGN A3)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reasoning.analysis.dependencies import Dependencies, Fragment
from reasoning.engines.guard import supplied_by_windows
from reasoning.engines.incremental.choosing import suited
from reasoning.engines.program import program
from reasoning.languages.casp import PLAIN
from reasoning.parallel import greedy, sound
from reasoning.parallel.graphs import (
    ExtendedGraph,
    InputGraph,
    extended_graph,
    input_graph,
    input_predicates,
)
from reasoning.parallel.plan import Name, Partition, Plan
from reasoning.parallel.rules import Rule, read
from reasoning.program import Request, Signature


@dataclass(frozen=True)
class Description:
    """A program's fragment and graphs, and the plan by which it is evaluated."""

    file: str
    language: str
    fragment: Fragment
    engine: str
    """What evaluates it: `incremental`, `solver`, or the one below and the other above."""
    outside: tuple[str, ...]
    """Why statements are not in the incremental engine's fragment."""
    strata: tuple[frozenset[Signature], ...] | None
    """Predicates by stratum; None where a cycle leads through negation."""
    cycle: str | None
    """That cycle."""
    rules: tuple[Rule, ...]
    inputs: frozenset[Signature]
    extended: ExtendedGraph
    graph: InputGraph
    plan: Plan

    def inputs_of(self, partition: Partition) -> frozenset[Signature]:
        """The input predicates of which a partition has facts."""
        return partition.inputs & self.inputs

    def rules_of(self, partition: Partition) -> list[str]:
        """Names of the program's rules that a partition runs, in the program's order."""
        names = {rule.name for rule in partition.rules}
        return [rule.name for rule in self.rules if rule.name in names]


def describe(request: Request, path: Path, name: Name = "sound") -> Description:
    """Analyse the request of a file and cut it as the plan called `name` says.

    The plan is that of the rules alone: knowledge bases are not read, and no window has been
    counted yet.
    """
    rules = read(request.rules, request.labels).rules
    dependencies = Dependencies([rule.tree for rule in rules])
    inputs = input_predicates(request, rules)
    extended = extended_graph(rules)
    cycle = dependencies.negative_cycle()
    engine, outside = suited(request)
    return Description(
        file=path.name,
        language="asp" if path.suffix == PLAIN else path.suffix.removeprefix("."),
        fragment=dependencies.fragment(),
        engine=engine,
        outside=outside,
        strata=strata(dependencies, extended.nodes),
        cycle=None if cycle is None else ", ".join(f"{e.head} needs {e}" for e in cycle),
        rules=rules,
        inputs=inputs,
        extended=extended,
        graph=input_graph(extended, inputs),
        plan=_plan(request, inputs, name),
    )


def _plan(request: Request, inputs: frozenset[Signature], name: Name) -> Plan:
    what, present = program(request, frozenset()), supplied_by_windows(request)
    if name == "greedy":
        return greedy.plan(what, inputs, request.labels, present=present)
    if name == "whole":
        return sound.whole(what, request.labels, present)
    return sound.plan(what, request.labels, present=present)


def strata(
    dependencies: Dependencies, predicates: frozenset[Signature]
) -> tuple[frozenset[Signature], ...] | None:
    """Predicates by stratum; None where a cycle leads through negation."""
    levels = dependencies.strata()
    if levels is None:
        return None
    height = max(levels.values(), default=0) + 1
    places = {signature: levels.get(signature, 0) for signature in predicates}
    return tuple(frozenset(s for s, at in places.items() if at == n) for n in range(height))
