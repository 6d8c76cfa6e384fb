"""Why and why not in documents of RIF, of the facts of a theory at an instant. Answers are computed
elsewhere; this looks at one instant again, with all rules apart.

The rules are those of documents and of the regime, as their authors know them. Each is taken apart
as for the engine, over relations of plain facts, but nothing is shared between rules, and the
regime's rules are those of its specification, with the schema among what they look at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from citywise.reasoning.engines.incremental.relation import BEGINNING
from citywise.reasoning.errors import ItemError
from citywise.reasoning.explain.entailed import Bound, Clause, EntailedModel, Stated, unified
from citywise.reasoning.explain.justifications import KEPT, GivenFact, Justifications
from citywise.reasoning.explain.rows import PastFacts, Trees, Unentailed
from citywise.reasoning.explain.tree import (
    Explanation,
    KnowledgeOrigin,
    Origin,
    RuleText,
    Time,
    TreeNode,
)
from citywise.reasoning.languages.rif.bodies import PART, TRIPLE, Bodies
from citywise.reasoning.languages.rif.compile import INFERRED, reads, wanted
from citywise.reasoning.languages.rif.document import RifRule
from citywise.reasoning.languages.rif.inference import INCONSISTENT, inference, sentence
from citywise.reasoning.languages.rif.names import FactNames
from citywise.reasoning.languages.rif.theory import RuleSource, Theory
from citywise.reasoning.languages.rif.unparse import Wording, formula_text
from citywise.reasoning.languages.rif.values import is_property, value
from citywise.reasoning.limits import Limits
from citywise.reasoning.model.atoms import ground
from citywise.reasoning.model.rules import Fact, Literal, Program, Rule, Scan, copied, substituted
from citywise.reasoning.model.values import Constant, Row, Value, Variable
from citywise.reasoning.rdf import ntriples
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


_NO_PAST = PastFacts({}, {})
_CONFLICTS = 5
"""Contradictions that are told."""


class FactExplainer:
    """Explains facts of a theory at an instant.

    Parameters
    ----------
    theory:
        Its rules and static facts.
    given:
        The instances of the stream that count at the instant, by their facts.
    now:
        The instant; None where there is no stream.
    names:
        How facts are written; default: as the theory's document has them.
    time:
        How instants are written.
    past:
        What does not count at the instant.
    inconsistent:
        Whether what counts contradicts itself by the theory's regime: it is explained then,
        whatever is asked.
    limits:
        On finding what holds; None: without.

    Raises `LimitError` when asked for more than the limits allow.
    """

    def __init__(
        self,
        theory: Theory,
        given: Mapping[Fact, Sequence[GivenFact]],
        now: int | None,
        *,
        names: FactNames | None = None,
        time: Callable[[int], Time] = lambda time: time,
        past: Callable[[], PastFacts] = lambda: _NO_PAST,
        inconsistent: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self._names = names or FactNames(theory.document, theory.rules)
        self._theory, self._stream = theory, given
        self._time, self._look_back, self._limits = time, past, limits
        self._inconsistent = inconsistent
        self._models: dict[str, FrameModel] = {}
        self._at = None if now is None else time(now)

    def explain(self, atom: str) -> Explanation:
        """Why an atom holds or does not; it is given as answers have it, or as a triple in
        N-Triples syntax. Raises `ItemError` for what is neither."""
        fact = self._fact(atom)
        if self._inconsistent:
            return Explanation("conflict", self._notation.atom(fact), self._conflict(), self._at)
        model = self._model(fact[0])
        fact = self._as_written(fact, model)
        text = self._notation.atom(fact)
        if fact in model:
            tree = self.why(fact)
        else:
            tree = Unentailed(model, self._past, self._notation).tree(fact)
        at = "" if self._at is None else f" at {self._at}"
        tree = replace(tree, text=f"{text}{at}{tree.text.removeprefix(text)}")
        return Explanation("why" if fact in model else "why not", text, tree, self._at)

    def why(self, fact: Fact) -> TreeNode:
        """The justifications of a fact that holds."""
        return Trees(self.justifications(fact), self._notation).tree()

    def is_inconsistent(self) -> bool:
        """Whether what counts contradicts itself by the theory's regime."""
        return bool(self._model(INCONSISTENT).rows(INCONSISTENT))

    def _conflict(self) -> TreeNode:
        """What cannot be true together, and why it is."""
        model = self._model(INCONSISTENT)
        rows = sorted(model.rows(INCONSISTENT), key=repr)
        children = tuple(self._contradiction(model, row) for row in rows[:_CONFLICTS])
        if len(rows) > _CONFLICTS:
            children += (TreeNode("cut", f"… and {len(rows) - _CONFLICTS} more"),)
        at = "" if self._at is None else f" at {self._at}"
        text = f"there is no answer{at}: what counts contradicts itself"
        return TreeNode("conflict", text, count=len(rows), children=children)

    def _contradiction(self, model: FrameModel, row: Row) -> TreeNode:
        found = Justifications(model, self._given_facts, (INCONSISTENT, row))
        tree = Trees(found, self._notation).tree()
        return TreeNode("contradiction", sentence(row), children=tree.children)

    def justifications(self, fact: Fact, most: int = KEPT) -> Justifications:
        """Those of a fact, found from at most so many of each fact it rests on."""
        return Justifications(self._model(fact[0]), self._given_facts, fact, most)

    def _fact(self, atom: str) -> Fact:
        written = atom.strip()
        if not written.startswith(("<", "_:")):
            return self._names.fact(ground(written))
        triple = ntriples.statement(written if written.endswith(".") else f"{written} .")
        if triple is None:
            raise ItemError(f"`{atom}` is no triple; write `<subject> <property> object`")
        return fact_of(triple)

    def _as_written(self, fact: Fact, model: FrameModel) -> Fact:
        """The fact, or one that holds and reads the same: answers write decimals as strings."""
        if fact in model:
            return fact
        text, past = self._notation.atom(fact), self._past
        there = ((fact[0], row) for row in model.rows(fact[0]))
        others = (each for each in (*past.entailed, *past.items) if each[0] == fact[0])
        alike = (each for each in (*there, *others) if self._notation.atom(each) == text)
        return next(alike, fact)

    def _model(self, relation: str) -> FrameModel:
        """What holds, as far as facts of a relation rest on it."""
        if relation not in self._models:
            model = FrameModel(self._rules, self._given_facts.keys(), relation, self._limits)
            self._models[relation] = model
        return self._models[relation]

    @cached_property
    def _past(self) -> PastFacts:
        return self._look_back()

    @cached_property
    def _rules(self) -> Rules:
        return rules_of(self._theory, dict(self._names.request.prefixes))

    @cached_property
    def _notation(self) -> RifNotation:
        wording = Wording(self._rules.properties, self._names.request.prefixes)
        return RifNotation(self._names, wording, self._time)

    @cached_property
    def _given_facts(self) -> Mapping[Fact, Sequence[GivenFact]]:
        """The instances of the stream, and of what always holds."""
        rules = self._rules
        found = {fact: [*given] for fact, given in self._stream.items()}
        for fact in {**rules.triples, **rules.facts}:
            static = GivenFact(
                fact,
                BEGINNING,
                origins=tuple(rules.triples.get(fact, ())),
                stated=tuple(rules.facts.get(fact, ())),
            )
            found.setdefault(fact, []).append(static)
        return found
