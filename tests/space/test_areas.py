"""Areas hold the points inside and on the border, and say what is wrong with their text."""

from __future__ import annotations

from typing import Any

import pytest

from citywise.backend.space import Area, BadAreaError
from tests.space.reference import EARTH

CENTER = {"lat": 56.1629, "lon": 10.2039}
SQUARE = [[10.0, 56.0], [10.2, 56.0], [10.2, 56.2], [10.0, 56.2], [10.0, 56.0]]
HOLE = [[10.05, 56.05], [10.15, 56.05], [10.15, 56.15], [10.05, 56.15], [10.05, 56.05]]
BOW = [[10.0, 56.0], [10.2, 56.2], [10.2, 56.0], [10.0, 56.2], [10.0, 56.0]]


@pytest.mark.parametrize("azimuth", [0, 45, 90, 200])
def test_a_circle_is_round_on_the_ground(azimuth: float) -> None:
    area = Area.of({"center": CENTER, "radius_m": 800})
    inside = EARTH.fwd(CENTER["lon"], CENTER["lat"], azimuth, 799.9)[:2]
    outside = EARTH.fwd(CENTER["lon"], CENTER["lat"], azimuth, 800.1)[:2]
    assert area.contains(*inside)
    assert not area.contains(*outside)


def test_a_polygon_holds_its_border_but_not_its_holes() -> None:
    area = Area.of({"type": "Polygon", "coordinates": [SQUARE, HOLE]})
    assert area.contains(10.02, 56.1)
    assert area.contains(10.2, 56.1)
    assert not area.contains(10.1, 56.1)
    assert not area.contains(10.3, 56.1)


@pytest.mark.parametrize("lat", [-89.9, -45, 0, 70, 87, 90])
def test_a_circle_holds_nothing_at_the_other_end_of_the_earth(lat: float) -> None:
    assert not Area.of({"center": CENTER, "radius_m": 50_000}).contains(10.2, lat)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "found nothing"),
        ({"radius": 5}, "found radius"),
        ({"center": [10.2, 56.1], "radius_m": 5}, "is not `lat` and `lon`"),
        ({"center": {"lat": 156, "lon": 10}, "radius_m": 5}, "center: lat 156 is not between"),
        ({"center": {**CENTER, "alt": 3}, "radius_m": 5}, "is not `lat` and `lon`"),
        ({"center": CENTER, "radius_m": 5, "junk": []}, "found center, radius_m, junk"),
        ({"center": CENTER, "radius_m": 5, "type": ["x"]}, "found center, radius_m, type"),
        ({"type": "Polygon", "coordinates": [SQUARE], "bbox": 1}, "found type, coordinates, bbox"),
        ({"type": ["Polygon"], "coordinates": [SQUARE]}, r"found `type` \['Polygon'\]"),
        ({"center": CENTER, "radius_m": 0}, "radius_m: 0 is no number of metres"),
        ({"center": CENTER, "radius_m": float("nan")}, "radius_m: nan is no number"),
        ({"center": CENTER, "radius_m": True}, "radius_m: True is no number"),
        ({"type": "Polygon", "coordinates": []}, "a list of rings"),
        ({"type": "Polygon", "coordinates": [SQUARE[:-1]]}, r"coordinates\[0\]: a ring has"),
        ({"type": "Polygon", "coordinates": [SQUARE, HOLE[1:]]}, r"coordinates\[1\]: a ring has"),
        ({"type": "Polygon", "coordinates": [[[1, 2], 3, 4, [1, 2]]]}, r"\[0\]\[1\]: 3 is no"),
        ({"type": "Polygon", "coordinates": [BOW]}, "Self-intersection"),
    ],
)
def test_what_describes_no_area_is_refused_with_what_was_expected(
    value: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadAreaError, match=message):
        Area.of(value)
