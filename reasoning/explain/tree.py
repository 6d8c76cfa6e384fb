"""The tree an explanation is: nodes that say one thing each, and what that rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from citywise.reasoning.explain.origins import (
    FedBack,
    ItemOrigin,
    KnowledgeOrigin,
    Origin,
    Outside,
    Remembered,
    Time,
    origin_json,
    origin_text,
    outside_text,
)

NodeKind = Literal[
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

    kind: NodeKind
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


# -- what all explanations say alike --------------------------------------------------------------

DEPTH = 24
"""Levels of a tree."""
TOLD = 10
"""Of elements, assignments or justifications so many are told."""
SIMILAR = 3
"""Of atoms that are much alike so many are told."""
_LISTED = 5
"""How many atoms of a list one line names."""


def seen(atom: str) -> TreeNode:
    """An atom that is explained elsewhere in the tree."""
    return TreeNode("seen", f"{atom}  (see above)", atom=atom)


def cut(atom: str) -> TreeNode:
    """An atom below which the tree is cut."""
    return TreeNode("cut", f"{atom}  …", atom=atom)


def given(text: str, origins: tuple[Origin, ...]) -> TreeNode:
    """A fact and where it comes from."""
    kinds: dict[type, NodeKind] = {
        ItemOrigin: "stream", KnowledgeOrigin: "knowledge", FedBack: "previous",
        Remembered: "previous",
    }  # fmt: skip
    kind = kinds[type(origins[0])] if origins else "given"
    places = [origin_text(origin) for origin in origins[:3]]
    if len(origins) > 3:
        places.append(f"and {len(origins) - 3} more")
    return TreeNode(kind, f"{text}  {'; '.join(places) or 'given'}", atom=text, origins=origins)


def missing(atom: str, children: Iterable[TreeNode]) -> TreeNode:
    """An atom that is not in the answer."""
    return TreeNode("missing", f"{atom}  is not in the answer", atom=atom, children=(*children,))


def holds(literals: Iterable[str], count: int, values: Iterable[dict[str, str]] = ()) -> TreeNode:
    """Literals that hold together, for so many assignments."""
    held = "; ".join(literals)
    times = "once" if count == 1 else f"{count} times"
    text = f"{held}  holds {times}"
    return TreeNode("holds", text, literal=held, count=count, values=(*values,))


def outside(atom: str, item: Outside) -> TreeNode:
    """An item that would give an atom, and why it does not count."""
    text = f"{atom}  {outside_text(item)}"
    return TreeNode("outside", text, atom=atom, value=item.reason, origins=(item.origin,))


def slip(atom: str) -> TreeNode:
    """An atom that is there, and differs in how a value is written."""
    return TreeNode("hint", f"{atom}  is there: it differs in how a value is written", atom=atom)


def nearest(atoms: list[str]) -> TreeNode:
    """Atoms that are there, and a little like the one that is not."""
    return TreeNode("hint", f"nearest to it: {listed(atoms, SIMILAR)}", count=len(atoms))


def listed(texts: list[str], most: int = _LISTED) -> str:
    """The first of many, and how many there are."""
    told = ", ".join(texts[:most])
    return told + (f", … ({len(texts)} in all)" if len(texts) > most else "")
