"""Why and why not of the facts of a theory at an instant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from reasoning.errors import ItemError
from reasoning.explain.origins import Time
from reasoning.explain.tree import Explanation, TreeNode
from reasoning.languages.rif.compile import BEGINNING
from reasoning.languages.rif.explaining.absence import Absence, Past
from reasoning.languages.rif.explaining.justifications import KEPT, Given, Justifications
from reasoning.languages.rif.explaining.model import EntailedModel
from reasoning.languages.rif.explaining.rules import Rules, fact_of, rules_of
from reasoning.languages.rif.explaining.trees import Trees, Writing
from reasoning.languages.rif.inference import INCONSISTENT, sentence
from reasoning.languages.rif.names import FactNames
from reasoning.languages.rif.showing import Fact
from reasoning.languages.rif.theory import Theory
from reasoning.languages.rif.wording import Wording
from reasoning.limits import Limits
from reasoning.model.atoms import ground
from reasoning.model.terms import Row
from reasoning.rdf import ntriples

_NO_PAST = Past({}, {})
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
        given: Mapping[Fact, Sequence[Given]],
        now: int | None,
        *,
        names: FactNames | None = None,
        time: Callable[[int], Time] = lambda time: time,
        past: Callable[[], Past] = lambda: _NO_PAST,
        inconsistent: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self._names = names or FactNames(theory.document, theory.rules)
        self._theory, self._stream = theory, given
        self._time, self._look_back, self._limits = time, past, limits
        self._inconsistent = inconsistent
        self._models: dict[str, EntailedModel] = {}
        self._at = None if now is None else time(now)

    def explain(self, atom: str) -> Explanation:
        """Why an atom holds or does not; it is given as answers have it, or as a triple in
        N-Triples syntax. Raises `ItemError` for what is neither."""
        fact = self._fact(atom)
        if self._inconsistent:
            return Explanation("conflict", self._writing.atom(fact), self._conflict(), self._at)
        model = self._model(fact[0])
        fact = self._as_written(fact, model)
        text = self._writing.atom(fact)
        if fact in model:
            tree = self.why(fact)
        else:
            tree = Absence(self._rules, model, self._past, self._writing).tree(fact)
        at = "" if self._at is None else f" at {self._at}"
        tree = replace(tree, text=f"{text}{at}{tree.text.removeprefix(text)}")
        return Explanation("why" if fact in model else "why not", text, tree, self._at)

    def why(self, fact: Fact) -> TreeNode:
        """The justifications of a fact that holds."""
        return Trees(self.justifications(fact), self._writing).tree()

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

    def _contradiction(self, model: EntailedModel, row: Row) -> TreeNode:
        found = Justifications(model, self._given, (INCONSISTENT, row))
        tree = Trees(found, self._writing).tree()
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

    def _as_written(self, fact: Fact, model: EntailedModel) -> Fact:
        """The fact, or one that holds and reads the same: answers write decimals as strings."""
        if fact in model:
            return fact
        text, past = self._writing.atom(fact), self._past
        there = ((fact[0], row) for row in model.rows(fact[0]))
        others = (each for each in (*past.entailed, *past.items) if each[0] == fact[0])
        alike = (each for each in (*there, *others) if self._writing.atom(each) == text)
        return next(alike, fact)

    def _model(self, relation: str) -> EntailedModel:
        """What holds, as far as facts of a relation rest on it."""
        if relation not in self._models:
            model = EntailedModel(self._rules, self._given.keys(), relation, self._limits)
            self._models[relation] = model
        return self._models[relation]

    @cached_property
    def _past(self) -> Past:
        return self._look_back()

    @cached_property
    def _rules(self) -> Rules:
        return rules_of(self._theory, dict(self._names.request.prefixes))

    @cached_property
    def _writing(self) -> Writing:
        wording = Wording(self._rules.properties, self._names.request.prefixes)
        return Writing(self._names, wording, self._time)

    @cached_property
    def _given(self) -> Mapping[Fact, Sequence[Given]]:
        """The instances of the stream, and of what always holds."""
        rules = self._rules
        found = {fact: [*given] for fact, given in self._stream.items()}
        for fact in {**rules.triples, **rules.facts}:
            static = Given(
                fact,
                BEGINNING,
                origins=tuple(rules.triples.get(fact, ())),
                stated=tuple(rules.facts.get(fact, ())),
            )
            found.setdefault(fact, []).append(static)
        return found
