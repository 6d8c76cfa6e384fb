"""The network of a theory as text to read, as JSON and for Graphviz."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from reasoning.parallel.dot import quoted
from reasoning.rif.description import Description, Node, RuleNode

_TITLES = {
    "alpha": "Alpha nodes: what is looked up, each kept once for all rules",
    "beta": "Beta nodes: what several rules join",
    "part": "Alternatives",
}


def to_json(found: Description) -> dict[str, Any]:
    """A description as values JSON can hold."""
    return {
        "language": "rif",
        "fragment": "positive",
        "engine": "incremental",
        "window": found.window,
        "regime": found.regime,
        "regime_rules": found.inferring,
        "strata": [list(level) for level in found.strata],
        "input_predicates": list(found.inputs),
        "nodes": [asdict(node) for node in found.nodes],
        "rules": [asdict(rule) for rule in found.rules],
    }


def to_text(found: Description) -> str:
    """A description for people."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Description) -> Iterator[str]:
    yield f"{found.file}: rif, positive, engine incremental"
    yield f"window {found.window or 'none: what comes counts for ever'}"
    if found.regime is not None:
        yield f"regime {found.regime}: {found.inferring} rules besides the document's"
    yield from _section("Strata", (f"{n}  {', '.join(s)}" for n, s in enumerate(found.strata)))
    yield from _section("Input predicates", [", ".join(found.inputs) or "none"])
    for kind, title in _TITLES.items():
        nodes = [node for node in found.nodes if node.kind == kind]
        if nodes:
            yield from _section(title, (line for node in nodes for line in _node(node)))
    yield from _section("Rules", (line for rule in found.rules for line in _rule(rule)))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield ""
    yield title
    yield from (f"  {line}" for line in lines)


def _node(node: Node) -> Iterator[str]:
    yield f"{node.name}  {node.pattern}"
    made = f"made of {', '.join(node.reads)}; " if node.reads else ""
    yield f"    {made}{'shared by' if len(node.rules) > 1 else 'for'} {', '.join(node.rules)}"


def _rule(rule: RuleNode) -> Iterator[str]:
    yield f"{rule.name}: {rule.derives}"
    yield f"    joins {', '.join(rule.reads) or 'nothing'}"
    yield from (f"    where {test}" for test in rule.tests)


def to_dot(found: Description) -> str:
    """The network as a digraph: what several rules share is drawn with a double line."""
    lines = [f"digraph {quoted(found.file)} {{", "  rankdir=LR;", "  node [shape=box];"]
    for node in found.nodes:
        shape = ", peripheries=2" if len(node.rules) > 1 else ""
        label = f"{node.name}\n{node.pattern}"
        lines.append(f"  {quoted(node.name)} [label={quoted(label)}{shape}];")
        lines += (f"  {quoted(each)} -> {quoted(node.name)};" for each in node.reads)
    for number, rule in enumerate(found.rules, 1):
        name = quoted(f"rule {number}")
        label = quoted(f"{rule.name}\n{rule.derives}")
        lines.append(f"  {name} [label={label}, shape=ellipse];")
        lines += (f"  {quoted(each)} -> {name};" for each in rule.reads)
    return "\n".join([*lines, "}"]) + "\n"
