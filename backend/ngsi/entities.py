"""Places, the latest readings and events as entities, in the normalized representation.

Types are made of the names of kinds: a place of kind `noise_meter` is a `NoiseMeter`, a reading of
kind `noise` a `NoiseObserved`; an event has its own type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from citywise.backend.connectors.units import CODES_OF
from citywise.backend.kinds import Kind, Kinds
from citywise.backend.kinds.kind import Field
from citywise.backend.packs import ontology
from citywise.backend.times import iso

Entity = dict[str, Any]
URN = "urn:ngsi-ld"
CORE = "https://uri.etsi.org/ngsi-ld/v1/ngsi-ld-core-context-v1.8.jsonld"
OBSERVED = "Observed"
_OWN = frozenset(("id", "kind", "name", "geometry", "sensors"))
_SAFE = ":@!$*,;=()~'"


def type_of(name: str) -> str:
    """The type of a kind of place: `noise_meter` is `NoiseMeter`."""
    return "".join(part.capitalize() for part in name.split("_"))


def observed_type(name: str) -> str:
    """The type of the readings of a kind."""
    return type_of(name) + OBSERVED


def urn(kind: str, identity: str) -> str:
    """The id of an entity."""
    return f"{URN}:{kind}:{quote(identity, safe=_SAFE)}"


def place(body: Mapping[str, Any], kinds: Kinds) -> Entity:
    """A place, from its payload."""
    known = kinds.places.get(body["kind"])
    kind = type_of(body["kind"])
    found: Entity = {"id": urn(kind, body["id"]), "type": kind, "name": _property(body["name"])}
    for name, value in body.items():
        if name not in _OWN and value is not None:
            found[name] = _property(value, known.fields.get(name) if known else None)
    found["location"] = _located(body["geometry"])
    return found


def observation(
    kind: Kind, sensor: str, at_ms: int, values: Mapping[str, Any], at: Mapping[str, Any] | None
) -> Entity:
    """A reading; `at` is the payload of its place, where that is known."""
    name = observed_type(kind.kind)
    moment = iso(at_ms)
    found: Entity = {"id": urn(name, sensor), "type": name}
    for field, about in kind.fields.items():
        if (value := values.get(field)) is not None:
            found[field] = {**_property(value, about), "observedAt": moment}
    found["dateObserved"] = _time(moment)
    if at is not None:
        target = urn(type_of(at["kind"]), at["id"])
        found["hasFeatureOfInterest"] = {"type": "Relationship", "object": target}
        found["location"] = _located(at["geometry"])
    return found


def event(body: Mapping[str, Any], geometry: Mapping[str, Any] | None) -> Entity:
    """An event, as the API shows it; `geometry` is that of its place, where that is known."""
    kind, at = ontology.local_name(body["type"]), body["place"]
    found: Entity = {
        "id": urn(kind, body["id"]),
        "type": kind,
        "name": _property(at["name"]),
        "level": _property(body["level"]),
        "isOpen": _property(body["end"] is None and "withdrawn" not in body),
        "startedAt": _time(body["start"]),
        "confirmedAt": _time(body["confirmed"]),
    }
    if body["end"] is not None:
        found["endedAt"] = _time(body["end"])
    if "withdrawn" in body:
        found["withdrawnAt"] = _time(body["withdrawn"])
    if at["kind"] is not None:
        target = urn(type_of(at["kind"]), at["id"])
        found["hasFeatureOfInterest"] = {"type": "Relationship", "object": target}
    if geometry is None and at["lat"] is not None:
        geometry = {"type": "Point", "coordinates": [at["lon"], at["lat"]]}
    if geometry is not None:
        found["location"] = _located(geometry)
    return found


def context(kinds: Kinds) -> dict[str, Any]:
    """What the terms mean: each field its property, the others terms of ours."""
    base = "https://w3id.org/citywise/ngsi#"
    terms: dict[str, Any] = {"@vocab": base}
    for kind in kinds.values():
        terms[observed_type(kind.kind)] = f"{base}{observed_type(kind.kind)}"
        for field in kind.fields:
            terms.setdefault(field, kind.rdf(field))
    for name in kinds.places:
        terms[type_of(name)] = f"{base}{type_of(name)}"
    terms["hasFeatureOfInterest"] = {
        "@id": "http://www.w3.org/ns/sosa/hasFeatureOfInterest",
        "@type": "@id",
    }
    return {"@context": terms}


def _property(value: Any, field: Field | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "Property", "value": value}
    if field is not None and field.unit is not None and not field.unit.startswith("{"):
        found["unitCode"] = CODES_OF.get(field.unit, field.unit)
    return found


def _time(moment: str) -> dict[str, Any]:
    return {"type": "Property", "value": {"@type": "DateTime", "@value": moment}}


def _located(geometry: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "GeoProperty", "value": dict(geometry)}
