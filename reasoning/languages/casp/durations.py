"""What is suspicious about durations: those that can never be over, times that are kept for
ever, windows that hold less or more than it seems.

`Durations` says of a rule in any language how long it is from a time to now, as far as its
comparisons say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from clingo.ast import AggregateFunction, ASTType, BinaryOperator, ComparisonOperator, Sign

from citywise.reasoning.asp.rules import atom_signatures
from citywise.reasoning.asp.syntax import Constants, Node, variables
from citywise.reasoning.errors import Finding
from citywise.reasoning.languages.casp.parsing import Reading
from citywise.reasoning.model.carried import NOW, last, since
from citywise.reasoning.model.request import Request, Signature, TimeWindow
from citywise.reasoning.model.rules import Comparator

Place = TypeVar("Place")
Line: TypeAlias = tuple[dict[str, int], int]
"""A term as a sum: how often each variable counts, and what is added."""

_FLIPPED: dict[Comparator, Comparator] = {">=": "<=", ">": "<", "<=": ">=", "<": ">", "=": "="}


def total(left: Line, right: Line, sign: int) -> Line:
    """The sum (`sign` 1) or difference (-1) of two terms."""
    factors = dict(left[0])
    for name, factor in right[0].items():
        factors[name] = factors.get(name, 0) + sign * factor
    return factors, left[1] + sign * right[1]


@dataclass(frozen=True)
class Bound(Generic[Place]):
    """How long it may be, and what says so."""

    units: int
    place: Place | None = None


@dataclass
class Elapsed(Generic[Place]):
    """How long it is from a time to now, as far as comparisons of a rule say."""

    least: Bound[Place] = field(default_factory=lambda: Bound(0))
    most: Bound[Place] | None = None

    def restrict(self, comparator: Comparator, units: int, place: Place) -> None:
        """The time passed is also so compared with `units`."""
        if comparator not in ("<=", "<"):
            bound = Bound(units + (comparator == ">"), place)
            self.least = max(self.least, bound, key=lambda b: b.units)
        if comparator in ("<=", "<", "="):
            bound = Bound(units - (comparator == "<"), place)
            self.most = min(self.most or bound, bound, key=lambda b: b.units)

    def contradiction(self, text: Callable[[int], str]) -> tuple[Place | None, str] | None:
        """What says that it can never be, and why; `text` writes a duration."""
        if self.most is None:
            return None
        if self.most.units < 0:
            return self.most.place, "this time is never after now: turn the difference round"
        if self.most.units < self.least.units:
            shortest, longest = text(self.least.units), text(self.most.units)
            message = f"no duration is both at least {shortest} and at most {longest}"
            return self.most.place, message
        return None


class Durations(Generic[Place]):
    """The durations of a rule: `clocks` are variables for now, `times` those for other times."""

    def __init__(self, clocks: Collection[str], times: Collection[str]) -> None:
        self._clocks, self._times = clocks, times
        self.found: dict[tuple[str, str], Elapsed[Place]] = defaultdict(Elapsed)
        """By time and clock."""

    def compare(
        self, left: Line | None, comparator: Comparator, right: Line | None, place: Place
    ) -> None:
        """A comparison of the rule at a place; None where a side is no sum."""
        if left is None or right is None or comparator not in _FLIPPED:
            return
        factors, added = total(left, right, -1)
        signs = {factor: name for name, factor in factors.items() if factor}
        if set(signs) != {1, -1} or sum(map(bool, factors.values())) != 2:
            return
        first, second = signs[1], signs[-1]
        # first - second + added is compared with 0.
        if first in self._clocks and second in self._times:
            self.found[second, first].restrict(comparator, -added, place)
        elif second in self._clocks and first in self._times:
            self.found[first, second].restrict(_FLIPPED[comparator], added, place)


_COMPARATORS: dict[ComparisonOperator, Comparator] = {
    ComparisonOperator.GreaterEqual: ">=",
    ComparisonOperator.GreaterThan: ">",
    ComparisonOperator.LessEqual: "<=",
    ComparisonOperator.LessThan: "<",
    ComparisonOperator.Equal: "=",
    ComparisonOperator.NotEqual: "!=",
}
_OF_ALL: dict[str, Collection[Comparator]] = {
    "left_guard": ("=", "!=", "<=", ">"),
    "right_guard": ("=", "!=", ">=", "<"),
}
"""How a count is compared with all that there should be, by the side on which that stands."""
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))


def durations(reading: Reading) -> Iterator[Finding]:
    """All findings about times."""
    yield from _unbounded(reading)
    for rule in reading.rules:
        yield from _Rule(reading, rule).findings()


def _unbounded(reading: Reading) -> Iterator[Finding]:
    for signature, (age, statement) in reading.directives.last.items():
        if age is None:
            yield Finding(
                reading.source.location(statement.start),
                "warning",
                "unbounded-history",
                f"`#last {signature}` keeps the time of every atom that ever held; say after how "
                f"long it may be forgotten, e.g. `#last {signature} 30d`",
            )


class _Rule:
    """One rule, whose body may compare times."""

    def __init__(self, reading: Reading, rule: Node) -> None:
        self._reading, self._request, self._rule = reading, reading.request, rule
        self._constants = Constants(reading.rules)
        self._clocks, self._times = self._read(rule.many("body"))
        """Variables that stand for now; those that stand for times, and the predicates that
        give them."""

    def findings(self) -> Iterator[Finding]:
        """What its durations and counts cannot be."""
        if self._clocks and self._times:
            for (time, _clock), elapsed in self._elapsed().items():
                yield from self._impossible(self._times[time], elapsed)
        yield from self._counts()

    def _read(self, literals: Iterable[Node]) -> tuple[set[str], dict[str, Signature]]:
        clocks: set[str] = set()
        times: dict[str, Signature] = {}
        for signature, variable in _last_variables(literals):
            if signature == NOW and self._request.sees_now:
                clocks.add(variable)
            elif signature in _timed(self._request) or self._is_item(signature):
                times[variable] = signature
        return clocks, times

    def _is_item(self, signature: Signature) -> bool:
        """Whether its atoms are triples of streams with their times."""
        request = self._request
        prefixes = tuple(f"{prefix}_" for prefix in request.prefixes)
        triple = signature.arity == 3 and signature.name.startswith(prefixes)
        return triple and signature not in request.derived

    # -- durations ------------------------------------------------------------------

    def _elapsed(self) -> dict[tuple[str, str], Elapsed[Node]]:
        """How long it may be from each time to now."""
        found = Durations[Node](self._clocks, self._times)
        for part in self._rule.many("body"):
            if part.kind != ASTType.Literal or part.origin.sign != Sign.NoSign:
                continue
            comparison = part.one("atom")
            if comparison.kind != ASTType.Comparison:
                continue
            left = comparison.one("term")
            for guard in comparison.many("guards"):
                right = guard.one("term")
                comparator = _COMPARATORS[ComparisonOperator(guard.origin.comparison)]
                found.compare(self._line(left), comparator, self._line(right), part)
                left = right
        return found.found

    def _line(self, term: Node) -> Line | None:
        """A term as a sum; None if it is none."""
        if term.kind == ASTType.Variable:
            return {term.name: 1}, 0
        number = self._constants.number(term)
        if number is not None:
            return {}, number
        if term.kind != ASTType.BinaryOperation:
            return None
        sign = {BinaryOperator.Plus: 1, BinaryOperator.Minus: -1}.get(term.origin.operator_type)
        left, right = self._line(term.one("left")), self._line(term.one("right"))
        return total(left, right, sign) if left and right and sign else None

    def _impossible(self, predicate: Signature, elapsed: Elapsed[Node]) -> Iterator[Finding]:
        contradiction = elapsed.contradiction(self._text)
        if contradiction is not None:
            node, message = contradiction
            yield self._finding(node, "never-over", message)
        elif elapsed.least.place is not None:
            yield from self._too_long(predicate, elapsed.least)

    def _too_long(self, predicate: Signature, least: Bound[Node]) -> Iterator[Finding]:
        request = self._request
        ages = {last(s): (s, age) for s, age in request.last.items()}
        if predicate in ages:
            signature, age = ages[predicate]
            if age is not None and least.units > age:
                yield self._finding(
                    least.place,
                    "never-over",
                    f"`#last {signature} {self._text(age)}` forgets what lies back more than "
                    f"that, and this asks for {self._text(least.units)}: give it a longer age",
                )
        elif self._is_item(predicate):
            reach = _reach(request)
            if reach is not None and least.units > reach:
                yield self._finding(
                    least.place,
                    "short-window",
                    f"no window holds items of {self._text(least.units)} ago, only of "
                    f"{self._text(reach)}: make the window longer, or remember with `#held` or "
                    "`#last`",
                )

    # -- counts ---------------------------------------------------------------------

    def _counts(self) -> Iterator[Finding]:
        """Counts of readings that are compared with width over slide: the window is closed at
        both ends, and holds one more."""
        for node in self._rule.walk():
            if node.kind != ASTType.BodyAggregate or not self._counts_times(node):
                continue
            for side in ("left_guard", "right_guard"):
                for guard in node.many(side):
                    comparator = _COMPARATORS[ComparisonOperator(guard.origin.comparison)]
                    number = self._constants.number(guard.one("term"))
                    for window in self._windows():
                        slides, rest = divmod(window.width, window.slide)
                        if comparator in _OF_ALL[side] and number == slides > 1 and not rest:
                            yield self._finding(node, "closed-window", self._seven(window, slides))

    def _counts_times(self, aggregate: Node) -> bool:
        """Whether it counts the times of readings."""
        if aggregate.origin.function != AggregateFunction.Count:
            return False
        for element in aggregate.many("elements"):
            counted = {name for term in element.many("terms") for name in variables(term)}
            _clocks, times = self._read(element.many("condition"))
            if counted & times.keys():
                return True
        return False

    def _windows(self) -> list[TimeWindow]:
        streams = self._request.streams
        return list(dict.fromkeys(s.window for s in streams if isinstance(s.window, TimeWindow)))

    def _seven(self, window: TimeWindow, slides: int) -> str:
        width, slide = self._text(window.width), self._text(window.slide)
        return (
            f"a window of {width} is closed at both ends: of readings every {slide} it holds "
            f"{slides + 1}, not {slides}"
        )

    # -- words ----------------------------------------------------------------------

    def _finding(self, node: Node | None, code: str, message: str) -> Finding:
        assert node is not None
        source = self._reading.source
        location = source.location(source.index(node.line, node.column))
        return Finding(location, "warning", code, f"`{node}`: {message}")

    def _text(self, units: int) -> str:
        """A duration as a directive has it."""
        milliseconds = units * 1000 // self._request.ticks_per_second
        return next(f"{milliseconds // s}{n}" for n, s in _UNITS if milliseconds % s == 0)


def _last_variables(literals: Iterable[Node]) -> Iterator[tuple[Signature, str]]:
    """The positive atoms whose last argument is a variable, and that."""
    for part in literals:
        if part.kind != ASTType.Literal or part.origin.sign != Sign.NoSign:
            continue
        atom = part.one("atom")
        if atom.kind != ASTType.SymbolicAtom:
            continue
        symbol = atom.one("symbol")
        while symbol.kind == ASTType.UnaryOperation:
            symbol = symbol.one("argument")
        arguments = symbol.many("arguments")
        if symbol.kind != ASTType.Function or not arguments:
            continue
        if arguments[-1].kind == ASTType.Variable:
            yield from ((signature, arguments[-1].name) for signature in atom_signatures(atom))


def _timed(request: Request) -> set[Signature]:
    return {*map(since, request.held), *map(last, request.last)}


def _reach(request: Request) -> int | None:
    """How old an item in a window may be; None where windows are not of time."""
    reach = 0
    for stream in request.streams:
        if not isinstance(stream.window, TimeWindow):
            return None
        # Beside others a window holds what it held at its own last tick.
        late = stream.window.slide if len(request.streams) > 1 else 0
        reach = max(reach, stream.window.width + late)
    return reach
