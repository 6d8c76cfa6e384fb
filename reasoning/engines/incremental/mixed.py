"""A program cut in two: its stratified bottom here, the rest in the solver."""

from __future__ import annotations

from reasoning.engines.changes import Answered, WindowChange
from reasoning.engines.guard import Guard
from reasoning.engines.incremental.atoms import AtomEvaluation
from reasoning.engines.incremental.casp import Split, Translated, UnsupportedError, split
from reasoning.engines.incremental.views import Shown
from reasoning.engines.limits import Limits
from reasoning.engines.program import Program
from reasoning.engines.solver import AnswerSet, Solving
from reasoning.engines.worker import Setup
from reasoning.parallel.rules import Labels
from reasoning.program import Signature


class SplitProgram:
    """Evaluates a program's bottom incrementally, and gives what it says as facts to the
    solver with the rest (the splitting set theorem: Lifschitz and Turner, 1994).

    Takes what `ProgramEngine` takes. Raises `UnsupportedError` if nothing can be evaluated
    apart. With limits the solver has a process of its own.
    """

    def __init__(
        self,
        what: Program,
        knowledge: str = "",
        supplied: frozenset[Signature] = frozenset(),
        limits: Limits | None = None,
        labels: Labels | None = None,
    ) -> None:
        self._what, self._labels, self._limits = what, labels, limits
        self._guard = Guard()
        self._atoms = AtomEvaluation(self._bottom, supplied, knowledge, limits)
        self._shown = self._interface = Shown(())
        self._asked: int | None = None
        """For how many answer sets the solver was asked last; None: it failed, or the facts
        have changed."""
        self._found: tuple[AnswerSet, ...] = ()

    def changed(self, change: WindowChange, models: int = 0) -> Answered:
        """See `ChangingEngine`; what came and went is not known."""
        self._follow(continued=self._atoms.follow(change))
        return Answered(self._answers(models))

    def answers(self, facts: str, models: int = 0) -> tuple[AnswerSet, ...]:
        """See `ProgramEngine.answers`."""
        self._follow(continued=self._atoms.take(facts))
        return self._answers(models)

    def close(self) -> None:
        """End the solver's process, or leave it to others."""
        self._guard.leave()

    def _bottom(self, supplied: frozenset[Signature]) -> Translated:
        self._split: Split = split(self._what, supplied, self._labels)
        if self._split.bottom is None:
            raise UnsupportedError("; ".join(self._split.reasons))
        return self._split.bottom

    def _follow(self, *, continued: bool) -> None:
        if not self._atoms.moved:
            return
        if not continued:
            self._shown = Shown.of(self._atoms.translated.shows)
            self._interface = Shown.of(self._split.interface)
            self._asked = None
        self._shown.follow(self._atoms.evaluation)
        if any(self._interface.follow(self._atoms.evaluation)):
            self._asked = None

    def _answers(self, models: int) -> tuple[AnswerSet, ...]:
        if not self._atoms.consistent:
            return ()
        if self._asked != models:
            self._asked = None
            self._found = self._solve(models)
            self._asked = models
        below = self._shown.version.members()
        if not below:
            return self._found
        return tuple(
            sorted(AnswerSet(tuple(sorted({*a.atoms, *below})), a.cost) for a in self._found)
        )

    def _solve(self, models: int) -> tuple[AnswerSet, ...]:
        top = self._split.top
        facts = "".join([f"{atom}.\n" for atom in self._interface.version.members()])
        if self._limits is not None:
            return self._guard.evaluate(Setup(top, self._limits), facts, models)
        solving = Solving(top)
        solving.add("base", top.rules, facts)
        solving.ground("base")
        return solving.answer_sets(models)
