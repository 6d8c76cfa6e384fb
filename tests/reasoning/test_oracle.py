"""One evaluation of random programs: every engine answers as the reference does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from citywise.reasoning.model.request import StreamSource, TimeWindow
from citywise.reasoning.streams.items import Item
from tests.reasoning import strategies
from tests.reasoning.oracle import ENGINES, expected, observed, reasoner
from tests.reasoning.reference.answers import answer_sets, open_atoms, solutions
from tests.reasoning.reference.grounding import ground, over_the_universe
from tests.reasoning.reference.programs import (
    Aggregate,
    Atom,
    Choice,
    Comparison,
    Element,
    Not,
    Preference,
    Program,
    Rule,
    Variable,
)
from tests.reasoning.reference.requests import Answer, Request, texts
from tests.reasoning.reference.requests import Element as StreamElement

STREAM = StreamSource("urn:s", TimeWindow(0, 1))
X, Y, N, C = map(Variable, "XYNC")
p, q, r, s = (Atom(name) for name in "pqrs")

engines = pytest.mark.parametrize("engine", ENGINES)


def atom(predicate: str, *arguments: Variable | int | str) -> Atom:
    return Atom(predicate, arguments)


def answers(
    engine: str, request: Request, facts: Sequence[Atom] = (), models: int = 0
) -> tuple[Answer, ...]:
    """An engine's answers to a program and its input."""
    with reasoner(engine, request, models=models) as one:
        for i, fact in enumerate((*facts, Atom("clock"))):
            assert list(one.push(Item(0, str(fact), i, stream=STREAM.iri))) == []
        ((_time, found, failed),) = observed(one.finish())
    assert not failed
    return found


# -- programs whose answers are known --------------------------------------------------


def coloring() -> Program:
    """Listing 2.3."""
    nodes = [Rule((atom("node", n),)) for n in range(1, 6)]
    arcs = [(1, 2), (2, 1), (2, 3), (2, 4), (2, 5), (3, 1), (4, 3), (4, 2), (5, 4)]
    edges = [Rule((atom("edge", a, b),)) for a, b in arcs]
    colors = [Rule((atom("col", c),)) for c in ("red", "blue", "green")]
    some = Rule(tuple(atom("color", X, c) for c in ("red", "blue", "green")), (atom("node", X),))
    same = (atom("edge", X, Y), atom("col", C), atom("color", X, C), atom("color", Y, C))
    rules = (*nodes, *edges, *colors, some, Rule((), same))
    return Program(rules, shows=frozenset({("color", 2)}))


EXAMPLE_2_4 = [
    "blue green red blue red",
    "red green blue red blue",
    "green blue red green red",
    "red blue green red green",
    "green red blue green blue",
    "blue red green blue green",
]


def test_the_reference_gives_the_six_answer_sets_of_example_2_4() -> None:
    expected_sets = {
        frozenset(atom("color", i, c) for i, c in enumerate(names.split(), 1))
        for names in EXAMPLE_2_4
    }
    assert {shown for shown, _ in solutions(coloring())} == expected_sets


@engines
def test_listing_2_3_has_the_six_answer_sets_of_example_2_4(engine: str) -> None:
    expected_sets = sorted(
        tuple(f"color({i},{c})" for i, c in enumerate(names.split(), 1)) for names in EXAMPLE_2_4
    )
    assert [atoms for atoms, _ in answers(engine, Request(coloring(), (STREAM,)))] == expected_sets


def weighted(weight: int, priority: int, *body: Atom) -> Preference:
    return Preference(body, weight, priority)


def aggregate(value: Variable | int, function: str, *elements: Element) -> Aggregate:
    return Aggregate(value, "=", function, elements)  # type: ignore[arg-type]


FACTS = tuple(Rule((fact,)) for fact in (atom("e", 1), atom("e", 2), atom("f", 1, "a")))


def summed(*elements: Element) -> Program:
    """p(N) for the sum N of the elements over FACTS."""
    return Program((*FACTS, Rule((atom("p", N),), (aggregate(N, "#sum", *elements),))),
                   shows=frozenset({("p", 1)}))  # fmt: skip


KNOWN: list[tuple[str, Program, list[tuple[str, tuple[int, ...]]]]] = [
    ("an even loop has two", Program((Rule((p,), (Not(q),)), Rule((q,), (Not(p),)))),
     [("p", ()), ("q", ())]),
    ("an odd loop has none", Program((Rule((p,), (Not(p),)),)), []),
    ("nothing supports itself", Program((Rule((p,), (p,)),)), [("", ())]),
    ("a disjunction is minimal", Program((Rule((p, q)), Rule((r,), (p,)))),
     [("p r", ()), ("q", ())]),
    ("but not exclusive",
     Program((Rule((p, q)), Rule((p,), (q,)), Rule((q,), (p,)))), [("p q", ())]),
    ("a choice chooses any", Program((Choice(((p, ()), (q, ()))),)),
     [("", ()), ("p", ()), ("p q", ()), ("q", ())]),
    ("within its bounds", Program((Choice(((p, ()), (q, ())), (), 1, 1),)),
     [("p", ()), ("q", ())]),
    ("a choice is no support", Program((Choice(((p, ()),)), Rule((), (Not(p),)))), [("p", ())]),
    ("not not is no support and no denial", Program((Rule((p,), (Not(Not(p)),)),)),
     [("", ()), ("p", ())]),
    ("an atom excludes its opposite", Program((Rule((p, q)), Rule((Atom("-p"),)))),
     [("-p q", ())]),
    ("equal tuples count once",
     summed(Element((5,), (atom("e", X),))), [("p(5)", ())]),
    ("different tuples add up",
     summed(Element((5, X), (atom("e", X),))), [("p(10)", ())]),
    ("the least of nothing is #sup",
     Program((Rule((atom("p", N),), (aggregate(N, "#min", Element((X,), (atom("e", X),))),)),)),
     [("p(#sup)", ())]),
    ("an identifier is no number to a sum",
     summed(Element((Y,), (atom("f", X, Y),))), [("p(0)", ())]),
    ("numbers come before identifiers",
     Program((*FACTS, Rule((p,), (atom("f", X, Y), Comparison(X, "<", Y)))),
             shows=frozenset({("p", 0)})), [("p", ())]),
    ("only the cheapest answers",
     Program((Rule((p, q, r)),), (weighted(2, 0, p), weighted(1, 0, q), weighted(1, 0, r))),
     [("q", (1,)), ("r", (1,))]),
    ("higher priorities first",
     Program((Rule((p, q)),), (weighted(1, 2, p), weighted(9, 1, q))), [("q", (0, 9))]),
    ("what is violated in one way is paid once",
     Program((Rule((p,)), Rule((q,))), (weighted(2, 0, p), weighted(2, 0, q))), [("p q", (2,))]),
    ("maximising pays back",
     Program((Choice(((p, ()),)),), (Preference((p,), 3, 1, (), "#maximize"),)), [("p", (-3,))]),
    ("answers that agree on what is shown are one",
     Program((Choice(((p, ()), (q, ()))),), shows=frozenset({("p", 0)})), [("", ()), ("p", ())]),
]  # fmt: skip


@pytest.mark.parametrize(("program", "known"), [k[1:] for k in KNOWN], ids=[k[0] for k in KNOWN])
def test_the_reference_and_every_engine_know_that(
    program: Program, known: list[tuple[str, tuple[int, ...]]]
) -> None:
    right = [(tuple(shown.split()), cost) for shown, cost in known]
    assert sorted((texts(shown), cost) for shown, cost in solutions(program)) == right
    for engine in ENGINES:
        assert list(answers(engine, Request(program, (STREAM,)))) == right


@engines
def test_a_chain_of_rules_written_backwards_follows_from_the_stream(engine: str) -> None:
    chain = [Rule((atom(to, X),), (atom(source, X),)) for source, to in ("pq", "sp", "es")]
    request = Request(Program((*chain, Rule((r,), (Not(q),)))), (STREAM,))
    assert answers(engine, request, [atom("e", 1)]) == ((("p(1)", "q(1)", "r", "s(1)"), ()),)


@engines
def test_what_the_stream_says_contradicts_what_is_known(engine: str) -> None:
    rules = (Rule((atom("p", X),), (atom("k", X),)), Rule((atom("-p", X),), (atom("e", X),)))
    request = Request(Program(rules), (STREAM,), (atom("k", 1),))
    assert answers(engine, request, [atom("e", 1)]) == ()
    assert answers(engine, request, [atom("e", 2)]) == ((("-p(2)", "p(1)"), ()),)


@engines
def test_answers_are_counted_by_what_they_show(engine: str) -> None:
    choice = Choice(((p, ()), (q, ()), (r, ())))
    request = Request(Program((choice,), shows=frozenset({("p", 0)})), (STREAM,))
    assert answers(engine, request, models=2) == (((), ()), (("p",), ()))


@given(strategies.programs(preferences=False, arithmetic=False), strategies.facts(strategies.ATOMS))
@settings(max_examples=50)
def test_grounding_over_the_whole_herbrand_universe_gives_the_same_answer_sets(
    program: Program, facts: tuple[Atom, ...]
) -> None:
    """Definition 2.10 to the letter; what the reference leaves out matters to no answer."""
    whole = program.with_facts(facts)
    every, needed = over_the_universe(whole), ground(whole)
    assume(len(open_atoms(every)) <= 10)
    assert set(answer_sets(every)) == set(answer_sets(needed))


# -- random programs -------------------------------------------------------------------

inputs = strategies.facts(strategies.SUPPLIED[:3] * 2, most=7)
known = strategies.knowledge()


def check(program: Program, facts: tuple[Atom, ...], knowledge: tuple[Atom, ...]) -> None:
    """Every engine answers as the reference does."""
    request = Request(program, (STREAM,), knowledge)
    elements = [StreamElement(STREAM.iri, 0, fact) for fact in (*facts, Atom("clock"))]
    ((_time, right, _ambiguous),) = expected(request, elements)
    for engine in ENGINES:
        assert answers(engine, request, facts) == right, engine


@given(strategies.programs(), inputs, known)
@settings(max_examples=16)
def test_engines_agree_with_the_reference(
    program: Program, facts: tuple[Atom, ...], knowledge: tuple[Atom, ...]
) -> None:
    check(program, facts, knowledge)


@pytest.mark.long
@given(strategies.programs(), inputs, known)
@settings(max_examples=70)
def test_engines_agree_with_the_reference_on_many_more(
    program: Program, facts: tuple[Atom, ...], knowledge: tuple[Atom, ...]
) -> None:
    check(program, facts, knowledge)


@given(strategies.programs(), inputs, known)
@settings(max_examples=5)
def test_knowledge_beside_a_program_is_as_good_as_facts_in_it(
    program: Program, facts: tuple[Atom, ...], knowledge: tuple[Atom, ...]
) -> None:
    """What is static may be grounded once, and changes nothing (docs/decisions/engines.md)."""
    assume(program.shows)
    inside = replace(program, rules=program.rules + tuple(Rule((atom,)) for atom in knowledge))
    for engine in ENGINES:
        beside = answers(engine, Request(program, (STREAM,), knowledge), facts)
        assert beside == answers(engine, Request(inside, (STREAM,)), facts)


@given(strategies.programs(), inputs, st.integers(1, 3))
@settings(max_examples=6)
def test_asked_for_n_models_an_engine_gives_any_n_of_the_answers(
    program: Program, facts: tuple[Atom, ...], models: int
) -> None:
    """`--models N` gives any N of the answer sets (docs/reason.md)."""
    request = Request(program, (STREAM,))
    for engine in ENGINES:
        every = answers(engine, request, facts)
        some = answers(engine, request, facts, models=models)
        assert set(some) <= set(every)
        assert len(some) == min(models, len(every))
