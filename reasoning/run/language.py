"""What a language of programs is, which there are, and what drives their programs.

Everything that is done with a program (`reason`, `check`, `plan`, `explain`) asks its language,
which its file's extension names. A language is one folder and one line of `LANGUAGES`; one whose
programs are requests needs no more than `RequestLanguage` (`reasoning.run.requests`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from citywise.reasoning import budget
from citywise.reasoning.errors import Finding, Location, ReasoningError
from citywise.reasoning.limits import LimitError
from citywise.reasoning.model.request import Request
from citywise.reasoning.rdf.mapping import Mapper
from citywise.reasoning.streams.items import Item
from citywise.reasoning.streams.results import Evaluation, Operator, OutputStream

if TYPE_CHECKING:
    from citywise.reasoning.partition.plan import Form, PlanName
    from citywise.reasoning.run.course import Course
    from citywise.reasoning.run.explained import RecordedExplainer
    from citywise.reasoning.run.recorded import Recorded


from typing import Generic, TypeVar

LANGUAGES: dict[str, str] = {
    ".casp": "citywise.reasoning.languages.casp.language",
    ".lp": "citywise.reasoning.languages.casp.language",
    ".lars": "citywise.reasoning.languages.lars.language",
    ".rif": "citywise.reasoning.languages.rif.language",
    ".rifps": "citywise.reasoning.languages.rif.language",
}
"""By extension the module whose `LANGUAGE` it is, imported when a program asks for it."""


class RecordedError(ReasoningError):
    """A program, recording and times that do not go together."""


class MisusedError(RecordedError):
    """A run that is asked for wrongly: without the recording that its program reads, or with a
    recording or times that mean nothing to it."""


class AnswerForms(ABC):
    """How answers of a program are told, besides their atoms."""

    request: Request
    """The program's."""

    @property
    def mapper(self) -> Mapper | None:
        """How terms of its streams were turned into terms of ASP."""
        return None

    def instances(
        self, evaluation: Evaluation, write: Callable[[int], int | str]
    ) -> dict[str, Any]:
        """What deltas of an evaluation tell besides atoms; `write` gives the form of times."""
        del evaluation, write
        return {}

    def emitted(
        self, evaluations: Iterable[Evaluation], operator: Operator, stream: str
    ) -> Iterator[Item]:
        """The answers as items of a stream."""
        return OutputStream(self.request, stream, self.mapper).items(operator, evaluations)


class Driver(AnswerForms):
    """Evaluates one program over its streams: items in, evaluations out.

    Which times are evaluated is the language's: ticks of windows, every integer, or the
    instants at which something comes or ceases to count.
    """

    late: list[Item]
    """Items that came too late, in order of arrival; the caller may clear it."""
    unix: bool
    """Whether times are Unix times, or integers of their own."""
    refused: dict[int, tuple[Item, str]]
    """Items that have no value, by position, and why; the caller may clear it."""
    stream_time: int | None
    """The newest time so far, of an item or given."""

    @abstractmethod
    def push(self, items: Item | Iterable[Item]) -> Iterator[Evaluation]:
        """Take items in order of arrival; iterate over the evaluations that are due."""

    def take(self, items: Sequence[Item]) -> Iterator[Evaluation]:
        """Take some items that are in order of time and arrival, of the program's streams and
        none of them late, as `push` does."""
        return self.push(items)

    @abstractmethod
    def advance(self, time: int) -> Iterator[Evaluation]:
        """Declare everything up to and including `time` complete; iterate over the evaluations
        that are due."""

    @abstractmethod
    def finish(self, until: int | None = None) -> Iterator[Evaluation]:
        """End of the recording: evaluate up to `until` (default: as far as items count)."""

    @abstractmethod
    def once(self) -> Evaluation:
        """The answer where nothing arrives: of a program that reads no stream."""


class ProgramFile(ABC):
    """A program that was read, and what can be done with it."""

    request: Request
    """What it says of streams, terms and knowledge; of C-ASP all there is."""
    called: str = "requests"
    """Programs of its language, in messages."""
    timed = False
    """Whether it is evaluated over time although it reads no stream."""
    parallel = False
    """Whether it can be cut into parts that are evaluated side by side."""

    @abstractmethod
    def driver(self, run: Recorded, *, instances: bool = False) -> AbstractContextManager[Driver]:
        """What evaluates it over a run's recording; its processes end with the context.

        `instances` asks for what deltas tell besides atoms. Raises `RecordedError` for an
        engine that cannot evaluate it.
        """

    @abstractmethod
    def course(
        self, run: Recorded, start: int, until: int | None, *, instances: bool = False
    ) -> AbstractContextManager[Course]:
        """How its evaluations follow from items that may be revised, in a run from `start` on,
        up to `until`; see `driver`."""

    @abstractmethod
    def plan(self, name: PlanName, form: Form) -> str:
        """How it is evaluated, to be printed (docs/plan.md)."""

    @abstractmethod
    def explainer(
        self, run: Recorded, at: int | str | None, number: int = 1, evaluation: int | None = None
    ) -> RecordedExplainer:
        """What explains an evaluation of a run (see `RecordedExplainer`)."""

    def unrunnable(self, *, streamed: bool) -> str | None:
        """Why it cannot be run with, or without, recorded streams; None if it can."""
        del streamed
        return None

    def in_time(self, behind: str) -> str:
        """What to do that items which came `behind` too late would count."""
        del behind
        return "sort the recording"


class Language(Protocol):
    """Reads and checks the programs of one language."""

    def read(self, path: Path, *, streamed: bool = True) -> ProgramFile:
        """The program in a file, which is run with recorded streams or without.

        Raises `RequestError` that names file, line and column.
        """

    def check(self, path: Path, *, partitioned: bool = False) -> list[Finding]:
        """All findings about a file, by position; raises none of them.

        `partitioned` demands what partitioning needs: negation must be stratified.
        """


def language_of(path: Path) -> Language:
    """The language that a file's extension names; raises `RecordedError` for another."""
    name = LANGUAGES.get(path.suffix)
    if name is None:
        known = ", ".join(LANGUAGES)
        what = f"`{path.suffix}` is no language of ours" if path.suffix else "it has no extension"
        raise RecordedError(f"{path}: {what}; use {known}")
    found: Language = import_module(name).LANGUAGE
    return found


def read(path: Path) -> ProgramFile:
    """The program in a file; its extension names the language."""
    return language_of(path).read(path)


def check(path: Path, *, partitioned: bool = False) -> list[Finding]:
    """All findings about a program, or about the programs in a folder, by file and position.

    A file with another extension is checked as C-ASP. `partitioned` demands what partitioning
    needs: negation must be stratified.
    """
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix in LANGUAGES and p.is_file())
        return [finding for file in files for finding in check(file, partitioned=partitioned)]
    with budget.step(f"checking {path}"):
        try:
            known = path if path.suffix in LANGUAGES else path.with_suffix(".casp")
            return language_of(known).check(path, partitioned=partitioned)
        except LimitError as error:
            return [Finding(Location(str(path), 1, 1), "error", "limit", str(error))]


Found = TypeVar("Found", bound=Evaluation)
_time = attrgetter("time")


class PointDriver(Driver, Generic[Found]):
    """A driver without windows of its own: what a language does at each point of time is its
    business, and which points there are (every integer, or where something changes).

    Parameters
    ----------
    start:
        The first point of time (`--from`); default: the first item's. Items before it are
        dropped.
    """

    def __init__(self, request: Request, start: int | None) -> None:
        self.request = request
        self.late: list[Item] = []
        self.refused: dict[int, tuple[Item, str]] = {}
        self.unix = True
        self.stream_time = start
        self._start = start
        self._closed: int | None = None
        """Up to here everything was declared complete."""
        self._arrived: dict[int, list[Item]] = {}

    def push(self, items: Item | Iterable[Item]) -> Iterator[Found]:
        """Take an item, or several in order of arrival; iterate over the evaluations at the
        points of time before the newest.

        Items before `start` are dropped, those before the newest are late. What is not
        iterated over here comes with the next push.
        """
        for item in [items] if isinstance(items, Item) else items:
            self._take(item)
        return self._due_now()

    def take(self, items: Sequence[Item]) -> Iterator[Found]:
        """See `Driver`."""
        begin = 0
        while begin < len(items):
            time = items[begin].time
            end = bisect_right(items, time, begin, key=_time)
            if time not in self._arrived:
                self._arrived[time] = []
                self._begins(time)
            self._arrived[time] += items[begin:end]
            begin, self.stream_time = end, time
        return self._due_now()

    def _due_now(self) -> Iterator[Found]:
        newest = self.stream_time
        return self._run(newest) if newest is not None and self._is_due(newest) else iter(())

    def advance(self, time: int) -> Iterator[Found]:
        """Declare everything up to and including `time` complete; iterate over the evaluations
        up to it."""
        self.stream_time = time if self.stream_time is None else max(self.stream_time, time)
        self._closed = time if self._closed is None else max(self._closed, time)
        return self._run(time + 1)

    def finish(self, until: int | None = None) -> Iterator[Found]:
        """End of the recording: evaluate up to `until` (default: as far as items count)."""
        return self._run(self._finish_before() if until is None else until + 1)

    def once(self) -> Found:
        """See `Driver`."""
        return self._evaluate(0, [])

    def _take(self, item: Item) -> None:
        time = item.time
        if self._start is not None and time < self._start:
            return
        newest = self.stream_time
        if newest is None or time > newest:
            self.stream_time = time
        elif time < newest or self._is_over(time):
            self.late.append(item)
            return
        arrived = self._arrived.get(time)
        if arrived is not None:
            arrived.append(item)
            return
        self._arrived[time] = [item]
        self._begins(time)

    def _is_over(self, time: int) -> bool:
        """Whether nothing that arrives now can count at a point of time, though it is the
        newest."""
        return self._closed is not None and time <= self._closed

    @abstractmethod
    def _begins(self, time: int) -> None:
        """The first item of a point of time has arrived."""

    @abstractmethod
    def _is_due(self, before: int) -> bool:
        """Whether a point of time before another is to be evaluated."""

    @abstractmethod
    def _run(self, before: int) -> Iterator[Found]:
        """Evaluate the points of time before one; all that arrives at them has arrived."""

    @abstractmethod
    def _evaluate(self, time: int, items: list[Item]) -> Found:
        """The answer at a point of time, and what arrived there."""

    @abstractmethod
    def _finish_before(self) -> int:
        """The point of time before which all is to be evaluated once nothing more arrives."""
