"""Programs of plain LARS on clingo: all answer streams, whatever the loops (docs/lars.md).

The program is ground anew at each point of time over what its windows see then. One control
that lives on is slower: its rules must be switched on and off at each point
(docs/performance.md). `History` keeps the data stream as far back as windows look (Laser,
Definitions 3 and 4) and gives what it makes true, as facts for the rules of an `Encoding`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from citywise.reasoning.engines.clingo.guard import Guard, is_large, is_long, setup
from citywise.reasoning.engines.clingo.messages import Setup
from citywise.reasoning.engines.clingo.solver import Solving
from citywise.reasoning.languages.lars.encoding import (
    FIRST,
    NOW,
    Encoding,
    Seen,
)
from citywise.reasoning.languages.lars.program import (
    LarsProgram,
    LarsWindow,
    LastTuples,
    Point,
    TimeSpan,
    require_one,
    shown,
)
from citywise.reasoning.limits import UNLIMITED, Limits
from citywise.reasoning.model import atoms
from citywise.reasoning.model.atoms import call, signature
from citywise.reasoning.model.engine import AnswerSet, AspProgram, Knowledge
from citywise.reasoning.model.request import Signature


class GroundAtom(NamedTuple):
    """A ground atom as text, in two parts: the arguments are without brackets."""

    signature: Signature
    arguments: str

    @property
    def text(self) -> str:
        """The whole atom."""
        return f"{self.signature.name}({self.arguments})" if self.arguments else self.signature.name


class Tuple(NamedTuple):
    """An atom and the point of time at which it arrived."""

    time: int
    atom: GroundAtom


def split(text: str) -> GroundAtom:
    """The parts of a ground atom's text in clingo's spelling."""
    signature = atoms.signature(text)
    return GroundAtom(signature, text[len(signature.name) + 1 : -1] if signature.arity else "")


class History:
    """What has arrived, point by point: each atom once at a point of time.

    Parameters
    ----------
    windows:
        The windows that will be looked through; what none of them can show is forgotten.
    read:
        Predicates that windows of time look at; the last tuples are of any predicate.
    """

    def __init__(self, windows: Collection[LarsWindow | None], read: Collection[Signature]) -> None:
        self._read = frozenset(read)
        spans = [w.size for w in windows if isinstance(w, TimeSpan)]
        self._span: float = float("inf") if None in windows else max(spans, default=0)
        counts = [w.size for w in windows if isinstance(w, LastTuples)]
        self._last: deque[list[Tuple]] = deque(maxlen=max(counts, default=0))
        """Tuples: an atom, or a triple in both its readings."""
        self._points: deque[tuple[int, list[GroundAtom]]] = deque()
        # No set: of derivations that are alike otherwise explanations tell the first.
        self._here: dict[GroundAtom, None] = {}
        self.first: int | None = None
        """t1, the first point of the timeline."""
        self.now = 0
        """The last point so far."""

    def begin(self, time: int) -> None:
        """Go on to a point of time, later than the one before."""
        self.first = time if self.first is None else self.first
        self.now = time
        self._here = {}
        while self._points and self._points[0][0] < time - self._span:
            self._points.popleft()

    def arrive(
        self, arrivals: Iterable[GroundAtom], readings: Mapping[str, str] | None = None
    ) -> list[GroundAtom]:
        """Take atoms that arrive at the point of time, in order, where `readings` says which
        are one tuple with another; those that are new there."""
        new = []
        for atom in arrivals:
            if atom not in self._here:
                self._here[atom] = None
                new.append(atom)
        self._last.extend(self._tuples(new, readings or {}))
        if read := [atom for atom in new if atom.signature in self._read]:
            self._points.append((self.now, read))
        return new

    def _tuples(
        self, new: Iterable[GroundAtom], readings: Mapping[str, str]
    ) -> Iterable[list[Tuple]]:
        found: dict[str, list[Tuple]] = {}
        for atom in new:
            first = readings.get(atom.text, atom.text) if readings else atom.text
            found.setdefault(first, []).append(Tuple(self.now, atom))
        return found.values()

    def here(self) -> Collection[GroundAtom]:
        """The atoms that hold now."""
        return self._here.keys()

    def timeline(self, window: LarsWindow | None) -> range:
        """The points of time of a window."""
        assert self.first is not None
        low, end = self.first, self.now + 1
        if isinstance(window, TimeSpan):
            low, end = max(low, self.now - window.size), end - window.gap
        elif isinstance(window, LastTuples) and len(self._last) >= window.size:
            low = self._last[-window.size][0].time
        return range(low, end)

    def within(self, window: LarsWindow | None) -> Iterator[Tuple]:
        """The atoms of a window with their points of time, oldest first; of a window of time
        those of the predicates that are read."""
        if isinstance(window, LastTuples):
            yield from chain.from_iterable(list(self._last)[-window.size :])
            return
        points = self.timeline(window)
        for time, here in self._points:
            if time in points:
                yield from (Tuple(time, atom) for atom in here)


FactGivers = dict[str, list[Tuple]]
"""Facts as ASP text, each with the arrivals that make it true."""


def holding(encoding: Encoding, history: History) -> FactGivers:
    """What windows see of the data and what of them holds now."""
    found: FactGivers = {}
    for atom in history.here():
        if atom.signature in encoding.now:
            text = call(atom.signature.name, _arguments(atom))
            found.setdefault(text, []).append(Tuple(history.now, atom))
    return found | _windows(encoding, history)


def _windows(encoding: Encoding, history: History) -> FactGivers:
    found: FactGivers = {}
    contents: dict[LarsWindow | None, dict[Signature, list[Tuple]]] = {}
    for each, relation in encoding.seen.items():
        if each.window not in contents:
            contents[each.window] = _by_predicate(history.within(each.window))
        tuples = contents[each.window].get(each.signature, [])
        if each.view in ("every", "lasting") and encoding.is_derived(each):
            continue  # it is a rule: some points may have the data, others what is derived
        for arguments, giving in _seen_arguments(each, tuples, history.timeline(each.window)):
            found.setdefault(call(relation, arguments), []).extend(giving)
    return found


def times(encoding: Encoding, history: History) -> Iterator[str]:
    """The point of time, the first one, and the points of windows."""
    yield f"{NOW}({history.now})"
    yield f"{FIRST}({history.first})"
    for window, relation in encoding.ranges.items():
        yield from (call(relation, [str(point)]) for point in history.timeline(window))


def background(encoding: Encoding, knowledge: str) -> Iterator[tuple[str, str]]:
    """Facts of knowledge as windows see them, each with the fact as it is."""
    for line in knowledge.splitlines() if encoding.background else ():
        fact = line.removesuffix(".")
        atom = split(fact)
        if relation := encoding.background.get(atom.signature):
            yield call(relation, _arguments(atom)), fact


def _by_predicate(tuples: Iterable[Tuple]) -> dict[Signature, list[Tuple]]:
    found: dict[Signature, list[Tuple]] = {}
    for each in tuples:
        found.setdefault(each.atom.signature, []).append(each)
    return found


def _seen_arguments(
    seen: Seen, tuples: Iterable[Tuple], points: range
) -> Iterator[tuple[list[str], list[Tuple]]]:
    """Arguments of the relation, and what makes them true."""
    if seen.view == "timed":
        for each in tuples:
            yield [*_arguments(each.atom), str(each.time)], [each]
        return
    giving: dict[GroundAtom, list[Tuple]] = {}
    for each in tuples:
        giving.setdefault(each.atom, []).append(each)
    for atom, found in giving.items():
        if seen.view == "lasting":
            if run := _run(found, points):
                yield [*_arguments(atom), str(run[0].time)], run
        elif seen.view == "some" or len(found) == len(points):
            yield _arguments(atom), found


def _run(arrivals: list[Tuple], points: range) -> list[Tuple]:
    """The arrivals of an atom, one at a point of time, that end with one at the last of `points`
    and leave none out."""
    end = points.stop
    for length, each in enumerate(reversed(arrivals)):
        if each.time != end - length - 1:
            return arrivals[len(arrivals) - length :]
    return arrivals


def _arguments(atom: GroundAtom) -> list[str]:
    return [atom.arguments] if atom.arguments else []


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
        self.back: tuple[object, ...] = ()
        self._encode(frozenset())
        self._history = History(
            {seen.window for seen in self._encoding.seen},
            {seen.signature for seen in self._encoding.seen},
        )

    def step(self, point: Point, models: int = 0) -> tuple[AnswerSet, ...]:
        """See `Evaluator`."""
        self._take(point)
        answers = self._answers(models)
        if self.program.streamed:
            self._feed_back(answers)
            answers = tuple(map(self._visible, answers))
        return answers

    def remember(self, point: Point, back: tuple[object, ...]) -> None:
        """See `Evaluator`."""
        self._take(point)
        self.back = back
        self._history.arrive(atom for atom in back if isinstance(atom, GroundAtom))

    def _take(self, point: Point) -> None:
        """Go on to a point of time, and take in what arrives there."""
        self.back = ()
        self._encode(point.supplied)
        self._history.begin(point.time)
        self._history.arrive(map(split, point.arrivals), point.readings)

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
        seen = (fact for fact, _as_it_is in background(encoding, self._knowledge))
        self._facts = self._knowledge + _text(seen)
        self._setup: Setup | None = None
        if self._guard:
            once = is_long(self._facts)
            limits = self._limits or Limits()
            self._setup = setup(self._program, limits, self._facts, self._dynamic(), once=once)

    def _dynamic(self) -> frozenset[Signature]:
        """What the facts of a point of time are about."""
        encoding = self._encoding
        views = {Signature(name, s.signature.arity + s.has_time)
                 for s, name in encoding.seen.items()}  # fmt: skip
        ranges = {Signature(name, 1) for name in (NOW, FIRST, *encoding.ranges.values())}
        return encoding.now | views | ranges

    def _answers(self, models: int) -> tuple[AnswerSet, ...]:
        """The answers at the point of time, with what is fed back."""
        facts = _text(times(self._encoding, self._history))
        if not self._reads_clock:
            facts = facts.partition("\n")[2]  # the point of time comes first
        facts += _text(holding(self._encoding, self._history))
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
        fed = (atom for atom in atoms if atom.signature in self.program.streamed)
        self.back = tuple(self._history.arrive(fed))

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
