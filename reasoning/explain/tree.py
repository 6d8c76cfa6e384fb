"""The tree an explanation is: nodes that say one thing each, and what that rests on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from reasoning.explain.origins import FedBack, ItemOrigin, KnowledgeOrigin, Origin, Time
from reasoning.rdf.mapping import Triple
from reasoning.rdf.ntriples import write

Kind = Literal[
    # why
    "derived", "chosen", "alternative", "shown", "fact", "stream", "knowledge", "previous",
    "given", "seen", "cut", "opaque", "justified",
    # parts of a rule's body
    "absent", "present", "comparison", "aggregate", "conditional", "window",
    # why not
    "missing", "unknown", "rule", "holds", "fails", "not chosen", "outside", "past", "hint",
    "elsewhere", "excluded",
    # conflicts
    "conflict", "wish", "constraint", "instance", "bound", "contradiction", "inconsistent",
]  # fmt: skip
"""What a node is about; docs/explain.md says what each kind carries."""

Question = Literal["why", "why not", "conflict"]


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule as written: its label (if it has one), line, and text on one line."""

    line: int
    text: str
    label: str | None = None

    @property
    def name(self) -> str:
        """`rule r1` or `rule line 6`."""
        return f"rule {self.label}" if self.label else f"rule line {self.line}"

    def to_json(self) -> dict[str, Any]:
        """Label, line and text."""
        return {"label": self.label, "line": self.line, "text": self.text}


@dataclass(frozen=True, slots=True)
class TreeNode:
    """One statement of an explanation and the nodes it rests on.

    `text` says it for people. `atom` or `literal` is what it is about, `count` how many
    there are where `children` or `values` are only the first of them, `values` the
    assignments tried, each variable with its value and the literal with them filled in.
    `valid` are the first and the last time at which it holds (None: for ever).
    """

    kind: Kind
    text: str
    atom: str | None = None
    literal: str | None = None
    rule: RuleText | None = None
    origins: tuple[Origin, ...] = ()
    count: int | None = None
    value: str | None = None
    values: tuple[dict[str, str], ...] = ()
    children: tuple[TreeNode, ...] = ()
    valid: tuple[Time | None, Time | None] | None = None

    def to_json(self) -> dict[str, Any]:
        """The node and all below it as values JSON can hold; what is not there is left out."""
        found: dict[str, Any] = {"kind": self.kind, "text": self.text}
        for key in ("atom", "literal", "count", "value"):
            if (value := getattr(self, key)) is not None:
                found[key] = value
        if self.rule:
            found["rule"] = self.rule.to_json()
        if self.origins:
            found["origins"] = [origin_json(origin) for origin in self.origins]
        if self.valid:
            found["from"], found["until"] = self.valid
        if self.values:
            found["values"] = [dict(value) for value in self.values]
        if self.children:
            found["children"] = [child.to_json() for child in self.children]
        return found

    def walk(self) -> Iterator[TreeNode]:
        """The node and everything below it, top down."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class Explanation:
    """The answer to why an atom is, or is not, in an answer, or why there is no answer.

    `time` is the evaluation's, as it was given; `cost` that of the answer set the
    explanation is about (highest priority first).
    """

    question: Question
    atom: str
    tree: TreeNode
    time: Time | None = None
    cost: tuple[int, ...] = field(default=())

    @property
    def holds(self) -> bool:
        """Whether the atom is in the answer set."""
        return self.question == "why"

    def to_json(self) -> dict[str, Any]:
        """As `citywise explain --format json` prints it (docs/explain.md)."""
        return {
            "question": self.question,
            "atom": self.atom,
            "t": self.time,
            "holds": self.holds,
            "cost": list(self.cost),
            "tree": self.tree.to_json(),
        }

    def __str__(self) -> str:
        """The tree as text for a terminal."""

        return render(self)


def origin_json(origin: Origin) -> dict[str, Any]:
    """An origin as values JSON can hold."""
    if isinstance(origin, ItemOrigin):
        found: dict[str, Any] = {"t": origin.time, "stream": origin.item.stream}
        if origin.until is not None:
            found["until"] = origin.until
        return {"from": "stream", **found, "source": origin.source}
    if isinstance(origin, KnowledgeOrigin):
        detail = origin.detail
        text = detail if isinstance(detail, str) or detail is None else _n_triples(detail)
        return {"from": "knowledge", "source": origin.source, "detail": text}
    assert isinstance(origin, FedBack)
    return {"from": "previous", "t": origin.time}


def _n_triples(triple: Triple) -> str:
    return f"{' '.join(write(term) for term in triple)} ."


def render(explanation: Explanation, depth: int | None = None) -> str:
    """The tree as lines, at most `depth` levels of it (None: all that was built)."""
    return "\n".join(_lines(explanation.tree, "", "", depth)) + "\n"


def _lines(node: TreeNode, first: str, rest: str, depth: int | None) -> Iterator[str]:
    head, *more = node.text.split("\n")
    yield first + head
    yield from (rest + line for line in more)
    children = node.children
    if children and depth == 0:
        yield f"{rest}└─ …"
        return
    for number, child in enumerate(children, 1):
        last = number == len(children)
        below = None if depth is None else depth - 1
        yield from _lines(
            child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "), below
        )
