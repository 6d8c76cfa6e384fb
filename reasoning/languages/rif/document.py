"""What a document of RIF-Core says, in either syntax, with a window on its stream.

Names are those of W3C RIF Core (second edition, 2.1 to 2.3) and of the streaming grammar of
R4 (Monks et al., Figure "Streaming RIF-Core Grammar").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import count
from typing import NamedTuple, TypeAlias, TypeVar

from citywise.reasoning.model.request import Unit
from citywise.reasoning.rdf.mapping import Blank, Iri, Literal

RIF = "http://www.w3.org/2007/rif#"
FUNC = "http://www.w3.org/2007/rif-builtin-function#"
PRED = "http://www.w3.org/2007/rif-builtin-predicate#"


class Local(NamedTuple):
    """A constant of the document alone (`_name`, `"name"^^rif:local`)."""

    name: str
    sort: str = "rif:local"
    """Always this; see `Blank`."""


Name: TypeAlias = Iri | Local
"""What a predicate can be."""


@dataclass(frozen=True, slots=True)
class RifVariable:
    """`?name`."""

    name: str


@dataclass(frozen=True, slots=True)
class RifConstant:
    """A constant, its lexical form as written; `Blank` only from imported graphs."""

    value: Iri | Local | Literal | Blank


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list, `List(a b)`; in RIF-Core it has no tail and, in a rule's head, is ground."""

    items: tuple[RifTerm, ...]


@dataclass(frozen=True, slots=True)
class RifComputed:
    """`External(func:name(…))`: the value of a built-in function."""

    function: Iri
    arguments: tuple[RifTerm, ...]


RifTerm: TypeAlias = RifVariable | RifConstant | Sequence | RifComputed


@dataclass(frozen=True, slots=True)
class RifAtom:
    """`p(a b)`."""

    predicate: Name
    arguments: tuple[RifTerm, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """`s[p1 -> o1 p2 -> o2]`: with constant slots, triples."""

    object: RifTerm
    slots: tuple[tuple[RifTerm, RifTerm], ...]


@dataclass(frozen=True, slots=True)
class Member:
    """`a # C`: the same as `a[rdf:type -> C]` in a combination with RDF; in RIF-Core in bodies
    only."""

    object: RifTerm
    type: RifTerm


@dataclass(frozen=True, slots=True)
class Equal:
    """`a = b`; in RIF-Core in bodies only."""

    left: RifTerm
    right: RifTerm


@dataclass(frozen=True, slots=True)
class Test:
    """`External(pred:name(…))`: a built-in predicate."""

    predicate: Iri
    arguments: tuple[RifTerm, ...]


@dataclass(frozen=True, slots=True)
class And:
    """All of them; true if there are none."""

    parts: tuple[RifFormula, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """One of them; false if there are none."""

    parts: tuple[RifFormula, ...]


@dataclass(frozen=True, slots=True)
class Exists:
    """`Exists ?x (…)`."""

    variables: tuple[RifVariable, ...]
    part: RifFormula


RifFormula: TypeAlias = RifAtom | Frame | Member | Equal | Test | And | Or | Exists
Head: TypeAlias = RifAtom | Frame


@dataclass(frozen=True)
class RifRule:
    """The heads hold wherever the body does; without one always."""

    heads: tuple[Head, ...]
    body: RifFormula | None = None
    variables: tuple[RifVariable, ...] = ()
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
class RifWindow:
    """How long an item of the stream counts: at the instants t … t + range - 1
    (docs/rif-running.md)."""

    range: int
    """In `unit`."""
    unit: Unit = "s"
    """The unit of the document's time: the second, or the millisecond if it is given in ms."""


@dataclass(frozen=True)
class Document:
    """A document, without what it imports."""

    name: str
    """The file's name, for messages."""
    rules: tuple[RifRule, ...] = ()
    imports: tuple[Import, ...] = ()
    window: RifWindow | None = None
    """None: items count for ever (a Continuous Datalog program)."""
    prefixes: Mapping[str, str] = field(default_factory=dict)
    base: str | None = None
    revise: str | None = None
    """How far back items may be revised, e.g. `1h` (docs/revision.md)."""
    source: str = field(default="", compare=False)
    """Its path as given, to which imports are relative."""

    @property
    def unit(self) -> Unit:
        """The unit of its time."""
        return self.window.unit if self.window else "s"


def conjuncts(formula: RifFormula | None) -> Iterator[RifFormula]:
    """The parts of a conjunction, of those in it too; a formula that is none is its own."""
    if isinstance(formula, And):
        for part in formula.parts:
            yield from conjuncts(part)
    elif formula is not None:
        yield formula


def variables(term: RifTerm) -> Iterator[str]:
    """The names of a term's variables, each as often as it occurs."""
    if isinstance(term, RifVariable):
        yield term.name
    elif isinstance(term, Sequence):
        for item in term.items:
            yield from variables(item)
    elif isinstance(term, RifComputed):
        for argument in term.arguments:
            yield from variables(argument)


def terms(formula: RifFormula) -> Iterator[RifTerm]:
    """The terms that a formula without parts relates; of others none."""
    if isinstance(formula, RifAtom | Test):
        yield from formula.arguments
    elif isinstance(formula, Frame):
        yield formula.object
        for name, value in formula.slots:
            yield from (name, value)
    elif isinstance(formula, Member):
        yield from (formula.object, formula.type)
    elif isinstance(formula, Equal):
        yield from (formula.left, formula.right)


def parts(formula: RifFormula) -> tuple[RifFormula, ...]:
    """The formulas that a formula is put together from."""
    if isinstance(formula, And | Or):
        return formula.parts
    return (formula.part,) if isinstance(formula, Exists) else ()


def within(formula: RifFormula) -> Iterator[RifFormula]:
    """The formula and all that it is put together from, the whole before its parts."""
    yield formula
    for part in parts(formula):
        yield from within(part)


def free(formula: RifFormula) -> Iterator[str]:
    """The names of the variables that no `Exists` of the formula binds, as they occur."""
    bound = {v.name for v in formula.variables} if isinstance(formula, Exists) else set()
    for term in terms(formula):
        yield from variables(term)
    for part in parts(formula):
        yield from (name for name in free(part) if name not in bound)


def replaced(term: RifTerm, by: Mapping[str, RifTerm]) -> RifTerm:
    """The term with other terms in the place of some variables."""
    if isinstance(term, RifVariable):
        return by.get(term.name, term)
    if isinstance(term, Sequence):
        return Sequence(tuple(replaced(item, by) for item in term.items))
    if isinstance(term, RifComputed):
        return RifComputed(term.function, tuple(replaced(item, by) for item in term.arguments))
    return term


_Part = TypeVar("_Part")
_LEAVES = (Iri, Literal, Blank, Local)


def local_names(part: object) -> Iterator[str]:
    """The local names in a rule, formula or term, or in a tuple of them."""
    if isinstance(part, Local):
        yield part.name
    elif isinstance(part, tuple) and not isinstance(part, _LEAVES):
        for item in part:
            yield from local_names(item)
    elif is_dataclass(part):
        for field in fields(part):
            yield from local_names(getattr(part, field.name))


def renamed(part: _Part, names: Mapping[str, str]) -> _Part:
    """A rule, formula or term, or a tuple of them, with other local names."""
    changed = _renamed(part, names) if names else part
    assert isinstance(changed, type(part))
    return changed


def apart(names: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """New names for those that are taken: `p'1`, `p'2`, …"""
    known = set(taken)
    return {
        name: next(new for number in count(1) if (new := f"{name}'{number}") not in known)
        for name in dict.fromkeys(names)
        if name in known
    }


def _renamed(part: object, names: Mapping[str, str]) -> object:
    if isinstance(part, Local):
        return Local(names.get(part.name, part.name))
    if isinstance(part, tuple) and not isinstance(part, _LEAVES):
        return tuple(_renamed(item, names) for item in part)
    if is_dataclass(part) and not isinstance(part, type):
        inner = {each.name: _renamed(getattr(part, each.name), names) for each in fields(part)}
        return replace(part, **inner)
    return part
