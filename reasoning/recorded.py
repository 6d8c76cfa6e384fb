"""A request over recorded streams: what a run of it would have answered, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reasoning.encoding import Encoder
from reasoning.engines.incremental.casp import UnsupportedError
from reasoning.engines.incremental.choosing import Choice, engine_for
from reasoning.engines.limits import UNLIMITED, Limits
from reasoning.engines.solver import Engine
from reasoning.errors import ItemError, ReasoningError
from reasoning.languages import casp, lars, rif
from reasoning.lars import choosing
from reasoning.lars.evaluation import Evaluator
from reasoning.lars.program import LarsProgram
from reasoning.lars.reasoner import LarsReasoner
from reasoning.output import Operator, OutputStream
from reasoning.parallel.engine import ParallelEngine
from reasoning.parallel.processes import Processes
from reasoning.program import KnowledgeSource, Request, Signature
from reasoning.rdf.knowledge import Background, background
from reasoning.reasoner import Evaluation, Reasoner
from reasoning.recordings import Recording, TimeForm, format_time, read_time
from reasoning.results import Deltas, result, several
from reasoning.rif.document import Document
from reasoning.rif.names import request
from reasoning.rif.output import described, emitted
from reasoning.rif.reasoner import RifEvaluation, RifReasoner
from reasoning.rif.theory import Theory, theory
from reasoning.streams import Item

AnyReasoner = Reasoner | LarsReasoner | RifReasoner
"""What a recording can be pushed through."""
AnyProgram = Request | LarsProgram | Document
"""What a file can hold."""
_LANGUAGES: dict[str, Callable[[Path], AnyProgram]] = {
    ".casp": casp.parse_file,
    ".lp": casp.parse_file,
    ".lars": lars.parse_file,
    **dict.fromkeys(rif.SUFFIXES, rif.parse_file),
}


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

    def __post_init__(self) -> None:
        found = _parsed(self.program)
        self.lars = found if isinstance(found, LarsProgram) else None
        """The program, if it is one of plain LARS."""
        self.rif = found if isinstance(found, Document) else None
        """The program, if it is a document of RIF."""
        self.request = _request(found, streamed=bool(self.streams))
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

    def theory(self, document: Document) -> Theory:
        """A document of RIF with its imports and the knowledge bases of the run."""
        return theory(document, [KnowledgeSource(str(path)) for path in self.knowledge])

    def evaluations(self) -> Iterator[Evaluation]:
        """Every evaluation of the run, in order; why one failed is noted too."""
        with self._reasoning() as reasoner:
            yield from self._noted(reasoner)

    def lars_reasoner(self, program: LarsProgram, evaluator: Evaluator) -> LarsReasoner:
        """A reasoner of its own for this run of a program of plain LARS; the evaluator is the
        caller's."""
        return LarsReasoner(
            program,
            evaluator,
            start=self.parse_time("--from", self.start),
            models=self.models,
            supplied=self._supplied(),
        )

    def rif_reasoner(self, theory: Theory, *, instances: bool = False) -> RifReasoner:
        """A reasoner of its own for this run of a document of RIF."""
        start = self.parse_time("--from", self.start)
        return RifReasoner(theory, start=start, instances=instances, limits=self.limits)

    @contextmanager
    def _reasoning(self, *, instances: bool = False) -> Iterator[AnyReasoner]:
        """A reasoner whose processes end with the run; of RIF one that tells of instances, if
        they are wanted."""
        if self.rif is not None:
            self._note_parallel()
            self._refuse_solver()
            yield self.rif_reasoner(self.theory(self.rif), instances=instances)
            return
        knowledge = self.background()
        with ExitStack() as stack:
            if self.lars is not None:
                self._note_parallel()
                found = choosing.evaluator(self.lars, knowledge, self.limits, self.engine)
                stack.enter_context(closing(found))
                yield self.lars_reasoner(self.lars, found)
                return
            engine = stack.enter_context(closing(self._engine(knowledge)))
            yield stack.enter_context(self.reasoner(knowledge, engine))

    def _engine(self, knowledge: Background) -> Engine:
        try:
            if self.parallel < 2:
                return engine_for(self.request, knowledge, self.limits, self.engine)
            self._parallel = ParallelEngine(
                self.request,
                knowledge,
                self.limits or UNLIMITED,
                executor=Processes(self.parallel),
                partitions=self.parallel,
                engine=self.engine,
            )
        except UnsupportedError as error:
            raise RecordedError(
                f"{self.program}: {error}; the incremental engine evaluates stratified programs "
                "(docs/engines.md): take `--engine auto` or `--engine solver`"
            ) from None
        return self._parallel

    def run(self, reasoner: AnyReasoner) -> Iterator[Evaluation]:
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
        if self.request.streams or isinstance(reasoner, LarsReasoner):
            yield from reasoner.finish(until)
        else:
            yield reasoner.once()
        self._note_items(reasoner)

    def results(self, *, deltas: bool = False) -> Iterator[dict[str, Any]]:
        """The result object of every evaluation (DESIGN A4), with what came and went in
        `added` and `removed` if wanted, and of RIF the instances in `entailed` and `negated`;
        raises `SolvingError` then where there are several answer sets."""
        changes = Deltas(lambda evaluation: several(evaluation, self.time(evaluation)))
        with self._reasoning(instances=deltas) as reasoner:
            for evaluation in self._noted(reasoner):
                values = result(evaluation, self.time(evaluation))
                if deltas and evaluation.error is None:
                    values["added"], values["removed"] = map(list, changes.of(evaluation))
                    values |= self._instances(reasoner, evaluation)
                yield values

    def _instances(self, reasoner: AnyReasoner, evaluation: Evaluation) -> dict[str, Any]:
        if not isinstance(evaluation, RifEvaluation) or not isinstance(reasoner, RifReasoner):
            return {}
        streams = {"entailed": evaluation.entailed, "negated": evaluation.negated}
        names, write = reasoner.names, self.format_time
        return {name: described(found, names, write) for name, found in streams.items()}

    def items(self, operator: Operator, stream: str = "") -> Iterator[Item]:
        """The answers as the items of a stream (thesis, Definition 4.7; of RIF P and N)."""
        with self._reasoning(instances=operator != "rstream") as reasoner:
            if isinstance(reasoner, RifReasoner):
                yield from emitted(self._noted(reasoner), operator, reasoner.names, stream)
                return
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

    def _noted(self, reasoner: AnyReasoner) -> Iterator[Evaluation]:
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
        if self.rif is not None and self.rif.window and not self.streams:
            raise RecordedError(
                f"{self.program} has a window on a stream; give a recording: --stream FILE"
            )
        if self.request.streams and not self.streams:
            given = (stream.iri for stream in self.request.streams)
            names = ", ".join(f"<{iri}>" if iri else "a stream" for iri in given)
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

    def _note_parallel(self) -> None:
        """Say that what is no C-ASP is not evaluated in parallel, if that is wanted."""
        if self.parallel > 1:
            which = "programs of plain LARS" if self.lars else "documents of RIF"
            self.warnings.append(
                f"{self.program} is evaluated in one process: {which} are not cut "
                "into parts; leave `--parallel` out"
            )

    def _refuse_solver(self) -> None:
        if self.engine == "solver":
            raise RecordedError(
                f"{self.program} is a document of RIF, which the incremental engine evaluates: "
                "take `--engine auto` or leave it out"
            )

    def _note_items(self, reasoner: AnyReasoner) -> None:
        for position, (_item, problem) in reasoner.refused.items():
            self.problems.append(f"{self.source(position)}: {problem}")
        reasoner.refused.clear()
        for item in reasoner.late:
            self.late.add(item.position)
            behind = f"{(reasoner.stream_time or 0) - item.time}{self.request.unit}"
            cure = (
                "sort the recording"
                if self.lars or self.rif
                else f"with `#lateness {behind}.` it would count"
            )
            self.warnings.append(
                f"{self.source(item.position)}: came {behind} too late and is left out; {cure}"
            )
        reasoner.late.clear()


def read(program: Path) -> Request:
    """The request in a file; its extension names the language. Of a program of plain LARS
    and of a document of RIF what it says of streams, terms and knowledge."""
    return _request(_parsed(program))


def _request(program: AnyProgram, *, streamed: bool = True) -> Request:
    """The request of a program; a document of RIF reads a stream if it is given one."""
    if isinstance(program, Document):
        return request(program, streamed=streamed)
    return program if isinstance(program, Request) else program.request


def _parsed(program: Path) -> AnyProgram:
    reader = _LANGUAGES.get(program.suffix)
    if reader is None:
        known = ", ".join(_LANGUAGES)
        raise RecordedError(f"{program}: `{program.suffix}` is no language of ours; use {known}")
    return reader(program)


def _up_to(until: int | None, evaluations: Iterator[Evaluation]) -> Iterator[Evaluation]:
    for evaluation in evaluations:
        if until is None or evaluation.time <= until:
            yield evaluation
