"""What has changed of a repeating trip since its user was told of it last. Pure.

What was told is kept in few words (`Told`): on another day it is compared by the city's clocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from citywise.apps.travel_planner.trips import Body
from citywise.backend.app import times

LEAST_MIN = 3
"""Trips that arrive, or may depart, by less than so many minutes otherwise are told as the same."""
SOONER_MIN = 1
"""A line that departs so much earlier is told of: who comes as usual misses it."""
MOST_NAMED = 3


@dataclass(frozen=True)
class Told:
    """A way to make the trip, as it was told: instants in ISO 8601, null where there is none."""

    day: str
    mode: str | None
    departs: str | None
    arrives: str | None
    lines: tuple[str, ...] = ()
    """By which one rides, in order."""
    garage: str | None = None
    ahead: tuple[str, ...] = ()
    """Ids of events on the way."""
    wrong: tuple[str, ...] = ()
    """What was said not to run or to hold on this day."""


@dataclass(frozen=True)
class State:
    """How a trip stands now: the way to make it, and what is wrong with the one told before."""

    way: Told
    cancelled: tuple[str, ...] = ()
    """Rides that do not run, each in a few words."""
    broken_at: str | None = None
    """The stop at which a change does not hold."""
    ahead: Mapping[str, str] | None = None
    """Events on the way: where each is, by its id."""


def told(day: str, plan: Body | None) -> Told:
    """A route of the planner's answer as it is told; None: no way was found."""
    if plan is None:
        return Told(day, None, None, None)
    rides = [leg for leg in plan.get("legs") or () if leg.get("trip")]
    parks = [leg["park"] for leg in plan.get("legs") or () if leg.get("park")]
    return Told(
        day,
        plan["mode"],
        plan["departs"],
        plan["arrives"],
        tuple(leg.get("route_name") or leg["mode"] for leg in rides),
        parks[0].get("name") or parks[0]["garage"] if parks else None,
        tuple(sorted(event["id"] for event in plan.get("events") or ())),
    )


def from_body(body: Body | None) -> Told | None:
    """What was told, as JSON has it."""
    if body is None:
        return None
    lists = {name: tuple(body[name]) for name in ("lines", "ahead", "wrong")}
    return Told(**{**body, **lists})


def news(before: Told | None, now: State) -> dict[str, Any]:
    """What is to be told, as details of a notice; empty: nothing is otherwise than was told."""
    way = now.way
    if way.departs is None or way.arrives is None:
        is_known = before is not None and before.departs is None
        return {} if is_known else {"day": way.day, **_wrong(before, now)}
    found = _wrong(before, now)
    is_first = before is None or before.departs is None
    if before is not None and before.departs is not None:
        found |= _moved(before, way)
        if before.lines != way.lines and way.lines:
            found["lines"] = ", ".join(way.lines)
        if before.mode != way.mode:
            found[f"by_{way.mode}"] = ""  # The texts have a word for each.
        if way.garage is not None and before.garage != way.garage:
            found["garage"] = way.garage
        new = {key: place for key, place in (now.ahead or {}).items() if key not in before.ahead}
        if new:
            found["ahead"] = _few(list(dict.fromkeys(new.values())))
    if not found and not is_first:
        return {}
    shown = {"day": way.day, "departs": _clock(way.departs), "arrives": _clock(way.arrives)}
    return {**found, **shown, **({"by": ", ".join(way.lines)} if way.lines else {})}


def settled(before: Told | None, now: State, *, is_told: bool) -> Told:
    """What counts as told after a look: small differences add up until they are told."""
    if before is None or is_told:
        broken = () if now.broken_at is None else (now.broken_at,)
        return replace(now.way, wrong=(*_said(before, now), *now.cancelled, *broken))
    if before.departs is None or now.way.departs is None:
        return before
    departs = _on_day(before, now.way, before.departs, now.way.departs)
    arrives = _on_day(before, now.way, before.arrives, now.way.arrives)
    return replace(now.way, departs=departs, arrives=arrives, wrong=_said(before, now))


def _on_day(before: Told, way: Told, was: str | None, now: str | None) -> str | None:
    """A moment that was told, on the day of a way."""
    if was is None or now is None:
        return now
    minutes = _minutes(was, now, before.day == way.day)
    return times.iso(times.parse_ms(now) - minutes * 60_000)


def _said(before: Told | None, now: State) -> tuple[str, ...]:
    """What was said of this day already not to run or to hold."""
    return before.wrong if before is not None and before.day == now.way.day else ()


def _wrong(before: Told | None, now: State) -> dict[str, Any]:
    found: dict[str, Any] = {}
    said = _said(before, now)
    cancelled = [ride for ride in now.cancelled if ride not in said]
    if cancelled:
        found["cancelled"] = _few(cancelled)
    if now.broken_at is not None and now.broken_at not in said:
        found["broken"] = now.broken_at
    return found


def _moved(before: Told, way: Told) -> dict[str, int]:
    """By how many minutes it departs and arrives otherwise."""
    found: dict[str, int] = {}
    same_day = before.day == way.day
    for name, later, earlier in (("departs", "leave_later", "leave_earlier"), _ARRIVALS):
        minutes = _minutes(getattr(before, name), getattr(way, name), same_day)
        least = SOONER_MIN if name == "departs" and minutes < 0 and way.lines else LEAST_MIN
        if abs(minutes) >= least:
            found[later if minutes > 0 else earlier] = abs(minutes)
    return found


_ARRIVALS = ("arrives", "later", "earlier")


def _minutes(before: str, now: str, same_day: bool) -> int:
    """Minutes from one instant to another; of two days by the clocks, at most half a day."""
    if same_day:
        return round((times.parse_ms(now) - times.parse_ms(before)) / 60_000)
    one, other = (times.local(times.parse_ms(at)) for at in (before, now))
    apart = (other.hour - one.hour) * 60 + other.minute - one.minute
    return (apart + 720) % 1440 - 720


def _clock(at: str) -> str:
    return times.clock(times.parse_ms(at))


def _few(names: Sequence[str]) -> str:
    more = f" +{len(names) - MOST_NAMED}" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
