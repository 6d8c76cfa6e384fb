"""What held at earlier steps, and what changes of it when the past does.

`Past` follows an evaluation: it notes which rows come and go with each step. When rows of an
input come to have held at other steps, it brings every relation's steps up, component by component.
That is as delete and rederive for the newest step: out goes what may rest on what is lost, back
comes what still follows, then what is gained is met. All steps at once: what is joined once is not
joined for each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from citywise.reasoning.engines.incremental.evaluation import RuleEvaluation
from citywise.reasoning.engines.incremental.generated import Look
from citywise.reasoning.engines.incremental.operators import members
from citywise.reasoning.engines.incremental.validity import (
    Changed,
    Happened,
    Meet,
    Steps,
    Timeline,
    Validity,
    each_of,
    meeting,
    rederiving,
)
from citywise.reasoning.model.joins import normal
from citywise.reasoning.model.rules import (
    Absent,
    Aggregate,
    Always,
    Operator,
    Program,
    Rule,
    components,
)
from citywise.reasoning.model.values import Row, Value, atom_text


@dataclass(frozen=True)
class Known:
    """What is known of the past of an evaluation."""

    relations: Mapping[str, Validity]
    timeline: Timeline
    look: Look
    """What stops joins at a limit."""


@dataclass
class _Met:
    """A rule and a literal of its body, with the functions for what changes there."""

    rule: _Compiled
    literal: int
    relation: Validity
    absent: bool

    def gained(self) -> dict[Row, Steps]:
        """Changes with which the literal holds."""
        return self.relation.lost() if self.absent else self.relation.gained()

    def lost(self) -> dict[Row, Steps]:
        """Changes with which it does not any more."""
        return self.relation.gained() if self.absent else self.relation.lost()


class _Compiled:
    """A rule and its functions, made when they are first needed."""

    def __init__(self, rule: Rule, known: Known) -> None:
        self.rule = rule
        self.head = known.relations[rule.head]
        self._known = known
        self._functions: dict[tuple[int, bool] | None, Meet] = {}

    def meet(self, literal: int, rows: Changed, *, lost: bool) -> Iterator[tuple[Row, Steps]]:
        """Rows of the head, with steps at which a body with a changed row holds, or held."""
        key = literal, lost
        if key not in self._functions:
            known = self._known
            self._functions[key] = meeting(
                self.rule, literal, known.relations, known.look, known.timeline.upto, lost=lost
            )
        return self._run(self._functions[key], rows)

    def rederive(self, rows: Changed) -> Iterator[tuple[Row, Steps]]:
        """Those of the given rows of the head that have a body, with its steps among theirs."""
        if None not in self._functions:
            known = self._known
            self._functions[None] = rederiving(
                self.rule, known.relations, known.look, known.timeline.upto
            )
        return self._run(self._functions[None], rows)

    @staticmethod
    def _run(function: Meet, rows: Changed) -> Iterator[tuple[Row, Steps]]:
        found: list[Row] = []
        steps: list[Steps] = []
        if rows:
            function(rows, found, steps)
        return zip(found, steps, strict=True)


class Amending:
    """Relations that depend on one another, with what derives them."""

    def __init__(self, names: frozenset[str], program: Program, known: Known) -> None:
        relation = known.relations.__getitem__
        self._own = [relation(name) for name in sorted(names)]
        self._operators = [
            _operator(operator, known) for operator in program.operators if operator.result in names
        ]
        self._rules = [_Compiled(normal(r), known) for r in program.rules if r.head in names]
        self._outer: list[_Met] = []
        self._inner: defaultdict[str, list[_Met]] = defaultdict(list)
        for rule in self._rules:
            for place, literal in rule.rule.looks.items():
                absent = isinstance(literal, Absent)
                met = _Met(rule, place, relation(literal.relation), absent)
                if literal.relation in names:
                    self._inner[literal.relation].append(met)
                else:
                    self._outer.append(met)

    def amend(self) -> None:
        """Bring the component's relations up to what changed below it."""
        for operator in self._operators:
            operator.amend()
        changed = [met for met in self._outer if met.relation.was]
        if not changed and not any(own.was for own in self._own):
            return
        todo = self._lose(changed)
        for met in changed:
            self._gain(met.rule, met.rule.meet(met.literal, met.gained(), lost=False), todo)
        # What comes from outside into derived relations has relations of its own, so only what was
        # found here is met within the component.
        self._fix(todo)

    def _lose(self, changed: Iterable[_Met]) -> dict[str, dict[Row, Steps]]:
        """Take out what may rest on what is lost, and put back what still follows; what was put
        back, by relation."""
        out: defaultdict[str, dict[Row, Steps]] = defaultdict(dict)
        todo = [(met, met.lost()) for met in changed]
        while todo:
            met, rows = todo.pop()
            head = met.rule.head
            found: dict[Row, Steps] = {}
            for row, steps in met.rule.meet(met.literal, rows, lost=True):
                if gone := steps & head.steps.get(row, 0):
                    head.change(row, head.steps[row] & ~gone)
                    found[row] = found.get(row, 0) | gone
            if found:
                taken = out[head.name]
                for row, gone in found.items():
                    taken[row] = taken.get(row, 0) | gone
                todo += [(inner, found) for inner in self._inner.get(head.name, ())]
        back: dict[str, dict[Row, Steps]] = {}
        for rule in self._rules if out else ():
            if lost := out.get(rule.head.name):
                self._gain(rule, rule.rederive(lost), back)
        return back

    @staticmethod
    def _gain(
        rule: _Compiled,
        found: Iterable[tuple[Row, Steps]],
        todo: dict[str, dict[Row, Steps]],
    ) -> None:
        head = rule.head
        for row, steps in found:
            old = head.steps.get(row, 0)
            if new := steps & ~old:
                head.change(row, old | new)
                rows = todo.setdefault(head.name, {})
                rows[row] = rows.get(row, 0) | new

    def _fix(self, todo: dict[str, dict[Row, Steps]]) -> None:
        """Meet the component's own new steps until there are none."""
        while todo:
            name, rows = todo.popitem()
            for met in self._inner.get(name, ()):
                self._gain(met.rule, met.rule.meet(met.literal, rows, lost=False), todo)


def _operator(operator: Operator, known: Known) -> _Aggregated | _Throughout:
    match operator:
        case Aggregate():
            return _Aggregated(operator, known)
        case Always():
            return _Throughout(operator, known)
    raise TypeError(f"the past of {operator} is not known")


class _Aggregated:
    """An aggregate at steps of the past."""

    def __init__(self, operator: Aggregate, known: Known) -> None:
        self._groups = known.relations[operator.groups]
        self._elements = known.relations[operator.elements]
        self._result = known.relations[operator.result]
        self._kind = members(operator)

    def amend(self) -> None:
        touched: defaultdict[Row, Steps] = defaultdict(int)
        for row, old in self._groups.was.items():
            touched[row] |= old ^ self._groups.steps[row]
        for row, old in self._elements.was.items():
            touched[row[:-1]] |= old ^ self._elements.steps[row]
        for group, steps in touched.items():
            if steps:
                self._amend(group, steps)

    def _amend(self, group: Row, steps: Steps) -> None:
        """Find the values of a group at steps anew."""
        elements = list(_rows_of(self._elements, group))
        values: defaultdict[Value, Steps] = defaultdict(int)
        for step in _each(steps & self._groups.steps.get(group, 0)):
            found = self._kind()
            for row in elements:
                if self._elements.steps[row] & step:
                    found.add(row[-1])
            values[found.value()] |= step
        for row in list(_rows_of(self._result, group)):
            old = self._result.steps[row]
            new = old & ~steps | values.pop(row[-1], 0)
            if new != old:
                self._result.change(row, new)
        for value, new in values.items():
            self._result.change((*group, value), new)


class _Throughout:
    """⊞ⁿ□ at steps of the past."""

    def __init__(self, operator: Always, known: Known) -> None:
        self._timed = known.relations[operator.timed]
        self._result = known.relations[operator.result]
        self._width, self._gap = operator.width, operator.gap
        self._timeline = known.timeline

    def amend(self) -> None:
        touched: defaultdict[Row, Steps] = defaultdict(int)
        for row, old in self._timed.was.items():
            touched[row[:-1]] |= old ^ self._timed.steps[row]
        for item, steps in touched.items():
            if not steps:
                continue
            old = self._result.steps.get(item, 0)
            new = old & ~steps | self._holding(item, steps)
            if new != old:
                self._result.change(item, new)

    def _holding(self, item: Row, steps: Steps) -> Steps:
        """At which of some steps it holds throughout the window."""
        line, timed = self._timeline, self._timed.steps
        first = line.first
        assert first is not None
        low = line.times[(steps & -steps).bit_length() - 1] - self._width
        high = line.times[min(steps.bit_length(), len(line.times)) - 1] - self._gap
        steps &= ~line.upto(first + self._gap - 1)  # before, the window is empty
        for time in range(max(low, first), high + 1):
            if not steps:
                break
            seeing = line.between(time + self._gap, time + self._width)
            steps &= timed.get((*item, time), 0) | ~seeing
        return steps


def _rows_of(relation: Validity, group: Row) -> Iterable[Row]:
    """The rows that begin with a group and have one column more."""
    if not group:
        return relation.steps
    key = group[0] if len(group) == 1 else group
    found = relation.index(tuple(range(len(group)))).get(key, ())
    return (found,) if isinstance(found, tuple) and found else found  # type: ignore[return-value]


def _each(steps: Steps) -> Iterator[Steps]:
    """The steps one by one."""
    while steps:
        step = steps & -steps
        yield step
        steps ^= step


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
        for each in evaluation.relations.values():
            if each.in_columns:  # which do not tell what each step changed, row by row
                each.list_rows()
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
