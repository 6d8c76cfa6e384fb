"""A plan as text to read, and as JSON (DESIGN A7)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reasoning.parallel.description import Description
from reasoning.parallel.graphs import Edge
from reasoning.parallel.plan import Key, Partition
from reasoning.program import Signature


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
        "extended_graph": {
            "undirected": _pairs(found.extended.undirected),
            "directed": sorted([str(p), str(q)] for p, q in found.extended.directed),
        },
        "input_graph": {
            "edges": _pairs(found.graph.edges),
            "components": sorted(_texts(part) for part in found.graph.components()),
        },
        "plan": found.plan.name,
        "partitions": sorted(partitions, key=lambda p: (p["predicates"], p["rules"])),
        "reasons": list(found.plan.reasons),
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
    return {str(s): positions[s] for s in sorted(positions, key=str)}


def _texts(signatures: Iterable[Signature]) -> list[str]:
    return sorted(map(str, signatures))


def _pairs(edges: Iterable[Edge]) -> list[list[str]]:
    return sorted(sorted((str(p), str(q))) for p, q in edges)


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
    if found.plan.reasons:
        yield from _section("Why", (f"- {reason}" for reason in found.plan.reasons))


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
    split = ", ".join(f"{s} by argument {n}" for s, n in sorted(key.positions.items()))
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
    return ", ".join(map(str, sorted(signatures)))
