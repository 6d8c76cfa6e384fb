"""Hypothesis: small networks with all that makes ways hard, and points in them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from citywise.apps.travel_planner.roads.building import NetworkBuilder
from citywise.apps.travel_planner.roads.network import Mode, RoadNetwork
from citywise.apps.travel_planner.roads.paths import stretch
from citywise.apps.travel_planner.roads.router import Router
from citywise.apps.travel_planner.roads.snapping import Snap, twins_of

_CAR, _NOBODY, _WALKER = Mode.CAR.bit, 0, Mode.WALK.bit


@dataclass
class Drawn:
    """A network, a weight of each edge, and points of its main part."""

    network: RoadNetwork = field(repr=False)
    streets: list[tuple[int, int, bool]]
    weights: npt.NDArray[np.float64]
    snaps: list[Snap]
    router: Router = field(repr=False)


def network(nodes: int, streets: list[tuple[int, int, bool]]) -> RoadNetwork:
    """Streets (tail, head, whether both ways) between nodes; each bends at a place of its own,
    so that parallel ones are told apart."""
    builder = NetworkBuilder()
    for node in range(nodes):
        turn = 2 * math.pi * node / nodes
        builder.add_node(10.2 + 0.01 * math.cos(turn), 56.15 + 0.006 * math.sin(turn))
    for number, (tail, head, both) in enumerate(streets):
        via = [(10.2 + 0.0001 * number, 56.16), (10.21, 56.16 + 0.0001 * number)]
        back = _CAR | _WALKER if both else _WALKER
        builder.add_street(tail, head, via=via, modes=_CAR | _WALKER, back=back)
    return builder.build("a test", "none")


@st.composite
def drawn(draw: st.DrawFn, points: int = 2) -> Drawn:
    """One-way and two-way streets, parallel ones, loops, dead ends, chains; weights of zero,
    equal ones, closed edges."""
    nodes = draw(st.integers(1, 9))
    node = st.integers(0, nodes - 1)
    ring = draw(st.booleans())
    streets = [(n, (n + 1) % nodes, draw(st.booleans())) for n in range(nodes) if ring]
    streets += draw(st.lists(st.tuples(node, node, st.booleans()), min_size=1, max_size=14))
    made = network(nodes, streets)
    router = Router(made)
    weight = st.sampled_from([0.0, 1.0, 1.0, 2.0, 3.5, 0.1, 7.25, math.inf])
    weights = np.array([draw(weight) for _ in range(made.edges)])
    usable = router.graph(Mode.CAR).edges.tolist()
    snaps = [_snap(draw, made, usable) for _ in range(points if usable else 0)]
    return Drawn(made, streets, weights, snaps, router)


def _snap(draw: st.DrawFn, made: RoadNetwork, usable: list[int]) -> Snap:
    edge = draw(st.sampled_from(usable))
    share = draw(st.sampled_from([0.0, 0.25, 0.5, 0.5, 0.9, 1.0]))
    twin = int(twins_of(made)[edge])
    lon, lat = stretch(made.line(edge), share, share)[0].tolist()
    return Snap(edge, share, lon, lat, 0.0, twin if twin in usable else -1)
