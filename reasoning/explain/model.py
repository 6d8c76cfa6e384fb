"""The answer set that is explained, and asking clingo about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import clingo
from clingo import Symbol

from citywise.reasoning.engines.clingo.solver import Solving
from citywise.reasoning.model.atoms import signature, signature_of
from citywise.reasoning.model.engine import AnswerSet, program
from citywise.reasoning.model.request import Request, Signature


class Model:
    """A set of ground atoms that knows them by predicate, and their texts."""

    def __init__(self, atoms: Mapping[Signature, Iterable[Symbol]]) -> None:
        self.by_predicate = {s: tuple(found) for s, found in atoms.items()}
        self._texts: dict[Signature, dict[Symbol, str]] = {}

    def __contains__(self, atom: object) -> bool:
        if not isinstance(atom, Symbol):
            return False
        found = signature_of(atom)
        return found is not None and atom in self.texts(found)

    def __iter__(self) -> Iterator[Symbol]:
        return (atom for atoms in self.by_predicate.values() for atom in atoms)

    def texts(self, predicate: Signature) -> dict[Symbol, str]:
        """The atoms of a predicate and their texts."""
        if predicate not in self._texts:
            atoms = self.by_predicate.get(predicate, ())
            self._texts[predicate] = {atom: str(atom) for atom in atoms}
        return self._texts[predicate]

    def of(self, predicates: Iterable[Signature]) -> dict[Symbol, str]:
        """The atoms of several predicates and their texts."""
        found: dict[Symbol, str] = {}
        for predicate in predicates:
            found |= self.texts(predicate)
        return found

    def facts(self, predicates: Iterable[Signature]) -> str:
        """The atoms of several predicates as facts of ASP."""
        return "".join(f"{text}.\n" for text in self.of(sorted(set(predicates))).values())

    def named(self, name: str) -> Iterator[Symbol]:
        """The atoms of a name, whatever their number of arguments."""
        for predicate, atoms in self.by_predicate.items():
            if predicate.name == name:
                yield from atoms


def model_of(atoms: Iterable[Symbol]) -> Model:
    """A model from its atoms in any order."""
    found: dict[Signature, list[Symbol]] = {}
    for atom in atoms:
        predicate = signature_of(atom)
        assert predicate is not None
        found.setdefault(predicate, []).append(atom)
    return Model(found)


@dataclass(frozen=True)
class Answer:
    """All atoms of an answer set, the terms its `#show` statements add, and its cost."""

    atoms: Model
    terms: tuple[Symbol, ...]
    cost: tuple[int, ...]


class Solver:
    """A request's rules over a window's facts, ground once and asked several questions.

    `supplied` are the predicates that streams and knowledge bases supply besides those of
    `facts`. Raises `SolvingError` if the solver refuses.
    """

    def __init__(
        self, request: Request, facts: Iterable[str], supplied: Iterable[Signature] = ()
    ) -> None:
        facts = list(facts)
        self._request = request
        self._supplied = frozenset(supplied)
        if not (request.shows or request.shows_terms):
            self._supplied |= frozenset(signature(fact) for fact in facts)
        # Answers are told apart by what is shown, without what only the engine tells us.
        what = program(replace(request, held=frozenset(), last={}), self._supplied)
        solving = Solving(what)
        solving.add("base", what.rules, "".join(f"{fact}.\n" for fact in facts))
        solving.ground("base")
        self._solving, self._control = solving, solving.control
        cast("clingo.Configuration", self._control.configuration.solve).models = "0"

    def answer(self, shown: AnswerSet | None = None) -> Answer | None:
        """The answer set that shows `shown`, by default the first; None if there is none."""
        if shown is None:
            return self._first()
        texts = set(shown.atoms)
        fixed = [
            (a.symbol, str(a.symbol) in texts)
            for predicate in self._shown_predicates()
            for a in self._control.symbolic_atoms.by_signature(
                predicate.name.removeprefix("-"), predicate.arity, predicate.name[0] != "-"
            )
            if not a.is_fact and a.literal
        ]
        return self._matching(fixed, shown.atoms) or self._matching([], shown.atoms)

    def knows(self, atom: Symbol) -> bool:
        """Whether the ground program mentions `atom`: otherwise nothing can derive it."""
        known = self._control.symbolic_atoms[atom]
        return known is not None and known.literal != 0  # 0: it stands in no ground rule

    def with_atom(self, atom: Symbol) -> Answer | None:
        """The best answer set that has `atom`, best by the request's own preferences."""
        best = None
        with self._control.solve(assumptions=[(atom, True)], yield_=True) as handle:
            for model in handle:
                best = self._whole(model)
                if not model.cost or model.optimality_proven:
                    break
        return best

    def _shown_predicates(self) -> Iterable[Signature]:
        request = self._request
        return sorted(request.shows or request.derived - request.inputs - self._supplied)

    def _first(self) -> Answer | None:
        """The first in the order in which answer sets are printed."""
        found: tuple[list[str], Answer] | None = None
        with self._control.solve(yield_=True) as handle:
            for model in handle:
                if model.cost and not model.optimality_proven:
                    continue
                texts = sorted(map(str, model.symbols(shown=True)))
                if found is None or texts < found[0]:
                    found = texts, self._whole(model)
        return found[1] if found else None

    def _matching(
        self, fixed: Sequence[tuple[Symbol, bool]], shown: Sequence[str]
    ) -> Answer | None:
        wanted = set(shown)
        with self._control.solve(assumptions=fixed, yield_=True) as handle:
            for model in handle:
                if model.cost and not model.optimality_proven:
                    continue
                if {str(symbol) for symbol in model.symbols(shown=True)} == wanted:
                    return self._whole(model)
        return None

    def _whole(self, model: clingo.Model) -> Answer:
        terms = tuple(model.symbols(terms=True))
        return Answer(self._atoms(model), terms, self._solving.cost(model))

    def _atoms(self, model: clingo.Model) -> Model:
        atoms = self._control.symbolic_atoms
        found = {
            Signature(name if positive else f"-{name}", arity): [
                atom.symbol
                for atom in atoms.by_signature(name, arity, positive)
                if atom.is_fact or model.contains(atom.symbol)
            ]
            for name, arity, positive in atoms.signatures
        }
        return Model({predicate: there for predicate, there in found.items() if there})
