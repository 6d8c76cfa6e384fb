"""The conditions of a recorded city at an instant, as they were known then."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from citywise.apps.travel_planner.roads.conditions import Conditions, Costing
from citywise.apps.travel_planner.roads.gathering import Gathering, Readings
from citywise.apps.travel_planner.roads.learned import SLOTS, weeks_of
from citywise.apps.travel_planner.roads.network import F64, I64, RoadNetwork
from citywise.apps.travel_planner.roads.tariffs import ASSUMED, Tariff
from citywise.apps.travel_planner.roads.travel_times import pace
from citywise.backend.city.aarhus import AIR, GARAGES, ROADS, TRAFFIC, Instant, Pack, PackError
from citywise.backend.kinds import builtin

_MINUTE_MS = 60_000
_TRAFFIC_MS = 40 * _MINUTE_MS
_AIR_MS = 180 * _MINUTE_MS
_COLUMNS = ("report_id", "timestamp", "avg_speed_kmh", "vehicle_count")


def recorded(data: Path, network: RoadNetwork, at_ms: int, parking: Tariff = ASSUMED) -> Conditions:
    """What the data pack in a folder tells of the city at a time (Unix milliseconds).

    Nothing of later times counts, and of garages the last count however old. There are no
    events: those are conclusions of the pipeline. Raises `PackError`.
    """
    pack, gathering = Pack(data), Gathering(network, parking, builtin())
    gathering.describe(pack.places())
    counts = [_readings(instant) for instant in pack.parking(0, at_ms)]
    for readings in counts:
        gathering.take(GARAGES, readings)
    weeks = _usual_traffic(pack, network, at_ms) | _usual_counts(counts, at_ms)
    unknown = np.full(SLOTS, np.nan)
    gathering.usual(
        lambda places: np.array([weeks.get(p, unknown) for p in places]).reshape(-1, SLOTS)
    )
    for instant in pack.traffic(at_ms - _TRAFFIC_MS, at_ms):
        gathering.take(ROADS, _readings(instant))
    for instant in pack.air(at_ms - _AIR_MS, at_ms):
        gathering.take(AIR, _readings(instant))
    costing = Costing(gathering.model, gathering.known())
    return Conditions(at_ms, gathering.garages(at_ms), costing)


def _readings(instant: Instant) -> Readings:
    t_ms, readings = instant
    return [(str(reading["sensor"]), t_ms, reading) for reading in readings]


def _usual_counts(counts: Sequence[Readings], at_ms: int) -> dict[str, F64]:
    """The share of each garage's places that was usually taken."""
    rows = [
        (sensor, t_ms, body["occupied"] / body["capacity"])
        for readings in counts
        for sensor, t_ms, body in readings
    ]
    return _weeks(
        np.array([row[0] for row in rows], dtype=np.str_),
        np.array([row[1] for row in rows], dtype=np.int64),
        np.array([row[2] for row in rows], dtype=np.float64),
        at_ms,
    )


def _usual_traffic(pack: Pack, network: RoadNetwork, at_ms: int) -> dict[str, F64]:
    """The time per metre that the roads of a network's sensors usually took."""
    files = sorted(pack.folder.glob(f"{TRAFFIC}*.parquet"))
    table = pa.concat_tables(_with_vehicles(path, at_ms) for path in files)
    sensor, stamp, speed = (table[name].to_numpy() for name in _COLUMNS[:3])
    ids = [int(sensor) for sensor in network.sensors if sensor.isdecimal()]
    watched = np.isin(sensor, ids)
    t_ms = stamp[watched].astype("datetime64[ms]").astype(np.int64)
    return _weeks(sensor[watched], t_ms, pace(speed[watched].astype(np.float64)), at_ms)


def _with_vehicles(path: Path, at_ms: int) -> pa.Table:
    """The readings of a file up to a time in which there were vehicles."""
    until = pa.scalar(at_ms, pa.timestamp("ms"))
    wanted = [("timestamp", "<=", until), ("vehicle_count", ">", 0)]
    try:
        return pq.read_table(path, columns=list(_COLUMNS), filters=wanted)
    except (pa.ArrowException, OSError) as error:
        raise PackError(f"{path}: {error}; restore it from the pack (docs/data.md)") from error


def _weeks(places: npt.NDArray[Any], t_ms: I64, values: F64, at_ms: int) -> dict[str, F64]:
    names, index = np.unique(places, return_inverse=True)
    weeks = weeks_of(len(names), index.astype(np.int64), t_ms, values, at_ms)
    return {str(name): week for name, week in zip(names, weeks, strict=True)}
