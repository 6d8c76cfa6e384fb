"""Putting a layer's places in the stead of those there were, in one transaction.

Rules hear of them through the inlet, everybody else finds them among the places. What has not
changed is not told again, and what a bad file says is told to the operator and changes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, select, update

from citywise.backend.ingest import inlet
from citywise.backend.ingest.payloads import Place
from citywise.backend.kinds import PlaceKind
from citywise.backend.layers.reading import Bounds, Layer, LayerError, read
from citywise.backend.store.chunks import chunks
from citywise.backend.store.exclusion import exclude
from citywise.backend.store.models import LayerRow, PlaceRow
from citywise.backend.store.upsert import upsert
from citywise.backend.times import wall_ms


@dataclass(frozen=True)
class Taken:
    """What became of a file."""

    places: int
    added: int
    changed: int
    removed: int
    remarks: tuple[str, ...]

    def lines(self, name: str) -> Iterator[str]:
        """What there is to say of it."""
        yield (
            f"layer `{name}`: {self.places} places; {self.added} added, {self.changed} changed, "
            f"{self.removed} removed"
        )
        yield from self.remarks


def bounds(connection: Connection, layers: Mapping[str, PlaceKind]) -> Bounds | None:
    """Where the city is: the box of all places that are of no layer; None without any."""
    lon, lat = PlaceRow.lon, PlaceRow.lat
    corners = select(func.min(lon), func.min(lat), func.max(lon), func.max(lat))
    found = connection.execute(corners.where(PlaceRow.kind.not_in(list(layers)))).one()
    known = [float(corner) for corner in found if corner is not None]
    return (known[0], known[1], known[2], known[3]) if known else None


def take(
    connection: Connection,
    layer: Layer,
    content: bytes,
    origin: str,
    tag: Mapping[str, Any] | None = None,
) -> Taken:
    """Put a layer that was read from a file into the city; `tag` is what the file's address
    calls this version."""
    taken = put(connection, layer)
    now = wall_ms()
    row = {
        "digest": digest(content),
        "origin": origin,
        "tag": dict(tag or {}),
        "places": taken.places,
        "remarks": list(taken.remarks),
        "taken_ms": now,
        "asked_ms": now,
        "error": None,
    }
    upsert(connection, LayerRow, [{"name": layer.kind, **row}])
    return taken


def put(connection: Connection, layer: Layer) -> Taken:
    """Let the places of a layer be those of its kind, and no others."""
    exclude(connection, "layer", layer.kind)
    told, news, gone = _compared(connection, layer)
    now = {place.id: place for place in layer.places}
    upsert(connection, PlaceRow, [_row(now[key], body) for key, body in news.items()])
    for some in chunks(gone):
        connection.execute(delete(PlaceRow).where(PlaceRow.id.in_(some)))
    entries = [("place", key, body) for key, body in news.items()]
    inlet.write(connection, [*entries, *(("place", key, None) for key in sorted(gone))])
    if told.removed or told.added:
        from citywise.backend.packs import duties  # It reads templates.

        duties.settle(connection)
    return told


def would(connection: Connection, layer: Layer) -> Taken:
    """What would become of a layer that was read; nothing is changed."""
    return _compared(connection, layer)[0]


def _compared(
    connection: Connection, layer: Layer
) -> tuple[Taken, dict[str, dict[str, Any]], set[str]]:
    """A layer beside the places there are: the counts, what is new or changed, and what is gone."""
    stored = select(PlaceRow.id, PlaceRow.body).where(PlaceRow.kind == layer.kind)
    before = {row.id: row.body for row in connection.execute(stored)}
    bodies = {place.id: place.model_dump(mode="json") for place in layer.places}
    news = {key: body for key, body in bodies.items() if before.get(key) != body}
    gone = before.keys() - bodies.keys()
    changed = len(news.keys() & before.keys())
    told = Taken(len(bodies), len(news) - changed, changed, len(gone), layer.remarks)
    return told, news, gone


def refuse(connection: Connection, name: str, error: str) -> None:
    """Note why a layer could not be taken; what was taken before stays."""
    _note(connection, name, error=error)


def unchanged(connection: Connection, name: str) -> None:
    """Note that an address has nothing new."""
    _note(connection, name, error=None)


def switch(connection: Connection, name: str, *, is_shown: bool) -> None:
    """Have maps show a layer or not."""
    upsert(connection, LayerRow, [_fresh(name)], update=False)
    connection.execute(update(LayerRow).where(LayerRow.name == name).values(is_shown=is_shown))


def remove(connection: Connection, name: str) -> int:
    """Remove the places of a layer, and what is known of it; returns how many there were."""
    taken = put(connection, Layer(name, (), ()))
    connection.execute(delete(LayerRow).where(LayerRow.name == name))
    return taken.removed


def tidy(connection: Connection, layers: Mapping[str, PlaceKind]) -> None:
    """Remove layers whose kinds are gone."""
    for name in connection.scalars(select(LayerRow.name)).all():
        if name not in layers:
            remove(connection, name)


def known(connection: Connection) -> dict[str, Mapping[str, Any]]:
    """How each layer fares of which a file ever came."""
    rows = connection.execute(select(LayerRow.__table__)).mappings()
    return {row["name"]: dict(row) for row in rows}


def digest(content: bytes) -> str:
    """What a file is known by."""
    return hashlib.sha256(content).hexdigest()


def take_file(
    connection: Connection,
    kind: PlaceKind,
    content: bytes,
    origin: str,
    layers: Mapping[str, PlaceKind],
) -> Taken | LayerError | None:
    """Take a file of the city's folder; None where it is the one that was looked at last."""
    told = digest(content)
    row = known(connection).get(kind.place)
    if row is not None and row["file_digest"] == told:
        return None
    found: Taken | LayerError
    try:
        layer = read(kind, content, origin, bounds(connection, layers))
        found = take(connection, layer, content, origin)
    except LayerError as error:
        refuse(connection, kind.place, str(error))
        found = error
    note_file(connection, kind.place, content)
    return found


def note_file(connection: Connection, name: str, content: bytes) -> None:
    """Note which file is in the city's folder: what comes otherwise then is not undone by it."""
    _note(connection, name, file_digest=digest(content))


def _note(connection: Connection, name: str, **values: Any) -> None:
    upsert(connection, LayerRow, [_fresh(name)], update=False)
    changed = update(LayerRow).where(LayerRow.name == name)
    connection.execute(changed.values(asked_ms=wall_ms(), **values))


def _fresh(name: str) -> dict[str, Any]:
    return {"name": name, "tag": {}, "places": 0, "remarks": [], "asked_ms": wall_ms()}


def _row(place: Place, body: Mapping[str, Any]) -> dict[str, Any]:
    return {**place.summary(), "body": body, "updated_ms": wall_ms()}
