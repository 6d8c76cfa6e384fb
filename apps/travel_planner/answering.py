"""What people say to a proposal: yes, no, later, and back again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from citywise.apps.travel_planner import following, proposals, replanning, trips
from citywise.apps.travel_planner.following import line_of
from citywise.apps.travel_planner.trips import Body, Change, Content, Trip

_OF_PROPOSALS = frozenset(
    {
        "number",
        "cause",
        "cause_level",
        "causes",
        "reason",
        "notice",
        "about",
        "made",
        "relaxed",
        "spent",
        "instead",
        "others",
    }
)
"""What a proposal has beside the plan that it proposes; its `difference` is the plan's too."""


class Answered(NamedTuple):
    """A trip after an answer, what that was to it, and whether it has another plan now."""

    trip: Trip
    change: Change
    has_new_plan: bool = False


def accept(trip: Trip, now_ms: int, option: int = 0) -> Answered:
    """Make the proposal the plan, or the `option`th of the others beside it (from 1); the old one
    can be had back. What was behind when it was made counts as spent: from there on it is
    measured along its own line."""
    content, proposal = trip.content, _proposal(trip)
    chosen = proposal["others"][option - 1] if option else proposal
    plan = {key: value for key, value in chosen.items() if key not in _OF_PROPOSALS}
    accepted = {**_refused(proposal), "spent": dict(content.spent)}
    changed = replace(
        content,
        plan=plan,
        previous=content.plan,
        accepted=accepted,
        spent=dict(proposal["spent"]),
    )
    return Answered(_replanned(trip, changed, now_ms), "accepted", has_new_plan=True)


def undo(trip: Trip, now_ms: int) -> Answered:
    """Bring back the plan there was; what was accepted counts as declined, whatever it was for."""
    content = trip.content
    assert content.previous is not None
    accepted = content.accepted or {}
    changed = replace(
        content,
        plan=content.previous,
        previous=None,
        accepted=None,
        spent=accepted.get("spent", {}),
        declined=_declined(content, accepted, now_ms),
    )
    return Answered(_replanned(trip, changed, now_ms), "undone", has_new_plan=True)


def decline(trip: Trip, now_ms: int) -> Answered:
    """Stay with the plan."""
    declined = _declined(trip.content, _refused(_proposal(trip)), now_ms)
    changes: dict[str, Any] = {"proposal": None, "snoozed_until_ms": None, "declined": declined}
    return Answered(trip.with_content(now_ms, **changes), "declined")


def snooze(trip: Trip, minutes: float, now_ms: int) -> Answered:
    """Decide later: in some minutes of stream time."""
    _proposal(trip)
    until = now_ms + round(minutes * 60_000)
    return Answered(trip.with_content(now_ms, snoozed_until_ms=until), "snoozed")


def _proposal(trip: Trip) -> Body:
    assert trip.content.proposal is not None
    return trip.content.proposal


def _refused(proposal: Body) -> dict[str, Any]:
    """What a no to a proposal is a no to: all that it was for, and how much less of each
    quantity it would have taken."""
    new, old = replanning.values_of(proposal), proposals.instead_of(proposal)
    gains = {
        on: round(theirs - mine, 2)
        for on in replanning.CRITERIA
        if (mine := new[on]) is not None and (theirs := old[on]) is not None
    }
    return {"causes": list(proposal["causes"]), "gains": gains}


def _declined(content: Content, refused: Body, now_ms: int) -> tuple[Body, ...]:
    entries = [
        {**cause, "gains": refused["gains"], "at_ms": now_ms} for cause in refused.get("causes", ())
    ]
    return trips.declined_with(content, entries)


def _replanned(trip: Trip, content: Content, now_ms: int) -> Trip:
    """A trip with another plan: where its user is on it, and nothing yet of what it takes."""
    changed = replace(trip, content=content)
    return changed.with_content(
        now_ms,
        proposal=None,
        snoozed_until_ms=None,
        outlook=None,
        **placed(content, line_of(content.plan)),
    )


def placed(content: Content, line: following.Coordinates | None) -> dict[str, float | None]:
    """Where on a line the position of a content is, as its fields."""
    if line is None or content.position is None:
        return {"along_m": None, "off_m": None}
    found = following.progress(line, content.position)
    return {"along_m": round(found.along_m, 2), "off_m": round(found.off_m, 2)}
