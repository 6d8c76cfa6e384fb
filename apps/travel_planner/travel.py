"""Planning a journey: candidates of all modes, a choice among them, and the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from citywise.apps.travel_planner.answers import (
    Json,
    note,
    passes_outside,
    place_object,
    route_object,
)
from citywise.apps.travel_planner.candidates import Candidate, Search
from citywise.apps.travel_planner.choosing import UPPER, Choice, Wanted, choose, conflict_object
from citywise.apps.travel_planner.requests import RequestError, Spot, TravelRequest, point_fault
from citywise.apps.travel_planner.roads import Mode, RoadNetwork
from citywise.apps.travel_planner.roads.snapping import MOST_SNAP_M, Snap
from citywise.apps.travel_planner.task import Task
from citywise.backend.app import geometry, times

CRITERIA = ("time", "pollution", "distance", "cost", "walk")
"""What counts for dominance, in the order that decides where wishes do not."""
MOST_REJECTED = 10
LEARNED_AFTER_MS = 20 * 60_000
"""Later departures are by what is usual (`Conditions.costs`)."""
FAR_M = 50.0
"""A point so far from the streets is said to be; nearer ones are as good as on them."""
_ALIKE = 0.9
"""Ways that share more than this of their length are not shown both, if there are others."""


@dataclass(frozen=True, eq=False)
class Journey(Task[TravelRequest]):
    """A request for a way; `departs_ms`: about when it is made, None: now."""

    departs_ms: int | None = None

    @property
    def depart_ms(self) -> int:
        return self.departs_ms or self.conditions.now_ms

    def departs(self, time_s: float) -> int:
        """When a way that takes so long begins: in time, if that can be."""
        if (arrive_ms := self.request.arrive_ms) is None:
            return self.depart_ms
        return max(self.conditions.now_ms, arrive_ms - round(time_s * 1000))

    def is_late(self, time_s: float) -> bool:
        """Whether who takes so long and sets out now is there later than wanted."""
        arrive_ms = self.request.arrive_ms
        return arrive_ms is not None and arrive_ms < self.conditions.now_ms + round(time_s * 1000)


def plan_travel(journey: Journey) -> Json:
    """The answer to a request (docs/api.md); raises `RequestError` for points off all streets."""
    request = journey.request
    wanted = Wanted.of(request.constraints, request.preferences, CRITERIA, "time")
    searches = _searches(journey)
    found = [each for search in searches for each in _candidates(search, request, wanted)]
    named = {f"c{number}": candidate for number, candidate in enumerate(found)}
    choice = choose({name: c.values for name, c in named.items()}, wanted, journey.words, "ways")
    return {
        "kind": "travel",
        "now": times.iso(journey.conditions.now_ms),
        "request": request.model_dump(
            mode="json", by_alias=True, exclude=None if request.arrive else {"arrive"}
        ),
        "departs": times.iso(journey.depart_ms),
        **_places(journey, searches),
        **_routes(journey, choice, named),
        "modes": _modes(searches),
        "criteria": list(CRITERIA),
        "notes": list(_notes(journey, searches, wanted, found)),
        "currency": journey.words.currency,
        "licence": journey.network.licence,
    }


def _candidates(search: Search, request: TravelRequest, wanted: Wanted) -> list[Candidate]:
    if search.mode not in request.modes:
        return []
    count = max(3, request.alternatives) if search.mode is request.modes[0] else 1
    return search.find(wanted, count)


# --- Points ------------------------------------------------------------------------------


def _searches(journey: Journey) -> list[Search]:
    """A search for each mode that can go from here to there; of those asked for, one must."""
    request = journey.request
    found, faults = [], []
    for mode in Mode:
        ends = [_snapped(journey, spot, mode) for spot in (request.start, request.to)]
        start, end = ends
        if start is not None and end is not None:
            found.append(_search(journey, mode, start, end))
        elif mode in request.modes:
            faults.append(_too_far(journey.network, request, ends))
    if not any(search.mode in request.modes for search in found):
        raise faults[0]
    return found


def _search(journey: Journey, mode: Mode, start: Snap, end: Snap) -> Search:
    hindered = bool(journey.conditions.affecting(mode, journey.departs_ms))
    from_m = access_m(start, moving=journey.moving)
    rate = journey.car_cost_per_km
    return Search(journey.weights, journey.costs, mode, start, end, rate, hindered, from_m)


def access_m(start: Snap, *, moving: bool) -> float:
    """Metres on foot to the street: none for who is under way and next to one."""
    return 0.0 if moving and start.metres <= FAR_M else start.metres


def _snapped(journey: Journey, spot: Spot, mode: Mode) -> Snap | None:
    return journey.weights.router.snap(spot.lon, spot.lat, mode)


def _too_far(
    network: RoadNetwork, request: TravelRequest, ends: Sequence[Snap | None]
) -> RequestError:
    spots = {"from": request.start, "to": request.to}
    faults = [
        fault
        for (path, spot), snap in zip(spots.items(), ends, strict=True)
        if snap is None
        for fault in off_street(path, spot, network).faults
    ]
    return RequestError(faults)


def off_street(path: str, spot: Spot, network: RoadNetwork) -> RequestError:
    """What to say of a point that is too far from every street; suggests the nearest corner."""
    corners = geometry.project(network.lon, network.lat)
    here = geometry.project(np.array([spot.lon]), np.array([spot.lat]))
    metres = geometry.between(corners, here.x, here.y)
    near = int(np.argmin(metres))
    lat, lon = round(float(network.lat[near]), 5), round(float(network.lon[near]), 5)
    return point_fault(
        path,
        "far-from-road",
        f"found lat {spot.lat:g} and lon {spot.lon:g}, which is {metres[near]:.0f} m from the "
        f"nearest street (in the sea?); expected at most {MOST_SNAP_M:.0f} m. The nearest street "
        f"is at lat {lat}, lon {lon}",
        suggestion={"lat": lat, "lon": lon},
    )


def _places(journey: Journey, searches: Sequence[Search]) -> Json:
    """Where the journey begins and ends, by the first mode that is asked for."""
    request = journey.request
    first = next(each for each in searches if each.mode in request.modes)
    return {
        "from": place_object(request.start, first.start, journey.network),
        "to": place_object(request.to, first.end, journey.network),
    }


# --- The answer --------------------------------------------------------------------------


def _routes(journey: Journey, choice: Choice, named: dict[str, Candidate]) -> Json:
    shown = _shown(choice, named, journey.request.alternatives)
    beyond = [name for name in choice.decision.order if name not in shown]
    rejected = [*beyond, *choice.others][:MOST_REJECTED]
    names = {name: f"r{number}" for number, name in enumerate([*shown, *rejected], 1)}
    modes = {name: journey.words.mode(str(named[name].mode)) for name in named}
    conflict = conflict_object(choice, "relaxation", modes)
    if conflict and conflict["then"]:
        conflict["then"]["option"] = names.get(conflict["then"]["option"])
    routes = [_route(journey, choice, name, named[name], names) for name in shown]
    others = [_route(journey, choice, name, named[name], names) for name in rejected]
    for other in others[: len(beyond)]:
        other["why"] = f"{other['why']} {journey.words.say('reasons', 'beyond')}"
    ties = [names[name] for name in choice.decision.ties if name in names]
    return {"routes": routes, "rejected": others, "ties": ties, "conflict": conflict}


def _shown(choice: Choice, named: dict[str, Candidate], most: int) -> list[str]:
    """The best of the Pareto set: the chosen, the best of each mode, then other roads first."""
    order = choice.decision.order
    firsts = {named[name].mode: name for name in reversed(order)}.values()
    wanted = [*order[:1], *(name for name in order if name in firsts)]
    different: list[str] = []
    for name in order:
        if not any(_alike(named[name], named[other]) for other in different):
            different.append(name)
    picked = list(dict.fromkeys([*wanted, *different, *order]))[:most]
    return [name for name in order if name in picked]


def _alike(one: Candidate, other: Candidate) -> bool:
    return one.mode is other.mode and one.path.overlap(other.path) > _ALIKE


def _route(
    journey: Journey, choice: Choice, name: str, candidate: Candidate, names: dict[str, str]
) -> Json:
    departs = journey.departs(candidate.measured.time_s)
    found = route_object(candidate, journey.conditions, journey.costs, departs)
    return {
        "id": names[name],
        **found,
        "co2_g": journey.co2_g(candidate.mode, found["distance_m"]),
        **choice.told(name, names),
    }


def _modes(searches: Sequence[Search]) -> Json:
    """What each mode takes at best, for who has yet to choose one."""
    found: Json = {str(mode): None for mode in Mode}
    for search in searches:
        if (path := search.fastest()) is not None:
            measured = search.measured(path).measured
            found[str(search.mode)] = {
                "time_s": measured.time_s,
                "distance_m": measured.distance_m,
            }
    return found


def _notes(
    journey: Journey, searches: Sequence[Search], wanted: Wanted, found: Sequence[Candidate]
) -> Iterator[Json]:
    say, modes = journey.words.say, {candidate.mode for candidate in found}
    yield note(say, "no-public-transport")
    if Mode.CAR in modes:
        yield note(say, "no-turn-restrictions")
        yield note(say, "assumed-cost", price=journey.words.money(journey.car_cost_per_km))
        if journey.depart_ms - journey.conditions.now_ms > LEARNED_AFTER_MS:
            yield note(say, "learned")
    if found and journey.is_late(min(each.measured.time_s for each in found)):
        yield note(say, "late")
    if not journey.costs.air_known:
        yield note(say, "air-unknown")
    if passes_outside([candidate.path for candidate in found]):
        yield note(say, "outside")
    if sum(each.op in UPPER for each in wanted.constraints) > 1:
        yield note(say, "best-effort")
    if wanted.is_unusual:
        yield note(say, "at-least")
    for search in (each for each in searches if each.mode in modes):
        yield from _far(journey, search)
        break


def _far(journey: Journey, search: Search) -> Iterator[Json]:
    for where, snap in (("from", search.start), ("to", search.end)):
        if snap.metres > FAR_M:
            metres, place = journey.words.length(snap.metres), journey.words.say("ends", where)
            yield note(journey.words.say, "far-from-road", where=place, metres=metres)
