"""The incremental engine of a program and of a request, alone or below the solver.

Windows come as changes, answers leave as changes. What is not in the incremental fragment
may be cut in two: its stratified bottom here, the rest in the solver.
"""

from __future__ import annotations

from functools import partial

from citywise.reasoning.asp.dependencies import input_predicates
from citywise.reasoning.asp.rules import Labels, read
from citywise.reasoning.asp.translation.program import (
    Split,
    Translated,
    UnsupportedError,
    split,
    translate,
)
from citywise.reasoning.engines.clingo.guard import Guard, supplied_by_windows
from citywise.reasoning.engines.clingo.messages import Setup
from citywise.reasoning.engines.clingo.solver import Solving
from citywise.reasoning.engines.incremental.atoms import AtomEvaluation, AtomPast
from citywise.reasoning.engines.incremental.views import AnswerView, Shown
from citywise.reasoning.limits import Limits
from citywise.reasoning.model.engine import (
    Answered,
    AnswerSet,
    AspProgram,
    Knowledge,
    WindowChange,
    WindowFacts,
    difference,
    program,
)
from citywise.reasoning.model.request import Request, Signature


class SplitProgram:
    """Evaluates a program's bottom incrementally, and gives what it says as facts to the
    solver with the rest (the splitting set theorem: Lifschitz and Turner, 1994).

    Takes what `ProgramEngine` takes. Raises `UnsupportedError` if nothing can be evaluated
    apart. With limits the solver has a process of its own.
    """

    def __init__(
        self,
        what: AspProgram,
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
        # Nothing happened below, so the solver's last answer is still that to its facts.
        if not self._atoms.moved:
            return
        if not continued:
            self._shown = Shown.of(self._atoms.translated.shows)
            self._interface = Shown.of(self._split.interface)
            self._asked = None
        self._shown.follow(self._atoms.evaluation)
        # Only what the rules above can see makes a new question: much may change below without
        # one.
        if any(self._interface.follow(self._atoms.evaluation)):
            self._asked = None

    def _answers(self, models: int) -> tuple[AnswerSet, ...]:
        if not self._atoms.consistent:
            return ()
        if self._asked != models:
            # Set before and after: a solver that fails leaves no old answer behind as if it were
            # new.
            self._asked = None
            self._found = self._solve(models)
            self._asked = models
        # What is shown of the part below is in every answer set; put in again here, and not sent
        # through the solver.
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
    unfold:
        See `AtomEvaluation`.

    Raises `UnsupportedError` for a program that is not in the fragment.
    """

    def __init__(
        self,
        what: AspProgram,
        knowledge: str = "",
        supplied: frozenset[Signature] = frozenset(),
        limits: Limits | None = None,
        labels: Labels | None = None,
        *,
        unfold: bool = True,
    ) -> None:
        translating = partial(_translated, what, labels)
        self._atoms = AtomEvaluation(translating, supplied, knowledge, limits, unfold=unfold)
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

    def past(self, now: int) -> AtomPast | None:
        """See `AtomEvaluation.past`."""
        return self._atoms.past(now)

    def close(self) -> None:
        """Nothing is held but memory."""

    def _answered(self, *, continued: bool) -> Answered:
        before, shown = self._last, self._shown
        continued = continued and shown is not None
        # The same object as before: whoever compares answers sees at once that nothing changed.
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


class RequestEngine:
    """Evaluates a request by the program that what its streams supply makes of it: an
    `Engine`, and one that may be told what changed (`ChangingEngine`)."""

    _following_of: type[ProgramEngine] | type[SplitProgram]
    """What evaluates a program."""

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
        # Another program may show other predicates; what it says came and went would not be
        # against what was shown before.
        same = self._prepare(change.supplied)
        answered = self._following.changed(change, models)
        return answered if same else Answered(answered.answer_sets)

    def past(self, now: int) -> AtomPast | None:
        """What can tell how earlier answers change, from the last one on; None where nothing
        can."""
        following = self._following
        return following.past(now) if isinstance(following, ProgramEngine) else None

    def close(self) -> None:
        """See `Engine`."""
        self._following.close()

    def _prepare(self, supplied: frozenset[Signature]) -> bool:
        """Have the program for what the streams supply; False if it is another."""
        if supplied == self._supplied:
            return True
        self._supplied = supplied
        # A new predicate on a stream seldom makes another program: only where nothing is declared
        # shown.
        what = program(self._request, supplied | self._known)
        if what == self._what:
            return True
        self._following.close()
        self._what, self._following = what, self._made(what)
        return False

    def _made(self, what: AspProgram) -> ProgramEngine | SplitProgram:
        present = self._foreseen | self._supplied | self._known
        labels = self._request.labels
        return self._following_of(what, self._knowledge, present, self._limits, labels)


class IncrementalEngine(RequestEngine):
    """Evaluates a request of the stratified fragment.

    Raises `UnsupportedError` that names the first statement that is not in the fragment.
    """

    _following_of = ProgramEngine


class SplitEngine(RequestEngine):
    """Evaluates a request's stratified bottom, and what reads it in the solver.

    Raises `UnsupportedError` if nothing can be evaluated apart from the rest.
    """

    _following_of = SplitProgram


def foreseen(request: Request) -> frozenset[Signature]:
    """The predicates of which windows may supply facts, by what the rules say."""
    rules = read(request.rules, request.labels).rules
    return input_predicates(request, rules) | supplied_by_windows(request)


def _translated(
    what: AspProgram, labels: Labels | None, supplied: frozenset[Signature]
) -> Translated:
    return translate(what, supplied, labels)
