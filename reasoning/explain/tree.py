"""The tree an explanation is: nodes that say one thing each, and what that rests on; in the end
stream items, knowledge bases and the answer before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from citywise.reasoning.errors import ItemError
from citywise.reasoning.model.atoms import ground
from citywise.reasoning.model.values import Value, atom_text, parsed, replaced
from citywise.reasoning.rdf.knowledge import KnowledgeOrigin as KnowledgeOrigin
from citywise.reasoning.rdf.mapping import Triple
from citywise.reasoning.rdf.ntriples import write
from citywise.reasoning.streams.items import Item

Time = int | str
"""A time in the request's unit, or as the recording writes it."""


@dataclass(frozen=True, slots=True)
class ItemOrigin:
    """A stream item gave the fact; `source` is its place, `bookings.jsonl:1`, if known.

    `written` are its time and its end as the recording writes times, for people to read
    (default: the item's own, in the request's unit).
    """

    item: Item
    source: str | None = None
    written: tuple[Time, Time | None] | None = None

    @property
    def time(self) -> Time:
        """The item's time, to be read."""
        return self.item.time if self.written is None else self.written[0]

    @property
    def until(self) -> Time | None:
        """The last time at which the item holds, if it has an interval."""
        return self.item.until if self.written is None else self.written[1]


@dataclass(frozen=True, slots=True)
class FedBack:
    """The fact is an atom of the previous answer, that of `time` if known."""

    time: Time | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """The fact is a time: since when an atom holds, when it held last, or that of the
    evaluation."""

    what: Literal["since", "last", "now"]
    time: Time


Origin = ItemOrigin | KnowledgeOrigin | FedBack | Remembered
Facts = Mapping[str, tuple[Origin, ...]]
"""A window's facts as ASP text, each with everything that gave it."""

OutsideReason = Literal[
    "too old", "not yet", "waiting", "too late", "before the start", "pushed out", "refused",
    "filtered",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outside:
    """An item that was there but not in the window of the evaluation, and why.

    `too old` and `not yet` are about `window`, the closed interval [from, to] of the
    window at that evaluation, if it is one of time; `waiting` items came since their
    window was last evaluated, `too late` ones after their time had been closed, those
    `before the start` before the run's first time; `pushed out` ones left a count window,
    `refused` ones have no value in ASP (`detail` says what was wrong), `filtered` ones are
    not among the request's `#input`.
    """

    origin: ItemOrigin
    reason: OutsideReason
    window: tuple[Time, Time] | None = None
    detail: str = ""


Outsiders = Mapping[str, tuple[Outside, ...]]
"""Facts of items outside the window, as ASP text, each with the items that gave it."""


Known = TypeVar("Known")


def valued(
    facts: Mapping[str, tuple[Known, ...]], constants: Mapping[str, Value]
) -> Mapping[str, tuple[Known, ...]]:
    """Facts as they are evaluated: names stand for what `#const` says, in the data too."""
    if not constants:
        return facts
    found: dict[str, tuple[Known, ...]] = {}
    for fact, known in facts.items():
        text = _valued(fact, constants)
        found[text] = (*found.get(text, ()), *known)
    return found


def _valued(fact: str, constants: Mapping[str, Value]) -> str:
    try:
        name, row = parsed(ground(fact))
    except ItemError:
        return fact
    return atom_text(name, tuple(replaced(value, constants) for value in row))


def spelled(fact: str) -> str:
    """A fact in clingo's own spelling, if it is a single ground atom."""
    try:
        return ground(fact)
    except ItemError:
        return fact


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
    if isinstance(origin, Remembered):
        return {"from": origin.what, "t": origin.time}
    assert isinstance(origin, FedBack)
    return {"from": "previous", "t": origin.time}


def _n_triples(triple: Triple) -> str:
    return f"{' '.join(write(term) for term in triple)} ."


def origin_text(origin: Origin) -> str:
    """Where a fact comes from, in words."""
    if isinstance(origin, ItemOrigin):
        time = f"at {origin.time}" + ("" if origin.until is None else f" until {origin.until}")
        stream = f"stream <{origin.item.stream}> " if origin.item.stream else "stream "
        return stream + time + (f" ({origin.source})" if origin.source else "")
    if isinstance(origin, KnowledgeOrigin):
        detail = origin_json(origin)["detail"]
        return f"knowledge {origin.source}" + (f": {detail}" if detail else "")
    if isinstance(origin, Remembered):
        words = {"since": "has held since", "last": "held last at", "now": "it is"}
        return f"{words[origin.what]} {origin.time}"
    return "from the previous answer" + ("" if origin.time is None else f", at {origin.time}")


def outside_text(outside: Outside) -> str:
    """Why an item is not in the window, with the times."""
    where = origin_text(outside.origin)
    window = outside.window and f"the window [{outside.window[0]}, {outside.window[1]}]"
    said = {
        "too old": f"is before {window or 'the window'}",
        "not yet": f"is after {window}" if window else "had not arrived yet",
        "waiting": "is in no window yet: its window was not evaluated since it came",
        "too late": "came too late: its time had been closed",
        "before the start": "is before the start of the run",
        "pushed out": "has been pushed out of the count window by later items",
        "refused": "was refused",
        "filtered": "is not among the request's inputs",
    }[outside.reason]
    detail = f": {outside.detail}" if outside.detail else ""
    return f"{where} {said}{detail}"


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
