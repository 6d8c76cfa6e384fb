"""Answer sets on their way from a worker to its guard; large ones travel in pieces, so that
neither side holds their whole text twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from reasoning.engines import frames
from reasoning.engines.solver import AnswerSet

_PIECE = 50_000
"""Atoms in a message."""


def send(sink: int, answers: Sequence[AnswerSet]) -> None:
    """Say `answers`.

    The first message holds for each answer set its atoms, its cost, and 0; or no atoms, and
    the number of messages with them that follow: one atom a line (strings
    escape line breaks).
    """
    small = sum(len(answer.atoms) for answer in answers) <= _PIECE
    pieces = [0 if small else -(-len(answer.atoms) // _PIECE) for answer in answers]
    said = [
        [() if count else answer.atoms, answer.cost, count]
        for answer, count in zip(answers, pieces, strict=True)
    ]
    frames.send(sink, {"answers": said})
    for answer, count in zip(answers, pieces, strict=True):
        for start in range(0, count * _PIECE, _PIECE):
            piece = "\n".join(answer.atoms[start : start + _PIECE])
            frames.send_text(sink, piece.encode())


def answer_sets(first: dict[str, Any], following: Callable[[], bytearray]) -> tuple[AnswerSet, ...]:
    """The answer sets that `send` said: its first message, and what gives the others."""
    return tuple(
        _answer_set(atoms, cost, pieces, following) for atoms, cost, pieces in first["answers"]
    )


def _answer_set(
    atoms: list[str], cost: list[int], pieces: int, following: Callable[[], bytearray]
) -> AnswerSet:
    for _piece in range(pieces):
        atoms += following().decode().split("\n")
    return AnswerSet(tuple(atoms), tuple(cost))
