"""The questions one can ask about an evaluation (docs/explain.md)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import clingo
from clingo import Symbol

from citywise.reasoning.asp.rules import read as statements
from citywise.reasoning.asp.syntax import constants
from citywise.reasoning.explain.absence import Absence
from citywise.reasoning.explain.conflict import conflict
from citywise.reasoning.explain.instances import InstanceRecording, record
from citywise.reasoning.explain.model import Answer, Model, Solver
from citywise.reasoning.explain.notation import Notation
from citywise.reasoning.explain.prefixes import Attempt
from citywise.reasoning.explain.rules import ExplainedRule, read
from citywise.reasoning.explain.tree import (
    DEPTH,
    TOLD,
    Explanation,
    Facts,
    Origin,
    Outsiders,
    Question,
    Time,
    TreeNode,
    spelled,
    valued,
)
from citywise.reasoning.explain.why import Derivations, Why
from citywise.reasoning.model.atoms import signature_of
from citywise.reasoning.model.engine import AnswerSet
from citywise.reasoning.model.request import Request, Signature

_SINGLE = 4
"""Of so many atoms what they rest on is looked for by itself."""


@dataclass(frozen=True)
class Derived:
    """What has been recorded so far: the rules (by number), their instances, and what
    these derive."""

    rules: set[int]
    recording: InstanceRecording
    derivations: Derivations

    def opaque(self, rules: Iterable[ExplainedRule]) -> frozenset[Signature]:
        """Predicates of rules that could not be evaluated over the model."""
        failed = (r for r in rules if r.opaque or r.index in self.recording.failed)
        return frozenset(signature for rule in failed for signature in rule.derives())


class Explainer:
    """Explains one answer set of one evaluation; what it has found out it keeps.

    Parameters
    ----------
    request:
        What was evaluated.
    facts:
        The window's facts, those of the knowledge bases, and the `prev_` atoms, with
        their origins.
    time:
        The evaluation's time, in the request's unit or as the recording writes times.
    answer:
        The answer set to explain, as the engine gave it; default: the first.
    outside:
        Facts of items that were not in the window, for `why not`.
    supplied:
        Predicates that streams or knowledge bases supply besides those of `facts`.
    meanings:
        Of predicates that come from outside, what their atoms say; for `why not`.
    source:
        The request's text as written, for the labels of its rules.
    notation:
        How atoms and rules are written; default: as in `source`.
    most:
        How many elements of an aggregate, and values tried, a tree follows.
    depth:
        How many levels a tree has at most.
    """

    def __init__(
        self,
        request: Request,
        facts: Facts,
        *,
        time: Time | None = None,
        answer: AnswerSet | None = None,
        outside: Outsiders | None = None,
        supplied: Collection[Signature] = (),
        meanings: Mapping[Signature, str] | None = None,
        source: str = "",
        notation: Notation | None = None,
        most: int = TOLD,
        depth: int = DEPTH,
    ) -> None:
        defined = statements(request.rules).definitions if "#const" in request.rules else ()
        values = constants(defined)
        self._request, self._facts = request, valued(facts, values)
        self._time, self._chosen = time, answer
        self._outside, self._supplied = valued(outside or {}, values), supplied
        self._meanings = meanings
        self._most, self._depth = most, depth
        self._notation = notation or Notation(whole(source, request) or request.rules)
        self._rules = read(request.rules, self._notation)
        self._derived = Derived(set(), InstanceRecording([], {}), Derivations((), ()))
        self._single: dict[Symbol, Derived] = {}
        """What was found for single atoms."""

    def explain(self, atom: str) -> Explanation:
        """Why `atom` is in the answer set, why it is not, or why there is none.

        Raises `ItemError` if `atom` is not a ground atom, `SolvingError` if the request
        cannot be evaluated.
        """
        symbol = clingo.parse_term(self._notation.asked(atom))
        question, tree = self._question(symbol)
        told = self._notation.atom(symbol)
        at = "" if self._time is None else f" at {self._time}"
        if question == "conflict":
            text = f"there is no answer set{at}: {tree.text}"
        else:
            text = f"{told}{at}{tree.text.removeprefix(told)}"
        tree = replace(tree, text=text)
        cost = self.answer.cost if self.answer else ()
        return Explanation(question, told, tree, self._time, cost)

    def _question(self, atom: Symbol) -> tuple[Question, TreeNode]:
        answer = self.answer
        if answer is None:
            return "conflict", self._conflict()
        if atom in self._model:
            return "why", self._why(atom)
        if atom in answer.terms:
            return "why", self._explain_shown(atom)
        return "why not", self._absence.tree(atom)

    @cached_property
    def answer(self) -> Answer | None:
        """The answer set that is explained, whole; None if there is none."""
        return self._solver.answer(self._chosen)

    @cached_property
    def _solver(self) -> Solver:
        return Solver(self._request, self._facts, self._supplied)

    @property
    def _model(self) -> Model:
        assert self.answer is not None
        return self.answer.atoms

    def _derive(self, rules: Iterable[ExplainedRule], atom: Symbol | None = None) -> Derived:
        """What derives the atoms that the heads of `rules` and the rules below them give, or of
        these the one that is asked about."""
        cone = self._cone(rules)
        if cone <= self._derived.rules:
            return self._derived
        # Most atoms rest on little of all that holds. Who asks about many finds everything once.
        if atom is not None and (atom in self._single or len(self._single) < _SINGLE):
            if atom not in self._single:
                self._single[atom] = self._derivations(cone, atom)
            return self._single[atom]
        self._derived = self._derivations(cone | self._derived.rules)
        return self._derived

    def _cone(self, rules: Iterable[ExplainedRule]) -> set[int]:
        """Numbers of the rules on which those given positively rest, themselves included."""
        found: set[int] = set()
        todo = list(rules)
        while todo:
            rule = todo.pop()
            if rule.index not in found:
                found.add(rule.index)
                todo += [r for used in set(rule.uses(False)) for r in self._heads.get(used, ())]
        return found

    @cached_property
    def _heads(self) -> dict[Signature, list[ExplainedRule]]:
        """The rules that derive each predicate."""
        found: dict[Signature, list[ExplainedRule]] = {}
        for rule in self._rules:
            for predicate in set(rule.derives()):
                found.setdefault(predicate, []).append(rule)
        return found

    def _derivations(self, cone: set[int], atom: Symbol | None = None) -> Derived:
        rules = [rule for rule in self._rules if rule.index in cone]
        recording = record(rules, self._model, atom)
        known: Iterable[Symbol] = self._model.of(
            {s for rule in rules for s in (*rule.uses(), *rule.derives())}
        )
        if recording.reached is not None:
            known = [each for each in known if each in recording.reached]
        given = [atom for atom in known if atom in self._origins]
        found = Derivations((i for i in recording.instances if i.rule.kind != "shown"), given)
        derived = Derived(cone, recording, found)
        opaque = derived.opaque(self._rules)
        for atoms in ([a for a in known if signature_of(a) in opaque], known):
            found.assume([each for each in atoms if each not in found.order])
        return derived

    @cached_property
    def _origins(self) -> dict[Symbol, tuple[Origin, ...]]:
        """Where the facts among the model's atoms come from."""
        predicates = self._model.by_predicate
        texts = self._model.of(predicates)
        found = {a: self._facts[text] for a, text in texts.items() if text in self._facts}
        if len(found) < len(self._facts):
            facts = {spelled(fact): origins for fact, origins in self._facts.items()}
            found |= {a: facts[text] for a, text in texts.items() if text in facts}
        return found

    @cached_property
    def _absence(self) -> Absence:
        return Absence(
            self._rules, self._model, self._why, self._offers, self._solver, self._request,
            self._facts, self._outside, self._notation, most=self._most,
            cost=self.answer.cost if self.answer else (), meanings=self._meanings,
        )  # fmt: skip

    def _offers(self, attempt: Attempt) -> list[list[Symbol]]:
        """Among what the ground choices of a rule had to choose."""
        offers = record([attempt.rule], self._model).offers
        return list(offers.values())

    def _why(self, atom: Symbol, depth: int | None = None) -> TreeNode:
        predicate = signature_of(atom)
        assert predicate is not None
        derived = self._derive(self._heads.get(predicate, ()), atom)
        return self._tree(derived, depth).tree(atom)

    def _tree(self, derived: Derived, depth: int | None = None) -> Why:
        return Why(
            derived.derivations, self._origins, derived.recording, self._notation,
            derived.opaque(self._rules), most=self._most,
            depth=self._depth if depth is None else depth,
        )  # fmt: skip

    def _explain_shown(self, term: Symbol) -> TreeNode:
        derived = self._derive(rule for rule in self._rules if rule.kind == "shown")
        instances = derived.recording.instances
        found = [i for i in instances if i.rule.kind == "shown" and i.head == term]
        if not found:
            return TreeNode("opaque", f"{term}  is shown by a statement that cannot be taken apart")
        return self._tree(derived).shown(min(found, key=derived.derivations.cost))

    def _conflict(self) -> TreeNode:
        found = conflict(self._request, self._facts, notation=self._notation)
        if found is None:
            return TreeNode(
                "inconsistent", "the answer set asked about is none of this evaluation's"
            )
        return found.tree


def whole(source: str, request: Request) -> str:
    """The text of a request with the rules that were appended to its own."""
    end = "" if source.endswith("\n") else "\n"
    return source + end + request.appended if source and request.appended else source


def explain(
    request: Request,
    facts: Facts,
    atom: str,
    *,
    time: Time | None = None,
    answer: AnswerSet | None = None,
    outside: Outsiders | None = None,
    supplied: Collection[Signature] = (),
    source: str = "",
) -> Explanation:
    """`Explainer.explain` for a single question."""
    explainer = Explainer(
        request, facts, time=time, answer=answer, outside=outside, supplied=supplied, source=source
    )
    return explainer.explain(atom)
