"""A program over recorded streams: what a run of it would have answered, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citywise.reasoning import budget
from citywise.reasoning.engines.choosing import Choice
from citywise.reasoning.errors import ItemError
from citywise.reasoning.limits import Limits
from citywise.reasoning.model.engine import Engine
from citywise.reasoning.model.request import KnowledgeSource, Signature, parse_duration
from citywise.reasoning.partition.engine import ParallelEngine
from citywise.reasoning.rdf.knowledge import Background, background
from citywise.reasoning.run.course import BEGINNING
from citywise.reasoning.run.language import Driver, MisusedError, RecordedError, language_of
from citywise.reasoning.run.reasoner import Reasoner
from citywise.reasoning.run.revision import Emission, Revising, Revision, described
from citywise.reasoning.streams.items import Encoder, Item
from citywise.reasoning.streams.recordings import (
    Recording,
    TimeForm,
    format_time,
    read_time,
)
from citywise.reasoning.streams.results import Deltas, Evaluation, Operator, result, several
from citywise.reasoning.streams.revised import BeyondError, Line, Ordered

if TYPE_CHECKING:
    from citywise.reasoning.run.explained import RecordedExplainer

_MANY = 10_000
"""Lines that are read together, before what is settled is looked at."""
_REASONS = 6
"""Reasons that a warning gives."""


@dataclass
class Recorded:
    """A program with the streams, knowledge and bounds of one run.

    Parameters
    ----------
    program:
        File whose extension names the language (`reasoning.run.language`).
    streams, knowledge:
        Stream files (docs/reason.md) and knowledge bases besides those the program names.
    start, until:
        First and last time, as the recording writes times; None: the first item's, the last
        item's.
    models:
        At most so many answer sets; 0: all.
    limits:
        On one evaluation; None evaluates in this process, without limits on its time.
    parallel:
        Evaluate in so many processes at the same time, where that is faster; 0: in one.
    engine:
        `auto`, `incremental` or `solver` (docs/engines.md).
    """

    program: Path
    streams: Sequence[Path] = ()
    knowledge: Sequence[Path] = ()
    start: int | str | None = None
    until: int | str | None = None
    models: int = 0
    limits: Limits | None = field(default_factory=Limits)
    parallel: int = 0
    engine: Choice = "auto"
    revise: int | str | None = None
    """How far back items may come, be corrected and withdrawn: a number in the program's unit of
    time, or a text such as `1h`; None: as the program says (docs/revision.md)."""

    def __post_init__(self) -> None:
        self.parsed = language_of(self.program).read(self.program, streamed=bool(self.streams))
        """The program, as its language has it."""
        self.request = self.parsed.request
        self.problems: list[str] = []
        """What was wrong with items, so far; the caller may clear it."""
        self.warnings: list[str] = []
        """What is remarkable about items, so far; the caller may clear it."""
        self.late: set[int] = set()
        """Positions of the items that came too late, so far."""
        self.reached = -1
        """Position of the last item that has been pushed."""
        self._line_of: Callable[[int], int] = int
        """The position of the line that says what the item at a position is."""
        self.cut: ParallelEngine | None = None
        """The engine that is to evaluate in parts, until it has said whether it can."""
        self._check()
        self._recording = Recording(self.streams, self.request, self._note)

    @property
    def form(self) -> TimeForm:
        """How times are written in the recording, and so in results."""
        given = self.start if self.start is not None else self.until
        return self._recording.form or ("iso" if isinstance(given, str) else "integer")

    @property
    def has_times(self) -> bool:
        """Whether it is evaluated over time; otherwise once, at no time."""
        return bool(self.request.streams) or self.parsed.timed

    @property
    def first(self) -> int | None:
        """The time from which it runs (`--from`), in the request's unit; None: the first item's."""
        return self.parse_time("--from", self.start)

    @property
    def horizon(self) -> int | None:
        """How far back items may be revised, in the request's unit; None: not at all."""
        if self.revise is None:
            return self.request.revise if self.has_times else None
        if not self.has_times:
            raise MisusedError(f"--revise {self.revise}: {self._timeless()}")
        try:
            return parse_duration(self.revise, self.request.unit)
        except ItemError as error:
            raise RecordedError(f"--revise: {error}") from None

    def background(self) -> Background:
        """The facts of the knowledge bases that the rules can see."""
        return background(self.request, self.sources())

    def reasoner(self, knowledge: Background, engine: Engine | None = None) -> Reasoner:
        """A reasoner of its own for this run; an `engine` that is given is the caller's."""
        return Reasoner(
            self.request,
            background=knowledge,
            start=self.first,
            models=self.models,
            limits=self.limits,
            engine=engine,
            supplied=self.supplied(),
        )

    def explainer(
        self, at: int | str | None, number: int = 1, evaluation: int | None = None
    ) -> RecordedExplainer:
        """What explains one of its evaluations; nothing of the run has been evaluated yet."""
        return self.parsed.explainer(self, at, number, evaluation)

    def evaluations(self) -> Iterator[Evaluation]:
        """Every evaluation of the run, in order; why one failed is noted too. Where items may be
        revised, they are those of the stream as it is in the end."""
        with self._reasoning() as reasoner:
            yield from self._noted(reasoner)

    def sources(self) -> list[KnowledgeSource]:
        """The knowledge bases that are given besides those the program names."""
        return [KnowledgeSource(str(path)) for path in self.knowledge]

    def _reasoning(self, *, instances: bool = False) -> AbstractContextManager[Driver]:
        """What evaluates the run, whose processes end with it."""
        self._note_whole()
        return self.parsed.driver(self, instances=instances)

    def _note_whole(self) -> None:
        """Say so if the language's programs cannot be evaluated in parts."""
        if self.parallel > 1 and not self.parsed.parallel:
            self.warnings.append(
                f"{self.program} is evaluated in one process: {self.parsed.called} are not cut "
                "into parts; leave `--parallel` out"
            )

    def run(self, reasoner: Driver) -> Iterator[Evaluation]:
        """Push the recording through a reasoner; what is wrong with items is noted."""
        for evaluation in self._evaluations(reasoner):
            # Limits are on each evaluation, and after the last item many may follow.
            budget.progressed()
            yield evaluation

    def _evaluations(self, reasoner: Driver) -> Iterator[Evaluation]:
        until = self.parse_time("--until", self.until)
        start = self.first
        lateness = self.request.lateness
        for item in self._items():
            self._agree()
            reasoner.unix = self.form == "iso"
            if start is not None and item.time < start:
                continue
            # Beyond `--until` by more than the lateness: nothing that follows could still count.
            if until is not None and item.time - lateness > until:
                break
            self.reached = item.position
            budget.progressed()
            yield from _up_to(until, reasoner.push(item))
            self._note_items(reasoner)
        if self.has_times:
            yield from reasoner.finish(until)
        else:
            yield reasoner.once()
        self._note_items(reasoner)

    def _items(self) -> Iterator[Item]:
        """The recording; where it may be revised, as it is in the end, in order."""
        if self.horizon is None:
            yield from self._recording
            return
        first = self.first
        items = Ordered(self.horizon, BEGINNING if first is None else first)
        for line in self._recording.lines():
            try:
                items.take(line)
            except ItemError as error:
                self._note_left_out(line.position, error)
        self._line_of = items.line_of
        yield from items.between(None, None)

    def results(self, *, deltas: bool = False) -> Iterator[dict[str, Any]]:
        """The result object of every evaluation (docs/reason.md), with what came and went in
        `added` and `removed` if wanted, and of RIF the instances in `entailed` and `negated`;
        raises `SolvingError` then where there are several answer sets. Where items may be
        revised, results that change come again."""
        if self.horizon is not None:
            yield from self._revised_results(self.horizon, deltas=deltas)
            return
        changes = Deltas(lambda evaluation: several(evaluation, self.time(evaluation)))
        with self._reasoning(instances=deltas) as reasoner:
            for evaluation in self._noted(reasoner):
                values = result(evaluation, self.time(evaluation))
                if deltas and evaluation.error is None:
                    values["added"], values["removed"] = map(list, changes.of(evaluation))
                    values |= reasoner.instances(evaluation, self.format_time)
                yield values

    def items(self, operator: Operator, stream: str = "") -> Iterator[Item | Line]:
        """The answers as the items of a stream (thesis, Definition 4.7; of RIF P and N); where
        items may be revised, as lines that are corrected and withdrawn later."""
        if self.horizon is not None:
            yield from self._revised_items(self.horizon, operator, stream)
            return
        with self._reasoning(instances=operator != "rstream") as reasoner:
            yield from reasoner.emitted(self._noted(reasoner), operator, stream)

    def _revised_results(self, horizon: int, *, deltas: bool) -> Iterator[dict[str, Any]]:
        with self._revising(horizon, instances=deltas) as revising:
            several: dict[int, str] = {}
            for results in self._pushed(revising):
                for found in results:
                    values = described(found, revising.course, self.format_time, deltas=deltas)
                    self._note_several(several, found, values)
                    yield values
            self.problems += several.values()

    def _note_several(
        self, several: dict[int, str], found: Revision, values: Mapping[str, Any]
    ) -> None:
        """Keep why the deltas of a time cannot be told, as long as they cannot."""
        if found.evaluation is not None and found.evaluation.error is None and "error" in values:
            several[found.time] = values["error"]
        else:
            several.pop(found.time, None)

    def _revised_items(self, horizon: int, operator: Operator, stream: str) -> Iterator[Line]:
        with self._revising(horizon, instances=operator != "rstream") as revising:
            emission = Emission(revising, operator, stream)
            for _results in self._pushed(revising):
                yield from emission.lines()
            self.problems += emission.ambiguous.values()

    @contextmanager
    def _revising(self, horizon: int, *, instances: bool) -> Iterator[Revising]:
        first = self.first
        if first is None:
            raise RecordedError("items that are revised need a time to begin with: give --from")
        if self.models:
            raise RecordedError(
                "--models gives any of the answer sets, which a revision may not: leave it out"
            )
        self._note_whole()
        until = self.parse_time("--until", self.until)
        with self.parsed.course(self, first, until, instances=instances) as course:
            revising = Revising(course, horizon)
            self._line_of = revising.items.line_of
            yield revising

    def _pushed(self, revising: Revising) -> Iterator[list[Revision]]:
        """Push the recording line by line; what is wrong with lines is noted."""
        until = self.parse_time("--until", self.until)
        # From here on nothing can change an evaluation that is asked for.
        over = None if until is None else until + max(self.request.lateness, revising.items.horizon)
        agreed = False
        for line in self._recording.lines():
            if not agreed and (isinstance(line, Item) or line.item is not None):
                self._agree()
                # A recording writes all its times as its first one.
                agreed, revising.course.unix = True, self.form == "iso"
            self.reached = line.position
            budget.progressed()
            results = revising.push(line)
            # Most lines only wait for the next time.
            if results or revising.touched or revising.left_out:
                yield self._noting(revising, results)
            newest = revising.items.newest
            if over is not None and newest is not None and newest > over:
                break
        yield self._noting(revising, revising.finish())

    def _noting(self, revising: Revising, results: list[Revision]) -> list[Revision]:
        """The results; what went wrong on the way to them is noted."""
        self._note_plan()
        for line, error in revising.left_out:
            self._note_left_out(line.position, error)
        revising.left_out.clear()
        for position, (_item, why) in revising.refused.items():
            self.problems.append(f"{self.source(position)}: {why}")
        revising.refused.clear()
        for evaluation in revising.failed:
            self.problems.append(f"at {self.time(evaluation)}: {evaluation.error}")
        revising.failed.clear()
        return results

    def _note_left_out(self, position: int, error: ItemError) -> None:
        where = self._recording.source(position)
        if isinstance(error, BeyondError):
            self.late.add(position)
            behind = f"{error.behind}{self.request.unit}"
            self.warnings.append(
                f"{where}: is {behind} behind the newest time and is left out; with "
                f"`--revise {behind}` it would count"
            )
        else:
            self.problems.append(f"{where}: {error}; withdraw what has come and counts")

    def time(self, evaluation: Evaluation) -> int | str | None:
        """When it was, as the recording writes times; None where there are no streams."""
        return self.format_time(evaluation.time) if self.request.streams else None

    def format_time(self, time: int) -> int | str:
        """A time as the recording writes times."""
        return format_time(time, self.request.unit, self.form)

    def parse_time(self, option: str, given: int | str | None) -> int | None:
        """A time that was given as the recording writes times, in the request's unit.

        Raises `RecordedError` that names `option`.
        """
        if given is None:
            return None
        try:
            return read_time(given, self.request.unit)
        except ItemError as error:
            raise RecordedError(f"{option}: {error}") from None

    def _noted(self, reasoner: Driver) -> Iterator[Evaluation]:
        for evaluation in self.run(reasoner):
            self._note_plan()
            if evaluation.error is not None:
                at = f"at {self.time(evaluation)}: " if self.request.streams else ""
                self.problems.append(f"{at}{evaluation.error}")
            yield evaluation

    def source(self, position: int) -> str:
        """`FILE:LINE` of an item that has been read; of one that was corrected, of the line that
        did."""
        return self._recording.source(self._line_of(position))

    def _check(self) -> None:
        if self.streams and not self.request.streams:
            raise MisusedError(
                f"{self.program} reads no stream, but {self.streams[0]} is given; declare "
                "one, e.g. `#from stream <http://example.org/s> [time 10s step 1s].`"
            )
        if why := self.parsed.unrunnable(streamed=bool(self.streams)):
            raise MisusedError(f"{self.program} {why}")
        if self.request.streams and not self.streams:
            given = (stream.iri for stream in self.request.streams)
            names = ", ".join(f"<{iri}>" if iri else "a stream" for iri in given)
            raise MisusedError(f"{self.program} reads {names}; give a recording: --stream FILE")
        for option, time in (("--from", self.start), ("--until", self.until)):
            if time is not None and not self.has_times:
                raise MisusedError(f"{option} {time}: {self._timeless()}")

    def _timeless(self) -> str:
        return f"{self.program} reads no stream, so it has no times; leave that out"

    def _agree(self) -> None:
        """See that times are given as the recording writes them."""
        for option, given in (("--from", self.start), ("--until", self.until)):
            if given is not None and isinstance(given, str) != (self.form == "iso"):
                expected = "integers" if self.form == "integer" else "ISO 8601"
                raise RecordedError(f"{option} {given}: the recording's times are {expected}")

    def supplied(self) -> frozenset[Signature]:
        """What the recording supplies, where that decides what is shown (docs/reason.md)."""
        request = self.request
        if request.sees_now and not request.inputs:
            return self._read_ahead()
        if request.shows or request.shows_terms or request.inputs:
            return frozenset()
        return self._read_ahead()

    def _read_ahead(self) -> frozenset[Signature]:
        request = self.request
        # What is shown depends on which predicates the stream supplies at all, so the recording
        # is read once before; standard input cannot be.
        for path in self.streams:
            if not path.is_file():
                self.warnings.append(
                    f"{path} can be read once only: what is printed, where nothing is shown, and "
                    "whether `now/1` is the time, follows from what came so far; declare it, e.g. "
                    "`#show p/1.`, `#input q/1.`"
                )
                return frozenset()
        encoder = Encoder(request)
        for item in self._counting():
            # What has no value is noted when its window is evaluated.
            with suppress(ItemError):
                encoder.facts(item)
        return encoder.supplied

    def _counting(self) -> Iterator[Item]:
        """The items of the recording; where they may be revised, those that count in the end."""
        recording = Recording(self.streams, self.request, lambda _error: None)
        if self.horizon is None:
            yield from recording
            return
        items, lines = Ordered(self.horizon, BEGINNING), recording.lines()
        streams = frozenset(stream.iri for stream in self.request.streams)
        while some := list(islice(lines, _MANY)):
            pending = iter(some)
            while (line := items.extend(pending, streams)) is not None:
                with suppress(ItemError):
                    items.take(line)
            if items.settled is not None:
                yield from items.between(None, items.settled)
                items.forget(items.settled, items.settled, lambda _item: False)
        yield from items.between(None, None)

    def _note(self, error: ItemError) -> None:
        self.problems.append(str(error))

    def _note_plan(self) -> None:
        """Say once if what was to be evaluated in parallel cannot be."""
        if self.cut and (why := self.cut.refusals):
            decisive = [reason for reason in why if reason.rules] or why
            shown = sorted(decisive, key=lambda reason: not reason.listed)[:_REASONS]
            hidden = len(decisive) - len(shown)
            lines = [
                f"{self.program} is evaluated in one process, for it cannot be cut:",
                *(reason.at(str(self.program)) for reason in shown),
                *([f"and {hidden} more reasons"] if hidden else []),
                "leave `--parallel` out, or join what these rules read by one argument",
                f"`citywise plan {self.program}` says more",
            ]
            self.warnings.append("\n  ".join(lines))
        self.cut = None

    def _note_items(self, reasoner: Driver) -> None:
        for position, (_item, problem) in reasoner.refused.items():
            self.problems.append(f"{self.source(position)}: {problem}")
        reasoner.refused.clear()
        for item in reasoner.late:
            self.late.add(item.position)
            behind = f"{(reasoner.stream_time or 0) - item.time}{self.request.unit}"
            cure = self.parsed.in_time(behind)
            self.warnings.append(
                f"{self.source(item.position)}: came {behind} too late and is left out; {cure}"
            )
        reasoner.late.clear()


def _up_to(until: int | None, evaluations: Iterator[Evaluation]) -> Iterator[Evaluation]:
    for evaluation in evaluations:
        if until is None or evaluation.time <= until:
            yield evaluation
