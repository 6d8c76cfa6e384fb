"""The façade: push items, advance time, get answers (thesis, Definitions 4.3-4.7).

Time is the stream's. A tick is evaluated as soon as no item that counts for it can still
arrive; results therefore depend on the items and their order of arrival only, never on
how they were batched.
"""

from __future__ import annotations

import time as wall
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Any

from citywise.reasoning.engines.choosing import AutoEngine, solver_engine
from citywise.reasoning.engines.programs import RequestEngine
from citywise.reasoning.errors import ItemError, SolvingError, StateError
from citywise.reasoning.limits import Limits
from citywise.reasoning.model.carried import Carried
from citywise.reasoning.model.engine import (
    Answered,
    AnswerSet,
    ChangingEngine,
    Engine,
    Knowledge,
    WindowChange,
    WindowFacts,
)
from citywise.reasoning.model.request import CountWindow, Request, Signature, TimeWindow
from citywise.reasoning.rdf.mapping import Mapper
from citywise.reasoning.run.language import Driver
from citywise.reasoning.run.memory import Memory, ToldTime
from citywise.reasoning.streams.items import Arrivals, Encoder, Item, with_stream
from citywise.reasoning.streams.results import Evaluation
from citywise.reasoning.streams.windows import Contents

_DAY_MS = 86_400_000
_REBASE_MS = 24 * _DAY_MS


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
    since: list[tuple[str, int]] = field(default_factory=list)
    last: list[tuple[str, int]] = field(default_factory=list)
    """With `since` what `Carried` holds besides."""
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
        """The state that `to_json` described; what a former version did not keep is as in a
        reasoner that has kept nothing. Raises `StateError`."""
        usual = vars(cls())
        for name, value in values.items():
            if name not in usual:
                raise StateError(f"the state has `{name}`, which only a newer version understands")
            kept = list if isinstance(usual[name], list) else (int, type(None))
            if not isinstance(value, kept):
                wanted = "a list" if kept is list else "a whole number"
                raise StateError(f"`{name}` of the state is {value!r}, expected {wanted}")
        return cls(**values)


class Reasoner(Driver):
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
        Predicates known to come from the streams (docs/reason.md), before their first item.
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
        self._encoder = encoder or Encoder(request)
        self._encoder.supplied = frozenset(supplied)
        self._engine = engine or solver_engine(request, background, limits)
        self._owns_engine = engine is None
        self._changing = self._engine if isinstance(self._engine, ChangingEngine) else None
        self._state = State(first=start, given=start is not None)
        self._contents = Contents(request, self._encoder, as_rows=self._changing is not None)
        self.refused = self._contents.refused
        self._buffers = self._contents.buffers
        self._counts = any(isinstance(s.window, CountWindow) for s in request.streams)
        self._arrivals = Arrivals()
        self._clocked = clocked
        self._skip = skip_unchanged
        self._models = models
        self._last: tuple[WindowFacts, tuple[AnswerSet, ...]] | None = None
        self._memory = Memory(request)
        self._known = background.supplied if background else frozenset()
        self._begun = False
        """Whether there was an evaluation, or an engine's last answer is another's."""

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

    @stream_time.setter
    def stream_time(self, time: int | None) -> None:
        self._state.stream_time = time

    @property
    def closed(self) -> int | None:
        """The time up to which items have been declared complete."""
        return self._state.closed

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

        Items before `start` are dropped; those without a stream are of the only one. Raises
        `ItemError` for an item of no stream of the request. What is not iterated over here
        comes with the next push.
        """
        given = with_stream([items] if isinstance(items, Item) else items, self._buffers)
        # A batch in order is the rule in a running system, and is appended as one.
        if not self._take_together(given):
            for item in given:
                self._take(item)
        return self._due_now()

    def take(self, items: Sequence[Item]) -> Iterator[Evaluation]:
        """See `Driver`."""
        if self._state.first is None or self._clocked:
            return self.push(items)
        self._arrivals.add_all(with_stream(items, self._buffers))
        self._reach(items[-1].time)
        return self._due_now()

    def _due_now(self) -> Iterator[Evaluation]:
        """The evaluations that are due before the newest time."""
        newest = self._state.stream_time
        if self._clocked or newest is None or self._state.first is None:
            return iter(())
        limit = newest - self.request.lateness
        # No generator is made for nothing; a count window may tick with any item.
        if not self._counts and (due := self._next_tick()) is not None and limit <= due:
            return iter(())  # most pushes: the items wait where they are
        return self._run(limit, inclusive=False)

    def _take_together(self, items: list[Item]) -> bool:
        """Take items that are all newer than those before, and in order; False: they are not."""
        state, newest = self._state, self._state.stream_time
        if len(items) < 2 or state.first is None or newest is None:
            return False
        turns = [(item.time, item.position) for item in items]
        oldest = max(newest, state.first, newest if state.closed is None else state.closed)
        known = {item.stream for item in items} <= self._buffers.keys()
        if not known or turns[0][0] <= oldest or turns != sorted(turns):
            return False
        self._arrivals.add_all(items)
        if not self._clocked:
            state.stream_time = turns[-1][0]
        return True

    def _take(self, item: Item) -> None:
        if item.stream not in self._buffers:
            raise ItemError(f"request `{self.request.name}` reads no stream <{item.stream}>")
        state, time = self._state, item.time
        if state.given and time < self._first:
            return
        newest = state.stream_time
        if newest is not None and time <= newest and self._is_late(time):
            state.late.append(item.position)
            self.late.append(item)
            return
        # An earlier item moves the time from which windows are counted, as long as nothing was
        # evaluated: so results do not depend on the order in which equal recordings arrive within
        # the lateness.
        if state.first is None or (time < state.first and not state.given):
            state.first = time
        self._arrivals.add(item)
        if not self._clocked and (newest is None or time > newest):
            state.stream_time = time

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
        return self._evaluate(0, 0)

    def _takes(self, item: Item) -> bool:
        """Whether the item is on a stream of the request, and not before a given start."""
        begins = self._first if self._state.given else item.time
        return item.stream in self._buffers and item.time >= begins

    def _is_counted(self, item: Item) -> bool:
        """Whether the item comes into its window: one of time takes all, one that counts those
        that rules may see."""
        window = self._buffers[item.stream].window
        return isinstance(window, TimeWindow) or self._encoder.is_relevant(item)

    def _reach(self, time: int) -> None:
        """Stream time is the newest so far."""
        before = self._state.stream_time
        self._state.stream_time = time if before is None else max(before, time)

    def _is_late(self, time: int) -> bool:
        state = self._state
        # A clock that has declared a time complete is believed, whatever the lateness allows.
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
            yield from self._release(limit if due is None else min(due, limit))
            if due is None or due > limit or (due == limit and not inclusive):
                return
            # A request whose windows are empty, with an answer that stays, costs nothing until
            # the next item.
            if self._skip and self._rests():
                item = self._arrivals.first
                after = limit + 1 if inclusive else limit
                self._skip_to(item.time if item and item.time <= limit else after)
                continue
            for buffer in self._buffers.values():
                # All windows that tick now, before one evaluation: the request sees them as of
                # the same time.
                if buffer.next_tick(self._first) == due:
                    self._contents.tick(buffer, due)
            yield self._evaluate(due, 2 * due + 1)

    def _release(self, until: int) -> Iterator[Evaluation]:
        """Let items up to a time into their windows; count windows tick with them."""
        if not self._counts:
            for stream, taken in groupby(self._arrivals.take(until), attrgetter("stream")):
                self._buffers[stream].keep_all(taken)
            return
        while (item := self._arrivals.first) is not None and item.time <= until:
            self._arrivals.pop()
            buffer = self._buffers[item.stream]
            if not self._is_counted(item):
                continue
            # One by one, since each item may complete a window; at equal times count ticks come
            # before the time tick.
            if buffer.add(item):
                self._contents.tick(buffer, item.time)
                yield self._evaluate(item.time, 2 * item.time)

    @property
    def _first(self) -> int:
        assert self._state.first is not None
        return self._state.first

    def _next_tick(self) -> int | None:
        first, due = self._first, None
        for buffer in self._buffers.values():
            tick = buffer.next_tick(first)
            if tick is not None and (due is None or tick < due):
                due = tick
        return due

    def _rests(self) -> bool:
        """Whether windows are empty and the answer over empty windows is known to stay."""
        waiting = self._counts or any(map(len, self._buffers.values()))
        return self._state.resting and not waiting

    def _skip_to(self, time: int) -> None:
        for buffer in self._buffers.values():
            buffer.skip_to(time, self._first)

    # -- answers --------------------------------------------------------------------

    def _evaluate(self, time: int, now: int) -> Evaluation:
        """The answer at a time, at the instant `now` of it (see `WindowChange`)."""
        contents, memory, base = self._contents, self._memory, self.base(time)
        before = memory.feedback
        given = memory.given(time, base, self._known | self._encoder.supplied)
        change = contents.change(now, base, given)
        started = wall.perf_counter()
        answered, error = self._answered(change, time)
        seconds = wall.perf_counter() - started
        state = self._state
        answers, added, removed = memory.take(answered, time)
        rests = error is None and memory.rests()
        state.resting = rests and (contents.empty or state.resting)
        items, size = contents.items, change.size
        return Evaluation(time, answers, items, size, seconds, error, before, added, removed)

    def _answered(self, change: WindowChange, time: int) -> tuple[Answered, str | None]:
        """The engine's answer, or what it said."""
        try:
            if not self._memory.fits(time, self.base(time)):
                raise SolvingError("its time does not fit the 32 bits of ASP, and rules look at it")
            if self._changing is not None:
                answered = self._changing.changed(change, self._models)
                self._require_one(answered.answer_sets)
                if not self._begun and answered.added is not None:
                    answered = answered.as_first()
            else:
                answered = Answered(self._answers(self._engine, change.window()))
        except SolvingError as failure:
            # Not kept: asked again, the same window may well be answered.
            self._last = None  # it may have been the moment's, not the window's
            return Answered(()), str(failure)
        self._begun = True
        return answered, None

    def _answers(self, engine: Engine, window: WindowFacts) -> tuple[AnswerSet, ...]:
        """The engine's answers; those of before if the facts are."""
        # Windows that did not change are common where they tick often. Comparing two texts costs
        # far less than clingo.
        if self._last is None or self._last[0] != window:
            answers = engine.answer_sets(window, self._models)
            self._require_one(answers)
            self._last = (window, answers)
        return self._last[1]

    def times_told(self, time: int) -> Iterator[tuple[str, ToldTime, int]]:
        """The facts of the last evaluation, that at `time`, that say times; what they say, and the
        times of the stream."""
        for fact, what in self._memory.times_told():
            told = int(fact[max(fact.rfind("("), fact.rfind(",")) + 1 : -1])
            yield fact, what, told + self.base(time)

    def window_facts(self) -> str:
        """The facts of the windows as of their last ticks, one `atom.` a line."""
        last = max(
            (b.last_tick for b in self._buffers.values() if b.last_tick is not None), default=0
        )
        return self._contents.text(self.base(last))

    def facts(self, item: Item, tick: int) -> tuple[str, ...]:
        """The atoms of an item in a window that is evaluated at `tick`."""
        return self._contents.encoded(item, self.base(tick))

    def base(self, time: int) -> int:
        """What is subtracted from times in atoms of the tick at `time` (docs/casp.md, Windows)."""
        if self.request.unit == "s" or not self.unix:
            return 0
        # From midnight of the first day, whichever item of that day came first; anew every 24
        # days, before 32 bits are full.
        origin = self._first // _DAY_MS * _DAY_MS
        return origin + (time - origin) // _REBASE_MS * _REBASE_MS

    def _require_one(self, answers: tuple[AnswerSet, ...]) -> None:
        request = self.request
        if len(answers) > 1 and (request.feedback or request.held or request.last):
            does = "feeds back" if request.feedback else "remembers which atoms hold"
            raise SolvingError(
                f"request `{request.name}` {does} but has {len(answers)} answer "
                "sets; add constraints or preferences that leave one"
            )

    # -- recovery -------------------------------------------------------------------

    @property
    def feedback(self) -> tuple[str, ...]:
        """The atoms that the next evaluation will see as previous ones."""
        return self._memory.feedback

    @property
    def carried(self) -> Carried:
        """All that the next evaluation will be given of those before."""
        return self._memory.carried

    @carried.setter
    def carried(self, value: Carried) -> None:
        """Go on as if the evaluation before had left this."""
        self._memory.carried = value

    def following(self) -> RequestEngine | None:
        """The incremental engine, if it has given the last answer by itself."""
        engine = self._engine
        if isinstance(engine, AutoEngine):
            return engine.following
        return engine if isinstance(engine, RequestEngine) else None

    def keep_late(self, item: Item) -> None:
        """Take an item in whose evaluations have been made, for those to come."""
        self._contents.keep_late(item)

    def drop(self, item: Item) -> None:
        """Take an item out whose evaluations have been made, for those to come."""
        self._contents.drop(item)

    def resume_from(self, position: int) -> int:
        """The first position whose item is still needed when continuing at `position`."""
        needed = [p for b in self._buffers.values() for p in b.positions()]
        needed += self._arrivals.positions()
        return min(needed, default=position)

    def snapshot(self, position: int) -> State:
        """The state with which `restore` continues at `position`."""
        resume = self.resume_from(position)
        state = self._state
        # Items before are never read again, so whether they were late is of no interest.
        state.late = [p for p in state.late if p >= resume]
        state.last_ticks = [b.last_tick for b in self._buffers.values()]
        state.arrived = [b.arrived for b in self._buffers.values()]
        state.held = [b.held for b in self._buffers.values()]
        carried = self._memory.carried
        state.feedback = list(carried.feedback)
        state.since, state.last = list(carried.since), list(carried.last)
        state.supplied = sorted((s.name, s.arity) for s in self._encoder.supplied)
        # A copy: the reasoner goes on changing its own.
        return State.from_json(state.to_json())

    def restore(self, state: State, items: Iterable[Item]) -> None:
        """Continue from `state`; `items` are those from `resume_from` up to its position."""
        self._state = State.from_json(state.to_json())
        self._encoder.supplied |= {Signature(*predicate) for predicate in state.supplied}
        self._memory.carried = Carried(
            tuple(state.feedback),
            tuple((atom, time) for atom, time in state.since),
            tuple((atom, time) for atom, time in state.last),
        )
        released = self._released_up_to()
        late = set(state.late)
        given = with_stream(items, self._buffers)
        kept = [i for i in given if i.position not in late and self._takes(i)]
        # In the order of their turn, which is not that of the log: a window that is rebuilt must
        # hold what it held.
        for item in sorted(kept, key=lambda i: (i.time, i.position)):
            if released is not None and item.time <= released:
                if self._is_counted(item):
                    self._buffers[item.stream].keep(item)
            else:
                self._arrivals.add(item)
        for index, buffer in enumerate(self._buffers.values()):
            if not state.last_ticks:
                break
            buffer.resume(state.last_ticks[index], state.arrived[index], state.held[index])
        self._contents.restored()

    def resume_at(
        self,
        time: int,
        items: Iterable[Item],
        arrived: Mapping[str, int],
        carried: Carried,
    ) -> None:
        """Continue as if every evaluation before `time` had been made, of a request without
        lateness that has a given start.

        Parameters
        ----------
        items:
            The items before `time` that windows can still need, in order.
        arrived:
            By stream, how many items there were before `time` that its window counts.
        carried:
            What the evaluation before left.
        """
        state = State(self._first, True, time - 1, time - 1)
        for iri, buffer in self._buffers.items():
            window, count = buffer.window, arrived.get(iri, 0)
            if isinstance(window, TimeWindow):
                last = buffer.last_before(time, self._first)
                state.last_ticks.append(last)
                held = 0
            else:
                state.last_ticks.append(time - 1 if count >= window.width else None)
                held = window.held_of(count)
            state.arrived.append(count)
            state.held.append(held)
        self.restore(state, items)
        self._memory.carried = carried

    def _released_up_to(self) -> int | None:
        state = self._state
        if state.stream_time is None:
            return None
        if self._clocked:
            return state.closed
        watermark = state.stream_time - self.request.lateness
        return watermark if state.closed is None else max(watermark, state.closed)
