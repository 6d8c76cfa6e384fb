"""When a plan is to be given up for another: requests from where somebody is, and whether what
comes of them is really better. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from citywise.apps.travel_planner.trips import Body, Content, Position, Trip

Values = Mapping[str, float | None]
"""Of an option, or of what remains of one: seconds, metres, index · hours, money, metres on
foot, by the criterion's name."""
Reason = Literal[
    "event",
    "traffic",
    "off_route",
    "garage_full",
    "garage_filling",
    "garage_closed",
    "garage_unknown",
    "trip_cancelled",
    "change_missed",
    "ride_missed",
    "drive_late",
    "line_late",
]
CRITERIA = ("time", "distance", "pollution", "cost", "walk")
LEAST: Mapping[str, float] = {
    "time": 60.0,
    "distance": 250.0,
    "pollution": 0.5,
    "cost": 5.0,
    "walk": 100.0,
}
"""A gain of so much is worth another plan whatever it is a part of."""
LEAST_SHARE = 0.05
"""So is a gain of this part of what remains …"""
_TRIFLE: Mapping[str, float] = {
    "time": 15.0,
    "distance": 50.0,
    "pollution": 0.02,
    "cost": 1.0,
    "walk": 25.0,
}
"""… but for these."""
QUIET_MS = 600_000
"""So long, in stream time, nothing is proposed again for what was declined."""
_UPPER = ("<", "<=", "=")
QUANTITIES = {
    "time": "time_s",
    "distance": "distance_m",
    "pollution": "pollution",
    "cost": "cost",
    "walk": "walk_m",
}
_GARAGE = {**QUANTITIES, "time": "drive_s", "distance": "drive_m"}


FORCING: frozenset[str] = frozenset(
    {
        "off_route",
        "garage_full",
        "garage_closed",
        "trip_cancelled",
        "change_missed",
        "ride_missed",
        "drive_late",
    }
)
"""Reasons for which the old plan is of no use any more."""


class Cause(NamedTuple):
    """Why there may have to be another plan."""

    reason: Reason
    id: str
    """Of the event, or the reason: what is declined is known by it."""
    level: int = 1
    """1 to 5."""
    notice: str | None = None
    about: Body | None = None
    """`{"id", "type", "level", "name"}`; of an event also the `kind` of its notices."""

    @property
    def forces(self) -> bool:
        """Whether the old plan is of no use any more."""
        return self.reason in FORCING

    @property
    def key(self) -> dict[str, Any]:
        """What is kept of it, to know it again when it was declined."""
        return {"cause": self.id, "level": self.level}


# --- Asking again --------------------------------------------------------------------------------


def travel_body(content: Content, position: Position | None, spent: Values) -> dict[str, Any]:
    """The request for what remains of a way: from where somebody is, by the mode they are on,
    with what `spent` leaves of their limits."""
    asked = content.request
    here = asked["from"] if position is None else _spot(position)
    return {
        "from": here,
        "to": asked["to"],
        "mode": content.plan["mode"],
        "depart": None,
        "constraints": left_of(asked.get("constraints") or (), spent),
        "preferences": list(asked.get("preferences") or ()),
        "alternatives": 3,
    }


def parking_body(content: Content, position: Position | None, spent: Values) -> dict[str, Any]:
    """The request for another garage: the same destination, driving from where somebody is."""
    asked = content.request
    here = asked.get("from") if position is None else _spot(position)
    constraints = left_of(asked.get("constraints") or (), spent)
    if here is None:
        constraints = [one for one in constraints if one["on"] in ("walk", "cost", "free")]
    return {
        "destination": asked["destination"],
        "from": here,
        "arrive": None,
        "stay_minutes": asked.get("stay_minutes", 60),
        "radius_m": asked.get("radius_m", 1000),
        "constraints": constraints,
        "preferences": list(asked.get("preferences") or ()),
    }


def spent(trip: Trip, share: float, now_ms: int) -> Values:
    """What of the limits is used up when a share of the plan is behind: time by the clock
    (while the trip was followed), the rest by the way."""
    content = trip.content
    behind = spent_with(content, share)
    elapsed = (now_ms - trip.created_ms - content.paused_ms) / 1000
    return {**behind, "time": max(0.0, elapsed) if share > 0 or content.spent else 0.0}


def spent_with(content: Content, share: float) -> Values:
    """What of each criterion earlier plans and a share of this one took."""
    planned = values_of(content.plan)
    scaled = ("distance", "pollution") if "lat" in content.plan else CRITERIA
    return {on: (content.spent.get(on) or 0.0) + (planned[on] or 0.0) * share for on in scaled}


def left_of(constraints: Sequence[Body], spent: Values) -> list[dict[str, Any]]:
    """Limits for the rest of a way. What is spent counts against them; an upper limit that is
    used up, which nothing can keep to, and a lower one that is reached say nothing any more."""
    found = []
    for one in constraints:
        value = float(one["value"]) - (spent.get(one["on"]) or 0.0)
        if value > 0:
            found.append({"on": one["on"], "op": one["op"], "value": round(value, 3)})
    return found


def is_used_up(constraints: Sequence[Body], spent: Values) -> bool:
    """Whether there is an upper limit that nothing can keep to any more."""
    upper = [one for one in constraints if one["op"] in _UPPER]
    return len(left_of(upper, spent)) < len(upper)


def without_limits(body: Body) -> dict[str, Any]:
    """A request that anything would do for."""
    return {**body, "constraints": []}


def _spot(position: Position) -> dict[str, float]:
    return {"lat": position.lat, "lon": position.lon}


# --- Comparing -----------------------------------------------------------------------------------


def values_of(plan: Body) -> Values:
    """The quantities of a route or a garage."""
    names = QUANTITIES if "time_s" in plan else _GARAGE
    return {on: plan.get(name) for on, name in names.items()}


class Gain(NamedTuple):
    """What tells a plan from the rest of another: the criterion, and how much better it is."""

    on: str
    by: float
    """In the criterion's unit; below zero it is worse."""


def gain(new: Values, old: Values, preferences: Sequence[Body]) -> Gain | None:
    """The first difference that tells a plan from the rest of another, by its user's wishes in
    their order, then by time; None: they are alike, as far as is known."""
    for wish in (*preferences, {"minimise": "time"}):
        on = str(wish.get("minimise") or wish.get("maximise"))
        mine, theirs = new.get(on), old.get(on)
        if mine is None or theirs is None:
            continue
        by = theirs - mine if wish.get("minimise") else mine - theirs
        if abs(by) > telling(on, theirs):
            return Gain(on, by)
    return None


def telling(on: str, value: float) -> float:
    """What is a difference, of a quantity that is now `value`."""
    return min(LEAST.get(on, 0.0), max(_TRIFLE.get(on, 0.0), LEAST_SHARE * abs(value)))


def is_declined(content: Content, cause: Cause, now_ms: int) -> bool:
    """Whether its user has said no to this: to an event or a garage until it becomes worse; to
    anything else, for ten minutes."""
    said = _said_no(content, cause, now_ms)
    return any(cause.level <= one["level"] for one in said)


def is_worth_more(
    content: Content, causes: Sequence[Cause], found: Gain, least: float, now_ms: int
) -> bool:
    """Whether a cause that is new brings more than was declined for those there are besides: a
    jam behind an accident is no new reason for the same way."""
    said = [one for cause in causes for one in _said_no(content, cause, now_ms)]
    sign = -1 if {"maximise": found.on} in (content.request.get("preferences") or ()) else 1
    gains = [sign * one["gains"][found.on] for one in said if found.on in one.get("gains", {})]
    return all(found.by > by + least for by in gains)


def _said_no(content: Content, cause: Cause, now_ms: int) -> list[Body]:
    lasts = cause.reason not in ("off_route", "traffic")
    return [
        one
        for one in content.declined
        if one["cause"] == cause.id and (lasts or now_ms < one["at_ms"] + QUIET_MS)
    ]
