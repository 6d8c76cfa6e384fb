"""The parallel engine on Spark: the answers, costs and failures of any other executor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from pyspark.sql import SparkSession

from backend.pipeline import cluster
from backend.pipeline.executor import SparkExecutor
from backend.settings import Settings
from reasoning.engines.limits import LimitError, Limits
from reasoning.engines.program import Program, WindowFacts, program
from reasoning.errors import SolvingError
from reasoning.languages.casp import parse_file
from reasoning.parallel.adaptive import Way
from reasoning.parallel.engine import ParallelEngine
from reasoning.parallel.executors import Inline, Part, Task
from reasoning.program import Signature
from tests.reasoning.parallel.strategies import Example, examples
from tests.reasoning.parallel.test_oracle_parallel import Plans, check

pytestmark = [pytest.mark.slow, pytest.mark.spark]

COLOURS = Program(
    "colours",
    "1 { colour(X,(1;2)) } 1 :- node(X). :- edge(X,Y), colour(X,C), colour(Y,C).\n"
    ":~ colour(X,2). [1@3,X]\n#show colour/2.",
    (3,),
)
FEW = (Plans("sound", True, (Way(2), Way(3))),)
SPLIT = """
#from stream <s> [time 1s step 1s].
#input p/2.
#show far/2.
far(X,Y) :- p(X,Y), not near(X,Y).
near(X,Y) :- p(X,Y), p(X,Z), Z < Y.
"""
COUNTING = Program("counting", "p(0). p(X+1) :- p(X), X < 100000000.", ())
MOVING = frozenset({Signature("node", 1), Signature("edge", 2)})
BROKEN = Program("broken", "p(X) :- q(Y).", ())


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = cluster.session(Settings(data_dir=tmp_path_factory.mktemp("spark")))
    yield session
    session.stop()


def tasks() -> list[Task]:
    """Parts with and without knowledge, large knowledge among it; several windows each."""
    many = "".join(f"node({n}).\n" for n in range(3, 6)) + "".join(
        f"far({n}).\n" for n in range(2000)
    )
    parts = [Part(COLOURS), Part(COLOURS, "node(7).\n"), Part(COLOURS, many, MOVING)]
    facts = ["node(1).\n", "node(1).\nnode(2).\nedge(1,2).\n", "node(1).\nedge(1,1).\n", ""]
    return [Task(part, text) for part in parts for text in facts]


def test_the_outcomes_are_those_of_the_inline_executor_in_the_tasks_order(
    spark: SparkSession,
) -> None:
    executor = SparkExecutor(spark)
    expected = [outcome.answers for outcome in Inline().run(tasks())]
    assert [outcome.answers for outcome in executor.run(tasks())] == expected
    assert [outcome.answers for outcome in executor.run(tasks()[::-1])] == expected[::-1]
    assert executor.run([]) == []
    assert executor.width == 2
    executor.close()


def test_a_request_split_by_key_on_spark_answers_as_one_call_of_clingo(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "request.casp"
    path.write_text(SPLIT)
    request = parse_file(path)
    facts = "".join(f"p({n % 7},{n * n % 31}).\n" for n in range(200))
    window = WindowFacts(facts)
    what = program(request, frozenset())
    (whole,) = Inline().run([Task(Part(what), facts)])
    engine = ParallelEngine(request, executor=SparkExecutor(spark), partitions=3, adaptive=False)
    assert engine.answer_sets(window) == whole.answers
    assert engine.plan is not None
    assert all(partition.key for partition in engine.plan.partitions)
    engine.close()


@given(examples())
@settings(max_examples=2)
def test_any_plan_on_spark_gives_the_answers_of_the_whole(
    spark: SparkSession, example: Example
) -> None:
    check(example, SparkExecutor(spark), FEW)


@pytest.mark.long
@given(examples())
@settings(max_examples=50)
@pytest.mark.timeout(1800)
def test_any_plan_on_spark_gives_the_answers_of_the_whole_many_times_more(
    spark: SparkSession, example: Example
) -> None:
    check(example, SparkExecutor(spark))


def test_failures_come_back_as_what_they_are(spark: SparkSession) -> None:
    executor = SparkExecutor(spark)
    fine = Task(Part(COLOURS), "node(1).\n")
    limits = Limits(seconds=60, megabytes=500, atoms=1000, models=10)
    with pytest.raises(LimitError, match="1,000 ground atoms"):
        executor.run([fine, Task(Part(COUNTING, limits=limits), ""), fine])
    with pytest.raises(SolvingError, match="unsafe"):
        executor.run([fine, Task(Part(BROKEN), "")])
    assert executor.run([fine])[0].answers == Inline().run([fine])[0].answers


def test_many_windows_keep_a_bounded_number_of_parts_broadcast(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.pipeline.executor._KEPT", 2)
    executor = SparkExecutor(spark, width=1)
    for number in range(5):
        (outcome,) = executor.run([Task(Part(COLOURS, f"node({number}).\n"), "")])
        assert outcome.answers[0].atoms == (f"colour({number},1)",)
    assert len(executor._sent) == 2
