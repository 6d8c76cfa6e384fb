"""The atoms of one answer set, by predicate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from clingo import Symbol

from reasoning.atoms import signature_of
from reasoning.program import Signature


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
