"""The façade: push items, advance time, get answers (thesis, Definitions 4.3-4.7).

Time is the stream's. A tick is evaluated as soon as no item that counts for it can still
arrive; results therefore depend on the items and their order of arrival only, never on
how they were batched.
"""

from __future__ import annotations

import heapq
import time as wall
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from reasoning.atoms import signature
from reasoning.encoding import Encoder
from reasoning.engines.guard import GuardedEngine, is_large
from reasoning.engines.limits import UNLIMITED, Limits
from reasoning.engines.program import Knowledge, WindowFacts
from reasoning.engines.solver import AnswerSet, Engine, SolverEngine
from reasoning.errors import ItemError, SolvingError
from reasoning.program import Request, Signature, TimeWindow, previous
from reasoning.rdf.mapping import Mapper
from reasoning.streams import Item
from reasoning.windows import Held, WindowBuffer

_DAY_MS = 86_400_000
_REBASE_MS = 24 * _DAY_MS


@dataclass(frozen=True)
class Evaluation:
    """The answer at one tick."""

    time: int
    """Tick, in the request's unit."""
    answer_sets: tuple[AnswerSet, ...]
    items: tuple[Item, ...]
    """The content of the windows."""
    atoms: int
    """Facts given to the engine."""
    seconds: float
    """Wall time of the engine, 0 when an equal window was answered before."""
    error: str | None = None
    """Why there is no answer; the evaluations after it go on from the answer before."""
    fed_back: tuple[str, ...] = ()
    """Atoms of the evaluation before that this one saw, as `prev_…`."""


@dataclass
class State:
    """What a reasoner knows besides the content of its windows; goes through JSON.

    With it and the items from `Reasoner.resume_from` on, a reasoner continues as if it
    had never stopped.
    """

    first: int | None = None
    given: bool = False
    """Whether `first` was given as the start, and is not just the first item's time."""
    stream_time: int | None = None
    closed: int | None = None
    """Items up to this time have been declared complete: later ones are late."""
    last_ticks: list[int | None] = field(default_factory=list)
    arrived: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    feedback: list[str] = field(default_factory=list)
    supplied: list[tuple[str, int]] = field(default_factory=list)
    """Predicates that the streams have supplied, with their arities."""
    resting: bool = False
    """Whether empty windows are known to leave the feedback as it is."""
    late: list[int] = field(default_factory=list)
    """Positions of late items at or after the position to resume from."""

    def to_json(self) -> dict[str, Any]:
        """A copy as values JSON can hold."""
        return {k: list(v) if isinstance(v, list) else v for k, v in vars(self).items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> State:
        """The state that `to_json` described."""
        return cls(**values)


class Reasoner:
    """Evaluates one request over its streams.

    Parameters
    ----------
    request:
        What to evaluate.
    background:
        Facts of the knowledge bases.
    start:
        The time from which windows are counted (`--from`); default: the first item's.
    clocked:
        Time moves by `advance` only, not by the items: for live streams, where one sensor
        with a wrong clock must not make all others late.
    skip_unchanged:
        Leave out evaluations over empty windows whose answer is known to be the one
        before; for consumers that look at changes only.
    models:
        Give so many answer sets at most; 0 gives all.
    limits:
        Evaluate in a process of its own that is ended when an evaluation goes beyond a
        limit. Without limits clingo runs in this process, where nothing interrupts it,
        unless the knowledge is large: it is then grounded once, in a process of its own.
    engine:
        Evaluate with this engine instead; the caller closes it.
    supplied:
        Predicates known to come from the streams (DESIGN A4), before their first item.
    encoder:
        Turn items into facts with this one, which is not shared with another reasoner.

    Close it, or use it in a `with` statement, to end its processes at once.
    """

    def __init__(
        self,
        request: Request,
        *,
        background: Knowledge | None = None,
        start: int | None = None,
        clocked: bool = False,
        skip_unchanged: bool = False,
        models: int = 0,
        limits: Limits | None = None,
        engine: Engine | None = None,
        supplied: Collection[Signature] = (),
        encoder: Encoder | None = None,
    ) -> None:
        self.request = request
        self.late: list[Item] = []
        """Items that came too late, in order of arrival; the caller may clear it."""
        self.unix = True
        """Whether times are Unix times, of which atoms get what fits 32 bits (`base`), or
        integers of their own, which they get as they are."""
        self.refused: dict[int, tuple[Item, str]] = {}
        """Items without a value in ASP, by position, and why; the caller may clear it."""
        self._encoder = encoder or Encoder(request)
        self._encoder.supplied = frozenset(supplied)
        self._engine = engine or _engine(request, background, limits)
        self._owns_engine = engine is None
        self._state = State(first=start, given=start is not None, stream_time=start)
        self._buffers = {s.iri: WindowBuffer(s.window) for s in request.streams}
        self._pending: list[tuple[int, int, Item]] = []
        self._clocked = clocked
        self._skip = skip_unchanged
        self._models = models
        self._last: tuple[WindowFacts, tuple[AnswerSet, ...]] | None = None

    def __enter__(self) -> Reasoner:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def windows(self) -> dict[str, tuple[int, int]]:
        """First and last time of each time window as of its last tick, by stream."""
        return {
            iri: (buffer.last_tick - buffer.window.width, buffer.last_tick)
            for iri, buffer in self._buffers.items()
            if isinstance(buffer.window, TimeWindow) and buffer.last_tick is not None
        }

    @property
    def stream_time(self) -> int | None:
        """The newest time so far, of an item or given."""
        return self._state.stream_time

    @property
    def supplied(self) -> frozenset[Signature]:
        """Predicates of which the streams have supplied atoms so far."""
        return self._encoder.supplied

    @property
    def mapper(self) -> Mapper:
        """How terms of its streams were turned into terms of ASP."""
        return self._encoder.mapper

    def close(self) -> None:
        """End the processes that evaluate."""
        if self._owns_engine:
            self._engine.close()

    # -- input ----------------------------------------------------------------------

    def push(self, items: Item | Iterable[Item]) -> Iterator[Evaluation]:
        """Take an item, or several in order of arrival; iterate over the evaluations that
        are due before the newest.

        Items before `start` are dropped. Raises `ItemError` for an item of no stream of the
        request. What is not iterated over here comes with the next push.
        """
        for item in [items] if isinstance(items, Item) else items:
            self._take(item)
        newest = self._state.stream_time
        if self._clocked or newest is None or self._state.first is None:
            return iter(())
        return self._run(newest - self.request.lateness, inclusive=False)

    def _take(self, item: Item) -> None:
        if item.stream not in self._buffers:
            raise ItemError(f"request `{self.request.name}` reads no stream <{item.stream}>")
        state = self._state
        if not self._takes(item):
            return
        if self._is_late(item.time):
            state.late.append(item.position)
            self.late.append(item)
            return
        if not state.given:
            state.first = item.time if state.first is None else min(state.first, item.time)
        heapq.heappush(self._pending, (item.time, item.position, item))
        if not self._clocked:
            self._reach(item.time)

    def advance(self, time: int) -> Iterator[Evaluation]:
        """Declare everything up to and including `time` complete (less the lateness);
        iterate over the evaluations that are due."""
        state = self._state
        closed = time - self.request.lateness
        if state.closed is not None and closed <= state.closed:
            return iter(())
        state.closed = closed
        self._reach(time)
        return iter(()) if state.first is None else self._run(closed, inclusive=True)

    def finish(self, until: int | None = None) -> Iterator[Evaluation]:
        """End of the recording: evaluate up to `until` (default: the last item's time)."""
        state = self._state
        end = until if until is not None else state.stream_time
        if state.first is not None and end is not None:
            yield from self._run(end, inclusive=True, final=True)

    def once(self) -> Evaluation:
        """The answer of a request that reads no stream."""
        (evaluation,) = self._evaluate(0)
        return evaluation

    def _takes(self, item: Item) -> bool:
        """Whether the item is on a stream of the request, and not before a given start."""
        begins = self._first if self._state.given else item.time
        return item.stream in self._buffers and item.time >= begins

    def _reach(self, time: int) -> None:
        """Stream time is the newest so far."""
        before = self._state.stream_time
        self._state.stream_time = time if before is None else max(before, time)

    def _is_late(self, time: int) -> bool:
        state = self._state
        if state.closed is not None and time <= state.closed:
            return True
        return state.stream_time is not None and time < state.stream_time - self.request.lateness

    # -- time -----------------------------------------------------------------------

    def _run(self, limit: int, inclusive: bool, final: bool = False) -> Iterator[Evaluation]:
        """Release items and evaluate ticks up to `limit`; ticks at `limit` if inclusive.

        Ticks wait until no earlier item can come that would be the first, unless this is
        the end: it would move the time from which windows are counted.
        """
        if not (final or self._state.given or limit >= self._first):
            return
        while True:
            due = self._next_tick()
            item = self._pending[0][2] if self._pending else None
            if item is not None and item.time <= limit and (due is None or item.time <= due):
                heapq.heappop(self._pending)
                buffer = self._buffers[item.stream]
                if buffer.add(item):
                    buffer.tick(item.time)
                    yield from self._evaluate(item.time)
            elif due is not None and (due < limit or (inclusive and due == limit)):
                if self._skip and self._rests():
                    after = limit + 1 if inclusive else limit
                    self._skip_to(item.time if item and item.time <= limit else after)
                    continue
                for buffer in self._buffers.values():
                    if buffer.next_tick(self._first) == due:
                        buffer.tick(due)
                yield from self._evaluate(due)
            else:
                return

    @property
    def _first(self) -> int:
        assert self._state.first is not None
        return self._state.first

    def _next_tick(self) -> int | None:
        ticks = (b.next_tick(self._first) for b in self._buffers.values())
        return min((tick for tick in ticks if tick is not None), default=None)

    def _rests(self) -> bool:
        """Whether windows are empty and the answer over empty windows is known to stay."""
        empty = all(
            not b.items and isinstance(b.window, TimeWindow) for b in self._buffers.values()
        )
        return empty and self._state.resting

    def _skip_to(self, time: int) -> None:
        for buffer in self._buffers.values():
            buffer.skip_to(time, self._first)

    # -- answers --------------------------------------------------------------------

    def _evaluate(self, time: int) -> Iterator[Evaluation]:
        held = [h for b in self._buffers.values() for h in b.content()]
        before = tuple(self._state.feedback)
        base = self.base(time)
        facts = "".join([self._facts(h, base) for h in held])
        facts += "".join(f"{previous(atom)}.\n" for atom in before)
        started = wall.perf_counter()
        answers, error = self._answers(facts)
        seconds = wall.perf_counter() - started
        self._feed_back(answers)
        same = tuple(self._state.feedback) == before
        self._state.resting = same and error is None and (not held or self._state.resting)
        items = tuple(h.item for h in held)
        atoms = sum(h.atoms for h in held) + len(before)
        yield Evaluation(time, answers, items, atoms, seconds, error, before)

    def _answers(self, facts: str) -> tuple[tuple[AnswerSet, ...], str | None]:
        """The engine's answers, or what it said; those of before if the facts are."""
        window = WindowFacts(facts, self._encoder.supplied)
        if self._last is None or self._last[0] != window:
            try:
                answers = self._engine.answer_sets(window, self._models)
                self._require_one(answers)
                self._last = (window, answers)
            except SolvingError as failure:
                self._last = None  # it may have been the moment's, not the window's
                return (), str(failure)
        return self._last[1], None

    def _facts(self, held: Held, base: int) -> str:
        """The facts of an item in a window whose times count from `base`."""
        if held.facts is None or held.base != base:
            atoms = self._encode(held.item, base)
            held.facts = "".join([f"{atom}.\n" for atom in atoms])
            held.atoms, held.base = len(atoms), base
        return held.facts

    def _encode(self, item: Item, base: int) -> tuple[str, ...]:
        try:
            return self._encoder.facts(item, base)
        except ItemError as error:
            self.refused[item.position] = (item, str(error))
            return ()

    def window_facts(self) -> str:
        """The facts of the windows as of their last ticks, one `atom.` a line."""
        last = max(
            (b.last_tick for b in self._buffers.values() if b.last_tick is not None), default=0
        )
        held = [h for b in self._buffers.values() for h in b.content()]
        return "".join([self._facts(h, self.base(last)) for h in held])

    def facts(self, item: Item, tick: int) -> tuple[str, ...]:
        """The atoms of an item in a window that is evaluated at `tick`."""
        return self._encode(item, self.base(tick))

    def base(self, time: int) -> int:
        """What is subtracted from times in atoms of the tick at `time` (DESIGN A5)."""
        if self.request.unit == "s" or not self.unix:
            return 0
        origin = self._first // _DAY_MS * _DAY_MS
        return origin + (time - origin) // _REBASE_MS * _REBASE_MS

    def _require_one(self, answers: tuple[AnswerSet, ...]) -> None:
        if self.request.feedback and len(answers) > 1:
            raise SolvingError(
                f"request `{self.request.name}` feeds back but has {len(answers)} answer "
                "sets; add constraints or preferences that leave one"
            )

    def _feed_back(self, answers: tuple[AnswerSet, ...]) -> None:
        """Keep the atoms for the next evaluation; without an answer the old ones stay."""
        if self.request.feedback and answers:
            self._state.feedback = [a for a in answers[0].atoms if self._is_fed_back(a)]

    def _is_fed_back(self, atom: str) -> bool:
        name = atom.split("(", 1)[0]
        named = any(s.name == name for s in self.request.feedback)
        return named and signature(atom) in self.request.feedback

    # -- recovery -------------------------------------------------------------------

    @property
    def feedback(self) -> tuple[str, ...]:
        """The atoms that the next evaluation will see as previous ones."""
        return tuple(self._state.feedback)

    def resume_from(self, position: int) -> int:
        """The first position whose item is still needed when continuing at `position`."""
        needed = [p for b in self._buffers.values() for p in b.positions()]
        needed += [p for _time, p, _item in self._pending]
        return min(needed, default=position)

    def snapshot(self, position: int) -> State:
        """The state with which `restore` continues at `position`."""
        resume = self.resume_from(position)
        state = self._state
        state.late = [p for p in state.late if p >= resume]
        state.last_ticks = [b.last_tick for b in self._buffers.values()]
        state.arrived = [b.arrived for b in self._buffers.values()]
        state.held = [len(b.items) for b in self._buffers.values()]
        state.supplied = sorted((s.name, s.arity) for s in self._encoder.supplied)
        return State.from_json(state.to_json())

    def restore(self, state: State, items: Iterable[Item]) -> None:
        """Continue from `state`; `items` are those from `resume_from` up to its position."""
        self._state = State.from_json(state.to_json())
        self._encoder.supplied |= {Signature(*predicate) for predicate in state.supplied}
        released = self._released_up_to()
        late = set(state.late)
        kept = [i for i in items if i.position not in late and self._takes(i)]
        for item in sorted(kept, key=lambda i: (i.time, i.position)):
            if released is not None and item.time <= released:
                self._buffers[item.stream].items.append(Held(item))
            else:
                heapq.heappush(self._pending, (item.time, item.position, item))
        for index, buffer in enumerate(self._buffers.values()):
            if not state.last_ticks:
                break
            buffer.resume(state.last_ticks[index], state.arrived[index], state.held[index])

    def _released_up_to(self) -> int | None:
        state = self._state
        if state.stream_time is None:
            return None
        if self._clocked:
            return state.closed
        watermark = state.stream_time - self.request.lateness
        return watermark if state.closed is None else max(watermark, state.closed)


def _engine(request: Request, background: Knowledge | None, limits: Limits | None) -> Engine:
    if limits is None and not is_large(background):
        return SolverEngine(request, background)
    return GuardedEngine(request, background, limits or UNLIMITED)
