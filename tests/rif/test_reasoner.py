"""Documents of RIF over a stream, item by item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.reasoning.languages.rif.evaluation import Instance
from citywise.reasoning.languages.rif.parsing import parse
from citywise.reasoning.languages.rif.reasoner import RifEvaluation, RifReasoner
from citywise.reasoning.languages.rif.theory import Theory, theory
from citywise.reasoning.limits import Limits
from citywise.reasoning.model.values import Row
from citywise.reasoning.rdf.mapping import Iri, Literal, Triple
from citywise.reasoning.streams.items import Item

PATHS = theory(
    parse(
        """Document(Prefix(e <http://e/>) 4 s Group(
        Forall ?x ?y (e:path(?x ?y) :- ?x[e:to -> ?y])
        Forall ?x ?y ?z (e:path(?x ?z) :- And(e:path(?x ?y) ?y[e:to -> ?z]))))"""
    )
)
COPY = theory(
    parse(
        "Document(Prefix(e <http://e/>) 1 s Group(Forall ?x ?y (e:copy(?x ?y) :- ?x[e:far -> ?y])))"
    )
)
FAR = theory(
    parse(
        """Document(Prefix(e <http://e/>) 4 s Group(
        Forall ?x ?y (?x[e:far -> ?y] :- ?x[e:to -> ?y])
        Forall ?x ?y ?z (?x[e:far -> ?z] :- And(?x[e:far -> ?y] ?y[e:far -> ?z]))))"""
    )
)
PRODUCT = theory(
    parse("Document(1 s Group(Forall ?a ?b ?c (_all(?a ?b ?c) :- And(_p(?a) _p(?b) _p(?c)))))")
)


def step(time: int, start: str, end: str, until: int | None = None) -> Item:
    """An edge of a graph."""
    triple = Triple(Iri(f"http://e/{start}"), Iri("http://e/to"), Iri(f"http://e/{end}"))
    return Item(time, (triple,), 0, until)


def told(evaluations: Iterable[RifEvaluation]) -> list[tuple[object, ...]]:
    """All that evaluations say."""
    return [
        (
            e.time,
            e.answer_sets,
            e.added,
            e.removed,
            sorted(e.facts, key=repr),
            sorted(e.entailed, key=repr),
            sorted(e.negated, key=repr),
            e.error,
        )
        for e in evaluations
    ]


def run(what: Theory, items: Iterable[Item], size: int = 1) -> Iterator[RifEvaluation]:
    """Push items in batches of a size."""
    reasoner, waiting = RifReasoner(what, instances=True), list(items)
    for place in range(0, len(waiting), size):
        yield from reasoner.push(waiting[place : place + size])
    yield from reasoner.finish()


EDGES = st.lists(
    st.builds(
        lambda gap, start, end, more: (gap, start, end, more),
        st.integers(0, 3),
        st.sampled_from("abc"),
        st.sampled_from("abc"),
        st.none() | st.integers(0, 3),
    ),
    max_size=12,
)


def items_of(edges: Iterable[tuple[int, str, str, int | None]]) -> list[Item]:
    found, time = [], 0
    for gap, start, end, more in edges:
        time += gap
        found.append(step(time, start, end, None if more is None else time + more))
    return found


@settings(max_examples=25)
@given(EDGES, st.integers(1, 5))
def test_answers_do_not_depend_on_how_items_are_pushed(
    edges: list[tuple[int, str, str, int | None]], size: int
) -> None:
    items = items_of(edges)
    one_by_one = told(run(PATHS, items))
    assert told(run(PATHS, items, size)) == one_by_one
    assert told(list(run(PATHS, items))) == one_by_one  # read after the steps that follow


@settings(max_examples=25)
@given(EDGES)
def test_what_is_said_to_change_is_what_changes(
    edges: list[tuple[int, str, str, int | None]],
) -> None:
    items = items_of(edges)
    ends = {(i.time if i.until is None else i.until) + 4 for i in items}
    evaluations = list(run(PATHS, items))
    assert [e.time for e in evaluations] == sorted({item.time for item in items} | ends)
    before, counting = frozenset[str](), set[Instance]()
    for evaluation in evaluations:
        (answer,) = evaluation.answer_sets
        after = frozenset(answer.atoms)
        assert evaluation.added == tuple(sorted(after - before))
        assert evaluation.removed == tuple(sorted(before - after))
        counting = (counting - {*evaluation.negated}) | {*evaluation.entailed}
        assert {instance.fact for instance in counting} == {*evaluation.facts}
        before = after
    assert not counting


@settings(max_examples=25)
@given(EDGES)
def test_a_window_of_one_on_p_sees_what_is_entailed_while_it_is(
    edges: list[tuple[int, str, str, int | None]],
) -> None:
    evaluations = list(run(FAR, items_of(edges)))
    seen = list(run(COPY, RifReasoner(FAR).emitted(evaluations, "istream", "")))
    shown = {e.time: {row for _relation, row in e.facts} for e in evaluations}
    last = frozenset[Row]()
    for evaluation in seen:
        last = frozenset(row for _relation, row in evaluation.facts)
        assert last == shown[evaluation.time]
    assert not last
    assert {e.time for e in evaluations if e.entailed or e.negated} <= {e.time for e in seen}


def test_time_that_is_declared_complete_is_evaluated_and_closed() -> None:
    reasoner = RifReasoner(PATHS)
    assert list(reasoner.push(step(1, "a", "b"))) == []
    assert [e.time for e in reasoner.advance(4)] == [1]
    assert list(reasoner.push([step(4, "b", "c"), step(5, "b", "c")])) == []
    assert [item.time for item in reasoner.late] == [4]
    assert [e.time for e in reasoner.advance(7)] == [5]
    assert [e.time for e in reasoner.finish()] == [9]


def test_items_before_the_start_are_dropped() -> None:
    reasoner = RifReasoner(PATHS, start=3)
    evaluations = [*reasoner.push([step(2, "a", "b"), step(3, "b", "c")]), *reasoner.finish()]
    assert [(e.time, e.added) for e in evaluations] == [(3, ('e_path("e_b","e_c")',)), (7, ())]
    assert not reasoner.late


def test_an_instant_beyond_a_limit_fails_alone() -> None:
    reasoner = RifReasoner(PRODUCT, instances=True, limits=Limits(atoms=5000))
    few = [Item(time, f"p({n})") for time in (0, 2) for n in range(2)]
    many = [Item(1, f"p({n})") for n in range(20)]
    items = sorted(few + many, key=lambda item: item.time)
    found = [*reasoner.push(items), *reasoner.finish()]
    assert [(e.time, len(e.answer_sets), e.error is None) for e in found] == [
        (0, 1, True),
        (1, 0, False),
        (2, 1, True),
        (3, 1, True),
    ]
    assert "5,000" in str(found[1].error)
    assert (found[2].added, found[2].removed) == ((), ())
    assert found[2].answer_sets == found[0].answer_sets
    assert len(found[2].facts) == 8
    assert found[3].answer_sets[0].atoms == ()
    assert len(found[3].removed or ()) == 8


def test_facts_that_read_alike_are_one_atom() -> None:
    heard = (
        "Document(Prefix(e <http://e/>) 2 s Group(Forall ?x ?y (?x[e:y -> ?y] :- ?x[e:x -> ?y])))"
    )
    said = [
        Triple(Iri("http://e/a"), Iri("http://e/x"), Literal("chat", None, t)) for t in ("fr", "en")
    ]
    items = [Item(time, (triple,)) for time, triple in enumerate(said)]
    found = list(run(theory(parse(heard)), items))
    atom = ('e_y("e_a","chat")',)
    assert [(e.time, e.added, e.removed) for e in found] == [
        (0, atom, ()),
        (1, (), ()),
        (2, (), ()),
        (3, (), atom),
    ]
    assert [len(e.facts) for e in found] == [1, 2, 1, 0]
    assert [e.answer_sets[0].atoms for e in found] == [atom, atom, atom, ()]
