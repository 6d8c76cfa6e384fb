"""What is proposed to a trip: in values and codes, as it is kept, and in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from citywise.apps.travel_planner import wording
from citywise.apps.travel_planner.following import done_share
from citywise.apps.travel_planner.replanning import (
    CRITERIA,
    FORCING,
    QUANTITIES,
    Cause,
    Values,
    spent_with,
    telling,
    values_of,
)
from citywise.apps.travel_planner.trips import Body, Content, Kind


def proposal(
    content: Content,
    option: Body,
    causes: Sequence[Cause],
    instead: Values,
    *,
    relaxed: bool,
    now: str,
) -> dict[str, Any]:
    """What is proposed: a route or a garage, why (`causes`: all there are, the main one first),
    and what it changes; in values and codes, which `worded` puts into words."""
    cause = causes[0]
    return {
        **option,
        "number": content.number + 1,
        "cause": cause.id,
        "cause_level": cause.level,
        "causes": [one.key for one in causes],
        "reason": cause.reason,
        "notice": cause.notice,
        "about": cause.about,
        "made": now,
        "relaxed": relaxed,
        "spent": dict(spent_with(content, done_share(content))),
        "instead": {name: instead.get(on) for on, name in QUANTITIES.items()},
        "difference": _difference(values_of(option), instead),
    }


def _difference(new: Values, old: Values) -> dict[str, Any]:
    """By how much a plan differs from the rest of another."""
    apart: dict[str, Any] = {}
    for on, name in QUANTITIES.items():
        mine, theirs = new.get(on), old.get(on)
        apart[name] = None if mine is None or theirs is None else round(mine - theirs, 2)
    return apart


def instead_of(proposed: Body) -> Values:
    """The quantities of what a proposal is instead of."""
    return {on: proposed["instead"].get(name) for on, name in QUANTITIES.items()}


def is_news(before: Body, after: Body) -> bool:
    """Whether a proposal that stays open is to be told anew: what it is for, or a quantity, has
    changed by more than a trifle."""
    if any(before.get(name) != after.get(name) for name in _TELLING):
        return True
    pairs = ((values_of(before), values_of(after)), (instead_of(before), instead_of(after)))
    return any(_is_apart(on, old[on], new[on]) for old, new in pairs for on in CRITERIA)


_TELLING = ("number", "notice", "relaxed", "reason", "causes", "about")


def _is_apart(on: str, old: float | None, new: float | None) -> bool:
    if old is None or new is None:
        return old is not new
    return abs(old - new) > telling(on, old)


def is_worse(before: Body, after: Body) -> bool:
    """Whether the reason for a proposal has become more pressing: who has put it off is asked."""
    if after["reason"] in FORCING and before["reason"] not in FORCING:
        return True
    same = before["reason"] != "traffic"
    return bool(same and after["cause_level"] > before["cause_level"])


# --- In words ------------------------------------------------------------------------------------


def worded(proposed: Body, language: str) -> dict[str, Any]:
    """What a proposal says in a language: `because`, and the `text` of its `difference`."""
    text = difference_of(proposed, language)
    return {
        "because": because(proposed, language),
        "difference": {**proposed["difference"], "text": text},
    }


def difference_of(proposed: Body, language: str) -> str:
    """What a proposal changes, in words."""
    return wording.difference(values_of(proposed), instead_of(proposed), language)


def because(proposed: Body, language: str) -> str:
    """Why there is a proposal, in words."""
    about = proposed["about"] or {}
    sentence = about["kind"] if proposed["reason"] == "event" else proposed["reason"]
    name, level = about.get("name") or "…", proposed["cause_level"]
    words = wording.Words(language)
    said = words.say("trips", sentence, about=name, level=level)
    return f"{said} {words.say('trips', 'relaxed')}" if proposed["relaxed"] else said


def advice(trip_id: str, kind: Kind, proposed: Body) -> dict[str, Any]:
    """What a notice says of a proposal, in every language: of a way what it changes and nothing
    of where it leads; of a garage its name, which notices tell of anyway."""
    texts = {
        language: wording.Words(language).say(
            "trips",
            kind,
            name=proposed.get("name", ""),
            difference=difference_of(proposed, language),
        )
        for language in wording.languages()
    }
    return {
        "kind": "trip",
        "trip": trip_id,
        "number": proposed["number"],
        "text": texts["en"],
        "texts": texts,
        "url": f"/plan?trip={trip_id}",
    }
