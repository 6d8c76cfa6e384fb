"""Queries of NGSI-LD: what they find, and what is said of those that cannot be read."""

from __future__ import annotations

import pytest

from citywise.backend.ngsi import places, query
from citywise.backend.ngsi.query import QueryError

ENTITY = {
    "id": "urn:ngsi-ld:NoiseObserved:n1",
    "type": "NoiseObserved",
    "level": {
        "type": "Property",
        "value": 64.5,
        "unitCode": "2N",
        "observedAt": "2026-05-04T09:00:00Z",
    },
    "name": {"type": "Property", "value": "Torvet; 3|4"},
    "isOpen": {"type": "Property", "value": True},
    "tags": {"type": "Property", "value": ["a", "b"]},
    "address": {"type": "Property", "value": {"city": {"code": 8000}}},
    "at": {"type": "Relationship", "object": "urn:ngsi-ld:NoiseMeter:n1"},
    "seen": {"type": "Property", "value": {"@type": "DateTime", "@value": "2026-05-04T11:00:00Z"}},
    "location": {"type": "GeoProperty", "value": {"type": "Point", "coordinates": [10.2, 56.15]}},
    "way": {
        "type": "GeoProperty",
        "value": {"type": "LineString", "coordinates": [[10.2, 56.15], [10.3, 56.15]]},
    },
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("level", True),
        ("nothing", False),
        ("level==64.5", True),
        ("level!=64.5", False),
        ("level>64;level<65", True),
        ("level>64;level<64.5", False),
        ("level<=64.5", True),
        ("level>70|isOpen==true", True),
        ("level>70;level<80|isOpen==true", True),
        ("(level>70|isOpen==true);level<60", False),
        ("level==60..70", True),
        ("level==1..2", False),
        ("level==1,64.5", True),
        ("isOpen==1", False),
        ("isOpen==true", True),
        ('name=="Torvet; 3|4"', True),
        ("name~=^Tor", True),
        ("name!~=^Tor", False),
        ("name~=x", False),
        ("tags==b", True),
        ("tags==c", False),
        ("level.unitCode==2N", True),
        ('level.unitCode=="2N"', True),
        ("level.observedAt>2026-05-04T08:00:00Z", True),
        ("level.observedAt>2026-05-04T12:00:00+02:00", False),
        ("seen==2026-05-04T13:00:00+02:00", True),
        ("address[city.code]==8000", True),
        ("address[city.code]==8001", False),
        ("at==urn:ngsi-ld:NoiseMeter:n1", True),
        ("level>abc", False),
        ("name>A", True),
    ],
)
def test_a_query_finds_what_it_says(text: str, holds: bool) -> None:
    assert query.parse(text).test(ENTITY) is holds


@pytest.mark.parametrize(
    "text",
    ["", "level=", "level==", "level>", "(level", "level)", ";", "level;;name", "==5", "a b",
     "name~=(", "x" * 2001, "(" * 1999, "level==1..", "level[", "a.b[c"],
)  # fmt: skip
def test_what_cannot_be_read_is_said(text: str) -> None:
    with pytest.raises(QueryError):
        query.parse(text)


def test_a_pattern_that_explodes_elsewhere_does_not_here() -> None:
    assert not query.matcher("(a+)+$")("a" * 5_000 + "!")


@pytest.mark.parametrize(
    ("georel", "geometry", "coordinates", "name", "holds"),
    [
        ("near;maxDistance==700", "Point", "[10.21,56.15]", "location", True),
        ("near;maxDistance==600", "Point", "[10.21,56.15]", "location", False),
        ("near;minDistance==600", "Point", "[10.21,56.15]", "location", True),
        ("near;maxDistance==1200", "Point", "[10.25,56.16]", "way", True),
        ("near;maxDistance==1000", "Point", "[10.25,56.16]", "way", False),
        ("within", "Polygon", "[[[10,56],[11,56],[11,57],[10,57],[10,56]]]", "location", True),
        ("within", "Polygon", "[[[11,56],[12,56],[12,57],[11,57],[11,56]]]", "location", False),
        ("intersects", "LineString", "[[10.25,56],[10.25,57]]", "way", True),
        ("disjoint", "LineString", "[[10.25,56],[10.25,57]]", "way", False),
        ("equals", "Point", "[10.2,56.15]", "location", True),
        ("within", "Polygon", "[[[10,56],[11,56],[11,57],[10,57],[10,56]]]", "nothing", False),
    ],
)
def test_a_geo_query_finds_what_is_there(
    georel: str, geometry: str, coordinates: str, name: str, holds: bool
) -> None:
    assert places.parse(georel, geometry, coordinates, name)(ENTITY) is holds


@pytest.mark.parametrize(
    ("georel", "geometry", "coordinates"),
    [
        ("near", "Point", "[10,56]"),
        ("near;maxDistance==x", "Point", "[10,56]"),
        ("near;maxDistance==5", "LineString", "[[10,56],[11,56]]"),
        ("beside", "Point", "[10,56]"),
        ("within", "Circle", "[10,56]"),
        ("within", "Polygon", "[[[0,0],[1,1],[0,1],[1,0],[0,0]]]"),
        ("within", "Point", "[NaN,56]"),
        ("within", "Point", "10,56"),
        ("within", "Point", "[]"),
        ("within", "Polygon", "[[" * 5000),
    ],
)
def test_a_geo_query_that_cannot_be_read_is_said(
    georel: str, geometry: str, coordinates: str
) -> None:
    with pytest.raises(QueryError):
        places.parse(georel, geometry, coordinates)
