"""Why and why not in documents of RIF: of the facts of a theory at an instant, and of the
evaluations of a recorded run. Answers are computed elsewhere; this looks at one instant again, with
all rules apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice

from citywise.reasoning.engines.incremental.relation import BEGINNING
from citywise.reasoning.errors import ItemError
from citywise.reasoning.explain.justifications import KEPT, GivenFact, Justifications
from citywise.reasoning.explain.rows import PastFacts, Trees, Unentailed
from citywise.reasoning.explain.tree import (
    Explanation,
    ItemOrigin,
    Origin,
    Outside,
    OutsideReason,
    Time,
    TreeNode,
)
from citywise.reasoning.languages.rif.authored import (
    FrameModel,
    RifNotation,
    Rules,
    fact_of,
    rules_of,
)
from citywise.reasoning.languages.rif.inference import INCONSISTENT, sentence
from citywise.reasoning.languages.rif.language import RifProgram
from citywise.reasoning.languages.rif.names import FactNames
from citywise.reasoning.languages.rif.reasoner import RifEvaluation
from citywise.reasoning.languages.rif.theory import Theory
from citywise.reasoning.languages.rif.unparse import Wording
from citywise.reasoning.limits import Limits
from citywise.reasoning.model.atoms import ground
from citywise.reasoning.model.engine import AnswerSet
from citywise.reasoning.model.rules import Fact
from citywise.reasoning.model.values import Row
from citywise.reasoning.rdf import ntriples
from citywise.reasoning.rdf.knowledge import Background
from citywise.reasoning.run.explained import (
    MOST_OUTSIDE,
    Explains,
    RecordedExplainer,
    SeenEvaluation,
    Sought,
)
from citywise.reasoning.run.recorded import Recorded
from citywise.reasoning.streams.items import Item

_NO_PAST = PastFacts({}, {})
_CONFLICTS = 5
"""Contradictions that are told."""


class FactExplainer:
    """Explains facts of a theory at an instant.

    Parameters
    ----------
    theory:
        Its rules and static facts.
    given:
        The instances of the stream that count at the instant, by their facts.
    now:
        The instant; None where there is no stream.
    names:
        How facts are written; default: as the theory's document has them.
    time:
        How instants are written.
    past:
        What does not count at the instant.
    inconsistent:
        Whether what counts contradicts itself by the theory's regime: it is explained then,
        whatever is asked.
    limits:
        On finding what holds; None: without.

    Raises `LimitError` when asked for more than the limits allow.
    """

    def __init__(
        self,
        theory: Theory,
        given: Mapping[Fact, Sequence[GivenFact]],
        now: int | None,
        *,
        names: FactNames | None = None,
        time: Callable[[int], Time] = lambda time: time,
        past: Callable[[], PastFacts] = lambda: _NO_PAST,
        inconsistent: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self._names = names or FactNames(theory.document, theory.rules)
        self._theory, self._stream = theory, given
        self._time, self._look_back, self._limits = time, past, limits
        self._inconsistent = inconsistent
        self._models: dict[str, FrameModel] = {}
        self._at = None if now is None else time(now)

    def explain(self, atom: str) -> Explanation:
        """Why an atom holds or does not; it is given as answers have it, or as a triple in
        N-Triples syntax. Raises `ItemError` for what is neither."""
        fact = self._fact(atom)
        if self._inconsistent:
            return Explanation("conflict", self._notation.atom(fact), self._conflict(), self._at)
        model = self._model(fact[0])
        fact = self._as_written(fact, model)
        text = self._notation.atom(fact)
        if fact in model:
            tree = self.why(fact)
        else:
            tree = Unentailed(model, self._past, self._notation).tree(fact)
        at = "" if self._at is None else f" at {self._at}"
        tree = replace(tree, text=f"{text}{at}{tree.text.removeprefix(text)}")
        return Explanation("why" if fact in model else "why not", text, tree, self._at)

    def why(self, fact: Fact) -> TreeNode:
        """The justifications of a fact that holds."""
        return Trees(self.justifications(fact), self._notation).tree()

    def is_inconsistent(self) -> bool:
        """Whether what counts contradicts itself by the theory's regime."""
        return bool(self._model(INCONSISTENT).rows(INCONSISTENT))

    def _conflict(self) -> TreeNode:
        """What cannot be true together, and why it is."""
        model = self._model(INCONSISTENT)
        rows = sorted(model.rows(INCONSISTENT), key=repr)
        children = tuple(self._contradiction(model, row) for row in rows[:_CONFLICTS])
        if len(rows) > _CONFLICTS:
            children += (TreeNode("cut", f"… and {len(rows) - _CONFLICTS} more"),)
        at = "" if self._at is None else f" at {self._at}"
        text = f"there is no answer{at}: what counts contradicts itself"
        return TreeNode("conflict", text, count=len(rows), children=children)

    def _contradiction(self, model: FrameModel, row: Row) -> TreeNode:
        found = Justifications(model, self._given, (INCONSISTENT, row))
        tree = Trees(found, self._notation).tree()
        return TreeNode("contradiction", sentence(row), children=tree.children)

    def justifications(self, fact: Fact, most: int = KEPT) -> Justifications:
        """Those of a fact, found from at most so many of each fact it rests on."""
        return Justifications(self._model(fact[0]), self._given, fact, most)

    def _fact(self, atom: str) -> Fact:
        written = atom.strip()
        if not written.startswith(("<", "_:")):
            return self._names.fact(ground(written))
        triple = ntriples.statement(written if written.endswith(".") else f"{written} .")
        if triple is None:
            raise ItemError(f"`{atom}` is no triple; write `<subject> <property> object`")
        return fact_of(triple)

    def _as_written(self, fact: Fact, model: FrameModel) -> Fact:
        """The fact, or one that holds and reads the same: answers write decimals as strings."""
        if fact in model:
            return fact
        text, past = self._notation.atom(fact), self._past
        there = ((fact[0], row) for row in model.rows(fact[0]))
        others = (each for each in (*past.entailed, *past.items) if each[0] == fact[0])
        alike = (each for each in (*there, *others) if self._notation.atom(each) == text)
        return next(alike, fact)

    def _model(self, relation: str) -> FrameModel:
        """What holds, as far as facts of a relation rest on it."""
        if relation not in self._models:
            model = FrameModel(self._rules, self._given.keys(), relation, self._limits)
            self._models[relation] = model
        return self._models[relation]

    @cached_property
    def _past(self) -> PastFacts:
        return self._look_back()

    @cached_property
    def _rules(self) -> Rules:
        return rules_of(self._theory, dict(self._names.request.prefixes))

    @cached_property
    def _notation(self) -> RifNotation:
        wording = Wording(self._rules.properties, self._names.request.prefixes)
        return RifNotation(self._names, wording, self._time)

    @cached_property
    def _given(self) -> Mapping[Fact, Sequence[GivenFact]]:
        """The instances of the stream, and of what always holds."""
        rules = self._rules
        found = {fact: [*given] for fact, given in self._stream.items()}
        for fact in {**rules.triples, **rules.facts}:
            static = GivenFact(
                fact,
                BEGINNING,
                origins=tuple(rules.triples.get(fact, ())),
                stated=tuple(rules.facts.get(fact, ())),
            )
            found.setdefault(fact, []).append(static)
        return found


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

    def _found(self, sought: Sought) -> SeenEvaluation:
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
