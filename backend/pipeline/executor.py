"""Tasks of the parallel engine in Spark's Python workers.

What is evaluated in every window is broadcast once; a window's facts travel with its tasks.
Each Python worker keeps its solver processes from one window to the next.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pyspark import Broadcast
from pyspark.sql import SparkSession

from reasoning.errors import ReasoningError
from reasoning.parallel.executors import Outcome, Part, Task, Warm

_KEPT = 64
"""Parts that stay broadcast."""
_WARM: list[Warm] = []
"""The solver processes of this Python worker, once it has any."""


class _Order(NamedTuple):
    """A task as it travels: its part is among those broadcast."""

    part: int
    facts: str
    models: int
    seconds: float | None


class SparkExecutor:
    """Evaluates tasks on the executors of a Spark session, which the caller stops.

    Parameters
    ----------
    width:
        How many tasks to work on at the same time; default: what the session has cores for.
    """

    def __init__(self, spark: SparkSession, width: int | None = None) -> None:
        self._context = spark.sparkContext
        self.width = width or self._context.defaultParallelism
        self._sent: OrderedDict[Part, Broadcast[Part]] = OrderedDict()

    def run(self, tasks: Sequence[Task]) -> list[Outcome]:
        """See `Executor`; the others end before the first failure is raised."""
        if not tasks:
            return []
        parts = list(dict.fromkeys(task.part for task in tasks))
        places = {part: place for place, part in enumerate(parts)}
        sent = [self._send(part) for part in parts]
        orders = [_Order(places[t.part], t.facts, t.models, t.seconds) for t in tasks]
        slices = min(len(orders), self.width)
        found = self._context.parallelize(orders, slices).mapPartitions(_Evaluation(sent)).collect()
        self._forget()
        for outcome in found:
            if isinstance(outcome, ReasoningError):
                raise outcome
        return [outcome for outcome in found if isinstance(outcome, Outcome)]

    def close(self) -> None:
        """Forget what was broadcast; the workers' processes end with the session."""
        while self._sent:
            self._sent.popitem(last=False)[1].unpersist()

    def _send(self, part: Part) -> Broadcast[Part]:
        if part not in self._sent:
            self._sent[part] = self._context.broadcast(part)
        self._sent.move_to_end(part)
        return self._sent[part]

    def _forget(self) -> None:
        while len(self._sent) > _KEPT:
            self._sent.popitem(last=False)[1].unpersist()


class _Evaluation:
    """Evaluates orders in a Python worker; failures come back as what they are."""

    def __init__(self, parts: Sequence[Broadcast[Part]]) -> None:
        self._parts = parts

    def __call__(self, orders: Iterable[_Order]) -> Iterator[Outcome | ReasoningError]:
        if not _WARM:
            _WARM.append(Warm())
        for order in orders:
            part = self._parts[order.part].value
            try:
                yield _WARM[0].evaluate(Task(part, order.facts, order.models, order.seconds))
            except ReasoningError as error:
                yield error
