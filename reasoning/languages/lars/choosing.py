"""Which engine evaluates a program of plain LARS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from reasoning.errors import ReasoningError
from reasoning.languages.lars.compile import stratify, written
from reasoning.languages.lars.evaluation import Evaluator
from reasoning.languages.lars.incremental import IncrementalEvaluator
from reasoning.languages.lars.program import LarsProgram
from reasoning.languages.lars.solver import solver
from reasoning.limits import Limits
from reasoning.model.engine import Knowledge
from reasoning.model.strata import NestingError, StratificationError

Choice = Literal["auto", "incremental", "solver"]


class LoopError(ReasoningError):
    """A program is to be evaluated incrementally and cannot be: it is not stratified."""


def evaluator(
    program: LarsProgram,
    knowledge: Knowledge | None = None,
    limits: Limits | None = None,
    choice: Choice = "auto",
) -> Evaluator:
    """What evaluates a program: the incremental engine if it is stratified, else clingo.

    `incremental` raises `LoopError` for a program that is not, `solver` takes any.
    """
    if choice == "solver":
        return solver(program, knowledge, limits)
    why = obstacle(program)
    if why is None:
        return IncrementalEvaluator(program, knowledge, limits)
    if choice == "auto":
        return solver(program, knowledge, limits)
    raise LoopError(
        f"{program.request.name}: {why}, so it cannot be evaluated incrementally; "
        "use --engine auto or solver, or write the rules without that"
    )


def obstacle(program: LarsProgram) -> str | None:
    """Why a program cannot be evaluated incrementally; None if it can."""
    try:
        loop = loop_of(program)
    except NestingError as error:
        return str(error)
    return None if loop is None else loop_text(loop)


def loop_of(program: LarsProgram) -> tuple[str, ...] | None:
    """Window atoms that depend on one another through `not`, □ or counting, as the
    incremental engine names them; None for a stratified program. Raises `NestingError`."""
    try:
        stratify(program)
    except StratificationError as error:
        return error.loop
    return None


def loop_text(loop: Sequence[str]) -> str:
    """The loop in words."""
    shown = list(dict.fromkeys(map(written, loop)))
    return "a loop through negation, [] or counting: " + " -> ".join((*shown, shown[0]))
