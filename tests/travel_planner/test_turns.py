"""What one does at the corners of a way."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from citywise.apps.travel_planner.roads import Mode, RoadNetwork
from citywise.apps.travel_planner.roads.building import NetworkBuilder
from citywise.apps.travel_planner.turns import stretches, turn_of

CAR, WALK = Mode.CAR.bit, Mode.WALK.bit
LAT, LON = 56.15, 10.2


def at(east_m: float, north_m: float) -> tuple[float, float]:
    wide = 111_320 * math.cos(math.radians(LAT))
    return LON + east_m / wide, LAT + north_m / 111_320


def edge(network: RoadNetwork, tail: int, head: int) -> int:
    pairs = zip(network.tail.tolist(), network.head.tolist(), strict=True)
    return list(pairs).index((tail, head))


def told(network: RoadNetwork, nodes: list[int], mode: Mode = Mode.CAR) -> list[object]:
    edges = [edge(network, *pair) for pair in pairwise(nodes)]
    found = stretches(network, edges, mode)
    assert [each.begin for each in found[1:]] == [each.end for each in found[:-1]]
    assert (found[0].begin, found[-1].end) == (0, len(edges))
    turns = [each.turn for each in found]
    return [turn.kind if turn.exit is None else (turn.kind, turn.exit) for turn in turns]


@pytest.mark.parametrize(
    ("degrees", "words"),
    [
        (0, "straight"),
        (-24, "straight"),
        (40, "slight-right"),
        (-40, "slight-left"),
        (90, "right"),
        (-90, "left"),
        (140, "sharp-right"),
        (180, "back"),
    ],
)
def test_an_angle_is_told_as_a_turn(degrees: float, words: str) -> None:
    assert turn_of(degrees) == words


def crossing(names: tuple[str, str]) -> RoadNetwork:
    """Two streets that cross at 0; from 1 in the south to 2 in the north, from 3 to 4 eastwards."""
    builder = NetworkBuilder()
    for point in (at(0, 0), at(0, -90), at(0, 90), at(-90, 0), at(90, 0)):
        builder.add_node(*point)
    for end, name in ((1, 0), (2, 0), (3, 1), (4, 1)):
        builder.add_street(0, end, name=names[name], modes=CAR | WALK, back=CAR | WALK)
    return builder.build("a test", "none")


def test_who_stays_on_a_street_over_a_crossing_is_told_nothing() -> None:
    assert told(crossing(("North", "East")), [1, 0, 2]) == ["depart"]


def test_who_leaves_a_street_is_told_to_which_side() -> None:
    network = crossing(("North", "East"))
    assert told(network, [1, 0, 4]) == ["depart", "right"]
    assert told(network, [1, 0, 3], Mode.WALK) == ["depart", "left"]


def test_a_turn_at_a_crossing_is_told_though_the_name_stays() -> None:
    assert told(crossing(("One", "One")), [1, 0, 4]) == ["depart", "right"]


def roundabout(exits: int, sides: int = 12) -> RoadNetwork:
    """A ring of 20 m driven leftwards (nodes 0 …), with a street outwards at each exit."""
    builder = NetworkBuilder()
    turns = [2 * math.pi * n / sides for n in range(sides)]
    for turn in turns:
        builder.add_node(*at(20 * math.cos(turn), 20 * math.sin(turn)))
    for n in range(sides):
        builder.add_street(n, (n + 1) % sides, modes=CAR | WALK, back=WALK)
    for n in range(exits):
        turn = turns[n * sides // exits]
        out = builder.add_node(*at(150 * math.cos(turn), 150 * math.sin(turn)))
        name = f"Street {n}"
        builder.add_street(n * sides // exits, out, name=name, modes=CAR | WALK, back=CAR | WALK)
    return builder.build("a test", "none")


def test_a_roundabout_is_left_by_a_numbered_exit() -> None:
    network = roundabout(4)
    begin, ring = 12, [0, *range(1, 12)]
    assert told(network, [begin, *ring[:4], 13]) == ["depart", ("roundabout", 1)]
    assert told(network, [begin, *ring[:7], 14]) == ["depart", ("roundabout", 2)]
    assert told(network, [begin, *ring[:10], 15]) == ["depart", ("roundabout", 3)]


def test_a_block_of_one_way_streets_is_no_roundabout() -> None:
    assert ("roundabout", 1) not in told(roundabout(4, sides=4), [4, 0, 1, 5])


def test_who_walks_round_a_roundabout_is_told_of_none() -> None:
    assert "roundabout" not in str(told(roundabout(4), [12, 0, 1, 2, 3, 13], Mode.WALK))
