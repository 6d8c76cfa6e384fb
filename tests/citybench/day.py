"""What CityBench's services recorded on a day, from the pack's real data."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from citywise.backend.city.aarhus import POLLUTANTS, Instant, Pack
from citywise.backend.city.steps import Reading

SLOT = timedelta(minutes=5)
SLOTS = 288

Position = tuple[float, float]
"""Latitude and longitude."""
Values = dict[str, int | float | Position]
"""What a record says: class of property (its local name) → value, as CityBench has it."""
Records = list[tuple[int, Values]]
"""Slots of the day (UTC) with what was recorded in them, in order of time."""


class Day:
    """The records of one day, UTC, of the pack's folder `citybench`; files are read once."""

    def __init__(self, folder: Path, day: date) -> None:
        self.begin = datetime.combine(day, time(), UTC)
        self._folder = folder
        self._pack = Pack(folder)
        milliseconds = int(self.begin.timestamp()) * 1000
        self._span = milliseconds, milliseconds + SLOTS * _milliseconds(SLOT) - 1

    def of(self, service: str) -> Records:
        """What a service (its local name) recorded."""
        kind, _, sensor = service.partition("Data")
        if kind == "AarhusTraffic":
            length = self._lengths[int(sensor)]
            return [(slot, _road(row, length)) for slot, row in self._rows(self._roads, sensor)]
        if kind == "AarhusPollution":
            return [(slot, _index(row)) for slot, row in self._rows(self._air, sensor)]
        if kind == "AarhusParking":
            return [(slot, _vacancy(r)) for slot, r in self._parking if r["sensor"] == sensor]
        if kind == "AarhusWeather":
            return [(slot, _weather(reading)) for slot, reading in self._weather]
        if kind == "UserLocationService":
            return self._user
        raise LookupError(service)

    # -- what has a sensor and times in UTC -------------------------------------------

    def _rows(self, table: pa.Table, sensor: str) -> Iterator[tuple[int, dict[str, Any]]]:
        first = self.begin.replace(tzinfo=None)
        for row in table.filter(pc.field("report_id") == int(sensor)).to_pylist():
            yield (row["timestamp"] - first) // SLOT, row

    @cached_property
    def _roads(self) -> pa.Table:
        return self._table("traffic_observations_*.parquet")

    @cached_property
    def _air(self) -> pa.Table:
        return self._table("pollution_5min_*.parquet")

    def _table(self, pattern: str) -> pa.Table:
        first = self.begin.replace(tzinfo=None)
        chosen = [("timestamp", ">=", first), ("timestamp", "<", first + SLOTS * SLOT)]
        files = sorted(self._folder.glob(pattern))
        return pa.concat_tables(pq.read_table(path, filters=chosen) for path in files)

    @cached_property
    def _lengths(self) -> dict[int, int]:
        """Metres of each road."""
        with (self._folder / "traffic_metadata.csv").open(encoding="utf-8") as file:
            rows = csv.DictReader(file)
            return {int(row["REPORT_ID"]): int(row["DISTANCE_IN_METERS"]) for row in rows}

    # -- what the pack has in local time, or without times ---------------------------

    @cached_property
    def _parking(self) -> list[tuple[int, Reading]]:
        return list(self._by_slot(self._pack.parking(*self._span)))

    @cached_property
    def _weather(self) -> list[tuple[int, Reading]]:
        return list(self._by_slot(self._pack.weather(*self._span)))

    def _by_slot(self, instants: Iterable[Instant]) -> Iterator[tuple[int, Reading]]:
        for milliseconds, readings in instants:
            for reading in readings:
                yield (milliseconds - self._span[0]) // _milliseconds(SLOT), reading

    @cached_property
    def _user(self) -> Records:
        """The user's track has no times: one position a slot, over and over."""
        with (self._folder / "user_location_track.csv").open(encoding="utf-8") as file:
            track = [(float(r["latitude"]), float(r["longitude"])) for r in csv.DictReader(file)]
        return [(slot, {"Location": track[slot % len(track)]}) for slot in range(SLOTS)]


def _road(row: Mapping[str, int], length: int) -> Values:
    """CityBench divides metres by km/h as they are, and has -1 where nothing moves."""
    speed, count = row["avg_speed_kmh"], row["vehicle_count"]
    return {
        "AvgSpeed": speed,
        "VehicleCount": count,
        "MeasureTime": row["avg_measured_time_s"],
        "EstimatedTime": length / speed if speed else -1.0,
        "CongestionLevel": count / length,
    }


def _index(row: Mapping[str, int]) -> Values:
    return {"API": max(row[pollutant] for pollutant in POLLUTANTS)}


def _vacancy(reading: Reading) -> Values:
    capacity, occupied = reading["capacity"], reading["occupied"]
    assert isinstance(capacity, int)
    assert isinstance(occupied, int)
    return {"ParkingVacancy": capacity - occupied}


def _weather(reading: Reading) -> Values:
    names = {"Temperature": "temperature_c", "Humidity": "humidity_pct", "WindSpeed": "wind_kmh"}
    measured = {name: reading[field] for name, field in names.items()}
    return {name: float(value) for name, value in measured.items() if value is not None}


def _milliseconds(time: timedelta) -> int:
    return time // timedelta(milliseconds=1)
