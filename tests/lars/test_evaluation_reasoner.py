"""Items pushed through a program of plain LARS: points of time, lateness, what is refused."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from citywise.reasoning.engines.choosing import Choice
from citywise.reasoning.errors import ItemError
from citywise.reasoning.languages.lars.language import evaluator
from citywise.reasoning.languages.lars.parsing import parse
from citywise.reasoning.languages.lars.reasoner import LarsReasoner
from citywise.reasoning.rdf.mapping import Iri, Literal, Triple
from citywise.reasoning.streams.items import Item
from citywise.reasoning.streams.results import Evaluation

RECENT = "q(X) :- <> a(X) [1]."
PREFIX = "#prefix ex : <http://example.org/>.\n"


def reasoner(program: str, **options: int) -> LarsReasoner:
    """A reasoner on the incremental engine."""
    read = parse(program)
    return LarsReasoner(read, evaluator(read, choice="incremental"), start=options.get("start"))


def told(evaluations: Iterable[Evaluation]) -> dict[int, list[str]]:
    """The atoms of the only answer, by point of time."""
    return {e.time: list(e.answer_sets[0].atoms) for e in evaluations}


def triple(predicate: str, value: Literal) -> Item:
    subject = Iri("http://example.org/x")
    return Item(3, (Triple(subject, Iri(f"http://example.org/{predicate}"), value),), 8)


def test_every_point_from_the_first_item_to_the_last_is_evaluated() -> None:
    run = reasoner(RECENT)
    assert told(run.push([Item(3, "a(1)"), Item(3, "a(2)"), Item(6, "a(3)")])) == {
        3: ["q(1)", "q(2)"],
        4: ["q(1)", "q(2)"],
        5: [],
    }
    assert told(run.finish()) == {6: ["q(3)"]}
    assert told(run.finish(8)) == {7: ["q(3)"], 8: []}


def test_a_point_is_evaluated_when_it_is_complete() -> None:
    run = reasoner(RECENT)
    assert told(run.push(Item(3, "a(1)"))) == {}
    assert told(run.push(Item(3, "a(2)"))) == {}
    assert told(run.advance(4)) == {3: ["q(1)", "q(2)"], 4: ["q(1)", "q(2)"]}
    assert told(run.push(Item(5, "a(3)"))) == {}
    assert told(run.finish()) == {5: ["q(3)"]}


def test_a_long_gap_has_an_evaluation_at_each_point() -> None:
    run = reasoner("q(X) :- <> a(X) [5]. r :- [] b [3]. s(X) :- @T a(X) [2], not <> a(1) [1].")
    found = list(run.push([Item(0, "a(1)"), Item(3_000, "a(2)")]))
    assert [e.time for e in found] == list(range(3_000))
    assert not any(e.answer_sets[0].atoms for e in found[6:])


def test_items_before_the_start_are_dropped_and_the_timeline_begins_there() -> None:
    run = reasoner("q(X) :- [] a(X) [5].", start=4)
    items = [Item(t, "a(1)", t) for t in (2, 3, 6, 7)]
    assert told(run.push(items)) == {4: [], 5: [], 6: []}
    assert run.late == []
    early = reasoner("q(X) :- [] a(X) [5].", start=4)
    assert told([*early.push([Item(4, "a(1)"), Item(5, "a(1)")]), *early.finish()])[5] == ["q(1)"]


def test_items_before_the_newest_are_late_and_count_for_nothing() -> None:
    run = reasoner(RECENT)
    list(run.push([Item(5, "a(1)", 0), Item(4, "a(2)", 1), Item(5, "a(3)", 2)]))
    assert [item.position for item in run.late] == [1]
    assert told(run.finish()) == {5: ["q(1)", "q(3)"]}
    list(run.push(Item(5, "a(4)", 3)))
    assert [item.position for item in run.late] == [1, 3]


def test_an_item_with_an_interval_holds_at_each_of_its_points() -> None:
    program = "n(X) :- a(X). r(X) :- [] a(X) [1]. t(X,T) :- @T a(X) [9]. u(X) :- <> a(X) [#2]."
    run = reasoner(program)
    list(run.push([Item(1, "a(1)", until=3), Item(2, "a(2)")]))
    found = told(run.finish(5))
    assert found[2] == ["n(1)", "n(2)", "r(1)", "t(1,1)", "t(1,2)", "t(2,2)", "u(1)", "u(2)"]
    assert found[3] == ["n(1)", "r(1)", "t(1,1)", "t(1,2)", "t(1,3)", "t(2,2)", "u(1)", "u(2)"]
    assert found[4] == ["t(1,1)", "t(1,2)", "t(1,3)", "t(2,2)", "u(1)", "u(2)"]


def test_what_an_item_says_of_a_predicate_that_nothing_reads_counts_for_the_last_tuples() -> None:
    run = reasoner("q(X) :- <> a(X) [#2].")
    list(run.push([Item(1, "a(1)"), Item(2, "b"), Item(3, "c(1)")]))
    assert told(run.finish()) == {3: []}
    filtered = reasoner("#input a/1. q(X) :- <> a(X) [#2].")
    list(filtered.push([Item(1, "a(1)"), Item(2, "b"), Item(3, "c(1)")]))
    assert told(filtered.finish()) == {3: ["q(1)"]}


def test_triples_are_atoms_with_and_without_their_time() -> None:
    run = reasoner(f"{PREFIX}q(V,T) :- <> ex_p(X,V) [3], <> ex_p(X,V,T) [3].")
    number = Literal("7", "http://www.w3.org/2001/XMLSchema#integer")
    list(run.push(triple("p", number)))
    assert told(run.finish(4)) == {3: ["q(7,3)"], 4: ["q(7,3)"]}


def test_an_item_without_a_value_in_asp_is_refused_and_the_others_count() -> None:
    run = reasoner(f"{PREFIX}q(V) :- <> ex_p(X,V) [3], V > 1.")
    list(run.push(triple("p", Literal("1.5", "http://www.w3.org/2001/XMLSchema#decimal"))))
    list(run.push(triple("p", Literal("2", "http://www.w3.org/2001/XMLSchema#integer"))))
    assert told(run.finish()) == {3: ["q(2)"]}
    assert list(run.refused) == [8]


def test_an_item_of_another_stream_is_an_error() -> None:
    run = reasoner(f"#from stream <http://example.org/s>. {RECENT}")
    with pytest.raises(ItemError, match="reads no stream <other>"):
        run.push(Item(1, "a(1)", stream="other"))


def test_an_item_without_a_stream_is_of_the_only_one() -> None:
    run = reasoner("#from stream <http://example.org/s>. q(X) :- a(X).")
    assert told([*run.push(Item(1, "a(1)")), *run.finish()]) == {1: ["q(1)"]}


def test_what_the_stream_supplies_is_shown_no_more() -> None:
    """Nothing is declared shown, and nobody said that it would come (docs/reason.md)."""
    run = reasoner("q(X) :- a(X). r(X) :- <> q(X) [1].")
    found = told([*run.push([Item(1, "a(1)"), Item(2, "q(2)"), Item(3, "a(3)")]), *run.finish()])
    assert found == {1: ["q(1)", "r(1)"], 2: ["r(2)"], 3: ["r(2)", "r(3)"]}


def test_changes_agree_with_the_answers() -> None:
    run = reasoner("q(X) :- <> a(X) [1]. :- stop. r(X) :- <> q(X) [1].")
    items = [Item(1, "a(1)"), Item(2, "stop"), Item(3, "q(2)"), Item(4, "a(3)"), Item(9, "a(1)")]
    before: set[str] = set()
    for evaluation in [*run.push(items), *run.finish()]:
        now = set(evaluation.answer_sets[0].atoms) if evaluation.answer_sets else set()
        assert evaluation.added == tuple(sorted(now - before))
        assert evaluation.removed == tuple(sorted(before - now))
        before = now


BOOKED = "#prefix ex : <http://example.org/>. n(X) :- <> ex_booked(X,_) [#2]."


def of(predicate: str, time: int, subject: str) -> Item:
    """A triple about a subject."""
    iri = "http://example.org/"
    return Item(time, (Triple(Iri(iri + subject), Iri(iri + predicate), Iri(iri + "h")),))


@pytest.mark.parametrize("engine", ["incremental", "solver"])
@pytest.mark.parametrize("more", ["", " b(T) :- ex_booked(_,_,T)."])
def test_a_triple_is_one_tuple_whatever_rules_read_of_it(engine: Choice, more: str) -> None:
    program = parse(f"#show n/1. {BOOKED}{more}")
    run = LarsReasoner(program, evaluator(program, choice=engine))
    items = [of("booked", 1, "u"), of("booked", 1, "v"), of("other", 2, "v"), of("other", 3, "w")]
    assert told([*run.push(items), *run.finish()]) == {
        1: ['n("ex_u")', 'n("ex_v")'],
        2: ['n("ex_v")'],
        3: [],
    }


def test_triples_that_input_does_not_list_are_no_tuples() -> None:
    run = reasoner(f"#input ex_booked/2. {BOOKED}")
    items = [of("booked", 1, "u"), of("other", 2, "v"), of("other", 3, "w")]
    assert told([*run.push(items), *run.finish()])[3] == ['n("ex_u")']
