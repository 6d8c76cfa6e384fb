"""Continuous evaluation of a request (Definitions 4.1, 4.5-4.7; docs/casp.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Generic, Protocol, TypeVar

from citywise.reasoning.model.request import CountWindow, StreamSource, TimeWindow
from citywise.reasoning.rdf.mapping import XSD, Iri, Literal, Triple
from citywise.reasoning.streams.items import Item
from tests.reasoning.reference.answers import solutions
from tests.reasoning.reference.grounding import Interpretation
from tests.reasoning.reference.programs import Atom, Program
from tests.reasoning.reference.windows import Timed, in_order, last, ticks, within

NAMESPACE = "http://travel.org/"
PREFIX = "tl"
FOREIGN = "http://elsewhere.org/"


@dataclass(frozen=True, slots=True)
class Fact:
    """A triple whose names lie in one namespace; its object is a name or a number."""

    subject: str
    predicate: str
    object: str | int
    foreign: bool = False
    """Whether its predicate is of a namespace that has no prefix."""

    def atoms(self, time: int) -> tuple[Atom, ...]:
        """`tl_p(S,O)` and `tl_p(S,O,T)`; none where no rule can see it."""
        if self.foreign:
            return ()
        value = self.object if isinstance(self.object, int) else f'"{PREFIX}_{self.object}"'
        arguments = (f'"{PREFIX}_{self.subject}"', value)
        name = f"{PREFIX}_{self.predicate}"
        return Atom(name, arguments), Atom(name, (*arguments, time))

    def triple(self) -> Triple:
        """The triple itself."""
        if isinstance(self.object, int):
            value: Iri | Literal = Literal(str(self.object), XSD + "integer")
        else:
            value = Iri(NAMESPACE + self.object)
        namespace = FOREIGN if self.foreign else NAMESPACE
        return Triple(Iri(NAMESPACE + self.subject), Iri(namespace + self.predicate), value)


@dataclass(frozen=True, slots=True)
class Element:
    """A pair (d, t) of a stream (Definition 4.1): an atom or a graph, perhaps with an end."""

    stream: str
    time: int
    data: Atom | tuple[Fact, ...]
    until: int | None = None

    @property
    def end(self) -> int:
        """The last time at which it holds."""
        return self.time if self.until is None else self.until

    def atoms(self) -> tuple[Atom, ...]:
        """What it says."""
        if isinstance(self.data, Atom):
            return (self.data,)
        return tuple(atom for fact in self.data for atom in fact.atoms(self.time))

    def item(self, position: int) -> Item:
        """The same for the engines."""
        content = (
            str(self.data)
            if isinstance(self.data, Atom)
            else tuple(fact.triple() for fact in self.data)
        )
        return Item(self.time, content, position, self.until, self.stream)


@dataclass(frozen=True)
class Request:
    """RR = (Pre, I, P, O) (Definition 4.5); O is the program's `shows`."""

    program: Program
    streams: tuple[StreamSource, ...]
    knowledge: tuple[Atom, ...] = ()
    lateness: int = 0
    feedback: frozenset[tuple[str, int]] = field(default_factory=frozenset)
    inputs: frozenset[tuple[str, int]] = field(default_factory=frozenset)
    """What is listed as `#input`; a triple's predicate is, if it is with any arity."""

    def of_input(self, element: Element) -> list[Atom]:
        """The atoms of an element that are no irrelevant ones (docs/casp.md)."""
        if not self.inputs:
            return list(element.atoms())
        if isinstance(element.data, Atom):
            return [a for a in element.atoms() if a.signature in self.inputs]
        names = {name for name, _arity in self.inputs}
        return [a for a in element.atoms() if a.predicate in names]

    def __str__(self) -> str:
        lines = [f"#prefix {PREFIX} : <{NAMESPACE}>."]
        lines += [f"#from stream <{source.iri}> {_window(source)}." for source in self.streams]
        lines += [f"#lateness {self.lateness}s."]
        lines += [f"#input {name}/{arity}." for name, arity in sorted(self.inputs)]
        lines += [f"#feedback {name}/{arity}." for name, arity in sorted(self.feedback)]
        return "\n".join([*lines, str(self.program), ""])


def _window(source: StreamSource) -> str:
    width, slide = source.window.width, source.window.slide
    if isinstance(source.window, CountWindow):
        return f"[count {width} step {slide}]"
    return f"[time {width}s step {slide}s]"


Answer = tuple[tuple[str, ...], tuple[int, ...]]
"""The shown atoms as sorted text, and the cost, highest priority first."""


@dataclass(frozen=True)
class Evaluation:
    """Ans(RR, t), sorted; or that feedback leaves none, because it would be ambiguous."""

    time: int
    answers: tuple[Answer, ...]
    ambiguous: bool = False


class Arriving(Timed, Protocol):
    """An element of one of several streams."""

    @property
    def stream(self) -> str: ...


E = TypeVar("E", bound=Arriving)


class Windows(Protocol):
    """What a request says of when it is evaluated, and over what."""

    @property
    def streams(self) -> tuple[StreamSource, ...]: ...

    @property
    def lateness(self) -> int: ...


@dataclass(frozen=True)
class Tick(Generic[E]):
    """A window is evaluated: when, at which arrival (time windows: none), and what it holds."""

    time: int
    arrival: int | None
    stream: str
    content: list[E]

    @property
    def instant(self) -> tuple[int, bool, int]:
        """At equal times count ticks come first, one after the other; then time ticks."""
        return self.time, self.arrival is None, self.arrival or 0


def evaluations(
    request: Request,
    elements: Sequence[Element],
    start: int | None = None,
    until: int | None = None,
) -> Iterator[Evaluation]:
    """Ans(RR, t) at every tick, over a recording of elements in order of arrival."""
    previous: tuple[Atom, ...] = ()
    for time, content in contents(request, elements, start, until, request.of_input):
        held = tuple(a for e in content for a in _visible(request, e))
        found = solutions(request.program.with_facts((*held, *previous), request.knowledge))
        if request.feedback and len(found) > 1:
            yield Evaluation(time, (), ambiguous=True)
            continue
        yield Evaluation(time, tuple(sorted((texts(shown), cost) for shown, cost in found)))
        for shown, _ in found:
            previous = tuple(_previous(a) for a in shown if a.signature in request.feedback)


def _visible(request: Request, element: Element) -> list[Atom]:
    """What the program can see of an element; a contradiction that it cannot see is none."""
    mentioned = request.program.mentioned
    return [a for a in request.of_input(element) if a.predicate.removeprefix("-") in mentioned]


def texts(atoms: Interpretation) -> tuple[str, ...]:
    """Atoms as sorted text (docs/reason.md)."""
    return tuple(sorted(map(str, atoms)))


def _previous(atom: Atom) -> Atom:
    sign, name = ("-", atom.predicate[1:]) if atom.predicate[0] == "-" else ("", atom.predicate)
    return Atom(f"{sign}prev_{name}", atom.arguments)


def contents(
    request: Windows,
    elements: Sequence[E],
    start: int | None = None,
    until: int | None = None,
    relevant: Callable[[E], object] = bool,
) -> Iterator[tuple[int, list[E]]]:
    """What all windows hold at each evaluation: each contributes its content as of its own
    last tick. Irrelevant elements come into none, but time goes on with them."""
    held: dict[str, list[E]] = {}
    ticked = groupby(
        _ticks(request, elements, start, until, relevant), key=lambda tick: tick.instant
    )
    for (time, *_), at_once in ticked:
        held |= {tick.stream: tick.content for tick in at_once}
        yield time, [e for content in held.values() for e in content]


def _ticks(
    request: Windows,
    elements: Sequence[E],
    start: int | None,
    until: int | None,
    relevant: Callable[[E], object],
) -> list[Tick[E]]:
    """All ticks of all windows from `start` (the first element) to `until` (the last)."""
    recorded = [e for e in elements if start is None or e.time >= start]
    counted = sorted(in_order(recorded, request.lateness), key=lambda e: e.time)
    first = start if start is not None else min((e.time for e in counted), default=None)
    end = until if until is not None else max((e.time for e in counted), default=None)
    if first is None or end is None:
        return []
    seen = [element for element in counted if relevant(element)]
    found = [tick for source in request.streams for tick in _window_ticks(source, seen, first, end)]
    return sorted(found, key=lambda tick: tick.instant)


def _window_ticks(
    source: StreamSource, counted: Sequence[E], first: int, end: int
) -> Iterator[Tick[E]]:
    iri, window = source.iri, source.window
    own = [e for e in counted if e.stream == iri]
    if isinstance(window, TimeWindow):
        for t in ticks(window, first, end):
            yield Tick(t, None, iri, within(own, window, t))
        return
    arrivals = [index for index, e in enumerate(counted) if e.stream == iri]
    for arrived, held in last(own, window):
        if held[-1].time <= end:
            yield Tick(held[-1].time, arrivals[arrived - 1], iri, held)


def rstream(evaluation: Evaluation) -> list[list[tuple[str, int]]]:
    """RStream(Ans(RR, t)): each shown atom with the time of its evaluation (Definition 4.7)."""
    return [[(atom, evaluation.time) for atom in atoms] for atoms, _ in evaluation.answers]
