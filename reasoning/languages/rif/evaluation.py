"""What a theory entails from one instant to the next, on the incremental engine."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from reasoning.engines.incremental.evaluation import RuleEvaluation
from reasoning.engines.incremental.relation import BEGINNING
from reasoning.errors import SolvingError
from reasoning.languages.rif.bodies import TRIPLE
from reasoning.languages.rif.compile import CONTRADICTION, PLAIN, STATED, UNSEEN, compiled
from reasoning.languages.rif.inference import INCONSISTENT, OPENED, sentence
from reasoning.languages.rif.showing import Inbox, Shown, State
from reasoning.languages.rif.showing import Instance as Instance
from reasoning.languages.rif.theory import Theory
from reasoning.languages.rif.unparse import Wording
from reasoning.languages.rif.values import term
from reasoning.limits import LimitError, Limits, exceeded
from reasoning.model.rules import Fact
from reasoning.model.values import Row
from reasoning.rdf.mapping import Literal, Triple

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
        self._before: State | None = None
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

    def _state(self) -> State:
        """What is shown now."""
        told = self._shown.instances() if self._compiled.instances else ()
        state = State(frozenset(self._shown.facts()), frozenset(told))
        if not self._compiled.silent:
            return state
        asserted = self._shown.asserted()
        static = self._static or frozenset()
        facts = state.facts - static - asserted.facts
        instances = frozenset(each for each in state.instances if each.fact not in static)
        return State(facts, instances - asserted.instances)

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
        self._shown = Shown(self._compiled, self._evaluation)
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
