"""What a regime infers from triples, as rules of the incremental engine beside a document's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from citywise.reasoning.errors import ItemError
from citywise.reasoning.languages.rif import document as rif
from citywise.reasoning.languages.rif.bodies import TRIPLE
from citywise.reasoning.languages.rif.document import RifConstant, RifRule, within
from citywise.reasoning.languages.rif.theory import Theory
from citywise.reasoning.languages.rif.values import literal, term, value
from citywise.reasoning.model.rules import Absent, Call, Compare, Literal, Rule, Scan
from citywise.reasoning.model.values import Constant, Row, Term, Value, Variable
from citywise.reasoning.rdf import datatypes, entailment, ntriples, regimes, schema
from citywise.reasoning.rdf.datatypes import IllTypedError
from citywise.reasoning.rdf.entailment import Contradiction
from citywise.reasoning.rdf.mapping import Blank, Iri, Triple
from citywise.reasoning.rdf.mapping import Literal as RdfLiteral
from citywise.reasoning.rdf.mapping import Term as RdfTerm

INCONSISTENT = "#inconsistent"
"""The relation of what cannot be true together: rows for `sentence`."""
OPENED = "#opened"
"""The relation that has a row where the specialised rules do not suffice: something of the
stream says what classes and properties mean."""


@dataclass(frozen=True)
class Inference:
    """Rules over relations of plain facts, and rows that always hold."""

    rules: tuple[Rule, ...] = ()
    rows: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    """Besides the theory's triples: tables, what follows from these triples, and what in them
    is inconsistent."""


def inference(theory: Theory, opened: bool = False) -> Inference:
    """The rules by which the regime of a theory completes what its rules see.

    The rules are specialised to what the theory's triples say of classes and properties, and
    left out where neither rules of the theory nor an inconsistency depend on them (a theory
    without rules sees everything). If `OPENED` gets a row, they are not complete from that
    instant on: take those with `opened`, which are complete and slower, and insert what counts
    again. Rules with a variable in the place of the property use the relation `triple`.
    """
    if theory.regime is None or theory.regime == "simple":
        return Inference()
    if opened:
        return Inference(_translated(schema.general(theory.regime)), {_DATATYPE: _DATATYPES})
    given = (*theory.triples, *_facts(theory.rules))
    equates = any(map(_may_equate, theory.rules))
    found = schema.specialised(theory.regime, given, _wanted_keys(theory), equates)
    rows: dict[str, list[Row]] = defaultdict(list)
    rows[_DATATYPE] += _DATATYPES
    for name, table in found.tables.items():
        rows[f"#{name}"] += (tuple(map(_value, row)) for row in table)
    for subject, predicate, object_ in found.inferred:
        rows[f"<{predicate.value}>"].append((_value(subject), _value(object_)))
    rows[INCONSISTENT] += (_row(each) for each in found.contradictions)
    return Inference(_translated(found.rules), {name: tuple(r) for name, r in rows.items()})


def sentence(row: Row) -> str:
    """What a row of `INCONSISTENT` says, in words."""
    rule, first, second = row
    return Contradiction(str(rule)[1:-1], _term(first), _term(second)).sentence


def _row(found: Contradiction) -> Row:
    return (f'"{found.rule}"', _value(found.first), _value(found.second))


def _value(term: RdfTerm) -> Value:
    """The value of a term; an ill-typed literal, which no item has, is its text."""
    try:
        return value(term)
    except ItemError:
        return ntriples.write(term)


def _term(value: Value) -> RdfTerm:
    found = term(value)
    assert isinstance(found, Iri | Blank | RdfLiteral)
    return found


# -- what a document sees -------------------------------------------------------------------


def _wanted_keys(theory: Theory) -> frozenset[schema.SchemaKey] | None:
    """What rules ask for; None: a theory without rules sees everything."""
    if not theory.rules:
        return None
    bodies = [rule.body for rule in theory.rules if rule.body is not None]
    return frozenset(key for body in (*bodies, *theory.contradictions) for key in _asked_keys(body))


def _facts(found: Iterable[RifRule]) -> Iterator[Triple]:
    """The triples that documents state without conditions."""
    for head in (head for rule in found if rule.body is None for head in rule.heads):
        if isinstance(head, rif.Frame):
            for slot in head.slots:
                match tuple(map(_argument, (head.object, *slot))):
                    case (
                        Iri() | Blank() as one,
                        Iri() as name,
                        Iri() | Blank() | RdfLiteral() as other,
                    ):
                        yield Triple(one, name, other)


def _asked_keys(formula: rif.RifFormula) -> Iterator[schema.SchemaKey]:
    for part in within(formula):
        match part:
            case rif.Frame(_, slots):
                yield from (_key(name, found) for name, found in slots)
            case rif.Member(_, type):
                yield _key(RifConstant(schema.TYPE), type)


def _key(name: rif.RifTerm, found: rif.RifTerm) -> schema.SchemaKey:
    row = (Variable("S"), *(
        Variable("X") if term is None else regimes.constant(term)
        for term in map(_argument, (name, found))
    ))  # fmt: skip
    return schema.key(Scan(regimes.TRIPLE, row))


def _argument(found: rif.RifTerm) -> RdfTerm | None:
    """The term of RDF that a document has; None for another, and for a variable."""
    if isinstance(found, RifConstant) and isinstance(found.value, Iri | Blank | RdfLiteral):
        return found.value
    return None


def _may_equate(rule: RifRule) -> bool:
    """Whether a rule may say that things are the same."""
    names = [name for head in rule.heads if isinstance(head, rif.Frame) for name, _ in head.slots]
    return any(not isinstance(name, RifConstant) or name.value == schema.SAME for name in names)


# -- rules ------------------------------------------------------------------------------------


def _translated(found: Iterable[Rule]) -> tuple[Rule, ...]:
    return tuple(_rule(each) for each in found)


def _rule(rule: Rule) -> Rule:
    relation, found = _place(regimes.head(rule))
    body = (literal for each in rule.body for literal in _literals(each))
    return Rule(relation, found, tuple(body), rule.name)


def _place(atom: Scan | Absent) -> tuple[str, tuple[Term, ...]]:
    """The relation and the terms that stand for an atom."""
    found = tuple(map(_engine, atom.terms))
    if atom.relation == regimes.TRIPLE:
        predicate = regimes.known(atom.terms[1])
        if isinstance(predicate, Iri):
            return f"<{predicate.value}>", (found[0], found[2])
        return TRIPLE, found
    if atom.relation in _NAMES:
        return _NAMES[atom.relation], found
    if " " in atom.relation or atom.relation in regimes.COMPUTED:
        return f"#{atom.relation}", found
    return f"#{atom.relation}/{len(found)}", found


_NAMES = {regimes.FALSE: INCONSISTENT, schema.OPENED: OPENED}


def _literals(literal: Literal) -> Iterator[Literal]:
    """What a literal asks of rows and of terms."""
    if isinstance(literal, Compare):
        yield Compare(literal.comparator, _engine(literal.left), _engine(literal.right))
        return
    assert isinstance(literal, Scan | Absent)
    relation, found = _place(literal)
    match literal.relation:
        case "value":
            yield Call(_literal_value, found[:1], found[1], "value")
        case "count":
            yield Call(_count, found[:1], found[1], "count")
        case "membership":
            yield Scan(TRIPLE, (Variable("Subject"), found[0], Variable("Object")))
            yield Call(_is_membership, found, None, "membership")
        case "may_be":
            yield Call(_is_not, found, None, "not may_be")
        case _:
            yield replace(literal, relation=relation, terms=found)


def _engine(found: Term) -> Term:
    """A term, with the engine's value of a term of RDF, and the name of a rule as a string."""
    if not isinstance(found, Constant):
        return found
    given = regimes.known(found)
    if given is not None:
        return Constant(_value(given))
    return Constant(f'"{found.value}"') if isinstance(found.value, str) else found


# -- what a term is ------------------------------------------------------------------------


_DATATYPE = "#datatype"
_DATATYPES: tuple[Row, ...] = tuple((f"<{iri}>",) for iri in sorted(datatypes.DATATYPES))


def _literal_value(found: Value) -> Value | None:
    """A literal whose datatype is known: its value stands for it."""
    return None if _content(found) is None else found


def _count(found: Value) -> Value | None:
    return found if found in (0, 1) else None


def _is_not(found: Value, datatype: Value) -> Value | None:
    """Whether a literal is known not to be of a datatype."""
    content = _content(found)
    if content is None or datatypes.allows(str(datatype)[1:-1], content):
        return None
    return 1


def _content(found: Value) -> datatypes.DataValue | None:
    text = literal(found)
    try:
        return None if text is None else datatypes.value(text)
    except IllTypedError:  # of a graph's: items have none
        return None


def _is_membership(found: Value) -> Value | None:
    return 1 if entailment.MEMBERSHIP.fullmatch(str(found)[1:-1]) else None
