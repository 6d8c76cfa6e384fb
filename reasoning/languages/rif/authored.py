"""The rules of a theory as its authors know them, what they entail, and how it is written.

They are those of documents and of the regime. Each is taken apart as for the engine, over relations
of plain facts, but nothing is shared between rules, and the regime's rules are those of its
specification, with the schema among what they look at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace

from citywise.reasoning.explain.entailed import Bound, Clause, EntailedModel, Stated, unified
from citywise.reasoning.explain.tree import KnowledgeOrigin, Origin, RuleText, Time
from citywise.reasoning.languages.rif.bodies import PART, TRIPLE, Bodies
from citywise.reasoning.languages.rif.compile import INFERRED, reads, wanted
from citywise.reasoning.languages.rif.document import RifRule
from citywise.reasoning.languages.rif.inference import inference
from citywise.reasoning.languages.rif.names import FactNames
from citywise.reasoning.languages.rif.theory import RuleSource, Theory
from citywise.reasoning.languages.rif.unparse import Wording, formula_text
from citywise.reasoning.languages.rif.values import is_property, value
from citywise.reasoning.limits import Limits
from citywise.reasoning.model.rules import Fact, Literal, Program, Rule, Scan, copied, substituted
from citywise.reasoning.model.values import Constant, Row, Value, Variable
from citywise.reasoning.rdf.mapping import Triple


@dataclass
class Rules:
    """Clauses, and everything that holds without the stream."""

    clauses: list[Clause] = field(default_factory=list)
    facts: defaultdict[Fact, list[Stated]] = field(default_factory=lambda: defaultdict(list))
    """What documents say without conditions."""
    triples: defaultdict[Fact, list[Origin]] = field(default_factory=lambda: defaultdict(list))
    """What imported graphs and knowledge bases say."""
    tables: dict[str, tuple[Row, ...]] = field(default_factory=dict)
    """What else the regime's rules look at."""
    properties: dict[str, Value] = field(default_factory=dict)
    """The relations of frames, and the properties they are of."""


def rules_of(theory: Theory, prefixes: dict[str, str]) -> Rules:
    """The rules of a theory; raises `BodyError` for one that cannot be evaluated."""
    found, bodies = Rules(), Bodies()
    own = theory.document.source or theory.document.name
    for source in theory.sources or (RuleSource(own, "", theory.rules, theory.triples),):
        path = "" if source.path == own else source.path
        for rule in source.rules:
            text = RuleText(rule.line, rule_text(rule, prefixes), rule.label or None)
            _take(found, bodies, rule, text, path)
        _take_triples(found, source, theory.triples)
    found.properties = bodies.properties
    _take_regime(found, theory, prefixes)
    return found


def rule_text(rule: RifRule, prefixes: dict[str, str]) -> str:
    """A rule on one line, without its `Forall`."""
    heads = [formula_text(head, prefixes) for head in rule.heads]
    head = heads[0] if len(heads) == 1 else f"And({' '.join(heads)})"
    return head if rule.body is None else f"{head} :- {formula_text(rule.body, prefixes)}"


def _take(found: Rules, bodies: Bodies, rule: RifRule, text: RuleText, path: str) -> None:
    known = len(bodies.parts)
    for each in bodies.rules(rule):
        row = [term.value for term in each.terms if isinstance(term, Constant)]
        if each.body or len(row) < len(each.terms):
            found.clauses.append(Clause(each, text, path))
        else:
            found.facts[each.head, tuple(row)].append(Stated(text, path))
    found.clauses += [Clause(each, text, path) for each in bodies.parts[known:]]


def _take_triples(found: Rules, source: RuleSource, kept: Iterable[Triple]) -> None:
    wanted = set(kept) if source.triples else set()
    for triple in source.triples:
        if triple in wanted:
            fact = fact_of(triple)
            found.triples[fact].append(KnowledgeOrigin(source.path, triple))


def _take_regime(found: Rules, theory: Theory, prefixes: dict[str, str]) -> None:
    regime = inference(theory, opened=True)
    found.tables = dict(regime.rows)
    for name in (name for rule in regime.rules for name in _properties(rule)):
        found.properties.setdefault(name, name)
    wording = Wording(found.properties, prefixes)
    for rule in regime.rules:
        head = wording.row(rule.head, rule.terms)
        text = f"{head} :- {wording.conjunction(rule.body)}" if rule.body else head
        found.clauses.append(Clause(rule, RuleText(0, text, rule.name), inferred=True))


def _properties(rule: Rule) -> Iterator[str]:
    names = (rule.head, *(scan.relation for scan in rule.looks.values()))
    return (name for name in names if name[0] == "<")


def fact_of(triple: Triple) -> Fact:
    """The fact that a triple is."""
    subject, predicate, given = map(value, triple)
    return str(predicate), (subject, given)


class FrameModel(EntailedModel):
    """What rules and given facts entail, as far as facts of one relation rest on it: frames are in
    the relation of all, and in that of their property."""

    def __init__(
        self, rules: Rules, given: Collection[Fact], relation: str, limits: Limits | None
    ) -> None:
        # No set: rules, and with them rows, are in this order.
        names = dict.fromkeys([*(name for name, _row in given), relation])
        own = {n: n for n in names if is_property(n) and n[0] in "<_"}
        self._properties: dict[str, Value] = {**own, **rules.properties}
        found = wanted(self._spread(rules.clauses), {relation})
        inputs = frozenset({relation}).union(names, rules.tables, *map(reads, found))
        program = Program(tuple(found), inputs=inputs)
        super().__init__(rules.clauses, program, given, rules.tables, limits)

    def _spread(self, clauses: Iterable[Clause]) -> Iterator[Rule]:
        """The rules, and those by which frames are in both relations."""
        subject, given = Variable("S"), Variable("O")
        for clause in clauses:
            rule = clause.rule
            yield replace(rule, head=INFERRED) if rule.head == TRIPLE else rule
        yield copied(TRIPLE, INFERRED, 3)
        for name, property_ in self._properties.items():
            row = (subject, Constant(property_), given)
            yield Rule(name, (subject, given), (Scan(INFERRED, row),))
            yield Rule(TRIPLE, row, (Scan(name, (subject, given)),))

    def __contains__(self, fact: Fact) -> bool:
        relation, row = fact
        if relation in self._properties or not is_property(relation):
            return super().__contains__(fact)
        return (row[0], relation, row[1]) in self.rows(TRIPLE)

    def headed(self, clause: Clause, fact: Fact) -> dict[str, Value] | None:
        """See `EntailedModel`."""
        relation, row = fact
        if clause.rule.head == TRIPLE and len(row) == 2 and is_property(relation):
            property_ = self._properties.get(relation, relation)
            return unified(clause.rule.terms, (row[0], property_, row[1]), {})
        return super().headed(clause, fact)

    def premise(self, scan: Scan, bound: Bound) -> Fact:
        """See `EntailedModel`; a frame is a fact of its property."""
        relation, row = super().premise(scan, bound)
        if relation == TRIPLE and len(row) == 3:
            return str(row[1]), (row[0], row[2])
        return relation, row

    def looks_for(self, scan: Scan, fact: Fact, bound: Bound) -> bool:
        """See `EntailedModel`."""
        relation, row = fact
        if scan.relation == TRIPLE and len(row) == 2:
            fact = TRIPLE, (row[0], relation, row[1])
        return super().looks_for(scan, fact, bound)


@dataclass(frozen=True)
class RifNotation:
    """How facts, literals and times are written (see `RowNotation`)."""

    names: FactNames
    wording: Wording
    time: Callable[[int], Time]
    self_evident: str = "by what RDF says of its terms"

    def atom(self, fact: Fact) -> str:
        """A fact as answers have it; a row of a relation of the regime's own likewise."""
        relation, row = fact
        if relation[0] == "#":
            relation = f"_{relation[1:].partition('/')[0]}/{len(row)}"
        return self.names.atom((relation, row))

    def literal(self, literal: Literal, bound: Bound) -> str:
        """A literal of a body, with values in the place of variables."""
        return self.wording.literal(
            substituted(literal, {name: Constant(value) for name, value in bound.items()})
        )

    def is_part(self, relation: str) -> bool:
        """Whether a relation stands for a part of a body."""
        return relation.startswith(PART)
