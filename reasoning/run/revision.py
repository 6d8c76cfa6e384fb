"""Answers that correct themselves: items may come late, be corrected and withdrawn
(docs/revision.md).

What a language has to say of its evaluations is a `Course`; `Revising` keeps the items in order,
evaluates, and evaluates again what a line affects: from its time on, until nothing differs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from citywise.reasoning.engines.incremental.views import Amended
from citywise.reasoning.errors import ItemError, ReasoningError, StateError
from citywise.reasoning.model.engine import AnswerSet, difference
from citywise.reasoning.model.request import Signature
from citywise.reasoning.run.course import (
    BEGINNING,
    END,
    Changes,
    Course,
    Done,
    answers_from_json,
    answers_to_json,
    only,
)
from citywise.reasoning.run.language import Driver
from citywise.reasoning.streams.items import Item, item_from_json, item_to_json
from citywise.reasoning.streams.results import AmbiguousError, Evaluation, Operator, result, several
from citywise.reasoning.streams.revised import Change, Line, Ordered

_FEW = 256
"""Items and evaluations from which on it is looked which are needed no more."""

FORMAT = 1
"""Of snapshots; those before had no number and are read as it."""


@dataclass(frozen=True, slots=True)
class Revision:
    """The result of a time as it is now."""

    time: int
    evaluation: Evaluation | None
    """The last one of this time; None: the stream as it is now has none."""
    number: int
    """Which revision it is; 0: the first result for this time."""
    before: Evaluation | None
    """What its changes are to be told against: the result before of this time, of a first one
    the evaluation before that had no error."""
    _changes: Changes | None = None

    @property
    def changes(self) -> Changes:
        """The shown atoms that came and went, sorted; an evaluation with an error, or with
        several answer sets, counts as one without atoms."""
        if self._changes is not None:
            came, gone = self._changes
            return sorted(came), sorted(gone)
        return difference(_only(self.before), _only(self.evaluation))


@dataclass(slots=True)
class _Given:
    evaluation: Evaluation | None
    number: int


class Revising:
    """Evaluates a program over items that may come late, be corrected and withdrawn.

    Parameters
    ----------
    course:
        The program's.
    horizon:
        How far behind the newest time an item, a correction or a withdrawal may be, in the
        request's unit.

    After the input's end the last results of all times are what an evaluation of the items in
    order gives.
    """

    def __init__(self, course: Course, horizon: int) -> None:
        self.course = course
        self.items = Ordered(horizon, course.start)
        self.left_out: list[tuple[Line | Item, ItemError]] = []
        """Lines that were left out, and why; the caller may clear it."""
        self.failed: list[Evaluation] = []
        """Evaluations that gave an error and will not be made again; the caller may clear it."""
        self.refused: dict[int, tuple[Item, str]] = {}
        """Items that have no value, by position, and why; the caller may clear it."""
        self._streams = frozenset(stream.iri for stream in course.request.streams)
        self._only = next(iter(self._streams)) if len(self._streams) == 1 else ""
        self._driver: Driver | None = None
        self._at = BEGINNING
        """All evaluations before it have been made, of items before it."""
        self._dirty = END
        """The first time before it that lines since have changed."""
        self._changes: list[Change] = []
        self.touched: set[int] = set()
        """Times of which an evaluation was made, or is no more, since the last lines."""
        self._told: dict[int, Changes] = {}
        """Of those, what came and went where they were amended."""
        self._amended: dict[int, Amended] = {}
        """By time, answers that were amended."""
        self._left: object = None
        self._made_last: Evaluation | None = None
        self._refused: dict[int, Item] = {}
        self._done: list[Done] = []
        self._given: dict[int, _Given] = {}
        self.floor = BEGINNING
        """Evaluations before it will not be made again."""
        self._unread = 0
        """From here on answers have not been looked at."""
        self._tidy = _FEW

    def push(self, lines: Line | Item | Iterable[Line | Item]) -> list[Revision]:
        """Take a line, or several as one, in order of arrival; the results that are due, by time:
        those that are new and those that differ. An item is a line without an id.

        Raises `ItemError` for an item of no stream of the program.
        """
        known, changed = self.items.newest, False
        pending = iter((lines,) if isinstance(lines, Line | Item) else lines)
        while (line := self.items.extend(pending, self._streams)) is not None:
            changed |= self._take(line)
        newest = self.items.newest
        due = newest is not None and newest - self.course.lateness > self._at
        if newest is None or (newest == known and not changed and not due):
            if self.touched:
                self.touched = set()
            return []  # most lines: nothing changes, and no evaluation is due
        self._settle(newest - self.course.lateness - 1)
        results = list(self._results())
        if len(self.items) + len(self._done) > self._tidy:
            self._forget()
            self._tidy = 2 * (len(self.items) + len(self._done)) + _FEW
        return results

    def finish(self) -> list[Revision]:
        """Nothing more comes; the results that are due then."""
        self._settle(END)
        self._note_failed(self._done)
        return list(self._results())

    # -- recovery -------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """All that the lines to come may ask for, as values JSON can hold: the items, ids and
        answers that the horizon needs, and the numbers of revisions.

        With it another one of the same program, engine and horizon goes on with the next line
        as if this one had never stopped. What `left_out`, `failed` and `refused` hold is the
        caller's to read before.
        """
        course = self.course
        answers = [found for done in self._done if (found := only(done.evaluation)) is not None]
        return {
            "format": FORMAT,
            "program": course.request.name,
            "horizon": self.items.horizon,
            "start": self.items.start,
            "unix": course.unix,
            "supplied": sorted(course.supplied),
            "items": self.items.snapshot(),
            "at": self._at,
            "dirty": self._dirty,
            "floor": self.floor,
            "tidy": self._tidy,
            "done": [
                [course.evaluation_to_json(d.evaluation), course.carried_to_json(d.carried)]
                for d in self._done
            ],
            "answers": answers_to_json(answers),
            "given": [[time, given.number] for time, given in self._given.items()],
            "refused": list(map(item_to_json, self._refused.values())),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a `snapshot`; raises `ReasoningError` if it is another program's, or of
        another horizon or start, or if lines were taken before, and its kind `StateError` for one
        that only a newer version understands."""
        if state.get("format", FORMAT) != FORMAT:
            raise StateError(
                f"the snapshot has the format {state['format']!r}, and this version reads "
                f"{FORMAT}: restore it with the version that took it, or read the stream from its "
                "start"
            )
        mine = {"program": self.course.request.name, "horizon": self.items.horizon,
                "start": self.items.start}  # fmt: skip
        for name, value in mine.items():
            if state.get(name) != value:
                raise ReasoningError(
                    f"the snapshot is of {name} {state.get(name)!r}, and this is {value!r}: "
                    "restore it with the program, horizon and start that it was taken with"
                )
        if self.items.newest is not None or self._at != BEGINNING:
            raise ReasoningError("lines were taken before: restore a snapshot before the first one")
        try:
            self._restore(state)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise StateError(
                f"the snapshot cannot be read ({type(error).__name__}: {error}): take another, or "
                "read the stream from its start"
            ) from error

    def _restore(self, state: Mapping[str, Any]) -> None:
        course = self.course
        course.unix = state["unix"]
        course.supplied = frozenset(Signature(*each) for each in state["supplied"])
        self.items.restore(state["items"])
        self._at, self._dirty = state["at"], state["dirty"]
        self.floor, self._tidy = state["floor"], state["tidy"]
        answers = iter(answers_from_json(state["answers"]))
        self._done = [
            Done(course.evaluation_from_json(found, answers), course.carried_from_json(left))
            for found, left in state["done"]
        ]
        self._unread = len(self._done)
        last = {done.time: done.evaluation for done in self._done}
        self._given = {time: _Given(last.get(time), number) for time, number in state["given"]}
        self._refused = {i.position: i for i in map(item_from_json, state["refused"])}

    # -- lines ----------------------------------------------------------------------

    def _take(self, line: Line | Item) -> bool:
        """Take a line in; False if it changes nothing."""
        if self._only and not line.stream:
            if isinstance(line, Line) and line.item is not None:
                line = replace(line, item=replace(line.item, stream=self._only))
            line = replace(line, stream=self._only)
        item = line if isinstance(line, Item) else line.item
        if item is not None and item.stream not in self._streams:
            name = self.course.request.name
            raise ItemError(f"program `{name}` reads no stream <{item.stream}>")
        try:
            change = self.items.take(line)
        except ItemError as error:
            self.left_out.append((line, error))
            return False
        if change is None:
            return False
        first = min(item.time for item in change.items)
        if first < self._at:
            self._dirty = min(self._dirty, first)
            self._changes.append(change)
        return True

    # -- evaluations ----------------------------------------------------------------

    def _settle(self, until: int) -> None:
        """Make all evaluations up to a time, and those again that are affected."""
        self.touched, self._told = set(), {}
        upto = min(until, self.course.end(self.items.last))
        low = min(self._at, self._dirty, upto + 1)
        if low == self._at and upto < self._at:
            return
        if low < self._at:
            if low == self._dirty and upto >= self._at - 1 and self._amend():
                self._go_on(self._at, upto)
                self._at, self._dirty, self._changes = upto + 1, END, []
                return
            self._leave()
            cut = bisect_left(self._done, low, key=_time)
            old = self._done[cut:]
            del self._done[cut:]
            for time in [time for time in self._amended if time >= low]:
                del self._amended[time]
            self._unread = min(self._unread, cut)
            self._again(low, upto, old)
        else:
            self._go_on(low, upto)
        self._at, self._dirty, self._changes = upto + 1, END, []

    def _amend(self) -> bool:
        """Amend the evaluations that are affected, if that can be done."""
        if self._driver is None:
            return False
        found = self.course.amend(self._driver, self._changes, self.items, self._at)
        if found is None:
            return False
        self._note(self._driver)
        for time, (came, gone) in found.items():
            place = bisect_left(self._done, time, key=_time)
            if place == len(self._done) or self._done[place].time != time:
                continue  # it was forgotten
            done = self._done[place]
            (answer,) = done.evaluation.answer_sets
            kept = self._amended.get(time)
            if kept is None:
                kept = self._amended[time] = Amended(answer)
            evaluation = replace(done.evaluation, answer_sets=(kept.by(came, gone),))
            self._done[place] = Done(evaluation, done.carried)
            self.touched.add(time)
            self._told[time] = came, gone
        return True

    def _again(self, low: int, upto: int, old: Sequence[Done]) -> None:
        """Make the evaluations from a time on once more, until they are those of before."""
        reach = END
        if upto >= self._at - 1:
            found = (self.course.affects_until(each, self.items) for each in self._changes)
            reach = max(found, default=END)
        last = self._carried()
        known, place = last, 0  # what the old evaluations up to `place` left
        before = low - 1
        for done in self._evaluated_between(low, upto):
            if reach < done.time and before < done.time:
                place = bisect_left(old, done.time, key=_time)
                known = old[place - 1].carried if place else self._left
                if known == last and place < len(old):
                    # The windows to come are those of before, and so is what is left to them.
                    self._leave()
                    self._done += old[place:]
                    self.touched.update(map(_time, old[:place]))
                    self._go_on(self._at, upto)
                    return
            self._add(done)
            before, last = done.time, done.carried
        self.touched.update(map(_time, old))

    def _go_on(self, low: int, upto: int) -> None:
        if upto >= low:
            for done in self._evaluated_between(low, upto):
                self._add(done)

    def _add(self, done: Done) -> None:
        self._done.append(done)
        self.touched.add(done.time)

    def _carried(self) -> object:
        self._left = self._done[-1].carried if self._done else None
        return self._left

    def _evaluated_between(self, low: int, upto: int) -> Iterator[Done]:
        if self._driver is None:
            self._driver = self.course.driver(low, self.items, self._done)
        driver, course = self._driver, self.course
        items = self.items.between(low, upto + 1)
        # Without an item the start's time has not come yet.
        pushed = driver.take(items) if items else ()
        for evaluation in chain(pushed, _later(driver, upto)):
            known = self._known_changes(evaluation)
            self._made_last = alone = course.alone(evaluation)
            yield Done(alone, course.carried(driver, evaluation), known)
        self._note(driver)

    def _known_changes(self, evaluation: Evaluation) -> Changes | None:
        """What came and went with an evaluation, if its driver has made the one before, and that
        is still what it was."""
        before, last = self._done[-1].evaluation if self._done else None, self._made_last
        if evaluation.added is None or evaluation.removed is None:
            return None
        if before is last:
            return evaluation.added, evaluation.removed
        kept = None if before is None else self._amended.get(before.time)
        if kept is None or last is None or not any(kept.base is a for a in last.answer_sets):
            return None
        return kept.next(evaluation.added, evaluation.removed)

    def _leave(self) -> None:
        """The driver is of no use any more, and the answers that it gave must not rest on it."""
        for done in self._done[self._unread :]:
            for answer in done.evaluation.answer_sets:
                _ = answer.atoms
        self._unread = len(self._done)
        if self._driver is not None:
            self._note(self._driver)
        self._driver = self._made_last = None

    def _note(self, driver: Driver) -> None:
        """Take over the items that have no value, each once."""
        for position, (item, why) in driver.refused.items():
            if self._refused.get(position) != item:
                self._refused[position] = item
                self.refused[position] = item, why
        driver.refused.clear()

    # -- results --------------------------------------------------------------------

    def _results(self) -> Iterator[Revision]:
        for time in sorted(self.touched):
            end = bisect_left(self._done, time + 1, key=_time)
            last = self._done[end - 1] if end else None
            found = last.evaluation if last is not None and last.time == time else None
            given = self._given.get(time)
            if given is None:
                if found is not None:
                    self._given[time] = _Given(found, 0)
                    assert last is not None
                    before = self._answered_before(end - 1)
                    yield Revision(time, found, 0, before, last.changes)
            else:
                before, given.evaluation = given.evaluation, found
                told = self._told.get(time)
                if told or not self._same(before, found):
                    given.number += 1
                    yield Revision(time, found, given.number, before, told)

    def at(self, time: int) -> list[Evaluation]:
        """The evaluations of a time as they are now, in order."""
        first = bisect_left(self._done, time, key=_time)
        end = bisect_left(self._done, time + 1, first, key=_time)
        return [done.evaluation for done in self._done[first:end]]

    @property
    def given(self) -> list[int]:
        """The times of which results were given and may be revised, in order."""
        return sorted(self._given)

    def before(self, time: int) -> Evaluation | None:
        """The last evaluation before a time that had no error."""
        return self._answered_before(bisect_left(self._done, time, key=_time))

    def after(self, time: int) -> int | None:
        """The time of the next evaluation."""
        place = bisect_left(self._done, time + 1, key=_time)
        return self._done[place].time if place < len(self._done) else None

    def _same(self, before: Evaluation | None, after: Evaluation | None) -> bool:
        if before is None or after is None:
            return before is after
        return self.course.same(before, after)

    def _answered_before(self, place: int) -> Evaluation | None:
        while place:
            place -= 1
            if self._done[place].evaluation.error is None:
                return self._done[place].evaluation
        return None

    # -- what is needed no more -----------------------------------------------------

    def _forget(self) -> None:
        """Forget what no line can change any more."""
        settled = self.items.settled
        if settled is None:
            return
        # While the stream may end at its last item that is settled, evaluations after that may
        # turn out not to be.
        floor = min(settled, self.course.end(self.items.last_before(settled)) + 1, self._at)
        cut = bisect_left(self._done, floor, key=_time)
        self._note_failed(self._done[:cut])
        self.floor = floor
        # The last ones that left something stay in any case.
        keep = bisect_left(self._done, floor - self.course.remembers, key=_time)
        keep = min(keep, max(0, cut - 1))
        while keep and self._done[keep].evaluation.error is not None:
            keep -= 1
        del self._done[:keep]
        self._unread = max(0, self._unread - keep)
        self._given = {time: given for time, given in self._given.items() if time >= floor}
        self._amended = {time: kept for time, kept in self._amended.items() if time >= floor}
        self.course.forget(self.items, floor, self._done[: cut - keep])
        oldest = self.items.first
        self._refused = {p: i for p, i in self._refused.items() if oldest and i.time >= oldest.time}

    def _note_failed(self, done: Sequence[Done]) -> None:
        """Note the last evaluation of each time that has an error and will not be made again."""
        for place, each in enumerate(done):
            if each.evaluation.error is None or each.time < self.floor:
                continue
            if place + 1 == len(done) or done[place + 1].time != each.time:
                self.failed.append(each.evaluation)


def _later(driver: Driver, upto: int) -> Iterator[Evaluation]:
    yield from driver.advance(upto)


def _only(evaluation: Evaluation | None) -> AnswerSet | None:
    answers = evaluation.answer_sets if evaluation is not None else ()
    return answers[0] if len(answers) == 1 else None


def _time(done: Done) -> int:
    return done.time


# -- what is printed ------------------------------------------------------------------

_MANY_TIMES = 1000
Write = Callable[[int], int | str]
"""Gives the form of times."""


def described(found: Revision, course: Course, write: Write, *, deltas: bool) -> dict[str, Any]:
    """The result object (docs/revision.md), with what came and went if wanted."""
    time, evaluation = write(found.time), found.evaluation
    if evaluation is None:
        values: dict[str, Any] = {"t": time, "answer_sets": None}
    elif deltas and len(evaluation.answer_sets) > 1:
        values = {"t": time, "error": str(several(evaluation, time))}
    else:
        values = result(evaluation, time)
    if deltas and "error" not in values:
        values["added"], values["removed"] = map(list, found.changes)
        if evaluation is not None:
            values |= course.instances(evaluation, write)
    if found.number:
        values["revision"] = found.number
    return values


class Emission:
    """The answers as a stream that is revised with them.

    The items of one time have places in it, in their order. A place has an id, by which what
    stands there is corrected or withdrawn; so the stream that another program reads has the same
    items in the same order as if nothing had come late.
    """

    def __init__(self, revising: Revising, operator: Operator, stream: str = "") -> None:
        self._revising = revising
        self._course = revising.course
        self._operator, self._stream = operator, stream
        self._places: dict[int, list[Item]] = {}
        """What stands at the places of a time."""
        self._tidy = _MANY_TIMES
        self.ambiguous: dict[int, str] = {}
        """By time, why an evaluation gives no items."""
        for time in revising.given:  # it was restored
            self._places[time] = self._items(time)

    def lines(self) -> Iterator[Line]:
        """The lines that follow from the last ones that were pushed."""
        for time in self._times():
            found = self._items(time)
            before = self._places.get(time, [])
            for place, item in enumerate(found):
                if place >= len(before) or _differ(before[place], item):
                    yield Line(item, self._id(time, place), self._stream)
            for place in range(len(found), len(before)):
                yield Line(None, self._id(time, place), self._stream)
            self._places[time] = found
        floor = self._revising.floor
        if len(self._places) > self._tidy:
            self._places = {time: kept for time, kept in self._places.items() if time >= floor}
            self._tidy = 2 * len(self._places) + _MANY_TIMES

    def _times(self) -> list[int]:
        revising = self._revising
        times = set(revising.touched)
        if self._operator != "rstream":
            # What came and went with the next evaluation is told against these.
            after = map(revising.after, revising.touched)
            times.update(time for time in after if time is not None)
        return sorted(times)

    def _items(self, time: int) -> list[Item]:
        before = self._revising.before(time)
        found: list[Item] = []
        self.ambiguous.pop(time, None)
        for evaluation in self._revising.at(time):
            if evaluation.error is None:
                try:
                    found += self._of(before, evaluation)
                except AmbiguousError as error:
                    self.ambiguous[time] = str(error)
                before = evaluation
        return found

    def _of(self, before: Evaluation | None, evaluation: Evaluation) -> list[Item]:
        """The items of an evaluation."""
        if len(evaluation.answer_sets) > 1:
            before = None  # it says so itself
        elif before is not None and len(before.answer_sets) > 1:
            before = replace(before, answer_sets=())
        given = [evaluation] if before is None else [before, evaluation]
        # The same time may be that of both: the items of the first come first.
        emitted = self._course.emitted
        first = 0 if before is None else len(list(emitted([before], self._operator, self._stream)))
        return list(emitted(given, self._operator, self._stream))[first:]

    def _id(self, time: int, place: int) -> str:
        return f"{self._course.request.name}-{time}-{place}"


def _differ(one: Item, other: Item) -> bool:
    return one.content != other.content or one.until != other.until
