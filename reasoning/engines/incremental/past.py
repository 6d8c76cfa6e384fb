"""What held at earlier steps, and what changes of it when the past does.

`Past` follows an evaluation: it notes which rows come and go with each step. When rows of an
input come to have held at other steps, it brings every relation's steps up, component by component
(`amending`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from citywise.reasoning.engines.incremental.amending import Amending, Known
from citywise.reasoning.engines.incremental.evaluation import RuleEvaluation
from citywise.reasoning.engines.incremental.validity import (
    Changed,
    Happened,
    Steps,
    Timeline,
    Validity,
    each_of,
)
from citywise.reasoning.model.rules import components
from citywise.reasoning.model.values import Row, atom_text

_FORGOTTEN = 64
"""Steps that are not needed any more, and are forgotten together, at least."""
_Noted = tuple[Validity, Collection[Row], Collection[Row], Collection[Row]]
"""Of a step: rows that came to a relation, ended, and were withdrawn."""


Amended = dict[str, tuple[dict[Row, Steps], dict[Row, Steps]]]
"""By relation, rows with the steps that they gained, and that they lost."""


class BeyondPastError(Exception):
    """What changed of the past is not what can be amended."""


class Past(ABC):
    """The relations of an evaluation at its steps from the last one on.

    Steps are at times that grow. `note` must be told of each; `amend` says what changes when rows
    of inputs have held at other steps than was known.
    """

    def __init__(self, evaluation: RuleEvaluation, time: int) -> None:
        self.evaluation = evaluation
        program = evaluation.ready
        self.timeline = Timeline(time)
        self.relations = {name: Validity(name) for name in evaluation.relations}
        self._notes: list[list[_Noted]] = []
        """Of the steps that have not been taken in yet, the last of them all."""
        self._lazy = True
        """Whether no step has been taken in: then they follow from the rows that hold now, and
        what each of the steps changed. A stream that nothing changes pays for no more."""
        known = Known(self.relations, self.timeline, evaluation.watch.look)
        self._components = [Amending(names, program, known) for names in components(program)]

    @property
    @abstractmethod
    def follows(self) -> bool:
        """Whether the evaluation is still the one whose steps these are."""

    @property
    def start(self) -> int:
        """The time of the first step that is known."""
        return self.timeline.times[0]

    def note(self, time: int, *, moved: bool = True) -> None:
        """The evaluation has made a step, or none (`moved`), for nothing happened at a time."""
        # Lists, which the evaluation's next step replaces, unless they are empty: to note a step
        # costs nothing for its rows as long as nobody changes the past.
        found: list[_Noted] = [
            (self.relations[name], each.fresh or (), each.expired or (), each.withdrawn or ())
            for name, each in self.evaluation.relations.items()
            if moved and (each.fresh or each.expired or each.withdrawn)
        ]
        self.timeline.times.append(time)
        self._notes.append(found)

    def amend(self, gained: Mapping[str, Changed], lost: Mapping[str, Changed]) -> Amended:
        """Take in that rows of inputs held at more steps, or at fewer; by relation the steps that
        rows gained and lost."""
        self._take_in()
        self.timeline.first = self.evaluation.first
        self.evaluation.watch.begin()
        now = (1 << len(self.timeline.times)) - 1
        for name, rows in lost.items():
            relation = self.relations[name]
            for row, steps in rows.items():
                relation.change(row, relation.steps.get(row, 0) & ~(steps & now))
        for name, rows in gained.items():
            relation = self.relations[name]
            for row, steps in rows.items():
                relation.change(row, relation.steps.get(row, 0) | steps & now)
        for component in self._components:
            component.amend()
        found: Amended = {}
        for name, relation in self.relations.items():
            if relation.was:
                came, gone = relation.gained(), relation.lost()
                if came or gone:
                    found[name] = came, gone
                relation.settle()
        return found

    def add(
        self, changed: dict[str, dict[Row, Steps]], relation: str, rows: Iterable[Row], steps: Steps
    ) -> None:
        """Add to what changes that rows of an input held at some steps, or did not."""
        known = changed.setdefault(self.evaluation.source(relation), {})
        known.update((row, known.get(row, 0) | steps) for row in rows)

    def texts(
        self, changed: Amended, shown: Iterable[tuple[str, str]]
    ) -> dict[int, tuple[list[str], list[str]]]:
        """By time, the atoms that came and went of some relations, named beside the name of their
        atoms."""
        came: list[list[str]] = [[] for _ in self.timeline.times]
        gone: list[list[str]] = [[] for _ in self.timeline.times]
        for name, relation in shown:
            gained, lost = changed.get(self.evaluation.called(relation), ({}, {}))
            for found, rows in ((came, gained), (gone, lost)):
                for row, steps in rows.items():
                    text = atom_text(name, row)
                    for step in each_of(steps):
                        found[step].append(text)
        texts = zip(self.timeline.times, came, gone, strict=True)
        return {time: (new, old) for time, new, old in texts if new or old}

    def forget(self, before: int) -> None:
        """Steps before a time are not asked for any more."""
        number = min(bisect_right(self.timeline.times, before - 1), len(self.timeline.times) - 1)
        if number > max(_FORGOTTEN, len(self.timeline.times) - number):
            taken = len(self.timeline.times) - len(self._notes)
            if self._lazy or number >= taken:
                del self._notes[: len(self._notes) - (len(self.timeline.times) - number) + 1]
                self._lazy = True
                for relation in self.relations.values():
                    relation.clear()
            else:
                self._take_in()
                for relation in self.relations.values():
                    relation.forget(number)
            del self.timeline.times[:number]

    def _take_in(self) -> None:
        """Take in the steps that were noted."""
        first = len(self.timeline.times) - len(self._notes)
        if self._lazy:
            self._lazy = False
            self._look_back(first)
            self._notes.clear()
            return
        for step, notes in enumerate(self._notes, first):
            for relation, fresh, expired, withdrawn in notes:
                before = (1 << step) - 1
                relation.end(expired, before)
                relation.end(withdrawn, before)
                relation.begin(fresh, -1 << step)
        self._notes.clear()

    def _look_back(self, first: int) -> None:
        """Take in the steps that were noted, from the newest back to the one before `first`."""
        changes: defaultdict[Validity, list[Happened]] = defaultdict(list)
        for step in range(len(self.timeline.times) - 1, first - 1, -1):
            for relation, fresh, expired, withdrawn in self._notes[step - first]:
                changes[relation].append((step, fresh, [*expired, *withdrawn]))
        for name, rows in self.evaluation.relations.items():
            relation = self.relations[name]
            relation.look_back(rows.rows(), changes[relation])
