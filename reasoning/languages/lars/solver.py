"""Programs of plain LARS on clingo: all answer streams, whatever the loops (docs/lars.md).

The program is ground anew at each point of time over what its windows see then. One control
that lives on is slower: its rules must be switched on and off at each point
(docs/performance.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reasoning.engines.clingo.guard import Guard, is_large, is_long, setup
from reasoning.engines.clingo.messages import Setup
from reasoning.engines.clingo.solver import Solving
from reasoning.languages.lars import history
from reasoning.languages.lars.encoding import Encoding
from reasoning.languages.lars.evaluation import Point, require_one, shown
from reasoning.languages.lars.history import History, split
from reasoning.languages.lars.program import LarsProgram
from reasoning.languages.lars.relations import FIRST, NOW
from reasoning.limits import UNLIMITED, Limits
from reasoning.model.atoms import signature
from reasoning.model.engine import AnswerSet, AspProgram, Knowledge
from reasoning.model.request import Signature


class OneShot:
    """Evaluates with a fresh control at each point of time: in this process, or `guarded`
    in one that is ended when an evaluation goes beyond a limit."""

    def __init__(
        self,
        program: LarsProgram,
        knowledge: Knowledge | None = None,
        limits: Limits | None = None,
        *,
        guarded: bool = False,
    ) -> None:
        self.program = program
        self._guard = Guard() if guarded else None
        self._knowledge = knowledge.text if knowledge else ""
        self._known = knowledge.supplied if knowledge else frozenset[Signature]()
        self._limits = limits
        self._shown: frozenset[Signature] | None = None
        self._encode(frozenset())
        self._history = History(
            {seen.window for seen in self._encoding.seen},
            {seen.signature for seen in self._encoding.seen},
        )

    def step(self, point: Point, models: int = 0) -> tuple[AnswerSet, ...]:
        """See `Evaluator`."""
        self._encode(point.supplied)
        self._history.begin(point.time)
        self._history.arrive(map(split, point.arrivals), point.readings)
        answers = self._answers(models)
        if self.program.streamed:
            self._feed_back(answers)
            answers = tuple(map(self._visible, answers))
        return answers

    def changes(self) -> None:
        """Not known without comparing."""
        return

    def close(self) -> None:
        """End the process, or leave it to the next."""
        if self._guard:
            self._guard.leave()

    def _encode(self, supplied: frozenset[Signature]) -> None:
        """Have the program as it is where the stream supplies some predicates."""
        visible = shown(self.program, supplied | self._known)
        if visible == self._shown:
            return
        self._shown = visible
        self._encoding = Encoding(self.program, self._known, visible | self.program.streamed)
        self._prepare()

    def _prepare(self) -> None:
        """Go on with another encoding."""
        encoding = self._encoding
        self._program = AspProgram(self.program.request.name, encoding.rules)
        self._reads_clock = f"{NOW}(" in encoding.rules
        self._asked: tuple[str, int] | None = None
        """The facts of the last evaluation that had answers, which are the same where these
        are: most points of a quiet night."""
        self._same: tuple[AnswerSet, ...] = ()
        seen = (fact for fact, _as_it_is in history.background(encoding, self._knowledge))
        self._facts = self._knowledge + _text(seen)
        self._setup: Setup | None = None
        if self._guard:
            once = is_long(self._facts)
            limits = self._limits or Limits()
            self._setup = setup(self._program, limits, self._facts, self._dynamic(), once=once)

    def _dynamic(self) -> frozenset[Signature]:
        """What the facts of a point of time are about."""
        encoding = self._encoding
        views = {Signature(name, s.signature.arity + (s.view == "timed"))
                 for s, name in encoding.seen.items()}  # fmt: skip
        ranges = {Signature(name, 1) for name in (NOW, FIRST, *encoding.ranges.values())}
        return encoding.now | views | ranges

    def _answers(self, models: int) -> tuple[AnswerSet, ...]:
        """The answers at the point of time, with what is fed back."""
        facts = _text(history.times(self._encoding, self._history))
        if not self._reads_clock:
            facts = facts.partition("\n")[2]  # the point of time comes first
        facts += _text(history.holding(self._encoding, self._history))
        if (facts, models) != self._asked:
            self._same = self._solved(facts, models)
            self._asked = facts, models
        return self._same

    def _solved(self, facts: str, models: int) -> tuple[AnswerSet, ...]:
        if self._guard and self._setup:
            return self._guard.evaluate(self._setup, facts, models)
        solving = Solving(self._program, self._limits)
        solving.add("base", self._program.rules, self._facts, facts)
        solving.ground("base")
        return solving.answer_sets(models)

    def _feed_back(self, answers: Sequence[AnswerSet]) -> None:
        require_one(self.program, answers)
        atoms = map(split, answers[0].atoms)
        self._history.arrive(atom for atom in atoms if atom.signature in self.program.streamed)

    def _visible(self, answer: AnswerSet) -> AnswerSet:
        assert self._shown is not None
        return AnswerSet(tuple(a for a in answer.atoms if signature(a) in self._shown))


def solver(
    program: LarsProgram, knowledge: Knowledge | None = None, limits: Limits | None = None
) -> OneShot:
    """What evaluates a program on clingo: within limits, or where knowledge is large and is
    grounded once, in a process of its own.
    """
    guarded = limits is not None or is_large(knowledge)
    return OneShot(program, knowledge, limits or UNLIMITED, guarded=guarded)


def _text(facts: Iterable[str]) -> str:
    return "".join([f"{fact}.\n" for fact in facts])
