"""The rules of a regime as a table: what `regimes` says as text, read by clingo's parser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple, TypeAlias

from clingo import ast as clingo_ast
from clingo.ast import AST, ASTType, Sign

from reasoning.rdf.mapping import OWL, RDF, RDFS, Blank, Iri, Literal
from reasoning.rdf.regimes import RULES, Regime

TRIPLE = "t"
"""The relation of all triples: subject, property, object."""
FALSE = "false"
"""The relation of what cannot be: the rule's name and what it is about."""
COMPUTED = frozenset({"value", "ill", "may_be", "count", "datatype", "membership"})
"""Relations that say what a term is; no rule derives them."""
NAMESPACES = {
    "rdf": RDF,
    "rdfs": RDFS,
    "owl": OWL,
}
NAME = re.compile(r"\b(rdfs?|owl)_(\w+)")
"""A term of the vocabularies in the text of `regimes`."""


class TripleVariable(NamedTuple):
    """A variable; each `_` of a rule is one of its own."""

    name: str


Argument: TypeAlias = TripleVariable | Iri | Blank | Literal | int | str
"""A number is one that `count` gives; a string is the name of a rule."""


class TripleAtom(NamedTuple):
    """A row of a relation matches the terms; of a triple, the second is its property."""

    relation: str
    terms: tuple[Argument, ...]

    @property
    def variables(self) -> frozenset[TripleVariable]:
        """Those of its terms."""
        return frozenset(term for term in self.terms if isinstance(term, TripleVariable))

    def replaced(self, values: Mapping[TripleVariable, Argument]) -> TripleAtom:
        """The atom with values in the place of variables."""
        terms = (values.get(t, t) if isinstance(t, TripleVariable) else t for t in self.terms)
        return TripleAtom(self.relation, tuple(terms))


class Different(NamedTuple):
    """Two terms are not the same."""

    left: Argument
    right: Argument

    def replaced(self, values: Mapping[TripleVariable, Argument]) -> Different:
        """The comparison with values in the place of variables."""
        return Different(*(values.get(t, t) if isinstance(t, TripleVariable) else t for t in self))


@dataclass(frozen=True)
class EntailmentRule:
    """The head holds wherever the body does."""

    name: str
    """That of its specification."""
    head: TripleAtom
    body: tuple[TripleAtom, ...]
    different: tuple[Different, ...] = ()
    absent: tuple[TripleAtom, ...] = field(default=())
    """What must not hold: of computed relations, and of tables (`schema`)."""


@cache
def rules(regime: Regime) -> tuple[EntailmentRule, ...]:
    """The rules of a regime, in the order of its text."""
    statements: list[AST] = []
    clingo_ast.parse_string(RULES[regime], statements.append)
    return tuple(_named(statements, regime))


def _named(statements: Iterable[AST], regime: Regime) -> Iterator[EntailmentRule]:
    name = ""
    for statement in statements:
        if statement.ast_type == ASTType.Comment:
            first, _, second = statement.value.removeprefix("%").strip().partition(", ")
            name = first if regime != "owl-rl" or not first.startswith("rdf") else second
        elif statement.ast_type == ASTType.Rule:
            yield _rule(statement, name)


def _rule(statement: AST, name: str) -> EntailmentRule:
    new = _Terms()
    body, different, absent = list[TripleAtom](), list[Different](), list[TripleAtom]()
    for literal in statement.body:
        atom = literal.atom
        if atom.ast_type == ASTType.Comparison:
            different.append(Different(new(atom.term), new(atom.guards[0].term)))
        else:
            (absent if literal.sign == Sign.Negation else body).append(_atom(atom, new))
    head = _atom(statement.head.atom, new)
    return EntailmentRule(name, head, tuple(body), tuple(different), tuple(absent))


def _atom(atom: AST, new: Callable[[AST], Argument]) -> TripleAtom:
    return TripleAtom(atom.symbol.name, tuple(map(new, atom.symbol.arguments)))


class _Terms:
    """Reads the terms of one rule."""

    def __init__(self) -> None:
        self._anonymous = 0

    def __call__(self, term: AST) -> Argument:
        text = str(term)
        if term.ast_type == ASTType.Variable:
            if text == "_":
                self._anonymous += 1
                text = f"Any{self._anonymous}"
            return TripleVariable(text)
        if match := NAME.fullmatch(text):
            return Iri(NAMESPACES[match[1]] + match[2])
        return int(text) if text.isdecimal() else text.strip('"')
