"""Watching over journeys by line: what is told of them, and what to take instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from citywise.apps.travel_planner import proposals, replanning
from citywise.apps.travel_planner.planner import Planner
from citywise.apps.travel_planner.replanning import Cause, Values
from citywise.apps.travel_planner.roads.conditions import Conditions
from citywise.apps.travel_planner.roads.garages import Garage
from citywise.apps.travel_planner.transit import rejoining
from citywise.apps.travel_planner.transit.decide import Transit
from citywise.apps.travel_planner.transit.ground import straight_m
from citywise.apps.travel_planner.transit.kept import Kept
from citywise.apps.travel_planner.transit.leads import Drive
from citywise.apps.travel_planner.transit.roads import Around
from citywise.apps.travel_planner.transit.underway import Spot, Underway, seconds, underway
from citywise.apps.travel_planner.trips import Body, Content, Trip
from citywise.backend.app import times

LATE_S = 120
"""A journey that is so late may have a better one beside it; less is no news."""
BETTER_S = 60
OVER_S = 300
"""So long after it is to be there a journey counts as made, if nobody says where they are."""
AT_GARAGE_M = 150.0
_LATE_STEP_S = 300
Json = dict[str, Any]


@dataclass(frozen=True)
class Seen:
    """A journey by line at a look: its outlook, what to propose, whether it is made."""

    outlook: Json
    proposal: Json | None
    is_over: bool


class LineWatch:
    """Watches over journeys by line in one city; for one thread at a time."""

    def __init__(self, planner: Planner, kept: Kept) -> None:
        self._planner, self._kept = planner, kept

    def look(self, trip: Trip, conditions: Conditions) -> Seen | None:
        """A journey under the conditions; None where there is no timetable any more."""
        transit = self._kept.transit(conditions.now_ms)
        if transit is None:
            return None
        content, now = trip.content, conditions.now_ms // 1000
        spot, garage = _spot(content), _garage(content.plan, conditions)
        drive_s = self._drive_s(content.plan, spot, garage, conditions)
        found = underway(transit, content.plan, now, spot, drive_s)
        causes = list(_causes(found, content.plan, garage, drive_s is not None))
        wanted = [c for c in causes if not replanning.is_declined(content, c, conditions.now_ms)]
        proposal = None
        if wanted:
            around = Around(self._planner, conditions)
            proposal = _proposal(transit, content, found, wanted, spot, around)
        end = seconds(content.plan["arrives"]) if found.arrives is None else found.arrives
        is_over = now >= end + OVER_S and (found.broken is None or now >= end + 6 * OVER_S)
        return Seen(_outlook(found, content.plan, conditions.now_ms), proposal, is_over)

    def _drive_s(
        self, plan: Body, spot: Spot | None, garage: Garage | None, conditions: Conditions
    ) -> int | None:
        """Seconds that the drive to the garage still takes; None: one does not drive, or nobody
        says where one is."""
        first = plan["legs"][0]
        begun = seconds(first["departs"]) * 1000 <= conditions.now_ms
        if first["mode"] != "car" or garage is None or spot is None or not begun:
            return None
        if straight_m(spot[0], spot[1], garage.lat, garage.lon) <= AT_GARAGE_M:
            return None
        if seconds(first["arrives"]) + 2 * OVER_S < spot[2] - 3600:
            return None
        drive = Drive(spot[:2], self._planner, conditions, conditions.now_ms // 1000)
        found = drive.to(garage)
        return None if found is None else found[2]


def _spot(content: Content) -> Spot | None:
    """Where somebody says to be; where the plan begins is taken for granted, not said."""
    position, start = content.position, content.request["from"]
    if position is None or (position.lat, position.lon) == (start.get("lat"), start.get("lon")):
        return None
    return position.lat, position.lon, position.heard_ms // 1000


def _garage(plan: Body, conditions: Conditions) -> Garage | None:
    """Where one parks, as it is now."""
    parks: list[Json] = [leg["park"] for leg in plan["legs"] if leg.get("park")]
    return conditions.garage(parks[0]["garage"]) if parks else None


# --- Why another journey is looked for ------------------------------------------------------------


def _causes(
    found: Underway, plan: Body, garage: Garage | None, is_driving: bool
) -> Sequence[Cause]:
    """What is wrong with a journey, what matters most first."""
    causes = []
    if found.broken is not None:
        at, why = found.broken
        leg = found.legs[at]
        about = {"id": leg["trip"], "type": "line", "level": 5, "name": name_of(leg)}
        causes.append(Cause(why, f"{why} {leg['trip']} {leg['departs'][:10]}", 5, None, about))
    if garage is not None and (is_driving or found.at == 0):
        arrives_ms = seconds(found.legs[0]["arrives"]) * 1000
        about = {"id": garage.id, "type": "garage", "level": 5, "name": garage.name}
        if garage.open_at(arrives_ms) is False:
            causes.append(Cause("garage_closed", f"garage_closed {garage.id}", 5, None, about))
        elif garage.free == 0:
            causes.append(Cause("garage_full", f"garage_full {garage.id}", 5, None, about))
    late = 0 if found.arrives is None else found.arrives - seconds(plan["arrives"])
    if late >= LATE_S and found.at < len(found.legs):
        level = min(5, 1 + late // _LATE_STEP_S)
        ride = next((leg for leg in found.legs[found.at :] if leg["trip"]), None)
        if ride is not None:
            about = {"id": ride["trip"], "type": "line", "level": level, "name": name_of(ride)}
            causes.append(Cause("line_late", f"line_late {ride['trip']}", level, None, about))
    return causes


def name_of(leg: Body) -> str:
    """A ride in a few words that need no translation: its line, when and where it departs."""
    due = leg["planned"]["departs"] or leg["departs"]
    parts = (leg.get("route_name"), due[11:16], leg["from"].get("name"))
    return " ".join(part for part in parts if part)


def _proposal(
    transit: Transit,
    content: Content,
    found: Underway,
    causes: Sequence[Cause],
    spot: Spot | None,
    around: Around,
) -> Json | None:
    """The best other journey, with two more beside it; None where there is none that helps."""
    if any(cause.reason.startswith("garage") for cause in causes):
        around = Around(around.planner, _without(around.conditions, content.plan))
    others = rejoining.others(
        transit, found, content.plan, content.request, spot, around, content.language
    )
    if not any(cause.forces for cause in causes):
        soon = (found.arrives or 0) - BETTER_S
        others = [each for each in others if seconds(each["arrives"]) <= soon]
    if not others:
        return None
    first = {**others[0], "others": others[1:]}
    instead = _values(found, content.plan)
    made = times.iso(found.now * 1000)
    proposal = proposals.proposal(content, first, causes, instead, relaxed=False, now=made)
    before = content.proposal
    if before is not None and "legs" in before and rejoining.is_same(before, proposal):
        proposal |= {"number": before["number"], "made": before["made"]}
    return proposal


def _without(conditions: Conditions, plan: Body) -> Conditions:
    garage = _garage(plan, conditions)
    others = tuple(one for one in conditions.garages if one is not garage)
    return replace(conditions, garages=others)


def _values(found: Underway, plan: Body) -> Values:
    """The rest of a journey as it is, or where it is broken as it was to be."""
    end = seconds(plan["arrives"]) if found.arrives is None else found.arrives
    return {
        **replanning.values_of(plan),
        "time": float(max(0, end - found.now)),
        "distance": None,
        "walk": float(plan["walk_m"]),
    }


def _outlook(found: Underway, plan: Body, now_ms: int) -> Json:
    """As it is kept and shown."""
    broken = None if found.broken is None else {"leg": found.broken[0], "why": found.broken[1]}
    arrives = None if found.arrives is None else times.iso(found.arrives * 1000)
    journey: Mapping[str, Any] = {
        "at": found.at,
        "legs": [_shown(leg) for leg in found.legs],
        "changes": list(found.changes),
        "broken": broken,
        "arrives": arrives,
        "next": found.next(),
    }
    values = dict(_values(found, plan))
    if broken:
        values["time"] = None
    return {
        "at_ms": now_ms,
        "left_m": 0.0,
        "values": values,
        "steps": [],
        "ahead": [],
        "garage": None,
        "journey": journey,
    }


def _shown(leg: Body) -> Json:
    """What is told of a leg as it runs now; the rest is in the plan."""
    names = ("departs", "arrives", "realtime", "calls", "mode", "route_name", "headsign", "planned")
    return {name: leg.get(name) for name in names} | {"from": leg["from"], "to": leg["to"]}
