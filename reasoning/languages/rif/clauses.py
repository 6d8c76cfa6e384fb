"""What a theory says, as rules of the engine over plain facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from reasoning.errors import Location, RequestError
from reasoning.languages.rif import document as rif
from reasoning.languages.rif.alternatives import BodyError
from reasoning.languages.rif.bodies import TRIPLE, Bodies
from reasoning.languages.rif.document import RifAtom, RifConstant, RifRule
from reasoning.languages.rif.inference import INCONSISTENT, OPENED, Inference, inference
from reasoning.languages.rif.theory import Theory
from reasoning.languages.rif.unparse import formula_text
from reasoning.languages.rif.values import value
from reasoning.model.rules import Rule
from reasoning.model.terms import Constant, Row, Value
from reasoning.rdf.mapping import Literal

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
    for subject, predicate, found in theory.triples:
        relation = str(value(predicate))
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
        head = RifAtom(rif.Local(CONTRADICTION), (RifConstant(Literal(formula_text(condition))),))
        for rule in _translated(theory, RifRule((head,), condition), bodies):
            yield replace(rule, head=CONTRADICTION)


def _row(rule: Rule) -> Row | None:
    """The row of a rule that is a fact."""
    values = [term.value for term in rule.terms if isinstance(term, Constant)]
    return tuple(values) if not rule.body and len(values) == len(rule.terms) else None
