"""What a run over streams that may be revised prints: results, and answers as a stream
(docs/revision.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from citywise.reasoning.run.course import Course
from citywise.reasoning.run.revision import Revising, Revision
from citywise.reasoning.streams.items import Item
from citywise.reasoning.streams.results import AmbiguousError, Evaluation, Operator, result, several
from citywise.reasoning.streams.revised import Line

_MANY = 1000
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
        self._tidy = _MANY
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
            self._tidy = 2 * len(self._places) + _MANY

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
