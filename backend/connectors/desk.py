"""What all connectors share: kinds, the source's prefix and zone, and how observations are made.

Nothing here names a kind: a property of a format stands for a *role* (`air_temperature`,
`free_places`), and the kinds say which of their fields fill it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

from citywise.backend.connectors import ids
from citywise.backend.connectors.found import (
    Fault,
    Finds,
    Place,
    Reading,
    Refused,
    Unknown,
    refused,
)
from citywise.backend.connectors.values import fitted, is_absent, plain, whole
from citywise.backend.kinds import Kind, Kinds, builtin

_MOST_EXTRA = 100
_NAME_PARTS = re.compile(r"[^a-z0-9]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True)
class Desk:
    """What a connector works with."""

    kinds: Kinds = field(default_factory=builtin)
    source: str = ""
    """What events say of their source."""
    prefix: str = ""
    """Before every foreign id, where ids of two sources could be the same."""
    zone: tzinfo | None = None
    """Of times without one, where the source's is known."""

    def sensor(self, foreign: str | None, at: str) -> str:
        """The id of a sensor or a place."""
        return ids.identifier(f"{self.prefix}{foreign}" if foreign else "", at)

    def event(self, foreign: str | None, at: str) -> str:
        """The id of an event."""
        return ids.event_id(f"{self.prefix}{foreign}" if foreign else "", at)

    def target(self, role: str) -> tuple[Kind, str] | None:
        """The kind and field that a role is for; of several kinds the first."""
        found = self.kinds.having(role)
        return found[0] if found else None

    def own(self, name: str) -> tuple[Kind, str] | None:
        """The kind of the city's own that has a field of this name, or of this IRI.

        A city that adds a kind for `luminosity` gets it from every format that has it.
        """
        for kind in self.kinds.values():
            if kind.kind in builtin():
                continue
            for field_name in kind.fields:
                if name == kind.rdf(field_name) or snake(name) == field_name:
                    return kind, field_name
        return None

    def kinds_of(self, roles: Iterable[str]) -> list[str]:
        """The kinds that some roles are for, each once."""
        found = (target[0].kind for role in roles if (target := self.target(role)))
        return list(dict.fromkeys(found))

    def place(
        self,
        place_id: str,
        name: str | None,
        geometry: Mapping[str, Any],
        kinds: Iterable[str],
        roles: Mapping[str, Any] | None = None,
        fields: Mapping[str, Any] | None = None,
        sensors: Mapping[str, tuple[str, ...]] | None = None,
    ) -> Iterator[Place]:
        """A place that carries kinds; nothing where no kind of place does.

        `fields` are those of the place by name, `roles` by role; `sensors` are kinds by sensors
        of their own.
        """
        carried = list(dict.fromkeys(kinds))
        sort = next(
            (s for k in carried for s in self.kinds[k].places if s in self.kinds.places), None
        )
        if sort is None:
            return
        body: dict[str, Any] = {"id": place_id, "kind": sort, "name": ids.name(name, place_id)}
        body |= {"geometry": dict(geometry), "sensors": carried}
        for field_name, about in self.kinds.places[sort].fields.items():
            raw = (fields or {}).get(field_name, (roles or {}).get(about.role or ""))
            if not is_absent(raw):
                try:
                    body[field_name] = fitted(about, raw, None, place_id)
                except Fault:  # A capacity of 0 says nothing; the place is there all the same.
                    continue
        yield Place(body, sensors or {})


def snake(name: str) -> str:
    """`relativeHumidity` as `relative_humidity`, of an IRI its last part."""
    last = re.split(r"[#/]", name)[-1] if "://" in name else name
    return _NAME_PARTS.sub("_", _CAMEL.sub("_", last).lower()).strip("_")


class Draft:
    """What one sensor read at one time, as it is found; then observations of one or more kinds."""

    def __init__(self, desk: Desk, sensor: str, observed_ms: int | None, at: str) -> None:
        self._desk, self._sensor, self._observed_ms, self._at = desk, sensor, observed_ms, at
        self._values: dict[str, dict[str, Any]] = {}
        self._extra: dict[str, Any] = {}
        self._faults: list[Refused] = []
        self._is_known = False

    @property
    def kinds(self) -> list[str]:
        """The kinds of which it has values."""
        return list(self._values)

    def put(self, role: str, raw: object, unit: str | None, at: str, name: str = "") -> None:
        """A value of a role; in `extra` under `name` if no kind has the role."""
        if (target := self._desk.target(role)) is None:
            self.keep(name or role, raw)
        elif name and target[1] in self._values.get(target[0].kind, {}):
            self.keep(name, raw)  # a second channel of the same
        else:
            self.fill(target, raw, unit, at)

    def fill(self, target: tuple[Kind, str], raw: object, unit: str | None, at: str) -> None:
        """A value of a kind's field."""
        kind, name = target
        self._is_known = True
        if is_absent(raw):
            return
        try:
            value = fitted(kind.fields[name], raw, unit, at)
        except Fault as fault:
            self._faults.append(refused(fault))
        else:
            self._values.setdefault(kind.kind, {})[name] = value

    def other(self, name: str, raw: object, at: str, unit: str | None = None) -> None:
        """A property that the format does not relate to a role: a kind of the city may have it."""
        if (target := self._desk.own(name)) is not None:
            self.fill(target, raw, unit, at)
        else:
            self.keep(name, raw)

    def keep(self, name: str, raw: object) -> None:
        """A property that no kind has."""
        if raw is not None and len(self._extra) < _MOST_EXTRA:
            found = plain(raw)
            if found is not None:
                self._extra[whole(name)] = found

    def refuse(self, fault: Fault) -> None:
        """A part that is at fault."""
        self._faults.append(refused(fault))

    def finish(self, type_name: str) -> Finds:
        """The observations and what is refused; `Unknown` where no kind knows anything.

        Of a thing that kinds know but that has no values there is nothing to say.
        """
        yield from self._faults
        if not self._values:
            if not (self._faults or self._is_known):
                yield Unknown(type_name, self._at)
            return
        if self._observed_ms is None:
            said = "it names no time with a zone; give the time of reception (--at)"
            yield Refused("no-time", self._at, said)
            return
        extra = self._extra
        for kind, values in self._values.items():
            if missing := self._missing(self._desk.kinds[kind], values):
                said = f"`{kind}` needs {missing} too"
                yield Refused("missing", self._at, said)
                continue
            yield Reading(kind, self._sensor, self._observed_ms, values, extra)
            extra = {}

    @staticmethod
    def _missing(kind: Kind, values: Mapping[str, Any]) -> str:
        """What a kind needs that is not there."""
        needed = [name for name, about in kind.fields.items() if about.required]
        lacking = [f"`{name}`" for name in needed if name not in values]
        if not lacking and len(values) < kind.needed:
            lacking = [f"{kind.needed} of its fields"]
        return ", ".join(lacking)
