"""Programs of plain LARS on clingo: all answer streams, whatever the loops (DESIGN A8).

`OneShot` grounds the program anew at each point of time over what its windows see then;
`MultiShot` goes on with one control, to which each point adds its data and an instance of
the rules that an external switches off at the next.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

import clingo

from reasoning.atoms import signature
from reasoning.engines.guard import Guard, is_large, is_long, setup
from reasoning.engines.limits import UNLIMITED, Limits
from reasoning.engines.program import OURS, Knowledge, Program
from reasoning.engines.solver import AnswerSet, Solving
from reasoning.engines.worker import Setup
from reasoning.lars import data
from reasoning.lars.encoding import Encoding
from reasoning.lars.evaluation import Point, require_one, shown
from reasoning.lars.history import Atom, History, Tuple, split
from reasoning.lars.program import LarsProgram
from reasoning.lars.relations import FIRST, NOW
from reasoning.program import Signature

_STAMP, _STEP = f"{OURS}t", f"{OURS}step"
_OLDEST = 50
"""So many points of time a control serves at least: clingo keeps all it ever saw."""


class _OnClingo(ABC):
    """What one-shot and multi-shot evaluation share: the stream, and what is fed back."""

    stamp = ""

    def __init__(
        self, program: LarsProgram, knowledge: Knowledge | None = None, limits: Limits | None = None
    ) -> None:
        self.program = program
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
        self._take(self._history.arrive(map(split, point.arrivals), point.readings))
        answers = self._answers(models)
        if self.program.streamed:
            self._feed_back(answers)
            answers = tuple(map(self._visible, answers))
        return answers

    def changes(self) -> None:
        """Not known without comparing."""
        return

    @abstractmethod
    def close(self) -> None:
        """Release processes and memory."""

    def _encode(self, supplied: frozenset[Signature]) -> None:
        """Have the program as it is where the stream supplies some predicates."""
        visible = shown(self.program, supplied | self._known)
        if visible == self._shown:
            return
        self._shown = visible
        self._encoding = Encoding(
            self.program, self._known, visible | self.program.streamed, stamp=self.stamp
        )
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """Go on with another encoding."""

    @abstractmethod
    def _take(self, arrivals: Sequence[Atom]) -> None:
        """Take what arrives at the point of time."""

    @abstractmethod
    def _answers(self, models: int) -> tuple[AnswerSet, ...]:
        """The answers at the point of time, with what is fed back."""

    def _feed_back(self, answers: Sequence[AnswerSet]) -> None:
        require_one(self.program, answers)
        atoms = map(split, answers[0].atoms)
        back = [atom for atom in atoms if atom.signature in self.program.streamed]
        self._take(self._history.arrive(back))

    def _visible(self, answer: AnswerSet) -> AnswerSet:
        assert self._shown is not None
        return AnswerSet(tuple(a for a in answer.atoms if signature(a) in self._shown))


class OneShot(_OnClingo):
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
        self._guard = Guard() if guarded else None
        super().__init__(program, knowledge, limits)

    def close(self) -> None:
        """End the process, or leave it to the next."""
        if self._guard:
            self._guard.leave()

    def _prepare(self) -> None:
        encoding = self._encoding
        self._program = Program(self.program.request.name, encoding.rules)
        self._reads_clock = f"{NOW}(" in encoding.rules
        self._asked: tuple[str, int] | None = None
        """The facts of the last evaluation that had answers, which are the same where these
        are: most points of a quiet night."""
        self._same: tuple[AnswerSet, ...] = ()
        seen = (fact for fact, _as_it_is in data.background(encoding, self._knowledge))
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

    def _take(self, arrivals: Sequence[Atom]) -> None:
        """The history has it."""

    def _answers(self, models: int) -> tuple[AnswerSet, ...]:
        facts = _text(data.times(self._encoding, self._history))
        if not self._reads_clock:
            facts = facts.partition("\n")[2]  # the point of time comes first
        facts += _text(data.holding(self._encoding, self._history))
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


class _Steps(Solving):
    """A control whose rules are ground for one point of time after the other."""

    def define(self, rules: str) -> None:
        """The rules of a point of time, which stands in them as the stamp."""
        with self._in_its_words():
            self.control.add(_STEP, [_STAMP], rules)

    def advance(self, time: int, facts: str) -> None:
        """Ground the rules for a point of time, with the facts it brings."""
        new = f"{OURS}facts{time}".replace("-", "_")
        self.add(new, facts)
        with self._in_its_words():
            self.control.ground([(new, []), (_STEP, [clingo.Number(time)])])


class MultiShot(_OnClingo):
    """Evaluates with one control, to which each point of time adds; a fresh one now and
    then, since clingo keeps what it saw."""

    stamp = _STAMP

    def close(self) -> None:
        """Let go of the control."""
        self._drop()

    def _prepare(self) -> None:
        self._drop()
        self._new: list[Tuple] = []
        self._clock: clingo.Symbol | None = None
        self._served = 0

    def _take(self, arrivals: Sequence[Atom]) -> None:
        self._new += [Tuple(self._history.now, atom) for atom in arrivals]

    def _drop(self) -> None:
        self._solving: _Steps | None = None

    def _answers(self, models: int) -> tuple[AnswerSet, ...]:
        solving = self._solving
        if solving is None or self._served > max(_OLDEST, 2 * self._history.longest):
            solving = self._begin()
        self._drop()  # where it fails, a fresh one goes on
        self._advance(solving)
        answers = solving.answer_sets(models)
        self._solving = solving
        return answers

    def _begin(self) -> _Steps:
        """A fresh control, with what windows still see."""
        encoding, history = self._encoding, self._history
        solving = _Steps(Program(self.program.request.name, ""), self._limits)
        solving.define(f"#external {NOW}({_STAMP}).\n{encoding.rules}")
        back = (fact for fact, _as_it_is in data.background(encoding, self._knowledge))
        solving.add("base", f"#show.\n{FIRST}({history.first}).\n", _text(back))
        solving.ground("base")
        here = [Tuple(history.now, atom) for atom in history.here()]
        self._new = list(dict.fromkeys([*history.all(), *here]))
        self._served, self._clock = 0, None
        return solving

    def _advance(self, solving: _Steps) -> None:
        """Switch the last point's rules off, and ground those of this one."""
        encoding, history = self._encoding, self._history
        now = history.now
        if self._clock is not None:
            solving.control.release_external(self._clock)
            solving.control.cleanup()
        facts = _text(data.times(encoding, history)) + _text(data.arrived(encoding, self._new))
        facts += _text(data.windows(encoding, history, data.tuple_windows(encoding)))
        solving.advance(now, facts.replace(_STAMP, str(now)))
        self._clock = clingo.Function(NOW, [clingo.Number(now)])
        solving.control.assign_external(self._clock, True)
        self._new = []
        self._served += 1


def solver(
    program: LarsProgram, knowledge: Knowledge | None = None, limits: Limits | None = None
) -> OneShot:
    """What evaluates a program on clingo: within limits, or where knowledge is large and is
    grounded once, in a process of its own.

    One-shot evaluation has been faster in everything we measured (docs/performance.md):
    multi-shot evaluation looks through the same windows at each point of time, for rules
    that an external must be able to switch off.
    """
    guarded = limits is not None or is_large(knowledge)
    return OneShot(program, knowledge, limits or UNLIMITED, guarded=guarded)


def _text(facts: Iterable[str]) -> str:
    return "".join([f"{fact}.\n" for fact in facts])
