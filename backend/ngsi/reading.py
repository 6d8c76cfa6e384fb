"""Entities out of the database: one by its id, or all of some types."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from urllib.parse import unquote

from sqlalchemy import select
from sqlalchemy.orm import Session

from citywise.backend.city.events import event_object
from citywise.backend.kinds import Kind, Kinds
from citywise.backend.ngsi import entities
from citywise.backend.ngsi.entities import OBSERVED, URN, Entity, observed_type, type_of
from citywise.backend.packs import ontology
from citywise.backend.store.models import EventRow, PlaceRow, ReadingRow

MOST_EVENTS = 20_000
"""That one query looks at, the newest; a city keeps those of years."""


class Reader:
    """Reads entities in a session, of the kinds that whoever asks may see."""

    def __init__(self, session: Session, kinds: Kinds) -> None:
        self._session, self._kinds = session, kinds
        self._observed = {observed_type(name): kind for name, kind in kinds.items()}

    def one(self, identity: str) -> Entity | None:
        """The entity of an id."""
        if not identity.startswith(f"{URN}:"):
            return None
        kind, _, quoted = identity[len(URN) + 1 :].partition(":")
        name = unquote(quoted)
        found: Entity | None
        if (known := self._observed.get(kind)) is not None:
            found = self._observation(known, name)
        elif (place := self._session.get(PlaceRow, name)) and type_of(place.kind) == kind:
            found = entities.place(place.body, self._kinds)
        else:
            found = self._event(name)
        return found if found is not None and found["id"] == identity else None

    # One statement each, and columns instead of objects where few are needed: an answer by id is
    # mostly the cost of its statements.

    def _observation(self, kind: Kind, sensor: str) -> Entity | None:
        columns = select(ReadingRow.observed_ms, ReadingRow.body, PlaceRow.body)
        query = columns.join(PlaceRow, PlaceRow.id == ReadingRow.place_id, isouter=True).where(
            ReadingRow.kind == kind.kind, ReadingRow.place_id == sensor
        )
        row = self._session.execute(query).first()
        return None if row is None else entities.observation(kind, sensor, *row)

    def _event(self, identity: str) -> Entity | None:
        query = select(EventRow, PlaceRow).where(
            EventRow.id == identity, EventRow.withdrawn_ms.is_(None)
        )
        joined = query.join(PlaceRow, PlaceRow.id == EventRow.place_id, isouter=True)
        row = self._session.execute(joined).first()
        return None if row is None else _of_event(*row)

    def all(self, types: Collection[str] | None) -> Iterator[Entity]:
        """Those of some types (None: all), by id."""
        every = [*self._places(types), *self._observations(types), *self._events(types)]
        yield from sorted(every, key=lambda entity: str(entity["id"]))

    def _places(self, types: Collection[str] | None) -> Iterator[Entity]:
        for row in self._session.scalars(select(PlaceRow)):
            if types is None or type_of(row.kind) in types:
                yield entities.place(row.body, self._kinds)

    def _observations(self, types: Collection[str] | None) -> Iterator[Entity]:
        wanted = {
            kind.kind: kind
            for name, kind in self._observed.items()
            if types is None or name in types
        }
        if not wanted:
            return
        query = select(ReadingRow, PlaceRow.body).where(ReadingRow.kind.in_(wanted))
        joined = query.join(PlaceRow, PlaceRow.id == ReadingRow.place_id, isouter=True)
        for row, body in self._session.execute(joined):
            yield entities.observation(
                wanted[row.kind], row.place_id, row.observed_ms, row.body, body
            )

    def _events(self, types: Collection[str] | None) -> Iterator[Entity]:
        query = select(EventRow, PlaceRow).where(EventRow.withdrawn_ms.is_(None))
        joined = query.join(PlaceRow, PlaceRow.id == EventRow.place_id, isouter=True)
        if types is not None:
            names = [name for name in types if not name.endswith(OBSERVED)]
            if not names:
                return
            known = set(self._session.scalars(select(EventRow.type).distinct()))
            joined = joined.where(
                EventRow.type.in_([k for k in known if ontology.local_name(k) in names])
            )
        newest = joined.order_by(EventRow.start_ms.desc(), EventRow.id).limit(MOST_EVENTS)
        for event, place in self._session.execute(newest):
            yield _of_event(event, place)

    def types(self) -> list[str]:
        """All types of which there are entities, or could be."""
        places = map(type_of, self._session.scalars(select(PlaceRow.kind).distinct()))
        events = map(ontology.local_name, self._session.scalars(select(EventRow.type).distinct()))
        return sorted({*places, *events, *self._observed})


def _of_event(event: EventRow, place: PlaceRow | None) -> Entity:
    body = event_object(vars(event), vars(place) if place else None)
    known = event.place or (place.body if place else {})
    return entities.event(body, known.get("geometry"))
