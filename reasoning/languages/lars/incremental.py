"""Programs of plain LARS on the incremental engine, and their answers as views."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import repeat
from typing import cast
from weakref import WeakSet

from citywise.reasoning.engines.incremental.atoms import atoms_of
from citywise.reasoning.engines.incremental.evaluation import RuleEvaluation
from citywise.reasoning.engines.incremental.past import Past
from citywise.reasoning.engines.incremental.relation import Rows
from citywise.reasoning.engines.incremental.views import AnswerView, Shown
from citywise.reasoning.errors import SolvingError
from citywise.reasoning.languages.lars.compile import FIRST, compiled, stratify, written
from citywise.reasoning.languages.lars.feeds import (
    COLUMN,
    Arrival,
    Batch,
    Feed,
    Inflow,
    Lingering,
    OneTuple,
    lingers,
)
from citywise.reasoning.languages.lars.program import (
    LarsProgram,
    Point,
    TimeSpan,
    require_one,
    shown,
)
from citywise.reasoning.limits import LimitError, Limits
from citywise.reasoning.model.engine import AnswerSet, Knowledge, Version
from citywise.reasoning.model.request import Signature
from citywise.reasoning.model.rules import FALSE, Lasting
from citywise.reasoning.model.values import Row, atom_text, parsed, parsed_many

Delta = tuple[Rows, Rows]
"""Rows that came and rows that are gone."""


class LarsAnswers:
    """The answers of an evaluation, step by step; nothing is made text before it is asked
    for, and an answer is what it was also when steps have followed.

    Parameters
    ----------
    evaluation:
        Whose rows are shown.
    outputs:
        The relations of the predicates that may be shown.
    """

    def __init__(self, evaluation: RuleEvaluation, outputs: Mapping[Signature, str]) -> None:
        self._evaluation = evaluation
        self._outputs = outputs
        self._versions = self._begun()
        self._deltas: dict[Signature, Delta] | None = None
        self._moments: WeakSet[_Moment] = WeakSet()
        """Answers that somebody has and did not look at."""
        self._step = 0
        self._texts = Shown(())
        self.show(outputs)

    def show(self, signatures: Iterable[Signature]) -> None:
        """Show these predicates from the next step on."""
        self.showing = {s: self._outputs[s] for s in sorted(signatures)}
        """The relations of what is shown."""
        self._written: int | None = None
        """The step as of which `_texts` are; None: there are none."""

    def move(self) -> None:
        """The evaluation has made a step."""
        self._step += 1
        self._deltas = None
        if not self._moments:  # nobody will ask what was
            self._versions = self._begun()
            return
        for signature, (came, gone) in self._changed().items():
            if came or gone:
                self._versions[signature] = self._versions[signature].followed_by(came, gone)

    def deltas(self) -> dict[Signature, Delta]:
        """The rows that the last step brought and ended, of what is shown."""
        changed = self._changed()
        return {signature: changed[signature] for signature in self.showing}

    def _changed(self) -> dict[Signature, Delta]:
        if self._deltas is None:
            evaluation = self._evaluation
            self._deltas = {
                signature: (evaluation.came(relation), evaluation.gone(relation))
                for signature, relation in self._outputs.items()
            }
        return self._deltas

    def _begun(self) -> dict[Signature, Version[Row]]:
        return {
            signature: Version(partial(self._evaluation.rows, relation))
            for signature, relation in self._outputs.items()
        }

    def changes(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The same as sorted texts."""
        deltas = self.deltas().items()
        came = _written((signature.name, rows) for signature, (rows, _gone) in deltas)
        gone = _written((signature.name, rows) for signature, (_came, rows) in deltas)
        return tuple(sorted(came)), tuple(sorted(gone))

    def answer(self) -> AnswerSet:
        """The answer as of the last step."""
        versions = {signature: self._versions[signature] for signature in self.showing}
        moment = _Moment(self, self._step, versions)
        self._moments.add(moment)
        return AnswerView(moment)

    def texts(self, step: int, versions: Mapping[Signature, Version[Row]]) -> Collection[str]:
        """What a step showed, sorted: the last one, or one before it."""
        if step != self._step or versions.keys() != self.showing.keys():
            rows = ((s.name, version.members()) for s, version in versions.items())
            return sorted(_written(rows))
        if self._written == step - 1:
            self._texts.follow(self._evaluation)
        elif self._written != step:
            self._texts = Shown([(relation, s.name) for s, relation in self.showing.items()])
            self._texts.follow(cast("RuleEvaluation", _Begun(self._evaluation)))
        self._written = step
        return self._texts.version.members()


class _Begun:
    """An evaluation as if its first step had brought all there is."""

    def __init__(self, evaluation: RuleEvaluation) -> None:
        self.came = self.rows = evaluation.rows
        self.is_plain = evaluation.is_plain

    def gone(self, _relation: str) -> Rows:
        """Nothing."""
        return ()


class _Moment(Version[str]):
    """The texts of one step."""

    __slots__ = ("__weakref__", "_answers", "_step", "_versions")

    def __init__(
        self, answers: LarsAnswers, step: int, versions: Mapping[Signature, Version[Row]]
    ) -> None:
        self._answers, self._step, self._versions = answers, step, versions

    def members(self) -> Collection[str]:
        """See `Version`."""
        return self._answers.texts(self._step, self._versions)


def _written(rows: Iterable[tuple[str, Collection[Row]]]) -> list[str]:
    return [atom_text(name, row) for name, found in rows for row in found]


_LOOK = 16
"""Every so many points it is looked whether atoms are repeated."""


class IncrementalEvaluator:
    """Evaluates a program by what changes from one point of time to the next.

    See `Evaluator`. Raises `StratificationError` for a loop through negation, counting or
    □. After a `LimitError` it begins anew with what is in the windows; an answer that nobody
    looked at before it is lost.
    """

    def __init__(
        self, program: LarsProgram, knowledge: Knowledge | None = None, limits: Limits | None = None
    ) -> None:
        self.program = program
        stratify(program)
        self._limits = limits
        self._known = knowledge.supplied if knowledge else frozenset[Signature]()
        self._supplied = set(map(str, self._known | program.streamed))
        """Derived predicates that are inputs too."""
        self._derived = set(map(str, program.derived))
        self._names = tuple({signature.name for signature in program.derived})
        found = compiled(program, self._supplied)
        self._feeds = found.feeds
        self._evaluation = RuleEvaluation(found.program, limits)
        self._facts = parsed_many(atoms_of(knowledge.text if knowledge else ""))
        self._lingering: Lingering | None = None
        self._inflow = Inflow((), {}, self)
        if lingers(found.feeds):
            self._lingering = Lingering(found.feeds, self._facts, self)
        else:
            self._inflow = Inflow(found.feeds, self._facts, self)
        self._answers = LarsAnswers(self._evaluation, found.outputs)
        self._streamed = {s: found.outputs[s] for s in sorted(program.streamed)}
        self._adopted: frozenset[Signature] | None = None
        self._visible: frozenset[Signature] = frozenset(found.outputs)
        self._repeats = False
        """Whether many atoms are repeated at points of time."""
        self._here: dict[Arrival, None] = {}
        """What arrived at the last point, in order, where the order is of use."""
        self._back: dict[Arrival, None] = {}
        """What the last point's answer adds to the stream."""
        self._first: int | None = None
        self._last: int | None = None
        self._answer: AnswerSet | None = AnswerSet(())
        """The last answer; None where there was none."""
        self._before: AnswerSet | None = None
        self._steady = True
        """Whether what the next step changes is what changes in the answer, if it has one."""
        self._follows = True
        """Whether so it was with the last step."""
        self._stopped = False
        """Whether the last step went beyond a limit."""
        self._known_before = True

    def step(self, point: Point, models: int = 0) -> tuple[AnswerSet, ...]:  # noqa: ARG002
        """See `Evaluator`; there is one answer at most, however many are asked for."""
        self._known_before = not self._stopped
        self._adopt(point.supplied)
        self._arrive(point)
        steady, self._steady = self._steady, False  # if something goes wrong
        try:
            self._evaluation.step(point.time)
        except LimitError as error:
            self._stopped, self._back = True, {}
            raise type(error)(written(str(error))) from error
        return self._answered(steady)

    def past(self, time: int) -> LarsPast | None:
        """What is known of earlier points, from the last one on; None where an arrival does more
        than to hold for so long."""
        plain = all(
            feed.kind == "now" or (isinstance(feed.window, TimeSpan) and not feed.window.gap)
            for feed in self._feeds
        )
        kinds = {feed.kind for feed in self._feeds} <= {"now", "diamond", "at", "element"}
        program = self._evaluation.program
        kinds = kinds and not any(isinstance(each, Lasting) for each in program.operators)
        constrained = any(rule.head == FALSE for rule in program.rules)
        if not (plain and kinds) or constrained or self._streamed or self._lingering is not None:
            return None
        return LarsPast(self, time)

    @property
    def back(self) -> tuple[object, ...]:
        """See `Evaluator`."""
        return tuple(self._back)

    def remember(self, point: Point, back: tuple[object, ...]) -> None:
        """See `Evaluator`."""
        # What it says of the point may be wrong, for it may not know all that was before.
        with suppress(SolvingError):
            self.step(point)
        self._back = cast("dict[Arrival, None]", dict.fromkeys(back))

    def changes(self) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """See `Evaluator`."""
        if not self._known_before:
            return None
        if self._follows:
            return self._answers.changes()
        before = set(self._before.atoms if self._before else ())
        after = set(self._answer.atoms if self._answer else ())
        return tuple(sorted(after - before)), tuple(sorted(before - after))

    def deltas(self) -> dict[Signature, Delta]:
        """The rows that came and went with the last step, of a program without constraints
        what `changes` has as text."""
        return self._answers.deltas()

    def close(self) -> None:
        """Nothing is held."""

    def _adopt(self, supplied: frozenset[Signature]) -> None:
        """Show what is shown where the stream supplies some predicates."""
        if supplied is self._adopted:
            return
        self._adopted = supplied
        visible = shown(self.program, supplied | self._known)
        if visible != self._visible:
            self._visible = visible
            self._answers.show(visible)
            self._steady = False

    def insert(self, relation: str, rows: Iterable[Row], until: int | None = None) -> None:
        """See `Sink`."""
        self._evaluation.insert(relation, rows, until)

    def retract(self, relation: str, rows: Iterable[Row]) -> None:
        """See `Sink`."""
        self._evaluation.retract(relation, rows)

    def _arrive(self, point: Point) -> None:
        if self._lingering is not None:
            new = self._lingering.look(point.arrivals)
            self._begin(point.time, parsed_many(new) if self._may_be_derived(new) else {})
            if self._lingering is not None:
                self._lingering.point(point.time, new)
                return
        rows = self._read(point)
        self._begin(point.time, rows)
        if self._back and self._last is not None:
            self._inflow.late(self._last, _by_predicate(self._back), _tuples(self._back))
        if self._inflow.ordered:
            self._here = dict.fromkeys(map(_arrival, point.arrivals))
        self._inflow.point(point.time, rows, _tuples(self._here, point.readings))
        self._last = point.time

    def _read(self, point: Point) -> Batch:
        """The point's arrivals as rows; each once, where many are repeated."""
        arrivals: Collection[str] = point.arrivals
        if not arrivals:
            return {}
        if self._repeats or point.time % _LOOK == 0:
            arrivals = dict.fromkeys(arrivals)
            self._repeats = len(arrivals) < 0.9 * len(point.arrivals)
        return parsed_many(arrivals)

    def _may_be_derived(self, texts: Iterable[str]) -> bool:
        return any(map(str.startswith, texts, repeat(self._names)))

    def _begin(self, time: int, rows: Batch) -> None:
        """Go on to a point of time, where some rows arrive, of all predicates that are new."""
        if self._first is None:
            self._first = time
            self.insert(FIRST, [(time,)])
        unforeseen = self._derived.intersection(rows) - self._supplied
        if unforeseen or self._stopped:
            self._supplied |= unforeseen
            self._rebuild(time)

    def _rebuild(self, time: int) -> None:
        """Make the relations anew: more predicates come from outside, or a step was stopped."""
        assert self._first is not None
        before, found = self._evaluation, compiled(self.program, self._supplied)
        self._evaluation = RuleEvaluation(found.program, self._limits)
        self.insert(FIRST, [(self._first,)])
        if time > self._first:
            self._evaluation.step(self._first)
            self._move(before)
        if self._lingering is not None or time == self._first:
            self._inflow = Inflow(found.feeds, self._facts, self)
        self._inflow.follow(found.feeds)
        if self._lingering is not None and time > self._first:
            self._inflow.resume(self._first, time, self._lingering.runs())
        self._lingering, self._feeds = None, found.feeds
        self._answers = LarsAnswers(self._evaluation, found.outputs)
        self._answers.show(self._visible)
        self._streamed = {s: found.outputs[s] for s in self._streamed}
        self._steady = self._stopped = False

    def _move(self, before: RuleEvaluation) -> None:
        """Take over the inputs of an evaluation."""
        momentary = {feed.relation for feed in self._feeds if feed.kind == "now"}
        momentary &= before.program.inputs if self._lingering is not None else set()
        for relation in before.program.inputs - momentary - {FIRST}:
            for horizon, rows in _by_horizon(before.given(relation)).items():
                self.insert(relation, rows, horizon)

    def _answered(self, steady: bool) -> tuple[AnswerSet, ...]:
        """The answer of the step that was made."""
        consistent = not self._evaluation.rows(FALSE)
        self._follows = steady and consistent
        self._before, self._answer = None if self._follows else self._answer, None
        self._answers.move()
        answers = (self._answers.answer(),) if consistent else ()
        if self._streamed:
            self._back = self._fed_back(answers)
        self._answer = answers[0] if answers else None
        self._steady = consistent
        return answers

    def _fed_back(self, answers: tuple[AnswerSet, ...]) -> dict[Arrival, None]:
        """What joins the stream at this point of time and has not arrived there, sorted as
        text."""
        self._back = {}
        if not answers:
            self._answer = self._before  # what failed is no answer
        require_one(self.program, answers)
        rows = self._evaluation.rows
        found = [(str(s), row) for s, relation in self._streamed.items() for row in rows(relation)]
        if self._inflow.ordered:
            found = sorted(set(found) - self._here.keys(), key=_text)
        return dict.fromkeys(found)


Arrived = tuple[str, Row, int, Sequence[int]]
"""Predicate, row and time of an atom, and the other times near it at which it arrived."""


class LarsPast(Past):
    """The points of time that an evaluator has passed, and what changes there."""

    def __init__(self, evaluator: IncrementalEvaluator, time: int) -> None:
        super().__init__(evaluator._evaluation, time)
        self._evaluator = evaluator
        self._feeds: dict[str, list[tuple[Feed, int]]] = {}
        for feed in evaluator._feeds:
            size = feed.window.size if isinstance(feed.window, TimeSpan) else 0
            own = self._feeds.setdefault(feed.predicate, [])
            own.append((feed, 0 if feed.kind == "now" else size))

    @property
    def follows(self) -> bool:
        """See `Past`."""
        return self._evaluator._evaluation is self.evaluation and not self._evaluator._stopped

    def knows(self, predicate: str) -> bool:
        """Whether atoms of a predicate may arrive without making another program."""
        evaluator = self._evaluator
        return predicate not in evaluator._derived or predicate in evaluator._supplied

    def amend_atoms(
        self, came: Iterable[Arrived], gone: Iterable[Arrived]
    ) -> dict[int, tuple[list[str], list[str]]]:
        """Atoms have arrived, or not, at points of the past; by point of time the shown atoms
        that came and went. Raises `LimitError`."""
        lost: dict[str, dict[Row, int]] = {}
        gained: dict[str, dict[Row, int]] = {}
        given: dict[tuple[str, int], list[Row]] = {}
        now = self.timeline.times[-1]
        for predicate, row, time, others in gone:
            self._take_out(predicate, row, time, others, lost)
        for predicate, row, time, _others in came:
            for feed, size in self._feeds.get(predicate, ()):
                found = _with_time(feed, row, time)
                if time + size > now:
                    given.setdefault((feed.relation, time + size), []).append(found)
                steps = self.timeline.between(time, time + size)
                self.add(gained, feed.relation, [found], steps)
        # Together, where they hold equally long: each time they are joined at once.
        for (relation, until), together in given.items():
            self._evaluator.insert(relation, together, until)
        showing = self._evaluator._answers.showing.items()
        shown = [(signature.name, relation) for signature, relation in showing]
        return self.texts(self.amend(gained, lost), shown)

    def _take_out(
        self,
        predicate: str,
        row: Row,
        time: int,
        others: Sequence[int],
        lost: dict[str, dict[Row, int]],
    ) -> None:
        """An atom did not arrive at a time, but did at others."""
        if row in self._evaluator._facts.get(predicate, ()):
            return  # knowledge says the same
        for feed, size in self._feeds.get(predicate, ()):
            timed = feed.kind in COLUMN
            left = [other for other in others if not timed or other == time]
            found = _with_time(feed, row, time)
            spans = [(other, other + size) for other in left]
            steps = self.timeline.between(time, time + size, spans)
            self.add(lost, feed.relation, [found], steps)
            if time + size <= self.timeline.times[-1]:
                continue  # it is no reason any more for what holds next
            self._evaluator.retract(feed.relation, [found])
            if left:
                self._evaluator.insert(feed.relation, [found], max(left) + size)


def _with_time(feed: Feed, row: Row, time: int) -> Row:
    return row + COLUMN[feed.kind](time) if feed.kind in COLUMN else row


def _arrival(atom: str) -> Arrival:
    name, row = parsed(atom)
    return f"{name}/{len(row)}", row


def _tuples(
    arrivals: Iterable[Arrival], readings: Mapping[str, str] | None = None
) -> list[OneTuple]:
    """Arrivals as the tuples they are."""
    if not readings:
        return [(arrival,) for arrival in arrivals]
    first = {_arrival(second): _arrival(first) for second, first in readings.items()}
    found: dict[Arrival, list[Arrival]] = {}
    for arrival in arrivals:
        found.setdefault(first.get(arrival, arrival), []).append(arrival)
    return list(found.values())


def _text(arrival: Arrival) -> str:
    predicate, row = arrival
    return atom_text(predicate.rpartition("/")[0], row)


def _by_predicate(arrivals: Iterable[Arrival]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for predicate, row in arrivals:
        found.setdefault(predicate, []).append(row)
    return found


def _by_horizon(rows: Mapping[Row, int]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row, horizon in rows.items():
        found.setdefault(horizon, []).append(row)
    return found
