"""Random programs of plain LARS and recorded streams, small enough to try everything.

Derived predicates stand in three layers; `not`, `at most` and `count` read layers below
only, so that programs are stratified unless rivals are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from hypothesis.vendor.pretty import RepresentationPrinter

from citywise.reasoning.languages.lars.parsing import parse
from citywise.reasoning.languages.lars.program import (
    At,
    Atom,
    BodyElement,
    Box,
    Counted,
    Diamond,
    Formula,
    LarsProgram,
    LarsRule,
    LarsWindow,
    LastTuples,
    Now,
    Since,
    TimeSpan,
    has_gap,
)
from citywise.reasoning.model import values
from citywise.reasoning.model.request import Request, Signature, StreamSource, TimeWindow
from citywise.reasoning.model.rules import Comparator, Compare
from citywise.reasoning.model.values import (
    Computed,
    Constant,
    Operation,
    Term,
    Value,
    Variable,
    variables,
)
from tests.incremental.rules import one_in, pick
from tests.lars.grounding import Fact, terms
from tests.lars.program_text import program_text
from tests.lars.recordings import Item, written

INPUTS = {"a": 1, "b": 2, "c": 0}
KNOWN = {"k": 1}
LAYERS = ({"p": 1, "q": 2}, {"r": 1, "s": 0}, {"u": 1, "v": 2})
VALUES: tuple[Value, ...] = (1, 2, 1, 2, 1, 2, 3, "x")

_VARIABLES = tuple(map(Variable, "XYZ"))
_COMPARATORS: tuple[Comparator, ...] = ("<", "!=", ">=", "<=", ">")
_OPERATIONS: tuple[Operation, ...] = ("+", "-", "*")


@dataclass(frozen=True)
class Example:
    """A program, what it knows, and a recorded stream."""

    program: LarsProgram
    items: tuple[Item, ...]
    knowledge: tuple[Fact, ...] = ()
    start: int | None = None
    until: int | None = None

    def _repr_pretty_(self, printer: RepresentationPrinter, _cycle: bool) -> None:
        printer.text(f"\n{self}")

    def __str__(self) -> str:
        known = " ".join(f"{written(fact)}." for fact in self.knowledge)
        span = f"from {self.start} until {self.until}"
        stream = "\n".join(map(str, self.items))
        return f"{program_text(self.program)}knowledge: {known}\n{stream}\n{span}\n"


def example(
    program: str,
    stream: str,
    knowledge: str = "",
    start: int | None = None,
    until: int | None = None,
) -> Example:
    """A program and a stream as text: `3: a(1) b` or `3..5: a(1)` a line; times may repeat."""
    items = []
    for line in filter(None, map(str.strip, stream.splitlines())):
        times, _, atoms = line.partition(": ")
        time, _, end = times.partition("..")
        last = int(end) if end else None
        items += [Item(int(time), values.parsed(atom), last) for atom in atoms.split()]
    known = tuple(map(values.parsed, knowledge.split()))
    return Example(parse(program), tuple(items), known, start, until)


@dataclass
class Writer:
    """Writes safe rules for one layer."""

    draw: DrawFn
    below: dict[str, int]
    own: dict[str, int]

    # -- bodies -------------------------------------------------------------------------

    def window(self) -> LarsWindow:
        """A short window, of points of time or of tuples."""
        if one_in(self.draw, 3):
            return LastTuples(self.draw(st.integers(1, 5)))
        return self.span()

    def span(self) -> TimeSpan:
        """A short window of points of time."""
        size = pick(self.draw, (2, 0, 1, 3, 4, 9))
        return TimeSpan(
            size, self.draw(st.integers(1, size)) if size and one_in(self.draw, 3) else 0
        )

    def atom(self, predicates: dict[str, int], among: Sequence[Term]) -> Atom:
        """An atom over some terms, or now and then a constant."""
        name = pick(self.draw, [*predicates])
        some = [
            Constant(pick(self.draw, VALUES)) if one_in(self.draw, 20) else pick(self.draw, among)
            for _ in range(predicates[name])
        ]
        return Atom(name, tuple(some))

    def binding(self, number: int) -> BodyElement:
        """An element that gives its atom's variables values."""
        formulas = (self.diamond, self.at, self.now, self.since, self.box, self.counted)
        likely = {"a": 1} if one_in(self.draw, 3) else self.below | self.own
        atom = self.atom(likely, _VARIABLES[:2] if one_in(self.draw, 2) else _VARIABLES)
        return BodyElement(pick(self.draw, formulas)(atom, number))

    def elsewhere(self, element: BodyElement, bound: Sequence[Variable]) -> BodyElement:
        """Most often the element; of some `since` what holds takes its values from the others,
        or computes."""
        if isinstance(element.formula, Since) and one_in(self.draw, 3) and bound:
            held = element.formula.held
            some = tuple(self.computed(bound) for _ in held.terms)
            return BodyElement(replace(element.formula, held=replace(held, terms=some)))
        return element

    def now(self, atom: Atom, _number: int) -> Formula:
        return Now(atom)

    def diamond(self, atom: Atom, _number: int) -> Formula:
        return Diamond(atom, self.window())

    def since(self, atom: Atom, _number: int) -> Formula:
        return Since(
            self.atom(self.below | self.own, atom.terms or [Constant(1)]), atom, self.span()
        )

    def box(self, atom: Atom, _number: int) -> Formula:
        return Box(atom, replace_size(self.window(), self.draw(st.integers(0, 2))))

    def at(self, atom: Atom, number: int) -> Formula:
        time: Term = Variable("TSU"[number])
        if one_in(self.draw, 8):
            others: list[Term] = [Constant(2), Variable("T"), Variable("X")]
            time = pick(self.draw, others)
        return At(time, atom, None if one_in(self.draw, 8) else self.window())

    def counted(self, atom: Atom, number: int) -> Formula:
        """`at least`, which may be recursive, or `count` of what is complete."""
        if atom.name in self.below and one_in(self.draw, 2):
            counts: list[Term] = [Constant(1), Variable("NMK"[number]), Constant(2)]
            return Counted(atom, "=", pick(self.draw, counts), self.window())
        return Counted(atom, ">=", Constant(self.draw(st.integers(1, 3))), self.window())

    def restriction(self, bound: Sequence[Variable]) -> BodyElement:
        """An element that gives no variable a value."""
        if one_in(self.draw, 3) and bound:
            others: list[Term] = [*bound, Constant(2)]
            left, right = self.computed(bound), pick(self.draw, others)
            return BodyElement(Compare(pick(self.draw, _COMPARATORS), left, right))
        atom = self.atom(self.below, bound or [Constant(1)])
        if one_in(self.draw, 4):
            return BodyElement(self.bounded(atom), one_in(self.draw, 3))
        formulas: tuple[Callable[[Atom, int], Formula], ...] = (self.diamond, self.now, self.box)
        formula = pick(self.draw, formulas)(atom, 0)
        if one_in(self.draw, 4):
            formula = Since(self.atom(self.below, bound or [Constant(1)]), atom, self.span())
        elif one_in(self.draw, 4):
            times: list[Term] = [*bound, Constant(2)]
            window = None if one_in(self.draw, 3) else self.window()
            formula = At(pick(self.draw, times), atom, window)
        return BodyElement(formula, negated=True)

    def bounded(self, atom: Atom) -> Formula:
        """A number of points of time, 0 among them."""
        comparator: Comparator = pick(self.draw, ("<=", "=", ">="))
        return Counted(atom, comparator, Constant(self.draw(st.integers(0, 3))), self.window())

    def computed(self, bound: Sequence[Term]) -> Term:
        """A variable with a value, or something computed with it."""
        term = pick(self.draw, bound)
        if isinstance(term, Constant) or one_in(self.draw, 2):
            return term
        return Computed(pick(self.draw, _OPERATIONS), (term, Constant(pick(self.draw, (1, 2)))))

    def body(self, most: int = 3) -> tuple[tuple[BodyElement, ...], list[Variable]]:
        """A safe body in any order, and its variables."""
        number = pick(self.draw, (1, 2, 1, 2, 3)[: most + 2])
        elements = [self.binding(n) for n in range(number)]
        names = [v for e in elements for term in terms(e.formula) for v in sorted(variables(term))]
        bound = [Variable(name) for name in dict.fromkeys(names)]
        elements = [self.elsewhere(element, bound) for element in elements]
        for _ in range(pick(self.draw, (0, 0, 0, 1, 1, 2))):
            elements.append(self.restriction(bound))
        return tuple(self.draw(st.permutations(elements))), bound

    # -- rules --------------------------------------------------------------------------

    def rule(self) -> LarsRule:
        """A rule of any kind; it only passes values on."""
        body, bound = self.body()
        head = self.atom(self.own, bound or [Constant(1)])
        return LarsRule(head, self.placed(bound, body), body, 1)

    def base(self) -> LarsRule:
        """A rule over complete layers, which may compute."""
        lower = Writer(self.draw, self.below, {})
        body, bound = lower.body(2)
        among: list[Term] = [*bound] or [Constant(1)]
        if one_in(self.draw, 4):
            value = Compare("=", Variable("W"), self.computed(among))
            body, among = (*body, BodyElement(value)), [*among, Variable("W")]
        return LarsRule(self.atom(self.own, among), self.placed(bound, body), body, 1)

    def counting(self) -> LarsRule:
        """Recursion through arithmetic, within bounds, at one or at moving points of time."""
        name = pick(self.draw, [n for n in self.own if self.own[n]])
        x, more = Variable("X"), [Variable("Y")] * (self.own[name] - 1)
        step = Computed("+", (x, Constant(1)))
        bounds = Compare("<", x, Constant(3)), Compare(">", x, Constant(0))
        before = self.diamond(Atom(name, (x, *more)), 0)
        body = (BodyElement(before), *map(BodyElement, bounds))
        return LarsRule(Atom(name, (step, *more)), None, body, 1)

    def placed(self, bound: Sequence[Variable], body: Sequence[BodyElement]) -> Term | None:
        """Most often no point of time; else one of the body's, most often in the past."""
        times = [e.formula.time for e in body if isinstance(e.formula, At) and not e.negated]
        if times and one_in(self.draw, 2):
            time = pick(self.draw, times)
            if one_in(self.draw, 6):
                return Computed(pick(self.draw, ("-", "+")), (time, Constant(1)))
            return time
        if bound and one_in(self.draw, 15):
            return pick(self.draw, bound)
        return None

    def constraint(self) -> LarsRule:
        """A rule without a head."""
        body, _ = Writer(self.draw, self.below, {}).body(2)
        return LarsRule(None, None, body, 1)

    def rivals(self) -> tuple[LarsRule, ...]:
        """Two rules that each need the other's head to be false."""
        body, bound = Writer(self.draw, self.below, {}).body(1)
        one, other = (self.atom(self.own, bound or [Constant(1)]) for _ in range(2))
        time = self.placed(bound, body)
        negated = [BodyElement(Now(atom), negated=True) for atom in (other, one)]
        if time is not None:
            negated[0] = BodyElement(At(time, other, None), negated=True)
        return LarsRule(one, None, (*body, negated[0]), 1), LarsRule(
            other, time, (*body, negated[1]), 1
        )


def replace_size(window: LarsWindow, size: int) -> LarsWindow:
    """The window with another size, at least 1 of tuples."""
    if isinstance(window, TimeSpan):
        return TimeSpan(size + window.gap, window.gap)
    return LastTuples(size + 1)


@st.composite
def programs(draw: DrawFn, rivals: bool = False) -> LarsProgram:
    """Programs; stratified ones unless there are rivals."""
    rules: list[LarsRule] = []
    below = INPUTS | (KNOWN if one_in(draw, 3) else {})
    layers = [*LAYERS[: draw(st.integers(1, 2 if rivals else 3))]]
    if one_in(draw, 6):
        layers.append({"-p": 1})
    for own in layers:
        writer = Writer(draw, below, own)
        kinds: list[Callable[[], LarsRule]] = [*[writer.rule] * 4, writer.base]
        kinds += [] if rivals else [writer.counting]
        layer = [writer.base(), *(pick(draw, kinds)() for _ in range(draw(st.integers(0, 2))))]
        if rivals and not rules:
            layer += writer.rivals()
        rules += layer
        below |= {rule.head.name: len(rule.head.terms) for rule in layer if rule.head is not None}
    if one_in(draw, 5):
        rules.append(Writer(draw, below, {}).constraint())
    return made(rules, *draw(declared(rules)))


def is_of_time(program: LarsProgram) -> bool:
    """Whether it says `since`, or has a window that ends before now."""
    formulas = [element.formula for rule in program.rules for element in rule.body]
    return any(isinstance(f, Since) or has_gap(getattr(f, "window", None)) for f in formulas)


@st.composite
def declared(
    draw: DrawFn, rules: Sequence[LarsRule]
) -> tuple[frozenset[Signature] | None, frozenset[Signature]]:
    """What is shown, and what is fed back."""
    heads = sorted({rule.head.signature for rule in rules if rule.head is not None})
    streamed = frozenset(heads[:1]) if one_in(draw, 5) else frozenset()
    if one_in(draw, 4):
        return draw(st.frozensets(st.sampled_from([*heads, Signature("a", 1)]))), streamed
    return None, streamed


def made(
    rules: Sequence[LarsRule],
    shows: frozenset[Signature] | None = None,
    streamed: frozenset[Signature] = frozenset(),
) -> LarsProgram:
    """A program of rules, on a line each."""
    numbered = tuple(replace(rule, line=n) for n, rule in enumerate(rules, 1))
    request = Request("random", "", (StreamSource("", TimeWindow(0, 1)),))
    return LarsProgram(numbered, request, shows, streamed)


@st.composite
def facts(draw: DrawFn, predicates: dict[str, int]) -> Fact:
    """A ground atom."""
    name = pick(draw, [*predicates])
    return name, tuple(pick(draw, VALUES) for _ in range(predicates[name]))


@st.composite
def recordings(draw: DrawFn, predicates: dict[str, int], most: int) -> tuple[Item, ...]:
    """Items in order of time: repeats at one point, gaps, intervals, a late last atom."""
    items = []
    time = draw(st.integers(0, 2))
    for _ in range(draw(st.integers(most // 2, most))):
        fact = draw(facts(predicates if one_in(draw, 2) else {"a": 1}))
        until = time + draw(st.integers(0, 4)) if one_in(draw, 5) else None
        items.append(Item(time, fact, until))
        if one_in(draw, 8):
            items.append(items[-1])
        time += pick(draw, (0, 1, 0, 1, 0, 1, 2))
        time += 3 * one_in(draw, 12)
    return tuple(items)


@st.composite
def examples(draw: DrawFn, rivals: bool = False) -> Example:
    """Programs with recordings: small ones where there are rivals."""
    program = draw(programs(rivals))
    heads = {r.head.name: len(r.head.terms) for r in program.rules if r.head is not None}
    supplied = INPUTS | (heads if one_in(draw, 5) else {})
    items = draw(recordings(supplied, 5 if rivals else 12))
    known = KNOWN | (INPUTS if one_in(draw, 4) else {})
    knowledge = draw(st.lists(facts(known), max_size=3)) if one_in(draw, 2) else []
    first, last = items[0].time, max(item.time for item in items)
    start = draw(st.integers(max(first - 1, 0), first + 2)) if one_in(draw, 5) else None
    until = draw(st.integers(first + 2, last + 3)) if one_in(draw, 5) else None
    return Example(program, items, tuple(knowledge), start, until)
