"""What items of a stream bring to a program of plain LARS."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reasoning import atoms
from reasoning.encoding import Encoder
from reasoning.lars.bodies import atom_of
from reasoning.lars.program import LarsProgram, LastTuples
from reasoning.rdf.mapping import Triple
from reasoning.streams import Item


class Arrivals:
    """Turns items into ground atoms, those that no rule reads included where they count:
    in windows of the last tuples (DESIGN A8)."""

    def __init__(self, program: LarsProgram, encoder: Encoder) -> None:
        self.encoder = encoder
        self.readings: dict[str, str] = {}
        """Atoms of three arguments of triples that also gave one of two, and that one: the
        two are one tuple. The caller clears it."""
        formulas = [element.formula for rule in program.rules for element in rule.body]
        self._counts = any(
            atom_of(formula) and isinstance(getattr(formula, "window", None), LastTuples)
            for formula in formulas
        )
        self._filters = program.request.inputs
        self._listed = {signature.name for signature in self._filters}

    def of(self, item: Item) -> Sequence[str]:
        """The atoms of an item; raises `ItemError` when a literal has no value in ASP."""
        if isinstance(item.content, str):
            seen = not self._filters or atoms.signature(item.content) in self._filters
            return (item.content,) if seen else ()
        if not self._counts:
            return self.encoder.facts(item)
        self.encoder.supply(item.content)
        return [atom for triple in item.content for atom in self._tuple(triple, item.time)]

    def _tuple(self, triple: Triple, time: int) -> Iterator[str]:
        """The atoms of a triple, which are one tuple."""
        mapper = self.encoder.mapper
        found = mapper.facts(triple, time)
        if len(found) == 2:
            self.readings[found[1]] = found[0]
        yield from found
        name = None if found else mapper.predicate(triple.predicate.value)
        if name is not None and (not self._listed or name in self._listed):
            yield f"{name}({mapper.term(triple.subject, name)},{mapper.term(triple.object, name)})"
