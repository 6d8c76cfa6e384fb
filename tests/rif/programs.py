"""Random windowed programs: documents of RIF-Core, what is known, and a stream."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from citywise.reasoning.languages.rif.document import (
    PRED,
    And,
    Equal,
    Exists,
    Frame,
    Head,
    Member,
    Or,
    RifAtom,
    RifConstant,
    RifFormula,
    RifRule,
    RifTerm,
    RifVariable,
    Test,
)
from citywise.reasoning.languages.rif.values import value
from citywise.reasoning.model.values import Value
from citywise.reasoning.rdf.mapping import RDF, XSD, Iri, Literal
from tests.rif.reference import Appearance, Fact, WindowedProgram

EX = "http://example.org/"
PROPERTIES = [Iri(EX + name) for name in ("p", "q")]
CLASSES = [Iri(EX + name) for name in ("C",)]
THINGS = [Iri(EX + name) for name in ("a", "b")]
NUMBERS = [Literal(str(number), XSD + "integer") for number in (1, 2)]
POSITIONAL = [(Iri(EX + "u"), 1), (Iri(EX + "w"), 2)]
NAMES = ("x", "y", "z")
TYPE = Iri(RDF + "type")
COMPARED = tuple(PRED + f"numeric-{name}" for name in ("less-than", "equal", "greater-than"))


def _constants() -> st.SearchStrategy[Iri | Literal]:
    return st.sampled_from((*THINGS, *THINGS, *NUMBERS))


@st.composite
def facts(draw: DrawFn) -> Fact:
    """A triple, the membership in a class, or a positional fact."""
    kind = draw(st.integers(0, 3))
    thing = value(draw(st.sampled_from(THINGS)))
    if kind == 0:
        return f"<{TYPE.value}>", (thing, value(draw(st.sampled_from(CLASSES))))
    if kind == 1:
        predicate, arity = draw(st.sampled_from(POSITIONAL))
        row: tuple[Value, ...] = tuple(value(draw(_constants())) for _ in range(arity))
        return f"{value(predicate)}/{arity}", row
    return str(value(draw(st.sampled_from(PROPERTIES)))), (thing, value(draw(_constants())))


@st.composite
def terms(draw: DrawFn, names: tuple[str, ...]) -> RifTerm:
    """A variable, more often, or a constant."""
    if names and draw(st.integers(0, 7)) > 0:
        return RifVariable(draw(st.sampled_from(names)))
    return RifConstant(draw(_constants()))


@st.composite
def patterns(draw: DrawFn, names: tuple[str, ...]) -> RifFormula:
    """What a fact can match."""
    kind = draw(st.integers(0, 9))
    if kind <= 1:
        return Member(draw(terms(names)), RifConstant(draw(st.sampled_from(CLASSES))))
    if kind <= 3:
        predicate, arity = draw(st.sampled_from(POSITIONAL))
        return RifAtom(predicate, tuple(draw(terms(names)) for _ in range(arity)))
    attribute: RifTerm = RifConstant(draw(st.sampled_from(PROPERTIES)))
    if kind == 4 and names:
        attribute = RifVariable(draw(st.sampled_from(names)))
    slots = [(attribute, draw(terms(names)))]
    if kind == 5:
        slots.append((RifConstant(draw(st.sampled_from(PROPERTIES))), draw(terms(names))))
    return Frame(draw(terms(names)), tuple(slots))


@st.composite
def rules(draw: DrawFn) -> RifRule:
    """A safe rule of one to three patterns, and perhaps more: alternatives, an existential, an
    equality, a comparison."""
    scans = draw(st.lists(patterns(NAMES), min_size=1, max_size=draw(st.sampled_from((1, 2, 3)))))
    parts: list[RifFormula] = list(scans)
    bound = sorted({name for scan in scans for name in variables(scan)})
    if bound and draw(st.integers(0, 2)) == 0:
        parts.append(draw(_conditions(tuple(bound))))
    if draw(st.integers(0, 4)) == 0:
        one = RifVariable("new")
        equal = Equal(one, draw(terms(tuple(bound))))
        parts.append(equal)
        bound.append("new")
    order = draw(st.permutations(parts))
    heads = draw(st.lists(_heads(tuple(bound)), min_size=1, max_size=2))
    named = tuple(RifVariable(name) for name in bound)
    body = order[0] if len(order) == 1 else And(tuple(order))
    return RifRule(tuple(heads), body, named)


@st.composite
def _conditions(draw: DrawFn, bound: tuple[str, ...]) -> RifFormula:
    kind = draw(st.integers(0, 3))
    if kind == 0:
        name = draw(st.sampled_from(COMPARED))
        return Test(Iri(name), (draw(terms(bound)), draw(terms(bound))))
    if kind == 1:
        return Equal(draw(terms(bound)), draw(terms(bound)))
    if kind == 2:
        return Or((draw(patterns(bound)), draw(patterns(bound))))
    return Exists((RifVariable("some"),), draw(patterns((*bound, "some"))))


@st.composite
def _heads(draw: DrawFn, bound: tuple[str, ...]) -> Head:
    kind = draw(st.integers(0, 9))
    if kind <= 1:
        classes = RifConstant(draw(st.sampled_from(CLASSES)))
        return Frame(draw(terms(bound)), ((RifConstant(TYPE), classes),))
    if kind <= 4:
        predicate, arity = draw(st.sampled_from(POSITIONAL))
        return RifAtom(predicate, tuple(draw(terms(bound)) for _ in range(arity)))
    attribute = RifConstant(draw(st.sampled_from(PROPERTIES)))
    return Frame(draw(terms(bound)), ((attribute, draw(terms(bound))),))


def variables(formula: RifFormula) -> frozenset[str]:
    """The variables of a pattern."""
    match formula:
        case RifAtom(_, arguments):
            found: tuple[RifTerm, ...] = arguments
        case Frame(thing, slots):
            found = (thing, *(term for slot in slots for term in slot))
        case Member(thing, kind):
            found = (thing, kind)
        case _:
            raise TypeError(formula)
    return frozenset(term.name for term in found if isinstance(term, RifVariable))


@st.composite
def streams(draw: DrawFn) -> tuple[Appearance, ...]:
    """A stream in order, which may repeat facts and hold them for a while."""
    found: list[Appearance] = []
    kinds = draw(st.lists(facts(), min_size=2, max_size=4))
    now = 0
    for _ in range(draw(st.integers(3, 9))):
        now += draw(st.sampled_from((0, 0, 1, 2) if found else (1, 2)))
        until = now + draw(st.integers(0, 2)) if draw(st.integers(0, 4)) == 0 else None
        found.append(Appearance(draw(st.sampled_from(kinds)), now, until))
    return tuple(found)


@st.composite
def programs(draw: DrawFn) -> WindowedProgram:
    """Rules, static facts, a stream and a window."""
    return WindowedProgram(
        tuple(draw(st.lists(rules(), min_size=1, max_size=4))),
        frozenset(draw(st.lists(facts(), max_size=2))),
        draw(streams()),
        draw(st.sampled_from([1, 2, 3, 5, None])),
    )


@st.composite
def long_programs(draw: DrawFn, longest: int = 250) -> WindowedProgram:
    """Rules, static facts and a window, over a stream of hundreds of items.

    Its items are drawn by a generator of their own, from a few facts that come again and again.
    """
    random = Random(draw(st.integers(0, 1 << 32)))
    kinds = draw(st.lists(facts(), min_size=3, max_size=9, unique=True))
    gaps = draw(st.sampled_from([(0, 1, 1, 2), (0, 0, 0, 1), (1, 2, 5), (0, 1, 3, 9)]))
    found: list[Appearance] = []
    now = 1
    for _ in range(draw(st.sampled_from((5, 20, longest // 2, longest, longest)))):
        until = now + random.randrange(4) if random.random() < 0.2 else None
        found.append(Appearance(random.choice(kinds), now, until))
        now += random.choice(gaps)
    return WindowedProgram(
        tuple(draw(st.lists(rules(), min_size=1, max_size=4))),
        frozenset(draw(st.lists(facts(), max_size=2))),
        tuple(found),
        draw(st.sampled_from([1, 2, 3, 5, 8, 13])),
    )
