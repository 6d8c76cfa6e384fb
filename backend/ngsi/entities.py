"""Places, the latest readings and events as entities, in the normalized representation.

Types are made of the names of kinds: a place of kind `noise_meter` is a `NoiseMeter`, a reading of
kind `noise` a `NoiseObserved`; an event has its own type. A reading is told once more as the type
of the Smart Data Models that its kind names, such as `NoiseLevelObserved`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from citywise.backend.kinds import Kind, Kinds
from citywise.backend.kinds.data_model import Attribute, DataModel
from citywise.backend.kinds.kind import Field
from citywise.backend.kinds.units import CODES_OF, convert
from citywise.backend.packs import ontology
from citywise.backend.times import iso

Entity = dict[str, Any]
URN = "urn:ngsi-ld"
CORE = "https://uri.etsi.org/ngsi-ld/v1/ngsi-ld-core-context-v1.8.jsonld"
MODELS = "https://smartdatamodels.org/"
OBSERVED = "Observed"
_OWN = frozenset(("id", "kind", "name", "geometry", "sensors"))
_SAFE = ":@!$*,;=()~'"
_IS_SAFE = re.compile(r"[A-Za-z0-9_.~:@!$*,;=()'-]*").fullmatch
"""Of most names, sooner than by `quote`."""
OF_PLACE = frozenset(("name", "location", "hasFeatureOfInterest"))
"""What a reading's entity says of its place."""


@lru_cache(maxsize=1024)
def type_of(name: str) -> str:
    """The type of a kind of place: `noise_meter` is `NoiseMeter`."""
    return "".join(part.capitalize() for part in name.split("_"))


def observed_type(name: str) -> str:
    """The type of the readings of a kind."""
    return type_of(name) + OBSERVED


@lru_cache(maxsize=16)
def own_types(kinds: Kinds) -> Mapping[str, Kind]:
    """The kinds of readings by their own types."""
    return {observed_type(name): kind for name, kind in kinds.items()}


@lru_cache(maxsize=16)
def place_types(kinds: Kinds) -> frozenset[str]:
    """The types of the kinds of places."""
    return frozenset(map(type_of, kinds.places))


@lru_cache(maxsize=16)
def model_types(kinds: Kinds) -> Mapping[str, tuple[Kind, ...]]:
    """The kinds that are told as a type of the Smart Data Models, by that type.

    Where it is the kind's own type as well (`WeatherObserved` of `weather`), there is one entity.
    """
    found: dict[str, tuple[Kind, ...]] = {}
    for kind in kinds.values():
        if kind.ngsi is not None and kind.ngsi.type != observed_type(kind.kind):
            found[kind.ngsi.type] = (*found.get(kind.ngsi.type, ()), kind)
    return found


def urn(kind: str, identity: str) -> str:
    """The id of an entity."""
    told = identity if _IS_SAFE(identity) else quote(identity, safe=_SAFE)
    return f"{URN}:{kind}:{told}"


def place(body: Mapping[str, Any], kinds: Kinds, updated_ms: int | None = None) -> Entity:
    """A place, from its payload, and since when it is so."""
    known = kinds.places.get(body["kind"])
    kind = type_of(body["kind"])
    found: Entity = {"id": urn(kind, body["id"]), "type": kind, "name": _property(body["name"])}
    for name, value in body.items():
        if name not in _OWN and value is not None:
            found[name] = _property(value, known.fields.get(name) if known else None)
    found["location"] = _located(body["geometry"])
    if updated_ms is not None:
        found["modifiedAt"] = iso(updated_ms)
    return found


def readings(
    kind: Kind, sensor: str, at_ms: int, values: Mapping[str, Any], at: Mapping[str, Any] | None
) -> Iterator[Entity]:
    """All entities of a reading: its own, and that of a data model."""
    yield observation(kind, sensor, at_ms, values, at)
    if kind.ngsi is not None and kind.ngsi.type != observed_type(kind.kind):
        found = modelled(kind, kind.ngsi, sensor, at_ms, values, at)
        if found is not None:
            yield found


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
    if kind.ngsi is not None and kind.ngsi.type == name:
        found = {**_attributes(kind, kind.ngsi, at_ms, values), **found}
    found["dateObserved"] = _time(moment)
    if at is not None:
        target = urn(type_of(at["kind"]), at["id"])
        found["hasFeatureOfInterest"] = {"type": "Relationship", "object": target}
        found["location"] = _located(at["geometry"])
    found["modifiedAt"] = moment
    return found


def modelled(
    kind: Kind,
    model: DataModel,
    sensor: str,
    at_ms: int,
    values: Mapping[str, Any],
    at: Mapping[str, Any] | None,
) -> Entity | None:
    """A reading as an entity of a data model; None where it has none of its attributes."""
    attributes = _attributes(kind, model, at_ms, values)
    if not attributes:
        return None
    moment = iso(at_ms)
    found: Entity = {"id": urn(model.type, f"{kind.kind}:{sensor}"), "type": model.type}
    found |= attributes
    if model.since is not None and kind.period_s is not None:
        found[model.since] = _time(iso(at_ms - round(1000 * kind.period_s)))
    found[model.time] = _time(moment)
    if at is not None:
        found["name"] = _property(at["name"])
        found["location"] = _located(at["geometry"])
    found["modifiedAt"] = moment
    return found


def _attributes(kind: Kind, model: DataModel, at_ms: int, values: Mapping[str, Any]) -> Entity:
    """What a data model says of a reading."""
    moment, found = iso(at_ms), {}
    for name, source in model.sources.items():
        about = kind.fields[source.field]
        value = values.get(source.field)
        if value is not None and source.minus is not None:
            less = values.get(source.minus)
            value = None if less is None else max(0, value - less)
        if value is None:
            continue
        if source.unit is not None:
            value = _converted(value, about, source)
        shown = _property(value, about, source.unit)
        found[name] = {**shown, "observedAt": moment}
    return found


def _converted(value: float, about: Field, source: Attribute) -> float:
    assert source.unit is not None  # and convertible, which the kind has seen to
    exact = convert(Fraction(str(value)), about.unit or "1", source.unit)
    return int(exact) if exact.denominator == 1 else round(float(exact), 9)


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
    found["createdAt"] = body["start"]
    found["modifiedAt"] = body.get("withdrawn") or body["end"] or body["confirmed"]
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
        if kind.ngsi is not None:
            for term in (kind.ngsi.type, *kind.ngsi.attributes):
                terms.setdefault(term, f"{MODELS}{term}")
    for name in kinds.places:
        terms[type_of(name)] = f"{base}{type_of(name)}"
    terms["hasFeatureOfInterest"] = {
        "@id": "http://www.w3.org/ns/sosa/hasFeatureOfInterest",
        "@type": "@id",
    }
    return {"@context": terms}


def _property(value: Any, field: Field | None = None, unit: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "Property", "value": value}
    unit = unit or (field.unit if field is not None else None)
    if unit is not None and not unit.startswith("{"):
        found["unitCode"] = CODES_OF.get(unit, unit)
    return found


def _time(moment: str) -> dict[str, Any]:
    return {"type": "Property", "value": {"@type": "DateTime", "@value": moment}}


def _located(geometry: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "GeoProperty", "value": dict(geometry)}
