"""`citywise city import FILE.geojson`: a layer by hand, into a system that runs or will."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine, inspect
from sqlalchemy.engine import make_url

from citywise.backend.kinds import Kinds, PlaceKind, installed
from citywise.backend.kinds.sources import of_files
from citywise.backend.layers import folder, taking
from citywise.backend.layers.reading import read
from citywise.backend.people import audit
from citywise.backend.settings import Settings
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import LayerRow

ACTOR = "command"


def import_layer(settings: Settings, file: Path, into: Path | None, name: str) -> Iterator[str]:
    """Check a layer, keep it in the city's folder, and put it into the database if there is one.

    Raises `LayerError` or `NoLayerError`, and then nothing is changed.
    """
    content = file.read_bytes()
    with _database(settings) as engine:
        kinds = of_files(settings)
        if engine is not None:
            with engine.connect() as connection:
                kinds = kinds.with_kinds(*installed.read(connection).described)
        kind, text = folder.known_or_made(name, kinds, content)
        if engine is None or into is not None:
            layer = read(kind, content, file.name)
            lines = [f"layer `{name}`: {len(layer.places)} places", *layer.remarks]
        else:
            lines = list(_imported(engine, kinds, kind, content, file.name))
    yield from lines
    for path in folder.write(into or settings.city_dir, name, content, text):
        yield f"wrote {path}"
    if text is not None:
        yield f"The kind of place `{name}` was made of its properties: look at its file."
    if engine is None or into is not None:
        yield "It is used after the next start."


def _imported(
    engine: Engine, kinds: Kinds, kind: PlaceKind, content: bytes, origin: str
) -> Iterator[str]:
    layers = kinds.with_kinds(kind).layers
    with engine.begin() as connection:
        if kind.place not in kinds.places:
            installed.add(connection, kind)
        layer = read(kind, content, origin, taking.bounds(connection, layers))
        found = taking.take(connection, layer, content, origin)
        audit.record(connection, ACTOR, "layer.taken", kind.place, None, {"places": found.places})
        taking.note_file(connection, kind.place, content)
    return found.lines(kind.place)


def remove_layer(settings: Settings, name: str) -> str:
    """Remove a layer's places and its file; what to say of it. Raises `NoLayerError`."""
    path = settings.city_dir / folder.FOLDER / f"{name}.geojson"
    removed, was_there = 0, path.is_file()
    with _database(settings) as engine:
        if engine is not None:
            with engine.begin() as connection:
                known = taking.known(connection)
                was_there |= name in known
                removed = taking.remove(connection, name) if name in known else 0
                told = {"places": removed}
                audit.record(connection, ACTOR, "layer.removed", name, told, None)
    if not was_there:
        raise folder.NoLayerError(f"there is no layer `{name}`")
    path.unlink(missing_ok=True)
    return f"layer `{name}`: removed, with {removed} places; its kind of place stays"


@contextmanager
def _database(settings: Settings) -> Iterator[Engine | None]:
    """The database of a system that was started already; None before."""
    place = make_url(settings.database_url)
    if place.get_backend_name() == "sqlite" and not Path(place.database or "").is_file():
        yield None
        return
    engine = create_engine_for(settings.database_url)
    try:
        yield engine if inspect(engine).has_table(LayerRow.__tablename__) else None
    finally:
        engine.dispose()
