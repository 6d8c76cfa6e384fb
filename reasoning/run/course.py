"""What a language says of evaluations that may have to be made again (docs/revision.md)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Generic, TypeVar

from citywise.reasoning.engines.incremental.past import BeyondPastError, Past
from citywise.reasoning.engines.incremental.views import AnswerView, Sorted
from citywise.reasoning.limits import LimitError
from citywise.reasoning.model.engine import AnswerSet, Version, difference
from citywise.reasoning.model.request import Request, Signature
from citywise.reasoning.rdf.mapping import Mapper
from citywise.reasoning.run.language import AnswerForms, Driver
from citywise.reasoning.streams.items import Encoder, Item, listed, tupled
from citywise.reasoning.streams.results import Evaluation
from citywise.reasoning.streams.revised import Change, Ordered

BEGINNING = -(1 << 62)
"""Before all times."""
END = 1 << 62
"""After all times."""
Amendments = Mapping[int, tuple[Sequence[str], Sequence[str]]]
"""By time of an evaluation, shown atoms that its answer has more, and less."""


class Course(AnswerForms):
    """How the evaluations of a program follow from its items in order.

    A driver that begins anywhere goes on as one that has had all items before. Parameters of the
    run (`--from`, `--until`) are its own.
    """

    lateness: int = 0
    """How much later than an evaluation an item must be for it to be given."""
    start: int
    """Items before it do not count."""
    unix: bool = True
    """Whether times are Unix times, or integers of their own."""

    @abstractmethod
    def end(self, last: int | None) -> int:
        """The time of the last evaluation, where the last item has that time."""

    @abstractmethod
    def driver(self, time: int, items: Ordered, before: Sequence[Done]) -> Driver:
        """What goes on as if every evaluation before `time` had been made, of which the last are
        `before`; those of `items` that are before `time` have been pushed then. The driver given
        before is not used any more."""

    @abstractmethod
    def carried(self, driver: Driver, evaluation: Evaluation) -> object:
        """What the evaluation that was made last leaves to the next, to be compared and kept."""

    def alone(self, evaluation: Evaluation) -> Evaluation:
        """An evaluation without the window that it was made of, which may be others' by now, and
        without what is known of changes: they are told against results."""
        return replace(evaluation, items=(), added=None, removed=None)

    def amend(
        self, driver: Driver, changes: Iterable[Change], items: Ordered, before: int
    ) -> Amendments | None:
        """What changes of the evaluations before a time, which `driver` has made; it goes on as
        if it had made them so. None: they must be made again, by another driver."""
        del driver, changes, items, before
        return None

    @abstractmethod
    def affects_until(self, change: Change, items: Ordered) -> int:
        """The time of the last evaluation whose windows a change makes others."""

    @abstractmethod
    def forget(self, items: Ordered, before: int, done: Sequence[Done]) -> None:
        """Forget the items that no evaluation from a time on can need; `done` are those before
        it that are kept."""

    @property
    def supplied(self) -> frozenset[Signature]:
        """Predicates that the streams have supplied so far, where that matters."""
        return frozenset()

    @supplied.setter
    def supplied(self, signatures: frozenset[Signature]) -> None:
        """Go on as if they had supplied these."""

    def evaluation_to_json(self, evaluation: Evaluation) -> dict[str, Any]:
        """An evaluation that stands `alone`, as values JSON can hold; without its answer, if it is
        the `only` one."""
        sets = evaluation.answer_sets
        return {
            "time": evaluation.time,
            "answers": None
            if only(evaluation) is not None
            else [[each.atoms, each.cost] for each in sets],
            "atoms": evaluation.atoms,
            "error": evaluation.error,
            "fed_back": evaluation.fed_back,
        }

    def evaluation_from_json(
        self, values: Mapping[str, Any], answers: Iterator[AnswerSet]
    ) -> Evaluation:
        """The evaluation that `evaluation_to_json` wrote; its only answer is the next of some."""
        if values["answers"] is None:
            sets: tuple[AnswerSet, ...] = (next(answers),)
        else:
            sets = tuple(AnswerSet(tuple(atoms), tuple(cost)) for atoms, cost in values["answers"])
        said, fed_back = values["error"], tuple(values["fed_back"])
        return Evaluation(values["time"], sets, (), values["atoms"], 0.0, said, fed_back)

    def carried_to_json(self, carried: object) -> Any:
        """What an evaluation left to the next, as values JSON can hold."""
        return listed(carried)

    def carried_from_json(self, values: Any) -> object:
        """What `carried_to_json` wrote."""
        return tupled(values)

    @property
    def remembers(self) -> int:
        """How many time units before a time `driver` looks at evaluations; END: all of them."""
        return 0

    def same(self, one: Evaluation, other: Evaluation) -> bool:
        """Whether two evaluations of one time give the same line."""
        return one.error == other.error and one.answer_sets == other.answer_sets


def only(evaluation: Evaluation) -> AnswerSet | None:
    """The answer of an evaluation that has one, without a cost."""
    sets = evaluation.answer_sets
    return sets[0] if len(sets) == 1 and not sets[0].cost else None


def answers_to_json(answers: Sequence[AnswerSet]) -> list[Any]:
    """Answers without costs, one after the other: the last one, and what came and went from each
    to the next, for most atoms stay."""
    last = answers[-1].atoms if answers else ()
    return [last, [difference(one, other) for one, other in pairwise(answers)]]


def answers_from_json(values: Sequence[Any]) -> list[AnswerSet]:
    """The answers that `answers_to_json` wrote; each is put together when it is asked for."""
    last, changes = values
    version: Version[str] = Version(lambda: Sorted(last))
    found: list[AnswerSet] = [AnswerView(version)]
    for came, gone in changes:
        version = version.followed_by(came, gone)
        found.append(AnswerView(version))
    return found


Changes = tuple[Sequence[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Done:
    """An evaluation that was made, and what it left to the next."""

    evaluation: Evaluation
    carried: object
    changes: Changes | None = None
    """Shown atoms that came and went against the evaluation before, where that is known."""

    @property
    def time(self) -> int:
        """When it was."""
        return self.evaluation.time


def net(changes: Iterable[Change]) -> tuple[list[Item], list[Item]]:
    """The items that count since some changes, and those that do not any more."""
    first: dict[int, Item | None] = {}
    last: dict[int, Item | None] = {}
    for change in changes:
        for position in {item.position for item in change.items}:
            first.setdefault(position, change.old)
            last[position] = change.new
    pairs = [(first[position], new) for position, new in last.items() if first[position] != new]
    came = [new for _old, new in pairs if new is not None]
    return came, [old for old, _new in pairs if old is not None]


P = TypeVar("P", bound=Past)


class EncodedCourse(Course, Generic[P]):
    """A course over items of which an `Encoder` makes facts, by engines that may amend what they
    have answered.

    Parameters
    ----------
    start:
        Nothing before it counts.
    until:
        The time of the last evaluation; None: it follows from the last item.
    """

    def __init__(self, request: Request, start: int, until: int | None) -> None:
        self.request = request
        self.start = start
        self._until = until
        self._encoder = Encoder(request)
        self._past: P | None = None

    @property
    def mapper(self) -> Mapper:
        """See `AnswerForms`."""
        return self._encoder.mapper

    @property
    def supplied(self) -> frozenset[Signature]:
        """See `Course`."""
        return self._encoder.supplied

    @supplied.setter
    def supplied(self, signatures: frozenset[Signature]) -> None:
        self._encoder.supplied |= signatures

    def amend(
        self, driver: Driver, changes: Iterable[Change], items: Ordered, before: int
    ) -> Amendments | None:
        """See `Course`."""
        if self._past is None or not self._past.follows:
            return None
        came, gone = ([i for i in each if i.time < before] for each in net(changes))
        try:
            alike = [self._alike(item, items, before) for item in gone]
            return self._amended(driver, self._past, came, gone, alike)
        except (BeyondPastError, LimitError):
            return None

    @abstractmethod
    def _amended(
        self,
        driver: Driver,
        past: P,
        came: Sequence[Item],
        gone: Sequence[Item],
        alike: Sequence[Sequence[Item]],
    ) -> Amendments | None:
        """What changes of evaluations since items have come and gone, with those that are alike.

        Raises `BeyondPastError` and `LimitError` where that cannot be told.
        """

    @abstractmethod
    def _near(self, item: Item, items: Ordered, before: int) -> Sequence[Item]:
        """The items before a time that could hold where an item does."""

    def _alike(self, item: Item, items: Ordered, before: int) -> list[Item]:
        """The items that hold the same near one."""
        if items.lasting or type(item.content) is not str:
            raise BeyondPastError
        near = self._near(item, items, before)
        if any(type(other.content) is not str for other in near):
            raise BeyondPastError
        return [other for other in near if other.content == item.content]

    def _note(
        self, evaluation: Evaluation, now: int, begin: Callable[[int], P | None] | None
    ) -> None:
        """Keep what is needed to amend an evaluation at an instant; `begin` does so of the first.
        Without it nothing can be amended."""
        if begin is None or evaluation.error is not None:
            self._past = None
        elif self._past is not None and self._past.follows:
            self._past.note(now)
        else:
            self._past = begin(now)
