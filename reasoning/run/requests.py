"""Programs that are requests: evaluated by ticks of windows, cut, and explained as C-ASP is.

A language that compiles into requests gets `reason`, `check`, `plan` and `explain` from here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from citywise.reasoning.asp.translation.program import UnsupportedError
from citywise.reasoning.engines.choosing import engine_for
from citywise.reasoning.errors import Finding, RequestError
from citywise.reasoning.limits import UNLIMITED
from citywise.reasoning.model.engine import Engine
from citywise.reasoning.model.request import Request
from citywise.reasoning.partition.engine import ParallelEngine
from citywise.reasoning.partition.executors import Processes
from citywise.reasoning.partition.plan import Form, Name
from citywise.reasoning.rdf.knowledge import Background
from citywise.reasoning.run.explained import RecordedExplainer
from citywise.reasoning.run.language import Driver, ProgramFile, RecordedError
from citywise.reasoning.run.recorded import Recorded


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

    def plan(self, name: Name, form: Form) -> str:
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
