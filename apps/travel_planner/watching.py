"""What a followed trip has before it under the present conditions, and what to propose.

It plans, but neither reads nor writes: the follower brings the trip, the notices that are open
to it and the city's conditions, and keeps what comes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from citywise.apps.travel_planner import following, proposals, replanning, requests
from citywise.apps.travel_planner.answers import events_on, steps
from citywise.apps.travel_planner.following import done_share, driven, is_off_route
from citywise.apps.travel_planner.parking import count_object, expected_object
from citywise.apps.travel_planner.planner import Planner
from citywise.apps.travel_planner.replanning import Cause, Values
from citywise.apps.travel_planner.roads import Mode
from citywise.apps.travel_planner.roads.conditions import Conditions
from citywise.apps.travel_planner.roads.garages import Garage
from citywise.apps.travel_planner.roads.network import I32
from citywise.apps.travel_planner.roads.paths import Path
from citywise.apps.travel_planner.transit.following import LineWatch
from citywise.apps.travel_planner.transit.underway import is_by_line
from citywise.apps.travel_planner.trips import Body, Content, Trip
from citywise.backend.app import times

LIKELY_FULL = 0.5
"""Chance of being full on arrival from which a garage that fills up is given up."""
ALIKE = 0.95
"""Two ways that share so much of their length are one."""
OFF_ROUTE = "off_route"
"""Kind of the notice to who has left the way."""
_KINDS: Mapping[str, str] = {
    "TrafficJam": "jam",
    "Accident": "accident",
    "Obstruction": "obstruction",
    "RoadWorks": "works",
    "RoadClosure": "closure",
    "CulturalEvent": "crowd",
    "SportsEvent": "crowd",
}
"""What the notices of the template `ahead` call the types of events that slow traffic down."""


class Open(NamedTuple):
    """A notice that is open to a trip."""

    id: str
    kind: str
    about: str
    name: str
    criticality: int
    """1 to 5."""
    level: int | None = None
    """Of the event it is about."""


@dataclass(frozen=True)
class Rest:
    """What remains of a trip's plan."""

    path: Path | None
    """None: there is none, or it is of another network."""
    values: Values
    outlook: Body
    """As it is kept: `left_m` metres of the line were before the trip when it was computed,
    which take `values`; `ahead` events with `left_m` from each to the end; `garage` the garage
    as it is now."""

    @property
    def edges(self) -> I32:
        """Those of the path."""
        return np.zeros(0, dtype=np.int32) if self.path is None else self.path.edges


@dataclass(frozen=True)
class Outcome:
    """What was found of a trip: its outlook, and what is to be proposed (None: nothing)."""

    outlook: Body
    proposal: Body | None
    edges: I32 = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    """What remains of the way, to tell whom an event concerns."""
    is_over: bool = False
    """Whether it is made, by the timetable."""


class Watch:
    """Watches over trips in one city; for one thread at a time."""

    def __init__(self, planner: Planner, lines: LineWatch | None = None) -> None:
        """`lines` watches over journeys by line; without it they stay as they are."""
        self._planner, self._lines = planner, lines

    def look(self, trip: Trip, notices: Sequence[Open], conditions: Conditions) -> Outcome:
        """A trip under the conditions; raises nothing for requests that cannot be planned."""
        if is_by_line(trip.content.plan):
            seen = self._lines.look(trip, conditions) if self._lines is not None else None
            if seen is None:
                return Outcome(trip.content.outlook or _unseen(trip, conditions), None)
            return Outcome(seen.outlook, seen.proposal, is_over=seen.is_over)
        rest = self._rest(trip.content, conditions)
        causes = _causes(trip, rest, notices, conditions)
        wanted = _wanted(trip.content, causes, conditions.now_ms)
        found = self._better(trip, rest, wanted, causes, conditions) if wanted else None
        kept = trip.content.proposal
        if found is not None and kept is not None and self._is_same(kept, found):
            found = {**found, "number": kept["number"], "made": kept["made"]}
        return Outcome(rest.outlook, found, rest.edges)

    # -- what remains -------------------------------------------------------------------

    def _rest(self, content: Content, conditions: Conditions) -> Rest:
        plan, drive = content.plan, driven(content.plan)
        path = None if drive is None else self._planner.way(dict(drive))
        share = done_share(content)
        if path is None or drive is None:
            return _scaled(content, share, conditions)
        path = following.rest(path, share)
        mode = Mode(plan.get("mode", Mode.CAR))
        access_m = (drive.get("access") or {}).get("to_m") or 0.0
        found = self._planner.measured(path, mode, conditions, access_m=access_m)
        values: Values = {
            "time": found.time_s,
            "distance": found.distance_m,
            "pollution": found.pollution,
            "cost": plan.get("cost") if "lat" in plan else found.cost,
            "walk": _walk(plan, share),
        }
        left = following.length_m(drive["geometry"]["coordinates"]) * (1 - share)
        outlook = {
            "at_ms": conditions.now_ms,
            "left_m": round(left, 1),
            "values": dict(values),
            "steps": steps(path, mode, conditions.costs()),
            "ahead": _before(events_on(path, mode, conditions), left, found.distance_m),
            "garage": _garage(plan, conditions, found.time_s),
        }
        return Rest(path, values, outlook)

    # -- another plan -------------------------------------------------------------------

    def _better(
        self,
        trip: Trip,
        rest: Rest,
        wanted: Sequence[Cause],
        causes: Sequence[Cause],
        conditions: Conditions,
    ) -> dict[str, Any] | None:
        """What is really better than the rest of the plan, as a proposal for the causes that its
        user has not said no to, of those there are."""
        content = trip.content
        spent = replanning.spent(trip, done_share(content), conditions.now_ms)
        option, given_up = self._best(trip, spent, conditions)
        if option is None:
            return None
        if not wanted[0].forces:
            others = [] if _is_known(content, wanted[0]) else causes
            if "lat" in option:  # A garage that may fill up, or of which nothing is heard.
                if given_up:
                    return None
            elif not self._is_worth_it(content, rest, option, others, conditions.now_ms):
                return None
        limits = content.request.get("constraints") or ()
        relaxed = given_up or replanning.is_used_up(limits, spent)
        said = [*wanted, *(one for one in causes if one not in wanted)]
        now = times.iso(conditions.now_ms)
        return proposals.proposal(content, option, said, rest.values, relaxed=relaxed, now=now)

    def _best(self, trip: Trip, spent: Values, conditions: Conditions) -> tuple[Body | None, bool]:
        """The best plan from here, and whether limits had to be given up for it."""
        content = trip.content
        if trip.kind == "travel":
            body = replanning.travel_body(content, content.position, spent)
        else:
            body = replanning.parking_body(content, content.position, spent)
        for asked in (body, replanning.without_limits(body)):
            found = self._options(trip, asked, conditions)
            if found:
                return found[0], asked is not body
            if not body["constraints"]:
                break
        return None, False

    def _options(self, trip: Trip, body: Body, conditions: Conditions) -> list[Body]:
        """The options of a request, best first; of garages not the one that was chosen."""
        situation = self._planner.situation(conditions)
        language, moving = trip.content.language, trip.content.position is not None
        try:
            if trip.kind == "travel":
                request = requests.read(requests.TravelRequest, body, situation)
                answer = self._planner.travel(request, conditions, language, moving=moving)
                return list(answer["routes"])
            parking = requests.read(requests.ParkingRequest, body, situation)
            others = _without(conditions, trip.content.plan["id"])
            answer = self._planner.parking(parking, others, language, moving=moving)
            return list(answer["garages"])
        except requests.RequestError:
            return []  # Nobody can be planned for where they are now (in the water, abroad).

    def _is_worth_it(
        self, content: Content, rest: Rest, option: Body, causes: Sequence[Cause], now_ms: int
    ) -> bool:
        """Whether a way is another one, really better, and by more than its user has declined
        for what is there besides."""
        path = self._planner.way(dict(option))
        if rest.path is not None and path is not None and path.overlap(rest.path) > ALIKE:
            return False
        wishes = content.request.get("preferences") or ()
        found = replanning.gain(replanning.values_of(option), rest.values, wishes)
        if found is None or found.by <= 0:
            return False
        least = replanning.telling(found.on, rest.values[found.on] or 0.0)
        return replanning.is_worth_more(content, causes, found, least, now_ms)

    def _is_same(self, kept: Body, found: Body) -> bool:
        """Whether a proposal that is open is still what would be proposed."""
        if "lat" in found:
            return bool(kept["id"] == found["id"])
        old, new = self._planner.way(dict(kept)), self._planner.way(dict(found))
        return old is not None and new is not None and new.overlap(old) > ALIKE


def _walk(plan: Body, share: float) -> float | None:
    """Metres on foot that are left: all on foot, of a garage those from it; what a way by car
    has of them is at its ends, and not compared."""
    metres = plan.get("walk_m")
    if metres is None or "lat" in plan:
        return metres
    return round(metres * (1 - share), 1) if plan.get("mode") == Mode.WALK else None


def _without(conditions: Conditions, garage_id: str) -> Conditions:
    """The same city without a garage: what it is better than would not be offered else."""
    others = tuple(one for one in conditions.garages if one.id != garage_id)
    return replace(conditions, garages=others)


def _scaled(content: Content, share: float, conditions: Conditions) -> Rest:
    """The rest by what the plan said, where its streets are not known (any more)."""
    values = dict(replanning.values_of(content.plan))
    for on in ("time", "distance", "pollution"):
        value = values[on]
        values[on] = None if value is None else round(value * (1 - share), 2)
    line = following.line_of(content.plan)
    left = following.length_m(line) * (1 - share) if line else 0.0
    outlook = {
        "at_ms": conditions.now_ms,
        "left_m": round(left, 1),
        "values": values,
        "steps": [],
        "ahead": [],
        "garage": _garage(content.plan, conditions, values["time"] or 0.0),
    }
    return Rest(None, values, outlook)


def _unseen(trip: Trip, conditions: Conditions) -> Body:
    """Of a journey whose timetable is gone: the rest by what the plan said."""
    return _scaled(trip.content, done_share(trip.content), conditions).outlook


def _before(events: Sequence[Body], left_m: float, distance_m: float) -> list[dict[str, Any]]:
    """Events by how far each is from the end of the line, which does not move."""
    scale = left_m / distance_m if distance_m > 0 else 1.0
    return [
        {**{key: value for key, value in event.items() if key != "ahead_m"}, "left_m": left}
        for event in events
        if (left := round(left_m - event["ahead_m"] * scale, 1)) is not None
    ]


# --- Why there may have to be another plan --------------------------------------------------------


def _wanted(content: Content, causes: Sequence[Cause], now_ms: int) -> list[Cause]:
    """The causes that the user has not said no to; whoever has, to one that lasts, is not asked
    again because the streets are as it made them."""
    left = [one for one in causes if not replanning.is_declined(content, one, now_ms)]
    return left if len(left) == len(causes) else [one for one in left if one.reason != "traffic"]


def _is_known(content: Content, cause: Cause) -> bool:
    """Whether somebody was asked about a cause before, when it was less severe."""
    return any(one["cause"] == cause.id for one in content.declined)


def _causes(trip: Trip, rest: Rest, notices: Sequence[Open], conditions: Conditions) -> list[Cause]:
    """The causes there are, what matters most first."""
    if trip.kind == "parking":
        return _of_garage(trip, notices, conditions, rest)
    if is_off_route(trip.content):
        told = next((one.id for one in notices if one.kind == OFF_ROUTE), None)
        return [Cause("off_route", OFF_ROUTE, 2, told)]
    events = {event["id"]: _of_street(event) for event in rest.outlook["ahead"]}
    for one in notices:
        if one.kind != OFF_ROUTE:
            events[one.about] = _of_notice(one, events.get(one.about))
    found = sorted(events.values(), key=lambda cause: (-cause.level, cause.id))
    return [*found, Cause("traffic", "traffic")]


def _of_notice(one: Open, known: Cause | None) -> Cause:
    """The event that a notice tells of, which may be known from the streets."""
    level = one.level or one.criticality
    if known is not None and known.about is not None:
        level = max(level, known.level) if one.level else known.level
        return known._replace(notice=one.id, level=level, about={**known.about, "level": level})
    about = {"id": one.about, "type": None, "kind": one.kind, "level": level, "name": one.name}
    return Cause("event", one.about, level, one.id, about)


def kind_of(event_type: str) -> str:
    """The kind of notice that tells of events of a type."""
    return _KINDS.get(event_type, "other")


def _of_street(event: Body) -> Cause:
    """An event on the way of which no notice tells, or not yet."""
    known = {name: event[name] for name in ("id", "type", "level")}
    kind = kind_of(event["type"])
    about = {**known, "kind": kind, "name": event["place"]["name"]}
    return Cause("event", event["id"], event["level"], None, about)


def _of_garage(
    trip: Trip, notices: Sequence[Open], conditions: Conditions, rest: Rest
) -> list[Cause]:
    plan = trip.content.plan
    garage = conditions.garage(plan["id"])
    told = {one.kind: one for one in notices}
    found = []
    for reason in _reasons(garage, told, plan, rest):
        kind = "garage_full" if reason == "garage_filling" else reason
        one = told.get(kind)
        level = {"garage_full": 5, "garage_closed": 5}.get(reason, 3)
        name = garage.name if garage else str(plan["name"])
        about = {"id": plan["id"], "type": "garage", "level": level, "name": name}
        told_by = one.id if one else None
        found.append(Cause(reason, f"{reason} {plan['id']}", level, told_by, about))
    return found


def _reasons(
    garage: Garage | None, told: Mapping[str, Open], plan: Body, rest: Rest
) -> list[replanning.Reason]:
    """What is wrong with a garage: by who told of it, and by its own counts and hours."""
    full = told.get("garage_full")
    arrive_ms = (garage.at_ms if garage else 0) + round((rest.values["time"] or 0.0) * 1000)
    if "garage_closed" in told or (garage is not None and garage.open_at(arrive_ms) is False):
        return ["garage_closed"]
    if (full is not None and full.criticality >= 5) or (garage is not None and garage.free == 0):
        return ["garage_full"]
    expected = garage.expected(arrive_ms) if garage is not None else None
    if full is not None and (expected is None or expected.chance_full >= LIKELY_FULL):
        return ["garage_filling"]
    silent = garage is not None and garage.stale and not plan.get("stale")
    return ["garage_unknown"] if silent or "garage_unknown" in told else []


def _garage(plan: Body, conditions: Conditions, seconds: float) -> dict[str, Any] | None:
    """The garage of a plan as it is now."""
    garage = conditions.garage(plan["id"]) if "lat" in plan else None
    if garage is None:
        return None
    arrive_ms = conditions.now_ms + round(seconds * 1000)
    return {
        "id": garage.id,
        "name": garage.name,
        **count_object(garage),
        "open": garage.open_at(arrive_ms),
        "expected": expected_object(garage, arrive_ms),
        "state": _state(garage, arrive_ms),
    }


def _state(garage: Garage, arrive_ms: int) -> str:
    if garage.open_at(arrive_ms) is False:
        return "closed"
    if garage.free == 0:
        return "full"
    return "unknown" if garage.free is None or garage.stale else "free"
