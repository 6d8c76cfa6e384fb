"""The reasoner of plain LARS: items in, an evaluation at every point of time out."""

from __future__ import annotations

import time as wall
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, cast

from citywise.reasoning.engines.incremental.past import BeyondPastError
from citywise.reasoning.errors import ItemError, SolvingError
from citywise.reasoning.languages.lars.feeds import Batch
from citywise.reasoning.languages.lars.incremental import (
    Arrived,
    IncrementalEvaluator,
    LarsPast,
)
from citywise.reasoning.languages.lars.program import (
    Evaluator,
    LarsProgram,
    LastTuples,
    Point,
    reach,
)
from citywise.reasoning.languages.lars.solver import GroundAtom
from citywise.reasoning.model import atoms
from citywise.reasoning.model.engine import AnswerSet
from citywise.reasoning.model.request import Signature
from citywise.reasoning.model.values import parsed_many
from citywise.reasoning.rdf.mapping import Mapper, Triple
from citywise.reasoning.run.course import END, Amendments, Done, EncodedCourse
from citywise.reasoning.run.language import Driver, PointDriver
from citywise.reasoning.streams.items import Encoder, Item, tupled, with_stream
from citywise.reasoning.streams.results import Evaluation
from citywise.reasoning.streams.revised import Change, Ordered


class ItemAtoms:
    """Turns items into ground atoms, those that no rule reads included where they count:
    in windows of the last tuples (docs/lars.md)."""

    def __init__(self, program: LarsProgram, encoder: Encoder) -> None:
        self.encoder = encoder
        self.readings: dict[str, str] = {}
        """Atoms of three arguments of triples that also gave one of two, and that one: the
        two are one tuple. The caller clears it."""
        formulas = [element.formula for rule in program.rules for element in rule.body]
        self._counts = any(
            isinstance(getattr(formula, "window", None), LastTuples) for formula in formulas
        )
        self._filters = program.request.inputs
        self._listed = {signature.name for signature in self._filters}

    def of(self, item: Item) -> Sequence[str]:
        """The atoms of an item; raises `ItemError` when a literal has no value in ASP."""
        if isinstance(item.content, str):
            seen = not self._filters or atoms.signature(item.content) in self._filters
            return (item.content,) if seen else ()
        if not self._counts:
            return self.encoder.facts(item)
        self.encoder.supply(item.content)
        return [atom for triple in item.content for atom in self._tuple(triple, item.time)]

    def _tuple(self, triple: Triple, time: int) -> Iterator[str]:
        """The atoms of a triple, which are one tuple."""
        mapper = self.encoder.mapper
        found = mapper.facts(triple, time)
        if len(found) == 2:
            self.readings[found[1]] = found[0]
        yield from found
        name = None if found else mapper.predicate(triple.predicate.value)
        if name is not None and (not self._listed or name in self._listed):
            yield f"{name}({mapper.term(triple.subject, name)},{mapper.term(triple.object, name)})"


class LarsReasoner(PointDriver[Evaluation]):
    """Evaluates a program over its stream at every integer point of time (docs/lars.md).

    Parameters
    ----------
    program:
        What to evaluate.
    evaluator:
        How; the caller closes it.
    start:
        The first point of time (`--from`); default: the first item's. Items before it are
        dropped.
    models:
        Give so many answer streams at most; 0 gives all.
    supplied:
        Predicates known to come from the stream (docs/reason.md), before their first item.
    encoder:
        Turn items into facts with this one, which is not shared with another reasoner.
    """

    def __init__(
        self,
        program: LarsProgram,
        evaluator: Evaluator,
        *,
        start: int | None = None,
        models: int = 0,
        supplied: Collection[Signature] = (),
        encoder: Encoder | None = None,
    ) -> None:
        super().__init__(program.request, start)
        self.program = program
        self._evaluator = evaluator
        self._models = models
        self._next = start
        """The point of time to be evaluated next."""
        self._latest: int | None = None
        """The time of the last item."""
        self.point = Point(0)
        """The point of time that was evaluated last, and what arrived there."""
        self._streams = {stream.iri for stream in program.request.streams}
        self._lasting: list[tuple[int, Sequence[str]]] = []
        """Atoms of items with an interval, and the last point of time at which they hold."""
        self._encoder = encoder or Encoder(program.request)
        self._encoder.supplied |= frozenset(supplied)
        self._arrivals = ItemAtoms(program, self._encoder)
        self._filters = program.request.inputs
        asked = program.derived if program.shows is None else frozenset[Signature]()
        self._asked = {signature.name for signature in asked}
        """Names of predicates that are shown unless the stream supplies them."""

    def resume_at(
        self,
        time: int,
        since: int,
        items: Iterable[Item],
        backs: Mapping[int, tuple[object, ...]],
    ) -> None:
        """Continue as if every point before `time` had been evaluated, of a program that looks
        back to `since` at most and has a given start.

        Parameters
        ----------
        items:
            The items before `time` that windows can still see, in order.
        backs:
            What the answers of points from `since` on added to the data stream.
        """
        assert self._start is not None
        here: dict[int, list[Item]] = {}
        for item in items:
            if item.time >= since:
                here.setdefault(item.time, []).append(item)
            elif item.end >= since:
                self._lasting.append((item.end, self._facts(item)))
        if since > self._start:
            self._evaluator.remember(Point(self._start, (), self._encoder.supplied), ())
        for point in range(max(since, self._start), time):
            known = self._point(point, here.get(point, []))
            self._evaluator.remember(known, backs.get(point, ()))
        self._next = self.stream_time = max(time, self._start)
        self._closed = time - 1

    @property
    def supplied(self) -> frozenset[Signature]:
        """Predicates that the stream has supplied so far, of those where that matters."""
        return self._encoder.supplied

    def past(self, time: int) -> LarsPast | None:
        """What can tell how earlier points change; None where nothing can."""
        evaluator = self._evaluator
        return evaluator.past(time) if isinstance(evaluator, IncrementalEvaluator) else None

    def arrived(self, item: Item) -> Batch | None:
        """The rows of an item; None where they say of a predicate that it is supplied."""
        before = self._encoder.supplied
        rows = parsed_many(self._facts(item))
        return rows if self._encoder.supplied == before else None

    @property
    def back(self) -> tuple[object, ...]:
        """What the last answer added to the data stream."""
        return self._evaluator.back

    @property
    def mapper(self) -> Mapper:
        """How terms of its stream were turned into terms of ASP."""
        return self._encoder.mapper

    # -- input ----------------------------------------------------------------------

    def push(self, items: Item | Iterable[Item]) -> Iterator[Evaluation]:
        """See `PointDriver`; items without a stream are of the only one. Raises `ItemError` for
        an item of no stream of the program."""
        return super().push(
            with_stream([items] if isinstance(items, Item) else items, self._streams)
        )

    def _take(self, item: Item) -> None:
        if item.stream not in self._streams:
            name = self.program.request.name
            raise ItemError(f"program `{name}` reads no stream <{item.stream}>")
        super()._take(item)

    def _is_over(self, time: int) -> bool:
        return self._next is not None and time < self._next

    def _begins(self, time: int) -> None:
        self._latest = time
        if self._next is None:
            self._next = time

    def _is_due(self, before: int) -> bool:
        return self._next is not None and self._next < before

    def _finish_before(self) -> int:
        return (self._next or 0) if self._latest is None else self._latest + 1

    # -- answers --------------------------------------------------------------------

    def _run(self, before: int) -> Iterator[Evaluation]:
        """See `PointDriver`: every integer is a point of time."""
        while self._next is not None and self._next < before:
            time = self._next
            self._next += 1
            yield self._evaluate(time, self._arrived.pop(time, []))

    def _evaluate(self, time: int, items: list[Item]) -> Evaluation:
        point = self.point = self._point(time, items)
        started = wall.perf_counter()
        answers: tuple[AnswerSet, ...] = ()
        error: str | None = None
        added: tuple[str, ...] | None = None
        removed: tuple[str, ...] | None = None
        try:
            answers = self._evaluator.step(point, self._models)
            added, removed = self._evaluator.changes() or (added, removed)
        except SolvingError as failure:
            error = str(failure)
        seconds = wall.perf_counter() - started
        count = len(point.arrivals)
        return Evaluation(time, answers, items, count, seconds, error, (), added, removed)

    def _point(self, time: int, items: list[Item]) -> Point:
        """The point of time with what arrives there, first what lasts."""
        lasting = [found for found in self._lasting if found[0] >= time]
        arrivals = [atom for _until, found in lasting for atom in found]
        for item in items:
            if item.until is None and type(item.content) is str and not self._filters:
                arrivals.append(item.content)
                continue
            found = self._facts(item)
            arrivals += found
            if item.until is not None and item.until > time:
                lasting.append((item.until, found))
        self._lasting = lasting
        self._note(arrivals)
        readings, self._arrivals.readings = self._arrivals.readings, {}
        return Point(time, arrivals, self._encoder.supplied, readings)

    def _facts(self, item: Item) -> Sequence[str]:
        """The atoms of an item; none where it is refused."""
        try:
            return self._arrivals.of(item)
        except ItemError as error:
            self.refused[item.position] = (item, str(error))
            return ()

    def _note(self, arrivals: Iterable[str]) -> None:
        """Note which of the derived predicates the stream supplies too."""
        if self._asked.isdisjoint(atom.partition("(")[0] for atom in arrivals):
            return
        named = {atom for atom in arrivals if atom.partition("(")[0] in self._asked}
        self._encoder.supplied |= set(map(atoms.signature, named)) & self.program.derived


class LarsCourse(EncodedCourse[LarsPast]):
    """How the evaluations of a program follow from its items.

    Parameters
    ----------
    reasoner:
        Makes a reasoner, from its start on.
    until:
        The last point of time; None: that of the last item.
    """

    def __init__(
        self,
        program: LarsProgram,
        reasoner: Callable[[Encoder], LarsReasoner],
        start: int,
        until: int | None = None,
    ) -> None:
        super().__init__(program.request, start, until)
        self._make = reasoner
        self._reach = reach(program)
        self._streams = bool(program.streamed)

    @property
    def remembers(self) -> int:
        """See `Course`."""
        if not self._streams:
            return 0
        return END if self._reach is None else self._reach + 1

    def end(self, last: int | None) -> int:
        """See `Course`."""
        if self._until is not None:
            return self._until
        return self.start - 1 if last is None else last

    def driver(self, time: int, items: Ordered, before: Sequence[Done]) -> Driver:
        """See `Course`."""
        reasoner = self._make(self._encoder)
        reasoner.unix = self.unix
        self._past = None
        if time > self.start:
            since = self._since(time)
            backs = {done.time: done.carried for done in before if done.time >= since}
            found = cast("Mapping[int, tuple[object, ...]]", backs if self._streams else {})
            reasoner.resume_at(time, since, items.between(None, time), found)
        return reasoner

    def carried(self, driver: Driver, evaluation: Evaluation) -> object:
        """See `Course`."""
        assert isinstance(driver, LarsReasoner)
        self._note(evaluation, evaluation.time, driver.past)
        return driver.back if self._streams else ()

    def carried_from_json(self, values: Any) -> object:
        """See `Course`: rows of the incremental engine, atoms as text of the solver."""
        return tuple(
            GroundAtom(Signature(*first), rest)
            if isinstance(first, list)
            else (first, tupled(rest))
            for first, rest in values
        )

    def _amended(
        self,
        driver: Driver,
        past: LarsPast,
        came: Sequence[Item],
        gone: Sequence[Item],
        alike: Sequence[Sequence[Item]],
    ) -> Amendments | None:
        """See `EncodedCourse`."""
        assert isinstance(driver, LarsReasoner)
        new = [self._arrived(driver, past, item, ()) for item in came]
        old = [
            self._arrived(driver, past, item, [other.time for other in others])
            for item, others in zip(gone, alike, strict=True)
        ]
        return past.amend_atoms(chain(*new), chain(*old))

    def _near(self, item: Item, items: Ordered, before: int) -> Sequence[Item]:
        """See `EncodedCourse`."""
        if self._reach is None:
            raise BeyondPastError
        return items.between(item.time - self._reach, min(before, item.time + self._reach + 1))

    @staticmethod
    def _arrived(
        driver: LarsReasoner, past: LarsPast, item: Item, others: Sequence[int]
    ) -> list[Arrived]:
        """What an item brought, at its time; what is not simple enough is not amended."""
        if item.until is not None or item.time < past.start:
            raise BeyondPastError
        found = driver.arrived(item)
        if found is None or not all(map(past.knows, found)):
            raise BeyondPastError
        return [
            (predicate, row, item.time, others) for predicate, rows in found.items() for row in rows
        ]

    def affects_until(self, change: Change, items: Ordered) -> int:
        """See `Course`."""
        del items
        if self._reach is None or self._streams:
            return END
        return max(item.end for item in change.items) + self._reach

    def forget(self, items: Ordered, before: int, done: Sequence[Done]) -> None:
        """See `Course`."""
        del done
        if self._reach is not None:
            items.forget(before, self._since(before))
        if self._past is not None:
            self._past.forget(before)

    def _since(self, time: int) -> int:
        """The first point of time that must be known at another."""
        return self.start if self._reach is None else max(self.start, time - self._reach - 1)
