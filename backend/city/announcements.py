"""Telling of events that changed: the outbox for people's pages, the inlet for templates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select

from citywise.backend.city.events import ChangeKind, event_object, standing_event
from citywise.backend.ingest import inlet
from citywise.backend.ingest.payloads import of_event
from citywise.backend.store.models import OutboxRow, PlaceRow
from citywise.backend.times import wall_ms


class News(NamedTuple):
    """A change that is told: at which stream time (Unix ms), what (None: it is not told after
    all), and the event after it (a row of `events`)."""

    t_ms: int
    kind: ChangeKind | None
    event: Mapping[str, Any]


def announce(connection: Connection, news: Sequence[News]) -> None:
    """Write the announcements of changes, and how the events stand from now on.

    In the transaction of the changes, after them: see `backend.ingest.inlet.write`.
    """
    if not news:
        return
    places = _places(connection, {found.event["place_id"] for found in news})
    objects = [event_object(n.event, places.get(n.event["place_id"])) for n in news]
    inlet.write(connection, _standing(zip(news, objects, strict=True), places))
    _write(connection, news, objects)


def tell(connection: Connection, news: Sequence[News]) -> None:
    """Write the announcements of changes that the log has already."""
    places = _places(connection, {found.event["place_id"] for found in news})
    _write(
        connection,
        news,
        [event_object(n.event, places.get(n.event["place_id"])) for n in news],
    )


def _write(
    connection: Connection, news: Sequence[News], objects: Sequence[Mapping[str, Any]]
) -> None:
    if not news:
        return
    now = wall_ms()
    rows = [
        {"t_ms": found.t_ms, "kind": found.kind, "body": shown, "created_ms": now}
        for found, shown in zip(news, objects, strict=True)
    ]
    connection.execute(insert(OutboxRow), rows)


def _standing(
    told: Iterable[tuple[News, Mapping[str, Any]]], places: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str, dict[str, Any] | None]]:
    """The entries of the inlet; of an open event only if somebody knows where it is."""
    for news, shown in told:
        place = places.get(news.event["place_id"])
        known = news.event.get("place") or (place and place["body"]) or {}
        geometry = known.get("geometry")
        if geometry is not None or shown["end"] is not None:
            where = None if geometry is None else of_event(geometry)
            yield "event", shown["id"], standing_event(shown, where)


def _places(connection: Connection, ids: set[str]) -> dict[str, Mapping[str, Any]]:
    rows = connection.execute(select(PlaceRow.__table__).where(PlaceRow.id.in_(ids))).mappings()
    return {row["id"]: dict(row) for row in rows}
