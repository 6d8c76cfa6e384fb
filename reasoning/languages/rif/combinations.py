"""What a combination of rules with graphs must not be, and what it leaves out (W3C RIF RDF and
OWL Compatibility, second edition, sections 3.1, 4.1 and 5.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from reasoning.errors import ItemError
from reasoning.languages.rif.document import (
    PRED,
    RIF,
    And,
    Exists,
    Formula,
    Frame,
    Member,
    Or,
    RifConstant,
    RifRule,
    RifVariable,
    Term,
    Test,
    parts,
)
from reasoning.languages.rif.values import value
from reasoning.rdf import ntriples
from reasoning.rdf.mapping import OWL, RDF, RDFS, TYPE, XSD, Iri, Literal, Triple

_X, _Y = RifVariable("x"), RifVariable("y")
_FORBIDDEN = frozenset({RIF + "iri", RIF + "local", RDF + "PlainLiteral"})
_DATATYPES = frozenset(
    {Iri(RDF + name) for name in ("langString", "PlainLiteral", "XMLLiteral", "HTML")}
    | {Iri(OWL + name) for name in ("real", "rational")}
    | {Iri(RDFS + "Literal")}
)
"""Besides those of XML Schema."""
_ONTOLOGY = Iri(OWL + "Ontology")
_PUNS = (("ObjectProperty", "DatatypeProperty"), ("Class", "Datatype"))
_ANNOTATING = frozenset(
    Iri(each)
    for each in (
        *(RDFS + name for name in ("label", "comment", "seeAlso", "isDefinedBy")),
        *(OWL + name for name in ("deprecated", "versionInfo", "priorVersion")),
        *(OWL + name for name in ("backwardCompatibleWith", "incompatibleWith")),
    )
)
_ANNOTATIONS = (Iri(OWL + "AnnotationProperty"), Iri(OWL + "OntologyProperty"))


def fault_of_literals(triples: Iterable[Triple]) -> str | None:
    """What is wrong with a graph that has a literal which no graph in a combination may have, of
    the datatypes rif:iri, rif:local and rdf:PlainLiteral (section 3.1.1), or one without a value.
    """
    for triple in triples:
        found = triple.object
        if isinstance(found, Literal) and (message := _fault_of(found)):
            return f"{message}; in the triple {' '.join(map(ntriples.write, triple))}"
    return None


def _fault_of(literal: Literal) -> str | None:
    if literal.datatype in _FORBIDDEN:
        what = f"{ntriples.write(literal)}: RDF has no literals of {literal.datatype}"
        return f"{what}; write {_instead(literal)}"
    try:
        value(literal)
    except ItemError as error:
        return str(error)
    return None


def fault_of_ontology(triples: Sequence[Triple]) -> str | None:
    """Why a graph is no ontology of OWL 2 DL, as far as that is looked at; None: it may be.

    Looked at are the header that each has (OWL 2 Mapping to RDF Graphs, 3.1.2), and that no
    name is declared both of things and of values (OWL 2 Structural Specification, 5.8.1).
    """
    if not any(t.predicate == TYPE and t.object == _ONTOLOGY for t in triples):
        return "it has no ontology header, `<iri> a owl:Ontology`"
    for one, other in _PUNS:
        for name in _declared(triples, one) & _declared(triples, other):
            return f"{ntriples.write(name)} is both an owl:{one} and an owl:{other}"
    return None


def fault_of_rule(rule: RifRule) -> str | None:
    """Why a rule is no DL rule: frames whose property, or whose class, is a variable or
    computed (section 4.1.2); None: it is one."""
    for formula in (*rule.heads, *_plain(rule.body or And(()))):
        for kind, term in _names(formula):
            if not isinstance(term, RifConstant):
                what = f"the variable `?{term.name}`" if isinstance(term, RifVariable) else "a term"
                return f"{what} stands for a {kind}; under OWL-Direct it must be a constant"
    return None


def without_annotations(triples: Sequence[Triple]) -> tuple[Triple, ...]:
    """The triples that mean something in OWL 2 Direct Semantics: no annotations."""
    headers = {t.subject for t in triples if t.predicate == TYPE and t.object == _ONTOLOGY}
    annotating = _ANNOTATING.union(
        t.subject for t in triples if t.predicate == TYPE and t.object in _ANNOTATIONS
    )
    return tuple(
        t
        for t in triples
        if t.predicate == TYPE or (t.predicate not in annotating and t.subject not in headers)
    )


def separations(triples: Sequence[Triple], rules: Sequence[RifRule]) -> tuple[Formula, ...]:
    """Conditions under which a combination contradicts itself in OWL 2 Direct Semantics, where
    no thing is a value (section 4.2.2): values of object properties, things as values of
    datatype properties, things in datatypes."""
    values = {name: _is_value(_Y) for name in _declared(triples, "ObjectProperty")}
    things = {name: _is_thing(_Y) for name in _declared(triples, "DatatypeProperty")}
    properties = sorted((values | things).items(), key=lambda each: each[0])
    return (
        *(And((Frame(_X, ((RifConstant(name), _Y),)), wrong)) for name, wrong in properties),
        *(
            And((Frame(_X, ((RifConstant(TYPE), RifConstant(name)),)), _is_thing(_X)))
            for name in sorted(_datatypes(triples, rules))
        ),
    )


def _is_value(term: Term) -> Formula:
    guards = ("is-literal-string", "is-literal-not-string")
    return Or(tuple(Test(Iri(PRED + guard), (term,)) for guard in guards))


def _is_thing(term: Term) -> Formula:
    text = RifVariable("text")
    return Exists((text,), Test(Iri(PRED + "iri-string"), (term, text)))


def _declared(triples: Iterable[Triple], kind: str) -> frozenset[Iri]:
    wanted = Iri(OWL + kind) if kind != "Datatype" else Iri(RDFS + kind)
    return frozenset(
        t.subject
        for t in triples
        if t.predicate == TYPE and t.object == wanted and isinstance(t.subject, Iri)
    )


def _datatypes(triples: Iterable[Triple], rules: Iterable[RifRule]) -> frozenset[Iri]:
    """The datatypes that something is said to be in, or may be concluded to be in."""
    named = {term for triple in triples for term in triple if isinstance(term, Iri)}
    for rule in rules:
        for head in rule.heads:
            named |= {
                term.value
                for _, term in _names(head)
                if isinstance(term, RifConstant) and isinstance(term.value, Iri)
            }
    known = {name for name in named if name.value.startswith(XSD) or name in _DATATYPES}
    return frozenset(known | _declared(triples, "Datatype"))


def _names(formula: Formula) -> Iterator[tuple[str, Term]]:
    """The terms of a formula that stand for properties and classes."""
    if isinstance(formula, Frame):
        for name, content in formula.slots:
            yield "property", name
            if name == RifConstant(TYPE):
                yield "class", content
    elif isinstance(formula, Member):
        yield "class", formula.type


def _plain(formula: Formula) -> Iterator[Formula]:
    """The formulas without parts that a formula is made of."""
    if isinstance(formula, And | Or | Exists):
        for part in parts(formula):
            yield from _plain(part)
    else:
        yield formula


def _instead(literal: Literal) -> str:
    text, _, language = literal.lexical.rpartition("@")
    if literal.datatype == RDF + "PlainLiteral":
        return ntriples.write(Literal(text, None, language or None))
    return "the IRI itself" if literal.datatype == RIF + "iri" else "an IRI or a blank node"
