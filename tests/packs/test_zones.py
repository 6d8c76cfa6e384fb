"""What lies in a place or near it is as a slow search by the definitions has it."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from citywise.backend.kinds import PlaceKind
from citywise.backend.kinds.kind import Field
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.space.areas import Here
from citywise.backend.space.around import Around, Place
from tests.packs.test_run import Happening, event, instance, position, template, told
from tests.space.reference import EARTH

Lonlat = tuple[float, float]
MARGIN_M = 0.05
"""So near to the border nobody is asked: the oracle is on the ellipsoid, we are on a map."""
SQUARE = [[10.19, 56.14], [10.21, 56.14], [10.21, 56.16], [10.19, 56.16], [10.19, 56.14]]
HOLE = [[10.198, 56.148], [10.198, 56.152], [10.202, 56.152], [10.202, 56.148], [10.198, 56.148]]
FAR = [[10.3, 56.14], [10.31, 56.14], [10.31, 56.15], [10.3, 56.14]]
ANY = {"type": "place", "kind": "school", "title": "S"}


def is_in_ring(ring: Sequence[Lonlat], at: Lonlat) -> bool:
    """By the angles under which one sees the sides: they add up to a whole turn, or to nothing."""
    turned = 0.0
    for (ax, ay), (bx, by) in pairwise(ring):
        begin = math.atan2(ay - at[1], ax - at[0])
        end = math.atan2(by - at[1], bx - at[0])
        turned += (end - begin + math.pi) % (2 * math.pi) - math.pi
    return abs(turned) > math.pi


def is_in(geometry: dict[str, Any], at: Lonlat) -> bool:
    many = {"Polygon": [geometry["coordinates"]], "MultiPolygon": geometry["coordinates"]}
    return any(
        is_in_ring(rings[0], at) and not any(is_in_ring(hole, at) for hole in rings[1:])
        for rings in many.get(geometry["type"], [])
    )


def pieces(geometry: dict[str, Any]) -> list[tuple[Lonlat, Lonlat]]:
    """All sides of a geometry; of points each with itself."""
    found = geometry["coordinates"]
    match geometry["type"]:
        case "Point":
            return [(found, found)]
        case "MultiPoint":
            return [(one, one) for one in found]
        case "LineString":
            lines = [found]
        case "MultiLineString" | "Polygon":
            lines = found
        case _:
            lines = [ring for rings in found for ring in rings]
    return [pair for line in lines for pair in pairwise(line)]


def away_m(geometry: dict[str, Any], at: Lonlat) -> float:
    """The geodesic to the nearest of all sides, each searched by thirds."""
    return min(_to_side(one, other, at) for one, other in pieces(geometry))


def _to_side(one: Lonlat, other: Lonlat, at: Lonlat) -> float:
    def metres(share: float) -> float:
        lon, lat = (a + (b - a) * share for a, b in zip(one, other, strict=True))
        return float(EARTH.inv(lon, lat, *at)[2])

    low, high = 0.0, 1.0
    for _ in range(60):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if metres(left) < metres(right) else (left, high)
    return min(metres(low), metres(0), metres(1))


def star(dice: random.Random, center: Lonlat, least: float, most: float) -> list[Lonlat]:
    """A ring that goes once around a point, in and out."""
    turns = sorted(dice.random() for _ in range(dice.randint(4, 9)))
    if max(b - a for a, b in zip(turns, [*turns[1:], turns[0] + 1], strict=True)) > 0.45:
        return star(dice, center, least, most)
    ring = [
        (center[0] + r * math.cos(a), center[1] + r * 0.55 * math.sin(a))
        for a, r in ((2 * math.pi * turn, dice.uniform(least, most)) for turn in turns)
    ]
    return [*ring, ring[0]]


def drawn(dice: random.Random) -> dict[str, Any]:
    """A random place around 10.2, 56.15."""
    here, there = (10.2, 56.15), (10.215, 56.155)
    area = [star(dice, here, 0.003, 0.006), star(dice, here, 0.0004, 0.001)]
    other = [star(dice, there, 0.001, 0.003)]
    line = [(here[0] + dice.gauss(0, 0.004), here[1] + dice.gauss(0, 0.002)) for _ in range(5)]
    return dice.choice(
        [
            {"type": "Point", "coordinates": line[0]},
            {"type": "MultiPoint", "coordinates": line},
            {"type": "LineString", "coordinates": line},
            {"type": "MultiLineString", "coordinates": [line[:2], line[2:]]},
            {"type": "Polygon", "coordinates": area},
            {"type": "MultiPolygon", "coordinates": [area, other]},
        ]
    )


@pytest.mark.parametrize("seed", range(12))
def test_a_place_holds_what_the_definition_says(seed: int) -> None:
    dice = random.Random(seed)
    geometry = drawn(dice)
    place = Place.of(geometry)
    for _ in range(25):
        at = (10.2 + dice.gauss(0, 0.006), 56.15 + dice.gauss(0, 0.003))
        point, inside, away = Here.of(*at), is_in(geometry, at), away_m(geometry, at)
        if away > MARGIN_M:
            assert Around.of(place).holds(point) == inside, (geometry, at)
        for radius in (50, 200, 500):
            if abs(away - radius) > MARGIN_M:
                expected = inside or away <= radius
                assert Around.of(place, radius).holds(point) == expected, (geometry, at, radius)


# -- in rules ---------------------------------------------------------------------------


def school(key: str, geometry: dict[str, Any] | None, **more: Any) -> tuple[str, str, Any]:
    body = {"id": key, "kind": "school", "name": key, "geometry": geometry, "sensors": [], **more}
    return "place", key, None if geometry is None else body


def of_school(rules: str, **more: Any) -> TemplateVersion:
    limit = Field(type="integer", unit="km/h", range=(0, 200))
    kind = PlaceKind(place="school", geometry="area", fields={"limit": limit})
    radius = {"type": "number", "unit": "m", "min": 10, "max": 1000, "title": "R", "default": 100}
    parameters = {"school": ANY, "radius": radius}
    known = {"observes": (), "place_kinds": (kind,), "parameters": parameters, **more}
    return template(rules, **known)


AREA = {"type": "Polygon", "coordinates": [SQUARE, HOLE]}
INSIDE = of_school('notice(Me,"jam",X,3) :- inside(Me,X,"school"), ev_level(X,_).')
NEAR = of_school('notice(Me,"jam",X,3) :- radius(Me,R), near(Me,X,R,"school"), ev_level(X,_).')
NORTH = instance("alice", school="north", radius=200)


@pytest.mark.parametrize("first", [0, 1, 2])
def test_events_in_a_place_are_found_in_whatever_order_they_come(first: int) -> None:
    things = [school("north", AREA), NORTH, event("in", 10.192), event("hole", 10.2)]
    found = told([*things[first:], *things[:first], event("out", 10.22), 1], INSIDE)
    assert found == [(1, "opened", "alice.jam", "in", 3)]


def test_near_counts_from_the_border_and_what_is_inside_is_near() -> None:
    events = [event("in", 10.192), event("beside", 10.213), event("far", 10.214)]
    found = told([school("north", AREA), NORTH, *events, 1], NEAR)
    assert [(change, about) for _t, change, _i, about, _c in found] == [
        ("opened", "beside"), ("opened", "in"),
    ]  # fmt: skip


def test_a_place_that_moves_or_goes_takes_its_facts_along() -> None:
    moved = {"type": "MultiPolygon", "coordinates": [[FAR]]}
    found = told(
        [
            school("north", AREA), NORTH,
            event("in", 10.192), event("there", 10.309, lat=56.145), 1,
            school("north", moved), 1, school("north", None), 1, school("north", AREA), 1,
        ],
        INSIDE,
    )  # fmt: skip
    assert [(t, change, about) for t, change, _i, about, _c in found] == [
        (1, "opened", "in"), (2, "closed", "in"), (2, "opened", "there"), (3, "closed", "there"),
        (4, "opened", "in"),
    ]  # fmt: skip


def test_a_user_is_told_to_be_in_a_place() -> None:
    here = of_school('notice(Me,"jam",S,3) :- school(Me,S), i_am_inside(Me,"school").')
    steps: list[Happening] = [NORTH, position("alice", 10.192), 1, school("north", AREA), 1]
    found = told([*steps, position("alice", 10.2), 1], here)
    assert [(t, change) for t, change, *_ in found] == [(2, "opened"), (3, "closed")]


def test_of_the_place_itself_nothing_is_told() -> None:
    near = of_school('notice(Me,"jam",P,3) :- near(Me,P,500,"school"), place(P,_).')
    point = {"type": "Point", "coordinates": [10.2, 56.15]}
    found = told([school("north", AREA), school("south", point), NORTH, 1], near)
    assert [about for *_, about, _c in found] == ["south"]


def test_rules_read_what_a_places_kind_says_of_it() -> None:
    slow = of_school('notice(Me,"jam",S,3) :- school(Me,S), city_school_limit(S,L), L < 40.')
    steps: list[Happening] = [NORTH]
    for limit in (30, 50, None):
        steps += [school("north", AREA, limit=limit), 1]
    found = told(steps, slow)
    assert [(t, change) for t, change, *_ in found] == [(1, "opened"), (2, "closed")]
