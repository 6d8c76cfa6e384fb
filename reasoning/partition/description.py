"""Everything there is to say about how a program is cut (docs/plan.md)."""

from __future__ import annotations

import colorsys
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citywise.reasoning.asp.dependencies import (
    Dependencies,
    Edge,
    ExtendedGraph,
    Fragment,
    InputGraph,
    extended_graph,
    input_graph,
    input_predicates,
)
from citywise.reasoning.asp.rules import AspRule, read
from citywise.reasoning.engines.choosing import suited
from citywise.reasoning.engines.clingo.guard import supplied_by_windows
from citywise.reasoning.model.carried import clock, is_ours, meaning, remembered, since
from citywise.reasoning.model.engine import OURS, program
from citywise.reasoning.model.request import PLAIN, Request, Signature
from citywise.reasoning.partition import greedy, sound
from citywise.reasoning.partition.plan import Form, Key, Partition, Plan, PlanName

_GOLDEN = 0.618034
"""Steps of hue: colours of neighbouring numbers lie far apart, however many there are."""
_Places = Mapping[Signature, Sequence[int]]
"""Numbers of the partitions in which a predicate is."""


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
    rules: tuple[AspRule, ...]
    inputs: frozenset[Signature]
    extended: ExtendedGraph
    graph: InputGraph
    plan: Plan

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the plan is as it is, but for what is about predicates of ours."""
        return tuple(reason for reason in self.plan.reasons if OURS not in reason)

    def inputs_of(self, partition: Partition) -> frozenset[Signature]:
        """The input predicates of which a partition has facts."""
        return partition.inputs & self.inputs

    def rules_of(self, partition: Partition) -> list[str]:
        """Names of the program's rules that a partition runs, in the program's order."""
        names = {rule.name for rule in partition.rules}
        return [rule.name for rule in self.rules if rule.name in names]


def describe(request: Request, path: Path, name: PlanName = "sound") -> Description:
    """Analyse the request of a file and cut it as the plan called `name` says.

    The plan is that of the rules alone: knowledge bases are not read, and no window has been
    counted yet.
    """
    rules = tuple(r for r in read(request.rules, request.labels).rules if not _is_ours(r, request))
    related = (*rules, *read(meaning(request)).rules)
    dependencies = Dependencies([rule.tree for rule in related])
    inputs = input_predicates(request, rules)
    extended = extended_graph(related)
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
        plan=_plan(request, name),
    )


def _plan(request: Request, name: PlanName) -> Plan:
    what, present = program(request, frozenset()), supplied_by_windows(request)
    if name == "greedy":
        return greedy.planner(request)(what, present)
    if name == "whole":
        return sound.whole(what, request.labels, present)
    fed, now = remembered(request), clock(request)
    return sound.plan(what, request.labels, present=present, feedback=fed, clock=now)


def _is_ours(rule: AspRule, request: Request) -> bool:
    """Whether a rule says what `#held` or `#last` means."""
    made = set(map(since, request.held))
    return any(is_ours(signature) or signature in made for signature in rule.head)


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


# -- as text, JSON and graphs ---------------------------------------------------------------


def to_dot(found: Description) -> str:
    """The extended and the input dependency graph as two clusters of one digraph.

    Colours and the numbers under a name say in which partitions an input's facts are, or a
    predicate is derived. Undirected edges are those without arrow heads.
    """
    inputs = _places(found.inputs_of(p) for p in found.plan.partitions)
    derived = _places({s for r in p.rules for s in r.head} for p in found.plan.partitions)
    lines = [
        f"digraph {quoted(found.file)} {{",
        '  node [shape=ellipse, style=filled, fillcolor="#ffffff"];',
        *_cluster("extended", "Extended dependency graph", found.extended.nodes, derived | inputs),
        *_edges("extended", found.extended.directed, ""),
        *_edges("extended", found.extended.undirected, " [dir=none, style=dashed]"),
        "  }",
        *_cluster("inputs", "Input dependency graph", found.graph.nodes, inputs),
        *_edges("inputs", found.graph.edges, " [dir=none]"),
        "  }",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _places(partitions: Iterable[Iterable[Signature]]) -> dict[Signature, list[int]]:
    found: dict[Signature, list[int]] = {}
    for number, signatures in enumerate(partitions, 1):
        for signature in signatures:
            found.setdefault(signature, []).append(number)
    return found


def _cluster(name: str, title: str, nodes: Iterable[Signature], places: _Places) -> Iterator[str]:
    yield f"  subgraph {quoted(f'cluster_{name}')} {{"
    yield f"    label={quoted(title)};"
    for node in sorted(nodes):
        yield f"    {_node(name, node)} [{_look(node, places.get(node, ()))}];"


def _look(node: Signature, numbers: Sequence[int]) -> str:
    if not numbers:
        return f"label={quoted(str(node))}"
    label = f"{node}\n{', '.join(map(str, numbers))}"
    colours = ":".join(map(_colour, numbers))
    style = ', style="wedged"' if len(numbers) > 1 else ""
    return f"label={quoted(label)}, fillcolor={quoted(colours)}{style}"


def _edges(cluster: str, edges: Iterable[Edge], look: str) -> Iterator[str]:
    for p, q in sorted(edges):
        yield f"    {_node(cluster, p)} -> {_node(cluster, q)}{look};"


def _node(cluster: str, signature: Signature) -> str:
    return quoted(f"{cluster}: {signature}")


def _colour(number: int) -> str:
    red, green, blue = colorsys.hsv_to_rgb(number * _GOLDEN % 1, 0.3, 1)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"


def quoted(text: str) -> str:
    """A DOT string; in labels a line break is `\\n`."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def to_json(found: Description) -> dict[str, Any]:
    """A description as values JSON can hold, everything sorted as text."""
    numbered = enumerate(found.plan.partitions, 1)
    partitions = [_partition(found, partition, number) for number, partition in numbered]
    return {
        "language": found.language,
        "fragment": found.fragment,
        "engine": found.engine,
        "outside": list(found.outside),
        "strata": None if found.strata is None else [_texts(level) for level in found.strata],
        "input_predicates": _texts(found.inputs),
        **graphs(found.extended, found.graph),
        "plan": found.plan.name,
        "partitions": sorted(partitions, key=lambda p: (p["predicates"], p["rules"])),
        "reasons": list(found.reasons),
    }


def graphs(extended: ExtendedGraph, graph: InputGraph) -> dict[str, Any]:
    """Both graphs as values JSON can hold."""
    return {
        "extended_graph": {
            "undirected": _pairs(extended.undirected),
            "directed": sorted([str(p), str(q)] for p, q in extended.directed),
        },
        "input_graph": {
            "edges": _pairs(graph.edges),
            "components": sorted(_texts(part) for part in graph.components()),
        },
    }


def _partition(found: Description, partition: Partition, number: int) -> dict[str, Any]:
    key = partition.key or Key({})
    return {
        "predicates": _texts(found.inputs_of(partition)),
        "rules": sorted(found.rules_of(partition)),
        "besides": _texts(_besides(found, partition)),
        "key": _arguments(key.positions) if partition.key else None,
        "following": {
            str(s): {"argument": follow.argument, "of": str(follow.of), "there": follow.there}
            for s, follow in sorted(key.following.items(), key=lambda pair: str(pair[0]))
        },
        "shares": {
            rule: {"argument": share.argument, "of": str(share.of)}
            for rule, share in sorted(key.shares.items())
        },
        "whole": _texts(key.whole),
        "spread": _texts(key.spread),
        "once": sorted(key.once),
        "other_keys": [_arguments(other.positions) for other in partition.others],
        "shows": _texts(partition.shows),
        "number": number,
    }


def _arguments(positions: Mapping[Signature, int]) -> dict[str, int]:
    return {str(s): positions[s] for s in sorted(positions, key=str) if not is_ours(s)}


def _texts(signatures: Iterable[Signature]) -> list[str]:
    return sorted(str(signature) for signature in signatures if not is_ours(signature))


def _pairs(edges: Iterable[Edge]) -> list[list[str]]:
    return sorted(sorted((str(p), str(q))) for p, q in edges)


def printed(found: Description, form: Form) -> str:
    """A description in one of the forms that `citywise plan` prints."""
    if form == "json":
        return json.dumps(to_json(found), indent=2) + "\n"
    return to_dot(found) if form == "dot" else to_text(found)


def to_text(found: Description) -> str:
    """A description for people."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Description) -> Iterator[str]:
    yield f"{found.file}: {found.language}, {found.fragment}, engine {found.engine}"
    if found.outside:
        yield from _section("Left to the solver", (f"- {reason}" for reason in found.outside))
    yield from _section("Strata", _strata(found))
    yield from _section("Input predicates", [_list(found.inputs) or "none"])
    yield from _section("Extended dependency graph", _extended(found))
    yield from _section("Input dependency graph", _input_graph(found))
    partitions = found.plan.partitions
    count = f"{len(partitions)} partition{'' if len(partitions) == 1 else 's'}"
    yield from _section(f"Plan `{found.plan.name}`: {count}", ())
    for number, partition in enumerate(partitions, 1):
        yield f"  Partition {number}"
        yield from (f"    {line}" for line in _about(found, partition))
    if found.reasons:
        yield from _section("Why", (f"- {reason}" for reason in found.reasons))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield ""
    yield title
    yield from (f"  {line}" for line in lines)


def _strata(found: Description) -> Iterator[str]:
    if found.strata is None:
        yield f"none, for a cycle leads through negation: {found.cycle}"
    for number, level in enumerate(found.strata or ()):
        yield f"{number}  {_list(level)}"


def _extended(found: Description) -> Iterator[str]:
    graph = found.extended
    yield from (f"{p} -> {q}" for p, q in sorted(graph.directed))
    yield from _undirected(graph.undirected)


def _input_graph(found: Description) -> Iterator[str]:
    yield from _undirected(found.graph.edges)
    for number, part in enumerate(found.graph.components(), 1):
        yield f"component {number}: {_list(part)}"


def _undirected(edges: Iterable[Edge]) -> Iterator[str]:
    yield from (f"{p} -- {q if p != q else 'itself'}" for p, q in sorted(edges))


def _about(found: Description, partition: Partition) -> Iterator[str]:
    rules = found.rules_of(partition)
    yield f"rules   {', '.join(rules) or 'none'}"
    yield f"inputs  {_list(found.inputs_of(partition)) or 'none'}"
    if others := _besides(found, partition):
        yield f"besides {_list(others)}"
    yield f"shows   {_list(partition.shows) or 'nothing'}"
    if partition.key is None:
        yield "key     none: its facts are not split"
    else:
        yield from _key(partition.key)


def _besides(found: Description, partition: Partition) -> frozenset[Signature]:
    """What else it takes facts of: from knowledge bases, or of the evaluation before."""
    heads = frozenset[Signature]().union(*(rule.head for rule in partition.rules))
    return partition.inputs - found.inputs - heads


def _key(key: Key) -> Iterator[str]:
    positions = sorted(key.positions.items())
    split = ", ".join(f"{s} by argument {n}" for s, n in positions if not is_ours(s))
    yield f"key     {split or 'no argument'}"
    for signature, follow in sorted(key.following.items()):
        yield (
            f"        {signature} follows {follow.of}: its argument {follow.argument} is "
            f"argument {follow.there} there"
        )
    if key.whole:
        yield f"        to every bucket: {_list(key.whole)}"
    for rule, share in sorted(key.shares.items()):
        place = f"by argument {share.argument}"
        yield f"        rule {rule} reads its bucket's share of {share.of}, {place}"
    if key.spread:
        yield f"        in any bucket: {_list(key.spread)}"
    if key.once:
        yield f"        in the first bucket only: rules {', '.join(sorted(key.once))}"


def _list(signatures: Iterable[Signature]) -> str:
    return ", ".join(str(s) for s in sorted(signatures) if not is_ours(s))
