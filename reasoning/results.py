"""Results as JSON Lines (DESIGN A4), and what changes from one to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reasoning.engines.solver import AnswerSet, difference
from reasoning.errors import ReasoningError, SolvingError
from reasoning.reasoner import Evaluation


def result(evaluation: Evaluation, time: int | str | None) -> dict[str, Any]:
    """The result object of an evaluation: `t`, `answer_sets`, and `cost` if there is one;
    `t` and `error` if it failed. `time` is written as given, None without streams."""
    if evaluation.error is not None:
        return {"t": time, "error": evaluation.error}
    values: dict[str, Any] = {"t": time}
    values["answer_sets"] = [list(answer.atoms) for answer in evaluation.answer_sets]
    if evaluation.answer_sets and evaluation.answer_sets[0].cost:
        values["cost"] = list(evaluation.answer_sets[0].cost)
    return values


class Deltas:
    """What came to be shown and is shown no more, from evaluation to evaluation.

    Parameters
    ----------
    ambiguous:
        The error for an evaluation with several answer sets.
    """

    def __init__(self, ambiguous: Callable[[Evaluation], ReasoningError]) -> None:
        self._ambiguous = ambiguous
        self._before: AnswerSet | None = None

    def of(self, evaluation: Evaluation) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Atoms that came and went, sorted, against the evaluation before.

        One without an answer set has no atoms; one that failed is to be left out. Raises
        what `ambiguous` gives.
        """
        answers = evaluation.answer_sets
        if len(answers) > 1:
            raise self._ambiguous(evaluation)
        before, self._before = self._before, answers[0] if answers else None
        if evaluation.added is None or evaluation.removed is None:
            return difference(before, self._before)
        return evaluation.added, evaluation.removed


def several(evaluation: Evaluation, time: int | str | None) -> SolvingError:
    """The error for deltas of an evaluation with several answer sets."""
    return SolvingError(
        f"at {time} there are {len(evaluation.answer_sets)} answer sets: deltas are for programs "
        "with one; ask for one (`--models 1`), or add constraints or preferences"
    )
