"""Plans as JSON (docs/api.md): routes, what lies on them, and the places they join."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from citywise.apps.travel_planner.candidates import Candidate
from citywise.apps.travel_planner.ground import walk_s
from citywise.apps.travel_planner.requests import Spot
from citywise.apps.travel_planner.roads import Mode, RoadNetwork
from citywise.apps.travel_planner.roads.conditions import Conditions
from citywise.apps.travel_planner.roads.costs import EdgeCosts
from citywise.apps.travel_planner.roads.disturbances import OpenEvent
from citywise.apps.travel_planner.roads.network import F64
from citywise.apps.travel_planner.roads.paths import Path
from citywise.apps.travel_planner.roads.paths import stretch as cut
from citywise.apps.travel_planner.roads.snapping import Snap
from citywise.apps.travel_planner.turns import stretches
from citywise.backend.app import times

Json = dict[str, Any]


def way_object(path: Path) -> Json:
    """What a way consists of, so that it can be measured again (`Planner.way`)."""
    return {
        "network": path.network.digest,
        "edges": path.edges.tolist(),
        "first": path.first_share,
        "last": path.last_share,
    }


def way_of(found: Json | None, network: RoadNetwork) -> Path | None:
    """The way that an answer told of; None if it was of another network."""
    if not found or found["network"] != network.digest:
        return None
    edges = np.array(found["edges"], dtype=np.int32)
    return Path(edges, found["first"], found["last"], network)


def line(path: Path) -> Json:
    """The way's line in GeoJSON."""
    return {"type": "LineString", "coordinates": path.coordinates()}


def steps(path: Path, mode: Mode, costs: EdgeCosts) -> list[Json]:
    """Stretches from one turn to the next, with what they take and what one does first."""
    network, edges, shares = path.network, path.edges, path.shares()
    metres = network.length_m[edges] * shares
    seconds = costs.seconds(mode)[edges] * shares
    found = []
    for stretch in stretches(network, edges.tolist(), mode):
        within = slice(stretch.begin, stretch.end)
        last = int(edges[stretch.end - 1])  # Behind a roundabout the street that one takes.
        begin = 1.0 - path.first_share if stretch.begin == 0 else 0.0
        at = cut(network.line(int(edges[stretch.begin])), begin, 1.0)[0]
        found.append(
            {
                "name": network.street(last),
                "highway": network.highways[network.highway[last]],
                "distance_m": round(float(metres[within].sum()), 1),
                "time_s": round(float(seconds[within].sum()), 1),
                "turn": stretch.turn.kind,
                "exit": stretch.turn.exit,
                "at": np.round(at, 6).tolist(),
            }
        )
    return found


def events_on(
    path: Path, mode: Mode, conditions: Conditions, depart_ms: int | None = None
) -> list[Json]:
    """The open events that slow this way down, the next first, with the metres to each."""
    if not conditions.events:
        return []
    metres = path.network.length_m[path.edges] * path.shares()
    before = np.concatenate(([0.0], np.cumsum(metres)[:-1]))
    found = [
        (ahead, event)
        for affected in conditions.affecting(mode, depart_ms)
        for event in [affected.event]
        if (ahead := _ahead(path, before, affected.edges)) is not None
    ]
    return [_event(event, ahead) for ahead, event in sorted(found, key=lambda each: each[0])]


def _ahead(path: Path, before: F64, edges: Any) -> float | None:
    reached = np.flatnonzero(np.isin(path.edges, edges))
    return round(float(before[reached[0]]), 1) if len(reached) else None


def _event(event: OpenEvent, ahead_m: float) -> Json:
    place = {"id": event.place_id, "name": event.place, "lat": event.lat, "lon": event.lon}
    return {
        "id": event.id,
        "type": event.type,
        "level": event.level,
        "place": place,
        "ahead_m": ahead_m,
    }


def route_object(
    candidate: Candidate, conditions: Conditions, costs: EdgeCosts, depart_ms: int
) -> Json:
    """A route as an answer has it, without what was decided of it."""
    found, path = candidate.measured, candidate.path
    return {
        "mode": str(candidate.mode),
        "geometry": line(path),
        "distance_m": found.distance_m,
        "time_s": found.time_s,
        "pollution": found.pollution,
        "air": found.air,
        "cost": found.cost,
        "walk_m": candidate.walk_m,
        "free_flow_s": found.free_flow_s,
        "departs": times.iso(depart_ms),
        "arrives": times.iso(depart_ms + round(found.time_s * 1000)),
        "basis": dict(found.basis),
        "access": access_object(*candidate.access),
        "steps": steps(path, candidate.mode, costs),
        "events": events_on(path, candidate.mode, conditions, depart_ms),
        "way": way_object(path),
    }


def access_object(from_m: float, to_m: float) -> Json:
    """The walk to the street and from it, which is part of the time."""
    seconds = round(walk_s(from_m + to_m), 1)
    return {"from_m": round(from_m, 1), "to_m": round(to_m, 1), "time_s": seconds}


def place_object(spot: Spot, snap: Snap | None, network: RoadNetwork) -> Json:
    """A point of a request, and where it is on the streets."""
    return {
        "lat": spot.lat,
        "lon": spot.lon,
        "snapped_m": None if snap is None else round(snap.metres, 1),
        "name": None if snap is None else network.street(snap.edge),
    }


def note(words_say: Any, code: str, **values: object) -> Json:
    """One of the things that a plan does not know, or takes for granted."""
    return {"code": code, "text": words_say("notes", code, **values)}


def passes_outside(paths: Sequence[Path]) -> bool:
    """Whether a way leaves the mapped streets for the coarse graph of main roads."""
    return any(bool(path.network.outside[path.edges].any()) for path in paths)
