"""Shortest ways as plainly as they can be found: the edges in networkx, cut at two points."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import numpy.typing as npt

from citywise.apps.travel_planner.roads.network import Mode, RoadNetwork
from citywise.apps.travel_planner.roads.paths import Path
from citywise.apps.travel_planner.roads.snapping import Snap

Floats = npt.NDArray[np.float64]


def weight(
    network: RoadNetwork, weights: Floats, start: Snap, end: Snap, mode: Mode = Mode.CAR
) -> float:
    """Of the shortest way from one point to another; inf where there is none."""
    graph: nx.DiGraph[int | str] = nx.DiGraph()
    graph.add_nodes_from(["start", "end"])
    for edge in np.flatnonzero(network.allows(mode)).tolist():
        _add(graph, int(network.tail[edge]), int(network.head[edge]), weights[edge])
    begins, stops = _positions(start), _positions(end)
    for edge, share in begins:
        _add(graph, "start", int(network.head[edge]), _part(1 - share, weights[edge]))
        if share == 0:
            _add(graph, "start", int(network.tail[edge]), 0.0)
    for edge, share in stops:
        _add(graph, int(network.tail[edge]), "end", _part(share, weights[edge]))
        if share == 1:
            _add(graph, int(network.head[edge]), "end", 0.0)
    for edge, share in begins:
        for other, reached in stops:
            if edge == other and share <= reached:
                _add(graph, "start", "end", _part(reached - share, weights[edge]))
    try:
        return float(nx.dijkstra_path_length(graph, "start", "end"))
    except nx.NetworkXNoPath:
        return math.inf


def faults(path: Path, start: Snap, end: Snap) -> list[str]:
    """What is wrong with a path: it has to be connected, and lead from one point to the other."""
    tail, head = path.network.tail[path.edges], path.network.head[path.edges]
    found = [] if (head[:-1] == tail[1:]).all() else ["the edges are not connected"]
    if not _is(path.network, int(path.edges[0]), 1 - path.first_share, start):
        found.append("it begins elsewhere")
    if not _is(path.network, int(path.edges[-1]), path.last_share, end):
        found.append("it ends elsewhere")
    if (path.shares() < -1e-12).any():
        found.append("an edge is travelled backwards")
    return found


def _is(network: RoadNetwork, edge: int, share: float, snap: Snap) -> bool:
    if any(edge == e and math.isclose(share, s, abs_tol=1e-12) for e, s in _positions(snap)):
        return True
    ends = {0.0: network.tail, 1.0: network.head}
    return (
        share in ends and snap.share in ends and (ends[share][edge] == ends[snap.share][snap.edge])
    )


def _positions(snap: Snap) -> list[tuple[int, float]]:
    here = [(snap.edge, snap.share)]
    return here if snap.twin < 0 else [*here, (snap.twin, 1 - snap.share)]


def _add(graph: nx.DiGraph[int | str], tail: int | str, head: int | str, cost: float) -> None:
    if math.isfinite(cost) and cost < graph.get_edge_data(tail, head, {}).get("weight", math.inf):
        graph.add_edge(tail, head, weight=float(cost))


def _part(share: float, cost: float) -> float:
    return share * cost if share > 0 else 0.0
