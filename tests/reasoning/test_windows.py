"""Ticks and window contents, against the reference and Example 4.1 of the thesis."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citywise.reasoning.engines.choosing import Choice, engine_for
from citywise.reasoning.errors import ItemError
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.model.request import TimeWindow
from citywise.reasoning.rdf.mapping import Iri, Triple
from citywise.reasoning.run.reasoner import Reasoner, State
from citywise.reasoning.streams.items import Item
from citywise.reasoning.streams.results import Evaluation
from tests.reasoning import reference

EXAMPLE = [(2, "d1"), (8, "d2"), (8, "d3"), (11, "d4"), (15, "d5")]


engines = pytest.mark.parametrize("engine", ["solver", "incremental"])
engines_at_length = pytest.mark.parametrize(
    "engine", ["solver", pytest.param("incremental", marks=pytest.mark.slow)]
)


def reasoning(text: str, engine: Choice, **options: Any) -> Reasoner:
    """A reasoner that evaluates a request with one of the engines."""
    parsed = parse(text)
    return Reasoner(parsed, engine=engine_for(parsed, choice=engine), **options)


def request(
    window: str, directives: str = "", engine: Choice = "solver", **options: Any
) -> Reasoner:
    text = f"#from stream <s> [{window}].\n{directives}\nin(X) :- d(X).\n#show in/1."
    return reasoning(text, engine, **options)


def items(times: Iterable[tuple[int, str]]) -> list[Item]:
    return [Item(t, f"d({name})", i, stream="s") for i, (t, name) in enumerate(times)]


def content(evaluation: Evaluation) -> set[str]:
    (answer,) = evaluation.answer_sets
    return {atom.replace("in(", "d(") for atom in answer.atoms}


def run(reasoner: Reasoner, stream: list[Item], until: int | None = None) -> list[Evaluation]:
    found = [e for item in stream for e in reasoner.push(item)]
    return found + list(reasoner.finish(until))


def test_example_4_1_time_window_ticks_at_7_10_13_with_the_thesis_contents() -> None:
    reasoner = request("time 7s step 3s")
    start = Item(0, "start", 0, stream="s")
    found = run(reasoner, [start, *items(EXAMPLE)], until=13)
    assert [(e.time, content(e)) for e in found] == [
        (7, {"d(d1)"}),
        (10, {"d(d2)", "d(d3)"}),
        (13, {"d(d2)", "d(d3)", "d(d4)"}),
    ]


def test_a_count_window_does_not_count_what_no_rule_may_see() -> None:
    text = (
        "#prefix t: <http://t/>. #from stream <s> [count 2 step 1]. #input d/1. #input t_p/2. "
        "in(X) :- d(X). in(S) :- t_p(S,_). in(X) :- e(X)."
    )
    foreign, seen = (
        (Triple(Iri("http://t/x"), Iri(predicate), Iri("http://t/y")),)
        for predicate in ("http://else/p", "http://t/p")
    )
    contents: tuple[str | tuple[Triple, ...], ...] = (
        "d(1)",
        "e(1)",
        foreign,
        "d(2)",
        seen,
        (*foreign, *seen),
        "e(2)",
    )
    given = [Item(time, content, time, stream="s") for time, content in enumerate(contents)]
    found = run(Reasoner(parse(text)), given)
    assert [(e.time, content(e)) for e in found] == [
        (3, {"d(1)", "d(2)"}),
        (4, {"d(2)", 'd("t_x")'}),
        (5, {'d("t_x")'}),
    ]


def test_example_4_1_count_window_breaks_ties_by_arrival() -> None:
    found = run(request("count 3 step 1"), items(EXAMPLE))
    assert [(e.time, content(e)) for e in found] == [
        (8, {"d(d1)", "d(d2)", "d(d3)"}),
        (11, {"d(d2)", "d(d3)", "d(d4)"}),
        (15, {"d(d3)", "d(d4)", "d(d5)"}),
    ]


times = st.lists(st.integers(0, 40), min_size=1, max_size=25)


@engines
@given(times, st.integers(0, 12), st.integers(1, 9), st.integers(0, 6))
def test_time_windows_of_any_width_slide_and_lateness_agree_with_the_reference(
    engine: Choice, when: list[int], width: int, slide: int, lateness: int
) -> None:
    stream = items((t, f"x{i}") for i, t in enumerate(when))
    counted = reference.in_order(stream, lateness)
    window = TimeWindow(width, slide)
    until = max(when)
    expected = [
        (t, reference.time_window(counted, window, t))
        for t in reference.ticks(window, min(i.time for i in counted), until)
    ]
    found = run(request(f"time {width}s step {slide}s", f"#lateness {lateness}s.", engine), stream)
    assert [(e.time, content(e)) for e in found] == expected


@engines
@given(times, st.integers(1, 8), st.integers(1, 8))
def test_count_windows_agree_with_the_reference(
    engine: Choice, when: list[int], width: int, slide: int
) -> None:
    stream = items((t, f"x{i}") for i, t in enumerate(sorted(when)))
    found = run(request(f"count {width} step {slide}", "", engine), stream)
    expected = reference.count_window(stream, width, slide)
    assert [(e.time, content(e)) for e in found] == expected


@engines
@given(times, st.integers(0, 12), st.integers(1, 9))
def test_items_with_an_interval_are_in_every_window_that_overlaps_it(
    engine: Choice, when: list[int], width: int, slide: int
) -> None:
    stream = [
        Item(t, f"d(x{i})", i, until=t + i % 7, stream="s") for i, t in enumerate(sorted(when))
    ]
    window = TimeWindow(width, slide)
    expected = [
        (t, reference.time_window(stream, window, t))
        for t in reference.ticks(window, stream[0].time, stream[-1].time)
    ]
    found = run(request(f"time {width}s step {slide}s", "", engine), stream)
    assert [(e.time, content(e)) for e in found] == expected


windows = st.sampled_from(
    ["time 4s step 3s", "time 0s step 1s", "time 2s step 7s", "count 3 step 2"]
)


@engines_at_length
@given(times, windows, st.integers(0, 3), st.data())
def test_a_reasoner_restored_anywhere_goes_on_as_if_it_had_never_stopped(
    engine: Choice, when: list[int], window: str, lateness: int, data: st.DataObject
) -> None:
    stream = items((t, f"x{i}") for i, t in enumerate(when))
    directives = f"#lateness {lateness}s."
    whole = [(e.time, content(e)) for e in run(request(window, directives, engine), stream)]
    cut = data.draw(st.integers(0, len(stream)))
    first = request(window, directives, engine)
    found = [e for item in stream[:cut] for e in first.push(item)]
    resume, state = first.resume_from(cut), first.snapshot(cut).to_json()
    second = request(window, directives, engine)
    second.restore(State.from_json(state), stream[resume:cut])
    found += [e for item in stream[cut:] for e in second.push(item)]
    found += list(second.finish())
    assert [(e.time, content(e)) for e in found] == whole


@engines
def test_several_streams_keep_the_content_of_their_own_last_tick(engine: Choice) -> None:
    text = """
        #from stream <a> [time 4s step 4s].
        #from stream <b> [time 2s step 2s].
        a(X) :- inA(X).  b(X) :- inB(X).
        #show a/1. #show b/1.
    """
    stream = [
        Item(0, "inA(1)", 0, stream="a"),
        Item(1, "inB(1)", 1, stream="b"),
        Item(3, "inA(3)", 2, stream="a"),
        Item(5, "inB(5)", 3, stream="b"),
        Item(8, "inB(8)", 4, stream="b"),
    ]
    found = run(reasoning(text, engine), stream)
    assert [(e.time, e.answer_sets[0].atoms) for e in found] == [
        (2, ("b(1)",)),
        (4, ("a(1)", "a(3)")),
        (6, ("a(1)", "a(3)", "b(5)")),
        (8, ("b(8)",)),
    ]


@engines
def test_feedback_shows_the_next_evaluation_what_this_one_showed(engine: Choice) -> None:
    text = """
        #from stream <s> [time 0s step 1s].
        #feedback on/0.
        on :- open.  on :- prev_on, not close.
        #show on/0.
    """
    stream = [Item(0, "x", 0, stream="s"), Item(2, "open", 1, stream="s")]
    stream += [Item(5, "close", 2, stream="s"), Item(6, "x", 3, stream="s")]
    found = run(reasoning(text, engine), stream)
    assert [e.answer_sets[0].atoms for e in found] == [
        (), (), ("on",), ("on",), ("on",), (), (),
    ]  # fmt: skip


@engines_at_length
@given(
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from(["open", "close", "x"])), max_size=12)
)
def test_leaving_out_unchanged_evaluations_changes_no_answer(
    engine: Choice,
    events: list[tuple[int, str]],
) -> None:
    text = """
        #from stream <s> [time 1s step 2s].
        #feedback on/0.
        on :- open.  on :- prev_on, not close.
        #show on/0.
    """
    stream = [Item(t, atom, i, stream="s") for i, (t, atom) in enumerate(sorted(events))]

    def answers(skip: bool) -> dict[int, tuple[str, ...]]:
        reasoner = reasoning(text, engine, skip_unchanged=skip)
        return {e.time: e.answer_sets[0].atoms for e in run(reasoner, stream, until=70)}

    every, some = answers(skip=False), answers(skip=True)
    assert some.items() <= every.items()
    state: tuple[str, ...] = ()
    for tick, answer in every.items():
        state = some.get(tick, state)
        assert answer == state


@engines
def test_with_a_clock_a_future_item_waits_and_makes_no_other_late(engine: Choice) -> None:
    reasoner = reasoning(
        "#from stream <s> [time 0s step 1s]. in(X) :- d(X). #show in/1.", engine, clocked=True
    )
    for item in (Item(5, "d(5)", 0, stream="s"), Item(500, "d(500)", 1, stream="s")):
        assert list(reasoner.push(item)) == []
    assert list(reasoner.push(Item(6, "d(6)", 2, stream="s"))) == []
    found = [(e.time, content(e)) for e in reasoner.advance(6)]
    assert found == [(5, {"d(5)"}), (6, {"d(6)"})]
    assert reasoner.late == []


@engines
def test_an_item_without_a_stream_is_of_the_only_one(engine: Choice) -> None:
    stream = [Item(t, f"d({t})", t) for t in (3, 4, 6)]
    one = run(request("time 2s step 1s", engine=engine), stream)
    reasoner = request("time 2s step 1s", engine=engine)
    together = [*reasoner.push(stream), *reasoner.finish()]
    begun = request("time 2s step 1s", engine=engine, start=3)
    taken = [*begun.take(stream), *begun.finish()]
    expected = [(5, {"d(3)", "d(4)"}), (6, {"d(4)", "d(6)"})]
    assert [(e.time, content(e)) for e in one] == expected
    assert [(e.time, content(e)) for e in taken] == expected
    assert [(e.time, content(e)) for e in together] == expected
    assert {item.stream for e in together for item in e.items} == {"s"}


def test_an_item_without_a_stream_is_refused_where_there_are_several() -> None:
    windows = "".join(f"#from stream <{s}> [time 1s step 1s]." for s in "ab")
    with pytest.raises(ItemError, match="reads no stream <>"):
        Reasoner(parse(f"{windows} in(X) :- d(X).")).push(Item(1, "d(1)"))


def test_what_comes_after_its_time_was_declared_complete_is_late() -> None:
    reasoner = Reasoner(parse("#from stream <s> [time 0s step 1s]. in(X) :- d(X)."), clocked=True)
    list(reasoner.push(Item(5, "d(5)", 0, stream="s")))
    list(reasoner.advance(8))
    late = Item(8, "d(8)", 1, stream="s")
    assert list(reasoner.push(late)) == []
    assert reasoner.late == [late]


def test_millisecond_windows_count_from_the_day_and_rebase_before_they_overflow() -> None:
    text = "#from stream <s> [time 999ms step 1s]. in(T) :- T = 0."
    reasoner = Reasoner(parse(text))
    day = 1_407_196_800_000
    list(reasoner.push(Item(day + 5, "x", 0, stream="s")))
    assert reasoner.base(day + 5) == day
    limit = 24 * 86_400_000
    assert reasoner.base(day + limit - 1) == day
    assert reasoner.base(day + limit) == day + limit
    assert limit < 2**31


@pytest.mark.parametrize("slide", [1, 3, 7])
def test_skip_to_leaves_ticks_on_their_grid(slide: int) -> None:
    reasoner = Reasoner(
        parse(f"#from stream <s> [time 0s step {slide}s]. #feedback a/0. a :- b. #show a/0."),
        skip_unchanged=True,
    )
    stream = [Item(0, "c", 0, stream="s"), Item(1000, "c", 1, stream="s")]
    ticks = [e.time for e in run(reasoner, stream, until=1010)]
    assert all(tick % slide == 0 for tick in ticks)
    assert any(1000 <= tick < 1000 + slide for tick in ticks)
    assert len(ticks) < 10


def test_stream_time_never_goes_back_from_zero() -> None:
    reasoner = request("time 2s step 1s", "#lateness 5s.")
    found = run(reasoner, items([(0, "a"), (-3, "b"), (-6, "c")]))
    assert [e.time for e in found] == [-1, 0]
    assert [item.time for item in reasoner.late] == [-6]


@engines
def test_what_is_before_the_start_is_dropped_also_when_it_is_restored(engine: Choice) -> None:
    text = "#from stream <s> [time 5s step 5s]. #lateness 9s. in(X) :- d(X). #show in/1."
    stream = items([(16, "a"), (12, "early"), (17, "b"), (40, "c")])
    straight = reasoning(text, engine, start=15)
    expected = run(straight, stream)
    first = reasoning(text, engine, start=15)
    found = [e for item in stream[:3] for e in first.push(item)]
    state = first.snapshot(3)
    second = reasoning(text, engine, start=15)
    second.restore(state, stream[first.resume_from(3) : 3])
    found += run(second, stream[3:])
    assert [(e.time, content(e)) for e in found] == [(e.time, content(e)) for e in expected]
    assert not any("d(early)" in content(e) for e in found)


@pytest.mark.slow
def test_an_item_whose_time_does_not_fit_asp_is_refused_and_the_others_count() -> None:
    """A count window in a request in milliseconds may hold what is more than 24 days old."""
    text = """
        #prefix e : <http://e/>.
        #from stream <s> [count 2 step 1]. #from stream <other> [time 1ms step 1h].
        at(X) :- e_p(X,_,T). #show at/1."""
    day = 86_400_000
    reasoner = Reasoner(parse(text))
    triples = [Triple(Iri(f"http://e/{n}"), Iri("http://e/p"), Iri("http://e/o")) for n in "ab"]
    old, new = (Item(day * d, (t,), d, stream="s") for d, t in zip((1, 60), triples, strict=True))
    *_, last = [*reasoner.push([old, new]), *reasoner.finish()]
    assert [a.atoms for a in last.answer_sets] == [('at("e_b")',)]
    assert "32 bits" in reasoner.refused[1][1]
