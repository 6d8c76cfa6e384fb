"""The relations of an encoding of plain LARS in ASP, and their names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from reasoning.engines.program import OURS
from reasoning.lars.program import (
    At,
    Box,
    Counted,
    Diamond,
    Formula,
    LarsProgram,
    LastTuples,
    Rule,
    Window,
)
from reasoning.program import Signature

NOW = f"{OURS}now"
"""The point of time that is evaluated."""
FIRST = f"{OURS}first"
"""The first point of the timeline."""
View = Literal["timed", "some", "every"]


@dataclass(frozen=True)
class Seen:
    """What a window shows of a predicate: at which points of time an atom holds (`timed`,
    the time is the last argument), that it holds at some, or at every one.

    `window` is None for the whole timeline.
    """

    signature: Signature
    window: Window | None
    view: View


def seen_by(formula: At | Diamond | Box | Counted) -> Seen:
    """What a formula needs to know of its predicate."""
    views: dict[type[Formula], View] = {Diamond: "some", Box: "every"}
    return Seen(formula.atom.signature, formula.window, views.get(type(formula), "timed"))


@dataclass(frozen=True)
class Line:
    """A statement of an encoding on its line, and what it is for: a rule of the program,
    what a window sees, or the predicate whose atoms heads place in time (`@T p`)."""

    text: str
    source: Rule | Seen | Signature | None = None


class Relations:
    """The relations of a program's encoding; those of windows are named when they are met.

    Parameters
    ----------
    known:
        Predicates of the knowledge bases, whose facts hold at every point of time.
    stamp:
        A token that is the last argument of all relations but those of data and knowledge;
        empty: none.
    """

    def __init__(self, program: LarsProgram, known: Collection[Signature], stamp: str) -> None:
        self.program, self.known, self.stamp = program, frozenset(known), stamp
        self.seen: dict[Seen, str] = {}
        """What windows show."""
        self.placed: dict[Signature, str] = {}
        """Atoms that heads place in time, the time being the last argument."""
        self.inputs: dict[Signature, str] = {}
        """The data with their times, where rules say what windows see of them."""
        self.background: dict[Signature, str] = {}
        """Knowledge, of which windows see every fact at every point of time."""
        self.ranges: dict[Window | None, str] = {}
        """The points of time of a window."""
        self._names: dict[str, str] = {}
        for rule in program.rules:
            if rule.head is not None and rule.time is not None:
                self.placed.setdefault(rule.head.signature, f"{OURS}at{len(self.placed)}")

    @property
    def point(self) -> str:
        """The point of time that is evaluated, in a rule with the `clock` in its body."""
        return self.stamp or "N"

    @property
    def clock(self) -> str:
        """That it is the point of time."""
        return f"{NOW}({self.point})"

    def holding(self, signature: Signature) -> str:
        """Atoms that hold now: the predicate itself, where there is no stamp."""
        if not self.stamp:
            return signature.name
        sign = "-" if signature.name.startswith("-") else ""
        plain = signature.name.removeprefix("-")
        return sign + self._names.setdefault(plain, f"{OURS}n{len(self._names)}")

    def view(self, seen: Seen) -> str:
        """What a window shows."""
        return self.seen.setdefault(seen, f"{OURS}w{len(self.seen)}")

    def data(self, signature: Signature) -> str:
        """The data of a predicate, with their times."""
        return self.inputs.setdefault(signature, f"{OURS}i{len(self.inputs)}")

    def knowledge(self, signature: Signature) -> str:
        """The knowledge of a predicate."""
        return self.background.setdefault(signature, f"{OURS}b{len(self.background)}")

    def inside(self, window: Window | None) -> str:
        """That `T` is a point of time of a window."""
        relation = self.ranges.setdefault(window, f"{OURS}in{len(self.ranges)}")
        return self.call(relation, ["T"])

    def is_derived(self, seen: Seen) -> bool:
        """Whether rules add to what the data give a window to see."""
        return seen.signature in self.program.derived and not isinstance(seen.window, LastTuples)

    def call(self, relation: str, texts: Sequence[str]) -> str:
        """An atom of a relation that has the stamp."""
        return call(relation, [*texts, self.stamp] if self.stamp else texts)


def call(relation: str, texts: Sequence[str]) -> str:
    """An atom as text."""
    return f"{relation}({','.join(texts)})" if texts else relation


def rule(head: str, body: Sequence[str]) -> str:
    """A rule, or a constraint where the head is empty, as text."""
    return f"{head} :- {'; '.join(body)}." if body else f"{head}."


def variables(signature: Signature) -> list[str]:
    """Variables for the arguments of a predicate."""
    return [f"X{number}" for number in range(1, signature.arity + 1)]
