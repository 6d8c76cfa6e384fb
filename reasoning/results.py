"""Results as JSON Lines (DESIGN A4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from reasoning.errors import SolvingError
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


def with_deltas(results: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Add `added` and `removed`, sorted, against the result before.

    A result that failed is skipped over; one without an answer set has no atoms. Raises
    `SolvingError` at a result with several answer sets.
    """
    before: set[str] = set()
    for values in results:
        if "error" not in values:
            atoms = _only(values)
            values["added"] = sorted(atoms - before)
            values["removed"] = sorted(before - atoms)
            before = atoms
        yield values


def _only(values: dict[str, Any]) -> set[str]:
    sets = values["answer_sets"]
    if len(sets) > 1:
        raise SolvingError(
            f"at {values['t']} there are {len(sets)} answer sets: deltas are for programs with "
            "one; ask for one (`--models 1`), or add constraints or preferences"
        )
    return set(sets[0]) if sets else set()
