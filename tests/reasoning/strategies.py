"""Random requests and recordings, small enough for the reference to try everything.

Predicates stand in three layers, so that no aggregate depends on itself: what streams and
knowledge supply; what rules derive with any recursion and negation; and what is derived
from that with aggregates as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from citywise.reasoning.model.request import CountWindow, StreamSource, TimeWindow
from tests.reasoning.reference.programs import (
    Aggregate,
    Atom,
    BodyLiteral,
    Choice,
    Comparison,
    Constant,
    Element,
    Function,
    Not,
    Operation,
    Operator,
    Preference,
    Program,
    Relation,
    Rule,
    Term,
    Variable,
)
from tests.reasoning.reference.requests import PREFIX, Fact, Request
from tests.reasoning.reference.requests import Element as StreamElement

Signature = tuple[str, int]
T = TypeVar("T")

ATOMS: tuple[Signature, ...] = (("e", 1), ("e", 1), ("f", 2), ("-e", 1))
TRIPLES: tuple[Signature, ...] = ((f"{PREFIX}_r", 2), (f"{PREFIX}_r", 3), (f"{PREFIX}_n", 2))
SUPPLIED = (*ATOMS, *TRIPLES)
KNOWN: tuple[Signature, ...] = (("k", 1), ("g", 2), ("k", 1))
LOWER: tuple[Signature, ...] = (("p", 1), ("q", 1), ("-p", 1), ("s", 0), ("h", 2))
UPPER: tuple[Signature, ...] = (("m", 1), ("n", 2), ("t", 0))
PREVIOUS: tuple[Signature, ...] = (("prev_p", 1), ("-prev_p", 1), ("prev_t", 0))
FED_BACK: tuple[Signature, ...] = (("p", 1), ("-p", 1), ("t", 0))
STREAMS = ("http://travel.org/a", "http://travel.org/b")

_CONSTANTS: tuple[Constant, ...] = (1, 2, 3, "a")
_VARIABLES = tuple(map(Variable, "XYZ"))
_OPERATORS: tuple[Operator, ...] = ("+", "-", "*")
_RELATIONS: tuple[Relation, ...] = ("=", "!=", "<", "<=", ">", ">=")
_FUNCTIONS: tuple[Function, ...] = ("#count", "#sum", "#min", "#max")


def pick(draw: DrawFn, options: Sequence[T]) -> T:
    """One of the options; the first is the simplest."""
    return draw(st.sampled_from(options))


def several(draw: DrawFn, make: Callable[[], T], least: int, most: int) -> tuple[T, ...]:
    """What `make` makes, from `least` to `most` times."""
    return tuple(make() for _ in range(draw(st.integers(least, most))))


def atom(draw: DrawFn, signatures: Sequence[Signature], terms: Sequence[Term]) -> Atom:
    """An atom of one of the predicates over some of the terms."""
    predicate, arity = pick(draw, signatures)
    return Atom(predicate, tuple(pick(draw, terms) for _ in range(arity)))


def variables(atoms: Sequence[Atom]) -> list[Variable]:
    """The variables of the atoms, each once."""
    terms = (term for a in atoms for term in a.arguments)
    return list(dict.fromkeys(term for term in terms if isinstance(term, Variable)))


# -- rules -------------------------------------------------------------------------------


class RuleWriter:
    """Draws safe rules over the predicates of the layers it may use."""

    def __init__(
        self,
        draw: DrawFn,
        below: Sequence[Signature],
        own: Sequence[Signature],
        arithmetic: bool = True,
    ) -> None:
        self.draw = draw
        self.arithmetic = arithmetic
        self.below = below
        self.own = own
        self.all = (*below, *own)

    def positive(self, most: int = 2) -> list[Atom]:
        """The positive body; it makes the variables safe."""
        terms = (*_VARIABLES[:2], *_VARIABLES, _CONSTANTS[0])
        likely = (*self.below, *self.all)
        return list(several(self.draw, lambda: atom(self.draw, likely, terms), 0, most))

    def terms(self, atoms: Sequence[Atom]) -> Sequence[Term]:
        """What heads and negative literals may be about."""
        return variables(atoms) or _CONSTANTS

    def condition(self, atoms: Sequence[Atom]) -> Not | Comparison:
        """A literal that only restricts: `not`, `not not` or a relation."""
        terms = self.terms(atoms)
        kind = pick(self.draw, ("not", "not", "relation", "not not"))
        if kind == "relation":
            left, right = pick(self.draw, terms), pick(self.draw, (*terms, *_CONSTANTS))
            return Comparison(self.sum(left), pick(self.draw, _RELATIONS), right)
        negated = Not(atom(self.draw, self.all, terms))
        return negated if kind == "not" else Not(negated)

    def sum(self, term: Term) -> Term:
        """The term, or something computed with it."""
        if not self.arithmetic or self.draw(st.integers(0, 3)):
            return term
        factors: tuple[Term, ...] = (1, 2, -1)
        return Operation(term, pick(self.draw, _OPERATORS), pick(self.draw, factors))

    def body(self, most: int = 2) -> list[BodyLiteral]:
        """A safe body."""
        atoms = self.positive(most)
        return [*atoms, *several(self.draw, lambda: self.condition(atoms), 0, 2)]

    def head(self, body: Sequence[BodyLiteral]) -> Atom:
        """An atom of the own layer over the body's variables."""
        atoms = [part for part in body if isinstance(part, Atom)]
        return atom(self.draw, self.own, self.terms(atoms))

    def normal(self) -> Rule:
        """A rule with one head."""
        body = self.body()
        return Rule((self.head(body),), tuple(body))

    def rivals(self) -> tuple[Rule, ...]:
        """Two rules that each need the other's head to be false."""
        body = self.body(1)
        one, other = self.head(body), self.head(body)
        return Rule((one,), (*body, Not(other))), Rule((other,), (*body, Not(one)))

    def computing(self) -> Rule:
        """A rule whose head counts on, within bounds: recursion through arithmetic ends."""
        x, y = _VARIABLES[:2]
        source = atom(self.draw, [s for s in self.all if s[1]], [x])
        name, arity = pick(self.draw, [s for s in self.own if s[1]])
        factors: tuple[Term, ...] = (1, 2, x)
        step = Operation(x, pick(self.draw, _OPERATORS), pick(self.draw, factors))
        body = source, Comparison(x, ">", -1), Comparison(x, "<", 3)
        if self.draw(st.booleans()):
            return Rule((Atom(name, (step, x)[:arity]),), body)
        return Rule((Atom(name, (y, x)[:arity]),), (*body, Comparison(y, "=", step)))

    def disjunctive(self) -> Rule:
        """A rule with two or three heads."""
        body = self.body(1)
        return Rule(several(self.draw, lambda: self.head(body), 2, 3), tuple(body))

    def choice(self) -> Choice:
        """A choice of up to two kinds of atoms, with or without bounds."""
        body = self.body(1)
        outer = variables([part for part in body if isinstance(part, Atom)])
        elements = several(self.draw, lambda: self._choice_element(outer), 1, 2)
        bounds = st.none() | st.integers(0, 2) if self.arithmetic else st.none()
        return Choice(elements, tuple(body), self.draw(bounds), self.draw(bounds))

    def _choice_element(
        self, outer: Sequence[Variable]
    ) -> tuple[Atom, tuple[Atom | Not | Comparison, ...]]:
        terms = (Variable("V"), *outer)
        atoms = several(self.draw, lambda: atom(self.draw, self.below, terms), 0, 1)
        below = RuleWriter(self.draw, self.below, self.below, self.arithmetic)
        conditions = several(self.draw, lambda: below.condition(atoms), 0, len(atoms))
        chosen = atom(self.draw, self.own, (*variables(atoms), *outer) or _CONSTANTS)
        return chosen, (*atoms, *conditions)

    def constraint(self) -> Rule:
        """A rule without a head."""
        return Rule((), tuple(self.body()) or (self.head(()),))

    def aggregate(self, outer: Sequence[Variable], bound: Term | None = None) -> Aggregate:
        """An aggregate over the layers below; without `bound` compared with a number."""
        elements = several(self.draw, lambda: self._element(outer), 1, 2)
        relation = "=" if bound is not None else pick(self.draw, _RELATIONS)
        compared: tuple[Term, ...] = (1, 2, 3, 0, "a", *outer) if bound is None else (bound,)
        return Aggregate(pick(self.draw, compared), relation, pick(self.draw, _FUNCTIONS), elements)

    def _element(self, outer: Sequence[Variable]) -> Element:
        terms = (Variable("V"), Variable("W"), *outer)
        below = RuleWriter(self.draw, self.below, self.below, self.arithmetic)
        atoms = several(self.draw, lambda: atom(self.draw, self.below, terms), 1, 2)
        conditions = several(self.draw, lambda: below.condition(atoms), 0, 1)
        weight = self.sum(pick(self.draw, (*self.terms(atoms), 1)))
        more = several(self.draw, lambda: pick(self.draw, self.terms(atoms)), 0, 1)
        return Element((weight, *more), (*atoms, *conditions))

    def aggregating(self) -> Rule:
        """A rule with an aggregate that gives a value or is compared with one."""
        body = self.body(1)
        outer = variables([part for part in body if isinstance(part, Atom)])
        if pick(self.draw, (True, False)):
            value = Variable("N")
            aggregate = self.aggregate(outer, value)
            name, arity = pick(self.draw, [s for s in self.own if s[1]])
            head = Atom(name, (value, *outer, value)[:arity])
            return Rule((head,), (*body, aggregate))
        compared = self.aggregate(outer)
        literals: tuple[BodyLiteral, ...] = (compared, compared, Not(compared))
        return Rule((self.head(body),), (*body, pick(self.draw, literals)))

    def checking(self) -> Rule:
        """A constraint on an aggregate."""
        body = self.body(1)
        outer = variables([part for part in body if isinstance(part, Atom)])
        return Rule((), (*body, self.aggregate(outer)))

    def preference(self) -> Preference:
        """A weak constraint or an element of an optimisation statement."""
        atoms = self.positive(1) or [atom(self.draw, self.own, _VARIABLES[:1])]
        conditions = several(self.draw, lambda: self.condition(atoms), 0, 1)
        weights: tuple[Term, ...] = (1, 2, -1, *variables(atoms))
        terms = several(self.draw, lambda: pick(self.draw, self.terms(atoms)), 0, 1)
        return Preference(
            (*atoms, *conditions),
            pick(self.draw, weights),
            pick(self.draw, (0, 1, 3, -1)),
            terms,
            pick(self.draw, (":~", "#minimize", "#maximize")),
        )


# -- programs ------------------------------------------------------------------------------


@st.composite
def programs(
    draw: DrawFn,
    supplied: Sequence[Signature] = (*SUPPLIED, *KNOWN),
    preferences: bool = True,
    deterministic: bool = False,
    arithmetic: bool = True,
) -> Program:
    """Safe programs.

    `deterministic` ones leave out what makes several answers likely; without `arithmetic`
    aggregates and bounds are left out as well.
    """
    seen = (*supplied[:1], *draw(st.permutations(supplied[1:]))[:2])
    middle = draw(st.permutations(LOWER))[:3]
    lower = RuleWriter(draw, seen, middle, arithmetic)
    upper = RuleWriter(draw, (*seen, *middle), UPPER, arithmetic)
    kinds: list[Callable[[], Rule | Choice]] = [lower.normal, *[lower.computing] * arithmetic]
    kinds += [] if deterministic else [lower.disjunctive, lower.choice]
    rules: list[Rule | Choice] = list(several(draw, lambda: pick(draw, kinds)(), 1, 4))
    if not deterministic and draw(st.booleans()):
        rules += lower.rivals()
    above = [*[upper.aggregating] * arithmetic, upper.normal]
    rules += several(draw, lambda: pick(draw, above)(), 0, 2)
    checks = [upper.constraint, *[upper.checking] * arithmetic]
    rules += several(draw, lambda: pick(draw, checks)(), 0, 1)
    wishes = several(draw, upper.preference, 0, 3) if preferences and draw(st.booleans()) else ()
    return Program(tuple(rules), wishes, draw(shows(rules)))


def shows(rules: Sequence[Rule | Choice]) -> SearchStrategy[frozenset[Signature] | None]:
    """Some predicates that the rules derive, or none: then all of them are shown."""
    heads = sorted(Program(tuple(rules)).shown)
    if not heads:
        return st.none()
    return st.none() | st.frozensets(st.sampled_from(heads), min_size=1)


# -- recordings ----------------------------------------------------------------------------


@st.composite
def facts(draw: DrawFn, signatures: Sequence[Signature], most: int = 5) -> tuple[Atom, ...]:
    """Ground atoms of the predicates."""
    return several(draw, lambda: atom(draw, signatures, _CONSTANTS), most // 3, most)


def knowledge() -> SearchStrategy[tuple[Atom, ...]]:
    """What a knowledge base says, in part about what rules derive as well."""
    return facts((*KNOWN, *LOWER[1:2]), most=3)


@st.composite
def graphs(draw: DrawFn) -> tuple[Fact, ...]:
    """One or two triples whose predicates the programs know."""

    def fact() -> Fact:
        predicate = pick(draw, ("r", "n"))
        objects: tuple[str | int, ...] = ("x", "y") if predicate == "r" else (1, 2)
        return Fact(pick(draw, ("x", "y")), predicate, pick(draw, objects))

    return several(draw, fact, 1, 2)


@st.composite
def recordings(
    draw: DrawFn, streams: Sequence[str] = STREAMS[:1], horizon: int = 12, most: int = 6
) -> list[StreamElement]:
    """Elements in order of arrival: ties, disorder, intervals, atoms and graphs."""

    def element(time: int) -> StreamElement:
        data = draw(graphs()) if pick(draw, (0, 0, 1)) else atom(draw, ATOMS, _CONSTANTS)
        until = time + draw(st.integers(0, 5)) if pick(draw, (0, 0, 1)) else None
        return StreamElement(pick(draw, streams), time, data, until)

    times = draw(st.lists(st.integers(0, horizon), min_size=1, max_size=most))
    return [element(time) for time in (times if pick(draw, (0, 1)) else sorted(times))]


@st.composite
def sources(draw: DrawFn, iri: str) -> StreamSource:
    """A stream seen through a time window or a count window."""
    if pick(draw, ("time", "time", "count")) == "time":
        return StreamSource(iri, TimeWindow(draw(st.integers(0, 6)), draw(st.integers(1, 7))))
    return StreamSource(iri, CountWindow(draw(st.integers(1, 3)), draw(st.integers(1, 3))))


_X = _VARIABLES[:1]
_NUMBER = f"{PREFIX}_n"
WATCHING = Program((
    Rule((Atom("in", _X),), (Atom("d", _X),)),
    Rule((Atom("got", _X),), (Atom(_NUMBER, (Variable("S"), *_X)),)),
    Rule((Atom("got", _VARIABLES[:2]),), (Atom(_NUMBER, (Variable("S"), *_VARIABLES[:2])),)),
))  # fmt: skip
"""A program whose answer is what is in the windows: atoms and triples with their times."""

REMEMBERING = Program((
    Rule((Atom("on", _X),), (Atom("d", _X),)),
    Rule((Atom("on", _X),), (Atom("prev_on", _X), Not(Atom("off", _X)))),
    Rule((Atom("-on", _X),), (Atom("off", _X),)),
    Rule((Atom("was", _X),), (Atom("-prev_on", _X),)),
    Rule((), (Atom("bad"),)),
    Choice(((Atom("-on", (9,)), ()),), (Atom("split"),)),
))  # fmt: skip
"""A program that feeds `on` back; `bad` leaves it no answer, `split` several."""


@st.composite
def watched(draw: DrawFn) -> tuple[Request, list[StreamElement]]:
    """A request that shows up to three windows, and a recording of numbered elements."""

    def say(number: int) -> Atom | tuple[Fact, ...]:
        graph = Fact("x", "n", number), Fact("x", "n", 99)
        foreign = (Fact("x", "n", number, foreign=True),)
        said: tuple[Atom | tuple[Fact, ...], ...] = (Atom("d", (number,)), graph, foreign)
        return pick(draw, said)

    request, elements = draw(_recorded(WATCHING, frozenset(), say))
    listed: tuple[frozenset[Signature], ...] = (
        frozenset(),
        frozenset({("d", 1)}),
        frozenset({(_NUMBER, 2)}),
    )
    return replace(request, inputs=pick(draw, listed)), elements


@st.composite
def remembered(draw: DrawFn) -> tuple[Request, list[StreamElement]]:
    """A request that feeds back, and a recording of what it reacts to."""
    on, other, off = Atom("d", (1,)), Atom("d", (2,)), Atom("off", (1,))
    said = (on, other, on, other, off, Atom("bad"), Atom("split"))
    fed_back = draw(st.frozensets(st.sampled_from([("on", 1), ("-on", 1)]), min_size=1))
    return draw(_recorded(REMEMBERING, fed_back, lambda _number: pick(draw, said)))


@st.composite
def _recorded(
    draw: DrawFn,
    program: Program,
    feedback: frozenset[Signature],
    say: Callable[[int], Atom | tuple[Fact, ...]],
) -> tuple[Request, list[StreamElement]]:
    streams = [f"urn:s{n}" for n in range(draw(st.integers(1, 3)))]
    seen = tuple(draw(sources(iri)) for iri in streams)
    request = Request(program, seen, (), draw(st.integers(0, 4)), feedback)
    times = draw(st.lists(st.integers(0, 20), min_size=1, max_size=10))

    def element(number: int, time: int) -> StreamElement:
        length = draw(st.none() | st.none() | st.integers(0, 5))
        until = None if length is None else time + length
        return StreamElement(pick(draw, streams), time, say(number), until)

    disorder = draw(st.booleans())
    return request, [element(*e) for e in enumerate(times if disorder else sorted(times))]


@st.composite
def requests(draw: DrawFn, feedback: bool = False) -> Request:
    """A request over one or two streams, with knowledge."""
    streams = tuple(draw(sources(iri)) for iri in STREAMS[: draw(st.integers(1, 2))])
    known = draw(knowledge())
    lateness = draw(st.integers(0, 4))
    if not feedback:
        return Request(draw(programs()), streams, known, lateness)
    supplied = (*PREVIOUS, *SUPPLIED, *KNOWN)
    program = draw(programs(supplied, deterministic=True))
    fed_back = draw(st.frozensets(st.sampled_from(FED_BACK), min_size=1))
    if program.shows:
        program = replace(program, shows=program.shows | fed_back)
    return Request(program, streams, known, lateness, fed_back)
