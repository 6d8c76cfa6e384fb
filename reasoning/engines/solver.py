"""The solver engine: clingo over the facts of a window (DESIGN B3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, cast

import clingo

from reasoning.engines.limits import Limits, exceeded, too_many
from reasoning.engines.program import OURS, Knowledge, Program, WindowFacts, program
from reasoning.engines.readback import sorted_texts
from reasoning.errors import SolvingError
from reasoning.program import Request, Signature

_COUNTED = 50_000
_ALL_OPTIMAL = ("--project=show", "--opt-mode=optN")


@dataclass(frozen=True, order=True)
class AnswerSet:
    """The shown atoms of one answer set, sorted as text, and its cost (highest priority
    first; empty without optimisation)."""

    atoms: tuple[str, ...]
    cost: tuple[int, ...] = ()


def difference(
    before: AnswerSet | None, after: AnswerSet | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What came and what is gone between two answers, sorted; None has no atoms."""
    old = frozenset(before.atoms if before else ())
    new = frozenset(after.atoms if after else ())
    return tuple(sorted(new - old)), tuple(sorted(old - new))


class Engine(Protocol):
    """What evaluates a request's rules over the facts of a window."""

    def answer_sets(self, window: WindowFacts, models: int = 0) -> tuple[AnswerSet, ...]:
        """All answer sets that differ in their shown atoms (at most `models`, 0: all),
        sorted; with optimisation only optimal ones.

        Raises `SolvingError` with the solver's words, `LimitError` at a limit.
        """

    def close(self) -> None:
        """Release processes and memory."""


class SolverEngine:
    """Evaluates with a fresh clingo control each time, in this process.

    Of the limits it keeps those on atoms and models; grounding and solving cannot be
    interrupted within a process (`reasoning.engines.guard` does that).
    """

    def __init__(
        self, request: Request, knowledge: Knowledge | None = None, limits: Limits | None = None
    ) -> None:
        self._request = request
        self._text = knowledge.text if knowledge else ""
        self._supplied = knowledge.supplied if knowledge else frozenset()
        self._limits = limits

    def answer_sets(self, window: WindowFacts, models: int = 0) -> tuple[AnswerSet, ...]:
        """See `Engine`."""
        what = program(self._request, window.supplied | self._supplied)
        solving = Solving(what, self._limits)
        solving.add("base", what.rules, self._text, window.text)
        solving.ground("base")
        return solving.answer_sets(models)

    def close(self) -> None:
        """Nothing is held."""


class Solving:
    """One clingo control on its way from text to answer sets.

    `phase` and `grown` may be asked from another thread, to say where it stands.
    """

    def __init__(
        self, what: Program, limits: Limits | None = None, options: Sequence[str] = _ALL_OPTIMAL
    ) -> None:
        self.name = what.name
        self.phase = "grounding"
        self._priorities = what.priorities
        self._limits = limits
        self._messages: list[str] = []
        self.control = clingo.Control(
            [*options, "--warn=none"],
            logger=lambda _code, message: self._messages.append(message),
        )

    def add(self, part: str, *texts: str) -> None:
        """Add texts to a part of the program."""
        with self._in_its_words():
            for text in filter(None, texts):
                self.control.add(part, [], text)

    def ground(self, *parts: str) -> None:
        """Ground parts of the program, in this order and together."""
        with self._in_its_words():
            self.control.ground([(part, []) for part in parts])

    def answer_sets(self, models: int = 0) -> tuple[AnswerSet, ...]:
        """Solve; see `Engine.answer_sets`."""
        self._check_atoms()
        self.phase = "solving"
        most = self._limits.models if self._limits else 0
        configuration = cast("clingo.Configuration", self.control.configuration.solve)
        configuration.models = str(models or (most + 1 if most else 0))
        with self._in_its_words():
            candidates = self._models()
            found = list(islice(candidates, 2))
            if len(found) > 1:
                found = sorted({*found, *candidates})  # one alone needs no hash
        if most and not models and len(found) > most:
            raise too_many(self.name, most)
        return tuple(found)

    def atoms(self) -> int:
        """The number of ground atoms so far."""
        return len(self.control.symbolic_atoms)

    def grown(self, most: int = 3) -> dict[str, int]:
        """The predicates with most ground atoms, and how many (the largest is what the
        others leave, the rest are counted up to a bound)."""
        atoms = self.control.symbolic_atoms
        total = len(atoms)
        counts: dict[str, int] = {}
        for name, arity, positive in atoms.signatures:
            if name.startswith(OURS):
                continue
            signature = Signature(name if positive else f"-{name}", arity)
            counted = zip(range(_COUNTED), atoms.by_signature(name, arity, positive), strict=False)
            counts[str(signature)] = sum(1 for _ in counted)
        largest = sorted(counts, key=lambda s: (-counts[s], s))[:most]
        if largest and counts[largest[0]] == _COUNTED:
            others = sum(count for s, count in counts.items() if s != largest[0])
            counts[largest[0]] = max(total - others, _COUNTED)
        return {signature: counts[signature] for signature in largest if counts[signature]}

    def _check_atoms(self) -> None:
        if self._limits and self.atoms() > self._limits.atoms:
            limit = f"it has more than {self._limits.atoms:,} ground atoms"
            raise exceeded(self.name, limit, self.phase, self.grown())

    def _models(self) -> Iterator[AnswerSet]:
        with self.control.solve(yield_=True) as handle:
            for model in handle:
                # Where nothing to minimise is ground there is no cost, and nothing to prove.
                if model.cost and not model.optimality_proven:
                    continue
                yield AnswerSet(sorted_texts(model.symbols(shown=True)), self.cost(model))

    def cost(self, model: clingo.Model) -> tuple[int, ...]:
        """A model's cost, one entry for each priority of the program (DESIGN A4)."""
        cost = dict(zip(model.priority, model.cost, strict=True))
        priorities = sorted({*self._priorities, *cost}, reverse=True)
        return tuple(cost.get(priority, 0) for priority in priorities)

    @contextmanager
    def _in_its_words(self) -> Iterator[None]:
        """clingo's failures as `SolvingError`s with what it said."""
        try:
            yield
        except (RuntimeError, MemoryError) as error:
            detail = "; ".join(self._messages) or str(error)
            raise SolvingError(f"request `{self.name}`: {detail.strip()}") from None
