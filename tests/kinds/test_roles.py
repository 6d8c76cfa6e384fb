"""Apps that ask for what a kind is about, and not for its name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import insert

from citywise.apps.travel_planner import worker
from citywise.apps.travel_planner.roads.gazetteer import garages
from citywise.backend.kinds import Kinds, PlaceKind, builtin, installed
from citywise.backend.kinds.kind import Kind
from citywise.backend.packs.library import find
from citywise.backend.packs.manifest import load
from citywise.backend.packs.scenario_run import run
from citywise.backend.pipeline.recorded import concluded
from citywise.backend.store.models import PlaceRow
from tests.databases import begun
from tests.packs.folders import AppFolder

OCCUPIED, TOTAL, FREE = "occupied_places", "total_places", "free_places"


def counting(name: str, *roles: str) -> Kind:
    """A kind of one's own, each of whose fields is called otherwise than its role."""
    fields = {f"my_{role}": {"type": "integer", "role": role} for role in roles}
    return Kind.model_validate({"kind": name, "places": ["garage"], "fields": fields})


def city(*kinds: Kind | PlaceKind) -> Kinds:
    """Without the kinds that come along."""
    return Kinds((), builtin().places.values()).with_kinds(*kinds)


@pytest.mark.parametrize(
    ("roles", "values"),
    [
        ((OCCUPIED, TOTAL), {"my_occupied_places": 100, "my_total_places": 100}),
        ((FREE, TOTAL), {"my_free_places": 0, "my_total_places": 100}),
        ((FREE, OCCUPIED), {"my_free_places": 0, "my_occupied_places": 100}),
    ],
    ids=["occupied", "free", "without-total"],
)
def test_the_planner_warns_of_a_full_garage_of_any_kind_that_counts_places(
    roles: tuple[str, ...], values: dict[str, int], tmp_path: Path
) -> None:
    pack = load(find("travel_planner"), city(counting("bays", *roles)))
    place = {
        "id": "P1",
        "kind": "garage",
        "name": "Torvet",
        "geometry": {"type": "Point", "coordinates": [10.2, 56.15]},
    }
    wish = {"id": "ann.p", "template": "garage", "user": "ann", "values": {"garage": "P1"}}
    lines = [
        {"t": "2026-05-04T20:00:00Z", "place": place},
        {"t": "2026-05-04T20:00:00Z", "instance": wish},
        {"t": "2026-05-04T20:01:00Z", "reading": {"kind": "bays", "sensor": "P1", **values}},
    ]
    path = tmp_path / "full.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    outcome = run(pack, path, concluded)
    told = [(one["change"], one["notice"], one.get("text")) for one in outcome.got]
    assert ("opened", "garage_full", "Torvet: 0 of 100 places free") in told
    assert outcome.failures == ()


def test_a_kind_that_comes_by_a_role_does_not_make_another_version() -> None:
    before, after = (
        load(find("travel_planner"), city(*kinds)).template("garage")
        for kinds in ((), (counting("bays", FREE, TOTAL),))
    )
    assert before.digest == after.digest
    assert (list(before.kinds), list(after.kinds)) == ([], ["bays"])


def test_a_role_that_the_manifest_does_not_name_is_an_error(tmp_path: Path) -> None:
    app = AppFolder(tmp_path)
    app.rules("radius(Me,R),", "radius(Me,R), role_free_docks(Jam,_),")
    app.rules("#prefix ev", "#prefix role : <https://w3id.org/citywise/role#>.\n#prefix ev")
    (found,) = (one for one in app.findings() if "role" in one)
    assert "role_free_docks" in found
    app.manifest('streams = ["events"]', 'streams = ["events"]\nroles = ["free_docks"]')
    assert not [one for one in app.findings() if "role" in one]


def test_the_planner_finds_garages_by_what_they_count_whatever_they_are_called(
    tmp_path: Path,
) -> None:
    engine = begun(f"sqlite:///{tmp_path / 'citywise.db'}")
    bays = counting("bays", FREE, TOTAL).model_copy(update={"places": ("lot",)})
    lot = PlaceKind.model_validate({"place": "lot", "geometry": "point"})
    installed.install(engine, city(bays, lot))
    body = {
        "id": "L1",
        "kind": "lot",
        "name": "Torvet",
        "geometry": {"type": "Point", "coordinates": [10.2, 56.15]},
        "sensors": ["bays"],
    }
    row = {"id": "L1", "kind": "lot", "name": "Torvet", "lat": 56.15, "lon": 10.2}
    with engine.begin() as connection:
        connection.execute(insert(PlaceRow), {**row, "body": body, "updated_ms": 0})
    assert [(e.id, e.kind) for e in garages(worker._places(engine))] == [("L1", "garage")]
    engine.dispose()
