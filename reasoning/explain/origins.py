"""Where a window's facts come from: stream items, knowledge bases, the previous answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from citywise.reasoning.errors import ItemError
from citywise.reasoning.model.atoms import ground
from citywise.reasoning.model.values import Value, atom_text, parsed, replaced
from citywise.reasoning.rdf.knowledge import KnowledgeOrigin as KnowledgeOrigin
from citywise.reasoning.rdf.mapping import Triple
from citywise.reasoning.rdf.ntriples import write
from citywise.reasoning.streams.items import Item

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


@dataclass(frozen=True, slots=True)
class Remembered:
    """The fact is a time: since when an atom holds, when it held last, or that of the
    evaluation."""

    what: Literal["since", "last", "now"]
    time: Time


Origin = ItemOrigin | KnowledgeOrigin | FedBack | Remembered
Facts = Mapping[str, tuple[Origin, ...]]
"""A window's facts as ASP text, each with everything that gave it."""

OutsideReason = Literal[
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
    reason: OutsideReason
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


def origin_json(origin: Origin) -> dict[str, Any]:
    """An origin as values JSON can hold."""
    if isinstance(origin, ItemOrigin):
        found: dict[str, Any] = {"t": origin.time, "stream": origin.item.stream}
        if origin.until is not None:
            found["until"] = origin.until
        return {"from": "stream", **found, "source": origin.source}
    if isinstance(origin, KnowledgeOrigin):
        detail = origin.detail
        text = detail if isinstance(detail, str) or detail is None else _n_triples(detail)
        return {"from": "knowledge", "source": origin.source, "detail": text}
    if isinstance(origin, Remembered):
        return {"from": origin.what, "t": origin.time}
    assert isinstance(origin, FedBack)
    return {"from": "previous", "t": origin.time}


def _n_triples(triple: Triple) -> str:
    return f"{' '.join(write(term) for term in triple)} ."


def origin_text(origin: Origin) -> str:
    """Where a fact comes from, in words."""
    if isinstance(origin, ItemOrigin):
        time = f"at {origin.time}" + ("" if origin.until is None else f" until {origin.until}")
        stream = f"stream <{origin.item.stream}> " if origin.item.stream else "stream "
        return stream + time + (f" ({origin.source})" if origin.source else "")
    if isinstance(origin, KnowledgeOrigin):
        detail = origin_json(origin)["detail"]
        return f"knowledge {origin.source}" + (f": {detail}" if detail else "")
    if isinstance(origin, Remembered):
        words = {"since": "has held since", "last": "held last at", "now": "it is"}
        return f"{words[origin.what]} {origin.time}"
    return "from the previous answer" + ("" if origin.time is None else f", at {origin.time}")


def outside_text(outside: Outside) -> str:
    """Why an item is not in the window, with the times."""
    where = origin_text(outside.origin)
    window = outside.window and f"the window [{outside.window[0]}, {outside.window[1]}]"
    said = {
        "too old": f"is before {window or 'the window'}",
        "not yet": f"is after {window}" if window else "had not arrived yet",
        "waiting": "is in no window yet: its window was not evaluated since it came",
        "too late": "came too late: its time had been closed",
        "before the start": "is before the start of the run",
        "pushed out": "has been pushed out of the count window by later items",
        "refused": "was refused",
        "filtered": "is not among the request's inputs",
    }[outside.reason]
    detail = f": {outside.detail}" if outside.detail else ""
    return f"{where} {said}{detail}"
