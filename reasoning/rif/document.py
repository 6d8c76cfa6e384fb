"""What a document of RIF-Core says, in either syntax, with a window on its stream.

Names are those of W3C RIF Core (second edition, 2.1 to 2.3) and of the streaming grammar of
R4 (Monks et al., Figure "Streaming RIF-Core Grammar").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from reasoning.program import Unit
from reasoning.rdf.mapping import Blank, Iri, Literal

RIF = "http://www.w3.org/2007/rif#"
FUNC = "http://www.w3.org/2007/rif-builtin-function#"
PRED = "http://www.w3.org/2007/rif-builtin-predicate#"


class Local(NamedTuple):
    """A constant of the document alone (`_name`, `"name"^^rif:local`)."""

    name: str


Name: TypeAlias = Iri | Local
"""What a predicate can be."""


@dataclass(frozen=True, slots=True)
class Variable:
    """`?name`."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant, its lexical form as written; `Blank` only from imported graphs."""

    value: Iri | Local | Literal | Blank


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list, `List(a b)`; in RIF-Core it has no tail and, in a rule's head, is ground."""

    items: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Computed:
    """`External(func:name(…))`: the value of a built-in function."""

    function: Iri
    arguments: tuple[Term, ...]


Term: TypeAlias = Variable | Constant | Sequence | Computed


@dataclass(frozen=True, slots=True)
class Atom:
    """`p(a b)`."""

    predicate: Name
    arguments: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """`s[p1 -> o1 p2 -> o2]`: with constant slots, triples."""

    object: Term
    slots: tuple[tuple[Term, Term], ...]


@dataclass(frozen=True, slots=True)
class Member:
    """`a # C`: the same as `a[rdf:type -> C]` in a combination with RDF; in RIF-Core in bodies
    only."""

    object: Term
    type: Term


@dataclass(frozen=True, slots=True)
class Equal:
    """`a = b`; in RIF-Core in bodies only."""

    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Test:
    """`External(pred:name(…))`: a built-in predicate."""

    predicate: Iri
    arguments: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class And:
    """All of them; true if there are none."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """One of them; false if there are none."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Exists:
    """`Exists ?x (…)`."""

    variables: tuple[Variable, ...]
    part: Formula


Formula: TypeAlias = Atom | Frame | Member | Equal | Test | And | Or | Exists
Head: TypeAlias = Atom | Frame


@dataclass(frozen=True)
class Rule:
    """The heads hold wherever the body does; without one always."""

    heads: tuple[Head, ...]
    body: Formula | None = None
    variables: tuple[Variable, ...] = ()
    """Those that `Forall` names."""
    line: int = field(default=0, compare=False)
    column: int = field(default=1, compare=False)
    label: str = field(default="", compare=False)
    """What its metadata calls it (`(* <iri> *)` or `(* ex:r1[] *)`: the name after the last
    `#`, `/` or `:`); empty: none."""

    @property
    def name(self) -> str:
        """For messages, plans and explanations: label or line."""
        return self.label or f"line {self.line}"


@dataclass(frozen=True)
class Import:
    """`Import(<location> <profile>)`; without a profile another RIF document."""

    location: str
    profile: str | None = None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Window:
    """How long an item of the stream counts: at the instants t … t + range - 1 (DESIGN A9)."""

    range: int
    """In `unit`."""
    unit: Unit = "s"
    """The unit of the document's time: the second, or the millisecond if it is given in ms."""


@dataclass(frozen=True)
class Document:
    """A document, without what it imports."""

    name: str
    """The file's name, for messages."""
    rules: tuple[Rule, ...] = ()
    imports: tuple[Import, ...] = ()
    window: Window | None = None
    """None: items count for ever (a Continuous Datalog program)."""
    prefixes: Mapping[str, str] = field(default_factory=dict)
    base: str | None = None
    source: str = field(default="", compare=False)
    """Its path as given, to which imports are relative."""

    @property
    def unit(self) -> Unit:
        """The unit of its time."""
        return self.window.unit if self.window else "s"


def conjuncts(formula: Formula | None) -> Iterator[Formula]:
    """The parts of a conjunction, of those in it too; a formula that is none is its own."""
    if isinstance(formula, And):
        for part in formula.parts:
            yield from conjuncts(part)
    elif formula is not None:
        yield formula
