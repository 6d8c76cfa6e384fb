"""The entities of SensorThings that a city has, and how they hang together.

A Datastream is a series of history (a kind, a sensor, a field); a place is a Thing, its Location,
the HistoricalLocation since it is there, and its FeatureOfInterest; a field of a kind is an
ObservedProperty; what speaks at a place is a Sensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from citywise.backend.kinds import Kinds
from citywise.backend.kinds.kind import Field
from citywise.backend.store.models import HistorySeriesRow, HistoryValueRow, PlaceRow
from citywise.backend.times import iso

Json = dict[str, Any]
_OM = "http://www.opengis.net/def/observationType/OGC-OM/2.0/"
_GEOJSON = "application/geo+json"
_KNOWN = frozenset(("id", "name", "geometry"))

LINKS: Mapping[str, Mapping[str, str]] = {
    "Things": {
        "Locations": "Locations",
        "HistoricalLocations": "HistoricalLocations",
        "Datastreams": "Datastreams",
    },
    "Locations": {"Things": "Things", "HistoricalLocations": "HistoricalLocations"},
    "HistoricalLocations": {"Thing": "Things", "Locations": "Locations"},
    "Datastreams": {
        "Thing": "Things",
        "Sensor": "Sensors",
        "ObservedProperty": "ObservedProperties",
        "Observations": "Observations",
    },
    "Sensors": {"Datastreams": "Datastreams"},
    "ObservedProperties": {"Datastreams": "Datastreams"},
    "FeaturesOfInterest": {"Observations": "Observations"},
    "Observations": {"Datastream": "Datastreams", "FeatureOfInterest": "FeaturesOfInterest"},
}
"""By collection: the names of its links, and where they lead; one that is called as a collection
leads to several entities."""


@dataclass(frozen=True)
class Entity:
    """An entity: in which collection, its id, and its properties."""

    collection: str
    id: int | str
    body: Json


class City:
    """All entities but Observations, as the database has them now, of some kinds."""

    def __init__(self, connection: Connection, kinds: Kinds) -> None:
        self._collections: dict[str, dict[int | str, Entity]] = {name: {} for name in LINKS}
        self.series: dict[int, tuple[str, str, str]] = {}
        """Kind, sensor and field of Datastreams, by id."""
        self._types: dict[int, str] = {}
        self._connection = connection
        self._places(connection, kinds)
        row = HistorySeriesRow
        query = select(row.id, row.kind, row.sensor, row.field).order_by(row.id)
        for number, kind, sensor, field in connection.execute(query):
            if kind in kinds and field in kinds[kind].fields:
                self._datastream(number, kinds, (kind, sensor, field))

    def _places(self, connection: Connection, kinds: Kinds) -> None:
        columns = (PlaceRow.id, PlaceRow.name, PlaceRow.body, PlaceRow.updated_ms)
        for row in connection.execute(select(*columns)):
            kind = row.body["kind"]
            known = kinds.places.get(kind)
            described = {"name": row.name, "description": known.called("en") if known else kind}
            rest = {k: v for k, v in row.body.items() if k not in _KNOWN and v is not None}
            self._add("Things", row.id, {**described, "properties": rest})
            where = {"encodingType": _GEOJSON, "location": row.body["geometry"]}
            self._add("Locations", row.id, {**described, **where})
            feature = {"encodingType": _GEOJSON, "feature": row.body["geometry"]}
            self._add("FeaturesOfInterest", row.id, {**described, **feature})
            self._add("HistoricalLocations", row.id, {"time": iso(row.updated_ms)})

    def _datastream(self, number: int, kinds: Kinds, series: tuple[str, str, str]) -> None:
        name, sensor, field = series
        kind = kinds[name]
        about = kind.fields[field]
        label = about.label.get("en", field.replace("_", " "))
        thing = self._collections["Things"].get(sensor)
        at = thing.body["name"] if thing else sensor
        self.series[number] = series
        self._types[number] = about.type
        self._add(
            "Datastreams",
            number,
            {
                "name": f"{at}: {label}",
                "description": f"{kind.called('en')}: {label} at {at}",
                "observationType": _OM + _observation_type(about),
                "unitOfMeasurement": _unit(about),
                "properties": {"kind": name, "field": field},
            },
        )
        described = {"name": label, "description": f"{kind.called('en')}: {label}"}
        self._add(
            "ObservedProperties", f"{name}.{field}", {**described, "definition": kind.rdf(field)}
        )
        self._add(
            "Sensors",
            f"{name}.{sensor}",
            {
                "name": sensor,
                "description": f"{kind.called('en')}: {sensor}",
                "encodingType": "text/html",
                "metadata": f"/api/v1/kinds#{name}",
            },
        )

    def times(self, number: int) -> Json:
        """From when to when a Datastream has Observations; nothing where it has none."""
        at = HistoryValueRow.at_ms
        is_mine = HistoryValueRow.series == number
        # Apart, as SQLite finds either alone by the index, and both by reading all values.
        ends = (select(end(at)).where(is_mine).scalar_subquery() for end in (func.min, func.max))
        first, last = self._connection.execute(select(*ends)).one()
        if first is None or last is None:
            return {}
        interval = f"{iso(first)}/{iso(last)}"
        return {"phenomenonTime": interval, "resultTime": interval}

    def typed(self, number: int, value: float) -> float | bool:
        """A value of a Datastream as its field's type has it."""
        kind = self._types[number]
        return bool(value) if kind == "boolean" else int(value) if kind == "integer" else value

    def _add(self, collection: str, identity: int | str, body: Json) -> None:
        self._collections[collection].setdefault(identity, Entity(collection, identity, body))

    def all(self, collection: str) -> Iterator[Entity]:
        """The entities of a collection, by id."""
        yield from (e for _id, e in sorted(self._collections[collection].items(), key=_by_id))

    def one(self, collection: str, identity: int | str) -> Entity | None:
        """One of them."""
        return self._collections[collection].get(identity)

    def related(self, entity: Entity, link: str) -> list[Entity]:
        """Where a link of an entity leads to, but to Observations."""
        source, target = entity.collection, LINKS[entity.collection][link]
        if target == "Datastreams" and source != "Observations":
            numbers = self.series_of(entity)
            return [found for n in numbers if (found := self.one(target, n)) is not None]
        if source in ("Things", "Locations", "HistoricalLocations"):
            wanted: int | str = entity.id
        else:
            number = entity.id if source == "Datastreams" else entity.body["@series"]
            kind, sensor, field = self.series[int(number)]
            ids: dict[str, int | str] = {
                "Things": sensor,
                "FeaturesOfInterest": sensor,
                "Sensors": f"{kind}.{sensor}",
                "ObservedProperties": f"{kind}.{field}",
                "Datastreams": int(number),
            }
            wanted = ids[target]
        found = self.one(target, wanted)
        return [] if found is None else [found]

    def series_of(self, entity: Entity) -> list[int]:
        """The Datastreams that belong to an entity."""
        source = entity.collection
        if source == "Datastreams":
            return [int(entity.id)]
        return [
            number
            for number, (kind, sensor, field) in self.series.items()
            if entity.id
            == {"Sensors": f"{kind}.{sensor}", "ObservedProperties": f"{kind}.{field}"}.get(
                source, sensor
            )
        ]


def _by_id(item: tuple[int | str, Entity]) -> tuple[bool, int | str]:
    return isinstance(item[0], str), item[0]


def _observation_type(field: Field) -> str:
    if field.is_number:
        return "OM_Measurement"
    return "OM_TruthObservation" if field.type == "boolean" else "OM_CategoryObservation"


def _unit(field: Field) -> Json:
    unit = field.unit
    if unit is None:
        return {"name": None, "symbol": None, "definition": None}
    return {"name": unit, "symbol": unit, "definition": f"https://ucum.org/#{unit}"}
