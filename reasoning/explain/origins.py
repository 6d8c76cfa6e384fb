"""Where a window's facts come from: stream items, knowledge bases, the previous answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from reasoning.errors import ItemError
from reasoning.model.atoms import ground
from reasoning.model.terms import Value
from reasoning.model.values import atom_text, parsed, replaced
from reasoning.rdf.knowledge import KnowledgeOrigin as KnowledgeOrigin
from reasoning.streams.items import Item

Time = int | str
"""A time in the request's unit, or as the recording writes it."""


@dataclass(frozen=True, slots=True)
class ItemOrigin:
    """A stream item gave the fact; `source` is its place, `bookings.jsonl:1`, if known.

    `written` are its time and its end as the recording writes times, for people to read
    (default: the item's own, in the request's unit).
    """

    item: Item
    source: str | None = None
    written: tuple[Time, Time | None] | None = None

    @property
    def time(self) -> Time:
        """The item's time, to be read."""
        return self.item.time if self.written is None else self.written[0]

    @property
    def until(self) -> Time | None:
        """The last time at which the item holds, if it has an interval."""
        return self.item.until if self.written is None else self.written[1]


@dataclass(frozen=True, slots=True)
class FedBack:
    """The fact is an atom of the previous answer, that of `time` if known."""

    time: Time | None = None


Origin = ItemOrigin | KnowledgeOrigin | FedBack
Facts = Mapping[str, tuple[Origin, ...]]
"""A window's facts as ASP text, each with everything that gave it."""

Reason = Literal[
    "too old", "not yet", "waiting", "too late", "before the start", "pushed out", "refused",
    "filtered",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outside:
    """An item that was there but not in the window of the evaluation, and why.

    `too old` and `not yet` are about `window`, the closed interval [from, to] of the
    window at that evaluation, if it is one of time; `waiting` items came since their
    window was last evaluated, `too late` ones after their time had been closed, those
    `before the start` before the run's first time; `pushed out` ones left a count window,
    `refused` ones have no value in ASP (`detail` says what was wrong), `filtered` ones are
    not among the request's `#input`.
    """

    origin: ItemOrigin
    reason: Reason
    window: tuple[Time, Time] | None = None
    detail: str = ""


Outsiders = Mapping[str, tuple[Outside, ...]]
"""Facts of items outside the window, as ASP text, each with the items that gave it."""


Known = TypeVar("Known")


def valued(
    facts: Mapping[str, tuple[Known, ...]], constants: Mapping[str, Value]
) -> Mapping[str, tuple[Known, ...]]:
    """Facts as they are evaluated: names stand for what `#const` says, in the data too."""
    if not constants:
        return facts
    found: dict[str, tuple[Known, ...]] = {}
    for fact, known in facts.items():
        text = _valued(fact, constants)
        found[text] = (*found.get(text, ()), *known)
    return found


def _valued(fact: str, constants: Mapping[str, Value]) -> str:
    try:
        name, row = parsed(ground(fact))
    except ItemError:
        return fact
    return atom_text(name, tuple(replaced(value, constants) for value in row))


def spelled(fact: str) -> str:
    """A fact in clingo's own spelling, if it is a single ground atom."""
    try:
        return ground(fact)
    except ItemError:
        return fact
