"""How the rules of a program look at its predicates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from reasoning.lars.bodies import atom_of
from reasoning.lars.program import At, Box, Counted, LastTuples, Now, Rule, TimeSpan
from reasoning.program import Signature
from reasoning.reaching import reached


@dataclass
class Use:
    """The time windows through which a program looks at a predicate."""

    size: int = 0
    """Of the largest."""
    unbounded: bool = False
    """Whether it asks for points of time of the whole timeline."""
    timed: bool = False
    """Whether it asks for the points of time at which atoms hold."""

    @property
    def window(self) -> TimeSpan | None:
        """The window that has all the others in it."""
        return None if self.unbounded else TimeSpan(self.size)


def uses(rules: Iterable[Rule]) -> dict[Signature, Use]:
    found: dict[Signature, Use] = defaultdict(Use)
    for rule in rules:
        for element in rule.body:
            formula = element.formula
            atom = atom_of(formula)
            if atom is None or isinstance(formula, Now):
                continue
            use, window = found[atom.signature], getattr(formula, "window", None)
            if isinstance(window, LastTuples):
                continue
            use.unbounded |= window is None
            use.size = max(use.size, window.size if window else 0)
            use.timed |= isinstance(formula, At | Counted)
            use.timed |= isinstance(formula, Box) and formula.window != TimeSpan(0)
    return found


def recursive(rules: Iterable[Rule]) -> frozenset[Signature]:
    """Predicates that depend on themselves."""
    below: dict[Signature, set[Signature]] = {}
    for rule in rules:
        if rule.head is not None:
            atoms = (atom_of(element.formula) for element in rule.body)
            reads = {atom.signature for atom in atoms if atom is not None}
            below.setdefault(rule.head.signature, set()).update(reads)
    return frozenset(each for each, reads in below.items() if each in reached(reads, below))
