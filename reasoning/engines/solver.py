"""The solver engine: one clingo call for a window's facts (DESIGN B3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import clingo

from reasoning.errors import SolvingError
from reasoning.program import Request


@dataclass(frozen=True, order=True)
class AnswerSet:
    """The shown atoms of one answer set, sorted as text, and its cost (highest priority
    first; empty without optimisation)."""

    atoms: tuple[str, ...]
    cost: tuple[int, ...] = ()


class SolverEngine:
    """Evaluates a request's rules over facts with a fresh clingo control each time.

    `background` are the facts of the knowledge bases, one `atom.` after the other.
    """

    def __init__(self, request: Request, background: str = "") -> None:
        self._request = request
        self._program = request.rules + _shown(request) + background

    def answer_sets(self, facts: str, models: int = 0) -> tuple[AnswerSet, ...]:
        """All answer sets that differ in their shown atoms (at most `models`, 0: all).

        With optimisation only optimal ones. Raises `SolvingError` with clingo's words.
        """
        messages: list[str] = []
        control = clingo.Control(
            ["--project=show", "--opt-mode=optN", "--warn=none", str(models)],
            logger=lambda _code, message: messages.append(message),
        )
        try:
            control.add("base", [], self._program)
            control.add("base", [], facts)
            control.ground([("base", [])])
            found = set(self._solve(control))
        except RuntimeError as error:
            detail = "; ".join(messages) or str(error)
            raise SolvingError(f"request `{self._request.name}`: {detail.strip()}") from None
        return tuple(sorted(found))

    def _solve(self, control: clingo.Control) -> Iterable[AnswerSet]:
        with control.solve(yield_=True) as handle:
            for model in handle:
                # Where nothing to minimise is ground there is no cost, and nothing to prove.
                if model.cost and not model.optimality_proven:
                    continue
                atoms = sorted(str(symbol) for symbol in model.symbols(shown=True))
                yield AnswerSet(tuple(atoms), self._cost(model))

    def _cost(self, model: clingo.Model) -> tuple[int, ...]:
        cost = dict(zip(model.priority, model.cost, strict=True))
        priorities = sorted({*self._request.priorities, *cost}, reverse=True)
        return tuple(cost.get(priority, 0) for priority in priorities)


def _shown(request: Request) -> str:
    """`#show` statements for a request that declares none: what its rules derive."""
    if request.shows or request.shows_terms:
        return "\n"
    derived = sorted(request.derived - request.inputs)
    return "\n#show.\n" + "".join(f"#show {signature}.\n" for signature in derived)
