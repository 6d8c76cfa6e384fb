"""Engines: the same answers in this process, in a worker, and with knowledge grounded once;
and what happens at a limit."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator
from threading import Timer

import pytest

from citywise.reasoning.asp.dependencies import split
from citywise.reasoning.engines.clingo import guard, messages
from citywise.reasoning.engines.clingo.guard import GuardedEngine, WarmPool, WorkerProcess
from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.errors import SolvingError
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.limits import LimitError, Limits
from citywise.reasoning.model.engine import AnswerSet, AspProgram, Engine, WindowFacts
from citywise.reasoning.model.request import Request, Signature
from citywise.reasoning.rdf.knowledge import Background
from citywise.reasoning.run.reasoner import Reasoner
from citywise.reasoning.streams.items import Item

STREAM = "#from stream <s> [time 2s step 1s].\n"
LIMITS = Limits(seconds=60, megabytes=400, atoms=200_000, models=50)
SHORT = Limits(seconds=0.6, megabytes=400, atoms=200_000, models=50)
K, D = Signature("k", 2), Signature("d", 1)


def knowledge(*facts: str) -> Background:
    return Background(facts, supplied=frozenset({K}))


@pytest.fixture
def guarded() -> Iterator[GuardedEngine]:
    engine = GuardedEngine(request(""), limits=LIMITS)
    yield engine
    engine.close()


def request(rules: str) -> Request:
    return parse(STREAM + rules)


def answers(engine: Engine, facts: str, models: int = 0) -> list[AnswerSet]:
    names = {line.split("(")[0] for line in facts.split()}
    supplied = frozenset(Signature(name, 1) for name in names)
    return list(engine.answer_sets(WindowFacts(facts, supplied), models))


CASES = {
    "joined with knowledge": "in(X) :- d(X), k(X,_).",
    "default over knowledge": "known(X) :- k(X,_). new(X) :- d(X), not known(X).",
    "a static rule with a default": """
        leaf(Y) :- k(_,Y), not inner(Y). inner(X) :- k(X,_). on(X) :- d(X), leaf(X).
    """,
    "knowledge and stream of one predicate": """
        d(X) :- k(X,_). two :- #count{X : d(X)} > 2. #show d/1. #show two/0.
    """,
    "a choice that no stream has a say in": "{c}. :- c, d(2). #show c/0.",
    "classical negation over the border": "-p(X) :- d(X). p(X) :- k(X,_).",
    "optimisation": """
        1{pick(X) : d(X)}1. #maximize{Y@2,X : pick(X), k(X,Y)}. #minimize{X@1 : pick(X)}.
        #show pick/1.
    """,
    "an external atom that holds": """
        #external p. [true] q :- p. #external e(X) : k(X,_). [true] r(X) :- e(X), not d(X).
    """,
    "a constant": "#const n = 2. big(X) :- d(X), X >= n. n(n) :- k(1,_).",
}


@pytest.mark.parametrize("rules", CASES.values(), ids=CASES)
def test_every_engine_gives_the_same_answers_window_after_window(rules: str) -> None:
    facts = knowledge("k(1,5)", "k(2,5)", "k(4,1)")
    what = request(rules)
    engines: list[Engine] = [
        SolverEngine(what, facts),
        GuardedEngine(what, facts, once=False),
        GuardedEngine(what, facts, once=True),
    ]
    try:
        for window in ("", "d(1).\nd(2).\n", "d(3).\n", "d(4).\ne(1).\n", "d(1).\n"):
            fresh, worker, once = (answers(engine, window) for engine in engines)
            assert worker == fresh
            assert once == fresh
    finally:
        for engine in engines:
            engine.close()


def test_rules_that_no_stream_reaches_are_grounded_with_the_knowledge() -> None:
    rules = "a(X) :- k(X,_). b(X) :- a(X), not c(X). c(1). e(X) :- d(X), b(X). f :- not e(1)."
    static, window = split(AspProgram("r", rules), {D})
    assert [line for line in static.splitlines() if "citywise" not in line] == [
        "a(X) :- k(X,_).",
        "b(X) :- a(X); not c(X).",
        "c(1).",
    ]
    assert window.rules.split("\n") == ["e(X) :- d(X); b(X).", "f :- not e(1).", ""]


def test_what_a_stream_supplies_later_is_no_longer_static() -> None:
    """The first window has no `k`; knowledge of `k` was grounded as if there were none."""
    what = request("a(X) :- k(X,_). none :- not a(9). in(X) :- d(X), a(X).")
    engine = GuardedEngine(what, knowledge("k(1,1)"), once=True)
    try:
        first = engine.answer_sets(WindowFacts("d(1).\n", frozenset({D})))
        second = engine.answer_sets(WindowFacts("d(9).\nk(9,1).\n", frozenset({D, K})))
    finally:
        engine.close()
    assert [a.atoms for a in first] == [("a(1)", "in(1)", "none")]
    assert [a.atoms for a in second] == [("a(1)", "a(9)", "in(9)")]


EXCESS = {
    "grounds without end": ("p(0). p(X+1) :- p(X), d(_).", SHORT, "in grounding: .* p/1"),
    "grounds too much": (
        "p(1..900). q(X,Y) :- p(X), p(Y), d(_).",
        LIMITS,
        "200,000 ground atoms.* q/2",
    ),
    "solves without end": (
        "1{h(P,H) : H=1..14}1 :- P=1..15, d(_). :- h(P,H), h(Q,H), P<Q.",
        SHORT,
        "in solving: it took more than 0.6 s",
    ),
    "has too many answers": ("{x(1..10)} :- d(_).", LIMITS, "more than 50 answer sets"),
    "grounds for long, with few atoms": (
        "p(1..3000). q :- p(X), p(Y), p(Z), X+Y+Z < 0, d(_).",
        SHORT,
        "in grounding: it took more than 0.6 s",
    ),
}


@pytest.mark.parametrize("name", EXCESS)
def test_an_evaluation_beyond_a_limit_is_stopped_and_says_what_grew(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(guard, "_GRACE_S", 60)  # on a busy machine its worker comes to say it late
    rules, limits, found = EXCESS[name]
    engine = GuardedEngine(request(rules), limits=limits)
    try:
        with pytest.raises(LimitError, match=found):
            answers(engine, "d(1).\n")
        assert answers(engine, "") != [], "the next window starts afresh"
    finally:
        engine.close()


@pytest.mark.slow
def test_an_evaluation_that_eats_memory_is_stopped() -> None:
    rules = "q(X,Y,Z) :- X=1..1000, Y=1..1000, Z=1..1000, d(_)."
    limits = Limits(seconds=120, megabytes=150, atoms=10**9)
    engine = GuardedEngine(request(rules), limits=limits)
    try:
        with pytest.raises(LimitError, match=r"more than 150 MB; what grew: q/3"):
            answers(engine, "d(1).\n")
    finally:
        engine.close()


def test_knowledge_that_cannot_be_grounded_in_time_is_stopped_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guard, "_GRACE_S", 60)
    what = request("p(X+1) :- p(X). p(X) :- k(X,_). in(X) :- d(X), p(X).")
    engine = GuardedEngine(what, knowledge("k(1,1)"), SHORT, once=True)
    try:
        with pytest.raises(LimitError, match=r"in grounding: .* p/1"):
            answers(engine, "d(1).\n")
    finally:
        engine.close()


@pytest.mark.parametrize("once", [True, False])
def test_a_worker_that_dies_costs_one_evaluation(once: bool) -> None:
    engine = GuardedEngine(request("in(X) :- d(X)."), knowledge("k(1,1)"), once=once)
    try:
        answers(engine, "d(1).\n")
        assert engine.process is not None
        os.killpg(engine.process, signal.SIGKILL)
        with pytest.raises(SolvingError, match="ended unexpectedly"):
            answers(engine, "d(2).\n")
        assert [a.atoms for a in answers(engine, "d(3).\n")] == [("in(3)",)]
    finally:
        engine.close()


def test_closing_ends_the_process(guarded: GuardedEngine) -> None:
    answers(guarded, "")
    process = guarded.process
    assert process is not None
    guarded.close()
    assert guarded.process is None
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_process_that_is_kept_evaluates_for_the_next_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    warm: WarmPool[WorkerProcess] = WarmPool(1)
    monkeypatch.setattr("citywise.reasoning.engines.clingo.guard.WARM", warm)
    engines = [GuardedEngine(request(f"in(X+{n}) :- d(X)."), limits=LIMITS) for n in range(3)]
    processes: list[int] = []
    for number, engine in enumerate(engines):
        assert [a.atoms for a in answers(engine, "d(1).\n")] == [(f"in({1 + number})",)]
        assert engine.process is not None
        processes.append(engine.process)
        with pytest.raises(SolvingError, match="syntax error"):
            answers(engine, "d(1,.\n")
        if number == 1:
            assert processes[0] == processes[1]
            os.killpg(processes[0], signal.SIGKILL)
            os.waitid(os.P_PID, processes[0], os.WEXITED | os.WNOWAIT)
        engine.close()
        assert engine.process is None
    assert processes[2] != processes[0]
    warm.close()
    with pytest.raises(ProcessLookupError):
        os.kill(processes[2], 0)


def test_clingo_s_own_words_reach_the_caller() -> None:
    engine = GuardedEngine(request("in(X) :- d(X)."), limits=LIMITS)
    try:
        with pytest.raises(SolvingError, match="syntax error"):
            answers(engine, "d(1,.\n")
    finally:
        engine.close()


@pytest.mark.slow
def test_a_request_at_its_limit_leaves_others_and_its_own_later_windows_alone() -> None:
    text = STREAM + "p(0). p(X+1) :- p(X), d(13). in(X) :- d(X). #show in/1."
    with Reasoner(parse(text), limits=LIMITS) as reasoner:
        items = [Item(t, f"d({n})", t, stream="s") for t, n in enumerate([1, 2, 13, 4, 5, 6, 7])]
        found = [e for item in items for e in reasoner.push(item)] + list(reasoner.finish())
    assert [(e.time, len(e.answer_sets), e.error is None) for e in found] == [
        (2, 0, False),
        (3, 0, False),
        (4, 0, False),
        (5, 1, True),
        (6, 1, True),
    ]


def test_without_a_show_what_the_stream_supplies_is_not_printed() -> None:
    reasoner = Reasoner(parse(STREAM + "d(X+1) :- d(X), X < 3. e(X) :- d(X)."))
    items = [Item(t, "d(1)", t, stream="s") for t in (0, 2)]
    found = [e for item in items for e in reasoner.push(item)] + list(reasoner.finish())
    assert [a.atoms for e in found for a in e.answer_sets] == [("e(1)", "e(2)", "e(3)")]


@pytest.mark.parametrize("limit", ["seconds", "megabytes", "atoms", "models"])
def test_a_limit_of_nothing_is_refused(limit: str) -> None:
    with pytest.raises(ValueError, match=limit):
        Limits(**{limit: 0})


def test_large_knowledge_is_grounded_once_and_small_knowledge_is_not() -> None:
    small, large = (
        GuardedEngine(request(""), knowledge(*(f"k({i},1)" for i in range(n))))
        for n in (10, guard.GROUND_ONCE)
    )
    assert [small.grounds_once, large.grounds_once] == [False, True]


def test_what_is_interrupted_is_not_answered_to_the_next_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = GuardedEngine(request("in(X) :- d(X)."))
    receive = messages.receive

    def interrupted(*_arguments: object) -> object:
        raise KeyboardInterrupt

    try:
        answers(engine, "d(1).\n")
        monkeypatch.setattr(messages, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            answers(engine, "d(2).\n")
        monkeypatch.setattr(messages, "receive", receive)
        assert [a.atoms for a in answers(engine, "d(3).\n")] == [("in(3)",)]
    finally:
        engine.close()


def test_a_failure_is_not_the_answer_of_the_next_equal_window() -> None:
    class Flaky(SolverEngine):
        calls = 0

        def answer_sets(self, window: WindowFacts, models: int = 0) -> tuple[AnswerSet, ...]:
            self.calls += 1
            if self.calls == 1:
                raise LimitError("a bad moment")
            return super().answer_sets(window, models)

    what = request("none :- not d(_).")
    reasoner = Reasoner(what, engine=Flaky(what), start=0, skip_unchanged=True, clocked=True)
    found = list(reasoner.advance(4))
    assert [(e.time, e.error, len(e.answer_sets)) for e in found] == [
        (2, "a bad moment", 0),
        (3, None, 1),
    ]


def test_descriptors_beyond_what_select_can_watch_are_waited_for() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    engine = GuardedEngine(request("in(X) :- d(X)."))
    try:
        assert [a.atoms for a in answers(engine, "d(1).\n")] == [("in(1)",)]
    finally:
        engine.close()
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_large_knowledge_needs_no_limits_to_be_grounded_once() -> None:
    many = knowledge(*(f"k({i},1)" for i in range(guard.GROUND_ONCE)))
    with Reasoner(request("in(X) :- d(X), k(X,_). #show in/1."), background=many) as reasoner:
        items = [Item(t, f"d({t})", t, stream="s") for t in range(3)]
        found = [*reasoner.push(items), *reasoner.finish()]
    assert [(e.error, e.answer_sets[0].atoms) for e in found] == [
        (None, ("in(0)", "in(1)", "in(2)"))
    ]


def test_a_worker_that_gets_no_time_of_the_machine_is_waited_for() -> None:
    """Limits count CPU time; the process stands still for longer than the limit and the grace."""
    engine = GuardedEngine(request("b(X) :- a(X), d(_)."), limits=Limits(seconds=0.2))
    try:
        assert answers(engine, "a(1).\nd(1).\n")
        process = engine.process
        assert process is not None
        os.kill(process, signal.SIGSTOP)
        timer = Timer(0.2 + guard._GRACE_S + 0.5, os.kill, (process, signal.SIGCONT))
        timer.start()
        assert answers(engine, "a(2).\nd(1).\n") != []
        timer.join()
    finally:
        engine.close()
