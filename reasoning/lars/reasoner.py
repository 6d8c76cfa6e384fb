"""The façade of plain LARS: push items, get the answer at every point of time."""

from __future__ import annotations

import time as wall
from collections.abc import Collection, Iterable, Iterator, Sequence

from reasoning import atoms
from reasoning.encoding import Encoder
from reasoning.engines.solver import AnswerSet
from reasoning.errors import ItemError, SolvingError
from reasoning.lars.arrivals import Arrivals
from reasoning.lars.evaluation import Evaluator, Point
from reasoning.lars.program import LarsProgram
from reasoning.program import Signature
from reasoning.rdf.mapping import Mapper
from reasoning.reasoner import Evaluation
from reasoning.streams import Item


class LarsReasoner:
    """Evaluates a program over its stream at every integer point of time (DESIGN A8).

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
        Predicates known to come from the stream (DESIGN A4), before their first item.
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
        self.program = program
        self.late: list[Item] = []
        """Items that came too late, in order of arrival; the caller may clear it."""
        self.refused: dict[int, tuple[Item, str]] = {}
        """Items without a value in ASP, by position, and why; the caller may clear it."""
        self.unix = True
        """Whether times are Unix times; they reach atoms as they are in both cases."""
        self.stream_time = start
        """The newest time so far, of an item or given."""
        self._evaluator = evaluator
        self._models = models
        self._start = self._next = start
        """The point of time to be evaluated next."""
        self._latest: int | None = None
        """The time of the last item."""
        self._streams = {stream.iri for stream in program.request.streams}
        self._arrived: dict[int, list[Item]] = {}
        self._lasting: list[tuple[int, Sequence[str]]] = []
        """Atoms of items with an interval, and the last point of time at which they hold."""
        self._encoder = encoder or Encoder(program.request)
        self._encoder.supplied |= frozenset(supplied)
        self._arrivals = Arrivals(program, self._encoder)
        self._filters = program.request.inputs
        asked = program.derived if program.shows is None else frozenset[Signature]()
        self._asked = {signature.name for signature in asked}
        """Names of predicates that are shown unless the stream supplies them."""

    @property
    def supplied(self) -> frozenset[Signature]:
        """Predicates that the stream has supplied so far, of those where that matters."""
        return self._encoder.supplied

    @property
    def mapper(self) -> Mapper:
        """How terms of its stream were turned into terms of ASP."""
        return self._encoder.mapper

    # -- input ----------------------------------------------------------------------

    def push(self, items: Item | Iterable[Item]) -> Iterator[Evaluation]:
        """Take an item, or several in order of arrival; iterate over the evaluations at the
        points of time before the newest.

        Items before `start` are dropped, those before the newest are late. Raises `ItemError`
        for an item of no stream of the program. What is not iterated over here comes with the
        next push.
        """
        for item in [items] if isinstance(items, Item) else items:
            self._take(item)
        return iter(()) if self.stream_time is None else self._run(self.stream_time - 1)

    def _take(self, item: Item) -> None:
        time = item.time
        if item.stream not in self._streams:
            name = self.program.request.name
            raise ItemError(f"program `{name}` reads no stream <{item.stream}>")
        if self._start is not None and time < self._start:
            return
        if self._next is None:
            self._next = time
        if self.stream_time is None or time > self.stream_time:
            self.stream_time = time
        elif time < self.stream_time or time < self._next:
            self.late.append(item)
            return
        self._latest = time
        self._arrived.setdefault(time, []).append(item)

    def advance(self, time: int) -> Iterator[Evaluation]:
        """Declare everything up to and including `time` complete; iterate over the evaluations
        up to it."""
        if self._next is None:
            return iter(())
        self.stream_time = time if self.stream_time is None else max(self.stream_time, time)
        return self._run(time)

    def finish(self, until: int | None = None) -> Iterator[Evaluation]:
        """End of the recording: evaluate up to `until` (default: the last item's time)."""
        end = self._latest if until is None else until
        return iter(()) if end is None or self._next is None else self._run(end)

    # -- answers --------------------------------------------------------------------

    def _run(self, end: int) -> Iterator[Evaluation]:
        """Evaluate the points of time up to `end`, which are complete."""
        assert self._next is not None
        while self._next <= end:
            time = self._next
            self._next += 1
            yield self._evaluate(time, self._arrived.pop(time, []))

    def _evaluate(self, time: int, items: list[Item]) -> Evaluation:
        point = self._point(time, items)
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
