"""The streams built for CityBench say what the pack recorded, when it was recorded."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode

from tests.citybench.day import SLOTS, Day
from tests.citybench.streams import BASE, Record, Streams

HUMIDITY = "Property-7e96ab11-820a-42b9-aab2-b6c4ebf88de2"


@pytest.fixture
def day(streams: Streams) -> Day:
    return streams.day


def test_local_times_of_garages_become_utc(day: Day) -> None:
    """At 08:01 in Denmark 24 cars of 210 places: two hours earlier in UTC, slot 72."""
    assert dict(day.of("AarhusParkingDataKALKVAERKSVEJ"))[72] == {"ParkingVacancy": 186}


def test_times_of_roads_are_utc_and_congestion_is_vehicles_per_metre(day: Day) -> None:
    records = dict(day.of("AarhusTrafficData158505"))
    assert records[0]["AvgSpeed"] == 34
    assert records[0]["EstimatedTime"] == 2065 / 34
    assert all(r["CongestionLevel"] == r["VehicleCount"] / 2065 for r in records.values())  # type: ignore[operator]


def test_air_is_the_worst_of_five_pollutants(day: Day) -> None:
    values = [record["API"] for _slot, record in day.of("AarhusPollutionData201399")]
    assert len(values) == SLOTS
    assert values[0] == 179


def test_the_user_is_somewhere_in_every_slot(day: Day) -> None:
    track = [record["Location"] for _slot, record in day.of("UserLocationService")]
    assert len(track) == SLOTS
    assert track[0] == (56.56860661596417, 10.020502035841758)


def test_a_service_unknown_to_the_pack_is_an_error(day: Day) -> None:
    with pytest.raises(LookupError):
        day.of("AarhusTrains1")


def test_a_record_observes_each_property_of_its_service_once(streams: Streams) -> None:
    weather = streams.records([BASE + "AarhusWeatherData0"])[0]
    observed = [t.object for t in weather.triples if t.predicate.value.endswith("observedProperty")]
    values = [t.object for t in weather.triples if t.predicate.value.endswith("hasValue")]
    assert len(set(observed)) == len({t.subject for t in weather.triples}) == 3
    assert values[observed.index(NamedNode(BASE + HUMIDITY))] == Literal(72.0)


def test_records_come_in_order_of_time_and_slot_k_is_second_k(streams: Streams) -> None:
    services = [BASE + "AarhusTrafficData182955", BASE + "AarhusWeatherData0"]
    times = [record.line()["t"] for record in streams.records(services, slots=12)]
    assert times == sorted(times)
    assert times[0] == "2014-08-05T00:00:00Z"
    assert times[-1] <= "2014-08-05T00:00:11Z"


def test_streams_are_the_same_every_time(data_pack: Path, streams: Streams) -> None:
    def build(source: Streams) -> list[Record]:
        return source.records([BASE + "AarhusWeatherData0"])

    assert build(Streams(data_pack / "citybench", date(2014, 8, 5))) == build(streams)
