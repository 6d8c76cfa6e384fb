"""What the incremental engine must answer, read off the meaning of its programs.

`Naive` keeps what was inserted and, at each step, derives everything again from what holds
then: stratum by stratum, each to a fixpoint, rules by trying the literals of a body one after
the other. It says nothing about horizons of derived rows, for nothing is kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import inf

from citywise.reasoning.model import values
from citywise.reasoning.model.rules import (
    CLOCK,
    Absent,
    Aggregate,
    Always,
    Between,
    Call,
    Compare,
    Holds,
    Lasting,
    Literal,
    Program,
    Rule,
    Scan,
)
from citywise.reasoning.model.values import Row, Value
from tests.incremental.unification import (
    Bindings,
    can_match,
    compared,
    known,
    meaning,
    meanings,
    unified,
    unified_rows,
)

Relations = dict[str, set[Row]]


class Naive:
    """Has the interface of `Evaluation`, and no speed."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._strata = strata(program)
        self._given: dict[str, dict[Row, float]] = defaultdict(dict)
        self._first: int | None = None
        self._before: Relations = {}
        self._now: Relations = {}

    def insert(self, relation: str, rows: Iterable[Row], until: int | None = None) -> None:
        """Rows hold up to `until`, or the later time they were given before."""
        horizon = inf if until is None else until
        given = self._given[relation]
        for row in rows:
            given[row] = max(given.get(row, horizon), horizon)

    def retract(self, relation: str, rows: Iterable[Row]) -> None:
        """Rows were never inserted."""
        for row in rows:
            self._given[relation].pop(row, None)

    def step(self, now: int) -> None:
        """Derive what holds at a point of time."""
        self._first = now if self._first is None else self._first
        self._before = self._now
        relations: Relations = defaultdict(set)
        for name, given in self._given.items():
            relations[name] = {row for row, horizon in given.items() if horizon >= now}
        relations[CLOCK] = {(now,)}
        for stratum in self._strata:
            derive(self.program, stratum, relations, self._first, now)
        self._now = relations

    def rows(self, relation: str) -> set[Row]:
        """What holds."""
        return self._now.get(relation, set())

    def came(self, relation: str) -> set[Row]:
        """What holds, and did not a step before."""
        return self.rows(relation) - self._before.get(relation, set())

    def gone(self, relation: str) -> set[Row]:
        """What held a step before, and does not."""
        return self._before.get(relation, set()) - self.rows(relation)


def strata(program: Program) -> list[set[str]]:
    """Relations in the order in which they are completed.

    The stratum of a head is at least those of its body's relations, and more than those it
    reads through negation or an aggregate. Raises `ValueError` where there is none.
    """
    needs = [
        (rule.head, literal.relation, not isinstance(literal, Scan))
        for rule in program.rules
        for literal in rule.body
        if isinstance(literal, Scan | Absent | Holds)
    ]
    for operator in program.operators:
        reads = (
            (operator.groups, operator.elements)
            if isinstance(operator, Aggregate)
            else (operator.timed,)
        )
        needs += [(operator.result, relation, True) for relation in reads]
    heads = {rule.head for rule in program.rules} | {o.result for o in program.operators}
    number = dict.fromkeys(heads | {relation for _, relation, _ in needs}, 0)
    for _ in range(len(number) + 1):
        raised = {h: number[b] + strict for h, b, strict in needs if number[h] < number[b] + strict}
        if not raised:
            return [{r for r in heads if number[r] == n} for n in sorted(set(number.values()))]
        number |= raised
    raise ValueError("a loop through negation")


def derive(program: Program, stratum: set[str], relations: Relations, first: int, now: int) -> None:
    """Complete the relations of a stratum."""
    for operator in program.operators:
        if operator.result in stratum:
            timeline = range(first, now + 1)
            match operator:
                case Always():
                    rows = always(operator, relations[operator.timed], timeline)
                case Lasting():
                    rows = set(lasting(relations[operator.timed], now))
                case Aggregate():
                    rows = set(aggregated(operator, relations))
            relations[operator.result] |= rows
    rules = [rule for rule in program.rules if rule.head in stratum]
    while True:
        found = [(rule.head, row) for rule in rules for row in heads(rule, relations, now)]
        if all(row in relations[head] for head, row in found):
            return
        for head, row in found:
            relations[head].add(row)


# -- operators ---------------------------------------------------------------------------


def always(operator: Always, timed: set[Row], timeline: range) -> set[Row]:
    """Rows that hold at every point of time of the window, the last `width` + 1 of the
    timeline but for the last `gap`, if there are any."""
    window = timeline[-operator.width - 1 :]
    window = window[: max(0, len(window) - operator.gap)]
    return {row[:-1] for row in timed if window and all((*row[:-1], t) in timed for t in window)}


def lasting(timed: set[Row], now: int) -> Iterator[Row]:
    """Rows that hold now, with the first point of time since which they do at every one."""
    for *item, time in timed:
        if time == now:
            since = now
            while (*item, since - 1) in timed:
                since -= 1
            yield (*item, since)


def aggregated(operator: Aggregate, relations: Relations) -> Iterator[Row]:
    """Each group with its value."""
    for group in relations[operator.groups]:
        tuples = {row[-1] for row in relations[operator.elements] if row[:-1] == group}
        yield (*group, value(operator.function, tuples))


def value(function: str, tuples: set[Value]) -> Value:
    """The value of an aggregate function over tuples of ASP."""
    if function == "count":
        return len(tuples)
    weights = [one[1] for one in tuples if isinstance(one, tuple) and len(one) > 1]
    if function == "min":
        return min(weights, key=values.order, default="#sup")
    if function == "max":
        return max(weights, key=values.order, default="#inf")
    numbers = [weight for weight in weights if isinstance(weight, int)]
    return sum(n for n in numbers if n > 0 or function == "sum")


# -- rules -------------------------------------------------------------------------------


def heads(rule: Rule, relations: Relations, now: int) -> Iterator[Row]:
    """Rows that a rule derives at a point of time from what relations hold."""
    for bound in solutions(list(rule.body), {}, relations):
        if rule.until is not None:
            last = meaning(rule.until[0], bound)
            if not isinstance(last, int) or last + rule.until[1] < now:
                continue
        row = meanings(rule.terms, bound)
        if row is not None:
            yield row


def solutions(body: Sequence[Literal], bound: Bindings, relations: Relations) -> Iterator[Bindings]:
    """Values of variables under which a body holds; each literal as soon as it can be tried."""
    if not body:
        yield bound
        return
    ready = next((literal for literal in body if is_ready(literal, bound)), None)
    if ready is None:
        raise ValueError(f"unsafe: {body}")
    rest = [literal for literal in body if literal is not ready]
    for more in matches(ready, bound, relations):
        yield from solutions(rest, more, relations)


def is_ready(literal: Literal, bound: Bindings) -> bool:
    """Whether enough variables have values to try a literal."""
    match literal:
        case Scan(_, terms):
            return all(can_match(term, bound) for term in terms)
        case Absent(_, terms) | Holds(_, terms):
            return all(known(term, bound) for term in terms)
        case Between(term, low, high):
            return known(low, bound) and known(high, bound) and can_match(term, bound)
        case Compare("=", left, right):
            one_way = known(left, bound) and can_match(right, bound)
            return one_way or (known(right, bound) and can_match(left, bound))
        case Compare(_, left, right):
            return known(left, bound) and known(right, bound)
        case Call(_, arguments, result):
            free = result is None or can_match(result, bound)
            return free and all(known(term, bound) for term in arguments)


def matches(literal: Literal, bound: Bindings, relations: Relations) -> Iterator[Bindings]:
    """Values under which a literal that is ready holds."""
    match literal:
        case Scan(relation, terms):
            for row in list(relations[relation]):
                yield from unified_rows(terms, row, bound)
        case Absent(relation, terms) | Holds(relation, terms):
            found = meanings(terms, bound)
            if found is not None and (found in relations[relation]) == isinstance(literal, Holds):
                yield bound
        case Between(term, low, high):
            first, last = meaning(low, bound), meaning(high, bound)
            if isinstance(first, int) and isinstance(last, int):
                for number in range(first, last + 1):
                    yield from unified(term, number, bound)
        case Compare("=", left, right):
            one, other = (left, right) if known(right, bound) else (right, left)
            meant = meaning(other, bound)
            if meant is not None:
                yield from unified(one, meant, bound)
        case Compare(comparator, left, right):
            x, y = meaning(left, bound), meaning(right, bound)
            if x is not None and y is not None and compared(comparator, x, y):
                yield bound
        case Call(function, arguments, result):
            values_of = meanings(arguments, bound)
            told = None if values_of is None else function(*values_of)
            if told is not None:
                yield from [bound] if result is None else unified(result, told, bound)
