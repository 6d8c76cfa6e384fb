"""The recorded city at an instant is what was known then, and nothing of later."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from citywise.apps.travel_planner.roads import Mode, RoadNetwork
from citywise.apps.travel_planner.roads.conditions import Conditions
from citywise.apps.travel_planner.roads.costs import Basis
from citywise.apps.travel_planner.roads.garages import counted, garage_of
from citywise.apps.travel_planner.roads.recorded import recorded
from citywise.apps.travel_planner.roads.tariffs import ASSUMED
from citywise.backend.city.aarhus import Pack, PackError
from citywise.backend.times import parse_ms, to_ms

HOUR_MS = 3_600_000
RUSH_MS = parse_ms("2014-08-12T14:03:00Z")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def conditions(data_pack: Path, aarhus: RoadNetwork) -> Conditions:
    return recorded(data_pack, aarhus, RUSH_MS)


def observations(data_pack: Path) -> Path:
    (found,) = (data_pack / "citybench").glob("traffic_observations_*.parquet")
    return found


def test_garages_are_as_the_reference_says(data_pack: Path, aarhus: RoadNetwork) -> None:
    text = (data_pack / "requests" / "parking_reference.jsonl").read_text(encoding="utf-8")
    request = json.loads(text.splitlines()[1])
    local = datetime.fromisoformat(request["at_local"])
    at_ms = to_ms(local.replace(tzinfo=ZoneInfo("Europe/Copenhagen")))
    found = {garage.id: garage for garage in recorded(data_pack, aarhus, at_ms).garages}
    for expected in request["garages"]:
        garage = found[expected["garagecode"]]
        assert garage.free == max(expected["vacancies"], 0)
        assert garage.overfull == (expected["vacancies"] < 0)
        assert garage.age_s == pytest.approx(expected["age_min"] * 60, abs=31)


def test_the_time_of_a_road_is_what_its_last_readings_say(
    data_pack: Path, aarhus: RoadNetwork, conditions: Conditions
) -> None:
    table = pq.read_table(
        observations(data_pack),
        filters=[
            ("timestamp", "<=", pa.scalar(RUSH_MS, pa.timestamp("ms"))),
            ("timestamp", ">=", pa.scalar(RUSH_MS - 40 * 60_000, pa.timestamp("ms"))),
            ("vehicle_count", ">", 0),
        ],
    )
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in table.to_pylist():
        ago_min = (
            RUSH_MS / 60_000 - row["timestamp"].replace(tzinfo=ZoneInfo("UTC")).timestamp() / 60
        )
        weight = 0.5 ** (ago_min / 5) * min(row["vehicle_count"], 3) / 3
        both = sums[str(row["report_id"])]
        both[0] += weight * 3.6 / min(max(row["avg_speed_kmh"], 3), 130)
        both[1] += weight
    speeds = conditions.costing.known.speeds
    expected = [sums[s][0] / sums[s][1] if s in sums else np.nan for s in aarhus.sensors]
    assert speeds.pace == pytest.approx(np.array(expected), nan_ok=True)
    assert np.isfinite(speeds.pace).mean() > 0.8


def test_in_the_rush_hour_most_measured_streets_are_live_and_slower_than_free(
    aarhus: RoadNetwork, conditions: Conditions
) -> None:
    costs, later = conditions.costs(), conditions.costs(RUSH_MS + 2 * HOUR_MS)
    measured = np.unique(aarhus.sensed)
    assert (costs.basis[measured] == Basis.LIVE).mean() > 0.5
    assert (later.basis[measured] == Basis.LEARNED).mean() > 0.9
    assert np.nanmax(costs.age_s) <= 15 * 60
    free = conditions.costing.model.sensing.free_flow_s
    assert costs.seconds(Mode.CAR).sum() > free.sum()
    assert costs.air_known
    assert (costs.air >= 0).all()
    assert (costs.air <= 500).all()


def test_nothing_counts_that_came_later(
    data_pack: Path, aarhus: RoadNetwork, conditions: Conditions, tmp_path: Path
) -> None:
    pack = tmp_path / "citybench"
    pack.mkdir()
    for file in (data_pack / "citybench").iterdir():
        if file != observations(data_pack) and file.is_file():
            (pack / file.name).symlink_to(file)
    until = ("timestamp", "<=", pa.scalar(RUSH_MS, pa.timestamp("ms")))
    early = pq.read_table(observations(data_pack), filters=[until])
    pq.write_table(early, pack / observations(data_pack).name)
    found = recorded(tmp_path, aarhus, RUSH_MS)
    for depart in (RUSH_MS, RUSH_MS + 20 * HOUR_MS):
        before, after = conditions.costs(depart), found.costs(depart)
        assert np.array_equal(before.car_s, after.car_s)


def test_what_was_expected_of_garages_mostly_comes_true(data_pack: Path) -> None:
    pack = Pack(data_pack)
    begin = parse_ms("2014-08-18T22:00:00Z")
    counts: dict[str, list[tuple[int, int]]] = defaultdict(list)
    sizes: dict[str, int] = {}
    for t_ms, readings in pack.parking(begin, begin + 72 * HOUR_MS):
        for reading in readings:
            counts[str(reading["sensor"])].append((t_ms, int(reading["occupied"] or 0)))
            sizes[str(reading["sensor"])] = int(reading["capacity"] or 0)
    hits = []
    for place in pack.places():
        given = counts.get(place.id, [])
        for i in range(4, len(given) - 2):
            then_ms, cars = given[i + 2]
            garage = counted(garage_of(place, ASSUMED), given[i - 4 : i + 1], sizes[place.id])
            expected = garage.expected(then_ms)
            assert expected is not None
            free = max(sizes[place.id] - cars, 0)
            hits.append(expected.low <= free <= expected.high)
    assert len(hits) > 500
    assert 0.7 < np.mean(hits) < 0.95


def test_a_folder_without_a_pack_is_told_so(aarhus: RoadNetwork, tmp_path: Path) -> None:
    with pytest.raises(PackError, match="no traffic_observations_"):
        recorded(tmp_path, aarhus, RUSH_MS)
