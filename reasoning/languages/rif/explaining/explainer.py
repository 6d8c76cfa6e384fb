"""Why and why not of an evaluation of a recorded run of a document of RIF."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import islice

from reasoning.errors import ItemError
from reasoning.explain.origins import ItemOrigin, Origin, Outside, Reason
from reasoning.explain.tree import TreeNode
from reasoning.languages.rif.explaining.absence import Past
from reasoning.languages.rif.explaining.facts import FactExplainer
from reasoning.languages.rif.explaining.justifications import Given
from reasoning.languages.rif.explaining.rules import fact_of
from reasoning.languages.rif.language import RifProgram
from reasoning.languages.rif.reasoner import RifEvaluation
from reasoning.languages.rif.showing import Fact
from reasoning.model.engine import AnswerSet
from reasoning.rdf.knowledge import Background
from reasoning.run.explained import MOST_OUTSIDE, Explains, RecordedExplainer, Seen, Sought
from reasoning.run.recorded import Recorded
from reasoning.streams.items import Item


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
                sought.found = Seen(evaluation, {}, {}, refused, frozenset(), 0)
                if sought.time is not None:
                    return  # there is one evaluation at each instant

    def _found(self, sought: Sought) -> Seen:
        """See `RecordedExplainer`; an instant that contradicts itself can be explained."""
        seen = sought.found
        self._inconsistent = False
        if seen is None or seen.evaluation.error is None:
            return super()._found(sought)
        if self._at_instant(seen.evaluation.time).is_inconsistent():
            self._inconsistent = True
            sought.found = replace(seen, evaluation=replace(seen.evaluation, error=None))
        return super()._found(sought)

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

    def _counting(self, now: int) -> dict[Fact, list[Given]]:
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
        given: dict[Fact, list[Given]] = defaultdict(list)
        for (fact, since), (until, origins) in found.items():
            given[fact].append(Given(fact, since, until, tuple(origins)))
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

    def _past(self) -> Past:
        """Items that do not count, and what was entailed."""
        now = self.evaluation.time
        found: defaultdict[Fact, list[Outside]] = defaultdict(list)
        others = ((*each, self._reason(each[0], now)) for each in self._items())
        for item, source, reason in islice((o for o in others if o[2]), MOST_OUTSIDE):
            assert reason is not None
            outside = self._left_out(item, source, reason)
            try:
                for fact in self._facts(item):
                    found[fact].append(outside)
            except ItemError:
                continue  # it is no fact
        return Past(found, self._entailed, self._why)

    def _left_out(self, item: Item, source: str, reason: Reason) -> Outside:
        now, write = self.evaluation.time, self._run.format_time
        window = self._range and (write(now - self._range + 1), write(now))
        detail = self._seen.refused.get(item.position, "") if reason == "refused" else ""
        return Outside(self._origin(item, source), reason, window or None, detail)

    def _reason(self, item: Item, now: int) -> Reason | None:
        """Why an item does not count; None if it does."""
        if self._start is not None and item.time < self._start:
            return "before the start"
        if item.time > now:
            return "not yet"
        if item.position in self._run.late or item.position > self._run.reached:
            return "too late"
        if item.position in self._seen.refused:
            return "refused"
        last = self._last(item)
        return None if last is None or last >= now else "too old"
