"""What an evaluation of a program over streams gives, in every language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reasoning.model.engine import AnswerSet
from reasoning.streams.items import Item


@dataclass(frozen=True)
class Evaluation:
    """The answer at one tick."""

    time: int
    """Tick, in the request's unit."""
    answer_sets: tuple[AnswerSet, ...]
    items: Sequence[Item]
    """The content of the windows, put together when it is asked for."""
    atoms: int
    """Facts given to the engine."""
    seconds: float
    """Wall time of the engine, 0 when an equal window was answered before."""
    error: str | None = None
    """Why there is no answer; the evaluations after it go on from the answer before."""
    fed_back: tuple[str, ...] = ()
    """Atoms of the evaluation before that this one saw, as `prev_…`."""
    added: tuple[str, ...] | None = None
    """Shown atoms, sorted, that the last answer before had not (one without an answer set has
    none); None where the engine does not know, or there is an error."""
    removed: tuple[str, ...] | None = None
    """Those of the last answer that are shown no more."""
