"""A trip as the API shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from citywise.apps.travel_planner import following, proposals
from citywise.apps.travel_planner.following import done_share, driven, is_off_route, line_of
from citywise.apps.travel_planner.replanning import values_of
from citywise.apps.travel_planner.transit.underway import is_by_line
from citywise.apps.travel_planner.trips import Body, Content, Trip
from citywise.backend.app import times

_NOT_SHOWN = ("cause", "cause_level", "causes", "spent", "way")


def trip_object(trip: Trip, now_ms: int, language: str) -> dict[str, Any]:
    """The whole of a trip at stream time `now_ms`, for its user alone, in a reader's language."""
    content = trip.content
    left_m = _left_m(content)
    return {
        "id": trip.id,
        "kind": trip.kind,
        "state": trip.state,
        "now": times.iso(now_ms),
        "created": times.iso(trip.created_ms),
        "updated": times.iso(trip.updated_ms),
        "ended": times.iso_or_none(trip.ended_ms),
        "request": content.request,
        "origin": content.origin,
        "to": content.to,
        "plan": shown(content.plan),
        "previous": content.previous and shown(content.previous),
        "notices": {"instance": trip.instance},
        "position": _position(content, now_ms),
        "progress": _progress(content, left_m, now_ms),
        "ahead": _ahead(content, left_m),
        "journey": (content.outlook or {}).get("journey"),
        "proposal": content.proposal and _proposal(content.proposal, language),
        "snoozed_until": times.iso_or_none(content.snoozed_until_ms),
        "garage": (content.outlook or {}).get("garage"),
    }


def _proposal(proposal: Body, language: str) -> dict[str, Any]:
    found = {**shown(proposal), **proposals.worded(proposal, language)}
    if "others" in proposal:
        found["others"] = [shown(other) for other in proposal["others"]]
    return found


def shown(plan: Body) -> dict[str, Any]:
    """A route or a garage without what only we need of it."""
    found = {key: value for key, value in plan.items() if key not in _NOT_SHOWN}
    if isinstance(drive := found.get("drive"), Mapping):
        found["drive"] = shown(drive)
    return found


def _position(content: Content, now_ms: int) -> dict[str, Any] | None:
    found = content.position
    if found is None:
        return None
    return {
        "lat": found.lat,
        "lon": found.lon,
        "heading": found.heading,
        "accuracy_m": found.accuracy_m,
        "speed_kmh": found.speed_kmh,
        "at": times.iso_or_none(found.at_ms),
        "heard": times.iso(found.heard_ms),
        "age_s": max(0, now_ms - found.heard_ms) / 1000,
    }


def _left_m(content: Content) -> float | None:
    """Metres of the line that are left; None where there is no line."""
    line = line_of(content.plan)
    if line is None:
        return None
    return following.length_m(line) * (1 - done_share(content))


def _progress(content: Content, left_m: float | None, now_ms: int) -> dict[str, Any] | None:
    """How far one is, and what the rest takes by what was computed last."""
    outlook = content.outlook
    if left_m is None:
        return None
    values, scale = _values(content, left_m)
    time_s = remaining_s(content, now_ms)
    off = content.off_m
    return {
        "along_m": round(content.along_m or 0.0, 1),
        "done_share": round(_share(content, now_ms), 4),
        "off_route_m": None if off is None else round(off, 1),
        "off_route": is_off_route(content),
        "remaining_m": round(left_m, 1),
        "remaining_s": time_s,
        "remaining_pollution": values.get("pollution"),
        "remaining_cost": values.get("cost"),
        "arrives": None if time_s is None else times.iso(now_ms + round(time_s * 1000)),
        "measured": times.iso_or_none(outlook["at_ms"] if outlook else None),
        "live": outlook is not None,
        "steps": _steps(content, scale),
    }


def remaining_s(content: Content, now_ms: int) -> float | None:
    """Seconds that the rest takes, by what was computed last; None where that is not known."""
    left_m = _left_m(content)
    if left_m is None:
        return None
    if is_by_line(content.plan):  # what is behind takes no part of what is left of a ride
        ends = (content.outlook or {}).get("journey", content.plan)["arrives"]
        return None if ends is None else max(0.0, (times.parse_ms(ends) - now_ms) / 1000)
    return _values(content, left_m)[0].get("time")


def _share(content: Content, now_ms: int) -> float:
    """Part of the way that is behind; of a journey by line, of its time."""
    if not is_by_line(content.plan):
        return done_share(content)
    start, end = (times.parse_ms(content.plan[name]) for name in ("departs", "arrives"))
    return min(1.0, max(0.0, (now_ms - start) / max(1, end - start)))


def _values(content: Content, left_m: float) -> tuple[Mapping[str, float | None], float]:
    """What the rest takes, and the part of what it was computed for that it is."""
    if content.outlook is not None:
        of, values = content.outlook["left_m"], content.outlook["values"]
    else:
        line = line_of(content.plan)
        of, values = following.length_m(line) if line else 0.0, values_of(content.plan)
    scale = min(1.0, left_m / of) if of > 0 else 0.0
    scaled = ("time", "pollution", "distance", *(() if "lat" in content.plan else ("cost",)))
    return {
        on: round(value * (scale if on in scaled else 1.0), 2)
        for on, value in values.items()
        if value is not None
    }, scale


def _steps(content: Content, scale: float) -> list[dict[str, Any]]:
    """The steps that are left; the first one shortened by what is behind."""
    steps: Sequence[Body] = (content.outlook or driven(content.plan) or {}).get("steps") or ()
    total = sum(step["distance_m"] for step in steps)
    behind, found = total * (1 - scale), []
    for step in steps:
        part = min(behind, step["distance_m"])
        behind -= part
        if step["distance_m"] - part > 1.0:
            share = 1 - part / step["distance_m"]
            lengths = {name: round(step[name] * share, 1) for name in ("distance_m", "time_s")}
            found.append({**step, **lengths})
    return found


def _ahead(content: Content, left_m: float | None) -> list[dict[str, Any]]:
    """What is still ahead, nearest first."""
    if content.outlook is None or left_m is None:
        return []
    seconds, of = content.outlook["values"].get("time"), content.outlook["left_m"]
    pace = seconds / of if seconds and of else None
    found = []
    for event in content.outlook["ahead"]:
        metres = left_m - event["left_m"]
        if metres > 0:
            rest = {key: value for key, value in event.items() if key != "left_m"}
            in_s = None if pace is None else round(metres * pace, 1)
            found.append({**rest, "ahead_m": round(metres, 1), "ahead_s": in_s})
    return sorted(found, key=lambda one: one["ahead_m"])
