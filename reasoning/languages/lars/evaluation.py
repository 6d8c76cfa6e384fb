"""What evaluates a program of plain LARS, one point of time after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from reasoning.errors import SolvingError
from reasoning.languages.lars.program import LarsProgram
from reasoning.model.engine import AnswerSet
from reasoning.model.request import Signature


@dataclass(frozen=True, slots=True)
class Point:
    """A point of time and what arrives there.

    Points come one by one: the first is t1, where the timeline begins, each other is one
    later than the one before, whether or not anything arrives.
    """

    time: int
    arrivals: Sequence[str] = ()
    """Ground atoms in clingo's spelling, in order of arrival (first those of items with an
    interval that still hold); repeated ones may occur."""
    supplied: frozenset[Signature] = frozenset()
    """Predicates that the stream has supplied so far, this point included."""
    readings: Mapping[str, str] = field(default_factory=dict)
    """Arrivals that are one tuple with another: second readings of a triple."""


class Evaluator(Protocol):
    """Evaluates a program at each point of the timeline (Laser, Definitions 5 and 6).

    What `#stream` feeds back is the evaluator's own business: it remembers the atoms of the
    answer, shown or not, as part of the data stream.
    """

    def step(self, point: Point, models: int = 0) -> tuple[AnswerSet, ...]:
        """The answer streams at the next point: the shown atoms that hold there, sorted,
        each once (at most `models`, 0: all).

        Raises `SolvingError`, `LimitError` at a limit; the point has then passed all the
        same, and the data stream holds what arrived.
        """

    def changes(self) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """Atoms that the only answer of the last step has and the one before had not, and
        the other way round, sorted; None where that is not known without comparing."""

    def close(self) -> None:
        """Release processes and memory."""


def shown(program: LarsProgram, supplied: frozenset[Signature]) -> frozenset[Signature]:
    """Predicates whose atoms are printed, where the stream and the knowledge bases supply
    `supplied` (docs/reason.md)."""
    if program.shows is not None:
        return program.shows
    return program.derived - program.request.inputs - supplied


def require_one(program: LarsProgram, answers: Sequence[AnswerSet]) -> None:
    """Raise `SolvingError` where a program that feeds back has not one answer stream."""
    if len(answers) != 1:
        names = ", ".join(f"`#stream {signature}.`" for signature in sorted(program.streamed))
        found = f"{len(answers)} answer streams" if answers else "no answer stream"
        raise SolvingError(
            f"program `{program.request.name}` feeds back ({names}) but has {found}; write rules "
            "that leave one"
        )
