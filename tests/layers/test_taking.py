"""A layer takes the place of the one before, in the database and in the log, or changes nothing."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner
from sqlalchemy import Engine, insert, select

from citywise.backend.city_commands import city
from citywise.backend.ingest.acceptance import Acceptor
from citywise.backend.ingest.inlet import Inlet
from citywise.backend.kinds import Kinds, PlaceKind, installed
from citywise.backend.kinds.kind import LayerSource
from citywise.backend.layers import taking
from citywise.backend.layers.folder import take_all
from citywise.backend.layers.reading import LayerError, read
from citywise.backend.settings import Ingest, Settings
from citywise.backend.sources.layers import LayerAddresses
from citywise.backend.sources.schedule import Schedule
from citywise.backend.store.models import PlaceRow
from tests.databases import begun
from tests.layers.files import SCHOOL, collection, feature, polygon

KINDS = Kinds(places=[SCHOOL])


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    found = begun(Settings(data_dir=tmp_path).database_url)
    yield found
    found.dispose()


def take(engine: Engine, *features: Any) -> taking.Taken:
    content = collection(*features)
    with engine.begin() as connection:
        return taking.take(connection, read(SCHOOL, content, "s"), content, "s.geojson")


def places(engine: Engine) -> dict[str, str]:
    with engine.connect() as connection:
        found = connection.execute(select(PlaceRow.id, PlaceRow.name))
        return {row.id: row.name for row in found}


def told(engine: Engine) -> list[tuple[str, str, Any]]:
    """What the log is to hear, and has heard then."""
    inlet = Inlet(engine)
    found = inlet.take()
    inlet.remove(found.ids)
    assert not found.dead
    return [(e.subject, e.key, e.body and e.body["name"]) for e in found.entries]


def test_a_layer_replaces_the_one_before_and_tells_what_is_new_only(engine: Engine) -> None:
    assert take(engine, feature("a"), feature("b")).added == 2
    assert told(engine) == [
        ("place", "school.a", "North School"), ("place", "school.b", "North School"),
    ]  # fmt: skip
    taken = take(engine, feature("a"), feature("b", name="South"), feature("c"))
    assert (taken.places, taken.added, taken.changed, taken.removed) == (3, 1, 1, 0)
    assert told(engine) == [("place", "school.b", "South"), ("place", "school.c", "North School")]
    assert take(engine, feature("c")).removed == 2
    assert told(engine) == [("place", "school.a", None), ("place", "school.b", None)]
    assert places(engine) == {"school.c": "North School"}


def test_removing_a_layer_leaves_all_other_places(engine: Engine) -> None:
    body = {"id": "b1", "kind": "bench", "name": "Bench", "geometry": polygon(), "sensors": []}
    take(engine, feature("a"))
    with engine.begin() as connection:
        row = {"id": "b1", "kind": "bench", "name": "Bench", "lat": 56, "lon": 10}
        connection.execute(insert(PlaceRow), {**row, "body": body, "updated_ms": 1})
    with engine.begin() as connection:
        assert taking.remove(connection, "school") == 1
    assert places(engine) == {"b1": "Bench"}
    assert told(engine)[-1] == ("place", "school.a", None)


def test_files_of_the_citys_folder_are_taken_once_and_a_bad_one_changes_nothing(
    engine: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "layers" / "school.geojson"
    file.parent.mkdir()
    file.write_bytes(collection(feature("a")))
    assert list(take_all(engine, KINDS, tmp_path)) == [
        "layer `school`: 1 places; 1 added, 0 changed, 0 removed"
    ]
    assert not list(take_all(engine, KINDS, tmp_path))
    take(engine, feature("by hand"))
    assert not list(take_all(engine, KINDS, tmp_path))  # an old file does not undo what is newer
    file.write_bytes(b'{"type": "FeatureCollection", "features": []}')
    (said,) = take_all(engine, KINDS, tmp_path)
    assert "has no features" in said
    assert "stays as it was" in said
    assert len(places(engine)) == 1
    with engine.connect() as connection:
        assert "has no features" in taking.known(connection)["school"]["error"]


def test_a_layer_goes_with_its_kind(engine: Engine, tmp_path: Path) -> None:
    take(engine, feature("a"))
    assert not list(take_all(engine, Kinds(), tmp_path))
    assert not places(engine)


def test_places_of_a_layer_are_not_told_by_sensors() -> None:
    verdict = Acceptor("citywise", Ingest(), KINDS).judge
    for payload in (b"", b"{}"):
        found = verdict("places/school/school.a", payload, datetime.now(UTC))
        assert found.place is None
        assert found.removed_place is None
        assert "is a layer" in found.dead[0].detail


# -- an address -------------------------------------------------------------------------


class _Server(http.server.BaseHTTPRequestHandler):
    answer: tuple[int, bytes] = (200, b"")
    asked: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        tag = self.headers.get("If-None-Match")
        type(self).asked.append(tag)
        status, body = self.answer
        etag = f'"{hash(body)}"'
        status, body = (304, b"") if status == 200 and tag == etag else (status, body)
        self.send_response(status)
        self.send_header("ETag", etag)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    server = http.server.HTTPServer(("127.0.0.1", 0), _Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    _Server.asked.clear()
    yield f"http://127.0.0.1:{server.server_port}/schools"
    server.shutdown()
    server.server_close()


def test_an_address_is_asked_again_by_its_tag_and_what_is_bad_changes_nothing(
    engine: Engine, address: str
) -> None:
    assert SCHOOL.layer is not None
    source = LayerSource.model_validate({**SCHOOL.layer.model_dump(), "address": address})
    kind = PlaceKind.model_validate({**SCHOOL.model_dump(), "layer": source.model_dump()})
    layers, schedule = LayerAddresses(engine), Schedule(60)
    _Server.answer = (200, collection(feature("a"), feature("b")))
    assert 50 < layers.ask(kind, schedule) < 70
    assert sorted(places(engine)) == ["school.a", "school.b"]
    assert layers.ask(kind, schedule) < 70
    assert _Server.asked[0] is None
    assert _Server.asked[1] is not None
    for answer in ((500, b""), (200, b"<html>"), (200, collection(feature("a", max_speed=999)))):
        _Server.answer = answer
        assert layers.ask(kind, schedule) > 100  # later and later
        assert sorted(places(engine)) == ["school.a", "school.b"]
        with engine.connect() as connection:
            assert address in taking.known(connection)["school"]["error"]
    _Server.answer = (200, collection(feature("a")))
    layers.ask(kind, schedule)
    assert sorted(places(engine)) == ["school.a"]
    with engine.connect() as connection:
        assert taking.known(connection)["school"]["error"] is None


# -- commands ---------------------------------------------------------------------------


def ask(*arguments: object) -> str:
    found = CliRunner().invoke(city, list(map(str, arguments)))
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.output


def test_a_file_is_imported_before_the_first_start_and_taken_by_it(
    tmp_path: Path,
) -> None:
    file = tmp_path / "Bydele.geojson"
    file.write_bytes(collection(feature("a", pupils=7)))
    said = ask("import", file, "--state", tmp_path)
    assert "layer `bydele`: 1 places" in said
    assert "The kind of place `bydele` was made of its properties" in said
    kinds = Kinds().with_folder(tmp_path / "city" / "kinds")
    assert kinds.layers["bydele"].fields["pupils"].type == "integer"
    engine = begun(Settings(data_dir=tmp_path).database_url)
    assert list(take_all(engine, kinds, tmp_path / "city"))
    assert len(places(engine)) == 1
    engine.dispose()


def test_a_file_is_imported_into_a_system_that_runs_and_removed_again(
    engine: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "zones.geojson"
    file.write_bytes(collection(feature("a")))
    assert "1 added" in ask("import", file, "--state", tmp_path, "--layer", "zone")
    assert list(places(engine)) == ["zone.a"]
    with engine.connect() as connection:
        assert "zone" in installed.read(connection).layers
    file.write_bytes(collection(feature("a", geometry={"type": "Point", "coordinates": [1]})))
    with pytest.raises(LayerError, match=r"zones\.geojson: feature 0"):
        ask("import", file, "--state", tmp_path, "--layer", "zone")
    assert list(places(engine)) == ["zone.a"]
    assert "removed, with 1 places" in ask("remove", "zone", "--state", tmp_path)
    assert not places(engine)
    assert not (tmp_path / "city" / "layers" / "zone.geojson").exists()
