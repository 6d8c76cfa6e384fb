"""Theories as programs of the incremental engine: first their clauses over plain facts.

The relations of a program, `p` being the relation of a property or of a predicate:

- `p` has all of its facts that a rule looks at: those that come, and those derived;
- `!p` has the facts that rules of the document derive, which are shown;
- `triple` has all frames, if a rule looks at properties that a variable stands for;
- `!triple` and `^triple` have what rules of the document, and of the regime, derive of
  properties that a variable stands for.

So a program in which no variable stands for a property pays nothing for it. Where instances
are told apart, rows have their instants as last columns, and `~p` has the facts of `!p`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from citywise.reasoning.engines.incremental.relation import BEGINNING
from citywise.reasoning.errors import Location, RequestError
from citywise.reasoning.languages.rif import document as rif
from citywise.reasoning.languages.rif.bodies import TRIPLE, Bodies, BodyError
from citywise.reasoning.languages.rif.document import RifAtom, RifConstant, RifRule
from citywise.reasoning.languages.rif.inference import INCONSISTENT, OPENED, Inference, inference
from citywise.reasoning.languages.rif.network import shared
from citywise.reasoning.languages.rif.theory import Theory
from citywise.reasoning.languages.rif.unparse import formula_text
from citywise.reasoning.languages.rif.values import is_property, predicate, value
from citywise.reasoning.model.rules import (
    Absent,
    Call,
    Literal,
    Program,
    Rule,
    Scan,
    copied,
    reached,
)
from citywise.reasoning.model.values import Constant, Row, Term, Value, Variable
from citywise.reasoning.rdf.mapping import Literal as RdfLiteral

CONTRADICTION = "#contradiction"
"""The relation of contradictions, of arity 1: what cannot hold and does, as a literal."""
ALARMS = (CONTRADICTION, INCONSISTENT, OPENED)
"""Relations that are looked at after each step."""


@dataclass(frozen=True)
class Clauses:
    """What a theory says, as rules over plain facts."""

    stated: tuple[Rule, ...]
    """Rules of documents, without those of facts."""
    inferred: tuple[Rule, ...]
    """Rules of the regime, and contradictions."""
    parts: tuple[Rule, ...]
    """Rules of relations that stand for parts of bodies."""
    facts: Mapping[str, list[Row]]
    """What documents say without conditions."""
    triples: Mapping[str, list[Row]]
    """Static triples."""
    tables: Mapping[str, list[Row]]
    """What else rules of the regime look at."""
    properties: Mapping[str, Value]
    """The relations of frames, and the properties they are of."""

    @property
    def silent(self) -> bool:
        """Whether documents say nothing, so that what the regime infers is shown."""
        return not self.stated and not self.facts


def clauses(theory: Theory, opened: bool = False) -> Clauses:
    """The rules and static facts of a theory; raises `RequestError`. For `opened` see
    `inference`."""
    bodies = Bodies()
    stated: list[Rule] = []
    facts: defaultdict[str, list[Row]] = defaultdict(list)
    for rule in theory.rules:
        for each in _translated(theory, rule, bodies):
            row = _row(each)
            if row is None:
                stated.append(each)
            else:
                facts[each.head].append(row)
    triples: defaultdict[str, list[Row]] = defaultdict(list)
    for subject, said, found in theory.triples:
        relation = str(value(said))
        bodies.properties[relation] = relation
        triples[relation].append((value(subject), value(found)))
    regime = inference(theory, opened) if theory.regime is not None else Inference()
    tables: dict[str, list[Row]] = {}
    for name, rows in regime.rows.items():
        if name[0] == "#":
            tables[name] = [*rows]
        else:
            bodies.properties[name] = name
            triples[name] += rows
    inferred = (*regime.rules, *_contradictions(theory, bodies))
    for each in regime.rules:
        for name in (each.head, *(scan.relation for scan in each.looks.values())):
            if name[0] != "#" and name != TRIPLE:
                bodies.properties.setdefault(name, name)
    return Clauses(
        tuple(stated), inferred, tuple(bodies.parts), facts, triples,
        tables, bodies.properties,
    )  # fmt: skip


def _translated(theory: Theory, rule: RifRule, bodies: Bodies) -> list[Rule]:
    try:
        return bodies.rules(rule)
    except BodyError as error:
        location = Location(theory.document.name, rule.line, rule.column)
        raise RequestError(location, "rule", f"rule {rule.name}: {error}") from error


def _contradictions(theory: Theory, bodies: Bodies) -> Iterator[Rule]:
    for condition in theory.contradictions:
        head = RifAtom(
            rif.Local(CONTRADICTION), (RifConstant(RdfLiteral(formula_text(condition))),)
        )
        for rule in _translated(theory, RifRule((head,), condition), bodies):
            yield replace(rule, head=CONTRADICTION)


def _row(rule: Rule) -> Row | None:
    """The row of a rule that is a fact."""
    values = [term.value for term in rule.terms if isinstance(term, Constant)]
    return tuple(values) if not rule.body and len(values) == len(rule.terms) else None


STATED = "!"
"""Before the name of a relation: what rules of the document derive of it."""
PLAIN = "~"
"""Before the name of a relation: its facts without instants."""
INFERRED = f"^{TRIPLE}"
UNSEEN = "#unseen"
"""The relation, of arity 3, of frames that no rule looks at."""


@dataclass(frozen=True)
class CompiledTheory:
    """A program, what it begins with, and where facts go and are found."""

    program: Program
    static: Mapping[str, list[Row]]
    """Rows that hold from the beginning."""
    inputs: frozenset[str]
    """Relations of facts that rules look at."""
    only: Mapping[str, frozenset[Value]]
    """Of those, the last values that rules look for; if not there, they look at all."""
    shown: tuple[str, ...]
    """Relations of facts that rules of the document derive; they are `!p`."""
    properties: Mapping[str, Value]
    """The relations of frames, and the properties they are of."""
    silent: bool
    """Whether what the regime infers is shown, and not what documents say."""
    instances: bool
    """Whether rows have instants."""
    opened: bool
    """Whether it is complete where the stream says what classes and properties mean."""
    keeps: bool
    """Whether frames that no rule looks at are kept, for the program that is complete then."""

    def placed(self, relation: str, row: Row) -> tuple[str, Row] | None:
        """Where a fact goes in, and as what row; None if no rule looks at it."""
        entrance = self.entrance(relation)
        if entrance == relation:
            only = self.only.get(relation)
            if only is None or row[-1] in only:
                return relation, row
            entrance = self.elsewhere(relation)
        if entrance is None:
            return None
        return entrance, (row[0], self.properties.get(relation, relation), row[1])

    def entrance(self, relation: str) -> str | None:
        """Where facts of a relation go in; None if no rule looks at them."""
        return relation if relation in self.inputs else self.elsewhere(relation)

    def elsewhere(self, relation: str) -> str | None:
        """Where facts go in that no rule of their own relation looks at."""
        if not is_property(relation):
            return None
        return TRIPLE if TRIPLE in self.inputs else UNSEEN if self.keeps else None


def compiled(theory: Theory, *, instances: bool = False, opened: bool = False) -> CompiledTheory:
    """The program of a theory; raises `RequestError`. With `opened` it is complete where the
    stream says what classes and properties mean."""
    said = clauses(theory, opened)
    layout = _Layout(said)
    outputs = frozenset(map(_stated, layout.stated))
    rules = wanted(layout.rules, {*outputs, *ALARMS})
    looked = frozenset(name for rule in rules for name in reads(rule))
    inputs = frozenset(name for name in looked if name[0] not in "!^#")
    found = CompiledTheory(
        program=Program(tuple(rules), name=theory.document.name, outputs=outputs.union(ALARMS)),
        static={},
        inputs=inputs | layout.stated if said.silent else inputs,
        only={} if said.silent else dict(_only(rules, inputs)),
        shown=tuple(sorted(layout.stated)),
        properties=said.properties,
        silent=said.silent,
        instances=False,
        opened=opened,
        keeps=any(rule.head == OPENED for rule in rules),
    )
    found = replace(found, static=_static(found, said, looked.union(ALARMS)))
    return _filled(_with_instants(found) if instances else found)


def _static(found: CompiledTheory, said: Clauses, looked: Collection[str]) -> dict[str, list[Row]]:
    """The rows with which a program begins."""
    static = {name: rows for name, rows in said.tables.items() if name in looked}
    static |= {_stated(relation): rows for relation, rows in said.facts.items()}
    for relation, rows in said.triples.items():
        for place in (found.placed(relation, row) for row in rows):
            if place is not None and place[0] != UNSEEN:
                static.setdefault(place[0], []).append(place[1])
    return static


def _filled(found: CompiledTheory) -> CompiledTheory:
    """With its inputs."""
    inputs = found.inputs.union(found.static, [UNSEEN] if found.keeps else [])
    return replace(found, program=replace(found.program, inputs=inputs))


def _stated(relation: str) -> str:
    return STATED + relation


class _Layout:
    """The rules of a theory, and those that pass rows on between relations."""

    def __init__(self, said: Clauses) -> None:
        self._properties = said.properties
        stated, inferred = said.stated, said.inferred
        if said.silent:
            stated, inferred = inferred, ()
        self.stated = {rule.head for rule in stated if rule.head[0] != "#"} | said.facts.keys()
        """Relations that rules of the document derive."""
        self._generic = {
            name
            for name, rules in ((_stated(TRIPLE), stated), (INFERRED, inferred))
            if any(rule.head == TRIPLE for rule in rules)
        }
        """What is derived of properties that a variable stands for."""
        rules = [*(_headed(rule, _stated(rule.head)) for rule in stated), *said.parts]
        if not said.silent:
            rules = shared(rules)
        rules += [_headed(rule, INFERRED) if rule.head == TRIPLE else rule for rule in inferred]
        self._reads = {name for rule in rules for name in reads(rule)}
        if said.silent:
            self.stated |= self._reads & self._properties.keys()
        inferred_of = {rule.head for rule in inferred if rule.head in self._properties}
        self._stored = inferred_of | self._reads & self._properties.keys()
        """Properties of which there is a relation with all facts."""
        self.rules = [*rules, *self._passed_on(), *self._spread(), *self._gathered()]

    def _passed_on(self) -> Iterator[Rule]:
        """What documents derive is among what rules look at."""
        for relation in sorted(self.stated - {TRIPLE}):
            if relation in self._reads or relation in self._stored:
                yield copied(relation, _stated(relation), self._arity(relation))

    def _spread(self) -> Iterator[Rule]:
        """What is derived of any property, where rules look at properties."""
        for generic in sorted(self._generic):
            for relation in sorted(self._stored | self.stated & self._properties.keys()):
                own = generic == _stated(TRIPLE) and relation in self.stated
                row = (Variable("S"), Constant(self._properties[relation]), Variable("O"))
                head = _stated(relation) if own else relation
                yield Rule(head, (row[0], row[2]), (Scan(generic, row),))

    def _gathered(self) -> Iterator[Rule]:
        """What is known of properties, where rules look at all of them."""
        if TRIPLE not in self._reads:
            return
        for generic in sorted(self._generic):
            yield copied(TRIPLE, generic, 3)
        for relation in sorted(self._stored | self.stated & self._properties.keys()):
            source = relation if relation in self._stored else _stated(relation)
            row = (Variable("S"), Constant(self._properties[relation]), Variable("O"))
            yield Rule(TRIPLE, row, (Scan(source, (row[0], row[2])),))

    def _arity(self, relation: str) -> int:
        found = None if relation in self._properties else predicate(relation)
        return 2 if found is None else found[1]


def reads(rule: Rule) -> Iterator[str]:
    """The relations that a rule looks at."""
    return (literal.relation for literal in rule.looks.values())


def wanted(rules: Iterable[Rule], outputs: Iterable[str]) -> list[Rule]:
    """The rules on which some relations depend."""
    rules = list(rules)
    looked: dict[str, set[str]] = {}
    for rule in rules:
        looked.setdefault(rule.head, set()).update(reads(rule))
    needed = reached(outputs, looked)
    return [rule for rule in rules if rule.head in needed]


def _only(rules: Iterable[Rule], inputs: Collection[str]) -> Iterator[tuple[str, frozenset[Value]]]:
    """Of relations the last terms of all scans, where these are constants."""
    last: dict[str, set[Value | None]] = {}
    for rule in rules:
        for scan in rule.looks.values():
            if scan.relation in inputs:
                term = scan.terms[-1] if scan.terms else None
                value = term.value if isinstance(term, Constant) else None
                last.setdefault(scan.relation, set()).add(value)
    return (
        (name, frozenset(v for v in found if v is not None))
        for name, found in last.items()
        if None not in found
    )


def _headed(rule: Rule, head: str) -> Rule:
    return rule if rule.head[0] == "#" else replace(rule, head=head)


# -- instants -------------------------------------------------------------------------------


def _with_instants(found: CompiledTheory) -> CompiledTheory:
    """The program over rows with instants."""
    plain = _without_instants(found.program.rules, found.static)
    program = replace(
        found.program,
        rules=(*map(with_instant, found.program.rules), *plain),
        outputs=found.program.outputs.union(PLAIN + name for name in found.shown),
    )
    static = {name: [(*row, BEGINNING) for row in rows] for name, rows in found.static.items()}
    return replace(found, program=program, static=static, instances=True)


def with_instant(rule: Rule) -> Rule:
    """The rule over rows with instants: that of the head is the latest of the body."""
    body: list[Literal] = []
    instants: list[Term] = []
    for literal in rule.body:
        if isinstance(literal, Scan):
            instants.append(Variable(f"#at {len(instants)}"))
            literal = Scan(literal.relation, (*literal.terms, instants[-1]))
        elif isinstance(literal, Absent):  # of a table
            literal = Absent(literal.relation, (*literal.terms, Constant(BEGINNING)))
        body.append(literal)
    latest: Term = instants[0] if instants else Constant(BEGINNING)
    if len(instants) > 1:
        latest = Variable("#at")
        body.append(Call(max, tuple(instants), latest, "latest"))
    return replace(rule, terms=(*rule.terms, latest), body=tuple(body))


def _without_instants(rules: Iterable[Rule], static: Mapping[str, list[Row]]) -> Iterator[Rule]:
    """The facts of instances."""
    arities = {name: len(rows[0]) for name, rows in static.items() if rows}
    arities |= {rule.head: len(rule.terms) for rule in rules}
    for relation, arity in sorted(arities.items()):
        if relation.startswith(STATED):
            terms = tuple(Variable(f"X{number}") for number in range(arity))
            body = Scan(relation, (*terms, Variable("#at")))
            yield Rule(PLAIN + relation[1:], terms, (body,))
