"""Readings in disorder, through broker, ingest, Spark and database, and over recorded Aarhus."""

from __future__ import annotations

import random
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from citywise.backend.city.replay import LASTING, Replay
from citywise.backend.store.database import create_engine_for
from citywise.backend.supervisor import System as Running
from citywise.backend.times import to_ms
from tests.pipeline.revising import (
    Disorder,
    System,
    Told,
    disordered,
    followed,
    message,
    place_of,
    standing_events,
)
from tests.street import running as street
from tests.street.city import running

ROADS = [("traffic", f"r{number}") for number in range(4)]
END = ("traffic", "the-end")


@pytest.mark.long
@pytest.mark.spark
def test_disorder_and_deaths_end_in_the_events_of_the_stream_in_order(tmp_path: Path) -> None:
    """All readings are minutes late, as those of a gateway that was away; some are corrected or
    withdrawn, while the pipeline and the ingest are killed."""
    start_ms = round(time.time()) * 1000 - 2_400_000
    stream = Disorder(random.Random(3), ROADS, steps=7, start_ms=start_ms)
    jam = {"speed_kmh": 10, "vehicle_count": 20}
    last = message(*END, start_ms + 60_000, jam)
    expected = System.of_order(tmp_path / "order", [*ROADS, END], [*stream.last, last])
    with running(tmp_path / "city", None, "gateway") as city:
        for kind, sensor in [*ROADS, END]:
            place = place_of(kind, sensor).model_dump(mode="json", exclude_none=True)
            city.publish(f"places/road/{sensor}", place, retain=True)
        deaths = {len(stream.arrivals) // 3: "pipeline", 2 * len(stream.arrivals) // 3: "ingest"}
        for number, (_at, _number, one) in enumerate(stream.arrivals):
            body = {name: value for name, value in one.items() if name != "kind"}
            city.publish("observations/traffic", body)
            if number in deaths:
                street.wait_until(city.system, lambda: bool(street.events(city.system)))
                street.kill(city.system, deaths[number])
            city.system.tend()
        city.publish("observations/traffic", {k: v for k, v in last.items() if k != "kind"})
        city.until(
            lambda: any(e.startswith("TrafficJam-the-end") for e in street.events(city.system))
        )
        stored, heard = _known(city.system)
    assert stored == expected
    assert heard == expected


def _known(system: Running) -> tuple[list[Told], list[Told]]:
    """The events in the database, and as who followed the announcements has them."""
    engine = create_engine_for(system.settings.database_url)
    with engine.connect() as connection:
        found = standing_events(connection), followed(connection)
    engine.dispose()
    return found


@pytest.mark.long
def test_a_disordered_morning_of_aarhus_ends_in_the_events_of_the_corrected_one(
    data_pack: Path, tmp_path: Path
) -> None:
    """One reading in ten is up to half an hour late, one in fifty corrected, one in a hundred
    withdrawn; workers and ingest start anew on the way."""
    start = datetime(2014, 8, 5, 5, tzinfo=UTC)
    source = Replay(data_pack, start, start + timedelta(hours=1.5), timedelta(0), kinds=LASTING)
    step_ms, arrivals = 60_000, disordered(source, random.Random(1))
    sensors = [(kind, place.id) for place in source.places() for kind in place.sensors]
    known = [one for one in sensors if one[0] in LASTING]
    requests = ("traffic_jam", "garage_nearly_full")
    said = {(o["kind"], o["sensor"], o["observed_at"]): o for _at, _n, o in arrivals}
    standing = [one for one in said.values() if "withdraw" not in one]
    expected = System.of_order(tmp_path / "order", known, standing, requests)
    system = System(tmp_path / "city", known, requests, workers=2)
    end_ms = arrivals[-1][0] + step_ms
    for number, ms in enumerate(range(to_ms(start), end_ms + 2 * step_ms, step_ms)):
        while arrivals and arrivals[0][0] <= ms:
            system.hear([arrivals.pop(0)[2]])
        system.tick(ms)
        if number % 3 == 0:
            system.work(crash=number % 12 == 9)
        if number % 30 == 20:
            system.restart_workers()
            system.restart_ingest()
    system.work()
    assert system.dead == []
    assert len(expected) > 50
    assert {"event.corrected", "event.withdrawn"} <= set(system.announced())
    assert system.stored() == expected
    assert system.heard() == expected
