"""The relations of an encoding of plain LARS in ASP, their names, and rules for what windows see.

Such rules are there where it is not given as facts (see `encoding`). Windows see what is derived,
now or placed at another point of time; knowledge, at every point; and with a stamp also the data.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from reasoning.languages.lars.program import (
    At,
    Box,
    Counted,
    Diamond,
    Formula,
    LarsProgram,
    LarsRule,
    LastTuples,
    Window,
)
from reasoning.model.engine import OURS
from reasoning.model.request import Signature

NOW = f"{OURS}now"
"""The point of time that is evaluated."""
FIRST = f"{OURS}first"
"""The first point of the timeline."""
POINT = "N"
"""The variable of the point of time that is evaluated, where `CLOCK` is in the body."""
CLOCK = f"{NOW}({POINT})"
"""That it is the point of time."""
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
    source: LarsRule | Seen | Signature | None = None


class Relations:
    """The relations of a program's encoding; those of windows are named when they are met.

    Parameters
    ----------
    known:
        Predicates of the knowledge bases, whose facts hold at every point of time.
    """

    def __init__(self, program: LarsProgram, known: Collection[Signature]) -> None:
        self.program, self.known = program, frozenset(known)
        self.seen: dict[Seen, str] = {}
        """What windows show."""
        self.placed: dict[Signature, str] = {}
        """Atoms that heads place in time, the time being the last argument."""
        self.background: dict[Signature, str] = {}
        """Knowledge, of which windows see every fact at every point of time."""
        self.ranges: dict[Window | None, str] = {}
        """The points of time of a window."""
        for rule in program.rules:
            if rule.head is not None and rule.time is not None:
                self.placed.setdefault(rule.head.signature, f"{OURS}at{len(self.placed)}")

    def view(self, seen: Seen) -> str:
        """What a window shows."""
        return self.seen.setdefault(seen, f"{OURS}w{len(self.seen)}")

    def knowledge(self, signature: Signature) -> str:
        """The knowledge of a predicate."""
        return self.background.setdefault(signature, f"{OURS}b{len(self.background)}")

    def inside(self, window: Window | None) -> str:
        """That `T` is a point of time of a window."""
        relation = self.ranges.setdefault(window, f"{OURS}in{len(self.ranges)}")
        return call(relation, ["T"])

    def is_derived(self, seen: Seen) -> bool:
        """Whether rules add to what the data give a window to see."""
        return seen.signature in self.program.derived and not isinstance(seen.window, LastTuples)


def call(relation: str, texts: Sequence[str]) -> str:
    """An atom as text."""
    return f"{relation}({','.join(texts)})" if texts else relation


def rule(head: str, body: Sequence[str]) -> str:
    """A rule, or a constraint where the head is empty, as text."""
    return f"{head} :- {'; '.join(body)}." if body else f"{head}."


def variables(signature: Signature) -> list[str]:
    """Variables for the arguments of a predicate."""
    return [f"X{number}" for number in range(1, signature.arity + 1)]


def viewing(relations: Relations) -> Iterator[Line]:
    """Rules for all that the program's windows show."""
    todo = list(relations.seen)
    for seen in todo:
        yield from (Line(text, seen) for text in _of_derived(relations, seen))
        if seen.signature in relations.known:
            yield Line(_of_knowledge(relations, seen), seen)
        todo += [new for new in relations.seen if new not in todo]


def placing(relations: Relations, signature: Signature) -> Line:
    """Atoms that heads place now hold now."""
    texts = variables(signature)
    now = call(relations.placed[signature], [*texts, POINT])
    head = call(signature.name, texts)
    return Line(rule(head, [now, CLOCK]), signature)


def _of_derived(relations: Relations, seen: Seen) -> Iterator[str]:
    if not relations.is_derived(seen):
        return
    texts = variables(seen.signature)
    now = call(seen.signature.name, texts)
    if seen.view == "every":
        yield _everywhere(relations, seen, now)
    elif seen.view == "timed":
        head = call(relations.seen[seen], [*texts, POINT])
        yield rule(head, [now, CLOCK])
        yield from _of_placed(relations, seen)
    else:
        yield rule(call(relations.seen[seen], texts), [now])
        yield from _of_placed(relations, seen)


def _of_placed(relations: Relations, seen: Seen) -> Iterator[str]:
    if seen.signature in relations.placed:
        texts = [*variables(seen.signature), "T"]
        placed = call(relations.placed[seen.signature], texts)
        yield rule(_shown(relations, seen), [placed, *_within(relations, seen.window)])


def _everywhere(relations: Relations, seen: Seen, now: str) -> str:
    """Derived atoms and data together may fill all points of a window."""
    timed = relations.view(replace(seen, view="timed"))
    atom = call(timed, [*variables(seen.signature), "T"])
    each = f"{atom} : {relations.inside(seen.window)}"
    return rule(_shown(relations, seen), [each, now])


def _of_knowledge(relations: Relations, seen: Seen) -> str:
    fact = call(relations.knowledge(seen.signature), variables(seen.signature))
    points = [relations.inside(seen.window)] if seen.view == "timed" else []
    return rule(_shown(relations, seen), [fact, *points])


def _shown(relations: Relations, seen: Seen) -> str:
    """That a window shows an atom, at `T` if it shows points of time."""
    texts = variables(seen.signature)
    timed = seen.view == "timed"
    return call(relations.seen[seen], [*texts, "T"] if timed else texts)


def _within(relations: Relations, window: Window | None) -> list[str]:
    return [] if window is None else [relations.inside(window)]
