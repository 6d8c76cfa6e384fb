"""A program's graphs in the language of Graphviz, coloured by partition."""

from __future__ import annotations

import colorsys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from reasoning.parallel.description import Description
from reasoning.parallel.graphs import Edge
from reasoning.program import Signature

_GOLDEN = 0.618034
"""Steps of hue: colours of neighbouring numbers lie far apart, however many there are."""
_Places = Mapping[Signature, Sequence[int]]
"""Numbers of the partitions in which a predicate is."""


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
