"""Subscriptions of NGSI-LD: what they are for, and the notification of a change.

Source: ETSI GS CIM 009 V1.8.1, clauses 5.2.12 (Subscription), 5.2.14 (NotificationParams), 5.3.1
(Notification).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from citywise.backend.kinds import Kinds
from citywise.backend.ngsi import places, query
from citywise.backend.ngsi.entities import CORE, Entity, observed_type
from citywise.backend.ngsi.query import QueryError
from citywise.backend.ngsi.representation import (
    concise,
    normalized,
    only,
    simplified,
    without_system,
)
from citywise.backend.times import iso, wall_ms

LD = "application/ld+json"
_FORMS: Mapping[str, Callable[[Entity], Entity]] = {
    "normalized": normalized,
    "concise": concise,
    "simplified": simplified,
    "keyValues": simplified,
}
_KEPT = ("@base", "@log")
"""What is kept beside what was sent: the address of the pages, and how far it is."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EntitySelector(_Part):
    """Which entities: of a type (its short name or IRI), and of an id or a pattern of ids."""

    type: str = Field(min_length=1, max_length=300)
    id: str | None = Field(default=None, max_length=300)
    idPattern: str | None = Field(default=None, max_length=200)  # noqa: N815 - as it is called


class GeoQuery(_Part):
    """Where they are."""

    georel: str = Field(max_length=100)
    geometry: str = Field(max_length=30)
    coordinates: Any
    geoproperty: str = "location"


class Endpoint(_Part):
    """Where notifications go, and in which format."""

    uri: str = Field(max_length=1000)
    accept: Literal["application/json", "application/ld+json"] = "application/json"


class NotificationParams(_Part):
    """What a notification has."""

    endpoint: Endpoint
    attributes: tuple[str, ...] | None = Field(default=None, max_length=100)
    format: Literal["normalized", "concise", "simplified", "keyValues"] = "normalized"


class Wanted(_Part):
    """A subscription as it is sent; what we do not do is refused by its name."""

    id: str | None = Field(default=None, pattern=r"^urn:[!-~]{1,190}$")
    type: Literal["Subscription"]
    subscriptionName: str | None = Field(default=None, max_length=200)  # noqa: N815
    description: str | None = Field(default=None, max_length=500)
    entities: tuple[EntitySelector, ...] = Field(min_length=1, max_length=100)
    watchedAttributes: tuple[str, ...] | None = Field(default=None, max_length=100)  # noqa: N815
    q: str | None = Field(default=None, max_length=2000)
    geoQ: GeoQuery | None = None  # noqa: N815
    isActive: bool = True  # noqa: N815
    notification: NotificationParams
    context: Any = Field(default=None, alias="@context")


class Notifications:
    """Makes the notifications of one subscription; `base` is the address of the pages."""

    def __init__(self, identity: str, body: Mapping[str, Any]) -> None:
        """Raises `QueryError`."""
        self._id = identity
        told = {name: value for name, value in body.items() if name not in _KEPT}
        self._about = Wanted.model_validate(told)
        self._base = str(body.get("@base", ""))
        self._tests = [_selects(one) for one in self._about.entities]
        self._query = query.parse(self._about.q).test if self._about.q is not None else None
        near = self._about.geoQ
        self._near = None
        if near is not None:
            told = near.coordinates
            text = told if isinstance(told, str) else _written(told)
            self._near = places.parse(near.georel, near.geometry, text, near.geoproperty)

    def observed(self, kinds: Kinds) -> frozenset[str]:
        """The kinds whose readings it is for."""
        types = {short(one.type) for one in self._about.entities}
        every = {
            kind.kind: {"*", observed_type(kind.kind), kind.ngsi and kind.ngsi.type}
            for kind in kinds.values()
        }
        return frozenset(name for name, own in every.items() if types & own)

    def of(self, entities: Iterable[Entity], number: int) -> dict[str, Any] | None:
        """The notification of a change, as the entities that changed; None where it is for none."""
        data = [self._shown(entity) for entity in entities if self._is_for(entity)]
        if not data:
            return None
        return {
            "id": f"urn:ngsi-ld:Notification:{self._id.rpartition(':')[2]}.{number}",
            "type": "Notification",
            "subscriptionId": self._id,
            "notifiedAt": iso(wall_ms()),
            "data": data,
        }

    def _is_for(self, entity: Entity) -> bool:
        if not any(test(entity) for test in self._tests):
            return False
        watched = self._about.watchedAttributes
        if watched is not None and not entity.keys() & set(watched):
            return False
        if self._query is not None and not self._query(entity):
            return False
        return self._near is None or self._near(entity)

    def _shown(self, entity: Entity) -> Entity:
        told = self._about.notification
        chosen = only(entity, told.attributes)
        if chosen is None:
            chosen = {"id": entity["id"], "type": entity["type"]}
        shown = _FORMS[told.format](without_system(chosen))
        return {**shown, "@context": self._contexts()} if self.media == LD else shown

    @property
    def media(self) -> str:
        """The type of a notification's body."""
        return self._about.notification.endpoint.accept

    def headers(self) -> dict[str, str]:
        """What says how to read it."""
        if self.media == LD:
            return {"Content-Type": LD}
        relation = 'rel="http://www.w3.org/ns/json-ld#context"; type="application/ld+json"'
        return {"Content-Type": "application/json", "Link": f"<{self._contexts()[0]}>; {relation}"}

    def _contexts(self) -> list[str]:
        return [f"{self._base}/ngsi-ld/context.jsonld", CORE]


def short(name: str) -> str:
    """The short name of a type."""
    return name.rpartition("#")[2].rpartition("/")[2]


def _selects(about: EntitySelector) -> Callable[[Entity], bool]:
    kind = short(about.type)
    matches = query.matcher(about.idPattern) if about.idPattern is not None else None

    def test(entity: Entity) -> bool:
        if kind not in ("*", entity["type"]):
            return False
        if about.id is not None and about.id != entity["id"]:
            return False
        return matches is None or matches(entity["id"])

    return test


def _written(told: Any) -> str:
    import json

    try:
        return json.dumps(told)
    except (TypeError, ValueError, RecursionError):
        raise QueryError("coordinates: they cannot be read") from None
