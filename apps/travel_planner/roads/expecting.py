"""What roads and garages are expected to be like at a time, and what they usually are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from citywise.apps.travel_planner.roads.conditions import Conditions
from citywise.apps.travel_planner.roads.garages import Garage
from citywise.apps.travel_planner.roads.learned import usual
from citywise.apps.travel_planner.roads.network import F64
from citywise.apps.travel_planner.roads.travel_times import KMH_OF_PACE

Json = dict[str, Any]


def expected(conditions: Conditions, at_ms: int) -> Json:
    """Roads and garages at a stream time from now on, by what is measured now, what is usual then
    and the events that are expected to last."""
    speeds = conditions.costing.model.sensing.speeds_kmh(conditions.costs(at_ms))
    garages = {one.id: _forecast(one, at_ms) for one in conditions.garages}
    standing = conditions.costing.standing(conditions.now_ms, at_ms)
    return {**_told(conditions, speeds, garages), "events": [event.id for event in standing]}


def usually(conditions: Conditions, at_ms: int) -> Json:
    """Roads and garages as they usually are at the hour and weekday of a time."""
    speeds = np.asarray(KMH_OF_PACE / usual(conditions.costing.known.weeks, at_ms))
    garages = {one.id: _usual_places(one, at_ms) for one in conditions.garages}
    return {**_told(conditions, speeds, garages), "events": []}


def _told(conditions: Conditions, speeds: F64, garages: dict[str, Json | None]) -> Json:
    """By the id of each place, where something is known: km/h, and free places."""
    return {
        "roads": dict(_known(conditions.network.sensors, speeds)),
        "garages": {name: found for name, found in garages.items() if found is not None},
    }


def _known(sensors: Iterable[str], speeds: F64) -> Iterable[tuple[str, float]]:
    pairs = zip(sensors, speeds.tolist(), strict=True)
    return ((sensor, round(kmh, 1)) for sensor, kmh in pairs if not np.isnan(kmh))


def _forecast(garage: Garage, at_ms: int) -> Json | None:
    """An old count says something only where it is known how full the garage usually is."""
    found = None if garage.stale and not garage.week else garage.expected(at_ms)
    if found is None:
        return None
    return {
        "free": found.free,
        "capacity": garage.capacity,
        "low": found.low,
        "high": found.high,
    }


def _usual_places(garage: Garage, at_ms: int) -> Json | None:
    if not garage.week or garage.capacity is None:
        return None
    taken = float(usual(np.array(garage.week), at_ms))
    if np.isnan(taken):
        return None
    return {"free": max(0, round(garage.capacity * (1 - taken))), "capacity": garage.capacity}
