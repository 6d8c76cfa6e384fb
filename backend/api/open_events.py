"""The open events of the city, and which of them are critical to somebody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.orm import Session

from citywise.backend.api import problems
from citywise.backend.api.aside import aside
from citywise.backend.api.objects import event_from
from citywise.backend.api.runs import limits
from citywise.backend.city.events import standing_event
from citywise.backend.context.critical import (
    APP,
    TEMPLATE,
    CriticalEvent,
    Event,
    NotAnsweredError,
    critical_events,
)
from citywise.backend.ingest.standing import Entry
from citywise.backend.packs import installed
from citywise.backend.packs.template import TemplateVersion, Values
from citywise.backend.store import clocks
from citywise.backend.store.models import EventRow, PlaceRow


def template_now(connection: Connection) -> TemplateVersion:
    """The newest installed version of the template; a problem where none is."""
    try:
        return installed.find(connection, APP, TEMPLATE)
    except installed.UnknownTemplateError as error:
        raise problems.ProblemError(
            503, "not-installed", "Not installed", f"{error}; start the system to install it"
        ) from None


@dataclass(frozen=True)
class OpenEvents:
    """The open events of the city at a time, by id."""

    now_ms: int
    bodies: Mapping[str, Event]
    """As they stand in the log; those are left out of which nobody knows where they are."""
    objects: Mapping[str, Mapping[str, Any]]
    """As the API shows them."""

    @classmethod
    def read(cls, connection: Connection) -> OpenEvents:
        """Those of the database."""
        with Session(connection) as session:
            rows = (
                session.query(EventRow, PlaceRow)
                .join(PlaceRow, PlaceRow.id == EventRow.place_id, isouter=True)
                .where(EventRow.end_ms.is_(None))
                .all()
            )
            objects = {event.id: event_from(event, place) for event, place in rows}
            geometries = {event.id: _geometry(event, place) for event, place in rows}
            now_ms = clocks.read(session).now_ms
        bodies = {
            name: body
            for name, shown in objects.items()
            if geometries[name] and (body := standing_event(shown, geometries[name]))
        }
        return cls(now_ms, bodies, objects)

    def critical(
        self, template: TemplateVersion, values: Values, context: Sequence[Entry]
    ) -> list[CriticalEvent]:
        """Those that are critical to somebody, the most critical first; raises
        `BadValuesError` as `critical_events` does, and a problem where that cannot be known."""
        asked = template, values, self.bodies, context, self.now_ms
        bounds = limits()
        try:
            return aside(lambda: critical_events(*asked, bounds))
        except NotAnsweredError as error:
            raise problems.too_much(str(error)) from None


def _geometry(event: EventRow, place: PlaceRow | None) -> dict[str, Any] | None:
    """Where an event is: at its own place if it was opened by hand, else at that it names."""
    body = event.place or ({} if place is None else place.body)
    found: dict[str, Any] | None = body.get("geometry")
    return found
