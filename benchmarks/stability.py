"""Stable window sizes (thesis, section 5.1.2): how much a reasoner keeps up with.

    citywise bench stability                  # the thesis' request for critical events
    citywise bench stability REQUEST [SLIDE]  # another, and a slide in seconds (1)

A window arrives every slide U. `W_s` is the largest window that one clingo call (in a
worker process) evaluates within U: doubled until it takes longer, then found by bisection.
`W_u` is the largest that is still done within U when it is cut into pieces W' of the same
size, evaluated one after the other: T(W, W') = ceil(W/W') T(W') <= U. It is first computed
from the curve T(W), then measured: pieces are evaluated until U has passed. W_u is above
W_s where T grows faster than the window, as the thesis found. Cutting keeps the answers
only where data are independent (docs/parallel.md).
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clingo.ast import ASTType
from parallel import table

from citywise.backend.machine import REPOSITORY
from citywise.reasoning.asp.rules import atom_signatures, atoms, read
from citywise.reasoning.asp.syntax import Node, variables
from citywise.reasoning.engines.clingo.guard import GuardedEngine
from citywise.reasoning.languages.casp.parsing import parse_file
from citywise.reasoning.limits import LimitError, Limits
from citywise.reasoning.model.engine import WindowFacts
from citywise.reasoning.model.request import Request, Signature

DEFAULT = REPOSITORY / "tests" / "cases" / "thesis" / "listing_5_3_corrected.casp"
_SMALLEST = 8
_REPEATS = 3
_PRECISION = 0.03
_LONGEST = 4
"""Slides after which an evaluation is given up."""
_PLACES = 100
_NAMES = 30
_NUMBERS = 100
_COMPUTED = (ASTType.Comparison, ASTType.BinaryOperation, ASTType.UnaryOperation)


def run(request: str = str(DEFAULT), slide: str = "1") -> dict[str, Any]:
    """Measure the request in a file; `slide` is U in seconds."""
    path, within = Path(request), float(slide)
    what = parse_file(path)
    data = CityEvents() if path.samefile(DEFAULT) else Drawn(what)
    limits = Limits(seconds=_LONGEST * within)
    with closing(GuardedEngine(what, limits=limits)) as engine:
        curve = Curve(engine, data.window, within)
        stable = curve.stable()
        piece, upper = curve.upper(stable)
    return {
        "request": path.name,
        "data": data.said,
        "unit": data.unit,
        "slide_s": within,
        "curve": [
            {data.unit: size, "seconds": seconds, "us_each": seconds / size * 1e6}
            for size, seconds in sorted(curve.seconds.items())
        ],
        "W_s": stable,
        "W_u": upper,
        "piece": piece,
    }


# --- Data --------------------------------------------------------------------------------


_CITY = frozenset(
    Signature(name, 2)
    for name in (
        "rdf_type",
        "sao_hasEventLocation",
        "sao_hasUserLocation",
        "uc_activity",
        "uc_effect",
        "path_segment",
    )
)


class CityEvents:
    """Events as in the thesis' section 5.1.1 (two facts each: what it is, and where), one
    user who drives along a path of a hundred places, and what affects drivers."""

    unit = "events"
    said = f"events of {_NAMES} names, half of which affect the user, at {2 * _PLACES} places"

    def window(self, size: int, seed: int) -> WindowFacts:
        """The facts of a window of so many events."""
        chance = random.Random(seed)
        lines = [
            'uc_activity("u1","ac_DrivingCar").',
            'sao_hasUserLocation("u1","place3").',
            *(f'path_segment("place{n}",{n}).' for n in range(_PLACES)),
            *(f'uc_effect("event{n}","ac_DrivingCar").' for n in range(_NAMES // 2)),
        ]
        for event in range(size):
            lines.append(f'rdf_type("e{event}","event{chance.randrange(_NAMES)}").')
            lines.append(
                f'sao_hasEventLocation("e{event}","place{chance.randrange(2 * _PLACES)}").'
            )
        return WindowFacts("".join(f"{line}\n" for line in lines), _CITY)


@dataclass
class Drawn:
    """Facts of a request's input predicates, drawn so that its joins find partners.

    Arguments that some rule joins share a domain: the constants that rules compare them
    with (half of the time), and a value for every four facts of the window, or numbers
    below a hundred where rules compute with them.
    """

    request: Request
    unit: str = "facts"
    _domains: dict[tuple[Signature, int], Domain] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._inputs = sorted(self.request.inputs or self.request.used - self.request.derived)
        self._domains = _domains(self.request)

    @property
    def said(self) -> str:
        """What is generated."""
        names = ", ".join(map(str, self._inputs))
        return f"facts of {names} in turn; arguments that are joined share a domain of W/4 values"

    def window(self, size: int, seed: int) -> WindowFacts:
        """So many facts, of all inputs in turn."""
        chance = random.Random(seed)
        values = max(2, size // 4)
        lines = []
        for index in range(size):
            name, arity = signature = self._inputs[index % len(self._inputs)]
            places = range(1, arity + 1)
            arguments = [self._domains[signature, n].draw(chance, values) for n in places]
            lines.append(f"{name}({','.join(arguments)}).\n" if arguments else f"{name}.\n")
        return WindowFacts("".join(lines), frozenset(self._inputs))


@dataclass
class Domain:
    """What the arguments have as values that rules join."""

    number: int
    constants: set[str] = field(default_factory=set)
    computed: bool = False

    def draw(self, chance: random.Random, values: int) -> str:
        """A term; there are so many besides the constants."""
        if self.constants and chance.random() < 0.5:
            return chance.choice(sorted(self.constants))
        if self.computed:
            return str(chance.randrange(_NUMBERS))
        return f'"v{self.number}_{chance.randrange(values)}"'


def _domains(request: Request) -> dict[tuple[Signature, int], Domain]:
    """The domain of every argument of every predicate."""
    domains: dict[tuple[Signature, int], Domain] = {}

    def at(signature: Signature, place: int) -> Domain:
        return domains.setdefault((signature, place), Domain(len(domains)))

    for signature in request.used | request.derived | request.inputs:
        for place in range(1, signature.arity + 1):
            at(signature, place)
    for rule in read(request.rules).rules:
        joined: dict[str, list[tuple[Signature, int]]] = defaultdict(list)
        for signature, place, term in _arguments(rule.tree):
            if term.kind == ASTType.Variable:
                joined[term.name].append((signature, place))
            elif not variables(term) and rule.head.isdisjoint({signature}):
                at(signature, place).constants.add(str(term))
        computed = _computed(rule.tree)
        for name, places in joined.items():
            _unite(domains, places, computed=name in computed)
    return domains


def _arguments(tree: Node) -> Iterator[tuple[Signature, int, Node]]:
    for atom in atoms(tree):
        symbol = atom.one("symbol")
        if symbol.kind == ASTType.Function:
            (signature,) = atom_signatures(atom)
            for place, term in enumerate(symbol.many("arguments"), 1):
                yield signature, place, term


def _computed(tree: Node) -> set[str]:
    """Variables that comparisons or arithmetic speak of."""
    return {name for part in tree.walk() if part.kind in _COMPUTED for name in variables(part)}


def _unite(
    domains: dict[tuple[Signature, int], Domain],
    places: Sequence[tuple[Signature, int]],
    *,
    computed: bool,
) -> None:
    first = domains[places[0]]
    first.computed |= computed
    for place in places[1:]:
        other = domains[place]
        first.constants |= other.constants
        first.computed |= other.computed
        domains.update({key: first for key, domain in domains.items() if domain is other})


# --- Measuring ---------------------------------------------------------------------------


class Curve:
    """T(W), measured where it is asked for."""

    def __init__(
        self, engine: GuardedEngine, window: Callable[[int, int], WindowFacts], within: float
    ) -> None:
        self._engine = engine
        self._window = window
        self._within = within
        self.seconds: dict[int, float] = {}
        """Median by window size; infinite where it was given up."""
        self._evaluate(window(_SMALLEST, 0))  # starts the worker

    def stable(self) -> int:
        """W_s: the largest window that is done in time."""
        size = _SMALLEST
        if self._at(size) > self._within:
            raise SystemExit(
                f"a window of {size} takes longer than the slide of {self._within:g} s: "
                "give a longer slide"
            )
        while self._at(size) <= self._within:
            size *= 2
        low, high = size // 2, size
        while high - low > max(1, _PRECISION * low):
            middle = (low + high) // 2
            low, high = (middle, high) if self._at(middle) <= self._within else (low, middle)
        return low

    def upper(self, stable: int) -> tuple[int, int]:
        """The piece W' with which a window may be largest, and that window's size W_u."""
        pieces = [size for size, s in self.seconds.items() if size <= stable and s <= self._within]
        best = sorted(pieces, key=lambda size: -size * (self._within // self.seconds[size]))[:3]
        measured = {
            piece: statistics.median(self._done(piece, run) for run in range(_REPEATS))
            for piece in best
        }
        piece = max(measured, key=lambda size: (measured[size], size))
        return (piece, round(measured[piece])) if measured[piece] > stable else (stable, stable)

    def _at(self, size: int) -> float:
        if size not in self.seconds:
            taken = [self._evaluate(self._window(size, seed)) for seed in range(_REPEATS)]
            self.seconds[size] = statistics.median(taken)
            print(f"T({size:,}) = {self.seconds[size]:.3f} s", file=sys.stderr)
        return self.seconds[size]

    def _done(self, piece: int, run: int) -> int:
        """How much is evaluated piece by piece within the slide."""
        expected = int(self._within / self.seconds[piece])
        windows = [self._window(piece, 1000 * (run + 1) + n) for n in range(2 * expected + 2)]
        started, done = time.perf_counter(), 0
        for window in windows:
            self._evaluate(window)
            if time.perf_counter() - started > self._within:
                break
            done += piece
        return done

    def _evaluate(self, window: WindowFacts) -> float:
        started = time.perf_counter()
        try:
            self._engine.answer_sets(window)
        except LimitError:
            return float("inf")
        return time.perf_counter() - started


# --- Report ------------------------------------------------------------------------------


def report(results: Mapping[str, Any]) -> str:
    """The curve and the two sizes."""
    unit, slide = results["unit"], results["slide_s"]
    lines = [f"{results['request']}: {results['data']}", *table("T(W)", results["curve"]), ""]
    lines.append(f"U = {slide:g} s")
    lines.append(f"W_s = {results['W_s']:,} {unit} in one evaluation")
    share = results["W_u"] / results["W_s"]
    lines.append(
        f"W_u = {results['W_u']:,} {unit} in pieces of {results['piece']:,} ({share:.2f} W_s)"
    )
    return "\n".join(lines)
