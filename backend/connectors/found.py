"""What a connector makes of a message: places, observations, events, and what it cannot use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from citywise.backend.times import iso

Body = dict[str, Any]


class Fault(Exception):  # noqa: N818 - it is what is wrong with a message, no error of ours
    """A part of a message cannot be used; the rest of it may.

    `reason` is one word for programs, `at` where it stands, `said` a sentence for people.
    """

    def __init__(self, reason: str, at: str, said: str) -> None:
        super().__init__(said)
        self.reason, self.at, self.said = reason, at, said


@dataclass(frozen=True, slots=True)
class Place:
    """A place with a sensor, as at `citywise/places/<kind>/<id>` (docs/mqtt.md)."""

    body: Body
    sensors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Kinds by sensor, where the format has sensors of its own: their ids are not the place's."""

    def to_json(self) -> Body:
        """As `connect try` prints it."""
        return {"place": self.body}


@dataclass(frozen=True, slots=True)
class Reading:
    """One observation: values in the units of its kind, and what no kind has, raw."""

    kind: str
    sensor: str
    observed_ms: int
    """Unix milliseconds."""
    values: Mapping[str, Any]
    extra: Mapping[str, Any]

    def to_json(self) -> Body:
        """As `connect try` prints it."""
        body = {"kind": self.kind, "sensor": self.sensor, "observed_at": iso(self.observed_ms)}
        return {"observation": {**body, **self.values, **self._extra()}}

    def _extra(self) -> Body:
        return {"extra": dict(self.extra)} if self.extra else {}


@dataclass(frozen=True, slots=True)
class Event:
    """An event as it is now, as at `citywise/events/<id>`; without a body it is over."""

    id: str
    body: Body | None
    ends_ms: int | None = None
    """When it will be over by itself, where the message says so."""

    def to_json(self) -> Body:
        """As `connect try` prints it."""
        return {"event": {"id": self.id, **(self.body or {"ended": True})}}


@dataclass(frozen=True, slots=True)
class Unknown:
    """A thing of which no kind knows anything: no fault of the message."""

    type: str
    at: str

    def to_json(self) -> Body:
        """As `connect try` prints it."""
        return {"unknown": self.type, "at": _place_of(self.at)}


@dataclass(frozen=True, slots=True)
class Refused:
    """A part of a message that is at fault, and where it stands."""

    reason: str
    at: str
    said: str

    def to_json(self) -> Body:
        """As `connect try` prints it."""
        return {"refused": self.reason, "at": _place_of(self.at)}


def _place_of(at: str) -> str:
    """Where something stands: of JSON in a line of a file, the line."""
    return at.partition("/")[0] if at.startswith("line ") else at


Found = Place | Reading | Event | Unknown | Refused
Finds = Iterator[Found]


def refused(fault: Fault) -> Refused:
    """What a fault is printed as."""
    return Refused(fault.reason, fault.at, fault.said)
