"""A file of a layer becomes places, or is refused as a whole with what is wrong where."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from citywise.backend.kinds import Kinds, PlaceKind, files
from citywise.backend.layers.folder import known_or_made, name_of, text_of
from citywise.backend.layers.reading import LayerError, read
from citywise.reasoning import Finding
from tests.layers.files import SCHOOL, collection, feature, polygon, square

BOW = [[10.2, 56.1], [10.3, 56.2], [10.3, 56.1], [10.2, 56.2], [10.2, 56.1]]
CITY = (10.1, 56.1, 10.3, 56.2)


def refused(content: bytes, city: Any = None) -> str:
    with pytest.raises(LayerError) as caught:
        read(SCHOOL, content, "s.geojson", city)
    return str(caught.value)


def test_a_feature_becomes_a_place_with_names_hours_fields_and_what_else_it_says() -> None:
    told = feature(
        7, navn="Nordskolen", hours="Mo-Fr 08:00-14:00", max_speed="30", private="true",
        level="first", pupils=412, note="", head=None,
    )  # fmt: skip
    (place,) = read(SCHOOL, collection(told), "s.geojson").places
    body = place.model_dump(mode="json", exclude_none=True)
    assert body == {
        "id": "school.7", "kind": "school", "name": "North School", "name_en": "North School",
        "name_da": "Nordskolen", "opening_hours": "Mo-Fr 08:00-14:00", "limit": 30,
        "private": True, "level": "first", "properties": {"pupils": 412}, "sensors": [],
        "geometry": polygon(),
    }  # fmt: skip


@pytest.mark.parametrize(
    "geometry",
    [
        {"type": "Point", "coordinates": [10.2, 56.1]},
        {"type": "MultiPoint", "coordinates": [[10.2, 56.1], [10.3, 56.1]]},
        {"type": "LineString", "coordinates": [[10.2, 56.1], [10.3, 56.1]]},
        {"type": "MultiLineString", "coordinates": [[[10.2, 56.1], [10.3, 56.1]]]},
        {"type": "Polygon", "coordinates": [square(10.2, 56.1), square(10.203, 56.103, 0.004)]},
        {"type": "MultiPolygon", "coordinates": [[square(10.2, 56.1)], [square(10.3, 56.1)]]},
    ],
)
def test_every_geometry_but_a_collection_is_taken(geometry: dict[str, Any]) -> None:
    (place,) = read(SCHOOL, collection(feature(geometry=geometry)), "s.geojson").places
    assert place.geometry.model_dump(mode="json") == geometry
    lon, lat = place.middle
    assert 10.2 <= lon <= 10.31
    assert 56.1 <= lat <= 56.11


def test_heights_odd_hours_and_features_without_geometry_are_told_not_refused() -> None:
    high = {"type": "LineString", "coordinates": [[10.2, 56.1, 12.5], [10.3, 56.1, 13]]}
    nowhere = {**feature("c"), "geometry": None}
    layer = read(
        SCHOOL, collection(feature("a", high), feature("b", hours="always"), nowhere), "s.geojson"
    )
    assert [place.id for place in layer.places] == ["school.a", "school.b"]
    assert layer.places[0].geometry.model_dump(mode="json")["coordinates"] == [
        [10.2, 56.1], [10.3, 56.1],
    ]  # fmt: skip
    assert any("heights" in said for said in layer.remarks)
    assert any("without geometry" in said for said in layer.remarks)
    assert any("properties.hours" in said and "taken without" in said for said in layer.remarks)


def test_odd_ids_and_names_become_such_as_fit() -> None:
    told = feature("Skole Å/1", name="Tab\there <b>é</b> 🏫")
    (place,) = read(SCHOOL, collection(told), "s.geojson").places
    assert place.id.startswith("school.Skole___1-")
    assert place.name == "Tab here <b>é</b> 🏫"


NO_FILE = [
    (b"", "s.geojson: is no JSON"),
    (b"[1, 2", "is no JSON"),
    (b'{"type": "FeatureCollection", "features": [NaN]}', "JSON has no NaN"),
    (b"[]", "found [], expected a FeatureCollection"),
    (b'{"type": "Topology"}', '`type` is "Topology", expected a FeatureCollection'),
    (b'{"type": "FeatureCollection", "features": {}}', "with `features`"),
    (collection(), "has no features; nothing is replaced by nothing"),
    (
        collection(feature(), crs={"properties": {"name": "urn:ogc:def:crs:EPSG::25832"}}),
        'crs: found "urn:ogc:def:crs:EPSG::25832", expected WGS84; write longitude',
    ),
    (collection({**feature(), "geometry": None}), "no feature has a geometry"),
    (b"[" * 2000, "is no JSON"),
]


@pytest.mark.parametrize(("content", "message"), NO_FILE)
def test_a_file_that_is_none_is_refused(content: bytes, message: str) -> None:
    assert message in refused(content)


def test_the_usual_reference_systems_may_be_named() -> None:
    for name in ("urn:ogc:def:crs:OGC:1.3:CRS84", "EPSG:4326", "urn:ogc:def:crs:EPSG::4326"):
        content = collection(feature(), crs={"type": "name", "properties": {"name": name}})
        assert len(read(SCHOOL, content, "s.geojson").places) == 1


POLYGON = {"type": "Polygon"}
NO_PLACE = [
    (7, "feature 0: found 7, expected a Feature"),
    ({"type": "Feature", "properties": []}, "feature 0: properties.school_no: found null"),
    ({**feature(), "properties": [1]}, "properties: found [1], expected an object"),
    (feature(None), "properties.school_no: found null, expected a text or whole number"),
    (feature(True), "properties.school_no: found true"),
    (feature(geometry={"type": "GeometryCollection", "geometries": []}), "geometry.type: found"),
    (feature(geometry={"type": "Point"}), "geometry.coordinates: found null"),
    (feature(geometry={"type": "Point", "coordinates": []}), "geometry.coordinates: found []"),
    (feature(geometry={**POLYGON, "coordinates": [[]]}), "geometry.coordinates[0]: found []"),
    (
        feature(geometry={"type": "Point", "coordinates": [574000.5, 6223000.1]}),
        "which are metres of a map; write longitude and latitude",
    ),
    (
        feature(geometry={"type": "Point", "coordinates": [56.1, 110.2]}),
        "latitude and longitude are exchanged",
    ),
    (feature(geometry={"type": "Point", "coordinates": [10.2, None]}), "found [10.2, null]"),
    (feature(geometry={"type": "Point", "coordinates": [10.2]}), "found [10.2]"),
    (feature(geometry={"type": "Point", "coordinates": [200, 95]}), "nowhere on the earth"),
    (
        feature(geometry={**POLYGON, "coordinates": [BOW]}),
        "(`north`): geometry: Self-intersection at [10.25 56.15]: rings may not cross",
    ),
    (feature(geometry={**POLYGON, "coordinates": [BOW[:4]]}), "ends where it begins"),
    (feature(geometry={**POLYGON, "coordinates": [BOW[:3]]}), "geometry.coordinates[0]: found"),
    (
        feature(geometry={"type": "LineString", "coordinates": [[10.2, 56.1]]}),
        "geometry.coordinates: found",
    ),
    (feature(max_speed="fast"), 'properties.max_speed: found "fast", expected a whole number from'),
    (feature(max_speed=400), "properties.max_speed: found 400, expected a whole number from 5"),
    (feature(level="third"), 'properties.level: found "third", expected one of first, second'),
    (feature(private="maybe"), 'properties.private: found "maybe", expected true or false'),
    (feature(geometry={"type": "Point", "coordinates": [[[[[1]]]]]}), "expected [longitude"),
    (
        feature(geometry={"type": "Polygon", "coordinates": [square(10.2, 56.1), [1, 2]]}),
        "geometry.coordinates[1][0]: found 1",
    ),
]


@pytest.mark.parametrize(("told", "message"), NO_PLACE)
def test_a_feature_that_is_no_place_refuses_the_file(told: Any, message: str) -> None:
    said = refused(collection(told, feature("good")))
    assert message in said
    assert said.startswith("s.geojson: feature 0")


def test_all_faults_are_told_but_not_thousands() -> None:
    said = refused(collection(*(feature(n, max_speed=999) for n in range(50))))
    assert len(said.splitlines()) == 21
    assert said.endswith("and 30 more")


def test_an_id_is_of_one_feature() -> None:
    assert "feature 1 (`a`): id: feature 0 has it, too" in refused(
        collection(feature("a"), feature("a"))
    )


def test_coordinates_that_are_exchanged_are_noticed_by_where_the_city_is() -> None:
    exchanged = feature(geometry={"type": "Point", "coordinates": [56.15, 10.2]})
    assert "longitude and latitude are exchanged" in refused(collection(exchanged), CITY)
    assert read(SCHOOL, collection(feature()), "s.geojson", CITY).places
    elsewhere = feature(geometry={"type": "Point", "coordinates": [2.3, 48.8]})
    assert read(SCHOOL, collection(elsewhere), "s.geojson", CITY).places


def test_a_file_or_a_feature_that_is_too_large_is_refused() -> None:
    small = SCHOOL.model_copy(
        update={"layer": SCHOOL.layer and SCHOOL.layer.model_copy(update={"max_bytes": 1000})}
    )
    with pytest.raises(LayerError, match="bytes, at most 1,000 are read"):
        read(small, collection(*[feature(n) for n in range(9)]), "s.geojson")
    spikes = [[10 + i * 1e-7, 56 + i % 2 * 1e-4] for i in range(18_000)]
    parts = [{"type": "MultiLineString", "coordinates": [spikes] * 3}]
    assert "simplify its geometry" in refused(collection(feature(geometry=parts[0])))


def test_no_damage_to_a_file_does_more_than_refuse_it() -> None:
    dice, sound = random.Random(3), collection(feature(), feature(8, hours="Mo 08:00-10:00"))
    for _ in range(400):
        content = bytearray(sound)
        for _ in range(dice.randint(1, 4)):
            content[dice.randrange(len(content))] = dice.choice(b'0129-.,[]{}":nulltrue\x00\xff ')
        with suppress(LayerError):
            read(SCHOOL, bytes(content), "s.geojson", CITY)


def test_a_kind_is_made_of_a_files_properties_where_there_is_none() -> None:
    rows = [
        {"Navn": "Midtby", "Nr": 1, "people": 12_000, "share": 0.25, "old": True, "mixed": 1},
        {"Navn": "Trøjborg", "Nr": 2, "people": 9_000, "share": 1, "old": None, "mixed": "x"},
    ]
    features = [
        {"type": "Feature", "properties": row, "geometry": polygon(10 + n)}
        for n, row in enumerate(rows)
    ]
    kind, text = known_or_made("district", Kinds(), collection(*features))
    assert text is not None
    findings: list[Finding] = []
    assert files.parse(text, "district.toml", findings) == kind
    assert not findings
    assert {name: field.type for name, field in kind.fields.items()} == {
        "nr": "integer", "people": "integer", "share": "decimal", "old": "boolean",
    }  # fmt: skip
    places = read(kind, collection(*features), "district.geojson").places
    assert [(place.id, place.name) for place in places] == [
        ("district.Midtby", "Midtby"),
        ("district.Tr_jborg-" + places[1].id[-8:], "Trøjborg"),
    ]


def test_the_text_of_a_kind_is_the_kind() -> None:
    findings: list[Finding] = []
    assert files.parse(text_of(SCHOOL), "school.toml", findings) == SCHOOL
    assert not findings


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ('adress = "https://x.org/a"', "`layer.adress`: no such key; did you mean `address`?"),
        ('address = "ftp://x.org/a"', "`layer.address`: found"),
        ('[layer.properties]\nlimit = "x"', "there is no field `limit`; add it"),
        ("interval_s = 1", "`layer.interval_s`: found 1, expected at least 10"),
    ],
)
def test_a_table_of_a_layer_that_is_wrong_is_told_by_key(layer: str, message: str) -> None:
    findings: list[Finding] = []
    text = f'place = "zone"\ngeometry = "area"\n\n[layer]\n{layer}\n'
    assert files.parse(text, "zone.toml", findings) is None
    assert message in str(findings[0])


def test_the_name_of_a_file_is_that_of_its_layer() -> None:
    told = ["Skoler 2026.geojson", "42.geojson", "bydele.geojson"]
    assert [name_of(Path(name)) for name in told] == ["skoler_2026", "layer_42", "bydele"]


def test_a_kind_without_a_layer_takes_no_file() -> None:
    plain = PlaceKind(place="bench", geometry="point")
    with pytest.raises(Exception, match="`bench` is no layer: its places come one by one"):
        known_or_made("bench", Kinds(places=[plain]), json.dumps({}).encode())
