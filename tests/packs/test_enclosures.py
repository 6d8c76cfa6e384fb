"""What lies in the areas of instances is found by an index as it is by looking at all."""

from __future__ import annotations

import time
from itertools import product
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.backend.packs.run import TemplateRun
from citywise.backend.space import boxes
from tests.packs.test_run import event, instance, log, template
from tests.space.reference import EARTH

AREA = {"type": "area", "title": "A", "repeated": True, "max_items": 3}
INSIDE = template(
    'notice(Me,"jam",X,3) :- inside(Me,X,"area"), ev_level(X,_).',
    parameters={"area": AREA},
    streams=("events",),
)
SPOTS = [(10.2 + i * 0.002, 56.15 + j * 0.001) for i, j in product(range(6), range(6))]
"""A grid of 124 by 111 m; no distance in it is within a metre of a radius below."""


def circle(center: tuple[float, float], radius_m: int) -> dict[str, Any]:
    return {"center": {"lon": center[0], "lat": center[1]}, "radius_m": radius_m}


def rectangle(one: tuple[float, float], other: tuple[float, float]) -> dict[str, Any]:
    (west, east), (south, north) = (sorted(pair) for pair in zip(one, other, strict=True))
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return {"type": "Polygon", "coordinates": [ring]}


CIRCLES = st.builds(circle, st.sampled_from(SPOTS), st.sampled_from([50, 130, 400, 2000]))
RECTANGLES = st.builds(rectangle, st.sampled_from(SPOTS), st.sampled_from(SPOTS)).filter(
    lambda area: len({tuple(point) for point in area["coordinates"][0]}) == 4
)
AREAS = st.lists(CIRCLES | RECTANGLES, min_size=1, max_size=3)
CHANGES = st.one_of(
    st.tuples(st.sampled_from("abcdef"), st.none() | AREAS),
    st.tuples(st.sampled_from("123"), st.none() | st.sampled_from(SPOTS)),
)


def holds(area: dict[str, Any], spot: tuple[float, float]) -> bool:
    if "center" in area:
        center = area["center"]
        away = EARTH.inv(center["lon"], center["lat"], *spot)[2]
        return bool(away <= area["radius_m"])
    (west, south), _, (east, north), *_ = area["coordinates"][0]
    return bool(west <= spot[0] <= east and south <= spot[1] <= north)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.lists(CHANGES, min_size=1, max_size=8), min_size=1, max_size=5))
def test_notices_are_about_what_lies_in_the_areas_there_are(steps: list[list[Any]]) -> None:
    areas: dict[str, Any] = {}
    spots: dict[str, Any] = {}
    happenings: list[Any] = []
    expected: list[set[tuple[str, str]]] = []
    for step in steps:
        for name, value in step:
            known = areas if name.isalpha() else spots
            known.pop(name, None)
            if value is not None:
                known[name] = value
            happenings.append(standing(name, value))
        happenings.append(1)
        expected.append(
            {
                (user, name)
                for user, some in areas.items()
                for name, spot in spots.items()
                if any(holds(area, spot) for area in some)
            }
        )
    with patch.object(boxes, "_FEW", 2):
        assert list(open_notices(happenings)) == expected


def standing(name: str, value: Any) -> tuple[str, str, Any]:
    if name.isalpha():
        told = instance(name, area=value)
        return told if value is not None else (*told[:2], None)
    return event(name, value[0], lat=value[1]) if value is not None else ("event", name, None)


def open_notices(happenings: list[Any]) -> Any:
    """Who is told of what, after each clock."""
    stands: dict[str, int] = {}
    found: list[Any] = []
    for happening in happenings:
        if isinstance(happening, int) or happening[2] is not None or happening[1] in stands:
            found.append(happening)
            if not isinstance(happening, int):
                stands[happening[1]] = 1
                if happening[2] is None:
                    del stands[happening[1]]
    run, is_open = TemplateRun(INSIDE), set[Any]()
    for entry, happening in zip(log(found), found, strict=True):
        for step in run.take(entry):
            for change in step.changes:
                pair = change["user"], change["about"]
                (is_open.discard if change["change"] == "closed" else is_open.add)(pair)
        if isinstance(happening, int):
            yield set(is_open)


@pytest.mark.thorough
def test_an_event_is_looked_for_in_few_of_many_areas() -> None:
    """Twenty events among 20,000 circles take far less than a second; looking at all took 11."""
    many = [
        instance(f"u{i}", area=[circle((10 + i % 200 * 0.002, 56 + i // 200 * 0.002), 300)])
        for i in range(20_000)
    ]
    run = TemplateRun(INSIDE)
    entries = log([*many, *(event(f"e{i}", 10.1 + i / 100, lat=56.1) for i in range(21))])
    for entry in entries[: len(many) + 1]:  # the first event builds the index
        list(run.take(entry))
    begin = time.process_time()
    for entry in entries[len(many) + 1 :]:
        list(run.take(entry))
    assert time.process_time() - begin < 5
