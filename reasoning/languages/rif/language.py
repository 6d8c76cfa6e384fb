"""RIF-Core as a language of programs: its documents run, planned, checked and explained."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

from citywise.reasoning.errors import Finding, ItemError
from citywise.reasoning.explain.justifications import GivenFact
from citywise.reasoning.explain.rows import PastFacts
from citywise.reasoning.explain.tree import ItemOrigin, Origin, Outside, OutsideReason, TreeNode
from citywise.reasoning.languages.rif import check, parsing
from citywise.reasoning.languages.rif.document import Document
from citywise.reasoning.languages.rif.explaining import FactExplainer, fact_of
from citywise.reasoning.languages.rif.names import FactNames, request
from citywise.reasoning.languages.rif.reasoner import RifCourse, RifEvaluation, RifReasoner
from citywise.reasoning.languages.rif.theory import Theory, theory
from citywise.reasoning.model.engine import AnswerSet
from citywise.reasoning.model.rules import Fact
from citywise.reasoning.partition.plan import Form, PlanName
from citywise.reasoning.rdf.knowledge import Background
from citywise.reasoning.run.course import Course
from citywise.reasoning.run.explained import (
    MOST_OUTSIDE,
    Explains,
    RecordedExplainer,
    SeenEvaluation,
    Sought,
)
from citywise.reasoning.run.language import Driver, Language, ProgramFile, RecordedError
from citywise.reasoning.run.recorded import Recorded
from citywise.reasoning.streams.items import Item


class RifExplainer(RecordedExplainer):
    """Explains an evaluation of a run of a document of RIF; see `RecordedExplainer`."""

    def __init__(
        self,
        program: RifProgram,
        run: Recorded,
        at: int | str | None,
        number: int = 1,
        evaluation: int | None = None,
    ) -> None:
        self._program = program
        super().__init__(run, at, number, evaluation)

    def _background(self) -> Background:
        """Nothing: knowledge bases are read with what the document imports."""
        return Background()

    def _seek(self, sought: Sought) -> None:
        """See `RecordedExplainer`; what the stream gives is remembered on the way."""
        run = self._run
        self._theory = self._program.theory(run)
        window = self._program.document.window
        self._range = None if window is None else window.range
        self._arrived: list[Item] = []
        self._entailed: dict[Fact, int] = {}
        refused: dict[int, str] = {}
        reasoner = self._program.reasoner(run, self._theory)
        self._names = reasoner.names
        for evaluation in run.run(reasoner):
            if sought.passes(evaluation):
                return
            assert isinstance(evaluation, RifEvaluation)
            self._note(evaluation)
            refused |= {place: why for place, (_item, why) in reasoner.refused.items()}
            if sought.wants(evaluation):
                sought.found = SeenEvaluation(evaluation, {}, {}, refused, frozenset(), 0)
                if sought.time is not None:
                    return  # there is one evaluation at each instant

    def _seen_evaluation(self, sought: Sought) -> SeenEvaluation:
        """See `RecordedExplainer`; an instant that contradicts itself can be explained."""
        seen = sought.found
        self._inconsistent = False
        if seen is None or seen.evaluation.error is None:
            return super()._seen_evaluation(sought)
        if self._at_instant(seen.evaluation.time).is_inconsistent():
            self._inconsistent = True
            sought.found = replace(seen, evaluation=replace(seen.evaluation, error=None))
        return super()._seen_evaluation(sought)

    def _note(self, evaluation: RifEvaluation) -> None:
        """Note what arrived, and what is entailed no more."""
        self._arrived += evaluation.items
        for fact in evaluation.came:
            self._entailed.pop(fact, None)
        for fact in sorted(evaluation.gone, key=repr):  # the order in which they are told
            if len(self._entailed) >= MOST_OUTSIDE:
                del self._entailed[next(iter(self._entailed))]
            self._entailed[fact] = evaluation.time - 1

    def _explainer(self, _answer: AnswerSet | None) -> Explains:
        """See `RecordedExplainer`."""
        return self._at_instant(self.evaluation.time, inconsistent=self._inconsistent)

    def _at_instant(self, now: int, *, inconsistent: bool = False) -> FactExplainer:
        """What explains facts at an instant up to that of the evaluation."""
        run = self._run
        return FactExplainer(
            self._theory,
            self._counting(now),
            now if run.request.streams else None,
            names=self._names,
            time=run.format_time,
            past=self._past,
            inconsistent=inconsistent,
            limits=run.limits,
        )

    def _why(self, fact: Fact, time: int) -> TreeNode:
        """Why a fact was entailed at an instant."""
        return self._at_instant(time).why(fact)

    def _counting(self, now: int) -> dict[Fact, list[GivenFact]]:
        """The instances that count at an instant, each with the items that give it."""
        found: dict[tuple[Fact, int], tuple[int | None, list[Origin]]] = {}
        for item in self._arrived:
            last = self._last(item)
            if item.time <= now and (last is None or last >= now):
                origin = self._origin(item, self._run.source(item.position))
                for fact in self._facts(item):
                    until, origins = found.get((fact, item.time), (last, []))
                    longest = None if last is None or until is None else max(last, until)
                    found[fact, item.time] = longest, [*origins, origin]
        given: dict[Fact, list[GivenFact]] = defaultdict(list)
        for (fact, since), (until, origins) in found.items():
            given[fact].append(GivenFact(fact, since, until, tuple(origins)))
        return given

    def _last(self, item: Item) -> int | None:
        """The last instant at which an item counts."""
        return None if self._range is None else item.end + self._range - 1

    def _facts(self, item: Item) -> list[Fact]:
        if isinstance(item.content, str):
            return [self._names.fact(item.content)]
        return list(map(fact_of, item.content))

    def _origin(self, item: Item, source: str) -> ItemOrigin:
        """See `RecordedExplainer`; its end is the last instant at which it counts."""
        last, write = self._last(item), self._run.format_time
        return ItemOrigin(item, source, (write(item.time), None if last is None else write(last)))

    # -- what does not count ----------------------------------------------------------------

    def _past(self) -> PastFacts:
        """Items that do not count, and what was entailed."""
        now, write = self.evaluation.time, self._run.format_time
        window = self._range and (write(now - self._range + 1), write(now))
        found: defaultdict[Fact, list[Outside]] = defaultdict(list)
        others = ((*each, self._reason(each[0])) for each in self._items())
        for item, source, reason in islice((o for o in others if o[2]), MOST_OUTSIDE):
            assert reason is not None
            outside = self._left_out(item, source, reason, window or None)
            try:
                for fact in self._facts(item):
                    found[fact].append(outside)
            except ItemError:
                continue  # it is no fact
        return PastFacts(found, self._entailed, self._why)

    def _reason(self, item: Item) -> OutsideReason | None:
        """Why an item does not count; None if it does."""
        last = self._last(item)
        gone = last is not None and last < self.evaluation.time
        return self._missed(item) or ("too old" if gone else None)


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
