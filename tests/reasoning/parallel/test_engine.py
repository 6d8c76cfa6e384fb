"""The parallel engine: the answers of the whole, whatever runs where; and what stops it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import count, pairwise

import psutil
import pytest

from citywise.reasoning.asp.translation.program import UnsupportedError
from citywise.reasoning.engines import choosing
from citywise.reasoning.engines.choosing import LARGE, WHOLE, Adaptive, Turn, Way
from citywise.reasoning.engines.choosing import Choice as EngineName
from citywise.reasoning.engines.clingo import guard
from citywise.reasoning.engines.clingo.guard import Guard, GuardedEngine
from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.errors import SolvingError
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.limits import LimitError, Limits
from citywise.reasoning.model.atoms import signature
from citywise.reasoning.model.engine import AnswerSet, WindowFacts
from citywise.reasoning.model.request import Request, Signature
from citywise.reasoning.partition import executors as processes_module
from citywise.reasoning.partition import greedy
from citywise.reasoning.partition.engine import ParallelEngine, is_power
from citywise.reasoning.partition.executors import Executor, Outcome, Processes, Task, Warm
from citywise.reasoning.rdf.knowledge import Background
from citywise.reasoning.run.reasoner import Reasoner
from citywise.reasoning.streams.items import Item
from tests.reasoning.oracle import ForkedWorker
from tests.reasoning.parallel.inline import Inline

STREAM = "#from stream <s> [time 2s step 1s].\n"
JAMS = """
fast(R) :- speed(R,V), V > 50.
jam(R) :- speed(R,_), not fast(R), street(R,_).
in(D) :- jam(R), street(R,D).
#show jam/1. #show in/1.
"""
TWO = "a(X) :- p(X). 1{b(X;Y)}1 :- q(X,Y). :~ b(X). [X] #show a/1. #show b/1."


def request(rules: str) -> Request:
    return parse(STREAM + rules)


def window(*atoms: str) -> WindowFacts:
    arities = {(atom.split("(")[0], atom.count(",") + 1) for atom in atoms}
    text = "".join(f"{atom}.\n" for atom in atoms)
    return WindowFacts(text, frozenset(Signature(*predicate) for predicate in arities))


def streets(number: int) -> Background:
    facts = tuple(f"street({n},{n % 7})" for n in range(number))
    return Background(facts, supplied=frozenset({Signature("street", 2)}))


def speeds(number: int, shift: int = 0) -> WindowFacts:
    return window(*(f"speed({n},{(n * 37 + shift) % 100})" for n in range(number)))


def counted(started: list[int]) -> Callable[[], ForkedWorker]:
    """Starts workers and notes their processes."""

    def start() -> ForkedWorker:
        worker = ForkedWorker()
        started.append(worker.pid)
        return worker

    return start


@pytest.fixture
def processes() -> Iterator[Processes]:
    with closing(Processes(2, ForkedWorker)) as found:
        yield found


def engine(rules: str, executor: Executor, **options: object) -> ParallelEngine:
    options = {"adaptive": False, **options}
    return ParallelEngine(request(rules), executor=executor, **options)  # type: ignore[arg-type]


# -- answers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "evaluated_by"),
    [(20, "solver"), (4000, "solver"), (4000, "auto")],
    ids=["ground with each window", "ground once", "kept"],
)
def test_every_executor_gives_the_answers_of_the_whole_window_after_window(
    known: int, evaluated_by: EngineName
) -> None:
    what, facts = request(JAMS), streets(known)
    started: list[int] = []
    with (
        closing(Processes(2, counted(started))) as processes,
        closing(Warm(ForkedWorker)) as warm,
    ):
        whole = SolverEngine(what, facts)
        engines = [
            ParallelEngine(
                what, facts, executor=executor, partitions=3, adaptive=False, engine=evaluated_by
            )
            for executor in (Inline(), processes, OneByOne(warm))
        ]
        for shift in range(3):
            expected = whole.answer_sets(speeds(60, shift))
            assert len(expected[0].atoms) > 10
            for each in engines:
                assert each.answer_sets(speeds(60, shift)) == expected
        assert all(p.key for each in engines if each.plan for p in each.plan.partitions)
    assert len(started) == (2 if known == 20 else 3), "a part stays with its process"


class OneByOne:
    """An executor as Spark's workers are: one task at a time, with what is warm."""

    width = 1

    def __init__(self, warm: Warm) -> None:
        self._warm = warm

    def run(self, tasks: Sequence[Task]) -> list[Outcome]:
        return [self._warm.evaluate(task) for task in tasks]

    def close(self) -> None:
        self._warm.close()


def test_asked_for_n_it_gives_n_of_the_answers() -> None:
    rules = "{a(X)} :- p(X). {b(X)} :- q(X). #show a/1. #show b/1."
    facts = window("p(1)", "p(2)", "q(1)", "q(2)")
    every = SolverEngine(request(rules)).answer_sets(facts)
    parallel = engine(rules, Inline())
    for models in (1, 3, 16, 40):
        some = parallel.answer_sets(facts, models)
        assert set(some) <= set(every)
        assert len(some) == min(models, 16)


def test_choices_that_unite_to_the_same_do_not_count_twice() -> None:
    """The two that were asked for of a part unite with the other to the same: the whole
    may have more."""
    empty, a, b, c = (AnswerSet(tuple(atoms)) for atoms in ("", "a", "ab", "abc"))
    executor = Scripted([[[empty, a], [b]], [[b, c]]])
    found = engine("a(X) :- p(X). b(X) :- q(X).", executor).answer_sets(window("p(1)"), 2)
    assert found == (b, c)
    assert executor.asked == [2, 2]


def test_answer_sets_that_a_part_has_beyond_the_limit_are_not_lost() -> None:
    """Parts show the same terms: three of the answer sets of one unite to a single one."""
    rules = "{a(X) : p(X)}. d(X) :- q(X). #show t(X) : a(X). #show t(X) : d(X). #show."
    facts = window(*(f"p({n})" for n in range(5)), *(f"q({n})" for n in range(4)))
    what, limits = request(rules), Limits(models=3)
    parallel = ParallelEngine(what, limits=limits, executor=Inline(), adaptive=False)
    assert len(parallel.answer_sets(facts)) == 2


class Scripted:
    """An executor whose answers are written down, for one run after the other."""

    width = 2

    def __init__(self, runs: list[list[list[AnswerSet]]]) -> None:
        self._runs = iter(runs)
        self.asked: list[int] = []

    def run(self, tasks: Sequence[Task]) -> list[Outcome]:
        self.asked.append(tasks[0].models)
        return [Outcome(tuple(answers), 0.0) for answers in next(self._runs)]

    def close(self) -> None:
        pass


def test_a_contradiction_that_only_the_facts_make_leaves_no_answer() -> None:
    """The engine is not told of `-p`: it sees that no partition expects it."""
    parallel = engine("a(X) :- p(X). b(X) :- q(X).", Inline())
    told = frozenset({Signature("p", 1), Signature("q", 1)})
    assert parallel.answer_sets(WindowFacts("p(1).\n-p(2).\nq(1).\n", told)) != ()
    assert parallel.answer_sets(WindowFacts("p(1).\n-p(1).\nq(1).\n", told)) == ()


UNTOLD = {
    "a leader that the program has facts of": (
        "h(R,V) :- sp(O,V), of(O,R). :- h(R,V), not road(R). of(1,r).",
        ["sp(2,10)"],
        "of(2,r2). sp(1,1). road(r). road(r2).",
    ),
    "other arguments": ("#show t(X) : a(X). b(X) :- a(X), not c(X).", [], "a(1). a(1,2)."),
    "other arguments, and the opposite": ("b(X) :- a(X), not c(X).", [], "a(1). a(1,2). -a(1,2)."),
}


@pytest.mark.parametrize(("rules", "known", "facts"), UNTOLD.values(), ids=UNTOLD)
def test_facts_that_nobody_said_would_come_are_not_lost(
    rules: str, known: list[str], facts: str
) -> None:
    what, lines = request(rules), facts.replace(". ", ".\n") + "\n"
    background = Background(tuple(known), supplied=frozenset(map(signature, known)))
    parallel = ParallelEngine(what, background, executor=Inline(), partitions=3, adaptive=False)
    whole = SolverEngine(what, background)
    for text in ("", lines, "", lines):
        assert parallel.answer_sets(WindowFacts(text)) == whole.answer_sets(WindowFacts(text))


def test_facts_of_what_rules_derive_are_no_surprise() -> None:
    rules = "a(X) :- p(X,Y). c(X) :- a(X), q(X). #show a/1. #show c/1."
    facts = WindowFacts("p(1,1).\na(2).\nq(1).\nq(2).\n")
    assert engine(rules, Inline()).answer_sets(facts) == (
        SolverEngine(request(rules)).answer_sets(facts)
    )


COPIED = "wrong(X) :- y(X), not b(X). w(X) :- y(X), z(X). v(X) :- a(X), z(X)."
APART = "h(X) :- d(X), e(X), f(X), g(X). i(X) :- c(X), f(X). j(X) :- b(X), g(X)."


@pytest.mark.parametrize(
    ("rules", "atoms", "greedily"),
    [(COPIED, "y(1) b(1)", ("wrong(1)",)), (APART, "d(1) e(1) f(1) g(1)", ())],
    ids=["a default where its inputs are absent", "a rule whose inputs are split"],
)
def test_the_greedy_plan_is_wrong_and_the_sound_plan_is_not(
    rules: str, atoms: str, greedily: tuple[str, ...]
) -> None:
    """Both faults of docs/parallel.md, “What the thesis does instead”."""
    facts = window(*atoms.split())
    right = SolverEngine(request(rules)).answer_sets(facts)
    assert engine(rules, Inline()).answer_sets(facts) == right
    thesis = engine(rules, Inline(), plan=greedy.planner(request(rules)))
    assert thesis.answer_sets(facts) == (AnswerSet(greedily),)
    assert right != (AnswerSet(greedily),)


# -- limits --------------------------------------------------------------------------------

LIMITED = "a(X) :- p(X). h(X,Y) :- q(X), q(Y). #show a/1. #show h/2."


def test_a_part_beyond_a_limit_fails_the_evaluation_and_the_next_one_works() -> None:
    started: list[int] = []
    limits = Limits(seconds=1.5)
    rules = "a(X) :- p(X). h(0) :- q. h(X+1) :- h(X). #show a/1. #show h/1."
    with closing(Processes(2, counted(started))) as processes:
        parallel = ParallelEngine(request(rules), limits=limits, executor=processes, adaptive=False)
        with pytest.raises(LimitError, match=r"took more than 1\.5 s"):
            parallel.answer_sets(WindowFacts("p(1).\nq.\n", frozenset({Signature("p", 1)})))
        assert parallel.answer_sets(window("p(1)")) == (AnswerSet(("a(1)",)),)


def test_parts_share_the_memory_they_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each uses less than the limit, both together more."""
    monkeypatch.setattr(processes_module, "_memory", lambda _process: 3000.0)
    limits = Limits(seconds=120, megabytes=4096)
    endless = "a(0) :- p. a(X+1) :- a(X). b(0) :- q. b(X+1) :- b(X). #show a/1. #show b/1."
    with closing(Processes(2, ForkedWorker)) as processes:
        parallel = ParallelEngine(
            request(endless), limits=limits, executor=processes, adaptive=False
        )
        with pytest.raises(LimitError, match="its 2 parts used more than 4,096 MB together"):
            parallel.answer_sets(WindowFacts("p.\nq.\n"))


def test_a_failure_of_one_part_ends_what_the_others_do() -> None:
    started: list[int] = []
    rules = "a(0) :- p. a(X+1) :- a(X). b(1..300000) :- q. #show a/1. #show b/1."
    limits = Limits(seconds=120, atoms=200_000)
    with closing(Processes(2, counted(started))) as processes:
        parallel = ParallelEngine(request(rules), limits=limits, executor=processes, adaptive=False)
        with pytest.raises(LimitError, match="more than 200,000 ground atoms"):
            parallel.answer_sets(WindowFacts("p.\nq.\n"))
        assert len(started) == 2
        assert not any(psutil.pid_exists(pid) for pid in started)


def test_all_parts_together_may_take_the_time_of_one_evaluation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In one process, the second part is left what the first has not taken."""
    allowed: list[float] = []
    begin = Warm.begin

    def noted(warm: Warm, task: Task, seconds: float | None) -> Guard:
        allowed.append(task.part.limits.seconds if seconds is None else seconds)
        return begin(warm, task, seconds)

    monkeypatch.setattr(Warm, "begin", noted)
    rules = "a(0..300000) :- p. b(0..300000) :- q. #show."
    with closing(Processes(1, ForkedWorker)) as processes:
        parallel = ParallelEngine(
            request(rules), limits=Limits(seconds=50), executor=processes, adaptive=False
        )
        begun = time.monotonic()
        parallel.answer_sets(WindowFacts("p.\nq.\n"))
        took = time.monotonic() - begun
    first, second = allowed
    assert first == 50
    assert 50 - took <= second < 50


def test_more_answer_sets_than_the_limit_are_an_error_though_no_part_has_so_many() -> None:
    rules = "{a(X)} :- p(X). {b(X)} :- q(X). #show a/1. #show b/1."
    what = request(rules)
    facts = window("p(1)", "p(2)", "q(1)", "q(2)")
    parallel = ParallelEngine(what, limits=Limits(models=15), executor=Inline(), adaptive=False)
    with pytest.raises(LimitError, match="more than 15 answer sets"):
        parallel.answer_sets(facts)
    assert len(parallel.answer_sets(facts, 15)) == 15


def test_a_process_that_dies_fails_the_evaluation_and_is_replaced(processes: Processes) -> None:
    started: list[int] = []
    with closing(Processes(2, counted(started))) as processes:
        parallel = engine("a(X) :- p(X). b(X) :- q(X).", processes)
        answers = parallel.answer_sets(window("p(1)"))
        os.kill(started[0], signal.SIGKILL)
        with pytest.raises(SolvingError, match="ended unexpectedly"):
            parallel.answer_sets(window("p(1)"))
        assert parallel.answer_sets(window("p(1)")) == answers == (AnswerSet(("a(1)",)),)


# -- what pays -----------------------------------------------------------------------------

SPLIT, MORE = Way(2), Way(4)


def simulated(
    seconds: Callable[[Way], float], windows: int, facts: int = 1000
) -> tuple[float, int]:
    """Total time of so many windows, and how many were not evaluated whole."""
    adaptive, facts = Adaptive([WHOLE, SPLIT]), 1000
    total, split = 0.0, 0
    for _ in range(windows):
        choice = adaptive.choose(facts)
        split += choice.way != WHOLE
        took = seconds(choice.way)
        if choice.seconds is not None and took > choice.seconds:
            total += choice.seconds
            adaptive.took(facts, choice.way, float("inf"))
            choice = adaptive.choose(facts)
            took = seconds(choice.way)
        total += took
        adaptive.took(facts, choice.way, took)
    return total, split


@pytest.mark.parametrize("split_s", [0.1, 0.5, 100.0])
def test_where_splitting_does_not_pay_it_costs_less_than_five_per_cent(split_s: float) -> None:
    total, split = simulated(lambda way: 0.09 if way == WHOLE else split_s, 2_000)
    assert 1 <= split < 20
    assert total < 2_000 * 0.09 / 0.95


def test_where_splitting_pays_it_is_found_out_at_once_and_kept() -> None:
    total, split = simulated(lambda way: 0.2 if way == WHOLE else 0.1, 2_000)
    assert split > 1_980
    assert total < 2_000 * 0.1 / 0.95


def test_what_lost_is_tried_again_and_wins_when_times_have_changed() -> None:
    changing = iter(range(10_000))

    def seconds(way: Way) -> float:
        return 0.1 if way == WHOLE else (0.3 if next(changing) < 2 else 0.02)

    _total, split = simulated(seconds, 500)
    assert split > 200


def test_all_ways_are_tried_and_all_that_lost_again() -> None:
    ways = [WHOLE, SPLIT, MORE, Way(2, 1)]
    adaptive = Adaptive(ways)
    tried = []
    for _ in range(600):
        way = adaptive.choose(1000).way
        adaptive.took(1000, way, 0.1 if way == MORE else 0.2)
        tried += [way] * (way != MORE)
    assert tried[:2] == [WHOLE, SPLIT]
    assert tried.count(SPLIT) == tried.count(Way(2, 1)) == 2
    assert tried[-3:] == [WHOLE, SPLIT, Way(2, 1)]
    assert len(tried) < 600 * 0.05


def test_small_windows_are_left_whole() -> None:
    _total, split = simulated(lambda way: 0.005, 100)
    assert split == 0


def test_the_first_large_window_is_split_and_the_first_small_one_is_not() -> None:
    assert Adaptive([WHOLE, SPLIT, MORE]).choose(LARGE) == Turn(SPLIT)
    assert Adaptive([WHOLE, SPLIT, MORE]).choose(LARGE - 1) == Turn(WHOLE)
    assert Adaptive([WHOLE]).choose(LARGE) == Turn(WHOLE)


def test_a_new_size_is_evaluated_as_the_nearest_that_was_measured() -> None:
    adaptive = Adaptive([WHOLE, SPLIT])
    for way, took in ((WHOLE, 0.5), (SPLIT, 0.1)):
        adaptive.choose(600)
        adaptive.took(600, way, took)
    assert adaptive.choose(1500) == Turn(SPLIT)


def test_a_trial_may_take_little_longer_than_what_is_known() -> None:
    adaptive = Adaptive([WHOLE, SPLIT])
    adaptive.choose(100)
    adaptive.took(100, WHOLE, 0.4)
    assert adaptive.choose(100) == Turn(SPLIT, 1.25 * 0.4 + choosing.WORTH_S)


def test_powers_are_recognized() -> None:
    assert [n for n in range(1, 1001) if is_power(n, 10)] == [1, 10, 100, 1000]


class Recording(Inline):
    """Notes how many tasks each window became."""

    width = 2

    def __init__(self) -> None:
        super().__init__()
        self.tasks: list[int] = []

    def run(self, tasks: Sequence[Task]) -> list[Outcome]:
        self.tasks.append(len(tasks))
        return super().run(tasks)


@pytest.mark.parametrize("evaluated_by", ["solver", "auto"])
def test_answers_do_not_depend_on_what_is_chosen(
    monkeypatch: pytest.MonkeyPatch, evaluated_by: EngineName
) -> None:
    """Windows grow and shrink; whole and split are tried again and again."""
    monkeypatch.setattr(choosing, "WORTH_S", 0.0)
    monkeypatch.setattr(choosing, "LARGE", 40)
    monkeypatch.setattr(choosing, "_FIRST_WAIT", 1)
    recording, what, facts = Recording(), request(JAMS), streets(30)
    parallel = ParallelEngine(what, facts, executor=recording, partitions=4, engine=evaluated_by)
    whole = SolverEngine(what, facts)
    for turn in range(40):
        window = speeds(5 + turn * 13 % 60, turn)
        assert parallel.answer_sets(window) == whole.answer_sets(window)
    assert {1, 2, 4} <= set(recording.tasks)


def test_a_reasoner_that_tells_what_changed_is_answered_alike_whatever_is_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The engine that keeps the window here may miss some, while others are tried; the
    changes it tells are those of the answers."""
    monkeypatch.setattr(choosing, "WORTH_S", 0.0)
    monkeypatch.setattr(choosing, "_FIRST_WAIT", 3)
    what, facts, recording = request(JAMS), streets(30), Recording()
    what = replace(what, inputs=frozenset({Signature("speed", 2)}))
    items = [Item(t // 3, f"speed({t * 7 % 30},{t * 37 % 100})", t, stream="s") for t in range(400)]
    parallel = ParallelEngine(what, facts, executor=recording, partitions=2, engine="auto")
    expected = list(Reasoner(what, background=facts).push(items))
    found = list(Reasoner(what, engine=parallel).push(items))
    assert [e.answer_sets for e in found] == [e.answer_sets for e in expected]
    told = 0
    for before, after in pairwise(found):
        (old,), (new,) = before.answer_sets, after.answer_sets
        if after.added is not None and after.removed is not None:
            told += 1
            assert set(after.added) == set(new.atoms) - set(old.atoms)
            assert set(after.removed) == set(old.atoms) - set(new.atoms)
    assert 0 < told < len(found)
    assert recording.tasks


def test_what_must_be_evaluated_incrementally_and_cannot_be_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="choice"):
        engine("{ a(X) } :- p(X).", Inline(), engine="incremental")


def test_facts_that_are_no_windows_count_where_they_are_ground_with_it() -> None:
    """A program without streams has them all in its text or its knowledge."""
    recording, text = Recording(), "".join(f"p({n},{n % 9})." for n in range(LARGE))
    what = parse(f"{text} q(X) :- p(X,Y), not p(Y,X). #show q/1.")
    parallel = ParallelEngine(what, executor=recording, partitions=3)
    assert parallel.answer_sets(WindowFacts("")) == SolverEngine(what).answer_sets(WindowFacts(""))
    recording.tasks += [0]
    known = ParallelEngine(
        parse("in(D) :- street(R,D). #show in/1."), streets(LARGE), executor=recording
    )
    known.answer_sets(WindowFacts(""))
    assert recording.tasks == [2, 0, 2]


def test_where_the_whole_reaches_a_limit_parts_are_tried(processes: Processes) -> None:
    rules = "same(K,X,Y) :- p(K,X), p(K,Y). #show same/3."
    facts = window(*(f"p({n % 40},{n})" for n in range(400)))
    limits = Limits(atoms=3500)
    whole = SolverEngine(request(rules), limits=limits)
    with pytest.raises(LimitError):
        whole.answer_sets(facts)
    parallel = ParallelEngine(request(rules), limits=limits, executor=processes, partitions=4)
    (answer,) = parallel.answer_sets(facts)
    assert len(answer.atoms) == 4000


class Crowded(Recording):
    """The first evaluation is stopped for its memory, long after it began on a machine that
    gave it little time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.allowed: list[float | None] = []
        self._late = 0.0
        now = time.perf_counter
        monkeypatch.setattr(
            "citywise.reasoning.partition.engine.time.perf_counter", lambda: now() + self._late
        )

    def run(self, tasks: Sequence[Task]) -> list[Outcome]:
        self.allowed.append(tasks[0].seconds)
        if not self._late:
            self._late = 1000.0
            error = LimitError("it used more than 10 MB")
            error.seconds = 20.0
            raise error
        return super().run(tasks)


def test_another_way_is_given_the_cpu_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    crowded = Crowded(monkeypatch)
    what, facts = (
        request("same(K,X,Y) :- p(K,X), p(K,Y). #show same/3."),
        window("p(1,2)", "p(2,3)"),
    )
    parallel = ParallelEngine(what, limits=Limits(seconds=50), executor=crowded, partitions=4)
    assert parallel.answer_sets(facts) == SolverEngine(what).answer_sets(facts)
    first, second = crowded.allowed
    assert first is None
    assert second is not None
    assert 29 < second <= 30


def test_a_worker_that_is_stopped_says_what_it_used() -> None:
    """What is evaluated in another way is left the rest."""
    rules, limits = request("h(0) :- q. h(X+1) :- h(X). #show h/1."), Limits(50, atoms=200_000)
    guarded = GuardedEngine(rules, limits=limits)
    with closing(guarded), pytest.raises(LimitError, match="ground atoms") as caught:
        guarded.answer_sets(WindowFacts("q.\n"))
    assert 0 < caught.value.seconds < 50


def test_a_trial_that_takes_too_long_leaves_the_rest_to_the_way_that_is_known(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "WORTH_S", 0.0)
    what, limits = request("n(N) :- N = #count{R : speed(R,_)}. #show n/1."), Limits(seconds=60)
    parallel = ParallelEngine(what, limits=limits, executor=processes, engine="auto")
    (first,) = parallel.answer_sets(speeds(30, 0))
    monkeypatch.setattr(Adaptive, "choose", tried_for_no_time(Adaptive.choose))
    used = count()
    monkeypatch.setattr(guard, "used_s", lambda _process: float(next(used)))
    assert parallel.answer_sets(speeds(30, 1)) == (first,)


def tried_for_no_time(choose: Callable[[Adaptive, int], Turn]) -> Callable[[Adaptive, int], Turn]:
    """The solver is tried first, in less time than anything takes."""
    tries = iter([Turn(WHOLE, 1e-6)])
    return lambda adaptive, facts: next(tries, None) or choose(adaptive, facts)


def test_too_many_answer_sets_are_no_reason_to_try_another_way() -> None:
    recording = Recording()
    what, limits = request("{a(X)} :- p(X). b(X) :- q(X), not r(X)."), Limits(models=10)
    parallel = ParallelEngine(what, limits=limits, executor=recording)
    with pytest.raises(LimitError, match="more than 10 answer sets"):
        parallel.answer_sets(window(*(f"p({n})" for n in range(6))))
    assert recording.tasks == [1]


def test_facts_that_windows_have_choose_the_key() -> None:
    """What there is most of is split, what there is less of goes to all; and planned anew,
    when that has changed."""
    parallel = engine("near(X,Y) :- p(X), q(Y), |X-Y| < 2.", Inline(), adaptive=True)
    split = []
    for large in "p" * 9 + "q" * 91:
        atoms = [f"{name}({n})" for name in "pq" for n in range(30 if name == large else 2)]
        parallel.answer_sets(window(*atoms))
        assert parallel.plan
        (partition,) = parallel.plan.partitions
        assert partition.key
        split.append([s.name for s in partition.key.positions if s.name != "near"])
    assert split == [["p"]] * 9 + [["q"]] * 91


def test_closing_ends_all_processes() -> None:
    others = psutil.Process().children(recursive=True)
    parallel = engine(TWO, Processes(2))
    assert parallel.answer_sets(window("p(1)", "q(1,2)")) == (AnswerSet(("a(1)", "b(1)"), (1,)),)
    children = set(psutil.Process().children(recursive=True)) - set(others)
    assert children
    parallel.close()
    assert not any(child.is_running() for child in children)
