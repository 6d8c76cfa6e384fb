"""Plain LARS as a language of programs: run, planned, checked and explained."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from citywise.reasoning.engines.choosing import Choice
from citywise.reasoning.errors import Finding, ReasoningError, RequestError
from citywise.reasoning.languages.lars import parsing
from citywise.reasoning.languages.lars.compile import obstacle
from citywise.reasoning.languages.lars.incremental import IncrementalEvaluator
from citywise.reasoning.languages.lars.program import Evaluator, LarsProgram
from citywise.reasoning.languages.lars.reasoner import LarsCourse, LarsReasoner
from citywise.reasoning.languages.lars.solver import solver
from citywise.reasoning.limits import Limits
from citywise.reasoning.model.engine import Knowledge
from citywise.reasoning.partition.plan import Form, PlanName
from citywise.reasoning.run.course import Course
from citywise.reasoning.run.explained import RecordedExplainer
from citywise.reasoning.run.language import Driver, Language, ProgramFile
from citywise.reasoning.run.recorded import Recorded
from citywise.reasoning.streams.items import Encoder


class LoopError(ReasoningError):
    """A program is to be evaluated incrementally and cannot be: it is not stratified."""


def evaluator(
    program: LarsProgram,
    knowledge: Knowledge | None = None,
    limits: Limits | None = None,
    choice: Choice = "auto",
) -> Evaluator:
    """What evaluates a program: the incremental engine if it is stratified, else clingo.

    `incremental` raises `LoopError` for a program that is not, `solver` takes any.
    """
    if choice == "solver":
        return solver(program, knowledge, limits)
    why = obstacle(program)
    if why is None:
        return IncrementalEvaluator(program, knowledge, limits)
    if choice == "auto":
        return solver(program, knowledge, limits)
    raise LoopError(
        f"{program.request.name}: {why}, so it cannot be evaluated incrementally; "
        "use --engine auto or solver, or write the rules without that"
    )


class LarsFile(ProgramFile):
    """A program of plain LARS in a file; it is evaluated at every integer point of time."""

    called = "programs of plain LARS"
    timed = True

    def __init__(self, program: LarsProgram, path: Path) -> None:
        self.program = program
        self.request = program.request
        self._path = path

    @contextmanager
    def driver(self, run: Recorded, *, instances: bool = False) -> Iterator[Driver]:
        """See `ProgramFile`."""
        del instances  # its deltas tell of atoms only
        with closing(evaluator(self.program, run.background(), run.limits, run.engine)) as found:
            yield self.reasoner(run, self.program, found)

    @contextmanager
    def course(
        self, run: Recorded, start: int, until: int | None, *, instances: bool = False
    ) -> Iterator[Course]:
        """See `ProgramFile`."""
        del instances  # its deltas tell of atoms only
        knowledge, supplied = run.background(), run.supplied()
        with ExitStack() as open_ones:

            def make(encoder: Encoder) -> LarsReasoner:
                open_ones.close()
                made = evaluator(self.program, knowledge, run.limits, run.engine)
                open_ones.enter_context(closing(made))
                return LarsReasoner(
                    self.program, made, start=start, supplied=supplied, encoder=encoder
                )

            yield LarsCourse(self.program, make, start, until)

    def reasoner(self, run: Recorded, program: LarsProgram, found: Evaluator) -> LarsReasoner:
        """What evaluates a program over a run's recording; the evaluator is the caller's."""
        return LarsReasoner(
            program, found, start=run.first, models=run.models, supplied=run.supplied()
        )

    def plan(self, name: PlanName, form: Form) -> str:
        """See `ProgramFile`."""
        from citywise.reasoning.languages.lars.check import describe
        from citywise.reasoning.partition.description import printed

        del name  # it is evaluated as a whole
        return printed(describe(self.program, self._path), form)

    def explainer(
        self, run: Recorded, at: int | str | None, number: int = 1, evaluation: int | None = None
    ) -> RecordedExplainer:
        """See `ProgramFile`."""
        from citywise.reasoning.languages.lars.explaining import LarsExplainer

        return LarsExplainer(self, run, at, number, evaluation)


class Lars:
    """Programs of plain LARS (`.lars`)."""

    def read(self, path: Path, *, streamed: bool = True) -> LarsFile:
        """See `Language`."""
        del streamed  # it says itself which streams it reads
        return LarsFile(parsing.parse_file(path), path)

    def check(self, path: Path, *, partitioned: bool = False) -> list[Finding]:
        """See `Language`."""
        from citywise.reasoning.languages.lars.check import findings

        try:
            reading = parsing.read_file(path)
        except RequestError as error:
            return [Finding.of(error)]
        return findings(reading, partitioned=partitioned)


LANGUAGE: Language = Lars()
