"""Explaining an evaluation of a program over recorded streams."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice

from reasoning.encoding import Encoder
from reasoning.engines.program import previous
from reasoning.errors import ItemError
from reasoning.explain.explanation import Explainer
from reasoning.explain.origins import FedBack, ItemOrigin, Origin, Outside, Reason
from reasoning.program import Signature
from reasoning.reasoner import Evaluation, Reasoner
from reasoning.recorded import Recorded, RecordedError
from reasoning.recordings import Recording
from reasoning.streams import Item

MOST_OUTSIDE = 50_000
"""Items outside the window that are looked at for `why not`."""


class RecordedExplainer:
    """Explains the evaluation of a run at one time.

    Parameters
    ----------
    run:
        The program and its recording; nothing of it has been evaluated yet.
    at:
        The evaluation's time, as the recording writes times; None for a program without
        streams. Where several fall on one time it is the last.
    number:
        Which of the evaluation's answer sets, from 1.

    Raises `RecordedError` if there is no such evaluation or answer set.
    """

    def __init__(self, run: Recorded, at: int | str | None, number: int = 1) -> None:
        self._run = run
        self._knowledge = run.background()
        self._time = run.parse_time("--at", at)
        self._spans: Mapping[str, tuple[int, int]] = {}
        self._supplied: frozenset[Signature] = frozenset()
        self._base = 0
        self.evaluation, self._facts = self._evaluate()
        answers = self.evaluation.answer_sets
        if number > max(1, len(answers)):
            raise RecordedError(f"--answer {number}: there are {len(answers)} answer sets")
        self.explainer = Explainer(
            run.request,
            self._facts,
            time=run.time(self.evaluation),
            answer=answers[number - 1] if answers else None,
            outside=dict(self._outside()),
            supplied=self._supplied,
            source=run.program.read_text(encoding="utf-8"),
        )

    def _evaluate(self) -> tuple[Evaluation, dict[str, tuple[Origin, ...]]]:
        """The evaluation, and its facts with where they come from."""
        run = self._run
        found: tuple[Evaluation, dict[str, tuple[Origin, ...]]] | None = None
        near: list[int] = []
        with run.reasoner(self._knowledge) as reasoner:
            for evaluation in run.run(reasoner):
                if self._time is None or evaluation.time == self._time:
                    found = evaluation, self._origins(reasoner, evaluation)
                    self._spans = reasoner.windows()
                    self._supplied = reasoner.supplied
                    self._base = reasoner.base(evaluation.time) if run.request.streams else 0
                    continue
                near = [*near[-1:], evaluation.time]
                if self._time < evaluation.time:
                    break
        if found is None:
            times = " and ".join(str(run.format_time(time)) for time in near)
            near_by = f"; near by are those at {times}" if near else ""
            raise RecordedError(f"--at: there is no evaluation at that time{near_by}")
        if found[0].error is not None:
            raise RecordedError(found[0].error)
        return found

    def _origins(self, reasoner: Reasoner, evaluation: Evaluation) -> dict[str, tuple[Origin, ...]]:
        run = self._run
        found: dict[str, list[Origin]] = defaultdict(list)
        for item in evaluation.items:
            for fact in reasoner.facts(item, evaluation.time):
                found[fact].append(self._origin(item, run.source(item.position)))
        for atom in evaluation.fed_back:
            found[previous(atom)].append(FedBack())
        for fact, origins in self._knowledge.origins.items():
            found[fact] += origins
        return {fact: tuple(origins) for fact, origins in found.items()}

    def _outside(self) -> Iterator[tuple[str, tuple[Outside, ...]]]:
        """Facts that the window does not hold, though an item has them, and why it does not."""
        found: dict[str, list[Outside]] = defaultdict(list)
        request = self._run.request
        encoder = Encoder(replace(request, inputs=frozenset()))
        inside = {item.position for item in self.evaluation.items}
        if not all(path.is_file() for path in self._run.streams):
            return iter(())
        recording = Recording(self._run.streams, request, lambda _error: None)
        others = (i for i in recording if request.inputs or i.position not in inside)
        for item in islice(others, MOST_OUTSIDE):
            reason: Reason = "filtered" if item.position in inside else self._reason(item)
            origin = self._origin(item, recording.source(item.position))
            for fact in _facts(encoder, item, self._base):
                if fact not in self._facts:
                    found[fact].append(Outside(origin, reason, self._window(item)))
        return ((fact, tuple(items)) for fact, items in found.items())

    def _origin(self, item: Item, source: str) -> ItemOrigin:
        end = None if item.until is None else self._run.format_time(item.until)
        return ItemOrigin(item, source, (self._run.format_time(item.time), end))

    def _window(self, item: Item) -> tuple[int | str, int | str] | None:
        """The span of the item's window, to be read."""
        span = self._spans.get(item.stream)
        return span and (self._run.format_time(span[0]), self._run.format_time(span[1]))

    def _reason(self, item: Item) -> Reason:
        window = self._spans.get(item.stream)
        if item.time > (window[1] if window else self.evaluation.time):
            return "not yet"
        if window is None:
            return "pushed out"
        return "too old" if item.end < window[0] else "too late"


def _facts(encoder: Encoder, item: Item, base: int) -> tuple[str, ...]:
    try:
        return encoder.facts(item, base)
    except ItemError:
        return ()
