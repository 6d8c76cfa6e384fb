"""The rules of RDFS and of OWL 2 RL, over `t(Subject,Predicate,Object)`.

Names such as `rdf_type` stand for terms of the vocabularies. `lit(L)` is a literal,
`value(L,V)` its value, if its datatype is known, `count(L,N)` the small number it is;
`ill(L)` is a literal whose text its datatype does not allow. `false(Rule,X,Y)` is an
inconsistency. A comment names the rules below it as their specifications do: RDF 1.1
Semantics, sections 8 and 9; OWL 2 Profiles, section 4.3, tables 4 to 9.

Left out is what says nothing and would flood answers: that everything is a rdfs:Resource
(rdfs4, rdfs8), owl:sameAs itself (eq-ref) and, where it is not a class of the graph,
anything about owl:Thing and owl:Nothing; and the axiomatic triples about terms that do
not occur.

`rules()` gives them as a table, read by clingo's parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import count
from typing import Literal, cast

from clingo import ast as clingo_ast
from clingo.ast import AST, ASTType, Sign

from citywise.reasoning.model.request import Entailment
from citywise.reasoning.model.rules import Absent, Compare, Rule, Scan
from citywise.reasoning.model.values import Constant, Term, Value, Variable
from citywise.reasoning.rdf.mapping import OWL, RDF, RDFS, Blank, Iri
from citywise.reasoning.rdf.mapping import Literal as RdfLiteral
from citywise.reasoning.rdf.mapping import Term as RdfTerm

Regime = Entailment | Literal["rdf"]
"""What may be inferred from triples; `rdf` is RDF's own entailment, with datatypes."""

_RDF = """
% rdfD1, dt-not-type
false("dt-not-type",L,L) :- ill(L).
% rdfD2
t(P,rdf_type,rdf_Property) :- t(_,P,_).
"""

_SHARED = """
% rdfs2, prp-dom
t(X,rdf_type,C) :- t(P,rdfs_domain,C), t(X,P,_).
% rdfs3, prp-rng
t(Y,rdf_type,C) :- t(P,rdfs_range,C), t(_,P,Y).
% rdfs5, scm-spo
t(P,rdfs_subPropertyOf,R) :- t(P,rdfs_subPropertyOf,Q), t(Q,rdfs_subPropertyOf,R).
% rdfs7, prp-spo1
t(X,Q,Y) :- t(P,rdfs_subPropertyOf,Q), t(X,P,Y).
% rdfs11, scm-sco
t(C,rdfs_subClassOf,E) :- t(C,rdfs_subClassOf,D), t(D,rdfs_subClassOf,E).
% rdfs9, cax-sco
t(X,rdf_type,D) :- t(C,rdfs_subClassOf,D), t(X,rdf_type,C).
% rdfD1, dt-not-type
false("dt-not-type",L,L) :- ill(L).
% dt-type
false("dt-type",L,D) :- t(L,rdf_type,D), value(L,_), datatype(D), not may_be(L,D).
"""

_RDFS = """
% rdfD2
t(P,rdf_type,rdf_Property) :- t(_,P,_).
% rdfs-axioms
t(P,rdf_type,rdf_Property) :- t(P,rdfs_domain,_).
t(P,rdf_type,rdf_Property) :- t(P,rdfs_range,_).
t(P,rdf_type,rdf_Property) :- t(P,rdfs_subPropertyOf,_).
t(P,rdf_type,rdf_Property) :- t(_,rdfs_subPropertyOf,P).
t(C,rdf_type,rdfs_Class) :- t(_,rdfs_domain,C).
t(C,rdf_type,rdfs_Class) :- t(_,rdfs_range,C).
t(C,rdf_type,rdfs_Class) :- t(_,rdf_type,C).
t(C,rdf_type,rdfs_Class) :- t(C,rdfs_subClassOf,_).
t(C,rdf_type,rdfs_Class) :- t(_,rdfs_subClassOf,C).
t(L,rdf_type,rdf_List) :- t(L,rdf_first,_).
t(L,rdf_type,rdf_List) :- t(L,rdf_rest,_).
t(L,rdf_type,rdf_List) :- t(_,rdf_rest,L).
t(X,rdf_type,rdf_Statement) :- t(X,rdf_subject,_).
t(X,rdf_type,rdf_Statement) :- t(X,rdf_predicate,_).
t(X,rdf_type,rdf_Statement) :- t(X,rdf_object,_).
t(P,rdf_type,rdfs_ContainerMembershipProperty) :- membership(P).
% rdfs1
t(D,rdf_type,rdfs_Datatype) :- t(_,rdf_type,D), datatype(D).
% rdfs-axioms
t(rdfs_Datatype,rdfs_subClassOf,rdfs_Class) :- t(_,rdf_type,rdfs_Datatype).
% rdfs6
t(P,rdfs_subPropertyOf,P) :- t(P,rdf_type,rdf_Property).
% rdfs10
t(C,rdfs_subClassOf,C) :- t(C,rdf_type,rdfs_Class).
% rdfs12
t(P,rdfs_subPropertyOf,rdfs_member) :- t(P,rdf_type,rdfs_ContainerMembershipProperty).
% rdfs13
t(D,rdfs_subClassOf,rdfs_Literal) :- t(D,rdf_type,rdfs_Datatype).
% rdfs-axioms
t(D,rdf_type,rdfs_Class) :- t(D,rdf_type,rdfs_Datatype).
"""

_LISTS = """
% list
list(L) :- t(L,rdf_first,_).
member(L,X) :- t(L,rdf_first,X).
member(L,X) :- list(L), t(L,rdf_rest,R), member(R,X).
"""

_EQUALITY = """
% eq-sym
t(Y,owl_sameAs,X) :- t(X,owl_sameAs,Y), X != Y.
% eq-trans
t(X,owl_sameAs,Z) :- t(X,owl_sameAs,Y), t(Y,owl_sameAs,Z), X != Z.
% eq-rep-s
t(Y,P,O) :- t(X,owl_sameAs,Y), X != Y, t(X,P,O), P != owl_sameAs.
% eq-rep-p
t(S,Q,O) :- t(P,owl_sameAs,Q), P != Q, t(S,P,O).
% eq-rep-o
t(S,P,Y) :- t(X,owl_sameAs,Y), X != Y, t(S,P,X), P != owl_sameAs.
% eq-diff1
false("eq-diff1",X,Y) :- t(X,owl_sameAs,Y), t(X,owl_differentFrom,Y).
false("eq-diff1",X,X) :- t(X,owl_differentFrom,X).
% eq-diff2, eq-diff3
different(L) :- t(X,rdf_type,owl_AllDifferent), t(X,owl_members,L).
different(L) :- t(X,rdf_type,owl_AllDifferent), t(X,owl_distinctMembers,L).
false("eq-diff2",X,Y) :- different(L), member(L,X), member(L,Y), t(X,owl_sameAs,Y), X != Y.
% dt-eq
t(L,owl_sameAs,M) :- value(L,V), value(M,V), L != M.
% dt-diff
false("dt-diff",L,M) :- t(L,owl_sameAs,M), value(L,V), value(M,W), V != W.
"""

_PROPERTIES = """
% prp-fp
t(Y,owl_sameAs,Z) :- t(P,rdf_type,owl_FunctionalProperty), t(X,P,Y), t(X,P,Z), Y != Z.
% prp-ifp
t(X,owl_sameAs,Y) :- t(P,rdf_type,owl_InverseFunctionalProperty), t(X,P,Z), t(Y,P,Z), X != Y.
% prp-irp
false("prp-irp",P,X) :- t(P,rdf_type,owl_IrreflexiveProperty), t(X,P,X).
% prp-symp
t(Y,P,X) :- t(P,rdf_type,owl_SymmetricProperty), t(X,P,Y).
% prp-asyp
false("prp-asyp",P,X) :- t(P,rdf_type,owl_AsymmetricProperty), t(X,P,Y), t(Y,P,X).
% prp-trp
t(X,P,Z) :- t(P,rdf_type,owl_TransitiveProperty), t(X,P,Y), t(Y,P,Z).
% prp-spo2
t(X,P,Y) :- t(P,owl_propertyChainAxiom,L), path(L,X,Y).
chain(L) :- t(_,owl_propertyChainAxiom,L).
chain(R) :- chain(L), t(L,rdf_rest,R).
path(L,X,Y) :- chain(L), t(L,rdf_first,P), t(L,rdf_rest,rdf_nil), t(X,P,Y).
path(L,X,Z) :- chain(L), t(L,rdf_first,P), t(L,rdf_rest,R), t(X,P,Y), path(R,Y,Z).
% prp-eqp1
t(X,Q,Y) :- t(P,owl_equivalentProperty,Q), t(X,P,Y).
% prp-eqp2
t(X,P,Y) :- t(P,owl_equivalentProperty,Q), t(X,Q,Y).
% prp-pdw
false("prp-pdw",P,Q) :- t(P,owl_propertyDisjointWith,Q), t(X,P,Y), t(X,Q,Y).
% prp-adp
false("prp-adp",P,Q) :-
    t(A,rdf_type,owl_AllDisjointProperties), t(A,owl_members,L),
    member(L,P), member(L,Q), P != Q, t(X,P,Y), t(X,Q,Y).
% prp-inv1
t(Y,Q,X) :- t(P,owl_inverseOf,Q), t(X,P,Y).
% prp-inv2
t(Y,P,X) :- t(P,owl_inverseOf,Q), t(X,Q,Y).
% prp-key
t(X,owl_sameAs,Y) :- t(C,owl_hasKey,L), agree(C,L,X,Y).
key(C,L) :- t(C,owl_hasKey,L).
key(C,R) :- key(C,L), t(L,rdf_rest,R).
agree(C,L,X,Y) :-
    key(C,L), t(L,rdf_first,P), t(L,rdf_rest,rdf_nil),
    t(X,rdf_type,C), t(Y,rdf_type,C), t(X,P,Z), t(Y,P,Z), X != Y.
agree(C,L,X,Y) :-
    key(C,L), t(L,rdf_first,P), t(L,rdf_rest,R), agree(C,R,X,Y), t(X,P,Z), t(Y,P,Z).
% prp-npa1
denied(X,P,Y) :-
    t(A,owl_sourceIndividual,X), t(A,owl_assertionProperty,P), t(A,owl_targetIndividual,Y).
% prp-npa2
denied(X,P,Y) :-
    t(A,owl_sourceIndividual,X), t(A,owl_assertionProperty,P), t(A,owl_targetValue,Y).
% prp-npa1, prp-npa2
false("prp-npa",X,P) :- denied(X,P,Y), t(X,P,Y).
"""

_CLASSES = """
% cls-nothing2
false("cls-nothing2",X,owl_Nothing) :- t(X,rdf_type,owl_Nothing).
% cls-int1
intersection(L) :- t(_,owl_intersectionOf,L).
intersection(R) :- intersection(L), t(L,rdf_rest,R).
in_all(X,L) :- intersection(L), t(L,rdf_first,C), t(L,rdf_rest,rdf_nil), t(X,rdf_type,C).
in_all(X,L) :- intersection(L), t(L,rdf_first,C), t(L,rdf_rest,R), in_all(X,R), t(X,rdf_type,C).
t(X,rdf_type,C) :- t(C,owl_intersectionOf,L), in_all(X,L).
% cls-int2
t(X,rdf_type,D) :- t(C,owl_intersectionOf,L), member(L,D), t(X,rdf_type,C).
% cls-uni
t(X,rdf_type,C) :- t(C,owl_unionOf,L), member(L,D), t(X,rdf_type,D).
% cls-com
false("cls-com",X,C) :- t(C,owl_complementOf,D), t(X,rdf_type,C), t(X,rdf_type,D).
% cls-svf1
t(X,rdf_type,C) :- t(C,owl_someValuesFrom,D), t(C,owl_onProperty,P), t(X,P,Y), t(Y,rdf_type,D).
% cls-svf2
t(X,rdf_type,C) :- t(C,owl_someValuesFrom,owl_Thing), t(C,owl_onProperty,P), t(X,P,_).
% cls-avf
t(Y,rdf_type,D) :- t(C,owl_allValuesFrom,D), t(C,owl_onProperty,P), t(X,rdf_type,C), t(X,P,Y).
% cls-hv1
t(X,P,Y) :- t(C,owl_hasValue,Y), t(C,owl_onProperty,P), t(X,rdf_type,C).
% cls-hv2
t(X,rdf_type,C) :- t(C,owl_hasValue,Y), t(C,owl_onProperty,P), t(X,P,Y).
% cls-maxc
at_most(C,P,N) :- t(C,owl_maxCardinality,L), count(L,N), t(C,owl_onProperty,P).
% cls-maxqc
at_most(C,P,D,N) :-
    t(C,owl_maxQualifiedCardinality,L), count(L,N), t(C,owl_onProperty,P), t(C,owl_onClass,D).
% cls-maxc1
false("cls-maxc1",X,C) :- at_most(C,P,0), t(X,rdf_type,C), t(X,P,_).
% cls-maxc2
t(Y,owl_sameAs,Z) :- at_most(C,P,1), t(X,rdf_type,C), t(X,P,Y), t(X,P,Z), Y != Z.
% cls-maxqc
counts(Y,D) :- at_most(_,_,D,_), D != owl_Thing, t(Y,rdf_type,D).
counts(Y,owl_Thing) :- at_most(_,P,owl_Thing,_), t(_,P,Y).
% cls-maxqc1, cls-maxqc2
false("cls-maxqc1",X,C) :- at_most(C,P,D,0), t(X,rdf_type,C), t(X,P,Y), counts(Y,D).
% cls-maxqc3, cls-maxqc4
t(Y,owl_sameAs,Z) :-
    at_most(C,P,D,1), t(X,rdf_type,C), t(X,P,Y), counts(Y,D), t(X,P,Z), counts(Z,D), Y != Z.
% cls-oo
t(X,rdf_type,C) :- t(C,owl_oneOf,L), member(L,X).
% cax-eqc1
t(X,rdf_type,D) :- t(C,owl_equivalentClass,D), t(X,rdf_type,C).
% cax-eqc2
t(X,rdf_type,C) :- t(C,owl_equivalentClass,D), t(X,rdf_type,D).
% cax-dw
false("cax-dw",X,C) :- t(C,owl_disjointWith,D), t(X,rdf_type,C), t(X,rdf_type,D).
% cax-adc
false("cax-adc",X,C) :-
    t(A,rdf_type,owl_AllDisjointClasses), t(A,owl_members,L),
    member(L,C), member(L,D), C != D, t(X,rdf_type,C), t(X,rdf_type,D).
"""

_SCHEMA = """
% scm-cls
t(C,rdfs_subClassOf,C) :- t(C,rdf_type,owl_Class).
t(C,owl_equivalentClass,C) :- t(C,rdf_type,owl_Class).
% scm-eqc1
t(C,rdfs_subClassOf,D) :- t(C,owl_equivalentClass,D).
t(D,rdfs_subClassOf,C) :- t(C,owl_equivalentClass,D).
% scm-eqc2
t(C,owl_equivalentClass,D) :- t(C,rdfs_subClassOf,D), t(D,rdfs_subClassOf,C).
% scm-op, scm-dp
property(P) :- t(P,rdf_type,owl_ObjectProperty).
property(P) :- t(P,rdf_type,owl_DatatypeProperty).
t(P,rdfs_subPropertyOf,P) :- property(P).
t(P,owl_equivalentProperty,P) :- property(P).
% scm-eqp1
t(P,rdfs_subPropertyOf,Q) :- t(P,owl_equivalentProperty,Q).
t(Q,rdfs_subPropertyOf,P) :- t(P,owl_equivalentProperty,Q).
% scm-eqp2
t(P,owl_equivalentProperty,Q) :- t(P,rdfs_subPropertyOf,Q), t(Q,rdfs_subPropertyOf,P).
% scm-dom1
t(P,rdfs_domain,D) :- t(P,rdfs_domain,C), t(C,rdfs_subClassOf,D).
% scm-dom2
t(P,rdfs_domain,C) :- t(Q,rdfs_domain,C), t(P,rdfs_subPropertyOf,Q).
% scm-rng1
t(P,rdfs_range,D) :- t(P,rdfs_range,C), t(C,rdfs_subClassOf,D).
% scm-rng2
t(P,rdfs_range,C) :- t(Q,rdfs_range,C), t(P,rdfs_subPropertyOf,Q).
% scm-hv
t(C,rdfs_subClassOf,D) :-
    t(C,owl_hasValue,V), t(C,owl_onProperty,P), t(D,owl_hasValue,V), t(D,owl_onProperty,Q),
    t(P,rdfs_subPropertyOf,Q).
% scm-svf1
t(C,rdfs_subClassOf,D) :-
    t(C,owl_someValuesFrom,E), t(C,owl_onProperty,P), t(D,owl_someValuesFrom,F),
    t(D,owl_onProperty,P), t(E,rdfs_subClassOf,F).
% scm-svf2
t(C,rdfs_subClassOf,D) :-
    t(C,owl_someValuesFrom,E), t(C,owl_onProperty,P), t(D,owl_someValuesFrom,E),
    t(D,owl_onProperty,Q), t(P,rdfs_subPropertyOf,Q).
% scm-avf1
t(C,rdfs_subClassOf,D) :-
    t(C,owl_allValuesFrom,E), t(C,owl_onProperty,P), t(D,owl_allValuesFrom,F),
    t(D,owl_onProperty,P), t(E,rdfs_subClassOf,F).
% scm-avf2
t(D,rdfs_subClassOf,C) :-
    t(C,owl_allValuesFrom,E), t(C,owl_onProperty,P), t(D,owl_allValuesFrom,E),
    t(D,owl_onProperty,Q), t(P,rdfs_subPropertyOf,Q).
% scm-int
t(C,rdfs_subClassOf,D) :- t(C,owl_intersectionOf,L), member(L,D).
% scm-uni
t(D,rdfs_subClassOf,C) :- t(C,owl_unionOf,L), member(L,D).
"""

RULES: dict[Regime, str] = {
    "rdf": _RDF,
    "rdfs": _SHARED + _RDFS,
    "owl-rl": _SHARED + _LISTS + _EQUALITY + _PROPERTIES + _CLASSES + _SCHEMA,
}
"""The program of each regime."""


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


_TERMS = Iri, Blank, RdfLiteral


def constant(term: RdfTerm) -> Constant:
    """A term of RDF as these rules have it."""
    return Constant(cast("Value", term))


def known(term: Term) -> RdfTerm | None:
    """The term of RDF that a rule has; None for a variable, a number that `count` gives, and the
    name of a rule."""
    value: object = term.value if isinstance(term, Constant) else None
    return value if isinstance(value, _TERMS) else None


def head(rule: Rule) -> Scan:
    """The head of a rule, as what looks at it."""
    return Scan(rule.head, rule.terms)


def scans(rule: Rule) -> tuple[Scan, ...]:
    """What must hold for a rule."""
    return tuple(literal for literal in rule.body if isinstance(literal, Scan))


@cache
def rules(regime: Regime) -> tuple[Rule, ...]:
    """The rules of a regime, in the order of its text; their constants are terms of RDF (`known`).

    In a body come first the triples and relations, then what is to be different, then what must not
    hold. Each `_` is a variable of its own.
    """
    statements: list[AST] = []
    clingo_ast.parse_string(RULES[regime], statements.append)
    return tuple(_named(statements, regime))


def _named(statements: Iterable[AST], regime: Regime) -> Iterator[Rule]:
    name = ""
    for statement in statements:
        if statement.ast_type == ASTType.Comment:
            first, _, second = statement.value.removeprefix("%").strip().partition(", ")
            name = first if regime != "owl-rl" or not first.startswith("rdf") else second
        elif statement.ast_type == ASTType.Rule:
            yield _rule(statement, name)


def _rule(statement: AST, name: str) -> Rule:
    numbers = count(1)
    body = [_literal(literal, numbers) for literal in statement.body]
    body.sort(key=lambda literal: (Scan, Compare, Absent).index(type(literal)))
    head = _scan(statement.head.atom.symbol, numbers)
    return Rule(head.relation, head.terms, tuple(body), name)


def _literal(literal: AST, numbers: Iterator[int]) -> Scan | Compare | Absent:
    atom = literal.atom
    if atom.ast_type == ASTType.Comparison:
        return Compare("!=", _term(atom.term, numbers), _term(atom.guards[0].term, numbers))
    found = _scan(atom.symbol, numbers)
    return Absent(found.relation, found.terms) if literal.sign == Sign.Negation else found


def _scan(symbol: AST, numbers: Iterator[int]) -> Scan:
    return Scan(symbol.name, tuple(_term(term, numbers) for term in symbol.arguments))


def _term(term: AST, numbers: Iterator[int]) -> Variable | Constant:
    text = str(term)
    if term.ast_type == ASTType.Variable:
        return Variable(f"Any{next(numbers)}" if text == "_" else text)
    if match := NAME.fullmatch(text):
        return constant(Iri(NAMESPACES[match[1]] + match[2]))
    return Constant(int(text) if text.isdecimal() else text.strip('"'))
