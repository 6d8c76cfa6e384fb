"""RIF-Core as a language of programs: its documents run, planned, checked and explained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from citywise.reasoning.errors import Finding
from citywise.reasoning.languages.rif import check, parsing
from citywise.reasoning.languages.rif.document import Document
from citywise.reasoning.languages.rif.names import FactNames, request
from citywise.reasoning.languages.rif.reasoner import RifCourse, RifReasoner
from citywise.reasoning.languages.rif.theory import Theory, theory
from citywise.reasoning.partition.plan import Form, PlanName
from citywise.reasoning.run.course import Course
from citywise.reasoning.run.explained import RecordedExplainer
from citywise.reasoning.run.language import Driver, Language, ProgramFile, RecordedError
from citywise.reasoning.run.recorded import Recorded


class RifProgram(ProgramFile):
    """A document of RIF; it reads a stream if it is given one."""

    called = "documents of RIF"

    def __init__(self, document: Document, *, streamed: bool) -> None:
        self.document = document
        self.request = request(document, streamed=streamed)

    def theory(self, run: Recorded) -> Theory:
        """The document with its imports and the knowledge bases of a run."""
        return theory(self.document, run.sources())

    def reasoner(self, run: Recorded, theory: Theory, *, instances: bool = False) -> RifReasoner:
        """What evaluates a theory over a run's recording."""
        return RifReasoner(theory, start=run.first, instances=instances, limits=run.limits)

    @contextmanager
    def course(
        self, run: Recorded, start: int, until: int | None, *, instances: bool = False
    ) -> Iterator[Course]:
        """See `ProgramFile`."""
        self._check(run)
        found = self.theory(run)
        names = FactNames(found.document, found.rules)

        def make() -> RifReasoner:
            return RifReasoner(
                found, start=start, instances=instances, limits=run.limits, names=names
            )

        yield RifCourse(found, names, make, start, until, instances=instances)

    @contextmanager
    def driver(self, run: Recorded, *, instances: bool = False) -> Iterator[Driver]:
        """See `ProgramFile`."""
        self._check(run)
        yield self.reasoner(run, self.theory(run), instances=instances)

    @staticmethod
    def _check(run: Recorded) -> None:
        if run.engine == "solver":
            raise RecordedError(
                f"{run.program} is a document of RIF, which the incremental engine evaluates: "
                "take `--engine auto` or leave it out"
            )

    def plan(self, name: PlanName, form: Form) -> str:
        """See `ProgramFile`: the network of its joins."""
        from citywise.reasoning.languages.rif.description import describe, to_dot, to_json, to_text

        del name  # there is one
        found = describe(theory(self.document))
        if form == "json":
            return json.dumps(to_json(found), indent=2) + "\n"
        return to_dot(found) if form == "dot" else to_text(found)

    def explainer(
        self, run: Recorded, at: int | str | None, number: int = 1, evaluation: int | None = None
    ) -> RecordedExplainer:
        """See `ProgramFile`."""
        from citywise.reasoning.languages.rif.explaining import RifExplainer

        return RifExplainer(self, run, at, number, evaluation)

    def unrunnable(self, *, streamed: bool) -> str | None:
        """See `ProgramFile`."""
        if self.document.window and not streamed:
            return "has a window on a stream; give a recording: --stream FILE"
        return None


class Rif:
    """Documents in presentation syntax (`.rifps`) and XML (`.rif`)."""

    def read(self, path: Path, *, streamed: bool = True) -> RifProgram:
        """See `Language`."""
        return RifProgram(parsing.parse_file(path), streamed=streamed)

    def check(self, path: Path, *, partitioned: bool = False) -> list[Finding]:
        """See `Language`; RIF-Core has no negation."""
        del partitioned
        return check.findings(path)


LANGUAGE: Language = Rif()
