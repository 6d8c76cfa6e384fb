"""A request over a stretch of the log: knowledge, limits, and what others notice of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from citywise.backend.ingest.records import ClockReading, Reading
from citywise.backend.kinds import builtin
from citywise.backend.pipeline.evaluation import RequestRun, Row
from citywise.backend.pipeline.prepared import prepared
from citywise.reasoning.limits import Limits

LIMITS = Limits(seconds=60, megabytes=1000, atoms=50_000, models=10)
REQUEST = """
#prefix sosa : <http://www.w3.org/ns/sosa/>.
#prefix city : <https://w3id.org/citywise/city#>.
#prefix place : <https://w3id.org/citywise/place/>.
#prefix ev : <https://w3id.org/citywise/event#>.
#from stream <https://w3id.org/citywise/stream/traffic> [time 1s step 1s].
#from <main_streets.ttl>.
#scale city_averageSpeed 10.
#feedback event/5.
#show event/5.

event("ev_TrafficJam",Road,1,Obs,Obs) :- sosa_hasFeatureOfInterest(Obs,Road),
    city_averageSpeed(Obs,Speed), Speed < 100, city_mainStreet(Road,true).
"""
STREETS = """
@prefix city: <https://w3id.org/citywise/city#> .
@prefix place: <https://w3id.org/citywise/place/> .
place:1 city:mainStreet true .
place:2 city:mainStreet false .
"""
GROWING = "\np(X+1) :- p(X). p(0) :- city_averageSpeed(_,Speed), Speed < 50."


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def readings(*speeds: dict[str, float]) -> Iterator[Reading | ClockReading]:
    """Readings of roads, one second after the other, each followed by the clock."""
    position = 0
    for second, roads in enumerate(speeds, 1):
        t_ms = second * 1000
        for road, speed in roads.items():
            values = {"speed_kmh": speed, "vehicle_count": 3}
            yield Reading("traffic", road, t_ms, t_ms, values, position := position + 1)
        yield ClockReading(t_ms + 999, t_ms + 999, position := position + 1)


def rows(run: RequestRun, *speeds: dict[str, float]) -> list[Row]:
    return [row for entry in readings(*speeds) for row in run.take(entry)]


def opened(found: list[Row]) -> list[tuple[int, str]]:
    return [
        (row.t_ms, row.body["place_id"])
        for row in found
        if row.kind == "change" and row.body["kind"] == "event.opened"
    ]


def test_a_request_reads_its_knowledge_base(tmp_path: Path) -> None:
    write(tmp_path, "main_streets.ttl", STREETS)
    run = RequestRun(prepared(write(tmp_path, "main.casp", REQUEST), builtin(), LIMITS))
    found = rows(run, {"1": 50, "2": 50}, {"1": 5, "2": 5}, {"1": 50, "2": 5})
    assert [place for _t_ms, place in opened(found)] == ["1"]


def test_a_second_is_not_over_when_it_begins(tmp_path: Path) -> None:
    """A request that counts in seconds takes what comes in the rest of the clock's second."""
    write(tmp_path, "main_streets.ttl", STREETS)
    run = RequestRun(prepared(write(tmp_path, "main.casp", REQUEST), builtin(), LIMITS))
    values = {"speed_kmh": 5, "vehicle_count": 3}
    entries: list[Reading | ClockReading] = [
        ClockReading(2000, 2000, 1),
        Reading("traffic", "1", 2700, 2700, values, 2),
        ClockReading(3998, 3998, 3),
        ClockReading(3999, 3999, 4),
    ]
    found = [[row.t_ms for row in run.take(entry) if row.kind == "change"] for entry in entries]
    assert found == [[], [], [], [3000]]
    assert list(run.dead_letters()) == []


def test_a_request_at_its_limit_is_traced_and_the_others_go_on(tmp_path: Path) -> None:
    write(tmp_path, "main_streets.ttl", STREETS)
    runs = {
        name: RequestRun(prepared(write(tmp_path, f"{name}.casp", text), builtin(), LIMITS))
        for name, text in (("steady", REQUEST), ("growing", REQUEST + GROWING))
    }
    speeds = [{"1": 50.0}, {"1": 4.0}, {"1": 50.0}, {"1": 50.0}, {"1": 8.0}]
    found = {name: rows(run, *speeds) for name, run in runs.items()}
    errors = {
        name: [row.t_ms for row in each if row.kind == "trace" and row.body["error"]]
        for name, each in found.items()
    }
    assert errors["steady"] == []
    assert errors["growing"] == [2000, 3000]
    assert [t for t, _place in opened(found["steady"])] == [2000, 5000]
    assert [t for t, _place in opened(found["growing"])] == [5000]
    (error, *_more) = (row.body["error"] for row in found["growing"] if row.body.get("error"))
    assert "50,000 ground atoms; what grew: p/1" in error
