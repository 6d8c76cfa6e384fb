"""Programs that are requests: evaluated by ticks of windows, cut, and explained as C-ASP is.

A language that compiles into requests gets `reason`, `check`, `plan` and `explain` from here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from citywise.reasoning.asp.translation.program import UnsupportedError
from citywise.reasoning.engines.choosing import engine_for
from citywise.reasoning.engines.incremental.atoms import AtomPast
from citywise.reasoning.errors import Finding, RequestError
from citywise.reasoning.limits import UNLIMITED, Limits
from citywise.reasoning.model.carried import Carried
from citywise.reasoning.model.engine import Engine, Knowledge
from citywise.reasoning.model.request import CountWindow, Request, Signature, TimeWindow
from citywise.reasoning.partition.engine import ParallelEngine
from citywise.reasoning.partition.executors import Processes
from citywise.reasoning.partition.plan import Form, PlanName
from citywise.reasoning.rdf.knowledge import Background
from citywise.reasoning.run.course import BEGINNING, END, Amendments, Course, Done, EncodedCourse
from citywise.reasoning.run.explained import RecordedExplainer
from citywise.reasoning.run.language import Driver, ProgramFile, RecordedError
from citywise.reasoning.run.reasoner import Reasoner
from citywise.reasoning.run.recorded import Recorded
from citywise.reasoning.run.revision import Revising
from citywise.reasoning.streams.items import Encoder, Item, tupled
from citywise.reasoning.streams.results import Evaluation
from citywise.reasoning.streams.revised import Change, Ordered

_NOTHING = Carried()


class RequestCourse(EncodedCourse[AtomPast]):
    """How the evaluations of a request follow from its items.

    Parameters
    ----------
    reasoner:
        Makes a reasoner of a request; they are used one after the other.
    start:
        The time from which windows are counted.
    until:
        Evaluations are made up to it; None: up to the last item.
    """

    def __init__(
        self,
        request: Request,
        reasoner: Callable[[Request, Encoder], Reasoner],
        start: int,
        until: int | None = None,
    ) -> None:
        super().__init__(request, start, until)
        self.lateness = request.lateness
        self._make = reasoner
        # Items come in order here: what waits for others waits before.
        self._ready = replace(request, lateness=0)
        self._remembers = bool(request.feedback or request.held or request.last)
        self._windows = {stream.iri: stream.window for stream in request.streams}
        timed = request.sees_now or request.unit == "ms" or self._remembers
        windows = self._windows.values()
        self._amends = not timed and all(isinstance(w, TimeWindow) for w in windows)
        """Whether what comes late may be amended."""
        spans = [w for w in self._windows.values() if isinstance(w, TimeWindow)]
        self._reach = max((w.width + w.slide for w in spans), default=0)

    def end(self, last: int | None) -> int:
        """See `Course`."""
        if self._until is not None:
            return self._until
        return BEGINNING if last is None else max(self.start, last)

    def driver(self, time: int, items: Ordered, before: Sequence[Done]) -> Driver:
        """See `Course`."""
        reasoner = self._make(self._ready, self._encoder)
        self._past = None
        reasoner.unix = self.unix
        if time > BEGINNING:
            earlier = items.between(None, time)
            counted = filter(self._is_counted, earlier)
            arrived = items.forgotten + Counter(item.stream for item in counted)
            left = before[-1].carried if before else Carried()
            assert isinstance(left, Carried)
            reasoner.resume_at(time, earlier, arrived, left)
        return reasoner

    def _amended(
        self,
        driver: Driver,
        past: AtomPast,
        came: Sequence[Item],
        gone: Sequence[Item],
        alike: Sequence[Sequence[Item]],
    ) -> Amendments | None:
        """See `EncodedCourse`."""
        assert isinstance(driver, Reasoner)
        known, last = driver.supplied, past.timeline.times[-1] // 2
        new = [(driver.facts(item, last), *self._instants(item)) for item in came]
        old = [
            (driver.facts(item, last), *self._instants(item), self._spans(others))
            for item, others in zip(gone, alike, strict=True)
        ]
        if driver.supplied != known:
            return None
        found = past.amend_atoms(
            (each for each in new if each[1] <= each[2]),
            (each for each in old if each[1] <= each[2]),
        )
        for item in gone:
            driver.drop(item)
        for item in came:
            driver.keep_late(item)
        return {instant // 2: texts for instant, texts in found.items()}

    def _near(self, item: Item, items: Ordered, before: int) -> Sequence[Item]:
        """See `EncodedCourse`."""
        return items.between(item.time - 2 * self._reach, before)

    def _spans(self, items: Sequence[Item]) -> list[tuple[int, int]]:
        """The instants at which items are in their windows, of those that are at all."""
        return [span for span in map(self._instants, items) if span[0] <= span[1]]

    def _instants(self, item: Item) -> tuple[int, int]:
        """The first and the last instant at which an item is in its window."""
        window = self._windows[item.stream]
        assert isinstance(window, TimeWindow)
        # Beside other windows it is there until its own ticks without it.
        begin, slide = window.first_tick(self.start), window.slide
        first = begin + max(0, -(-(item.time - begin) // slide)) * slide
        last = begin + (item.end + window.width - begin) // slide * slide
        return 2 * first, 2 * (last + slide) - 1 if first <= last else 2 * first - 1

    def carried(self, driver: Driver, evaluation: Evaluation) -> object:
        """See `Course`."""
        assert isinstance(driver, Reasoner)
        if self._amends:
            engine = driver.following()
            self._note(evaluation, 2 * evaluation.time + 1, engine.past if engine else None)
        return driver.carried if self._remembers else _NOTHING

    def carried_to_json(self, carried: object) -> Any:
        """See `Course`."""
        assert isinstance(carried, Carried)
        return [carried.feedback, carried.since, carried.last]

    def carried_from_json(self, values: Any) -> Carried:
        """See `Course`."""
        return Carried(*tupled(values))

    def affects_until(self, change: Change, items: Ordered) -> int:
        """See `Course`."""
        stream = change.items[0].stream
        window = self._windows[stream]
        if isinstance(window, TimeWindow):
            reach = self._reach if len(self._windows) > 1 else window.width
            return max(item.end for item in change.items) + reach
        counted = [item for item in change.items if self._is_counted(item)]
        last = max(item.time for item in change.items)
        if not counted:
            return last
        if window.slide > 1 and len(counted) == 1:
            return END  # every evaluation after it comes an item earlier or later
        later = items.between(last + 1, None)
        after = (i.time for i in later if i.stream == stream and self._is_counted(i))
        # What the last tick with it holds stays until the next one, `slide` items later.
        return next(islice(after, window.width + window.slide - 2, None), END)

    def forget(self, items: Ordered, before: int, done: Sequence[Done]) -> None:
        """See `Course`."""
        del done
        if self._past is not None:
            self._past.forget(2 * before)
        last: set[int] = set()
        left = {
            iri: w.width + w.slide for iri, w in self._windows.items() if isinstance(w, CountWindow)
        }
        for item in items.backwards(before) if left else ():
            if left.get(item.stream, 0) and self._is_counted(item):
                left[item.stream] -= 1
                last.add(item.position)
        since = before - self._reach

        def needed(item: Item) -> bool:
            return item.position in last if item.stream in left else item.end >= since

        items.forget(before, since, needed if left else None, self._is_counted)

    def _is_counted(self, item: Item) -> bool:
        """Whether a window that counts would count the item."""
        window = self._windows[item.stream]
        return isinstance(window, CountWindow) and self._encoder.is_relevant(item)


@contextmanager
def revising(
    request: Request,
    *,
    horizon: int,
    start: int,
    until: int | None = None,
    background: Knowledge | None = None,
    limits: Limits | None = None,
    engine: Engine | None = None,
    supplied: Collection[Signature] = (),
) -> Iterator[Revising]:
    """What evaluates a request over items that may come late, be corrected and withdrawn.

    Parameters
    ----------
    horizon:
        How far behind the newest time a line may be, in the request's unit.
    start, until:
        The time from which windows are counted, and the last of an evaluation; None: the last
        item's.
    engine:
        Evaluate with this engine, which the caller closes; default: that of `engine_for`.

    The other parameters are those of `Reasoner`.
    """
    with ExitStack() as own:
        used = engine or own.enter_context(closing(engine_for(request, background, limits)))

        def make(ready: Request, encoder: Encoder) -> Reasoner:
            return Reasoner(ready, start=start, engine=used, supplied=supplied, encoder=encoder)

        yield Revising(RequestCourse(request, make, start, until), horizon)


class RequestProgram(ProgramFile):
    """A program that is a request."""

    parallel = True

    def __init__(self, request: Request, path: Path) -> None:
        self.request = request
        self._path = path

    @contextmanager
    def driver(self, run: Recorded, *, instances: bool = False) -> Iterator[Driver]:
        """See `ProgramFile`."""
        del instances  # its deltas tell of atoms only
        knowledge = run.background()
        with (
            closing(self._engine(run, knowledge)) as engine,
            run.reasoner(knowledge, engine) as reasoner,
        ):
            yield reasoner

    @contextmanager
    def course(
        self, run: Recorded, start: int, until: int | None, *, instances: bool = False
    ) -> Iterator[Course]:
        """See `ProgramFile`."""
        del instances  # its deltas tell of atoms only
        knowledge, supplied = run.background(), run.supplied()
        with closing(self._engine(run, knowledge)) as engine:

            def make(request: Request, encoder: Encoder) -> Reasoner:
                return Reasoner(
                    request, start=start, engine=engine, supplied=supplied, encoder=encoder
                )

            yield RequestCourse(self.request, make, start, until)

    def plan(self, name: PlanName, form: Form) -> str:
        """See `ProgramFile`."""
        from citywise.reasoning.partition.description import describe, printed

        return printed(describe(self.request, self._path, name), form)

    def explainer(
        self, run: Recorded, at: int | str | None, number: int = 1, evaluation: int | None = None
    ) -> RecordedExplainer:
        """See `ProgramFile`."""
        return RecordedExplainer(run, at, number, evaluation)

    def in_time(self, behind: str) -> str:
        """See `ProgramFile`."""
        return f"with `#lateness {behind}.` it would count"

    def _engine(self, run: Recorded, knowledge: Background) -> Engine:
        try:
            if run.parallel < 2:
                return engine_for(self.request, knowledge, run.limits, run.engine)
            run.cut = ParallelEngine(
                self.request,
                knowledge,
                run.limits or UNLIMITED,
                executor=Processes(run.parallel),
                partitions=run.parallel,
                engine=run.engine,
            )
        except UnsupportedError as error:
            raise RecordedError(
                f"{run.program}: {error}; the incremental engine evaluates stratified programs "
                "(docs/engines.md): take `--engine auto` or `--engine solver`"
            ) from None
        return run.cut


class RequestLanguage(ABC):
    """A language whose programs are requests (a `Language`)."""

    @abstractmethod
    def parse(self, path: Path) -> Request:
        """The request in a file; raises `RequestError` that names file, line and column."""

    def read(self, path: Path, *, streamed: bool = True) -> ProgramFile:
        """See `Language`."""
        del streamed  # it says itself which streams it reads
        return RequestProgram(self.parse(path), path)

    def check(self, path: Path, *, partitioned: bool = False) -> list[Finding]:
        """See `Language`: why a file cannot be read, if it cannot."""
        del partitioned
        try:
            self.parse(path)
        except RequestError as error:
            return [Finding.of(error)]
        return []
