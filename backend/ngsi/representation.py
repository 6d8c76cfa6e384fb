"""Entities as a client wants them: normalized, concise, simplified (key-values), or GeoJSON.

Source: ETSI GS CIM 009 V1.8.1, clauses 4.5.1 to 4.5.6 and 4.5.16.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from citywise.backend.ngsi.entities import Entity

SYSTEM = ("createdAt", "modifiedAt")
"""Attributes of the system: in all entities, shown to who asks for them."""
_MEMBERS = frozenset(("id", "type", *SYSTEM))
_VALUES = {"Property": "value", "GeoProperty": "value", "Relationship": "object"}
Form = Callable[[Entity], Entity]


def only(entity: Entity, names: Collection[str] | None) -> Entity | None:
    """An entity with some of its attributes; None where it has none of them."""
    if names is None:
        return entity
    if entity.keys().isdisjoint(names):
        return None
    return {n: value for n, value in entity.items() if n in _MEMBERS or n in names}


def picked(entity: Entity, names: Collection[str]) -> Entity | None:
    """Some members of an entity alone, also of `id` and `type`; None where it has none of them."""
    return {n: value for n, value in entity.items() if n in names} or None


def without_system(entity: Entity) -> Entity:
    """An entity without the times of the system."""
    return {name: value for name, value in entity.items() if name not in SYSTEM}


def with_system(entity: Entity) -> Entity:
    """An entity whose attributes have the times of the system, as it has."""
    told = {name: entity[name] for name in SYSTEM if name in entity}
    return {n: value if n in _MEMBERS else {**value, **told} for n, value in entity.items()}


def normalized(entity: Entity) -> Entity:
    """As it is."""
    return entity


def simplified(entity: Entity) -> Entity:
    """Each attribute is its value."""
    return {name: value if name in _MEMBERS else value_of(value) for name, value in entity.items()}


def concise(entity: Entity) -> Entity:
    """Without types; an attribute that is nothing but its value is that."""
    return {n: value if n in _MEMBERS else _short(value) for n, value in entity.items()}


def value_of(attribute: Mapping[str, Any]) -> Any:
    """What an attribute says; a time is a text, as in the Smart Data Models."""
    value = attribute[_VALUES[attribute["type"]]]
    return value["@value"] if isinstance(value, dict) and "@value" in value else value


def _short(attribute: Mapping[str, Any]) -> Any:
    rest = {name: value for name, value in attribute.items() if name != "type"}
    return rest["value"] if set(rest) == {"value"} else rest


def feature(entity: Entity, form: Form, name: str = "location") -> Entity:
    """An entity as a Feature; its geometry is that of an attribute, null where it has none."""
    attribute = entity.get(name)
    geometry = None
    if isinstance(attribute, dict) and attribute["type"] == "GeoProperty":
        geometry = attribute["value"]
    shown = form(entity)
    properties = {key: value for key, value in shown.items() if key != "id"}
    identity = {"id": entity["id"]} if "id" in entity else {}
    return {**identity, "type": "Feature", "geometry": geometry, "properties": properties}
