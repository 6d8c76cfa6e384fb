"""The vocabulary and the shapes (SHACL) of kinds, generated: as Turtle."""

from __future__ import annotations

import json
from collections.abc import Iterator

from citywise.backend.kinds.kind import CITY, Field, Kind
from citywise.backend.kinds.registry import Kinds
from citywise.reasoning.rdf.mapping import XSD

_PREFIXES = """\
@prefix city: <https://w3id.org/citywise/city#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <https://schema.org/> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix sosa: <http://www.w3.org/ns/sosa/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
_STREAM = "https://w3id.org/citywise/stream/"
_SHAPE = "https://w3id.org/citywise/shapes#"


def vocabulary(kinds: Kinds) -> str:
    """The streams and properties of some kinds."""
    return "\n".join([_PREFIXES, *(part for kind in kinds.values() for part in _terms(kind))])


def shapes(kinds: Kinds) -> str:
    """What observations of some kinds must look like."""
    return "\n".join([_PREFIXES, *map(_shape, kinds.values())])


def _terms(kind: Kind) -> Iterator[str]:
    observed = ", ".join(f"<{_observable(kind, name)}>" for name in kind.fields)
    yield (
        f"<{_STREAM}{kind.kind}> a city:Stream ;\n    city:carries {observed} ;\n"
        f"    {_labels(kind.label, kind.kind)} .\n"
    )
    for name, field in kind.fields.items():
        labels = _labels(field.label, name)
        unit = f"    schema:unitCode {json.dumps(field.unit)} ;\n" if field.unit else ""
        yield f"<{_observable(kind, name)}> a sosa:ObservableProperty ;\n{unit}    {labels} .\n"
        yield (
            f"<{kind.rdf(name)}> a owl:DatatypeProperty ;\n"
            "    rdfs:subPropertyOf sosa:hasSimpleResult ;\n    rdfs:domain sosa:Observation ;\n"
            f"    rdfs:range <{field.datatype}> ;\n"
            f"    city:valueOf <{_observable(kind, name)}> ;\n    {labels} .\n"
        )


def _observable(kind: Kind, field: str) -> str:
    return f"{CITY}{kind.kind}_{field}_observed"


def _labels(label: dict[str, str], otherwise: str) -> str:
    texts = label or {"en": otherwise.replace("_", " ")}
    told = ", ".join(f"{json.dumps(text, ensure_ascii=False)}@{k}" for k, text in texts.items())
    return f"rdfs:label {told}"


def _shape(kind: Kind) -> str:
    paths = ", ".join(f"<{kind.rdf(name)}>" for name in kind.fields)
    parts = [f"    sh:property [\n{_bounds(kind, name)}    ]" for name in kind.fields]
    name = "".join(word.capitalize() for word in kind.kind.split("_"))
    target = f"    sh:targetSubjectsOf {paths}"
    return " ;\n".join([f"<{_SHAPE}{name}Kind> a sh:NodeShape", target, *parts]) + " .\n"


def _bounds(kind: Kind, name: str) -> str:
    field = kind.fields[name]
    lines = [f"sh:path <{kind.rdf(name)}>", "sh:maxCount 1", f"sh:datatype <{field.datatype}>"]
    lines += ["sh:minCount 1"] if field.required else []
    lines += _values(field)
    return " ;\n".join(f"        {line}" for line in lines) + "\n"


def _values(field: Field) -> list[str]:
    if field.is_number:
        low, high = (f'"{bound}"^^<{XSD}decimal>' for bound in field.bounds)
        return [f"sh:minInclusive {low}", f"sh:maxInclusive {high}"]
    if field.values:
        return [f"sh:in ({' '.join(json.dumps(v, ensure_ascii=False) for v in field.values)})"]
    return []
