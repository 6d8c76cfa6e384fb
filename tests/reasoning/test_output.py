"""Answers as streams: what leaves, when, in which form, and into another request."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.reasoning.errors import ReasoningError
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.model.engine import AnswerSet
from citywise.reasoning.model.request import Request
from citywise.reasoning.rdf.mapping import XSD, Blank, Iri, Literal, Term, Triple
from citywise.reasoning.run.reasoner import Reasoner
from citywise.reasoning.streams.items import Item
from citywise.reasoning.streams.results import AmbiguousError, Evaluation, OutputStream

PREFIX = "#prefix e : <http://e/>.\n"
REQUEST = parse(PREFIX + "a. #show a/0.\n")


def evaluation(time: int, *answers: tuple[str, ...], error: str | None = None) -> Evaluation:
    return Evaluation(time, tuple(AnswerSet(atoms) for atoms in answers), (), 0, 0.0, error)


def contents(items: Iterable[Item]) -> list[tuple[int, object]]:
    return [(item.time, item.content) for item in items]


STEPS = [
    evaluation(1, ("a(1)", "b")),
    evaluation(2, ("b", "c")),
    evaluation(3, error="too many atoms"),
    evaluation(4, ("b",)),
    evaluation(5),
    evaluation(6, ("b",)),
]


def test_an_rstream_has_every_shown_atom_at_the_time_of_each_evaluation() -> None:
    items = list(OutputStream(REQUEST, "urn:out").rstream(STEPS))
    expected = [(1, "a(1)"), (1, "b"), (2, "b"), (2, "c"), (4, "b"), (6, "b")]
    assert contents(items) == expected
    assert [item.position for item in items] == list(range(6))
    assert {item.stream for item in items} == {"urn:out"}


def test_an_istream_has_what_is_new_and_a_failed_evaluation_is_left_out() -> None:
    """An unsatisfiable evaluation (at 5) shows nothing, so that what follows is new."""
    items = OutputStream(REQUEST).istream(STEPS)
    assert contents(items) == [(1, "a(1)"), (1, "b"), (2, "c"), (6, "b")]


def test_a_dstream_has_what_is_shown_no_more() -> None:
    assert contents(OutputStream(REQUEST).dstream(STEPS)) == [(2, "a(1)"), (4, "c"), (5, "b")]


@pytest.mark.parametrize("operator", ["rstream", "istream", "dstream"])
def test_several_answer_sets_are_an_error_that_says_what_to_do(operator: str) -> None:
    stream = getattr(OutputStream(REQUEST), operator)
    with pytest.raises(AmbiguousError, match=r"2 answer sets at 7.*--models 1"):
        list(stream([evaluation(7, ("a",), ("b",))]))


def test_a_shown_term_that_is_no_atom_cannot_leave() -> None:
    for term in ("3", '"x"', "(1,2)"):
        with pytest.raises(ReasoningError, match="no atom"):
            list(OutputStream(REQUEST).rstream([evaluation(1, (term,))]))


def test_an_atom_of_two_resources_under_a_prefix_leaves_as_its_triple() -> None:
    scaled = parse(PREFIX + "#scale e_price 100.\na. #show a/0.\n")
    atoms = ('e_at("e_a","_:b")', 'e_price("e_a",250)', 'e_p("e_a","e_b",1)', 'p("e_a","e_b")')
    items = OutputStream(scaled).rstream([evaluation(1, atoms)])
    assert [item.content for item in items] == [
        (Triple(Iri("http://e/a"), Iri("http://e/at"), Blank("b")),),
        'e_p("e_a","e_b",1)',
        (Triple(Iri("http://e/a"), Iri("http://e/price"), Literal("2.5", XSD + "decimal")),),
        'p("e_a","e_b")',
    ]


JAMS = parse(
    PREFIX + "#from stream <urn:speeds> [time 3s step 1s].\n"
    "e_jam(S,V) :- e_speed(S,V), not e_closed(S,V).\n"
    "#show e_jam/2.\n",
    name="jams",
)
SEEN = parse(
    PREFIX + "#from stream <urn:jams> [time 1000s step 1s].\n"
    "seen(S,V) :- e_jam(S,V).\n"
    "#show seen/2.\n",
    name="seen",
)
COMBINED = parse(
    PREFIX + "#from stream <urn:speeds> [time 1000s step 1s].\n"
    "seen(S,V) :- e_speed(S,V), not e_closed(S,V).\n"
    "#show seen/2.\n",
    name="combined",
)


def run(request: Request, items: Iterable[Item], until: int) -> list[Evaluation]:
    with Reasoner(request, start=0) as reasoner:
        found = [e for item in items for e in reasoner.push(item)]
        return [*found, *reasoner.finish(until)]


values = st.sampled_from(
    [Iri("http://e/slow"), Iri("urn:other"), Literal("e_slow"), Literal("don't\n\"stop\""),
     Literal("7", XSD + "integer"), Literal("true", XSD + "boolean"), Blank("b0")]
)  # fmt: skip
readings = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from([Iri("http://e/s1"), Blank("s2")]), values),
    max_size=8,
)


@given(readings)
@settings(max_examples=40)
def test_requests_that_are_chained_answer_as_one_that_combines_them(
    given_readings: list[tuple[int, Iri | Blank, Term]],
) -> None:
    """One's istream of triples is the other's input. The window of the first is shorter
    than the recording, that of the second is not: what has been seen stays seen."""
    items = [
        Item(t, (Triple(s, Iri("http://e/speed"), v),), n, stream="urn:speeds")
        for n, (t, s, v) in enumerate(sorted(given_readings, key=lambda reading: reading[0]))
    ]
    jams = list(OutputStream(JAMS, "urn:jams").istream(run(JAMS, items, 1012)))
    assert all(isinstance(item.content, tuple) for item in jams)
    chained, combined = (run(r, i, 1012) for r, i in ((SEEN, jams), (COMBINED, items)))
    # The first evaluation of the chain's first part is at 3; what was before has come by then.
    answers = [{e.time: e.answer_sets for e in found} for found in (chained, combined)]
    assert answers[0][1000] == answers[1][1000]
    assert len(answers[0][1000][0].atoms) == len({(s, v) for _t, s, v in given_readings})
