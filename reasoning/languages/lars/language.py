"""Plain LARS as a language of programs: run, planned, checked and explained.

To be explained a program is encoded for one point of time (`reasoning.languages.lars.encoding`);
what windows see of the data are facts, with the stream items that gave them. The tree that explains
an atom over these is written in the notation of LARS (`reasoning.languages.lars.notation`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

from citywise.reasoning.engines.choosing import Choice
from citywise.reasoning.errors import Finding, ItemError, ReasoningError, RequestError
from citywise.reasoning.explain.explanation import Explainer
from citywise.reasoning.explain.tree import FedBack, Origin, Outside, OutsideReason
from citywise.reasoning.languages.lars import parsing
from citywise.reasoning.languages.lars import solver as data
from citywise.reasoning.languages.lars.compile import obstacle
from citywise.reasoning.languages.lars.encoding import (
    Encoding,
)
from citywise.reasoning.languages.lars.incremental import IncrementalEvaluator
from citywise.reasoning.languages.lars.notation import LarsNotation
from citywise.reasoning.languages.lars.program import (
    Evaluator,
    LarsProgram,
    LarsWindow,
    LastTuples,
    TimeSpan,
    shown,
)
from citywise.reasoning.languages.lars.reasoner import LarsCourse, LarsReasoner
from citywise.reasoning.languages.lars.solver import GroundAtom, History, Tuple, solver, split
from citywise.reasoning.limits import Limits
from citywise.reasoning.model.atoms import call
from citywise.reasoning.model.engine import AnswerSet, Knowledge
from citywise.reasoning.model.request import Request
from citywise.reasoning.partition.plan import Form, PlanName
from citywise.reasoning.run.course import Course
from citywise.reasoning.run.explained import (
    MOST_OUTSIDE,
    Explains,
    RecordedExplainer,
    SeenEvaluation,
    Sought,
    WindowSpan,
    facts_as_written,
)
from citywise.reasoning.run.language import Driver, Language, ProgramFile
from citywise.reasoning.run.recorded import Recorded
from citywise.reasoning.streams.items import Encoder, Item
from citywise.reasoning.streams.results import Evaluation


class LarsExplainer(RecordedExplainer):
    """Explains an evaluation of a run of a program of plain LARS; see `RecordedExplainer`."""

    def __init__(
        self,
        file: LarsFile,
        run: Recorded,
        at: int | str | None,
        number: int = 1,
        evaluation: int | None = None,
    ) -> None:
        self._file = file
        program = self._program = file.program
        if program.streamed:
            shows = program.derived if program.shows is None else program.shows
            program = replace(program, shows=shows | program.streamed)
        self._watched_program = program
        seen = Encoding(program).seen
        self._history = History({each.window for each in seen}, {each.signature for each in seen})
        self._fed_back: set[Tuple] = set()
        self._givers: dict[str, list[Item]] = {}
        self._refused: dict[int, str] = {}
        self._encoder = Encoder(run.request)
        super().__init__(run, at, number, evaluation)

    def _seek(self, sought: Sought) -> None:
        """See `RecordedExplainer`; the data stream is remembered on the way."""
        run, program = self._run, self._watched_program
        with closing(evaluator(program, self._knowledge, run.limits, run.engine)) as found:
            reasoner = self._file.reasoner(run, program, found)
            for evaluation in run.run(reasoner):
                if sought.passes(evaluation):
                    return
                self._note(evaluation, reasoner)
                if sought.wants(evaluation):
                    sought.found = self._look(evaluation, reasoner)
                    if sought.time is not None:
                        return  # there is one evaluation at each point of time
                self._feed_back(evaluation)

    def _note(self, evaluation: Evaluation, reasoner: LarsReasoner) -> None:
        """Note what has arrived, and which atoms the items give."""
        point = reasoner.point
        self._history.begin(point.time)
        self._history.arrive(map(split, point.arrivals), point.readings)
        self._refused |= {position: why for position, (_i, why) in reasoner.refused.items()}
        for item in evaluation.items:
            with contextlib.suppress(ItemError):
                for atom in self._encoder.facts(item):
                    self._givers.setdefault(atom, []).append(item)

    def _feed_back(self, evaluation: Evaluation) -> None:
        """Take what `#stream` makes part of the data, after the answer has been looked at."""
        streamed, answers = self._program.streamed, evaluation.answer_sets
        if streamed and len(answers) == 1:
            atoms = (atom for atom in map(split, answers[0].atoms) if atom.signature in streamed)
            new = self._history.arrive(atoms)
            self._fed_back.update(Tuple(evaluation.time, atom) for atom in new)

    def _look(self, evaluation: Evaluation, reasoner: LarsReasoner) -> SeenEvaluation:
        """What there is to know of an evaluation, just after it."""
        program = self._watched_program
        known = self._knowledge.supplied
        encoding = Encoding(program, known, shown(program, known | reasoner.supplied))
        encoding.now |= {seen.signature for seen in encoding.seen}
        self._encoding, refused = encoding, dict(self._refused)
        return SeenEvaluation(evaluation, self._facts_given(), {}, refused, reasoner.supplied, 0)

    def _facts_given(self) -> dict[str, tuple[Origin, ...]]:
        """The facts of the encoding, and what gave them."""
        encoding, history = self._encoding, self._history
        found: dict[str, list[Origin]] = {fact: [] for fact in data.times(encoding, history)}
        for fact, tuples in data.holding(encoding, history).items():
            origins = (o for each in tuples for o in self._giving(each))
            found[fact] = list(dict.fromkeys(origins))
        for fact, known in self._knowledge.origins.items():
            found.setdefault(fact, []).extend(known)
        for fact, as_it_is in data.background(encoding, self._knowledge.text):
            found[fact] = list(self._knowledge.origins.get(as_it_is, ()))
        return {fact: tuple(origins) for fact, origins in found.items()}

    def _giving(self, what: Tuple) -> Iterator[Origin]:
        """What made an atom hold at a point of time."""
        for item in self._givers.get(what.atom.text, ()):
            if item.time <= what.time <= item.end:
                yield self._origin(item, self._run.source(item.position))
        if what in self._fed_back:
            yield FedBack(self._run.format_time(what.time))

    def _explainer(self, answer: AnswerSet | None) -> Explains:
        """See `RecordedExplainer`; its explanations are in the notation of LARS."""
        encoding, seen = self._encoding, self._seen
        request = Request(
            self._program.request.name, encoding.rules,
            shows=encoding.shown, derived=self._program.derived,
        )  # fmt: skip
        return Explainer(
            request,
            seen.facts,
            time=self._run.time(seen.evaluation),
            answer=answer,
            outside=dict(self._outside()),
            supplied=seen.supplied,
            notation=LarsNotation(encoding, self._history, self._run),
        )

    # -- items that windows do not show -----------------------------------------------------

    def _outside(self) -> Iterator[tuple[str, tuple[Outside, ...]]]:
        """See `RecordedExplainer`: for each window the items that it does not show."""
        found: dict[str, list[Outside]] = {}
        encoder = Encoder(replace(self._run.request, inputs=frozenset()))
        for item, source in islice(self._items(), MOST_OUTSIDE):
            missed = self._missed(item)
            for atom in map(split, facts_as_written(encoder, item, 0)):
                for fact, window in self._facts(item, atom):
                    reason = missed or self._unseen(item, atom, window)
                    if reason is not None and fact not in self._seen.facts:
                        outside = self._left_out(item, source, reason, self._span(window))
                        found.setdefault(fact, []).append(outside)
        return ((fact, tuple(items)) for fact, items in found.items())

    def _facts(self, item: Item, atom: GroundAtom) -> Iterator[tuple[str, LarsWindow | None]]:
        """Facts of the encoding that an atom of an item makes true where windows show it."""
        arguments = [atom.arguments] if atom.arguments else []
        if atom.signature in self._encoding.now:
            yield atom.text, TimeSpan(0)
        for seen, relation in self._encoding.seen.items():
            if seen.signature == atom.signature and seen.view != "every":
                timed = [str(item.time)] if seen.view == "timed" else []
                yield call(relation, [*arguments, *timed]), seen.window

    def _unseen(
        self, item: Item, atom: GroundAtom, window: LarsWindow | None
    ) -> OutsideReason | None:
        """Why a window does not show an atom of an item that the run has read."""
        inputs = self._run.request.inputs
        if inputs and atom.signature not in inputs:
            return "filtered"
        if isinstance(window, LastTuples):
            points = range(item.time, item.end + 1)
            tuples = set(self._history.within(window))
            there = any(Tuple(point, atom) in tuples for point in points)
            return None if there else "pushed out"
        points = self._history.timeline(window)
        if item.end < points.start:
            return "too old"
        return "not yet" if item.time >= points.stop else None

    def _span(self, window: LarsWindow | None) -> WindowSpan | None:
        """The first and last point of time of a window of time."""
        if isinstance(window, LastTuples):
            return None
        points = self._history.timeline(window)
        first = points.start
        if isinstance(window, TimeSpan) and not points:  # it is before the timeline
            first = self._history.now - window.size
        return self._run.format_time(first), self._run.format_time(points.stop - 1)


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
