"""The reasoner of plain LARS: items in, an evaluation at every point of time out."""

from __future__ import annotations

import time as wall
from collections.abc import Collection, Iterable, Iterator, Sequence

from citywise.reasoning.errors import ItemError, SolvingError
from citywise.reasoning.languages.lars.bodies import atom_of
from citywise.reasoning.languages.lars.program import Evaluator, LarsProgram, LastTuples, Point
from citywise.reasoning.model import atoms
from citywise.reasoning.model.engine import AnswerSet
from citywise.reasoning.model.request import Signature
from citywise.reasoning.rdf.mapping import Mapper, Triple
from citywise.reasoning.run.language import PointDriver
from citywise.reasoning.streams.items import Encoder, Item, with_stream
from citywise.reasoning.streams.results import Evaluation


class Arrivals:
    """Turns items into ground atoms, those that no rule reads included where they count:
    in windows of the last tuples (docs/lars.md)."""

    def __init__(self, program: LarsProgram, encoder: Encoder) -> None:
        self.encoder = encoder
        self.readings: dict[str, str] = {}
        """Atoms of three arguments of triples that also gave one of two, and that one: the
        two are one tuple. The caller clears it."""
        formulas = [element.formula for rule in program.rules for element in rule.body]
        self._counts = any(
            atom_of(formula) and isinstance(getattr(formula, "window", None), LastTuples)
            for formula in formulas
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
        self._streams = {stream.iri for stream in program.request.streams}
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
