"""What instants of a theory show, as text in ASP syntax."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import Generic, TypeVar

from reasoning.engines.incremental.views import AnswerView, Texts
from reasoning.engines.solver import AnswerSet
from reasoning.rif.evaluation import Fact
from reasoning.rif.names import Names

Member = TypeVar("Member", bound=Hashable)


class Change(Generic[Member]):
    """What came to a set and is gone from it."""

    def __init__(self, came: Collection[Member] = (), gone: Collection[Member] = ()) -> None:
        self.came, self.gone = came, gone

    def then(self, other: Change[Member]) -> Change[Member]:
        """This one and another after it, as one."""
        if not self.came and not self.gone:
            return other
        came, gone = {*self.came}, {*self.gone}
        return Change(
            (came - {*other.gone}) | ({*other.came} - gone),
            (gone - {*other.came}) | ({*other.gone} - came),
        )


class Answers(Texts):
    """The shown facts as text, kept from step to step.

    Facts that differ in what ASP cannot tell apart (`"1.5"` and the number) are one text.
    """

    def __init__(self, names: Names) -> None:
        super().__init__()
        self._write = names.atom
        self._counts: dict[str, int] = {}
        """How many shown facts read so."""

    def follow(
        self, came: Iterable[Fact], gone: Iterable[Fact]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Take over what a step changed; the texts that came and
        those that are gone, sorted."""
        added = [text for text in map(self._write, came) if self._count(text, 1) == 1]
        removed = [text for text in map(self._write, gone) if self._count(text, -1) == 0]
        return self.noted(added, removed)

    def answer(self) -> AnswerSet:
        """The answer as of the last step, whatever steps follow."""
        return AnswerView(self.version)

    def _count(self, text: str, number: int) -> int:
        count = self._counts.get(text, 0) + number
        if count:
            self._counts[text] = count
        else:
            del self._counts[text]
        return count

    def _every(self) -> Iterable[str]:
        return self._counts
