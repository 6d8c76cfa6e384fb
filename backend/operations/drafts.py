"""What an operator gives to open an event by hand, or to change one."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from citywise.backend.ingest.payloads import Geometry, Name, Payload
from citywise.backend.kinds import Identifier, UtcTime
from citywise.backend.packs import ontology

_ROOT = ontology.expand("ev:CityEvent")


@cache
def types() -> dict[str, dict[str, Any]]:
    """The classes of `ontologies/event.ttl` below a category, by local name: `type`,
    `category` and `labels` by language."""
    known = ontology.city()
    categories = {iri for iri in known.classes if _ROOT in known.parents.get(iri, ())}
    found = {}
    for iri in known.below(_ROOT):
        above = known.superclasses(iri) & categories - {iri}
        if above:
            name = ontology.local_name(iri)
            labels = {tongue: text for (of, tongue), text in known.labels.items() if of == iri}
            category = ontology.local_name(min(above))
            found[name] = {"type": name, "category": category, "labels": labels}
    return found


def _type(given: str) -> str:
    if given not in types():
        raise ValueError(f"expected one of {', '.join(types())}")
    return given


Type = Annotated[str, AfterValidator(_type)]
Level = Annotated[int, Field(ge=1, le=5)]


class Draft(Payload):
    """An event to open: at a place, or at a geometry and then with a name.

    `start` null: now; `until` null: until somebody ends it.
    """

    type: Type
    level: Level = 3
    place_id: Identifier | None = None
    geometry: Geometry | None = None
    name: Name | None = None
    start: UtcTime | None = None
    until: UtcTime | None = None

    @model_validator(mode="after")
    def _somewhere(self) -> Draft:
        if (self.place_id is None) == (self.geometry is None):
            raise ValueError("expected either `place_id` or `geometry`")
        if self.geometry is not None and self.name is None:
            raise ValueError("with `geometry` a `name` is needed: what people are told it is at")
        return self


class Changes(Payload):
    """What is new about an event that was opened by hand; what is absent stays."""

    level: Level = 3
    name: Name = "?"
    start: UtcTime | None = None
    until: UtcTime | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Changes:
        if not self.model_fields_set:
            raise ValueError("expected at least one of level, name, start, until")
        if "start" in self.model_fields_set and self.start is None:
            raise ValueError("`start` cannot be removed")
        return self
