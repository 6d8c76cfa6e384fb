"""C-ASP requests on the incremental engine: what the solver answers, by what changed."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.reasoning.asp.translation.program import UnsupportedError
from citywise.reasoning.engines.choosing import engine_for
from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.engines.incremental.evaluation import RuleEvaluation
from citywise.reasoning.engines.programs import (
    IncrementalEngine,
    ProgramEngine,
    RequestEngine,
    SplitEngine,
)
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.limits import Limits
from citywise.reasoning.model.engine import (
    AnswerSet,
    AspProgram,
    ChangingEngine,
    Engine,
    Knowledge,
    WindowFacts,
    difference,
)
from citywise.reasoning.model.request import Signature
from citywise.reasoning.rdf.knowledge import Background
from citywise.reasoning.rdf.mapping import Iri, Triple
from citywise.reasoning.run.reasoner import Reasoner, State
from citywise.reasoning.streams.items import Item
from citywise.reasoning.streams.results import Evaluation
from citywise.reasoning.streams.windows import Contents

SEVERAL = """
    #from stream <t> [time 4s step 2s].
    #from stream <u> [time 3s step 3s].
    #from stream <c> [count 3 step 1].
    #feedback seen/1.
    seen(X) :- d(X), not gone(X).
    seen(X) :- prev_seen(X), not gone(X).
    many(N) :- N = #count{X : d(X)}, N > 1.
    pair(X,Y) :- d(X), d(Y), X < Y, not far(X,Y).
    far(X,Y) :- d(X), d(Y), Y - X > 2.
    :- d(1), gone(1).
    #show seen/1. #show many/1. #show pair/2.
"""
"""Windows that see the same predicates, so that atoms stay when one of them loses them."""
KNOWN = Background(("d(2)",), supplied=frozenset({Signature("d", 1)}))
NOTHING = Background()
CHOICE = """
    #from stream <s> [time 4s step 1s].
    seen(X) :- d(X), not gone(X).
    {picked(X) : seen(X)} = 1 :- seen(_).
    #show seen/1. #show picked/1.
"""

arriving = st.lists(
    st.tuples(
        st.integers(0, 25),
        st.sampled_from(["d(1)", "d(2)", "d(3)", "d(4)", "gone(1)", "gone(3)"]),
        st.sampled_from("tuc"),
        st.sampled_from([None, None, 0, 5]),
    ),
    min_size=1,
    max_size=25,
)


def items(arrivals: Sequence[tuple[int, str, str, int | None]]) -> list[Item]:
    return [
        Item(t, atom, i, stream=stream, until=None if length is None else t + length)
        for i, (t, atom, stream, length) in enumerate(sorted(arrivals, key=lambda a: a[0]))
    ]


def on(stream: str, *arrivals: tuple[int, str]) -> list[Item]:
    return [Item(t, atom, i, stream=stream) for i, (t, atom) in enumerate(arrivals)]


def run(
    text: str, stream: list[Item], engine: type[Engine] | None = None, known: Knowledge = NOTHING
) -> list[Evaluation]:
    """Every evaluation, by the incremental engine or another."""
    request = parse(text)
    made = engine(request, known) if engine else IncrementalEngine(request, known)  # type: ignore[call-arg]
    with Reasoner(request, engine=made) as reasoner:
        return [*reasoner.push(stream), *reasoner.finish()]


def seen(found: Sequence[Evaluation]) -> list[object]:
    return [(e.time, e.answer_sets, tuple(e.items), e.atoms, e.fed_back, e.error) for e in found]


@pytest.mark.slow
@settings(max_examples=50)
@given(arriving, st.booleans())
def test_windows_of_all_kinds_over_the_same_predicates_give_the_solver_s_answers(
    arrivals: list[tuple[int, str, str, int | None]], know: bool
) -> None:
    """Also while the atoms of one window are in another, or known anyway."""
    known = KNOWN if know else NOTHING
    expected = run(SEVERAL, items(arrivals), SolverEngine, known)
    assert seen(run(SEVERAL, items(arrivals), known=known)) == seen(expected)


@settings(max_examples=10)
@given(arriving)
def test_what_came_and_went_is_the_difference_of_the_answers(
    arrivals: list[tuple[int, str, str, int | None]],
) -> None:
    """One without an answer set has no atoms."""
    before: AnswerSet | None = None
    for evaluation in run(SEVERAL, items(arrivals)):
        after = evaluation.answer_sets[0] if evaluation.answer_sets else None
        assert (evaluation.added, evaluation.removed) == difference(before, after)
        before = after


@pytest.mark.slow
@settings(max_examples=30)
@given(arriving, st.data())
def test_a_restored_reasoner_goes_on_with_a_new_engine(
    arrivals: list[tuple[int, str, str, int | None]], data: st.DataObject
) -> None:
    stream = items(arrivals)
    cut = data.draw(st.integers(0, len(stream)))
    request = parse(SEVERAL)
    first = Reasoner(request, engine=IncrementalEngine(request))
    found = [e for item in stream[:cut] for e in first.push(item)]
    state, resume = first.snapshot(cut).to_json(), first.resume_from(cut)
    second = Reasoner(request, engine=IncrementalEngine(request))
    second.restore(State.from_json(state), stream[resume:cut])
    found += [e for item in stream[cut:] for e in second.push(item)]
    found += second.finish()
    assert seen(found) == seen(run(SEVERAL, stream, SolverEngine))


@pytest.mark.parametrize("known", [NOTHING, Background(("d(1)",))], ids=["unknown", "known"])
def test_an_atom_stays_while_anything_supplies_it(known: Background) -> None:
    """Pushed out of a count window it is in a time window, of two the one that lasts, or known."""
    text = """
        #from stream <t> [time 2s step 1s].
        #from stream <u> [time 2s step 1s].
        #from stream <c> [count 1 step 1].
        in(X) :- d(X). #show in/1."""
    stream = [
        Item(0, "d(1)", 0, stream="t", until=8),
        Item(3, "d(1)", 1, stream="u"),
        Item(4, "d(1)", 2, stream="c"),
        Item(5, "x", 3, stream="c"),
        Item(20, "x", 4, stream="u"),
    ]
    found = run(text, stream, known=known)
    until = 10 if known is NOTHING else 20
    assert [e.time for e in found if e.answer_sets[0].atoms == ("in(1)",)] == [
        2, 3, 4, 4, 5, 5, *range(6, until + 1),
    ]  # fmt: skip


@pytest.mark.parametrize("others", [3, 99])
def test_what_comes_and_goes_between_two_looks_is_in_neither_answer(others: int) -> None:
    """Of the answers in between nobody asks for the atoms; few of them change, or many."""
    request = parse(
        f"#from stream <s> [time 0s step 1s]. p(X) :- d(X). p(100..99+{others}). #show p/1."
    )
    atoms = ["d(1000)", "d(1010)", "d(5)", "d(1000)", "d(1020)"]
    with Reasoner(request, engine=IncrementalEngine(request)) as reasoner:
        for item in on("s", *enumerate(atoms), (5, "x")):
            for evaluation in reasoner.push(item):
                if evaluation.time in (0, 3, 4):
                    expected = [f"p({n})" for n in range(100, 100 + others)]
                    expected.append(atoms[evaluation.time].replace("d", "p"))
                    assert evaluation.answer_sets[0].atoms == tuple(sorted(expected))


def test_an_evaluation_keeps_its_answer_and_items_when_the_engine_has_moved_on() -> None:
    text = "#from stream <s> [time 1s step 1s]. in(X) :- d(X). #show in/1."
    stream = on("s", *((t, f"d({t})") for t in range(6)))
    first, second, *_, last = run(text, stream)
    assert last.answer_sets == (AnswerSet(("in(4)", "in(5)")),)
    assert second.answer_sets[0].atoms == ("in(1)", "in(2)")
    assert first.answer_sets == (AnswerSet(("in(0)", "in(1)")),)
    assert list(first.items) == stream[:2]
    assert (len(second.items), second.items[0]) == (2, stream[1])


def test_an_answer_that_is_put_together_when_asked_for_is_an_answer_set_like_others() -> None:
    text = "#from stream <s> [time 1s step 1s]. in(X) :- d(X). #show in/1."
    (evaluation,) = run(text, on("s", (0, "d(2)"), (1, "d(10)")))
    (view,) = evaluation.answer_sets
    plain = AnswerSet(("in(10)", "in(2)"))
    assert (view == plain, plain == view, hash(view) == hash(plain)) == (True, True, True)
    assert sorted([AnswerSet(("z",)), view, AnswerSet(())])[1] is view
    assert pickle.loads(pickle.dumps(view)) == plain
    assert repr(view) == repr(plain)


def test_an_evaluation_looks_at_what_changed_only(monkeypatch: pytest.MonkeyPatch) -> None:
    request = parse("#from stream <s> [time 90s step 1s]. in(X) :- d(X). #show in/1.")
    reasoner = Reasoner(request, engine=IncrementalEngine(request))
    stream = on("s", *((t, f"d({t})") for t in range(200)))
    assert len(list(reasoner.push(stream[:100]))) == 9

    def looked(_contents: Contents) -> None:
        raise AssertionError

    monkeypatch.setattr(Contents, "_held_items", looked)
    found = list(reasoner.push(stream[100:]))
    assert [(e.added, e.removed) for e in found] == [
        ((f"in({t})",), (f"in({t - 91})",)) for t in range(99, 199)
    ]
    assert {(len(e.items), e.atoms) for e in found} == {(91, 91)}


@pytest.mark.parametrize("kind", [IncrementalEngine, SplitEngine])
def test_windows_that_nothing_enters_or_leaves_cost_no_step(
    kind: type[RequestEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []
    step = RuleEvaluation.step

    def counted(evaluation: RuleEvaluation, now: int) -> None:
        steps.append(now)
        step(evaluation, now)

    monkeypatch.setattr(RuleEvaluation, "step", counted)
    text = "#from stream <s> [time 10s step 1s]. any :- d(_). silent :- not any. "
    more = "{never} :- silent, any." if kind is SplitEngine else ""
    found = run(text + more, on("s", (0, "d(1)"), (1, "d(2)"), (30, "d(3)")), kind)
    shown = [evaluation.answer_sets[0].atoms for evaluation in found]
    assert shown == [("any",)] * 2 + [("silent",)] * 18 + [("any",)]
    assert len(steps) == 4  # d(1) and d(2) come, go one after the other, and d(3) comes


def test_what_first_supplies_a_derived_predicate_changes_what_is_shown() -> None:
    text = "#from stream <s> [time 5s step 1s]. e(X) :- d(X). f(X) :- e(X)."
    stream = on("s", (0, "d(1)"), (6, "e(9)"), (7, "d(2)"), (8, "d(3)"))
    expected = run(text, stream, SolverEngine)
    found = run(text, stream)
    assert seen(found) == seen(expected)
    assert [e.added for e in found] == [("e(1)", "f(1)"), None, ("f(2)",), ("f(3)",)]


def test_after_a_limit_the_next_evaluation_is_right() -> None:
    text = """#from stream <s> [time 1s step 1s]. n(X) :- d(X). n(X+1) :- n(X), grow.
        #show n/1."""
    request = parse(text)
    engine = IncrementalEngine(request, limits=Limits(atoms=5_000))
    stream = on("s", (0, "d(1)"), (1, "d(1)"), (2, "grow"), (3, "d(3)"), (4, "x"), (5, "d(5)"))
    with Reasoner(request, engine=engine) as reasoner:
        found = [*reasoner.push(stream), *reasoner.finish()]
    assert [e.error is None for e in found] == [True, False, False, True, True]
    assert "5,000" in (found[1].error or "")
    assert [e.answer_sets[0].atoms for e in found if e.error is None] == [
        ("n(1)",), ("n(3)",), ("n(5)",),
    ]  # fmt: skip
    assert (found[3].added, found[3].removed) == (("n(3)",), ("n(1)",))


def test_times_are_counted_anew_before_they_overflow() -> None:
    text = """
        #prefix e : <http://e/>.
        #from stream <s> [time 864000000ms step 432000000ms].
        at(X,T) :- e_p(_,X,T), T >= 0. #show at/2."""

    def item(n: int) -> Item:
        triple = Triple(Iri("http://e/a"), Iri("http://e/p"), Iri(f"http://e/{n}"))
        return Item(n * 250_000_000, (triple,), n, stream="s")

    stream = [item(n) for n in range(20)]
    assert seen(run(text, stream)) == seen(run(text, stream, SolverEngine))


@settings(max_examples=15)
@given(
    st.lists(
        st.sets(st.sampled_from(["d(7)", "d(2)", "gone(7)", "e", "-d(2)", 'd("a b")', "d(n)"])),
        min_size=1,
        max_size=6,
    )
)
def test_windows_given_as_text_are_told_apart_by_their_lines(windows: list[set[str]]) -> None:
    text = "#const n = 7. seen(X) :- d(X), not gone(X). #show seen/1."
    engine, solver = IncrementalEngine(parse(text)), SolverEngine(parse(text))
    supplied = frozenset({Signature("d", 1), Signature("-d", 1)})
    for atoms in windows:
        window = WindowFacts("".join(f"{atom}.\n" for atom in sorted(atoms)), supplied)
        assert engine.answer_sets(window) == solver.answer_sets(window)


def test_facts_that_nobody_foresaw_count() -> None:
    engine = ProgramEngine(AspProgram("p", "a(X) :- b(X). c(X) :- a(X). #show c/1.\n"), "b(1).\n")
    assert engine.answers("") == (AnswerSet(("c(1)",)),)
    assert engine.answers("a(2).\nz.\n") == (AnswerSet(("c(1)", "c(2)")),)
    assert engine.answers("z.\n") == (AnswerSet(("c(1)",)),)


def test_a_request_outside_the_fragment_is_refused_with_the_rule() -> None:
    with pytest.raises(UnsupportedError, match=r"\(pick\) is a choice"):
        IncrementalEngine(parse(CHOICE.replace("{picked", "(pick) {picked")))


@settings(max_examples=10)
@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.sampled_from(["d(1)", "d(2)", "d(3)", "gone(2)"])),
        min_size=1,
        max_size=8,
    )
)
def test_a_stratified_bottom_with_the_rest_in_the_solver_gives_the_answers_of_the_whole(
    arrivals: list[tuple[int, str]],
) -> None:
    stream = on("s", *sorted(arrivals))
    assert seen(run(CHOICE, stream, SplitEngine)) == seen(run(CHOICE, stream, SolverEngine))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("#from stream <s> [time 1s step 1s]. a :- b.", True),
        (CHOICE, True),
        ("#from stream <s> [time 1s step 1s]. {a} :- b.", False),
        ("a :- b.", False),
    ],
)
def test_auto_follows_changes_where_something_is_in_the_fragment(text: str, kind: bool) -> None:
    """A program without streams is evaluated once, and left to the solver."""
    assert isinstance(engine_for(parse(text)), ChangingEngine) == kind


def test_predicates_of_knowledge_alone_are_shown_though_nobody_named_them() -> None:
    """The parts of a plan are given the program's plain facts as knowledge."""
    rules = AspProgram("r", "#false :- b(X), -b(X).\n#show.\n#show -b/1.\n")
    engine = ProgramEngine(rules, "-b(1).\n", frozenset({Signature("a", 1)}))
    for facts in ("", "a(1).\n"):
        (answer,) = engine.answers(facts)
        assert answer.atoms == ("-b(1)",)
