"""The same shortest ways by our router, by plain networkx and by a compiled router's package.

    citywise bench routers        # 200 pairs of junctions
    citywise bench routers 1000

The network is that of Aarhus (CITYWISE_DATA), without the data pack the simulated town's; the
pairs are junctions that cars reach. All three are asked for the shortest way by car: ours from
coordinates to the line of the way, with the graph ready and with new weights for each
question; networkx from node to node (`shortest_path` with weights), which is less work;
Valhalla, where `pip install pyvalhalla` put it, by calls of its `Actor`, from coordinates to
the line, on tiles made here of the same streets, costing `auto` with `shortest` and once more
as it comes, where lengths differ because it looks for fast ways. How far their lengths differ
from ours is part of the figures: networkx has to find the same; Valhalla rounds coordinates
and has rules of its own for service roads.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import osmium
from osmium.osm import mutable

from citywise.apps.travel_planner.roads.cityfiles import City, pack_city, simulated_city
from citywise.apps.travel_planner.roads.network import Mode, RoadNetwork
from citywise.apps.travel_planner.roads.router import Router
from citywise.apps.travel_planner.roads.snapping import twins_of
from citywise.backend.machine import REPOSITORY

Point = tuple[float, float]
Question = Callable[..., float]
"""From a node to a node: metres of the shortest way."""
OURS, TURN = "citywise", 20
WANTED = "pyvalhalla is not here: `pip install pyvalhalla` lets it take part"


def run(pairs: str = "200") -> list[dict[str, Any]]:
    """Ask each router for the same `pairs` of junctions."""
    network = city().network
    router = Router(network)
    nodes = _nodes(router)
    chance = random.Random(1)
    asked = [(chance.choice(nodes), chance.choice(nodes)) for _ in range(int(pairs))]
    ours = _Ours(router)
    with _valhalla(network) as question:
        routers: dict[str, Question] = {
            OURS: ours.ready,
            "citywise, new weights each": ours.reweighted,
            "networkx": _Networkx(network).ask,
        }
        if question:
            routers["valhalla"] = partial(question, shortest=True)
            routers["valhalla, fast ways"] = partial(question, shortest=False)
        found = _measured(routers, asked)
    missing = [] if question else [{"router": "valhalla", "missing": WANTED}]
    return [*found, *missing]


def pack() -> Path | None:
    """Folder of the data pack, if there is one."""
    folder = Path(os.environ.get("CITYWISE_DATA") or REPOSITORY.parent / "shared" / "data")
    return folder if (folder / "citybench").is_dir() else None


def city() -> City:
    """The city that is measured on."""
    folder = pack()
    return pack_city(folder) if folder else simulated_city()


def report(results: Sequence[dict[str, Any]]) -> str:
    """A line for each router."""
    lines = ["router                        p50 ms   p99 ms  x ours  length differs (median, most)"]
    for each in results:
        if "missing" in each:
            lines.append(f"{each['router']:28}  {each['missing']}")
            continue
        lines.append(
            f"{each['router']:28} {each['p50_ms']:7.3f}  {each['p99_ms']:7.3f}"
            f"  {each['times_ours']:6.1f}  {each['differs_median']:.3%}, {each['differs_most']:.2%}"
        )
    return "\n".join(lines)


def _nodes(router: Router) -> list[int]:
    """Junctions of the mapped centre that cars reach."""
    network = router.network
    edges = router.graph(Mode.CAR).edges
    return sorted(set(network.tail[edges[~network.outside[edges]]].tolist()))


def _measured(
    routers: Mapping[str, Question], asked: Sequence[tuple[int, int]]
) -> list[dict[str, Any]]:
    """Ask the routers in turn, some pairs each, so that what else the machine does is the
    same for all."""
    taken: dict[str, list[float]] = {name: [] for name in routers}
    metres: dict[str, list[float]] = {name: [] for name in routers}
    for begin in range(0, len(asked), TURN):
        for name, question in routers.items():
            for pair in asked[begin : begin + TURN]:
                began = time.perf_counter()
                metres[name].append(question(*pair))
                taken[name].append((time.perf_counter() - began) * 1000)
    return [_figures(name, taken, metres) for name in routers]


def _figures(
    name: str, taken: Mapping[str, list[float]], metres: Mapping[str, list[float]]
) -> dict[str, Any]:
    times = taken[name]
    pairs = zip(metres[name], metres[OURS], strict=True)
    differs = [abs(found - ours) / max(ours, 1.0) for found, ours in pairs]
    return {
        "router": name,
        "queries": len(times),
        "p50_ms": statistics.median(times),
        "p99_ms": sorted(times)[int(len(times) * 0.99)],
        "times_ours": statistics.median(times) / statistics.median(taken[OURS]),
        "differs_median": statistics.median(differs),
        "differs_most": max(differs),
    }


class _Ours:
    """Our router, from coordinates to a path."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self._metres = router.network.length_m
        self._weighted = router.prepared(self._metres, Mode.CAR)

    def ready(self, tail: int, head: int) -> float:
        return self._ask(tail, head)

    def reweighted(self, tail: int, head: int) -> float:
        self._weighted = self._router.prepared(self._metres, Mode.CAR)
        return self._ask(tail, head)

    def _ask(self, tail: int, head: int) -> float:
        network = self._router.network
        ends = [
            self._router.snap(float(network.lon[node]), float(network.lat[node]), Mode.CAR)
            for node in (tail, head)
        ]
        assert ends[0]
        assert ends[1]
        path = self._router.shortest(ends[0], ends[1], self._weighted)
        assert path
        path.coordinates()
        return path.length_m


class _Networkx:
    """Nodes and edges in a graph of networkx, as most programs have them."""

    def __init__(self, network: RoadNetwork) -> None:
        self._graph: nx.DiGraph[int] = nx.DiGraph()
        for edge in np.flatnonzero(network.allows(Mode.CAR)).tolist():
            tail, head = int(network.tail[edge]), int(network.head[edge])
            metres = float(network.length_m[edge])
            if metres < self._graph.get_edge_data(tail, head, {}).get("metres", np.inf):
                self._graph.add_edge(tail, head, metres=metres)

    def ask(self, tail: int, head: int) -> float:
        nodes = nx.shortest_path(self._graph, tail, head, weight="metres")
        return float(nx.path_weight(self._graph, nodes, "metres"))


# --- Valhalla -------------------------------------------------------------------------------


@contextmanager
def _valhalla(network: RoadNetwork) -> Iterator[Question | None]:
    """Valhalla on the same streets, None where its package is not installed."""
    try:
        valhalla: Any = importlib.import_module("valhalla")
    except ImportError:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        streets, config = Path(folder) / "streets.osm.pbf", Path(folder) / "valhalla.json"
        _write_osm(network, streets)
        tiles = Path(folder) / "tiles"
        tiles.mkdir()
        settings = valhalla.get_config(tile_extract="", tile_dir=str(tiles))
        config.write_text(json.dumps(settings))
        _build_tiles(Path(valhalla.__file__).parent, config, streets)
        actor = valhalla.Actor(str(config))
        yield partial(_ask, actor, network)


def _build_tiles(package: Path, config: Path, streets: Path) -> None:
    inside = package / "bin" / "valhalla_build_tiles"
    program = inside if inside.exists() else Path(sys.executable).parent / inside.name
    done = subprocess.run(
        [str(program), "-c", str(config), str(streets)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


def _ask(actor: Any, network: RoadNetwork, tail: int, head: int, *, shortest: bool) -> float:
    ends = [{"lon": float(network.lon[n]), "lat": float(network.lat[n])} for n in (tail, head)]
    answer = actor.route(
        {
            "locations": ends,
            "costing": "auto",
            "costing_options": {"auto": {"shortest": shortest}},
            "directions_type": "none",
        }
    )
    return float(answer["trip"]["summary"]["length"]) * 1000


def _write_osm(network: RoadNetwork, file: Path) -> None:
    """The streets for cars as OpenStreetMap would have them: a way each, nodes first."""
    twins = twins_of(network)
    allowed = network.allows(Mode.CAR)
    edges = [
        edge
        for edge in np.flatnonzero(allowed).tolist()
        if not (0 <= twins[edge] < edge and allowed[twins[edge]])
    ]
    points: list[Point] = list(zip(network.lon.tolist(), network.lat.tolist(), strict=True))
    ways = []
    for edge in edges:
        between = network.line(edge)[1:-1].tolist()
        refs = [network.tail[edge], *range(len(points), len(points) + len(between))]
        points += [(lon, lat) for lon, lat in between]
        ways.append([int(ref) + 1 for ref in (*refs, network.head[edge])])
    with osmium.SimpleWriter(str(file)) as writer:
        for number, point in enumerate(points, 1):
            writer.add_node(mutable.Node(id=number, location=point, version=1))
        for number, (edge, refs) in enumerate(zip(edges, ways, strict=True), 1):
            both = twins[edge] >= 0 and allowed[twins[edge]]
            tags = _tags(network, edge, bool(both))
            writer.add_way(mutable.Way(id=number, nodes=refs, tags=tags, version=1))


def _tags(network: RoadNetwork, edge: int, both: bool) -> dict[str, str]:
    return {
        "highway": network.highways[network.highway[edge]].replace("pedestrian", "residential"),
        "motor_vehicle": "yes",
        "maxspeed": str(round(float(network.speed_kmh[edge]))),
        "oneway": "no" if both else "yes",
    }
