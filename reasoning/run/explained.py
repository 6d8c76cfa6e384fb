"""Explaining an evaluation of a program over recorded streams."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Protocol

from citywise.reasoning.engines.choosing import engine_for
from citywise.reasoning.errors import ItemError
from citywise.reasoning.explain.durations import TimedNotation
from citywise.reasoning.explain.explanation import Explainer, whole
from citywise.reasoning.explain.notation import Notation
from citywise.reasoning.explain.tree import (
    Explanation,
    FedBack,
    ItemOrigin,
    Origin,
    Outside,
    OutsideReason,
    Remembered,
    Time,
)
from citywise.reasoning.model.carried import timed
from citywise.reasoning.model.engine import AnswerSet
from citywise.reasoning.model.request import CountWindow, Signature, previous
from citywise.reasoning.rdf.knowledge import Background
from citywise.reasoning.rdf.mapping import Literal, Triple
from citywise.reasoning.run.language import MisusedError, RecordedError
from citywise.reasoning.run.reasoner import Reasoner
from citywise.reasoning.run.recorded import Recorded
from citywise.reasoning.streams.items import Encoder, Item
from citywise.reasoning.streams.recordings import Recording
from citywise.reasoning.streams.results import Evaluation

MOST_OUTSIDE = 50_000
"""Items outside the window that are looked at for `why not`."""
WindowSpan = tuple[Time, Time]
"""The first and the last time of a window, to be read."""


@dataclass(frozen=True)
class SeenEvaluation:
    """An evaluation of a run, and what its reasoner knew then."""

    evaluation: Evaluation
    facts: Mapping[str, tuple[Origin, ...]]
    spans: Mapping[str, tuple[int, int]]
    """First and last time of the time windows, by stream."""
    refused: Mapping[int, str]
    """Items of the windows that have no value in ASP, by position, and why."""
    supplied: frozenset[Signature]
    base: int
    """What is subtracted from times in its atoms."""


@dataclass
class Sought:
    """The evaluation asked for, while a run goes by."""

    time: int | None
    number: int | None
    found: SeenEvaluation | None = None
    count: int = 0
    """How many evaluations there were at its time."""
    near: list[int] = field(default_factory=list)
    _at: int | None = None

    def passes(self, evaluation: Evaluation) -> bool:
        """Whether the run is past the time asked for."""
        if self.time is not None and evaluation.time != self.time:
            self.near = [*self.near[-1:], evaluation.time]
        return self.time is not None and self.time < evaluation.time

    def wants(self, evaluation: Evaluation) -> bool:
        """Whether it may be the one: so far it is the last at its time, or the Nth."""
        if self.time not in (None, evaluation.time):
            return False
        if self._at != evaluation.time:
            self._at, self.count, self.found = evaluation.time, 0, None
        self.count += 1
        return self.number in (None, self.count)


class Explains(Protocol):
    """What explains one answer of one evaluation."""

    def explain(self, atom: str) -> Explanation:
        """See `Explainer.explain`."""


class RecordedExplainer:
    """Explains an evaluation of a run.

    Parameters
    ----------
    run:
        The program and its recording; nothing of it has been evaluated yet.
    at:
        The evaluation's time, as the recording writes times; None for a program without
        streams.
    number:
        Which of the evaluation's answer sets, from 1.
    evaluation:
        Which of the evaluations at that time, from 1; default: the last. There are several
        where items at one time complete a count window more than once.

    Raises `RecordedError` if there is no such evaluation or answer set.
    """

    def __init__(
        self,
        run: Recorded,
        at: int | str | None,
        number: int = 1,
        evaluation: int | None = None,
    ) -> None:
        self._run = run
        self._knowledge = self._background()
        if at is not None and not run.request.streams:
            raise MisusedError(f"--at {at}: {run.program} reads no stream, so it has no times")
        self._start = run.first
        sought = Sought(run.parse_time("--at", at), evaluation)
        self._seek(sought)
        self._seen = self._seen_evaluation(sought)
        self.evaluation = self._seen.evaluation
        self.evaluations = sought.count
        """How many evaluations there are at its time."""
        answers = self.evaluation.answer_sets
        if number > max(1, len(answers)):
            raise RecordedError(f"--answer {number}: {_there(len(answers), 'answer set')}")
        self.explainer = self._explainer(answers[number - 1] if answers else None)

    def _background(self) -> Background:
        """The facts of the knowledge bases."""
        return self._run.background()

    def _explainer(self, answer: AnswerSet | None) -> Explains:
        """What explains an answer of the evaluation."""
        run, seen = self._run, self._seen
        source = run.program.read_text(encoding="utf-8")
        return Explainer(
            run.request,
            seen.facts,
            time=run.time(seen.evaluation),
            answer=answer,
            outside=dict(self._outside()),
            supplied=seen.supplied,
            source=source,
            notation=self._notation(source),
        )

    def _notation(self, source: str) -> Notation | None:
        """How a request that looks at times is written; None where none does."""
        request = self._run.request
        if not timed(request):
            return None
        return TimedNotation(
            whole(source, request), request, self._seen.base, self._run.format_time
        )

    def _seek(self, sought: Sought) -> None:
        """Run until the time asked for is past."""
        run = self._run
        answered: int | None = None
        engine = engine_for(run.request, self._knowledge, run.limits, run.engine)
        with closing(engine), run.reasoner(self._knowledge, engine) as reasoner:
            for evaluation in run.run(reasoner):
                if sought.passes(evaluation):
                    return
                if sought.wants(evaluation):
                    sought.found = self._see(reasoner, evaluation, answered)
                if evaluation.answer_sets:
                    answered = evaluation.time

    def _seen_evaluation(self, sought: Sought) -> SeenEvaluation:
        if not sought.count:
            times = " and ".join(str(self._run.format_time(time)) for time in sought.near)
            near_by = f"; near by are those at {times}" if times else ""
            raise RecordedError(f"--at: there is no evaluation at that time{near_by}")
        if sought.found is None:
            found = _there(sought.count, "evaluation")
            raise RecordedError(f"--evaluation {sought.number}: {found} at that time")
        if sought.found.evaluation.error is not None:
            raise RecordedError(sought.found.evaluation.error)
        return sought.found

    def _see(
        self, reasoner: Reasoner, evaluation: Evaluation, answered: int | None
    ) -> SeenEvaluation:
        """What there is to know of an evaluation, just after it; `answered` is the time of
        the answer before."""
        facts = self._origins(reasoner, evaluation, answered)
        inside = {item.position for item in evaluation.items}
        refused = {p: why for p, (_item, why) in reasoner.refused.items() if p in inside}
        base = reasoner.base(evaluation.time) if self._run.request.streams else 0
        return SeenEvaluation(
            evaluation, facts, reasoner.windows(), refused, reasoner.supplied, base
        )

    def _origins(
        self, reasoner: Reasoner, evaluation: Evaluation, answered: int | None
    ) -> dict[str, tuple[Origin, ...]]:
        run = self._run
        found: dict[str, list[Origin]] = defaultdict(list)
        for item in evaluation.items:
            for fact in reasoner.facts(item, evaluation.time):
                found[fact].append(self._origin(item, run.source(item.position)))
        before = None if answered is None else run.format_time(answered)
        for atom in evaluation.fed_back:
            found[previous(atom)].append(FedBack(before))
        for fact, what, time in reasoner.times_told(evaluation.time):
            found[fact].append(Remembered(what, run.format_time(time)))
        for fact, origins in self._knowledge.origins.items():
            found[fact] += origins
        return {fact: tuple(origins) for fact, origins in found.items()}

    # -- what the window does not hold ------------------------------------------------------

    def _outside(self) -> Iterator[tuple[str, tuple[Outside, ...]]]:
        """Facts that the window does not hold, though an item has them, and why it does not."""
        found: dict[str, list[Outside]] = defaultdict(list)
        request, seen = self._run.request, self._seen
        encoder = Encoder(replace(request, inputs=frozenset()))
        places = _Places(self._run, seen, self._start)
        others = (each for each in self._items() if places.reason(each[0]) is not None)
        for item, source in islice(others, MOST_OUTSIDE):
            reason = places.reason(item)
            assert reason is not None
            outside = self._left_out(item, source, reason, self._window(item))
            for fact in facts_as_written(encoder, item, seen.base):
                if fact not in seen.facts:
                    found[fact].append(outside)
        return ((fact, tuple(items)) for fact, items in found.items())

    def _items(self) -> Iterator[tuple[Item, str]]:
        """The recording once more, with the places of its items, where it is files."""
        if all(path.is_file() for path in self._run.streams):
            recording = Recording(self._run.streams, self._run.request, lambda _error: None)
            for item in recording:
                yield item, recording.source(item.position)

    def _left_out(
        self, item: Item, source: str, reason: OutsideReason, window: WindowSpan | None
    ) -> Outside:
        """An item that does not count, with what there is to say besides."""
        detail = self._seen.refused.get(item.position, "") if reason == "refused" else ""
        if reason == "before the start" and self._start is not None:
            detail = f"it begins at {self._run.format_time(self._start)}"
        return Outside(self._origin(item, source), reason, window, detail)

    def _missed(self, item: Item) -> OutsideReason | None:
        """Why a run over points of time had not read an item at the evaluation; None if it had."""
        if self._start is not None and item.time < self._start:
            return "before the start"
        if item.time > self.evaluation.time:
            return "not yet"
        if item.position in self._run.late or item.position > self._run.reached:
            return "too late"
        return "refused" if item.position in self._seen.refused else None

    def _origin(self, item: Item, source: str) -> ItemOrigin:
        end = None if item.until is None else self._run.format_time(item.until)
        return ItemOrigin(item, source, (self._run.format_time(item.time), end))

    def _window(self, item: Item) -> WindowSpan | None:
        """The span of the item's window, to be read."""
        span = self._seen.spans.get(item.stream)
        return span and (self._run.format_time(span[0]), self._run.format_time(span[1]))


class _Places:
    """Where items stand at an evaluation that do not count for it."""

    def __init__(self, run: Recorded, seen: SeenEvaluation, start: int | None) -> None:
        self._run, self._seen, self._start = run, seen, start
        self._time = seen.evaluation.time
        items = seen.evaluation.items
        self._inside = {item.position for item in items}
        self._newest = max((_place(item) for item in items), default=(self._time, -1))
        self._has_ticked = any(end == self._time for _begin, end in seen.spans.values())
        streams = run.request.streams
        self._counted = {s.iri for s in streams if isinstance(s.window, CountWindow)}
        self._encoder = Encoder(run.request)
        counted = [item for item in items if item.stream in self._counted]
        contents = {iri: [_place(i) for i in counted if i.stream == iri] for iri in self._counted}
        self._oldest = {iri: min(places) for iri, places in contents.items() if places}

    def reason(self, item: Item) -> OutsideReason | None:
        """Why an item does not count; None if it does."""
        if item.position in self._inside:
            if item.position in self._seen.refused:
                return "refused"
            return "filtered" if self._run.request.inputs else None
        if self._start is not None and item.time < self._start:
            return "before the start"
        if item.stream in self._counted and not self._encoder.is_relevant(item):
            return "filtered"
        span = self._seen.spans.get(item.stream)
        if span is not None and item.time > span[1]:
            return "not yet"
        if span is not None and item.end < span[0]:
            return "too old"
        if span is not None or self._is_late(item):
            return "too late"
        if not self._has_arrived(item):
            return "not yet"
        oldest = self._oldest.get(item.stream)
        return "pushed out" if oldest is not None and _place(item) < oldest else "waiting"

    def _is_late(self, item: Item) -> bool:
        """Items after those the run has read are late if their time was over by then."""
        if item.position <= self._run.reached:
            return item.position in self._run.late
        return self._has_arrived(item)

    def _has_arrived(self, item: Item) -> bool:
        """Whether the evaluation came after the item's turn: count windows are evaluated
        item by item, time windows after all items of their time (docs/casp.md)."""
        if item.time != self._time:
            return item.time < self._time
        return self._has_ticked or _place(item) <= self._newest


def _there(count: int, what: str) -> str:
    return f"there is 1 {what}" if count == 1 else f"there are {count} {what}s"


def _place(item: Item) -> tuple[int, int]:
    """Items take their turn by time, then by arrival."""
    return item.time, item.position


def facts_as_written(encoder: Encoder, item: Item, base: int) -> tuple[str, ...]:
    """Its facts; literals that have no value in ASP are there as they are written."""
    try:
        return encoder.facts(item, base)
    except ItemError:
        if isinstance(item.content, str):
            return ()
    if len(item.content) == 1:
        return _written(encoder, item, item.content[0], base)
    triples = (replace(item, content=(triple,)) for triple in item.content)
    return tuple(fact for triple in triples for fact in facts_as_written(encoder, triple, base))


def _written(encoder: Encoder, item: Item, triple: Triple, base: int) -> tuple[str, ...]:
    if not isinstance(triple.object, Literal):
        return ()
    plain = triple._replace(object=Literal(triple.object.lexical))
    try:
        return encoder.facts(replace(item, content=(plain,)), base)
    except ItemError:
        return ()
