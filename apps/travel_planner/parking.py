"""Planning where to park: garages near a place, with the walk from them and the drive there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace

from citywise.apps.travel_planner.answers import (
    Json,
    access_object,
    events_on,
    line,
    note,
    place_object,
    steps,
    way_object,
)
from citywise.apps.travel_planner.choosing import Choice, Wanted, choose, conflict_object
from citywise.apps.travel_planner.decisions import Constraint
from citywise.apps.travel_planner.ground import walk_s
from citywise.apps.travel_planner.requests import MOST_RADIUS_M, OF_DRIVE
from citywise.apps.travel_planner.roads import Mode
from citywise.apps.travel_planner.roads.garages import Garage
from citywise.apps.travel_planner.spotted import (
    Errand,
    Spotted,
    garages_near,
    nearest_beyond,
    refusal,
    walked,
)
from citywise.apps.travel_planner.travel import MOST_REJECTED
from citywise.backend.app import times

CRITERIA = ("walk", "cost")
_LIKELY_FULL = 0.3
"""A chance of being full that is worth a word."""


def plan_parking(errand: Errand) -> Json:
    """The answer to a request (docs/api.md); raises `RequestError` for points off all streets."""
    request = errand.request
    drive = OF_DRIVE if request.start else ()
    wanted = Wanted.of(request.constraints, request.preferences, (*CRITERIA, *drive), "walk")
    near = {each.garage.id: each for each in garages_near(errand)}
    refused = {name: why for name, each in near.items() if (why := refusal(errand, each))}
    offered = {name: each.values for name, each in near.items() if name not in refused}
    choice = choose(offered, wanted, errand.words, "garages")
    beyond = None if offered else nearest_beyond(errand)
    return {
        "kind": "parking",
        "now": times.iso(errand.conditions.now_ms),
        "request": request.model_dump(mode="json", by_alias=True),
        "destination": place_object(request.destination, errand.goal, errand.network),
        "from": place_object(request.start, errand.start, errand.network)
        if request.start
        else None,
        "radius_m": request.radius_m,
        **_garages(errand, choice, near, refused),
        **({} if offered else {"conflict": _further(errand, beyond)}),
        "criteria": list(wanted.criteria),
        "notes": [
            *([] if offered else [_none_near(errand, beyond)]),
            *_notes(errand, near.values()),
        ],
        "currency": errand.words.currency,
        "licence": errand.network.licence,
    }


# --- The answer --------------------------------------------------------------------------


def _garages(
    errand: Errand, choice: Choice, near: Mapping[str, Spotted], refused: Mapping[str, Json]
) -> Json:
    names = {name: name for name in near}
    called = {name: each.garage.name for name, each in near.items()}
    offered = [_offered(errand, choice, near[name], names) for name in choice.decision.order]
    others = [_offered(errand, choice, near[name], names) for name in choice.others]
    never = [_never(errand, near[name], why) for name, why in refused.items()]
    return {
        "garages": offered,
        "rejected": [*others, *never][: max(MOST_REJECTED, len(never))],
        "ties": list(choice.decision.ties),
        "conflict": conflict_object(choice, "relaxation_garage", called),
    }


def _further(errand: Errand, beyond: Spotted | None) -> Json | None:
    """That no garage within the radius will do, and the radius in which one would."""
    if beyond is None:
        return None
    asked, words = errand.request, errand.words
    radius = min(math.ceil(beyond.crow_m / 50) * 50, MOST_RADIUS_M)
    limit = Constraint("radius", "<=", asked.radius_m)
    loosened = replace(limit, value=float(radius))
    instead = words.say(
        "conflict", "instead", limit=words.limit(loosened), bound=words.length(asked.radius_m)
    )
    limits = [each.model_dump() for each in asked.constraints]
    return {
        "wishes": [words.limit(limit)],
        "sets": [[words.limit(limit)]],
        "constraints": [[asdict(limit)]],
        "relaxation": words.say(
            "conflict", "relaxation_garage", loosened=instead, option=beyond.garage.name
        ),
        "certain": True,
        "relaxed": [asdict(loosened)],
        "then": {"constraints": limits, "option": beyond.garage.id, "radius_m": radius},
    }


def _offered(errand: Errand, choice: Choice, spotted: Spotted, names: dict[str, str]) -> Json:
    name, garage = spotted.garage.id, spotted.garage
    told = choice.told(name, names)
    why = " ".join([told["why"], *_warnings(errand, garage, spotted.arrive_ms)])
    return {**_garage_object(errand, walked(errand, spotted)), **told, "why": why}


def _never(errand: Errand, spotted: Spotted, why: Json) -> Json:
    reason = {key: value for key, value in why.items() if key != "text"}
    return {
        **_garage_object(errand, spotted),
        "chosen": False,
        "why": why["text"],
        "reasons": [reason],
        "difference": None,
        "best_at": [],
    }


def _warnings(errand: Errand, garage: Garage, arrive_ms: int) -> Iterator[str]:
    expected = garage.expected(arrive_ms)
    if expected is not None and expected.chance_full >= _LIKELY_FULL:
        percent = f"{expected.chance_full * 100:.0f}"
        yield errand.words.say("reasons", "probably_full", percent=percent)
    if garage.stale and garage.age_s is not None:
        age = errand.words.duration(garage.age_s)
        yield errand.words.say("reasons", "old_count", age=age)


def _garage_object(errand: Errand, spotted: Spotted) -> Json:
    garage, driven = spotted.garage, spotted.driven
    walk_m = spotted.walk_m
    return {
        "id": garage.id,
        "name": garage.name,
        "lat": garage.lat,
        "lon": garage.lon,
        "crow_m": round(spotted.crow_m, 1),
        "walk_m": walk_m,
        "walk_s": None if walk_m is None else round(walk_s(walk_m), 1),
        "cost": spotted.cost,
        "price": _price(garage),
        **count_object(garage),
        "open": garage.open_at(spotted.arrive_ms),
        "opens": times.iso_or_none(garage.opens_after(spotted.arrive_ms)),
        "opening_hours": garage.hours,
        "expected": expected_object(garage, spotted.arrive_ms),
        "arrives": times.iso(spotted.arrive_ms),
        "drive_s": driven.time_s if driven else None,
        "drive_m": driven.distance_m if driven else None,
        "pollution": driven.pollution if driven else None,
        "geometry": line(spotted.walk) if spotted.walk else None,
        "drive": _drive_object(errand, spotted),
    }


def count_object(garage: Garage) -> Json:
    """What the last count of a garage says, and how old it is."""
    return {
        "free": garage.free,
        "capacity": garage.capacity,
        "occupied": garage.occupied,
        "overfull": garage.overfull,
        "data_age_s": garage.age_s,
        "observed": times.iso_or_none(garage.observed_ms),
        "stale": garage.stale,
    }


def _price(garage: Garage) -> Json:
    tariff = garage.tariff
    return {
        "per_hour": tariff.per_hour,
        "day_most": tariff.day_most,
        "free_minutes": tariff.free_minutes,
        "currency": tariff.currency,
        "assumed": tariff.assumed,
    }


def expected_object(garage: Garage, arrive_ms: int) -> Json | None:
    """The places likely to be free at a stream time (Unix ms); None where there is no count."""
    found = garage.expected(arrive_ms)
    if found is None:
        return None
    return {
        "free": found.free,
        "low": found.low,
        "high": found.high,
        "chance_full": round(found.chance_full, 3),
        "at": times.iso(arrive_ms),
    }


def _drive_object(errand: Errand, spotted: Spotted) -> Json | None:
    path, driven = spotted.drive, spotted.driven
    if path is None or driven is None:
        return None
    return {
        "geometry": line(path),
        "distance_m": driven.distance_m,
        "time_s": driven.time_s,
        "pollution": driven.pollution,
        "air": driven.air,
        "cost": driven.cost,
        "co2_g": errand.co2_g(Mode.CAR, driven.distance_m),
        "free_flow_s": driven.free_flow_s,
        "basis": dict(driven.basis),
        "access": access_object(errand.access_m, 0.0),
        "steps": steps(path, Mode.CAR, errand.costs),
        "events": events_on(path, Mode.CAR, errand.conditions),
        "way": way_object(path),
    }


def _none_near(errand: Errand, beyond: Spotted | None) -> Json:
    words = errand.words
    radius = words.length(errand.request.radius_m)
    if beyond is None:
        return note(words.say, "no-garage", radius=radius)
    name, metres = beyond.garage.name, words.length(beyond.crow_m)
    return note(words.say, "none-near", radius=radius, name=name, metres=metres)


def _notes(errand: Errand, near: Iterable[Spotted]) -> Iterator[Json]:
    say, found = errand.words.say, list(near)
    assumed = next((each.garage.tariff for each in found if each.garage.tariff.assumed), None)
    if assumed is not None:
        yield note(say, "assumed-price", price=errand.words.money(assumed.per_hour))
    if any(each.garage.stale for each in found):
        yield note(say, "old-counts")
    if errand.request.start is not None:
        yield note(say, "no-turn-restrictions")
        if not errand.costs.air_known:
            yield note(say, "air-unknown")
