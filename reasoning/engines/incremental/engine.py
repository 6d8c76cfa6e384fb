"""The incremental engine of a request: windows come as changes, answers leave as changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Protocol

from reasoning.engines.changes import Answered, WindowChange
from reasoning.engines.guard import supplied_by_windows
from reasoning.engines.incremental.atoms import AtomEvaluation
from reasoning.engines.incremental.casp import Translated, translate
from reasoning.engines.incremental.mixed import SplitProgram
from reasoning.engines.incremental.views import AnswerView, Shown
from reasoning.engines.limits import Limits
from reasoning.engines.program import Knowledge, Program, WindowFacts, program
from reasoning.engines.solver import AnswerSet, difference
from reasoning.parallel.graphs import input_predicates
from reasoning.parallel.rules import Labels, read
from reasoning.program import Request, Signature


class ProgramEngine:
    """Evaluates one program over facts that change.

    Parameters
    ----------
    knowledge:
        Facts that always hold, one `atom.` a line.
    supplied:
        Predicates of which facts may come, as far as is known.
    labels:
        Of the program's rules, for messages.

    Raises `UnsupportedError` for a program that is not in the fragment.
    """

    def __init__(
        self,
        what: Program,
        knowledge: str = "",
        supplied: frozenset[Signature] = frozenset(),
        limits: Limits | None = None,
        labels: Labels | None = None,
    ) -> None:
        translating = partial(_translated, what, labels)
        self._atoms = AtomEvaluation(translating, supplied, knowledge, limits)
        self._shown: Shown | None = None
        self._last: AnswerSet | None = None

    def changed(self, change: WindowChange, models: int = 0) -> Answered:
        """See `ChangingEngine`."""
        del models  # there is one at most
        return self._answered(continued=self._atoms.follow(change))

    def answers(self, facts: str, models: int = 0) -> tuple[AnswerSet, ...]:
        """The answers to facts, one `atom.` a line; what they have in common with those of
        the call before is not evaluated again."""
        del models  # there is one at most
        return self._answered(continued=self._atoms.take(facts)).answer_sets

    def close(self) -> None:
        """Nothing is held but memory."""

    def _answered(self, *, continued: bool) -> Answered:
        before, shown = self._last, self._shown
        continued = continued and shown is not None
        if continued and not self._atoms.moved:
            return Answered(() if before is None else (before,), (), ())
        evaluation = self._atoms.evaluation
        if shown is None or not continued:
            shown = self._shown = Shown.of(self._atoms.translated.shows)
        added, removed = shown.follow(evaluation)
        self._last = AnswerView(shown.version) if self._atoms.consistent else None
        answers = () if self._last is None else (self._last,)
        if continued and before is not None and self._last is not None:
            return Answered(answers, added, removed)
        return Answered(answers, *difference(before, self._last))


class Following(Protocol):
    """What evaluates one program over facts that change."""

    def changed(self, change: WindowChange, models: int = 0) -> Answered:
        """See `ChangingEngine`."""

    def answers(self, facts: str, models: int = 0) -> tuple[AnswerSet, ...]:
        """See `ProgramEngine`."""

    def close(self) -> None:
        """Release processes and memory."""


class RequestEngine(ABC):
    """Evaluates a request by the program that what its streams supply makes of it: an
    `Engine`, and one that may be told what changed (`ChangingEngine`)."""

    def __init__(
        self, request: Request, knowledge: Knowledge | None = None, limits: Limits | None = None
    ) -> None:
        self._request = request
        self._knowledge = knowledge.text if knowledge else ""
        self._known = knowledge.supplied if knowledge else frozenset()
        self._limits = limits
        self._foreseen = foreseen(request)
        self._supplied: frozenset[Signature] = frozenset()
        self._what = program(request, self._known)
        self._following = self._made(self._what)

    def answer_sets(self, window: WindowFacts, models: int = 0) -> tuple[AnswerSet, ...]:
        """See `Engine`."""
        self._prepare(window.supplied)
        return self._following.answers(window.text, models)

    def changed(self, change: WindowChange, models: int = 0) -> Answered:
        """See `ChangingEngine`."""
        same = self._prepare(change.supplied)
        answered = self._following.changed(change, models)
        return answered if same else Answered(answered.answer_sets)

    def close(self) -> None:
        """See `Engine`."""
        self._following.close()

    def _prepare(self, supplied: frozenset[Signature]) -> bool:
        """Have the program for what the streams supply; False if it is another."""
        if supplied == self._supplied:
            return True
        self._supplied = supplied
        what = program(self._request, supplied | self._known)
        if what == self._what:
            return True
        self._following.close()
        self._what, self._following = what, self._made(what)
        return False

    @abstractmethod
    def _made(self, what: Program) -> Following:
        """What evaluates a program."""

    @property
    def _present(self) -> frozenset[Signature]:
        return self._foreseen | self._supplied | self._known


class IncrementalEngine(RequestEngine):
    """Evaluates a request of the stratified fragment.

    Raises `UnsupportedError` that names the first statement that is not in the fragment.
    """

    def _made(self, what: Program) -> Following:
        labels = self._request.labels
        return ProgramEngine(what, self._knowledge, self._present, self._limits, labels)


class SplitEngine(RequestEngine):
    """Evaluates a request's stratified bottom, and what reads it in the solver.

    Raises `UnsupportedError` if nothing can be evaluated apart from the rest.
    """

    def _made(self, what: Program) -> Following:
        labels = self._request.labels
        return SplitProgram(what, self._knowledge, self._present, self._limits, labels)


def foreseen(request: Request) -> frozenset[Signature]:
    """The predicates of which windows may supply facts, by what the rules say."""
    rules = read(request.rules, request.labels).rules
    return input_predicates(request, rules) | supplied_by_windows(request)


def _translated(what: Program, labels: Labels | None, supplied: frozenset[Signature]) -> Translated:
    return translate(what, supplied, labels)
