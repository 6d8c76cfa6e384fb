"""Reading answers back: large ones come out as small ones do, and leave nothing behind."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

import clingo
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citywise.reasoning.engines.clingo import messages, solver
from citywise.reasoning.engines.clingo.guard import GuardedEngine
from citywise.reasoning.engines.clingo.messages import send_answers
from citywise.reasoning.engines.clingo.solver import LARGE, SolverEngine
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.limits import Limits
from citywise.reasoning.model.engine import AnswerSet, Engine, WindowFacts
from citywise.reasoning.model.request import Request

pytestmark = pytest.mark.slow

STREAM = "#from stream <s> [time 2s step 1s].\n"
NUMBERS = f"n(1..{LARGE}). "
PROGRAMS = {
    "atoms of several predicates": "q(X+1,X) :- n(X). -p :- n(2). r :- n(3).",
    "strings with quotes, separators and characters of several bytes": (
        r'q(X,"a,\n,\"b\"),(",f("æ€𝔘\\",(),(X,))) :- n(X).'
    ),
    "terms that read as atoms": '#show n(X) : n(X). #show n/1. #show (X,"x") : n(X).',
    "several answer sets": "{a; b}. :- a, b. q(X) :- n(X), a. q(-X) :- n(X), b.",
    "optimal answer sets with their costs": (
        "1{pick(1..3)}1. #minimize{X/2@2,X : pick(X)}. #maximize{X@1 : pick(X)}. "
        "q(X,Y) :- n(X), pick(Y)."
    ),
    "no answer set": ":- n(7).",
}


def request(rules: str) -> Request:
    return parse(STREAM + NUMBERS + rules)


@pytest.fixture(params=[SolverEngine, GuardedEngine])
def kind(request: pytest.FixtureRequest) -> type[SolverEngine | GuardedEngine]:
    found: type[SolverEngine | GuardedEngine] = request.param
    return found


def plainly(what: Request) -> list[tuple[list[str], Sequence[int]]]:
    """The answer sets as clingo's own interface gives them, atom by atom."""
    control = clingo.Control(["--project=show", "--opt-mode=optN", "--warn=none", "0"])
    control.add("base", [], what.rules)
    if not (what.shows or what.shows_terms):
        control.add("base", [], "#show." + "".join(f"#show {s}." for s in what.derived))
    control.ground([("base", [])])
    found: list[tuple[list[str], Sequence[int]]] = []
    with control.solve(yield_=True) as handle:
        for model in handle:
            if model.optimality_proven or not model.cost:
                shown = sorted({str(symbol) for symbol in model.symbols(shown=True)})
                found.append((shown, model.cost))
    return sorted(found)


@pytest.mark.thorough
@pytest.mark.parametrize("rules", PROGRAMS.values(), ids=PROGRAMS)
def test_a_large_answer_is_what_clingo_says_atom_by_atom(
    rules: str, kind: type[SolverEngine | GuardedEngine]
) -> None:
    what = request(rules)
    engine: Engine = kind(what)
    try:
        answers = engine.answer_sets(WindowFacts(""))
        again = engine.answer_sets(WindowFacts(""))
    finally:
        engine.close()
    assert [(list(a.atoms), list(a.cost)) for a in answers] == plainly(what)
    assert again == answers


TERMS = st.recursive(
    st.integers(-9, 9).map(clingo.Number) | st.text(max_size=4).map(clingo.String),
    lambda inner: st.builds(
        clingo.Function, st.sampled_from(["", "f", "\n", ",\n,"]), st.lists(inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.lists(TERMS, max_size=6))
def test_any_term_reads_the_same_in_a_large_answer(terms: list[clingo.Symbol]) -> None:
    """Also those that only programs and not rules can make, which hold the separator."""
    symbols = [*map(clingo.Number, range(300)), *terms]
    with mock.patch.object(solver, "LARGE", 1):
        assert solver.sorted_texts(symbols) == tuple(sorted(set(map(str, symbols))))


ANSWERS = st.builds(
    AnswerSet,
    st.lists(st.sampled_from("abcdefgh"), unique=True).map(lambda atoms: tuple(sorted(atoms))),
    st.sampled_from([(), (1, -2)]),
)


@given(st.lists(ANSWERS, max_size=4))
def test_answers_that_travel_in_pieces_arrive_as_they_were(answers: list[AnswerSet]) -> None:
    source, sink = os.pipe()
    try:
        with mock.patch.object(messages, "_PIECE", 3):
            send_answers(sink, answers)
        os.close(sink)
        first = messages.receive(source)
        following: list[bytearray] = []

        def text() -> bytearray:
            following.append(messages.receive_text(source))
            return following[-1]

        assert messages.answer_sets(first, text) == tuple(answers)
        assert all(text.count(b"\n") < 3 for text in following)
        with pytest.raises(messages.EndedError):
            messages.receive(source)
    finally:
        os.close(source)


@pytest.fixture
def guarded() -> Iterator[GuardedEngine]:
    engine = GuardedEngine(
        parse(STREAM + "q(X,Y) :- d(X), Y=1..60000."), limits=Limits(megabytes=1000)
    )
    yield engine
    engine.close()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads the system's word on memory")
def test_a_worker_does_not_grow_with_the_large_answers_it_gave(guarded: GuardedEngine) -> None:
    """clingo itself keeps every term for as long as its process lives."""

    def used(window: int) -> int:
        assert len(guarded.answer_sets(WindowFacts(f"d({window})."))[0].atoms) == 60_000
        assert guarded.process is not None
        return psutil.Process(guarded.process).memory_info().rss

    first = used(0)
    assert max(map(used, range(1, 5))) < first + 2_000_000
