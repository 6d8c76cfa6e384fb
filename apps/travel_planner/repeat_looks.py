"""Looking at a repeating trip: how it stands now, planned anew or on the way that was told.

Nobody says where its user is: who is on it is taken to be where the plan has them by now.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from citywise.apps.travel_planner import following, requests
from citywise.apps.travel_planner.answers import events_on
from citywise.apps.travel_planner.planner import Planner
from citywise.apps.travel_planner.repeat_news import LEAST_MIN, State, told
from citywise.apps.travel_planner.repeat_times import Run
from citywise.apps.travel_planner.roads import Mode
from citywise.apps.travel_planner.roads.conditions import Conditions
from citywise.apps.travel_planner.transit import request as transit_request
from citywise.apps.travel_planner.transit.following import LineWatch, name_of
from citywise.apps.travel_planner.transit.kept import Kept
from citywise.apps.travel_planner.transit.roads import Around
from citywise.apps.travel_planner.transit.underway import Underway, is_by_line, underway
from citywise.apps.travel_planner.trips import Body, Content, Trip
from citywise.backend.app import times

Json = dict[str, Any]


@dataclass(frozen=True)
class Look:
    """What was seen: how the trip stands, and the plan to watch over from now on."""

    state: State
    plan: Json | None


class Looks:
    """Looks at repeating trips in one city; for one thread at a time."""

    def __init__(self, planner: Planner, kept: Kept) -> None:
        self._planner, self._kept = planner, kept
        self._lines = LineWatch(planner, kept)

    def look(
        self, asked: Body, at: Run, by: str, plan: Json | None, conditions: Conditions
    ) -> Look | None:
        """A trip as it stands; `plan` was told for its day. None: nobody can say, as there is no
        timetable any more."""
        day, now_ms = at.day.isoformat(), conditions.now_ms
        if plan is not None and now_ms >= at.departs_ms:
            found = self._on_it(asked, plan, conditions)
            return None if found is None else _seen(day, *found)
        if transit_request.is_timetabled(asked) and self._kept.transit(now_ms) is None:
            return None
        fresh = self._planned(asked, at, by, conditions)
        if plan is None or not is_by_line(plan):
            return _seen(day, fresh)
        transit = self._kept.transit(now_ms)
        if transit is None:
            return _seen(day, fresh)
        held = underway(transit, plan, now_ms // 1000)
        as_told = _as_runs(plan, held)
        if held.broken is None and as_told is not None:
            is_kept = self._is_as_good(as_told, fresh, at, by)
            return _seen(day, as_told if is_kept else fresh)
        return _seen(day, fresh, held)

    def _is_as_good(self, as_told: Json, fresh: Json | None, at: Run, by: str) -> bool:
        """Whether who was told of a way need not hear of another one."""
        arrives = times.parse_ms(as_told["arrives"])
        if fresh is None or (by == "arrive" and arrives <= at.anchor_ms):
            return True
        return arrives < times.parse_ms(fresh["arrives"]) + LEAST_MIN * 60_000

    # -- before it begins -----------------------------------------------------------------

    def _planned(self, asked: Body, at: Run, by: str, conditions: Conditions) -> Json | None:
        """The best way as it is known now; None: there is none."""
        when = "arrive" if by == "arrive" else "depart"
        moment = max(at.anchor_ms, conditions.now_ms)
        try:
            if transit_request.is_timetabled(asked):
                return self._by_line({**asked, when: times.iso(moment)}, conditions)
            return self._on_streets({**asked, when: times.iso(moment)}, conditions)
        except requests.RequestError:
            return None  # No way can be planned from there, or no more.

    def _by_line(self, body: Json, conditions: Conditions) -> Json | None:
        transit = self._kept.transit(conditions.now_ms)
        assert transit is not None
        around = Around(self._planner, conditions)
        asked = transit_request.read(body)
        return _first(transit.answer(asked, conditions.now_ms, "en", around))

    def _on_streets(self, body: Json, conditions: Conditions) -> Json | None:
        situation = self._planner.situation(conditions)
        asked = requests.read(requests.TravelRequest, body, situation)
        return _first(self._planner.travel(asked, conditions))

    # -- while it is made -----------------------------------------------------------------

    def _on_it(
        self, asked: Body, plan: Json, conditions: Conditions
    ) -> tuple[Json | None, Underway | None] | None:
        """The way as it goes on, and how the one that was told stands."""
        if not is_by_line(plan):
            return self._driven(plan, conditions), None
        transit = self._kept.transit(conditions.now_ms)
        content = Content(request=asked, plan=plan, origin={}, to=asked["to"])
        trip = Trip("", "", "travel", "following", 0, 0, None, content)
        seen = self._lines.look(trip, conditions)
        if seen is None or transit is None:
            return None
        held = underway(transit, plan, conditions.now_ms // 1000)
        return seen.proposal or _as_runs(plan, held), held

    def _driven(self, plan: Json, conditions: Conditions) -> Json:
        """A way on streets, of which as much is behind as was to be by now."""
        path, mode = self._planner.way(plan), Mode(plan["mode"])
        begins, ends = (times.parse_ms(plan[name]) for name in ("departs", "arrives"))
        share = (conditions.now_ms - begins) / max(1, ends - begins)
        if path is None or not 0.0 <= share < 1.0:
            return plan
        left = following.rest(path, share)
        access_m = (plan.get("access") or {}).get("to_m") or 0.0
        found = self._planner.measured(left, mode, conditions, access_m=access_m)
        arrives_ms = conditions.now_ms + round(found.time_s * 1000)
        ahead = events_on(left, mode, conditions)
        return {**plan, "arrives": times.iso(arrives_ms), "events": ahead}


def _first(answer: Json) -> Json | None:
    return next(iter(answer["routes"]), None)


def _as_runs(plan: Json, held: Underway) -> Json | None:
    """A journey at the times at which it runs now."""
    if held.arrives is None:
        return None
    legs = list(held.legs)
    arrives = legs[-1]["arrives"]
    return {**plan, "legs": legs, "departs": legs[0]["departs"], "arrives": arrives}


def _seen(day: str, plan: Json | None, held: Underway | None = None) -> Look:
    """What is told of a way, beside how the one stands that was told before."""
    ahead = {} if plan is None else {one["id"]: _place(one) for one in plan.get("events") or ()}
    if held is None:
        return Look(State(told(day, plan), ahead=ahead), plan)
    missed = None
    if held.broken is not None and held.broken[1] != "trip_cancelled":
        missed = held.legs[held.broken[0]]["from"].get("name")
    return Look(State(told(day, plan), tuple(_cancelled(held.legs)), missed, ahead), plan)


def _cancelled(legs: Sequence[Json]) -> Iterator[str]:
    return (name_of(leg) for leg in legs if leg.get("realtime") == "cancelled")


def _place(event: Body) -> str:
    return str(event["place"]["name"] or event["type"])
