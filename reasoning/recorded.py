"""A request over recorded streams: what a run of it would have answered, and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from reasoning.encoding import Encoder
from reasoning.engines.limits import UNLIMITED, Limits
from reasoning.engines.solver import Engine
from reasoning.errors import ItemError, ReasoningError
from reasoning.languages import casp
from reasoning.output import OutputStream
from reasoning.parallel.engine import ParallelEngine
from reasoning.parallel.processes import Processes
from reasoning.program import KnowledgeSource, Request, Signature
from reasoning.rdf.knowledge import Background, background
from reasoning.reasoner import Evaluation, Reasoner
from reasoning.recordings import Recording, TimeForm, format_time, read_time
from reasoning.results import result
from reasoning.streams import Item

Operator = Literal["rstream", "istream", "dstream"]
_LANGUAGES = {".casp": casp.parse_file, ".lp": casp.parse_file}


class RecordedError(ReasoningError):
    """A program, recording and times that do not go together."""


@dataclass
class Recorded:
    """A program with the streams, knowledge and bounds of one run.

    Parameters
    ----------
    program:
        File whose extension names the language: `.casp`, or `.lp` for ASP without streams.
    streams, knowledge:
        Stream files (DESIGN A4) and knowledge bases besides those the program names.
    start, until:
        First and last time, as the recording writes times; None: the first item's, the last
        item's.
    models:
        At most so many answer sets; 0: all.
    limits:
        On one evaluation; None evaluates in this process, without limits on its time.
    parallel:
        Evaluate in so many processes at the same time, where that is faster; 0: in one.
    """

    program: Path
    streams: Sequence[Path] = ()
    knowledge: Sequence[Path] = ()
    start: int | str | None = None
    until: int | str | None = None
    models: int = 0
    limits: Limits | None = field(default_factory=Limits)
    parallel: int = 0

    def __post_init__(self) -> None:
        self.request = read(self.program)
        self.problems: list[str] = []
        """What was wrong with items, so far; the caller may clear it."""
        self.warnings: list[str] = []
        """What is remarkable about items, so far; the caller may clear it."""
        self.late: set[int] = set()
        """Positions of the items that came too late, so far."""
        self.reached = -1
        """Position of the last item that has been pushed."""
        self._parallel: ParallelEngine | None = None
        self._check()
        self._recording = Recording(self.streams, self.request, self._note)

    @property
    def form(self) -> TimeForm:
        """How times are written in the recording, and so in results."""
        given = self.start if self.start is not None else self.until
        return self._recording.form or ("iso" if isinstance(given, str) else "integer")

    def background(self) -> Background:
        """The facts of the knowledge bases that the rules can see."""
        return background(self.request, [KnowledgeSource(str(path)) for path in self.knowledge])

    def reasoner(self, knowledge: Background, engine: Engine | None = None) -> Reasoner:
        """A reasoner of its own for this run; an `engine` that is given is the caller's."""
        return Reasoner(
            self.request,
            background=knowledge,
            start=self.parse_time("--from", self.start),
            models=self.models,
            limits=self.limits,
            engine=engine,
            supplied=self._supplied(),
        )

    def evaluations(self) -> Iterator[Evaluation]:
        """Every evaluation of the run, in order; why one failed is noted too."""
        with self._reasoning() as reasoner:
            yield from self._noted(reasoner)

    @contextmanager
    def _reasoning(self) -> Iterator[Reasoner]:
        """A reasoner whose processes end with the run."""
        knowledge = self.background()
        with ExitStack() as stack:
            if self.parallel > 1:
                self._parallel = ParallelEngine(
                    self.request,
                    knowledge,
                    self.limits or UNLIMITED,
                    executor=Processes(self.parallel),
                    partitions=self.parallel,
                )
                stack.enter_context(closing(self._parallel))
            yield stack.enter_context(self.reasoner(knowledge, self._parallel))

    def run(self, reasoner: Reasoner) -> Iterator[Evaluation]:
        """Push the recording through a reasoner; what is wrong with items is noted."""
        until = self.parse_time("--until", self.until)
        start = self.parse_time("--from", self.start)
        lateness = self.request.lateness
        for item in self._recording:
            self._agree()
            reasoner.unix = self.form == "iso"
            if start is not None and item.time < start:
                continue
            if until is not None and item.time - lateness > until:
                break
            self.reached = item.position
            yield from _up_to(until, reasoner.push(item))
            self._note_items(reasoner)
        yield from reasoner.finish(until) if self.request.streams else [reasoner.once()]
        self._note_items(reasoner)

    def results(self) -> Iterator[dict[str, Any]]:
        """The result object of every evaluation (DESIGN A4)."""
        for evaluation in self.evaluations():
            yield result(evaluation, self.time(evaluation))

    def items(self, operator: Operator, stream: str = "") -> Iterator[Item]:
        """The answers as the items of a stream (thesis, Definition 4.7)."""
        with self._reasoning() as reasoner:
            output = OutputStream(self.request, stream, reasoner.mapper)
            operators = {"rstream": output.rstream, "istream": output.istream}
            yield from operators.get(operator, output.dstream)(self._noted(reasoner))

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

    def _noted(self, reasoner: Reasoner) -> Iterator[Evaluation]:
        for evaluation in self.run(reasoner):
            self._note_plan()
            if evaluation.error is not None:
                at = f"at {self.time(evaluation)}: " if self.request.streams else ""
                self.problems.append(f"{at}{evaluation.error}")
            yield evaluation

    def source(self, position: int) -> str:
        """`FILE:LINE` of an item that has been read."""
        return self._recording.source(position)

    def _check(self) -> None:
        if self.streams and not self.request.streams:
            raise RecordedError(
                f"{self.program} reads no stream, but {self.streams[0]} is given; declare "
                "one, e.g. `#from stream <http://example.org/s> [time 10s step 1s].`"
            )
        if self.request.streams and not self.streams:
            names = ", ".join(f"<{stream.iri}>" for stream in self.request.streams)
            raise RecordedError(f"{self.program} reads {names}; give a recording: --stream FILE")

    def _agree(self) -> None:
        """See that times are given as the recording writes them."""
        for option, given in (("--from", self.start), ("--until", self.until)):
            if given is not None and isinstance(given, str) != (self.form == "iso"):
                expected = "integers" if self.form == "integer" else "ISO 8601"
                raise RecordedError(f"{option} {given}: the recording's times are {expected}")

    def _supplied(self) -> frozenset[Signature]:
        """What the recording supplies, where that decides what is shown (DESIGN A4)."""
        request = self.request
        if request.shows or request.shows_terms or request.inputs:
            return frozenset()
        for path in self.streams:
            if not path.is_file():
                self.warnings.append(
                    f"{path} can be read once only: what is printed, where nothing is shown, "
                    "follows from what came so far; declare it, e.g. `#show p/1.`"
                )
                return frozenset()
        encoder = Encoder(request)
        for item in Recording(self.streams, request, lambda _error: None):
            try:
                encoder.facts(item)
            except ItemError:
                continue  # it is noted when its window is evaluated
        return encoder.supplied

    def _note(self, error: ItemError) -> None:
        self.problems.append(str(error))

    def _note_plan(self) -> None:
        """Say once if what was to be evaluated in parallel cannot be."""
        if self._parallel and (why := self._parallel.refusal):
            self.warnings.append(
                f"{self.program} is evaluated in one process, for it cannot be cut: {why}; "
                f"`citywise plan {self.program}` says more"
            )
        self._parallel = None

    def _note_items(self, reasoner: Reasoner) -> None:
        for position, (_item, problem) in reasoner.refused.items():
            self.problems.append(f"{self.source(position)}: {problem}")
        reasoner.refused.clear()
        for item in reasoner.late:
            self.late.add(item.position)
            behind = f"{(reasoner.stream_time or 0) - item.time}{self.request.unit}"
            self.warnings.append(
                f"{self.source(item.position)}: came {behind} too late and is left out; "
                f"with `#lateness {behind}.` it would count"
            )
        reasoner.late.clear()


def read(program: Path) -> Request:
    """The request in a file; its extension names the language."""
    reader = _LANGUAGES.get(program.suffix)
    if reader is None:
        known = ", ".join(_LANGUAGES)
        raise RecordedError(f"{program}: `{program.suffix}` is no language of ours; use {known}")
    return reader(program)


def _up_to(until: int | None, evaluations: Iterator[Evaluation]) -> Iterator[Evaluation]:
    for evaluation in evaluations:
        if until is None or evaluation.time <= until:
            yield evaluation
