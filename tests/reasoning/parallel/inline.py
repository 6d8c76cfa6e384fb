"""An executor that evaluates tasks in the process of the test."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from citywise.reasoning.engines.clingo.solver import Solving
from citywise.reasoning.engines.programs import ProgramEngine
from citywise.reasoning.model.engine import AnswerSet
from citywise.reasoning.partition.executors import Outcome, ProgramPart, Task

_KEPT = 64
"""Incremental engines that it keeps."""


class Inline:
    """One task after the other, in this process.

    Of the limits clingo keeps those on atoms and models; `Task.seconds` is ignored.
    """

    width = 1

    def __init__(self) -> None:
        self._engines: OrderedDict[ProgramPart, ProgramEngine] = OrderedDict()

    def run(self, tasks: Sequence[Task]) -> list[Outcome]:
        """See `Executor`."""
        return [self._outcome(task) for task in tasks]

    def close(self) -> None:
        """Forget the windows."""
        self._engines.clear()

    def _outcome(self, task: Task) -> Outcome:
        # Its time is that of this process, where it is counted already.
        return Outcome(self._answered(task), 0.0)

    def _answered(self, task: Task) -> tuple[AnswerSet, ...]:
        return (
            self._engine(task.part).answers(task.facts) if task.part.incremental else _solved(task)
        )

    def _engine(self, part: ProgramPart) -> ProgramEngine:
        if part not in self._engines:
            self._engines[part] = ProgramEngine(
                part.program, part.knowledge, part.dynamic, part.limits
            )
            if len(self._engines) > _KEPT:
                self._engines.popitem(last=False)
        self._engines.move_to_end(part)
        return self._engines[part]


def _solved(task: Task) -> tuple[AnswerSet, ...]:
    part = task.part
    solving = Solving(part.program, part.limits)
    solving.add("base", part.program.rules, part.knowledge, task.facts)
    solving.ground("base")
    return solving.answer_sets(task.models)
