"""A C-ASP request over windows that overlap: the incremental engine beside clingo.

Each system gets the same items, slide by slide, and is timed from there to its answer:

- `incremental`: the reasoner on the incremental engine, to what came and went as sorted text;
- `answer`: the same, to the whole answer as sorted text;
- `clingo`: the slide's items are encoded, then a fresh control takes the window's facts as
  text, grounds, solves and gives the atoms shown, as text, unsorted;
- `solver`: the reasoner on the solver engine, to the whole answer as sorted text.

Of an answer only a mark is kept, as nobody keeps them: else memory that is new each time would
be what is measured of large ones.
"""

from __future__ import annotations

import gc
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any, NamedTuple, TypeAlias

import clingo

from benchmarks.incremental.systems import seldom_collected, solved
from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.engines.programs import IncrementalEngine
from citywise.reasoning.model.engine import program
from citywise.reasoning.model.request import Request, TimeWindow
from citywise.reasoning.rdf.knowledge import Background
from citywise.reasoning.run.reasoner import Reasoner
from citywise.reasoning.streams.items import Encoder, Item
from citywise.reasoning.streams.results import Evaluation

SYSTEMS = ("incremental", "answer", "clingo", "solver")
Row: TypeAlias = dict[str, Any]


def overlapping(what: Request, width: int, slide: int) -> Request:
    """The request with time windows of one size on all its streams, in its unit."""
    window = TimeWindow(width, slide)
    return replace(what, streams=tuple(replace(s, window=window) for s in what.streams))


def slides(what: Request, items: Sequence[Item]) -> Iterator[Slide]:
    """The ticks of the request, whose windows are all the same, with what arrives for each."""
    window = what.streams[0].window
    assert isinstance(window, TimeWindow)
    tick = items[0].time // window.slide * window.slide + window.width
    fresh: list[Item] = []
    for item in items:
        while item.time > tick:
            yield Slide(tick, tuple(fresh))
            fresh, tick = [], tick + window.slide
        fresh.append(item)


@dataclass(frozen=True)
class Slide:
    """Items that arrive up to a tick, after the tick before."""

    tick: int
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Answer:
    """What a system said at a tick."""

    seconds: float
    atoms: tuple[str, ...] | None = None
    """The whole answer, sorted, if that was asked for."""
    added: Sequence[str] = ()
    removed: Sequence[str] = ()


class Said(NamedTuple):
    """What is kept of an answer."""

    seconds: float
    mark: int
    """A hash of the whole answer, sorted; -1 (no hash is) for deltas that do not fit."""
    size: int
    changed: int


class Replay:
    """Puts whole answers together from what came and went, and keeps a mark of each."""

    def __init__(self) -> None:
        self._atoms: set[str] = set()

    def of(self, answer: Answer) -> Said:
        """What is kept of the next answer."""
        added, removed, whole = answer.added, answer.removed, answer.atoms
        changed = len(added) + len(removed)
        if whole is None:
            if not (self._atoms.isdisjoint(added) and self._atoms.issuperset(removed)):
                return Said(answer.seconds, -1, 0, changed)
            self._atoms.difference_update(removed)
            self._atoms.update(added)
            whole = tuple(sorted(self._atoms))
        return Said(answer.seconds, hash(whole), len(whole), changed)


class Overlap:
    """A request over its windows, by all systems."""

    def __init__(self, what: Request, known: Background, items: Sequence[Item]) -> None:
        self._what, self._known = what, known
        self._slides = list(slides(what, items))
        self._seconds: dict[str, list[float]] = defaultdict(list)
        self._sizes: list[int] = []
        self._changes: list[int] = []

    def measure(self, rounds: int, warm: int) -> Row:
        """Medians over the windows after the first `warm` of each round, in which each
        system goes over the whole stream; raises `SystemExit` where answers differ."""
        for _ in range(rounds):
            with seldom_collected():
                found = {name: self._run(name) for name in SYSTEMS}
            for slide, *said in zip(self._slides, *found.values(), strict=True):
                self._compare(slide, *said)
            for name, answers in found.items():
                self._seconds[name] += [answer.seconds for answer in answers[warm:]]
        return self._row()

    def _run(self, name: str) -> list[Said]:
        replay, answer = Replay(), self._system(name)
        gc.collect()
        return [replay.of(answer(slide)) for slide in self._slides]

    def _system(self, name: str) -> Callable[[Slide], Answer]:
        what, known = self._what, self._known
        if name == "clingo":
            return Clingo(what, known, self._slides[0].items[0].time).answer
        engine = SolverEngine(what, known) if name == "solver" else IncrementalEngine(what, known)
        reasoner = Reasoner(what, background=known, engine=engine)
        return partial(_timed, reasoner, _delta if name == "incremental" else _whole)

    def _compare(self, slide: Slide, deltas: Said, *others: Said) -> None:
        if {other.mark for other in others} != {deltas.mark}:
            raise SystemExit(f"request `{self._what.name}`: answers differ at {slide.tick}")
        self._sizes.append(deltas.size)
        self._changes.append(deltas.changed)

    def _row(self) -> Row:
        ms = {name: median(self._seconds[name]) * 1000 for name in SYSTEMS}
        return {
            "windows": len(self._seconds["clingo"]),
            "shown": round(median(self._sizes)),
            "changed": round(median(self._changes)),
            **{f"{name} ms": taken for name, taken in ms.items()},
            "x clingo": ms["clingo"] / ms["incremental"],
            "x solver": ms["solver"] / ms["incremental"],
        }


class Clingo:
    """A fresh control for each window, whose items are encoded once."""

    def __init__(self, what: Request, known: Background, first: int) -> None:
        self._what, self._known = what, known
        self._encoder = Encoder(what)
        self._facts: deque[tuple[int, str]] = deque()
        self._window = what.streams[0].window
        self._base = Reasoner(what, start=first).base

    def answer(self, slide: Slide) -> Answer:
        """The answer at a tick; sorting it is not timed."""
        begun = time.process_time()
        self._push(slide)
        atoms = list(map(str, self._evaluate()))
        seconds = time.process_time() - begun
        return Answer(seconds, tuple(sorted(atoms)))

    def _push(self, slide: Slide) -> None:
        """Let items in, and those out that are too old."""
        for item in slide.items:
            facts = "".join(
                f"{fact}.\n" for fact in self._encoder.facts(item, self._base(slide.tick))
            )
            self._facts.append((item.time, facts))
        assert isinstance(self._window, TimeWindow)
        while self._facts and self._facts[0][0] < slide.tick - self._window.width:
            self._facts.popleft()

    def _evaluate(self) -> Sequence[clingo.Symbol]:
        """Read, ground and solve; the atoms shown."""
        supplied = self._encoder.supplied
        control = clingo.Control(["--warn=none"])
        rules = program(self._what, supplied | self._known.supplied).rules
        facts = "".join([text for _time, text in self._facts])
        control.add("base", [], rules + self._known.text + facts)
        control.ground([("base", [])])
        return solved(control)


def _timed(reasoner: Reasoner, ask: Callable[[Evaluation], Answer], slide: Slide) -> Answer:
    begun = time.process_time()
    (evaluation,) = [*reasoner.push(slide.items), *reasoner.advance(slide.tick)]
    found = ask(evaluation)
    return replace(found, seconds=time.process_time() - begun)


def _delta(evaluation: Evaluation) -> Answer:
    if evaluation.added is None or evaluation.removed is None:
        raise SystemExit(f"no deltas at {evaluation.time}: {evaluation.error}")
    return Answer(0, added=evaluation.added, removed=evaluation.removed)


def _whole(evaluation: Evaluation) -> Answer:
    if evaluation.error is not None:
        raise SystemExit(f"no answer at {evaluation.time}: {evaluation.error}")
    return Answer(0, evaluation.answer_sets[0].atoms)
