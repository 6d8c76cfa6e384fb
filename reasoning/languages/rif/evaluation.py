"""What a theory entails from one instant to the next, on the incremental engine: facts on their way
into it, and what it shows on their way out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple

from citywise.reasoning.engines.incremental.evaluation import RuleEvaluation
from citywise.reasoning.engines.incremental.relation import BEGINNING, FOREVER
from citywise.reasoning.errors import SolvingError
from citywise.reasoning.languages.rif.bodies import TRIPLE
from citywise.reasoning.languages.rif.compile import (
    CONTRADICTION,
    PLAIN,
    STATED,
    UNSEEN,
    CompiledTheory,
    compiled,
)
from citywise.reasoning.languages.rif.inference import INCONSISTENT, OPENED, sentence
from citywise.reasoning.languages.rif.theory import Theory
from citywise.reasoning.languages.rif.unparse import Wording
from citywise.reasoning.languages.rif.values import term, value
from citywise.reasoning.limits import LimitError, Limits, exceeded
from citywise.reasoning.model.rules import Fact
from citywise.reasoning.model.values import Row, Value
from citywise.reasoning.rdf.mapping import Iri, Literal, Triple

_REMEMBERED = 1 << 16
_Route = tuple[str | None, Value | None, frozenset[Value] | None]
"""Where facts of a relation go in, what goes between subject and object there, and the objects
that are looked for if not all are."""


class _Texts(dict[str, str]):
    """IRIs and the values that stand for them, the same object for the same IRI."""

    def __missing__(self, iri: str) -> str:
        if len(self) >= _REMEMBERED:
            self.clear()
        text = self[iri] = f"<{iri}>"
        return text


class Inbox:
    """Collects the rows of facts from one step to the next; drops what no rule looks at."""

    def __init__(self, compiled: CompiledTheory) -> None:
        self._texts = _Texts()
        self._rows: dict[tuple[str, int | None], list[Row]] = {}
        """By relation and the last instant at which they count."""
        self.follow(compiled)

    def follow(self, compiled: CompiledTheory) -> None:
        """Take over what another program looks at."""
        self._compiled = compiled
        self._routes: dict[str, _Route] = {}
        """By the IRIs of properties."""

    def insert(self, triples: Iterable[Triple], until: int | None) -> None:
        """Triples that count up to `until`; raises `ItemError`, and then takes none."""
        new: dict[str, list[Row]] = {}
        routes, texts = self._routes, self._texts
        for subject, predicate, found in triples:
            route = routes.get(predicate[0])
            if route is None:
                route = self._route(predicate)
            entrance, between, only = route
            if entrance is None:
                continue
            last = texts[found[0]] if found.__class__ is Iri else value(found)
            if only is not None and last not in only:
                entrance, between, _only = self._elsewhere(predicate)
                if entrance is None:
                    continue
            first = texts[subject[0]] if subject.__class__ is Iri else value(subject)
            row = (first, last) if between is None else (first, between, last)
            if entrance in new:
                new[entrance].append(row)
            else:
                new[entrance] = [row]
        self._add(new, until)

    def insert_facts(self, facts: Iterable[Fact], until: int | None) -> None:
        """Facts that count up to `until`."""
        new: dict[str, list[Row]] = {}
        for relation, row in facts:
            place = self._compiled.placed(relation, row)
            if place is not None:
                new.setdefault(place[0], []).append(place[1])
        self._add(new, until)

    def deliver(self, evaluation: RuleEvaluation, now: int) -> None:
        """Insert what has been collected; it has the instant `now`."""
        rows, self._rows = self._rows, {}
        for (relation, until), found in rows.items():
            if self._compiled.instances:
                found = [(*row, now) for row in found]
            evaluation.insert(relation, found, until)

    def _add(self, new: dict[str, list[Row]], until: int | None) -> None:
        for relation, rows in new.items():
            known = self._rows.get((relation, until))
            if known is None:
                self._rows[relation, until] = rows
            else:
                known += rows

    def _route(self, predicate: Iri) -> _Route:
        relation = f"<{predicate.value}>"
        if len(self._routes) >= _REMEMBERED:
            self._routes.clear()
        entrance = self._compiled.entrance(relation)
        if entrance == relation:
            route: _Route = entrance, None, self._compiled.only.get(relation)
        else:
            route = self._elsewhere(predicate)
        self._routes[predicate.value] = route
        return route

    def _elsewhere(self, predicate: Iri) -> _Route:
        relation = f"<{predicate.value}>"
        return self._compiled.elsewhere(relation), relation, None


class Instance(NamedTuple):
    """A fact that is entailed from an instant on (Monks et al., Definition "Fact Instance",
    with the valid time (since, last + 1] of the section "Model")."""

    fact: Fact
    since: int
    """The latest instant of its justifications; 0 if no item of the stream is among them."""
    last: int | None
    """The last instant at which it counts; None: for ever."""


@dataclass(frozen=True)
class ShownState:
    """What is shown at an instant."""

    facts: frozenset[Fact]
    instances: frozenset[Instance]


NOTHING = ShownState(frozenset(), frozenset())


class ShownFacts:
    """Reads what an evaluation has, and what changed of it."""

    def __init__(self, compiled: CompiledTheory, evaluation: RuleEvaluation) -> None:
        self._compiled = compiled
        self._evaluation = evaluation
        mark = PLAIN if compiled.instances else STATED
        self._plain = [(name, mark + name) for name in compiled.shown]
        self._stated = [(name, STATED + name) for name in compiled.shown]

    def facts(self) -> list[Fact]:
        """The facts that are shown, or would be if they were not asserted."""
        return self._facts(self._evaluation.rows)

    def came(self) -> list[Fact]:
        """Of these, those that came with the last step."""
        return self._facts(self._evaluation.came)

    def gone(self) -> list[Fact]:
        """Facts that went with the last step."""
        return self._facts(self._evaluation.gone)

    def instances(self) -> Iterator[Instance]:
        """The instances of facts, but for those that are entailed without the stream."""
        return self._instances(self._evaluation.rows, None)

    def begun(self) -> list[Instance]:
        """Instances that came with the last step."""
        return [*self._instances(self._evaluation.came, None)]

    def ended(self, last: int) -> list[Instance]:
        """Instances that went with the last step, and held up to `last`."""
        return [*self._instances(self._evaluation.gone, last)]

    def before(self, last: int) -> ShownState:
        """What was there before the last step, which may have been stopped; what has gone with
        it held up to `last`."""
        facts = frozenset(self.facts()).difference(self.came()).union(self.gone())
        if not self._compiled.instances:
            return ShownState(facts, frozenset())
        instances = frozenset(self.instances()).difference(self.begun())
        return ShownState(facts, instances.union(self.ended(last)))

    def asserted(self) -> ShownState:
        """The facts and instances of the stream that count now, and static facts."""
        facts: set[Fact] = set()
        instances: set[Instance] = set()
        for relation in self._compiled.inputs - {UNSEEN}:
            given = self._evaluation.given(relation)
            if self._compiled.instances:
                instances.update(_instances_of(relation, given.items()))
                facts.update(_facts(relation, [row[:-1] for row in given]))
            else:
                facts.update(_facts(relation, given))
        return ShownState(frozenset(facts), frozenset(instances))

    def _facts(self, rows: Callable[[str], Collection[Row]]) -> list[Fact]:
        return [fact for name, own in self._plain for fact in self._read(name, rows(own))]

    def _read(self, name: str, rows: Iterable[Row]) -> Iterator[Fact]:
        """The facts in rows of a shown relation; frames whose property has a relation of its
        own are found there."""
        if name != TRIPLE:
            return ((name, row) for row in rows)
        shown = self._compiled.shown
        return (fact for fact in _facts(name, rows) if fact[0] not in shown)

    def _instances(
        self, rows: Callable[[str], Collection[Row]], last: int | None
    ) -> Iterator[Instance]:
        shown = self._compiled.shown
        for name, own in self._stated:
            found = rows(own)
            ends = self._evaluation.horizons(own, found) if last is None else repeat(last)
            for each in _instances_of(name, zip(found, ends, strict=False)):
                if name != TRIPLE or each.fact[0] not in shown:
                    yield each


def _facts(relation: str, rows: Iterable[Row]) -> Iterator[Fact]:
    """The facts in rows of a relation."""
    if relation == TRIPLE:
        return ((str(p), (s, o)) for s, p, o in rows)
    return ((relation, row) for row in rows)


def _instances_of(relation: str, rows: Iterable[tuple[Row, int]]) -> Iterator[Instance]:
    """The instances in rows of a relation, but for those without an item of the stream."""
    for row, horizon in rows:
        since = row[-1]
        assert isinstance(since, int)
        if since != BEGINNING:
            (fact,) = _facts(relation, (row[:-1],))
            yield Instance(fact, since, None if horizon == FOREVER else horizon)


_MARKS = f"{STATED}{PLAIN}^"
"""Before names of relations of one kind or another, and of the same facts."""
_HINT = "; a shorter window keeps less, and `citywise check` names rules that may compute for ever"


class WindowedEvaluation:
    """The facts that a theory entails, at one instant after the other.

    Parameters
    ----------
    theory:
        Its rules, static triples and regime; its window is not looked at: `insert` says
        how long items count.
    instances:
        Whether instances are told apart by their instants: `entailed` and `negated` need
        it, and cost more.

    Raises `RequestError` for a rule that cannot be evaluated. After a `SolvingError` it begins
    anew with what counts, and tells of changes against the last step that succeeded.
    """

    def __init__(
        self, theory: Theory, instances: bool = False, limits: Limits | None = None
    ) -> None:
        self.theory = theory
        self._limits = limits
        self._compiled = compiled(theory, instances=instances)
        self._inbox = Inbox(self._compiled)
        self._begin()
        self._now = BEGINNING
        self._before: ShownState | None = None
        """What was shown before the last step, where the engine does not tell what changed."""
        self._failed = False
        """Whether the last step was given up."""
        self._static: frozenset[Fact] | None = None if self._compiled.silent else frozenset()
        """Of a theory without rules: what follows from static triples alone."""

    def insert(self, triples: Iterable[Triple], until: int | None) -> None:
        """Triples of the stream count from the next step on, up to `until` (inclusive; None:
        for ever). Raises `ItemError` for an ill-typed literal; then none of them counts."""
        self._inbox.insert(triples, until)

    def insert_facts(self, facts: Iterable[Fact], until: int | None) -> None:
        """Facts count from the next step on, as with `insert`."""
        self._inbox.insert_facts(facts, until)

    def step(self, now: int) -> None:
        """Bring everything to an instant, not before the last. What was inserted since the
        last step has this instant. Raises `SolvingError`: `LimitError`, or what a built-in
        says of a number too long to compute with."""
        if self._failed:
            before = self._evaluation
            self._begin()
            self._take_over(before)
        else:
            self._before = self._state() if self._compiled.silent else None
        try:
            self._move(now)
        except SolvingError as error:
            if self._before is None:
                self._before = self._shown.before(now - 1)
            self._failed = True
            if isinstance(error, LimitError):
                raise self._named(error) from error
            raise
        self._failed, self._now = False, now

    # -- what is shown ------------------------------------------------------------------

    def shown(self) -> Collection[Fact]:
        """The facts that rules of the document derive now, each once."""
        return self._state().facts if self._compiled.silent else self._shown.facts()

    def came(self) -> Collection[Fact]:
        """Shown facts that were not shown before the last step."""
        if self._before is None:
            return self._shown.came()
        return frozenset(self.shown()) - self._before.facts

    def gone(self) -> Collection[Fact]:
        """Facts that were shown before the last step and are no more."""
        if self._before is None:
            return self._shown.gone()
        return self._before.facts.difference(self.shown())

    def entailed(self) -> Collection[Instance]:
        """The shown instances that begin with the last step: P. Needs `instances`."""
        if self._before is None:
            return self._shown.begun()
        return self._state().instances - self._before.instances

    def negated(self) -> Collection[Instance]:
        """The shown instances that counted up to the last step, and do no more: N. Needs
        `instances`; there is a step at each instant at which one ceases to count."""
        if self._before is None:
            return self._shown.ended(self._now - 1)
        return self._before.instances - self._state().instances

    def inconsistencies(self) -> Collection[str]:
        """What cannot be true together and is now, by the regime or by the semantics of an
        imported graph: a sentence each, sorted."""
        rows = self._evaluation.rows
        cut = -1 if self._compiled.instances else None
        found = {sentence(row[:cut]) for row in rows(INCONSISTENT)}
        for row in rows(CONTRADICTION):
            text = term(row[0])
            assert isinstance(text, Literal)
            found.add(f"an imported ontology does not allow that {text.lexical}")
        return sorted(found)

    def _state(self) -> ShownState:
        """What is shown now."""
        told = self._shown.instances() if self._compiled.instances else ()
        state = ShownState(frozenset(self._shown.facts()), frozenset(told))
        if not self._compiled.silent:
            return state
        asserted = self._shown.asserted()
        static = self._static or frozenset()
        facts = state.facts - static - asserted.facts
        instances = frozenset(each for each in state.instances if each.fact not in static)
        return ShownState(facts, instances - asserted.instances)

    def _named(self, error: LimitError) -> LimitError:
        """A limit that was reached, in the words of the document."""
        document = self.theory.document
        wording = Wording(self._compiled.properties, document.prefixes)
        grown: dict[str, int] = {}
        for relation, count in error.grown.items():
            grown.setdefault(wording.relation(relation.lstrip(_MARKS)), count)
        return exceeded(document.name, f"{error.limit}{_HINT}", "evaluation", grown)

    # -- beginning, and beginning anew --------------------------------------------------

    def _begin(self) -> None:
        """Make the relations, with what always holds."""
        self._evaluation = RuleEvaluation(self._compiled.program, self._limits)
        self._shown = ShownFacts(self._compiled, self._evaluation)
        for relation, rows in self._compiled.static.items():
            self._evaluation.insert(relation, rows)

    def _move(self, now: int) -> None:
        if self._static is None:
            self._evaluation.step(BEGINNING)
            self._static = frozenset(self._shown.facts())
        self._inbox.deliver(self._evaluation, now)
        self._evaluation.step(now)
        if self._evaluation.rows(OPENED) and not self._compiled.opened:
            self._open(now)

    def _open(self, now: int) -> None:
        """The stream says what classes and properties mean: go on with rules that see it."""
        if self._before is None:
            self._before = self._shown.before(now - 1)
        before = self._evaluation
        self._compiled = compiled(self.theory, instances=self._compiled.instances, opened=True)
        self._inbox.follow(self._compiled)
        self._begin()
        self._take_over(before)
        self._evaluation.step(now)

    def _take_over(self, before: RuleEvaluation) -> None:
        """Insert what came in before and counts."""
        for relation in before.program.inputs:
            if relation[0] not in "!#" or relation == UNSEEN:
                for horizon, rows in self._placed(relation, before.given(relation)).items():
                    for place, found in rows.items():
                        self._evaluation.insert(place, found, horizon)

    def _placed(self, relation: str, given: Mapping[Row, int]) -> dict[int, dict[str, list[Row]]]:
        """Rows of an input by their horizons and by the relations where they go in."""
        found: dict[int, dict[str, list[Row]]] = {}
        width = -1 if self._compiled.instances else None
        for row, horizon in given.items():
            name, fact = relation, row[:width]
            if relation in (TRIPLE, UNSEEN):
                name, fact = str(row[1]), (row[0], row[2])
            place = self._compiled.placed(name, fact)
            if place is not None:
                instant = row[width:] if width else ()
                rows = found.setdefault(horizon, {}).setdefault(place[0], [])
                rows.append(place[1] + instant)
        return found
