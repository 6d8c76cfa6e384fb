"""The rules of a theory as its authors know them: document rules, and those of its regime.

Each is taken apart as for the engine, over relations of plain facts, but nothing is shared
between rules, and the regime's rules are those of its specification, with the schema among
what they look at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from reasoning.explain.origins import KnowledgeOrigin, Origin
from reasoning.explain.tree import RuleText
from reasoning.languages.rif.bodies import PART, Bodies
from reasoning.languages.rif.document import RifRule
from reasoning.languages.rif.inference import inference
from reasoning.languages.rif.showing import Fact
from reasoning.languages.rif.theory import RuleSource, Theory
from reasoning.languages.rif.unparse import formula_text
from reasoning.languages.rif.values import value
from reasoning.languages.rif.wording import Wording
from reasoning.model.rules import Rule
from reasoning.model.terms import Constant, Row, Value
from reasoning.rdf.mapping import Triple


@dataclass(frozen=True, eq=False)
class Clause:
    """One head of a rule, and one of the bodies it has."""

    rule: Rule
    text: RuleText
    """The rule as written."""
    source: str = ""
    """The imported document it is of; empty: the document itself, or the regime."""
    inferred: bool = False
    """Whether it is of the regime."""

    @property
    def name(self) -> str:
        """`rule slow`, `rule line 3 of streets.rifps`."""
        return self.text.name + (f" of {self.source}" if self.source else "")


@dataclass(frozen=True, eq=False)
class Stated:
    """A fact that a document states without conditions."""

    text: RuleText
    source: str = ""

    @property
    def place(self) -> str:
        """`line 3`, `line 3 of streets.rifps`."""
        return f"line {self.text.line}" + (f" of {self.source}" if self.source else "")


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


def is_part(relation: str) -> bool:
    """Whether a relation stands for a part of a body."""
    return relation.startswith(PART)
