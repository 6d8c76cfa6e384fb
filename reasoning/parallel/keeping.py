"""The incremental engine in the caller's process: it keeps the window, if it is told of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from reasoning.engines.changes import Answered, WindowChange
from reasoning.engines.incremental.casp import UnsupportedError
from reasoning.engines.incremental.choosing import Choice
from reasoning.engines.incremental.engine import IncrementalEngine
from reasoning.engines.limits import Limits
from reasoning.engines.program import Knowledge, WindowFacts
from reasoning.program import Request, Signature


@dataclass(frozen=True)
class Asked:
    """What is to be evaluated: a window, or how it changed."""

    supplied: frozenset[Signature]
    models: int
    window: Callable[[], WindowFacts]
    change: WindowChange | None = None

    @cached_property
    def facts(self) -> str:
        """The window's, one `atom.` a line."""
        return self.window().text

    @property
    def size(self) -> int:
        """The number of its facts."""
        return self.facts.count("\n") if self.change is None else self.change.size


class Kept:
    """Answers what the engine is asked, which may have missed windows."""

    def __init__(self, engine: IncrementalEngine) -> None:
        self._engine = engine
        self.follows = False
        """Whether it has had the window before."""

    @classmethod
    def of(
        cls,
        request: Request,
        knowledge: Knowledge | None,
        limits: Limits | None,
        choice: Choice,
    ) -> Kept | None:
        """The engine of a request, if it may be used and can evaluate it.

        Raises `UnsupportedError` if it must and cannot.
        """
        if choice == "solver":
            return None
        try:
            return cls(IncrementalEngine(request, knowledge, limits))
        except UnsupportedError:
            if choice == "incremental":
                raise
            return None

    def answer(self, asked: Asked) -> Answered:
        """The answer; what changed is known where the window before was answered here."""
        follows, self.follows = self.follows, False
        if asked.change is None:
            answered = Answered(self._engine.answer_sets(asked.window(), asked.models))
        elif follows:
            answered = self._engine.changed(asked.change, asked.models)
        else:
            change = replace(asked.change, anew=True)
            answered = Answered(self._engine.changed(change, asked.models).answer_sets)
        self.follows = True
        return answered
