"""Answer sets on their way from a worker to its guard; large ones travel in pieces, so that
neither side holds their whole text twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from reasoning.engines.solver import AnswerSet

_PIECE = 50_000
"""Atoms in a message."""


def messages(answers: Sequence[AnswerSet]) -> Iterator[Any]:
    """The messages that say `answers`.

    The first holds for each answer set its atoms, its cost, and 0; or no atoms, and the
    number of messages with them that follow.
    """
    small = sum(len(answer.atoms) for answer in answers) <= _PIECE
    pieces = [0 if small else -(-len(answer.atoms) // _PIECE) for answer in answers]
    yield {
        "answers": [
            [() if count else answer.atoms, answer.cost, count]
            for answer, count in zip(answers, pieces, strict=True)
        ]
    }
    for answer, count in zip(answers, pieces, strict=True):
        for piece in range(count):
            yield answer.atoms[piece * _PIECE : (piece + 1) * _PIECE]


def answer_sets(first: dict[str, Any], following: Callable[[], Any]) -> tuple[AnswerSet, ...]:
    """The answer sets that `messages` said: its first message, and what gives the others."""
    return tuple(
        _answer_set(atoms, cost, pieces, following) for atoms, cost, pieces in first["answers"]
    )


def _answer_set(
    atoms: list[str], cost: list[int], pieces: int, following: Callable[[], Any]
) -> AnswerSet:
    for _piece in range(pieces):
        atoms += following()
    return AnswerSet(tuple(atoms), tuple(cost))
