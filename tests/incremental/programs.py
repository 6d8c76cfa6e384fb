"""Random C-ASP programs that the incremental engine can evaluate, with changing facts.

Rules are text for clingo. Predicates stand in layers; `not`, aggregates and conditions
read layers below only, so that every program is stratified.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from hypothesis.vendor.pretty import RepresentationPrinter

from tests.incremental.rules import one_in, pick

INPUTS = {"e": 2, "d": 1, "n": 2, "flag": 0}
LAYERS = ({"p": 1, "q": 2, "-p": 1}, {"r": 2, "s": 1, "t": 0}, {"u": 1, "v": 2})
_LIKELY = ("1", "2", "3", "1", "2", "1", "2", "1", "2", "3", "1", "2")
VALUES = (*_LIKELY, "a", "b", '"a"', "f(1)", "(1,a)", "-1", "0")
NUMBERS = ("1", "2", "3", "0", "-1")

_VARIABLES = ("X", "Y", "Z")
_COMPARATORS = ("<", "!=", ">=", "<=", ">", "=")
_FUNCTIONS = ("#count", "#sum", "#min", "#max", "#sum+")
_OPERATIONS = ("+", "-", "*", "/", "\\", "**", "&", "?", "^")


@dataclass(frozen=True)
class Example:
    """A program, and the facts of one window after the other."""

    program: str
    windows: tuple[tuple[str, ...], ...]
    knowledge: tuple[str, ...] = ()

    def __str__(self) -> str:
        windows = "\n".join(f"window: {' '.join(f'{a}.' for a in w)}" for w in self.windows)
        known = " ".join(f"{fact}." for fact in self.knowledge)
        return f"{self.program}\nknowledge: {known}\n{windows}"

    def _repr_pretty_(self, printer: RepresentationPrinter, _cycle: bool) -> None:
        printer.text(f"\n{self}\n")


@dataclass
class Writer:
    """Writes safe rules for one layer."""

    draw: DrawFn
    below: dict[str, int]
    own: dict[str, int]

    def chance(self, number: int) -> bool:
        """True once in so many."""
        return one_in(self.draw, number)

    # -- atoms and terms ----------------------------------------------------------------

    def atom(self, predicates: dict[str, int], terms: Sequence[str]) -> str:
        """An atom over some terms, or now and then a value."""
        name = pick(self.draw, [*predicates])
        arguments = [self.argument(terms) for _ in range(predicates[name])]
        return f"{name}({','.join(arguments)})" if arguments else name

    def argument(self, terms: Sequence[str]) -> str:
        """A term, inside a function or a tuple now and then."""
        found = pick(self.draw, VALUES) if self.chance(15) else pick(self.draw, terms)
        if self.chance(25):
            return pick(self.draw, (f"f({found})", f"({found},a)", f"({found},)"))
        return found

    def positive(self, most: int) -> list[str]:
        """Atoms that give variables values."""
        number = pick(self.draw, (2, 1, 2, 3)[: most + 1])
        likely = self.below | self.own
        return [self.atom(likely, [*_VARIABLES, "_"][: 3 + self.chance(8)]) for _ in range(number)]

    def computed(self, terms: Sequence[str]) -> str:
        """Arithmetic, most often of two numbers."""
        term, other = pick(self.draw, terms), pick(self.draw, [*NUMBERS, *terms])
        if self.chance(8):
            return pick(self.draw, (f"|{term}|", f"-{term}", f"~{term}"))
        return f"({term}{pick(self.draw, _OPERATIONS)}({other}))"

    # -- what restricts and assigns -----------------------------------------------------

    def restriction(self, bound: Sequence[str]) -> str:
        """A literal that gives no variable a value."""
        kinds: tuple[Callable[[Sequence[str]], str], ...]
        kinds = (self.negation, self.negation, self.comparison, self.double, self.condition)
        return pick(self.draw, (*kinds, self.compared_aggregate, self.interval, self.truth))(bound)

    def negation(self, bound: Sequence[str]) -> str:
        terms = [*bound, "_"] if self.chance(6) else bound
        return f"not {self.atom(self._without_minus, terms)}"

    def double(self, bound: Sequence[str]) -> str:
        return f"not not {self.atom(self.below, bound)}"

    def comparison(self, bound: Sequence[str]) -> str:
        left = self.computed(bound) if self.chance(3) else pick(self.draw, bound)
        right = pick(self.draw, [*bound, *VALUES])
        found = f"{left} {pick(self.draw, _COMPARATORS)} {right}"
        if self.chance(6):
            found += f" {pick(self.draw, _COMPARATORS)} {pick(self.draw, [*bound, *NUMBERS])}"
        return f"not {found}" if self.chance(6) else found

    def interval(self, bound: Sequence[str]) -> str:
        low, high = pick(self.draw, NUMBERS), pick(self.draw, [*bound, "3", "2"])
        return f"{pick(self.draw, bound)} = {low}..{high}"

    def condition(self, bound: Sequence[str]) -> str:
        condition = self.atom(self._without_minus, [*bound, "V"])
        inner = [*bound, "V"] if "V" in condition else bound
        sign = "not " if self.chance(3) else ""
        return f"{sign}{self.atom(self._without_minus, inner)} : {condition}"

    def truth(self, _bound: Sequence[str]) -> str:
        return pick(self.draw, ("#true", "#true", "not #false", "#false"))

    def aggregate(self, bound: Sequence[str]) -> str:
        """An aggregate without its guards."""
        elements = [self.element(bound) for _ in range(pick(self.draw, (1, 1, 2)))]
        return f"{pick(self.draw, _FUNCTIONS)} {{ {'; '.join(elements)} }}"

    def element(self, bound: Sequence[str]) -> str:
        atoms = [self.atom(self._without_minus, [*bound, "V", "W"])]
        if self.chance(4):
            atoms.append(self.atom(self._without_minus, [*bound, "V", "W"]))
        seen = [v for v in ("V", "W", *bound) if any(v in atom for atom in atoms)] or ["1"]
        if self.chance(5):
            atoms.append(f"not {self.atom(self._without_minus, seen)}")
        terms = [pick(self.draw, seen) for _ in range(pick(self.draw, (1, 1, 2)))]
        if self.chance(5):
            terms[0] = self.computed(seen)
        return f"{','.join(terms)} : {', '.join(atoms)}"

    def compared_aggregate(self, bound: Sequence[str]) -> str:
        """An aggregate that is compared, on one side or both; or a set of atoms."""
        if self.chance(5):
            inner = self.atom(self._without_minus, [*bound, "V"])
            return (
                f"{pick(self.draw, ('1', '2', ''))} {{ {inner} : {inner} }} {pick(self.draw, '23')}"
            )
        low = f"{pick(self.draw, NUMBERS)} {pick(self.draw, _COMPARATORS)} " * self.chance(3)
        high = f"{pick(self.draw, _COMPARATORS)} {pick(self.draw, [*NUMBERS, *bound])}"
        sign = pick(self.draw, ("", "", "not ", "not not "))
        return f"{sign}{low}{self.aggregate(bound)} {high}"

    def assignment(self, bound: Sequence[str]) -> str:
        """A literal that gives `N` a value."""
        if self.chance(2):
            return f"N = {self.aggregate(bound)}"
        if self.chance(3):
            return f"N = {pick(self.draw, NUMBERS)}..{pick(self.draw, [*bound, '3'])}"
        if self.chance(3):
            return f"{pick(self.draw, ('f(N)', '(N,a)', '(1,N)'))} = {pick(self.draw, bound)}"
        return f"N = {self.computed(bound)}"

    @property
    def _without_minus(self) -> dict[str, int]:
        """Predicates that clingo takes `_` and conditions with in every place."""
        return {name: arity for name, arity in self.below.items() if name[0] != "-"}

    # -- rules --------------------------------------------------------------------------

    def body(self, most: int = 3) -> tuple[list[str], list[str]]:
        """A safe body, and the variables that have values in it."""
        atoms = self.positive(most)
        bound = [v for v in _VARIABLES if any(v in atom for atom in atoms)] or ["1", "a"]
        more = [self.restriction(bound) for _ in range(pick(self.draw, (0, 0, 1, 1, 2)))]
        return [*atoms, *more], bound

    def rule(self) -> str:
        """A rule that passes values on, with any recursion."""
        body, bound = self.body()
        name = pick(self.draw, [*self.own])
        arguments = [pick(self.draw, bound) for _ in range(self.own[name])]
        head = f"{name}({','.join(arguments)})" if arguments else name
        return f"{head} :- {'; '.join(self.draw(st.permutations(body)))}."

    def making(self) -> str:
        """A rule that makes values of layers below."""
        body, bound = Writer(self.draw, self.below, {}).body(2)
        body.append(self.assignment(bound))
        made = ["N", "N", *bound, "f(N)", "(N,1)"]
        if self.chance(4):
            made += [self.computed([*bound, "N"]), "1..2", "(1;2)"]
        head = self.atom(self.own, made)
        return f"{head} :- {'; '.join(self.draw(st.permutations(body)))}."

    def counting(self) -> str:
        """Recursion through arithmetic, within bounds."""
        name = pick(self.draw, [n for n, arity in self.own.items() if arity])
        more = ",Y" * (self.own[name] - 1)
        return f"{name}(X+1{more}) :- {name}(X{more}); 0 < X < 3."

    def constraint(self) -> str:
        """A rule without a head that seldom holds."""
        body, _ = Writer(self.draw, self.below, {}).body(2)
        return f":- {'; '.join([*body, 'flag'])}."

    def guesses(self) -> list[str]:
        """Rules that only a solver can evaluate, over all layers."""
        lower = Writer(self.draw, self.below, {})
        body, bound = lower.body(2)
        given, one = "; ".join(body), pick(self.draw, bound)
        found = pick(self.draw, (
            [f"{{ w({one}) }} :- {given}."],
            [f"w({one}) :- {given}; not x({one}).", f"x({one}) :- {given}; not w({one})."],
            [f"w({one}) | x({one}) :- {given}."],
        ))  # fmt: skip
        reading = Writer(self.draw, self.below | {"w": 1}, {"y": 1})
        more = (f":- w(X); {lower.atom(self.below, ['X'])}.", reading.rule(), ":~ w(X). [1@2,X]")
        return [*found, *(line for line in more if self.chance(2))]

    def rules(self) -> list[str]:
        """Some rules of the layer."""
        base = Writer(self.draw, self.below, {})
        body, bound = base.body(2)
        first = f"{base_head(self.draw, self.own, bound)} :- {'; '.join(body)}."
        kinds = [self.rule, self.rule, self.rule, self.making, self.making, self.counting]
        some = [pick(self.draw, kinds) for _ in range(self.draw(st.integers(0, 3)))]
        return [first, *(write() for write in some)]


def base_head(draw: DrawFn, own: dict[str, int], bound: Sequence[str]) -> str:
    """A head over the variables of a body."""
    name = pick(draw, [*own])
    arguments = [pick(draw, bound) for _ in range(own[name])]
    return f"{name}({','.join(arguments)})" if arguments else name


@st.composite
def programs(draw: DrawFn, guessing: bool = False) -> str:
    """Programs of up to three layers, with guesses above them if need be."""
    lines: list[str] = []
    below = dict(INPUTS)
    for own in LAYERS[: draw(st.integers(1, len(LAYERS)))]:
        found = Writer(draw, below, own).rules()
        lines += found
        below |= {name: arity for name, arity in own.items() if _derives(found, name)}
    if guessing:
        lines += Writer(draw, below, {}).guesses()
    if one_in(draw, 6):
        lines.append(Writer(draw, below, {}).constraint())
    if one_in(draw, 6):
        lines.append(f"#const {pick(draw, ('a', 'b'))} = {pick(draw, ('2', 'f(1)', 'c'))}.")
    if one_in(draw, 8):
        name = pick(draw, [*below])
        lines.append(f"#show {name}/{below[name]}.")
    return "\n".join(lines) + "\n"


def _derives(rules: Sequence[str], name: str) -> bool:
    return any(rule.startswith((f"{name}(", f"{name} ")) for rule in rules)


@st.composite
def facts(draw: DrawFn, most: int = 6) -> tuple[str, ...]:
    """Ground atoms of inputs, seldom of what rules derive."""

    def one() -> str:
        predicates = INPUTS if not one_in(draw, 30) else LAYERS[0]
        if one_in(draw, 8):
            return "flag"
        name = pick(draw, [n for n, arity in predicates.items() if arity])
        values = [NUMBERS] * predicates[name] if name == "n" else [VALUES] * predicates[name]
        return f"{name}({','.join(pick(draw, some) for some in values)})"

    number = draw(st.integers(most // 2, most))
    return tuple(dict.fromkeys(one() for _ in range(number)))


@st.composite
def windows(draw: DrawFn, number: int) -> tuple[tuple[str, ...], ...]:
    """Facts of windows, each most often the one before with a few changes."""
    found = [draw(facts(12))]
    for _ in range(number - 1):
        keep = [fact for fact in found[-1] if not one_in(draw, 3)]
        found.append(tuple(dict.fromkeys([*keep, *draw(facts(4))])))
    return tuple(found)


@st.composite
def examples(draw: DrawFn, guessing: bool = False) -> Example:
    """Programs with knowledge and windows."""
    known = draw(facts(3)) if one_in(draw, 3) else ()
    return Example(draw(programs(guessing)), draw(windows(draw(st.integers(1, 5)))), known)
