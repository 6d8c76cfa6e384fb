"""The rules of decisions, run in this process."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from citywise.reasoning import WindowFacts, parse_file
from citywise.reasoning.engines.clingo.solver import SolverEngine

RULES = Path(__file__).with_name("rules")

Atoms = dict[str, list[tuple[int, ...]]]
"""Shown atoms of an answer set: arguments by predicate, in the order of their text."""

_NUMBERS = re.compile(r"\d+")


def answers(rules: str, facts: str) -> list[Atoms]:
    """The answer sets of `rules/<rules>.casp` over facts; all that is shown is numbers.

    Each call has a solver of its own: threads do not wait for one another, and what is
    ground is never more than one question.
    """
    return [_read(found.atoms) for found in _engine(rules).answer_sets(WindowFacts(facts))]


@cache
def _engine(rules: str) -> SolverEngine:
    return SolverEngine(parse_file(RULES / f"{rules}.casp"))


def _read(atoms: tuple[str, ...]) -> Atoms:
    found: Atoms = {}
    for atom in atoms:
        name, _bracket, arguments = atom.partition("(")
        found.setdefault(name, []).append(tuple(map(int, _NUMBERS.findall(arguments))))
    return found
