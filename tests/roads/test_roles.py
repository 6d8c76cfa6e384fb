"""Planners find speeds, counts and the air by the roles of fields, whatever kinds are called."""

from __future__ import annotations

import pytest

from citywise.apps.travel_planner.roads.roles import Counter, Roles
from citywise.backend.kinds import Field, Kind, Kinds, builtin


def speeds(unit: str) -> Roles:
    field = Field(type="decimal", unit=unit, role="road_speed")
    return Roles(Kinds([Kind(kind="bluetooth", fields={"v": field})]))


def test_the_kinds_that_come_along_fill_the_roles_of_the_first_version() -> None:
    roles = Roles(builtin())
    assert set(roles.roads) == {"traffic"}
    assert roles.garages == {"parking": Counter("occupied", "capacity", None)}
    assert set(roles.air) == {"air"}
    assert roles.places == {"garage"}
    assert roles.names == {"traffic", "parking", "air"}


@pytest.mark.parametrize(("unit", "kmh"), [("km/h", 10), ("m/s", 36), ("[mi_i]/h", 16.09344)])
def test_a_speed_is_in_kilometres_per_hour_and_counts_as_one_vehicle(unit: str, kmh: float) -> None:
    (road,) = speeds(unit).roads.values()
    assert road.read({"v": 10.0}) == (10.0 * road.kmh, 1)
    assert road.kmh * 10 == pytest.approx(kmh)
    assert road.read({"v": None}) is None


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ({"o": 3, "t": 10, "f": None}, (3, 10)),
        ({"o": None, "t": 10, "f": 4}, (6, 10)),
        ({"o": 3, "t": None, "f": 4}, (3, 7)),
        ({"o": 3, "t": None, "f": None}, None),
        ({"o": 0, "t": 0, "f": 0}, None),
        ({"o": None, "t": 10, "f": 12}, (0, 10)),
    ],
)
def test_two_of_taken_total_and_free_are_enough(
    body: dict[str, int | None], count: tuple[int, int] | None
) -> None:
    assert Counter("o", "t", "f").read(body) == count
