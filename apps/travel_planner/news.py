"""What a look at a trip has brought, to its user: whether it is worth a word, and which."""

from __future__ import annotations

from typing import Any

from citywise.apps.travel_planner import proposals
from citywise.apps.travel_planner.trips import Body, Change, Trip
from citywise.apps.travel_planner.watching import Outcome


def change_of(trip: Trip, outcome: Outcome, now_ms: int) -> Change | None:
    """What a look's outcome is to the trip's user; None: nothing worth a word.

    Who has put a proposal off is asked again when the time is over, when it is another one, or
    when what it is for has become worse.
    """
    before, after = trip.content.proposal, outcome.proposal
    if after is None:
        return "released" if before is not None else _outlook(trip, outcome)
    if before is None or before["number"] != after["number"]:
        return "proposed"
    until = trip.content.snoozed_until_ms
    if until is not None and (until <= now_ms or proposals.is_worse(before, after)):
        return "proposed"
    return "outlook" if proposals.is_news(before, after) else _outlook(trip, outcome)


def _outlook(trip: Trip, outcome: Outcome) -> Change | None:
    return "outlook" if _looks_different(trip.content.outlook, outcome.outlook) else None


def _looks_different(before: Body | None, after: Body) -> bool:
    """Whether what lies ahead has changed by more than by going on."""
    if before is None or _ids(before) != _ids(after) or _garage(before) != _garage(after):
        return True
    if "journey" in after:
        return bool(_timeless(before.get("journey") or {}) != _timeless(after["journey"]))
    was, is_now = before["values"].get("time"), after["values"].get("time")
    if was is None or is_now is None:
        return bool(was != is_now)
    of = before["left_m"]
    expected = was * min(1.0, after["left_m"] / of) if of > 0 else was
    return bool(abs(is_now - expected) > max(20.0, 0.05 * expected))


def _timeless(journey: Body) -> Body:
    """A journey by line without what is otherwise at each look."""
    return {name: journey[name] for name in journey if name != "changes"} | {
        "states": [(one["leg"], one["state"]) for one in journey.get("changes", ())]
    }


def _ids(outlook: Body) -> list[tuple[str, int]]:
    return sorted((event["id"], event["level"]) for event in outlook["ahead"])


def _garage(outlook: Body) -> tuple[Any, ...] | None:
    found = outlook.get("garage")
    return None if found is None else (found["free"], found["state"], found["observed"])
