"""City events from answers: what opened, went on and cleared between two evaluations.

A request makes events by showing `event(Type, Place, Level, OpenedBy, ConfirmedBy)` for
every event that is open, and `ended(Type, Place, OpenedBy, EndedBy)` for each that ends;
the last two arguments are observations (docs/events.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

from citywise.backend.city.observations import observed_ms, place_id
from citywise.backend.times import iso, iso_or_none, parse_ms
from citywise.reasoning.model import values

_PLACE = ("name", "kind", "lat", "lon")
OPERATOR = "operator"
"""Where events come from that somebody opened by hand: no request has concluded them."""
DETECTOR = "detector"
"""Where events come from that others report over MQTT."""

UNREVISED: Mapping[str, Any] = dict.fromkeys(("key", "opened_ms", "revised", "withdrawn_ms"))
"""Columns of `events` that only a request's events fill, and only revision the last two."""

ChangeKind = Literal[
    "event.opened", "event.updated", "event.cleared", "event.corrected", "event.withdrawn"
]
"""The last two tell that what was announced before was not so, since a reading came late, was
corrected or withdrawn (docs/revision.md)."""


@dataclass(frozen=True)
class Event:
    """An open event as an answer states it."""

    type: str
    place: str
    level: int
    opened_by: str
    confirmed_by: str

    @cached_property
    def id(self) -> str:
        """Type, place and time of opening name an event."""
        start = iso(observed_ms(self.opened_by)).replace("-", "").replace(":", "")
        return f"{self.type}-{self.place}-{start}"


@dataclass(frozen=True)
class Change:
    """What happened to an event at one evaluation, and the observation behind it."""

    kind: ChangeKind
    event: Event
    by: str

    def to_json(self) -> dict[str, Any]:
        event = self.event
        return {
            "kind": self.kind,
            "id": event.id,
            "type": event.type,
            "place_id": event.place,
            "level": event.level,
            "start_ms": observed_ms(event.opened_by),
            "confirmed_ms": observed_ms(event.confirmed_by),
            "end_ms": observed_ms(self.by) if self.kind == "event.cleared" else None,
        }


def changes(before: Iterable[str], after: Iterable[str]) -> list[Change]:
    """Compare two answers' atoms; ends come first, then openings, then confirmations."""
    old = dict(_events(before))
    atoms = list(after)
    new = dict(_events(atoms))
    ends = {(e[0], e[1], e[2]): e[3] for e in _ended(atoms)}
    found: list[Change] = []
    # Sorted is only what changed: most events stand, and are the same objects as before.
    for key in sorted(old.keys() - new.keys()):
        event = old[key]
        by = ends.get((event.type, event.place, event.opened_by), event.confirmed_by)
        found.append(Change("event.cleared", event, by))
    for key in sorted(new.keys() - old.keys()):
        event = new[key]
        found.append(Change("event.opened", event, event.opened_by))
        if event.confirmed_by != event.opened_by:
            found.append(Change("event.updated", event, event.confirmed_by))
    stand = ((key, event) for key, event in new.items() if key in old)
    for key in sorted(key for key, event in stand if event is not old[key] and event != old[key]):
        found.append(Change("event.updated", new[key], new[key].confirmed_by))
    return found


def open_events(atoms: Iterable[str]) -> dict[str, Event]:
    """The events that an answer states, by id."""
    return dict(_events(atoms))


def event_object(event: Mapping[str, Any], place: Mapping[str, Any] | None) -> dict[str, Any]:
    """The event of docs/api.md from a row of `events` and one of `places`, with the request the
    event comes from and the atoms behind it; a place nobody has described has only its id.

    An event opened by hand, or of a foreign system, may have a place of its own, and then a line
    too, where it is along one or around an area."""
    nowhere = {"name": event["place_id"], "kind": None, "lat": None, "lon": None}
    known = event.get("place") or place or nowhere
    where = {"id": event["place_id"], **{k: known[k] for k in _PLACE}}
    if known["kind"] is None and (known.get("geometry") or {}).get("type") == "LineString":
        where["geometry"] = known["geometry"]
    shown = {
        "id": event["id"],
        "type": event["type"],
        "level": event["level"],
        "place": where,
        "start": iso(event["start_ms"]),
        "confirmed": iso(event["confirmed_ms"]),
        "end": iso_or_none(event["end_ms"]),
        "request": event["request"],
        "causes": event["causes"],
    }
    if (revised := event.get("revised")) is not None:
        because = [cause_object(cause) for cause in revised["because"]]
        shown["revised"] = {"number": revised["number"], "because": because}
        if (was := revised.get("was")) is not None:
            shown["revised"]["was"] = {
                "level": was["level"],
                "start": iso(was["start_ms"]),
                "end": iso_or_none(was["end_ms"]),
            }
    if event.get("withdrawn_ms") is not None:
        shown["withdrawn"] = iso(event["withdrawn_ms"])
    return shown


def cause_object(cause: Mapping[str, Any]) -> dict[str, Any]:
    """A reading that changed the past, as the API shows it."""
    named = {name: cause[name] for name in ("kind", "sensor", "what", "before", "after")}
    return {**named, "observed_at": iso(cause["observed_ms"])}


def _source(event: Mapping[str, Any]) -> str:
    """Who reports an event: what a detector says, an authority, or sensors."""
    told = event["causes"].get("source")
    if told is not None:
        return str(told)
    return "authority" if event["request"] == OPERATOR else "sensor"


def standing_event(
    event: Mapping[str, Any], geometry: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """An event of docs/api.md as it stands in the log; None when it is over."""
    if event["end"] is not None:
        return None
    return {
        "type": event["type"],
        "level": event["level"],
        "place_id": event["place"]["id"],
        "name": event["place"]["name"],
        "geometry": geometry,
        "start_ms": parse_ms(event["start"]),
        "source": _source(event),
        **({"revision": event["revised"]["number"]} if "revised" in event else {}),
    }


@lru_cache(maxsize=20_000)  # an event that is open stands in one answer after the other
def _event(text: str) -> tuple[str, Event] | None:
    """An event's id and the event; None where the atom has other arguments."""
    found = _arguments(text, 5)
    if found is None:
        return None
    kind, place, level, opened, confirmed = found
    event = Event(kind.removeprefix("ev_"), place_id(place), level, opened, confirmed)
    return event.id, event


def _arguments(text: str, arity: int) -> list[Any] | None:
    _name, row = values.parsed(text)
    return [_plain(value) for value in row] if len(row) == arity else None


def _plain(value: values.Value) -> str | int:
    """A number, what a string holds, or the text of another term."""
    if isinstance(value, int):
        return value
    text = values.text(value)
    return values.unquoted(text) if text.startswith('"') else text


def _events(atoms: Iterable[str]) -> Iterable[tuple[str, Event]]:
    for text in atoms:
        if text.startswith("event(") and (found := _event(text)) is not None:
            yield found


def _ended(atoms: Iterable[str]) -> Iterable[tuple[str, str, str, str]]:
    for text in atoms:
        if text.startswith("ended(") and (found := _arguments(text, 4)) is not None:
            kind, place, opened, by = found
            yield kind.removeprefix("ev_"), place_id(place), opened, by
