"""The decisions about the Aarhus pack's quirks (docs/decisions/aarhus-data.md)."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from citywise.backend.city.aarhus import Instant, Pack, PackError, folds, segment_name, utc_ms
from citywise.backend.city.replay import Replay
from citywise.backend.city.steps import Reading, Step
from citywise.backend.times import to_ms

if TYPE_CHECKING:
    from tests.city.conftest import PackBuilder

FIRST, LAST = to_ms(datetime(2014, 1, 1, tzinfo=UTC)), to_ms(datetime(2015, 12, 31, tzinfo=UTC))
NOON = "2014-08-05T12:00:00"


def _readings(instants: Iterator[Instant]) -> list[Reading]:
    return [reading for _, readings in instants for reading in readings]


def _day(pack: Path, kind: Any, start: datetime, **more: Any) -> Iterator[Step]:
    until = start + timedelta(days=1) - timedelta(seconds=1)
    return Replay(pack, start, until, timedelta(0), (kind,), **more).steps()


def test_traffic_times_are_utc(small_pack: PackBuilder) -> None:
    small_pack.traffic([(11, "2014-08-05T07:00:00", 50, 3)])
    (reading,) = _readings(Pack(small_pack.root).traffic(FIRST, LAST))
    assert reading == {
        "sensor": "11",
        "observed_at": "2014-08-05T07:00:00Z",
        "speed_kmh": 50,
        "vehicle_count": 3,
    }


def test_parking_times_are_danish_local_time(small_pack: PackBuilder) -> None:
    """A record at 09:00 in August is 07:00 UTC, one at 09:00 in November 08:00 UTC."""
    small_pack.traffic([(11, NOON, 50, 3)])
    small_pack.parking(
        [
            ("BRUUNS", "2014-08-05 09:00:00.125", 10, 953, 1),
            ("BRUUNS", "2014-11-05 09:00:00", 11, 953, 2),
        ]
    )
    times = [r["observed_at"] for r in _readings(Pack(small_pack.root).parking(FIRST, LAST))]
    assert times == ["2014-08-05T07:00:00.125Z", "2014-11-05T08:00:00Z"]


def test_weather_times_are_danish_local_time(small_pack: PackBuilder) -> None:
    small_pack.traffic([(11, NOON, 50, 3)])
    small_pack.weather(["2014-08-01T00:20:00,18.0,56.0,7.4"])
    (reading,) = _readings(Pack(small_pack.root).weather(FIRST, LAST))
    assert reading["observed_at"] == "2014-07-31T22:20:00Z"
    assert (reading["temperature_c"], reading["humidity_pct"], reading["wind_kmh"]) == (18, 56, 7.4)


def test_the_repeated_october_hour_follows_the_order_of_recording(
    small_pack: PackBuilder,
) -> None:
    """The file is sorted by local time, so both passes interleave; the ids tell them apart."""
    small_pack.traffic([(11, NOON, 50, 3)])
    rows = [
        ("BRUUNS", "2014-10-26 01:31:49.9", 1, 953, 101),
        ("BRUUNS", "2014-10-26 02:01:49.8", 4, 953, 104),
        ("BRUUNS", "2014-10-26 02:01:49.9", 2, 953, 102),
        ("BRUUNS", "2014-10-26 02:31:49.7", 3, 953, 103),
        ("BRUUNS", "2014-10-26 02:31:49.9", 5, 953, 105),
        ("BRUUNS", "2014-10-26 03:01:49.9", 6, 953, 106),
    ]
    small_pack.parking(rows)
    readings = _readings(Pack(small_pack.root).parking(FIRST, LAST))
    assert [r["occupied"] for r in readings] == [1, 2, 3, 4, 5, 6]
    assert [str(r["observed_at"])[11:16] for r in readings] == [
        "23:31",
        "00:01",
        "00:31",
        "01:01",
        "01:31",
        "02:01",
    ]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (["01:50", "02:10", "02:40", "02:10", "02:40", "03:10"], [0, 0, 0, 1, 1, 0]),
        (["02:10", "02:11"], [0, 1]),
        (["02:10", "02:40", "03:10"], [0, 0, 0]),
        (["02:40", "02:10"], [0, 1]),
        (["01:10", "01:05"], [0, 0]),
    ],
)
def test_the_second_pass_begins_where_time_does_not_go_on(
    times: list[str], expected: list[int]
) -> None:
    """Within the repeated hour only; elsewhere a clock that was set back changes nothing."""
    assert list(folds(datetime.fromisoformat(f"2014-10-26T{t}") for t in times)) == expected


def test_an_hour_that_spring_skips_is_read_with_winter_time() -> None:
    assert utc_ms(datetime.fromisoformat("2015-03-29T02:30")) == to_ms(
        datetime(2015, 3, 29, 1, 30, tzinfo=UTC)
    )


def test_a_repeated_reading_is_sent_once(small_pack: PackBuilder) -> None:
    """Of several with the same sensor and time the first in the file counts."""
    small_pack.traffic([(11, NOON, 50, 3), (12, NOON, 40, 1), (11, NOON, 60, 9)])
    readings = _readings(Pack(small_pack.root).traffic(FIRST, LAST))
    assert [(r["sensor"], r["speed_kmh"]) for r in readings] == [("11", 50), ("12", 40)]


def test_counts_above_the_capacity_are_facts(small_pack: PackBuilder) -> None:
    small_pack.traffic([(11, NOON, 50, 3)])
    small_pack.parking([("NORREPORT", "2014-08-05 09:00:00", 1464, 65, 1)])
    (reading,) = _readings(Pack(small_pack.root).parking(FIRST, LAST))
    assert (reading["occupied"], reading["capacity"]) == (1464, 65)


def test_a_stale_speed_is_sent_with_its_count_of_zero(small_pack: PackBuilder) -> None:
    small_pack.traffic([(11, NOON, 41, 0)])
    (reading,) = _readings(Pack(small_pack.root).traffic(FIRST, LAST))
    assert (reading["speed_kmh"], reading["vehicle_count"]) == (41, 0)


def test_missing_weather_values_are_null_and_empty_records_are_left_out(
    small_pack: PackBuilder,
) -> None:
    small_pack.traffic([(11, NOON, 50, 3)])
    small_pack.weather(["2014-08-27T05:00:00,,,", "2014-08-31T05:00:00,14.0,86.0,"])
    (reading,) = _readings(Pack(small_pack.root).weather(FIRST, LAST))
    assert (reading["temperature_c"], reading["wind_kmh"]) == (14.0, None)


def test_readings_every_five_minutes_replace_the_hourly_ones(small_pack: PackBuilder) -> None:
    small_pack.traffic([(11, NOON, 50, 3)])
    small_pack.air(
        "pollution_hourly_x.parquet",
        [(11, "2014-08-05T12:00:00", 1), (11, "2014-08-05T13:00:00", 2)],
    )
    small_pack.air(
        "pollution_5min_x.parquet",
        [(11, "2014-08-05T11:55:00", 3), (11, "2014-08-05T12:00:00", 4)],
    )
    readings = _readings(Pack(small_pack.root).air(FIRST, LAST))
    assert [r["ozone"] for r in readings] == [3, 4, 2]
    assert set(readings[0]) >= {"particulate_matter", "sulfur_dioxide"}


def test_several_files_of_one_kind_are_one_stream(small_pack: PackBuilder) -> None:
    """Whatever their names say, in order of time, and also where they overlap."""
    small_pack.traffic([(11, "2014-08-05T12:05:00", 2, 0)], "traffic_observations_a.parquet")
    small_pack.traffic(
        [(11, NOON, 1, 0), (12, "2014-08-05T12:05:00", 3, 0), (11, "2014-08-05T12:05:00", 9, 0)],
        "traffic_observations_b.parquet",
    )
    instants = list(Pack(small_pack.root).traffic(FIRST, LAST))
    assert [[r["speed_kmh"] for r in readings] for _, readings in instants] == [[1], [2, 3]]


def test_a_segment_is_named_by_its_streets_towns_and_junctions(small_pack: PackBuilder) -> None:
    small_pack.traffic([(11, NOON, 50, 3)])
    first, second, *_ = Pack(small_pack.root).places()
    assert first.name == "Århusvej, Hinnerup: 4320 → 4322"
    assert second.name == "Århusvej, Hinnerup → Rute 15, Tilst: 4322 → 4321"


def test_a_segment_without_a_street_is_named_by_its_junction() -> None:
    ends = {f"POINT_{n}_{k}": v for n in (1, 2) for k, v in (("STREET", None), ("CITY", "Ega"))}
    name = segment_name({**ends, "POINT_1_NAME": "1", "POINT_2_NAME": "2"})
    assert name == "Kryds 1 → Kryds 2, Ega: 1 → 2"


def test_an_implausible_free_flow_speed_is_unknown(small_pack: PackBuilder) -> None:
    small_pack.traffic([(11, NOON, 50, 3)])
    plausible, implausible, *_ = Pack(small_pack.root).places()
    assert (plausible.free_flow_kmh, implausible.free_flow_kmh) == (71, None)


def _no_traffic(pack: PackBuilder) -> None:
    (pack.folder / "traffic_observations_2014-08-04_2014-08-31.parquet").unlink()


def _no_metadata(pack: PackBuilder) -> None:
    (pack.folder / "parking_metadata.csv").unlink()


def _no_such_column(pack: PackBuilder) -> None:
    pack.traffic([(11, NOON, 50, 3)], drop="vehicle_count")


def _not_parquet(pack: PackBuilder) -> None:
    pack.text("traffic_observations_2014-08-04_2014-08-31.parquet", "what?")


def _out_of_order(pack: PackBuilder) -> None:
    pack.traffic([(11, NOON, 5, 3), (12, NOON, 5, 3), (11, "2014-08-05T11:00:00", 5, 3)])


def _no_time(pack: PackBuilder) -> None:
    pack.traffic([(11, NOON, 5, 3), (11, None, 5, 3)])


def _not_a_number(pack: PackBuilder) -> None:
    pack.parking([("BRUUNS", "2014-08-05 09:00:00", 1, 953, 1)])
    path = pack.folder / "parking_observations_2014.csv"
    path.write_text(path.read_text() + "BRUUNS,2014-08-05 09:30:00,many,953,2,x\n")


def _not_a_time(pack: PackBuilder) -> None:
    pack.weather(["yesterday,1,2,3"])


def _not_gzip(pack: PackBuilder) -> None:
    pack.text("weather_2014-08.csv.gz", "timestamp,temperature_c")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_no_traffic, ["no traffic_observations_*.parquet", "--data"]),
        (_no_metadata, ["parking_metadata.csv", "missing"]),
        (_no_such_column, ["traffic_observations", "column vehicle_count is missing"]),
        (_not_parquet, ["traffic_observations", "not a readable Parquet file"]),
        (_out_of_order, ["column timestamp, row 2", "sort the file"]),
        (_no_time, ["column timestamp, row 1", "no time"]),
        (_not_a_number, ["parking_observations_2014.csv", "vehiclecount", "many", "#3"]),
        (_not_a_time, ["weather_2014-08.csv", "timestamp", "yesterday"]),
        (_not_gzip, ["weather_2014-08.csv.gz"]),
    ],
)
def test_a_broken_pack_is_refused_by_file_column_and_row(
    small_pack: PackBuilder, damage: Callable[[PackBuilder], None], words: list[str]
) -> None:
    small_pack.traffic([(11, NOON, 50, 3)])
    damage(small_pack)
    with pytest.raises(PackError) as error:
        _read_all(small_pack.root)
    for word in words:
        assert word in str(error.value)


def _read_all(root: Path) -> None:
    pack = Pack(root)
    pack.places()
    for read in (pack.traffic, pack.parking, pack.weather, pack.air):
        _readings(read(FIRST, LAST))


def test_the_packs_garages_fill_in_the_morning_of_local_time(pack: Path) -> None:
    """Scandcenter's fullest reading of a workday lies between 09 and 15 local time."""
    steps = _day(pack, "parking", datetime(2014, 8, 5, tzinfo=UTC))
    readings = [r for s in steps for b in s.batches for r in b.readings]
    centre = [r for r in readings if r["sensor"] == "SCANDCENTER"]
    fullest = max(centre, key=lambda r: r["occupied"])  # type: ignore[arg-type,return-value]
    assert "07:00" <= str(fullest["observed_at"])[11:16] <= "13:00"


def test_a_day_of_the_pack_is_whole(pack: Path) -> None:
    """115,497 observations on 2014-08-05, in steps of strictly growing time."""
    steps = list(_day(pack, "traffic", datetime(2014, 8, 5, tzinfo=UTC)))
    assert sum(len(b.readings) for s in steps for b in s.batches) == 115_497
    assert all(a.ms < b.ms for a, b in pairwise(steps))


def test_every_reading_of_the_pack_has_a_place(pack: Path) -> None:
    replay = Replay(
        pack, datetime(2014, 8, 5, 10, tzinfo=UTC), datetime(2014, 8, 5, 11, tzinfo=UTC)
    )
    known = {(place.id, kind) for place in replay.places() for kind in place.sensors}
    sent = {(r["sensor"], b.kind) for s in replay.steps() for b in s.batches for r in b.readings}
    assert sent <= known
    assert {kind for _, kind in sent} == {"traffic", "parking", "weather", "air"}


def _episodes(
    steps: Iterator[Step], verdict: Callable[[Reading], bool | None]
) -> set[tuple[str, int, int | None]]:
    """(sensor, start, end) where a verdict turned true and false; None keeps the state."""
    opened: dict[str, int] = {}
    found: set[tuple[str, int, int | None]] = set()
    for step in steps:
        for reading in (r for b in step.batches for r in b.readings):
            sensor, now = str(reading["sensor"]), verdict(reading)
            if now:
                opened.setdefault(sensor, step.ms)
            elif now is False and sensor in opened:
                found.add((sensor, opened.pop(sensor), step.ms))
    return found | {(sensor, start, None) for sensor, start in opened.items()}


def _derived(path: Path, columns: tuple[str, str, str], local: bool) -> set[Any]:
    def ms(text: str) -> int | None:
        if not text:
            return None
        time = datetime.fromisoformat(text)
        return utc_ms(time) if local else to_ms(time.replace(tzinfo=UTC))

    with gzip.open(path, "rt", encoding="utf-8") as file:
        return {
            (row[columns[0]], ms(row[columns[1]]), ms(row[columns[2]]))
            for row in csv.DictReader(file)
        }


def _jammed(reading: Reading) -> bool | None:
    speed, count = reading["speed_kmh"], reading["vehicle_count"]
    assert isinstance(speed, int)
    assert isinstance(count, int)
    if speed <= 35 and count >= 10:
        return True
    return False if speed > 35 and count < 10 else None


@pytest.mark.long
def test_the_replay_holds_exactly_the_packs_jams(pack: Path) -> None:
    """All 13,039 jams of the four weeks, by start and clearing."""
    first = datetime(2014, 8, 4, tzinfo=UTC)
    steps = Replay(pack, first, lead_in=timedelta(0), kinds=("traffic",)).steps()
    path = pack / "citybench" / "derived_traffic_congestion_episodes_2014-08.csv.gz"
    expected = _derived(path, ("report_id", "start", "cleared_at"), local=False)
    assert len(expected) == 13_039
    assert _episodes(steps, _jammed) == expected


@pytest.mark.slow
def test_the_replay_holds_exactly_the_packs_full_garages(pack: Path) -> None:
    first, last = datetime(2014, 5, 1, tzinfo=UTC), datetime(2014, 9, 2, tzinfo=UTC)
    steps = Replay(pack, first, last, timedelta(0), ("parking",)).steps()
    path = pack / "citybench" / "derived_parking_full_episodes_to_2014-08.csv.gz"
    expected = _derived(path, ("garagecode", "full_from", "free_at"), local=True)
    assert len(expected) == 119
    assert _episodes(steps, lambda r: r["occupied"] / r["capacity"] >= 0.9) == expected  # type: ignore[operator]


@pytest.mark.long
def test_the_decisions_counts_are_the_packs(pack: Path) -> None:
    """Numbers that docs/decisions/aarhus-data.md gives."""
    reader = Pack(pack)
    sent = sum(len(readings) for _, readings in reader.traffic(FIRST, LAST))
    assert sent == 3_290_865 - 1_392
    parking = _readings(reader.parking(FIRST, LAST))
    over = [r["sensor"] for r in parking if r["occupied"] > r["capacity"]]  # type: ignore[operator]
    assert (over.count("BUSGADEHUSET"), over.count("NORREPORT"), len(over)) == (1_887, 618, 2_505)
    weather = _readings(reader.weather(FIRST, LAST))
    assert len(weather) == 2_211 - 1
    assert sum(1 for r in weather if None in r.values()) == 1
