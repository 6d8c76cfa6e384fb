"""Logic programs as values (Definitions 2.4-2.8, extended), and the text that says the same.

The value is what the reference evaluates; the text is what the engines are given. Bodies
are read from left to right: a variable stands in a positive atom, an equation or an
aggregate's bound before anything else uses it, which makes every rule safe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Literal, NamedTuple

Constant = int | str
"""A number, an identifier, a string in its quotes, or `#inf` or `#sup`."""
Relation = Literal["=", "!=", "<", "<=", ">", ">="]
Operator = Literal["+", "-", "*"]
Function = Literal["#count", "#sum", "#min", "#max"]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable; its name begins with an upper-case letter."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Operation:
    """Arithmetic on two terms."""

    left: Term
    operator: Operator
    right: Term

    def __str__(self) -> str:
        return f"({self.left}){self.operator}({self.right})"


Term = Variable | Operation | int | str


class Atom(NamedTuple):
    """`p(t1, ..., tn)`; a classically negated predicate is called `-p`."""

    predicate: str
    arguments: tuple[Term, ...] = ()

    @property
    def signature(self) -> tuple[str, int]:
        """Name and arity."""
        return self.predicate, len(self.arguments)

    def __str__(self) -> str:
        arguments = ",".join(map(str, self.arguments))
        return f"{self.predicate}({arguments})" if arguments else self.predicate


@dataclass(frozen=True, slots=True)
class Not:
    """Default negation of an atom, of an aggregate, or of such a negation."""

    of: Atom | Aggregate | Not

    def __str__(self) -> str:
        return f"not {self.of}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A relation between two terms; an equation may give a variable its value."""

    left: Term
    relation: Relation
    right: Term

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"


@dataclass(frozen=True, slots=True)
class Element:
    """What an aggregate collects: a tuple for every way to satisfy the condition."""

    terms: tuple[Term, ...]
    condition: tuple[Atom | Not | Comparison, ...]

    def __str__(self) -> str:
        return f"{_list(self.terms)} : {_list(self.condition)}"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`bound relation #function { elements }`; not part of a recursion through itself."""

    bound: Term
    relation: Relation
    function: Function
    elements: tuple[Element, ...]

    def __str__(self) -> str:
        elements = "; ".join(map(str, self.elements))
        return f"{self.bound} {self.relation} {self.function} {{ {elements} }}"


BodyLiteral = Atom | Not | Comparison | Aggregate


@dataclass(frozen=True, slots=True)
class Rule:
    """A disjunctive rule (Definition 2.7); without a head a constraint."""

    head: tuple[Atom, ...]
    body: tuple[BodyLiteral, ...] = ()

    def __str__(self) -> str:
        head = " | ".join(map(str, self.head))
        return f"{head}{_body(self.body)}."


@dataclass(frozen=True, slots=True)
class Choice:
    """`lower { atom : condition; ... } upper :- body`: any of the atoms, so many of them."""

    elements: tuple[tuple[Atom, tuple[Atom | Not | Comparison, ...]], ...]
    body: tuple[BodyLiteral, ...] = ()
    lower: int | None = None
    upper: int | None = None

    def __str__(self) -> str:
        elements = "; ".join(
            f"{atom} : {_list(c)}" if c else str(atom) for atom, c in self.elements
        )
        lower, upper = ("" if n is None else str(n) for n in (self.lower, self.upper))
        return f"{lower} {{ {elements} }} {upper}{_body(self.body)}."

    def rules(self) -> Iterator[Rule]:
        """The rules it abbreviates: `a :- body, not not a` for each atom, and its bounds."""
        for atom, condition in self.elements:
            yield Rule((atom,), (*self.body, *condition, Not(Not(atom))))
        chosen = tuple(
            Element((atom.predicate.replace("-", "neg_"), *atom.arguments), (*condition, atom))
            for atom, condition in self.elements
        )
        if self.lower is not None:
            yield Rule((), (*self.body, Aggregate(self.lower, ">", "#count", chosen)))
        if self.upper is not None:
            yield Rule((), (*self.body, Aggregate(self.upper, "<", "#count", chosen)))


@dataclass(frozen=True, slots=True)
class Preference:
    """A weak constraint, or one element of `#minimize` or `#maximize`."""

    body: tuple[BodyLiteral, ...]
    weight: Term
    priority: int = 0
    terms: tuple[Term, ...] = ()
    notation: Literal[":~", "#minimize", "#maximize"] = ":~"

    def __str__(self) -> str:
        level = _list((f"{self.weight}@{self.priority}", *self.terms))
        if self.notation == ":~":
            return f":~ {_list(self.body)}. [{level}]"
        return f"{self.notation} {{ {level} : {_list(self.body)} }}."


@dataclass(frozen=True)
class Program:
    """Rules, preferences, and the predicates whose atoms an answer shows.

    Without `shows` that is every predicate some rule derives.
    """

    rules: tuple[Rule | Choice, ...]
    preferences: tuple[Preference, ...] = ()
    shows: frozenset[tuple[str, int]] | None = None

    def __str__(self) -> str:
        shows = [f"#show {name}/{arity}." for name, arity in sorted(self.shows or ())]
        return "\n".join([*map(str, (*self.rules, *self.preferences)), *shows])

    def with_facts(self, facts: Sequence[Atom], known: Sequence[Atom] = ()) -> Program:
        """The program with a window's facts and those of knowledge bases.

        Where nothing is declared shown, what knowledge bases supply is not (docs/reason.md).
        """
        given = tuple(Rule((atom,)) for atom in (*facts, *known))
        shown = self.shown if self.shows else self.shown - {atom.signature for atom in known}
        return replace(self, rules=self.rules + given, shows=shown)

    @property
    def shown(self) -> frozenset[tuple[str, int]]:
        """The predicates O onto which answers are projected (Definition 4.6)."""
        if self.shows is not None:
            return self.shows
        return frozenset(atom.signature for rule in self.plain_rules() for atom in rule.head)

    @property
    def mentioned(self) -> frozenset[str]:
        """The names of its predicates, without signs."""
        atoms = atoms_in((self.rules, self.preferences))
        return frozenset(atom.predicate.removeprefix("-") for atom in atoms)

    def plain_rules(self) -> tuple[Rule, ...]:
        """The rules, with choices written out."""
        return tuple(
            plain
            for rule in self.rules
            for plain in (rule.rules() if isinstance(rule, Choice) else [rule])
        )


def atoms_in(part: object) -> Iterator[Atom]:
    """All atoms that occur in a part of a program."""
    if isinstance(part, Atom):
        yield part
    elif isinstance(part, tuple):
        for inner in part:
            yield from atoms_in(inner)
    elif is_dataclass(part):
        for each in fields(part):
            yield from atoms_in(getattr(part, each.name))


def _list(parts: tuple[object, ...]) -> str:
    return ", ".join(map(str, parts))


def _body(body: tuple[BodyLiteral, ...]) -> str:
    return f" :- {'; '.join(map(str, body))}" if body else ""
