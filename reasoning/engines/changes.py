"""What engines are told that follow the windows of a request from tick to tick."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, runtime_checkable

from reasoning.engines.program import WindowFacts
from reasoning.program import Signature

if TYPE_CHECKING:
    from reasoning.engines.incremental.terms import Row
    from reasoning.engines.solver import AnswerSet


@dataclass(slots=True)
class Atoms:
    """Ground atoms, some as text, some as rows."""

    texts: list[str] = field(default_factory=list)
    rows: defaultdict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    """By relation: `p/2`."""

    def __bool__(self) -> bool:
        return bool(self.texts or self.rows)


Entered: TypeAlias = Mapping[int | None, Atoms]
"""Atoms by the last instant at which they are in their window; None: until they leave it.
An atom is listed once for each item that supplies it."""


@dataclass(frozen=True)
class WindowChange:
    """What entered and left the windows of a request since the evaluation before.

    Instants are integers that never decrease; count ticks at time t are at 2t, the time
    tick, which comes after them, at 2t + 1.
    """

    now: int
    """The instant of the evaluation."""
    entered: Entered
    left: Sequence[str]
    """Atoms that entered without a last instant and have left."""
    supplied: frozenset[Signature]
    """Predicates that the request's streams have supplied so far."""
    size: int
    """Atoms in the windows."""
    anew: bool
    """Whether what was told before counts no more: only `whole` says what there is."""
    whole: Callable[[], Entered]
    """Everything in the windows, as if it had entered now; to be asked before the next."""
    window: Callable[[], WindowFacts]
    """The same as text for a solver."""


class Answered(NamedTuple):
    """The answer to a change: what is shown, and what came to be shown and is no more.

    `added` and `removed` are sorted, against the last answer (no atoms where there was no
    answer set); None where the engine does not know. Errors are no answers.
    """

    answer_sets: tuple[AnswerSet, ...]
    added: tuple[str, ...] | None = None
    removed: tuple[str, ...] | None = None

    def as_first(self) -> Answered:
        """The same, where there was no answer before."""
        return Answered(self.answer_sets, self.answer_sets[0].atoms if self.answer_sets else (), ())


@runtime_checkable
class ChangingEngine(Protocol):
    """An engine that can be told what changed, and answers with what changed.

    It is told of every evaluation of one reasoner, in order; after an error, too.
    """

    def answer_sets(self, window: WindowFacts, models: int = 0) -> tuple[AnswerSet, ...]:
        """See `Engine`."""

    def changed(self, change: WindowChange, models: int = 0) -> Answered:
        """The answer after a change; raises as `Engine.answer_sets` does."""

    def close(self) -> None:
        """See `Engine`."""
