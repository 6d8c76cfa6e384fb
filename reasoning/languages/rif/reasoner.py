"""The reasoner of RIF: items in, an evaluation at every instant at which something changes out."""

from __future__ import annotations

import heapq
import time as wall
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Generic, TypeVar

from citywise.reasoning.engines.incremental.views import AnswerView, Texts
from citywise.reasoning.errors import ItemError, SolvingError
from citywise.reasoning.languages.rif.evaluation import Instance, WindowedEvaluation
from citywise.reasoning.languages.rif.names import FactNames, request
from citywise.reasoning.languages.rif.theory import Theory
from citywise.reasoning.limits import Limits
from citywise.reasoning.model.engine import AnswerSet, Version
from citywise.reasoning.model.rules import Fact
from citywise.reasoning.rdf.mapping import Triple
from citywise.reasoning.run.course import BEGINNING, END, Course, Done
from citywise.reasoning.run.language import AnswerForms, Driver, PointDriver
from citywise.reasoning.streams.items import Item, listed, tupled
from citywise.reasoning.streams.results import Evaluation, Operator
from citywise.reasoning.streams.revised import Change as Revised
from citywise.reasoning.streams.revised import Ordered

Member = TypeVar("Member", bound=Hashable)


class SetChange(Generic[Member]):
    """What came to a set and is gone from it."""

    def __init__(self, came: Collection[Member] = (), gone: Collection[Member] = ()) -> None:
        self.came, self.gone = came, gone

    def then(self, other: SetChange[Member]) -> SetChange[Member]:
        """This one and another after it, as one."""
        if not self.came and not self.gone:
            return other
        came, gone = {*self.came}, {*self.gone}
        return SetChange(
            (came - {*other.gone}) | ({*other.came} - gone),
            (gone - {*other.came}) | ({*other.gone} - came),
        )


class RifAnswers(Texts):
    """The shown facts as text, kept from step to step.

    Facts that differ in what ASP cannot tell apart (`"1.5"` and the number) are one text.
    """

    def __init__(self, names: FactNames) -> None:
        super().__init__()
        self._write = names.atom
        self._counts: dict[str, int] = {}
        """How many shown facts read so."""

    def follow(
        self, came: Iterable[Fact], gone: Iterable[Fact]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Take over what a step changed; the texts that came and
        those that are gone, sorted."""
        added = [text for text in map(self._write, came) if self._count(text, 1) == 1]
        removed = [text for text in map(self._write, gone) if self._count(text, -1) == 0]
        return self.noted(added, removed)

    def answer(self) -> AnswerSet:
        """The answer as of the last step, whatever steps follow."""
        return AnswerView(self.version)

    def _count(self, text: str, number: int) -> int:
        count = self._counts.get(text, 0) + number
        if count:
            self._counts[text] = count
        else:
            del self._counts[text]
        return count

    def _every(self) -> Iterable[str]:
        return self._counts


_FOREVER = 1 << 62
_NEVER = float("inf")
_NO_CHANGE: tuple[SetChange[str], SetChange[Fact], SetChange[Instance]] = (
    SetChange(),
    SetChange(),
    SetChange(),
)


@dataclass(frozen=True)
class RifEvaluation(Evaluation):
    """The answer at an instant, as text, as facts, and as instances of facts."""

    version: Version[Fact] | None = None
    came: Collection[Fact] = ()
    """Shown facts that were not shown at the instant evaluated before."""
    gone: Collection[Fact] = ()
    """Facts that were shown there and are no more."""
    entailed: Collection[Instance] = ()
    """What the stream P has at this instant; only where instances are asked for."""
    negated: Collection[Instance] = ()
    """What the stream N has at this instant; only where instances are asked for."""

    @property
    def facts(self) -> Collection[Fact]:
        """All that is shown, whatever has come after it."""
        return self.version.members() if self.version else ()


class FactForms(AnswerForms):
    """Tells of answers as facts: the instances of the streams P and N, and triples."""

    names: FactNames

    def instances(
        self, evaluation: Evaluation, write: Callable[[int], int | str]
    ) -> dict[str, Any]:
        """See `AnswerForms`: the instances of P and N, as `entailed` and `negated`."""
        assert isinstance(evaluation, RifEvaluation)
        streams = {"entailed": evaluation.entailed, "negated": evaluation.negated}
        return {name: described(found, self.names, write) for name, found in streams.items()}

    def emitted(
        self, evaluations: Iterable[Evaluation], operator: Operator, stream: str
    ) -> Iterator[Item]:
        """The answers as items: triples, and atoms of what is none.

        `istream` is P: every instance once, at the instant from which it is entailed and with
        the last one at which it counts as its `until`; `dstream` is N. Both need evaluations
        with instances. `rstream` has all that is shown, at each evaluation. An evaluation that
        failed gives nothing.
        """
        positions, atom = count(), self.names.atom
        for evaluation in evaluations:
            if isinstance(evaluation, RifEvaluation) and evaluation.error is None:
                said = _printed_facts(evaluation, operator)
                for fact, until in sorted(said, key=lambda s: (atom(s[0]), repr(s))):
                    triple = self.names.triple(fact)
                    content = atom(fact) if triple is None else (triple,)
                    yield Item(evaluation.time, content, next(positions), until, stream)


class RifReasoner(FactForms, PointDriver[RifEvaluation]):
    """Evaluates a theory over a stream, at every instant at which an item arrives or ceases
    to count (docs/rif-running.md).

    Parameters
    ----------
    theory:
        What to evaluate.
    start:
        The first instant (`--from`); default: the first item's. Items before it are dropped.
    instances:
        Tell of the streams P and N too, which takes more time and memory.
    limits:
        On one evaluation.
    names:
        How facts are written; default: as the theory's document has them.
    """

    def __init__(
        self,
        theory: Theory,
        *,
        start: int | None = None,
        instances: bool = False,
        limits: Limits | None = None,
        names: FactNames | None = None,
    ) -> None:
        super().__init__(request(theory.document), start)
        self.theory = theory
        self.names = names or FactNames(theory.document, theory.rules)
        window = theory.document.window
        self._range = window.range if window else None
        self._instances = instances
        self._evaluation = WindowedEvaluation(theory, instances, limits)
        self._ends: set[int] = set()
        """Instants at which items cease to count."""
        self._due: list[int] = []
        """A heap of the instants to be evaluated; one may be in it twice."""
        self._answers = RifAnswers(self.names)
        self._version: Version[Fact] = Version(self._evaluation.shown)
        self._change = _NO_CHANGE
        """Of what is shown as text and as facts, and of instances, since the last answer."""

    # -- answers --------------------------------------------------------------------

    def _begins(self, time: int) -> None:
        heapq.heappush(self._due, time)

    def _is_due(self, before: int) -> bool:
        return bool(self._due) and self._due[0] < before

    def _finish_before(self) -> int:
        return _FOREVER  # what counts for a while ceases after the last item

    def _run(self, before: int) -> Iterator[RifEvaluation]:
        """See `PointDriver`: instants at which an item arrives, or ceases to count."""
        while self._is_due(before):
            time = heapq.heappop(self._due)
            items = self._accepted(self._arrived.pop(time, []))
            if items or time in self._ends:
                self._ends.discard(time)
                yield self._evaluate(time, items)

    def _accepted(self, items: list[Item]) -> list[Item]:
        """Insert the items of an instant, together where they count equally long; those that
        could be."""
        together: dict[int, list[Item]] = {}
        for item in items:
            together.setdefault(item.end, []).append(item)
        accepted = [item for end, found in together.items() for item in self._inserted(end, found)]
        return items if len(accepted) == len(items) else accepted

    def _inserted(self, end: int, items: list[Item]) -> list[Item]:
        """Insert items whose last time is `end`; those that could be."""
        last = None if self._range is None else end + self._range - 1
        triples = [
            triple for item in items if type(item.content) is tuple for triple in item.content
        ]
        try:
            self._insert(
                triples, [item.content for item in items if type(item.content) is str], last
            )
        except ItemError as error:
            if len(items) > 1:
                return [found for item in items for found in self._inserted(end, [item])]
            self.refused[items[0].position] = (items[0], str(error))
            return []
        self._end(last)
        return items

    def _insert(self, triples: list[Triple], atoms: list[str], last: int | None) -> None:
        facts = list(map(self.names.fact, atoms))
        if triples:
            self._evaluation.insert(triples, last)
        if facts:
            self._evaluation.insert_facts(facts, last)

    def _end(self, last: int | None) -> None:
        """Something counts up to an instant."""
        if last is not None and last + 1 not in self._ends:
            self._ends.add(last + 1)
            heapq.heappush(self._due, last + 1)

    def _evaluate(self, time: int, items: list[Item]) -> RifEvaluation:
        started = wall.perf_counter()
        try:
            self._evaluation.step(time)
        except SolvingError as failure:
            error: str | None = str(failure)
        else:
            error = self._followed()
        seconds = wall.perf_counter() - started
        atoms = sum(1 if type(item.content) is str else len(item.content) for item in items)
        if error is not None:
            return RifEvaluation(time, (), items, atoms, seconds, error)
        (shown, facts, instances), self._change = self._change, _NO_CHANGE
        return RifEvaluation(
            time=time,
            answer_sets=(self._answers.answer(),),
            items=items,
            atoms=atoms,
            seconds=seconds,
            added=tuple(sorted(shown.came)),
            removed=tuple(sorted(shown.gone)),
            version=self._version,
            came=facts.came,
            gone=facts.gone,
            entailed=instances.came,
            negated=instances.gone,
        )

    def _followed(self) -> str | None:
        """Take over what a step changed; what is inconsistent there."""
        evaluation = self._evaluation
        came, gone = evaluation.came(), evaluation.gone()
        self._version = self._version.followed_by(came, gone)
        instances: SetChange[Instance] = SetChange()
        if self._instances:
            instances = SetChange(evaluation.entailed(), evaluation.negated())
        texts = SetChange(*self._answers.follow(came, gone))
        shown, facts, before = self._change
        self._change = shown.then(texts), facts.then(SetChange(came, gone)), before.then(instances)
        found = "; ".join(evaluation.inconsistencies())
        return f"what counts contradicts itself: {found}" if found else None


class RifCourse(FactForms, Course):
    """How the evaluations of a theory follow from its items.

    Parameters
    ----------
    reasoner:
        Makes a reasoner, from its start on.
    until:
        Instants after it are not evaluated; None: items count as long as they do.
    instances:
        Whether the streams P and N are told.
    """

    def __init__(
        self,
        theory: Theory,
        names: FactNames,
        reasoner: Callable[[], RifReasoner],
        start: int,
        until: int | None = None,
        *,
        instances: bool = False,
    ) -> None:
        self.request = request(theory.document)
        self.names = names
        self.start = start
        window = theory.document.window
        self._range = window.range if window else None
        self._until = END if until is None else until
        self._make = reasoner
        self._instances = instances

    def end(self, last: int | None) -> int:
        """See `Course`."""
        del last
        return self._until

    def driver(self, time: int, items: Ordered, before: Sequence[Done]) -> Driver:
        """See `Course`."""
        reasoner = self._make()
        reasoner.unix = self.unix
        # What changes is told against the last answer, which must be there again.
        since = self._answered(before)
        earlier = [item for item in items.between(None, time) if self._counts(item, since)]
        for _known in (*reasoner.push(earlier), *reasoner.advance(time - 1)):
            pass
        return reasoner

    def carried(self, driver: Driver, evaluation: Evaluation) -> object:
        """See `Course`: the next one tells of changes against the last answer."""
        del driver
        return None if evaluation.error is None else object()

    def alone(self, evaluation: Evaluation) -> Evaluation:
        """See `Course`."""
        assert isinstance(evaluation, RifEvaluation)
        facts = tuple(evaluation.facts)
        return replace(
            evaluation, items=(), added=None, removed=None, version=Version(lambda: facts)
        )

    def evaluation_to_json(self, evaluation: Evaluation) -> dict[str, Any]:
        """See `Course`."""
        assert isinstance(evaluation, RifEvaluation)
        told = {"facts": evaluation.facts, "entailed": evaluation.entailed,
                "negated": evaluation.negated}  # fmt: skip
        written = {name: listed(tuple(found)) for name, found in told.items()}
        return super().evaluation_to_json(evaluation) | written

    def evaluation_from_json(
        self, values: Mapping[str, Any], answers: Iterator[AnswerSet]
    ) -> RifEvaluation:
        """See `Course`."""
        facts = tupled(values["facts"])
        entailed, negated = (
            tuple(Instance(*tupled(each)) for each in values[name])
            for name in ("entailed", "negated")
        )
        found = vars(super().evaluation_from_json(values, answers))
        return RifEvaluation(
            **found, version=Version(lambda: facts), entailed=entailed, negated=negated
        )

    def carried_to_json(self, carried: object) -> Any:
        """See `Course`."""
        return carried is not None

    def carried_from_json(self, values: Any) -> object:
        """See `Course`."""
        return object() if values else None

    def affects_until(self, change: Revised, items: Ordered) -> int:
        """See `Course`."""
        del items
        last = max(item.end for item in change.items)
        return END if self._range is None else last + self._range

    def forget(self, items: Ordered, before: int, done: Sequence[Done]) -> None:
        """See `Course`."""
        if self._range is not None:
            items.forget(before, min(before, self._answered(done)) - self._range + 1)

    def same(self, one: Evaluation, other: Evaluation) -> bool:
        """See `Course`."""
        if not super().same(one, other):
            return False
        if not self._instances:
            return True
        assert isinstance(one, RifEvaluation)
        assert isinstance(other, RifEvaluation)
        return set(one.entailed) == set(other.entailed) and set(one.negated) == set(other.negated)

    def _answered(self, done: Sequence[Done]) -> int:
        """The time of the last evaluation that had no error."""
        times = (each.time for each in reversed(done) if each.evaluation.error is None)
        return next(times, BEGINNING)

    def _counts(self, item: Item, since: int) -> bool:
        """Whether an item counts at a time, or later."""
        return self._range is None or item.end + self._range > since


def _printed_facts(
    evaluation: RifEvaluation, operator: Operator
) -> Iterator[tuple[Fact, int | None]]:
    if operator == "rstream":
        yield from ((fact, None) for fact in evaluation.facts)
    elif operator == "istream":
        yield from ((instance.fact, instance.last) for instance in evaluation.entailed)
    else:
        yield from ((instance.fact, None) for instance in evaluation.negated)


def described(
    instances: Collection[Instance], names: FactNames, write: Callable[[int], int | str]
) -> list[dict[str, Any]]:
    """Instances as values JSON can hold, by atom and time; `write` gives the form of times."""
    found = [(names.atom(fact), since, last) for fact, since, last in instances]
    found.sort(key=lambda each: (*each[:2], _NEVER if each[2] is None else each[2]))
    return [
        {"atom": atom, "from": write(since), "until": None if last is None else write(last)}
        for atom, since, last in found
    ]
