"""A small town for tests of what is live: an avenue whose blocks are measured, and a lane
one kilometre north of it that nobody measures."""

from __future__ import annotations

from dataclasses import replace

from citywise.apps.travel_planner.roads import RoadNetwork
from citywise.apps.travel_planner.roads.building import NetworkBuilder
from citywise.apps.travel_planner.roads.disturbances import OpenEvent
from citywise.backend.ingest.payloads import LineString, Place, Point

WEST, SOUTH, STEP = 10.20, 56.150, 0.008
NORTH = 56.159
BLOCKS = 10
NOW_MS = 1_407_222_000_000
"""2014-08-05 07:00 UTC, a Tuesday; nine o'clock in Aarhus."""
MINUTE_MS = 60_000


def avenue() -> RoadNetwork:
    """Edge 2 i runs east along block i and is measured by sensor `s<i>`, 2 i + 1 runs back.

    The avenue is free at 60 km/h; the last two edges are the lane, at 30 km/h.
    """
    builder = NetworkBuilder()
    nodes = [builder.add_node(WEST + STEP * i, SOUTH) for i in range(BLOCKS + 1)]
    for i in range(BLOCKS):
        there, _ = builder.add_street(nodes[i], nodes[i + 1], highway="primary", speed_kmh=60)
        assert there is not None
        builder.sense(f"s{i}", [there])
    corners = [(WEST, NORTH), (WEST + STEP * BLOCKS, NORTH)]
    builder.add_street(nodes[0], nodes[-1], via=corners, speed_kmh=30, name="Lane")
    return builder.build("a test", "none")


LANE = 2 * BLOCKS
"""Index of the lane's eastward edge."""


def block(i: int, *sensors: str) -> Place:
    """The place of sensor `s<i>`."""
    ends = [(WEST + STEP * (i + k), SOUTH) for k in (0, 1)]
    return Place.model_validate(
        {
            "id": f"s{i}",
            "kind": "road",
            "name": f"Avenue {i}",
            "geometry": LineString(coordinates=ends),
            "sensors": sensors or ("traffic",),
        }
    )


MIDDLE = (WEST + 4.5 * STEP, SOUTH)
"""Of the fifth block, about 250 m from its ends."""


def event(type_: str = "RoadWorks", level: int = 2, **more: object) -> OpenEvent:
    """An event in the middle of the fifth block."""
    point = {"type": "Point", "coordinates": MIDDLE}
    found = OpenEvent("e1", type_, level, "Avenue", *MIDDLE, NOW_MS - MINUTE_MS, point)
    return replace(found, **more)  # type: ignore[arg-type]


def garage(**more: object) -> Place:
    """A garage by the third block."""
    return Place.model_validate(
        {
            "id": "HARBOUR",
            "kind": "garage",
            "name": "Harbour",
            "geometry": Point(coordinates=(WEST + 3 * STEP, SOUTH + 0.0005)),
            "sensors": ("parking",),
            "capacity": 100,
        }
        | more
    )
