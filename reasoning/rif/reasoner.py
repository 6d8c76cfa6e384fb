"""The façade of RIF-Core: push items, get the answer wherever it may have changed."""

from __future__ import annotations

import heapq
import time as wall
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from reasoning.engines.limits import Limits
from reasoning.errors import ItemError, SolvingError
from reasoning.rdf.mapping import Triple
from reasoning.reasoner import Evaluation
from reasoning.rif.answers import Answers, Change
from reasoning.rif.evaluation import Fact, Instance, WindowedEvaluation
from reasoning.rif.names import Names
from reasoning.rif.theory import Theory
from reasoning.streams import Item
from reasoning.versions import Version

_FOREVER = 1 << 62
_NO_CHANGE: tuple[Change[str], Change[Fact], Change[Instance]] = (Change(), Change(), Change())


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


class RifReasoner:
    """Evaluates a theory over a stream, at every instant at which an item arrives or ceases
    to count (DESIGN A9).

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
        names: Names | None = None,
    ) -> None:
        self.theory = theory
        self.names = names or Names(theory.document, theory.rules)
        self.late: list[Item] = []
        """Items that came too late, in order of arrival; the caller may clear it."""
        self.refused: dict[int, tuple[Item, str]] = {}
        """Items that are nothing in RIF, by position, and why; the caller may clear it."""
        self.unix = True
        """Whether times are Unix times; they are instants as they are in both cases."""
        self.stream_time = start
        """The newest time so far, of an item or given."""
        window = theory.document.window
        self._range = window.range if window else None
        self._start = start
        self._closed: int | None = None
        """Up to here all has been evaluated."""
        self._instances = instances
        self._evaluation = WindowedEvaluation(theory, instances, limits)
        self._arrived: dict[int, list[Item]] = {}
        self._ends: set[int] = set()
        """Instants at which items cease to count."""
        self._due: list[int] = []
        """A heap of the instants to be evaluated; one may be in it twice."""
        self._answers = Answers(self.names)
        self._version: Version[Fact] = Version(self._evaluation.shown)
        self._change = _NO_CHANGE
        """Of what is shown as text and as facts, and of instances, since the last answer."""

    # -- input ----------------------------------------------------------------------

    def push(self, items: Item | Iterable[Item]) -> Iterator[RifEvaluation]:
        """Take an item, or several in order of arrival; iterate over the evaluations at the
        instants before the newest.

        Items before `start` are dropped, those before the newest are late. What is not
        iterated over here comes with the next push.
        """
        for item in [items] if isinstance(items, Item) else items:
            self._take(item)
        newest = self.stream_time
        return self._run(newest) if newest is not None and self._is_due(newest) else iter(())

    def advance(self, time: int) -> Iterator[RifEvaluation]:
        """Declare everything up to and including `time` complete; iterate over the evaluations
        up to it."""
        self.stream_time = time if self.stream_time is None else max(self.stream_time, time)
        self._closed = time if self._closed is None else max(self._closed, time)
        return self._run(time + 1)

    def finish(self, until: int | None = None) -> Iterator[RifEvaluation]:
        """End of the recording: evaluate up to `until` (default: until the last item has
        ceased to count)."""
        return self._run(_FOREVER if until is None else until + 1)

    def once(self) -> RifEvaluation:
        """What holds without any stream."""
        return self._evaluate(0, [])

    def _take(self, item: Item) -> None:
        time = item.time
        if self._start is not None and time < self._start:
            return
        newest = self.stream_time
        if newest is None or time > newest:
            self.stream_time = time
        elif time < newest or (self._closed is not None and time <= self._closed):
            self.late.append(item)
            return
        arrived = self._arrived.get(time)
        if arrived is not None:
            arrived.append(item)
            return
        self._arrived[time] = [item]
        heapq.heappush(self._due, time)

    # -- answers --------------------------------------------------------------------

    def _is_due(self, before: int) -> bool:
        return bool(self._due) and self._due[0] < before

    def _run(self, before: int) -> Iterator[RifEvaluation]:
        """Evaluate the instants before one; all that arrives at them has arrived."""
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
        instances: Change[Instance] = Change()
        if self._instances:
            instances = Change(evaluation.entailed(), evaluation.negated())
        texts = Change(*self._answers.follow(came, gone))
        shown, facts, before = self._change
        self._change = shown.then(texts), facts.then(Change(came, gone)), before.then(instances)
        found = "; ".join(evaluation.inconsistencies())
        return f"what counts contradicts itself: {found}" if found else None
