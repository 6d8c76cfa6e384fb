"""Reading the Aarhus pack: places and readings, with the decisions its quirks ask for.

Every decision is in docs/decisions/aarhus-data.md. Readings come as (Unix milliseconds,
JSON objects) in order of time, a few thousand rows in memory at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain, groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from citywise.backend.city.steps import Reading, SourceError, Table
from citywise.backend.ingest.payloads import LineString, Place, Point
from citywise.backend.times import ZONE, iso

COPENHAGEN = ZoneInfo(ZONE)
WEATHER_STATION = "aarhus-weather"
CITY_CENTRE = (10.2039, 56.1572)
MOTORWAY_LIMIT_KMH = 130
REPEATED_WITHIN = timedelta(minutes=5)

ROADS, GARAGES, AIR = "traffic", "parking", "air"
"""Kinds of the readings that planners use."""
TRAFFIC = "traffic_observations_"
PARKING = "parking_observations_"
WEATHER = "weather_"
AIR_5MIN = "pollution_5min_"
AIR_HOURLY = "pollution_hourly_"
POLLUTANTS = {
    "ozone": "ozone",
    "particullate_matter": "particulate_matter",
    "carbon_monoxide": "carbon_monoxide",
    "sulfure_dioxide": "sulfur_dioxide",
    "nitrogen_dioxide": "nitrogen_dioxide",
}

Instant = tuple[int, Sequence[Reading]]


class PackError(SourceError):
    """A file of the data pack is missing or broken; names file, column and row."""


class Pack:
    """The Aarhus data pack in a folder (its parent will do).

    `traffic`, `parking`, `weather` and `air` yield the readings between two instants
    (Unix milliseconds, both included).
    """

    def __init__(self, path: Path) -> None:
        folder = path / "citybench" if (path / "citybench").is_dir() else path
        if not any(folder.glob(f"{TRAFFIC}*.parquet")):
            raise PackError(
                f"{folder}: no {TRAFFIC}*.parquet here; give the folder of the data pack with "
                "--data or CITYWISE_DATA (docs/data.md shows its layout), or leave --data out "
                "to run the simulated city"
            )
        self.folder = folder

    def span(self) -> tuple[int, int]:
        """First and last instant of the traffic observations."""
        spans = [_parquet_span(path) for path in self._files(TRAFFIC, "parquet")]
        return min(first for first, _ in spans), max(last for _, last in spans)

    def places(self) -> list[Place]:
        """Road segments, garages and the weather station."""
        segments = read_csv(self.folder / "traffic_metadata.csv", SEGMENT_COLUMNS)
        garages = read_csv(self.folder / "parking_metadata.csv", GARAGE_COLUMNS)
        measures_air = bool(self._air_files())
        places = [_segment(row, measures_air) for row in segments.to_pylist()]
        places += [_garage(row) for row in garages.to_pylist()]
        if self._files(WEATHER, "csv"):
            places.append(_weather_station())
        return places

    def traffic(self, begin: int, until: int) -> Iterator[Instant]:
        """Speed and count of the road segments; the files' times are UTC."""
        files = self._files(TRAFFIC, "parquet")
        return _merged(_parquet_instants(path, TRAFFIC_FIELDS, begin, until) for path in files)

    def parking(self, begin: int, until: int) -> Iterator[Instant]:
        """Occupied places of the garages; the files' times are Danish local time."""
        tables = [read_csv(path, PARKING_COLUMNS) for path in self._files(PARKING, "csv")]
        return _merged(_between(_parking_instants(table), begin, until) for table in tables)

    def weather(self, begin: int, until: int) -> Iterator[Instant]:
        """Weather of the city; the files' times are Danish local time."""
        tables = [read_csv(path, WEATHER_COLUMNS) for path in self._files(WEATHER, "csv")]
        return _merged(_between(_weather_instants(table), begin, until) for table in tables)

    def air(self, begin: int, until: int) -> Iterator[Instant]:
        """Air quality at the segments (UTC): every 5 minutes where there is such a file,
        otherwise every hour."""
        fine = self._files(AIR_5MIN, "parquet")
        covered = [_parquet_span(path) for path in fine]
        streams = [_parquet_instants(path, POLLUTANTS, begin, until) for path in self._air_files()]
        hourly = (_outside(stream, covered) for stream in streams[len(fine) :])
        return _merged([*streams[: len(fine)], *hourly])

    def _air_files(self) -> list[Path]:
        return self._files(AIR_5MIN, "parquet") + self._files(AIR_HOURLY, "parquet")

    def _files(self, prefix: str, kind: str) -> list[Path]:
        return sorted(self.folder.glob(f"{prefix}*.{kind}*"))


SEGMENT_COLUMNS = {
    "REPORT_ID": pa.int64(),
    "DISTANCE_IN_METERS": pa.float64(),
    "NDT_IN_KMH": pa.float64(),
} | {
    f"POINT_{end}_{name}": kind
    for end in (1, 2)
    for name, kind in {
        "NAME": pa.string(),
        "STREET": pa.string(),
        "CITY": pa.string(),
        "LAT": pa.float64(),
        "LNG": pa.float64(),
    }.items()
}
GARAGE_COLUMNS = {
    "garagecode": pa.string(),
    "street": pa.string(),
    "housenumber": pa.string(),
    "latitude": pa.float64(),
    "longitude": pa.float64(),
    "totalspaces": pa.int64(),
}
PARKING_COLUMNS = {
    "garagecode": pa.string(),
    "updatetime": pa.timestamp("ms"),
    "vehiclecount": pa.int64(),
    "totalspaces": pa.int64(),
    "observation_id": pa.int64(),
}
WEATHER_COLUMNS = {
    "timestamp": pa.timestamp("ms"),
    "temperature_c": pa.float64(),
    "humidity_pct": pa.float64(),
    "wind_speed_kmh": pa.float64(),
}


def utc_ms(local: datetime, fold: int = 0) -> int:
    """Unix milliseconds of a Danish local time; `fold` 1 is an hour's second pass."""
    return round(local.replace(tzinfo=COPENHAGEN, fold=fold).timestamp() * 1000)


def folds(times: Iterable[datetime]) -> Iterator[int]:
    """Which pass of the repeated hour each local time of one garage belongs to.

    The times are in the order they were recorded. The second pass begins where a time
    of the repeated hour does not come after the one before it, by at least 5 minutes.
    """
    previous: datetime | None = None
    fold = 0
    for time in times:
        if utc_ms(time, 0) == utc_ms(time, 1):
            previous, fold = None, 0
        else:
            if previous is not None and time - previous < REPEATED_WITHIN:
                fold = 1
            previous = time
        yield fold


def _segment(row: Mapping[str, Any], measures_air: bool) -> Place:
    free_flow = row["NDT_IN_KMH"]
    return Place(
        id=str(row["REPORT_ID"]),
        kind="road",
        name=segment_name(row),
        geometry=LineString(
            coordinates=[(row[f"POINT_{end}_LNG"], row[f"POINT_{end}_LAT"]) for end in (1, 2)]
        ),
        sensors=("traffic", "air") if measures_air else ("traffic",),
        length_m=row["DISTANCE_IN_METERS"],
        free_flow_kmh=free_flow if 0 < free_flow <= MOTORWAY_LIMIT_KMH else None,
    )


def segment_name(row: Mapping[str, Any]) -> str:
    """A road segment's name from the streets, towns and junctions at its two ends."""
    first, second = (_street(row, end) for end in (1, 2))
    towns = [row[f"POINT_{end}_CITY"] or "" for end in (1, 2)]
    if towns[0] != towns[1]:
        where = f"{first}, {towns[0]} → {second}, {towns[1]}"
    elif first != second:
        where = f"{first} → {second}, {towns[0]}"
    else:
        where = f"{first}, {towns[0]}"
    return f"{where}: {row['POINT_1_NAME']} → {row['POINT_2_NAME']}"


def _street(row: Mapping[str, Any], end: int) -> str:
    street = row[f"POINT_{end}_STREET"] or ""
    if street.isdigit():
        return f"Rute {street}"
    return street or f"Kryds {row[f'POINT_{end}_NAME']}"


def _garage(row: Mapping[str, Any]) -> Place:
    number = (row["housenumber"] or "").removesuffix(".0")
    address = f"{row['street'] or ''} {number}".strip()
    name = row["garagecode"].capitalize()
    plain = (row["street"] or "").casefold().replace("æ", "ae")
    return Place(
        id=row["garagecode"],
        kind="garage",
        name=address if plain == name.casefold() else f"{name}, {address}".removesuffix(", "),
        geometry=Point(coordinates=(row["longitude"], row["latitude"])),
        sensors=("parking",),
        capacity=row["totalspaces"],
    )


def _weather_station() -> Place:
    return Place(
        id=WEATHER_STATION,
        kind="weather_station",
        name="Aarhus",
        geometry=Point(coordinates=CITY_CENTRE),
        sensors=("weather",),
    )


TRAFFIC_FIELDS = {"avg_speed_kmh": "speed_kmh", "vehicle_count": "vehicle_count"}


def _parking_instants(table: pa.Table) -> Iterator[Instant]:
    rows = table.sort_by([("garagecode", "ascending"), ("observation_id", "ascending")])
    timed: list[tuple[int, Reading]] = []
    for _, group in groupby(rows.to_pylist(), key=itemgetter("garagecode")):
        records = list(group)
        for row, fold in zip(records, folds(r["updatetime"] for r in records), strict=True):
            ms = utc_ms(row["updatetime"], fold)
            timed.append((ms, _parking_reading(row, ms)))
    return _by_instant(timed)


def _parking_reading(row: Mapping[str, Any], ms: int) -> Reading:
    return {
        "sensor": row["garagecode"],
        "observed_at": iso(ms),
        "occupied": row["vehiclecount"],
        "capacity": row["totalspaces"],
    }


def _weather_instants(table: pa.Table) -> Iterator[Instant]:
    timed: list[tuple[int, Reading]] = []
    for row in table.to_pylist():
        ms = utc_ms(row["timestamp"])
        values: Reading = {
            "temperature_c": row["temperature_c"],
            "humidity_pct": row["humidity_pct"],
            "wind_kmh": row["wind_speed_kmh"],
        }
        if any(value is not None for value in values.values()):
            timed.append((ms, {"sensor": WEATHER_STATION, "observed_at": iso(ms), **values}))
    return _by_instant(timed)


def _by_instant(timed: list[tuple[int, Reading]]) -> Iterator[Instant]:
    timed.sort(key=itemgetter(0))
    for ms, group in groupby(timed, key=itemgetter(0)):
        yield ms, [reading for _, reading in group]


def _between(instants: Iterable[Instant], begin: int, until: int) -> Iterator[Instant]:
    return (instant for instant in instants if begin <= instant[0] <= until)


def _outside(instants: Iterable[Instant], spans: list[tuple[int, int]]) -> Iterator[Instant]:
    for instant in instants:
        if not any(first <= instant[0] <= last for first, last in spans):
            yield instant


def _merged(streams: Iterable[Iterator[Instant]]) -> Iterator[Instant]:
    """One stream of several; of repeated readings of a sensor at an instant the first."""
    merged = heapq.merge(*streams, key=itemgetter(0))
    for ms, group in groupby(merged, key=itemgetter(0)):
        first, *others = (readings for _, readings in group)
        yield ms, _distinct([*first, *chain(*others)] if others else first)


def _distinct(readings: Sequence[Reading]) -> Sequence[Reading]:
    if isinstance(readings, Table) and len(set(readings.sensors)) == len(readings):
        return readings
    if len({reading["sensor"] for reading in readings}) == len(readings):
        return readings
    seen: dict[object, Reading] = {}
    for reading in readings:
        seen.setdefault(reading["sensor"], reading)
    return list(seen.values())


def read_csv(path: Path, types: Mapping[str, pa.DataType]) -> pa.Table:
    """The columns of a CSV file; raises `PackError`, which names the file and the row."""
    convert = pacsv.ConvertOptions(
        column_types=types, include_columns=list(types), strings_can_be_null=True
    )
    try:
        # One thread, because only then does an error name its row.
        read = pacsv.ReadOptions(use_threads=False)
        return pacsv.read_csv(path, read_options=read, convert_options=convert)
    except FileNotFoundError as error:
        raise PackError(f"{path}: this file of the data pack is missing; {RESTORE}") from error
    except (pa.ArrowException, OSError, EOFError) as error:
        wanted = ", ".join(f"{name} ({kind})" for name, kind in types.items())
        raise PackError(f"{path}: {error}; expected the columns {wanted}; {RESTORE}") from error


RESTORE = "restore it from the pack (docs/data.md shows the layout)"


def _open_parquet(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise PackError(f"{path}: not a readable Parquet file: {error}; {RESTORE}") from error


def _parquet_span(path: Path) -> tuple[int, int]:
    file = _open_parquet(path)
    spans = [_row_group_span(path, file, index) for index in range(file.num_row_groups)]
    if not spans:
        raise PackError(f"{path}: the file has no rows; {RESTORE}")
    return min(first for first, _ in spans), max(last for _, last in spans)


def _row_group_span(path: Path, file: pq.ParquetFile, index: int) -> tuple[int, int]:
    _require(path, file, ["timestamp"])
    column = file.schema_arrow.get_field_index("timestamp")
    statistics = file.metadata.row_group(index).column(column).statistics
    if statistics is not None and statistics.has_min_max:
        return _stamp(statistics.min), _stamp(statistics.max)
    times = _milliseconds(path, file.read_row_group(index, ["timestamp"])["timestamp"], 0)
    return int(times.min()), int(times.max())


def _stamp(time: datetime) -> int:
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def _require(path: Path, file: pq.ParquetFile, columns: Sequence[str]) -> None:
    for column in columns:
        if column not in file.schema_arrow.names:
            found = ", ".join(file.schema_arrow.names)
            raise PackError(f"{path}: column {column} is missing (found: {found}); {RESTORE}")


def _milliseconds(path: Path, times: Any, row: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    if times.null_count:
        row += int(np.flatnonzero(times.is_null().to_numpy(zero_copy_only=False))[0])
        raise PackError(f"{path}: column timestamp, row {row}: no time; {RESTORE}")
    try:
        stamps = pc.cast(times, pa.timestamp("ms"), safe=False)
    except pa.ArrowException as error:
        raise PackError(f"{path}: column timestamp: {error}; {RESTORE}") from error
    return np.asarray(pc.cast(stamps, pa.int64()).to_numpy(zero_copy_only=False))


def _parquet_instants(
    path: Path, fields: Mapping[str, str], begin: int, until: int
) -> Iterator[Instant]:
    """The readings of a file; `fields` are its columns with the names that they have with us."""
    file, columns = _open_parquet(path), ["report_id", "timestamp", *fields]
    _require(path, file, columns)
    for ms, table in _slices(path, _record_batches(path, file, columns, begin, until)):
        if begin <= ms <= until:
            # Not the times, which are all the same: as Python's they cost as much as the rest.
            sensors = list(map(str, _plain(table["report_id"])))
            values = {field: _plain(table[name]) for name, field in fields.items()}
            yield ms, Table(sensors, iso(ms), values)


def _record_batches(
    path: Path, file: pq.ParquetFile, columns: Sequence[str], begin: int, until: int
) -> Iterator[tuple[int, pa.Table]]:
    """Tables with the number of their first row, of the row groups that are needed."""
    row = 0
    for index in range(file.num_row_groups):
        first, last = _row_group_span(path, file, index)
        if last >= begin and first <= until:
            at = row
            for batch in file.iter_batches(32768, row_groups=[index], columns=columns):
                yield at, pa.Table.from_batches([batch])
                at += batch.num_rows
        row += file.metadata.row_group(index).num_rows


def _slices(path: Path, tables: Iterable[tuple[int, pa.Table]]) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each instant; raises `PackError` where the times are not in order."""
    rest: pa.Table | None = None
    for row, part in tables:
        table = part if rest is None else pa.concat_tables([rest, part])
        row -= 0 if rest is None else rest.num_rows
        times = _milliseconds(path, table["timestamp"], row)
        changes = np.flatnonzero(np.diff(times))
        if back := [at for at in changes.tolist() if times[at + 1] < times[at]]:
            raise PackError(
                f"{path}: column timestamp, row {row + back[0] + 1}: earlier than the row "
                "before it; sort the file by timestamp"
            )
        cuts = [0, *(changes + 1).tolist()]
        for start, end in pairwise(cuts):
            yield int(times[start]), table.slice(start, end - start)
        rest = table.slice(cuts[-1])
    if rest is not None:
        yield int(_milliseconds(path, rest["timestamp"], 0)[0]), rest


def _plain(column: pa.ChunkedArray) -> list[Any]:
    if column.null_count or pa.types.is_temporal(column.type):
        return list(column.to_pylist())
    return list(column.to_numpy().tolist())
