"""What the rules say of the options of a question, by their positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from citywise.apps.travel_planner.decisions.encoding import ranked
from citywise.apps.travel_planner.decisions.question import Question
from citywise.apps.travel_planner.decisions.running import answers


@dataclass(frozen=True)
class Choice:
    """Positions of options; the earlier in the question is named first among equals."""

    order: Sequence[int]
    """The Pareto set, best first."""
    best: Sequence[int]
    """Those of it that nothing is before."""
    dominated_by: Mapping[int, int]
    violated: Mapping[int, Sequence[int]]
    """By option, the positions of the constraints (each once) that it does not meet."""


def choose(question: Question) -> Choice:
    """Which options are admissible, dominated, and in what order the others stand."""
    (atoms,) = answers("choose", ranked(question))
    places = sorted((place, option) for option, place in atoms.get("place", ()))
    dominated: dict[int, int] = {}
    for option, by in sorted(atoms.get("dominated_by", ())):
        dominated.setdefault(option, by)
    violated: dict[int, list[int]] = {}
    for option, constraint in sorted(atoms.get("violates", ())):
        violated.setdefault(option, []).append(constraint)
    best = [option for place, option in places if place == 1]
    return Choice([option for _place, option in places], best, dominated, violated)
