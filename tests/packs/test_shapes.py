"""Lines and areas are kept as they were checked, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue

from citywise.backend.packs import shapes
from citywise.backend.packs.values import BadValueError


def test_a_line_is_its_points_as_numbers() -> None:
    value: JsonValue = {"type": "LineString", "coordinates": [[10, 56], [10.5, 56]]}
    assert shapes.line(value, "route") == {"coordinates": [[10.0, 56.0], [10.5, 56.0]]}


@pytest.mark.parametrize(
    "point", [["10", 56], [10, "56"], [True, False], [10, None], [10, float("nan")], [10, 56, 0]]
)
def test_a_point_that_is_not_two_numbers_is_refused(point: list[Any]) -> None:
    with pytest.raises(BadValueError, match=r"route\.coordinates\[1\]"):
        shapes.line({"coordinates": [[10, 56], point]}, "route")


@pytest.mark.parametrize("more", [{"bbox": []}, {"type": ["LineString"]}, {"type": "Point"}])
def test_a_line_has_nothing_else_about_it(more: dict[str, Any]) -> None:
    with pytest.raises(BadValueError):
        shapes.line({"coordinates": [[10, 56], [11, 56]], **more}, "route")


@pytest.mark.parametrize("more", [{"junk": []}, {"type": ["x"]}, {"type": "Polygon"}])
def test_an_area_has_nothing_else_about_it(more: dict[str, JsonValue]) -> None:
    circle: dict[str, JsonValue] = {"center": {"lat": 56, "lon": 10}, "radius_m": 5}
    assert shapes.area(circle, "area") == circle
    with pytest.raises(BadValueError, match="found "):
        shapes.area({**circle, **more}, "area")
