"""Entities out of the database: one by its id, or all of some types."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVarTuple
from urllib.parse import unquote

from sqlalchemy import Connection, Select, bindparam, select

from citywise.backend.city.events import event_object
from citywise.backend.kinds import Kind, Kinds
from citywise.backend.ngsi import entities
from citywise.backend.ngsi.entities import (
    URN,
    Entity,
    model_types,
    own_types,
    place_types,
    type_of,
    urn,
)
from citywise.backend.packs import ontology
from citywise.backend.store.chunks import chunks
from citywise.backend.store.models import EventRow, PlaceRow, ReadingRow

Make = Callable[[str, int, Mapping[str, Any], Mapping[str, Any] | None], Entity | None]
"""Makes an entity of a sensor's reading: its time, its values, and the payload of its place."""
MOST_EVENTS = 20_000
"""That one query looks at, the newest; a city keeps those of years."""


class _Alone(Entity):
    """The entity of a reading, as yet without what it says of its place."""

    def __init__(
        self, told: Entity, sensor: str, at_ms: int, values: Mapping[str, Any], make: Make
    ) -> None:
        super().__init__(told)
        self.sensor = sensor
        self._reading, self._make = (at_ms, values), make

    def at(self, place: Mapping[str, Any] | None) -> Entity:
        """The entity with its place, of which this is the payload."""
        return self._make(self.sensor, *self._reading, place) or self


class Reader:
    """Reads entities of the kinds that whoever asks may see."""

    def __init__(self, connection: Connection, kinds: Kinds) -> None:
        self._connection, self._kinds = connection, kinds
        self._own, self._models = own_types(kinds), model_types(kinds)

    def one(self, identity: str) -> Entity | None:
        """The entity of an id."""
        if not identity.startswith(f"{URN}:"):
            return None
        kind, _, quoted = identity[len(URN) + 1 :].partition(":")
        name = unquote(quoted)
        found: Entity | None = None
        if (own := self._own.get(kind)) is not None:
            found = self._observation(own, name)
        if found is None and kind in self._models:
            found = self._modelled(kind, *name.partition(":")[::2])
        if found is None and kind not in self._own:
            is_event = kind not in place_types(self._kinds)  # as far as the kinds say
            found = self._event(name) if is_event else None
            found = found or self._place(kind, name) or (None if is_event else self._event(name))
        return found if found is not None and found["id"] == identity else None

    # An answer by id is mostly the cost of its one statement: they are made once, and give columns.

    def _reading(self, kind: Kind, sensor: str) -> Any:
        return self._connection.execute(_READING, {"kind": kind.kind, "sensor": sensor}).first()

    def _observation(self, kind: Kind, sensor: str) -> Entity | None:
        row = self._reading(kind, sensor)
        return None if row is None else entities.observation(kind, sensor, *row)

    def _modelled(self, type_: str, name: str, sensor: str) -> Entity | None:
        for kind in self._models[type_]:
            if kind.kind == name and (row := self._reading(kind, sensor)) is not None:
                assert kind.ngsi is not None
                return entities.modelled(kind, kind.ngsi, sensor, *row)
        return None

    def _place(self, type_: str, name: str) -> Entity | None:
        row = self._connection.execute(_PLACE, {"id": name}).first()
        if row is None or type_of(row.body["kind"]) != type_:
            return None
        return entities.place(row.body, self._kinds, row.updated_ms)

    def _event(self, identity: str) -> Entity | None:
        row = self._connection.execute(_EVENT, {"id": identity}).first()
        return None if row is None else _of_event(row)

    def ids(self, types: Collection[str] | None) -> list[str] | None:
        """The ids of all entities of some types, in order, without reading what they say; None
        where that has to be read to know them, as of data models."""
        if any(name in self._models for name in types or ()):
            return None
        ask, found = self._connection.execute, list[str]()
        for kind, name in ask(select(PlaceRow.kind, PlaceRow.id)):
            if types is None or type_of(kind) in types:
                found.append(urn(type_of(kind), name))
        wanted = {k.kind: n for n, k in self._own.items() if types is None or n in types}
        if wanted:
            query = select(ReadingRow.kind, ReadingRow.place_id)
            rows = ask(query.where(ReadingRow.kind.in_(wanted)))
            found += [urn(wanted[kind], sensor) for kind, sensor in rows]
        events = self._event_types(types)
        if events:
            named = select(EventRow.type, EventRow.id).where(EventRow.withdrawn_ms.is_(None))
            told = ask(_newest(named.where(EventRow.type.in_(events))))
            found += [urn(ontology.local_name(kind), name) for kind, name in told]
        return sorted(found)

    def _event_types(self, types: Collection[str] | None) -> list[str]:
        """The types of events that there are, of some types."""
        known = self._connection.scalars(select(EventRow.type).distinct())
        return [name for name in known if types is None or ontology.local_name(name) in types]

    def all(self, types: Collection[str] | None, *, placed: bool = True) -> Iterator[Entity]:
        """Those of some types, by id; None: all but those of data models, which say the same of
        the readings once more. `placed=False`: readings say nothing of their place, which is most
        of the work; `placed` completes those that are wanted."""
        told = self._readings(types, placed=placed)
        every = [*self._places(types), *told, *self._events(types)]
        yield from sorted(every, key=lambda entity: str(entity["id"]))

    def placed(self, some: Sequence[Entity]) -> list[Entity]:
        """Entities of `all(…, placed=False)`, with what they say of their place."""
        bodies: dict[str, Any] = {}
        for part in chunks(one.sensor for one in some if isinstance(one, _Alone)):
            found = select(PlaceRow.id, PlaceRow.body).where(PlaceRow.id.in_(part))
            bodies |= {row.id: row.body for row in self._connection.execute(found)}
        return [one.at(bodies.get(one.sensor)) if isinstance(one, _Alone) else one for one in some]

    def _places(self, types: Collection[str] | None) -> Iterator[Entity]:
        query = select(PlaceRow.body, PlaceRow.updated_ms)
        if types is not None:
            kinds = self._connection.scalars(select(PlaceRow.kind).distinct())
            wanted = [kind for kind in kinds if type_of(kind) in types]
            if not wanted:
                return
            query = query.where(PlaceRow.kind.in_(wanted))
        for body, updated_ms in self._connection.execute(query):
            yield entities.place(body, self._kinds, updated_ms)

    def _readings(self, types: Collection[str] | None, *, placed: bool) -> Iterator[Entity]:
        makers: dict[str, list[Make]] = defaultdict(list)
        for name, kind in self._own.items():
            if types is None or name in types:
                makers[kind.kind].append(partial(entities.observation, kind))
        for kind in (kind for name in types or () for kind in self._models.get(name, ())):
            assert kind.ngsi is not None
            makers[kind.kind].append(partial(entities.modelled, kind, kind.ngsi))
        if not makers:
            return
        reading = ReadingRow
        query: Select[Any] = select(
            reading.kind, reading.place_id, reading.observed_ms, reading.body
        )
        if placed:
            query = query.add_columns(PlaceRow.body)
            query = query.join(PlaceRow, PlaceRow.id == reading.place_id, isouter=True)
        rows = self._connection.execute(query.where(reading.kind.in_(makers)))
        for name, sensor, at_ms, values, *place in rows:
            for make in makers[name]:
                found = make(sensor, at_ms, values, place[0] if place else None)
                if found is not None:
                    yield found if placed else _Alone(found, sensor, at_ms, values, make)

    def _events(self, types: Collection[str] | None) -> Iterator[Entity]:
        wanted = self._event_types(types)
        if not wanted:
            return
        for row in self._connection.execute(_newest(_EVENTS.where(EventRow.type.in_(wanted)))):
            yield _of_event(row)

    def types(self) -> list[str]:
        """All types of which there are entities, or could be."""
        places = map(type_of, self._connection.scalars(select(PlaceRow.kind).distinct()))
        names = self._connection.scalars(select(EventRow.type).distinct())
        return sorted({*places, *map(ontology.local_name, names), *self._own, *self._models})


Columns = TypeVarTuple("Columns")
_OF_READING = (ReadingRow.observed_ms, ReadingRow.body, PlaceRow.body)
_READING = (
    select(*_OF_READING)
    .join(PlaceRow, PlaceRow.id == ReadingRow.place_id, isouter=True)
    .where(ReadingRow.kind == bindparam("kind"), ReadingRow.place_id == bindparam("sensor"))
)
_PLACE = select(PlaceRow.body, PlaceRow.updated_ms).where(PlaceRow.id == bindparam("id"))
_ROW = EventRow
_EVENTS = (
    select(
        _ROW.id, _ROW.type, _ROW.level, _ROW.place_id, _ROW.start_ms, _ROW.confirmed_ms,
        _ROW.end_ms, _ROW.place, PlaceRow.name, PlaceRow.kind, PlaceRow.lat, PlaceRow.lon,
        PlaceRow.body,
    )
    .join(PlaceRow, PlaceRow.id == EventRow.place_id, isouter=True)
    .where(EventRow.withdrawn_ms.is_(None))
)  # fmt: skip
_EVENT = _EVENTS.where(EventRow.id == bindparam("id"))


def _newest(query: Select[*Columns]) -> Select[*Columns]:
    return query.order_by(EventRow.start_ms.desc(), EventRow.id).limit(MOST_EVENTS)


def _of_event(row: Any) -> Entity:
    unasked = {"request": None, "causes": None}
    place = None if row.kind is None else row._mapping
    body = event_object({**row._mapping, **unasked}, place)
    known = row.place or row.body or {}
    return entities.event(body, known.get("geometry"))
