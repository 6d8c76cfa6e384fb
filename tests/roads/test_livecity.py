"""The live city is what the database says of readings, places and events."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, delete, update
from sqlalchemy.orm import DeclarativeBase

from citywise.apps.travel_planner.roads import Mode
from citywise.apps.travel_planner.roads.costs import Basis
from citywise.apps.travel_planner.roads.learned import SLOTS
from citywise.apps.travel_planner.roads.livecity import LiveCity
from citywise.apps.travel_planner.roads.tariffs import Tariff
from citywise.apps.travel_planner.tables import LearnedRow
from citywise.backend.city.events import OPERATOR
from citywise.backend.ingest.payloads import Place
from citywise.backend.kinds import builtin
from citywise.backend.store.models import (
    EventRow,
    HeartbeatRow,
    OperatorEventRow,
    PlaceRow,
    ReadingRow,
)
from citywise.backend.store.upsert import upsert
from tests.databases import begun
from tests.roads.avenue import MINUTE_MS, NOW_MS, avenue, block, garage

NETWORK = avenue()
TABLES: tuple[type[DeclarativeBase], ...] = (
    EventRow,
    HeartbeatRow,
    LearnedRow,
    OperatorEventRow,
    PlaceRow,
    ReadingRow,
)


class Town:
    """A database, and what happens in it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.change = 0
        self.clock(NOW_MS)

    def write(self, table: type[DeclarativeBase], *rows: dict[str, Any]) -> None:
        with self.engine.begin() as connection:
            upsert(connection, table, rows)

    def clock(self, now_ms: int) -> None:
        self.write(HeartbeatRow, {"process": "ingest", "at_ms": 0, "detail": {"now_ms": now_ms}})

    def place(self, *places: Place) -> None:
        self.change += 1
        for place in places:
            body = place.model_dump(mode="json")
            self.write(PlaceRow, {**place.summary(), "body": body, "updated_ms": self.change})

    def read(self, kind: str, place: str, t_ms: int, **body: object) -> None:
        self.change += 1
        row = {"kind": kind, "place_id": place, "observed_ms": t_ms, "body": body}
        self.write(ReadingRow, {**row, "change": self.change})

    def drive(self, place: str, kmh: float, t_ms: int = NOW_MS) -> None:
        self.read("traffic", place, t_ms, speed_kmh=kmh, vehicle_count=9)

    def event(self, name: str, at: str, **more: object) -> None:
        row: dict[str, Any] = {"id": name, "type": "TrafficJam", "level": 2, "place_id": at}
        row |= {"start_ms": 0, "confirmed_ms": 0, "end_ms": None, "place": None}
        self.write(EventRow, row | {"request": "jams", "causes": {}} | more)

    def by_hand(self, name: str, state: str, **more: object) -> None:
        geometry = block(2).geometry.model_dump(mode="json")
        place = {"name": "Avenue", "kind": None, "lat": 0, "lon": 0, "geometry": geometry}
        row = {"id": name, "type": "RoadWorks", "level": 3, "place_id": "spot", "place": place}
        times = {"start_ms": NOW_MS, "until_ms": None, "end_ms": None, "updated_ms": NOW_MS}
        self.write(OperatorEventRow, row | times | {"state": state} | more)
        if state == "open":
            self.event(name, "spot", type="RoadWorks", request=OPERATOR, place=place)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = begun(f"sqlite:///{tmp_path_factory.mktemp('livecity') / 'city.db'}")
    yield engine
    engine.dispose()


@pytest.fixture
def town(engine: Engine) -> Town:
    with engine.begin() as connection:
        for table in TABLES:
            connection.execute(delete(table))
    return Town(engine)


@pytest.fixture
def city(town: Town) -> LiveCity:
    return LiveCity(town.engine, NETWORK)


def kmh(city: LiveCity, edge: int) -> float:
    return float(NETWORK.length_m[edge] / city.refresh().costs().car_s[edge] * 3.6)


def test_a_city_without_a_word_is_free_and_its_time_is_the_streams(city: LiveCity) -> None:
    found = city.refresh()
    assert (found.now_ms, found.events, found.garages) == (NOW_MS, (), ())
    assert kmh(city, 0) == pytest.approx(60)
    assert not found.costs().air_known


def test_readings_count_as_soon_as_they_are_written(town: Town, city: LiveCity) -> None:
    town.drive("s0", 20)
    assert kmh(city, 0) == pytest.approx(20)
    town.drive("s0", 40, NOW_MS + 5 * MINUTE_MS)
    town.clock(NOW_MS + 5 * MINUTE_MS)
    assert 3.6 / kmh(city, 0) == pytest.approx((0.5 * 3.6 / 20 + 3.6 / 40) / 1.5)


def test_readings_of_unknown_roads_change_nothing(town: Town, city: LiveCity) -> None:
    town.drive("elsewhere", 5)
    assert kmh(city, 0) == pytest.approx(60)


def test_while_nothing_changes_the_costs_stay_the_same_object(town: Town, city: LiveCity) -> None:
    town.drive("s0", 20)
    first = city.refresh().costs()
    assert city.refresh().costs() is first
    town.clock(NOW_MS + 61_000)
    later = city.refresh()
    assert later.now_ms == NOW_MS + 61_000
    assert later.costs().version != first.version


def test_on_streets_that_know_no_sensors_measured_roads_find_their_own(town: Town) -> None:
    imported = replace(
        NETWORK,
        sensors=(),
        sensed=np.empty(0, dtype=np.int32),
        sensed_at=np.zeros(1, dtype=np.int64),
    )
    city = LiveCity(town.engine, imported)
    town.place(block(2))
    assert kmh(city, 4) == pytest.approx(60)
    town.drive("s2", 20)
    assert [kmh(city, edge) for edge in (4, 5)] == pytest.approx([20, 60])
    town.place(block(1), garage(sensors=("parking", "traffic")))
    town.drive("s1", 30)
    assert [kmh(city, edge) for edge in (2, 4)] == pytest.approx([30, 20])


def test_what_was_told_before_stays_as_it_was(town: Town, city: LiveCity) -> None:
    before = city.refresh()
    town.drive("s0", 20)
    city.refresh()
    assert before.costs().car_s == pytest.approx(before.costing.model.sensing.free_flow_s)


def test_an_event_slows_until_it_is_over(town: Town, city: LiveCity) -> None:
    town.place(block(2))
    calm = city.refresh().costs()
    town.event("e1", "s2")
    found = city.refresh()
    assert [(e.id, e.place, e.by_hand) for e in found.events] == [("e1", "Avenue 2", False)]
    assert kmh(city, 4) == pytest.approx(20)
    with town.engine.begin() as connection:
        connection.execute(update(EventRow).values(end_ms=NOW_MS))
    cleared = city.refresh()
    assert cleared.events == ()
    assert np.array_equal(cleared.costs().car_s, calm.car_s)


def test_an_event_that_gets_worse_slows_more(town: Town, city: LiveCity) -> None:
    town.place(block(2))
    town.event("e1", "s2")
    assert kmh(city, 4) == pytest.approx(20)
    town.event("e1", "s2", level=5)
    assert kmh(city, 4) == pytest.approx(10)


def test_an_event_of_which_nobody_knows_where_it_is_slows_nobody(
    town: Town, city: LiveCity
) -> None:
    town.event("e1", "nowhere")
    assert city.refresh().events == ()


def test_what_operators_open_or_plan_counts_from_its_beginning_to_its_end(
    town: Town, city: LiveCity
) -> None:
    hour = 60 * MINUTE_MS
    town.by_hand("e1", "open", until_ms=NOW_MS + hour)
    town.by_hand("e2", "planned", start_ms=NOW_MS + 2 * hour)
    town.by_hand("e3", "ended")
    found = city.refresh()
    assert [(e.id, e.until_ms, e.by_hand) for e in found.events] == [("e1", NOW_MS + hour, True)]
    half_hours = [NOW_MS + half * hour // 2 for half in range(6)]
    calm = NETWORK.length_m[4] / (4.8 / 3.6)
    slower = [found.costs(depart).walk_s[4] / calm for depart in half_hours]
    assert slower == pytest.approx([3, 3, 1, 1, 4, 4])
    assert [len(found.affecting(Mode.WALK, t)) for t in half_hours] == [1, 1, 0, 0, 1, 1]


def test_garages_come_with_counts_trend_price_and_hours(town: Town) -> None:
    city = LiveCity(town.engine, NETWORK, Tariff(7, assumed=True))
    hours = "Mo-Su 06:00-22:00"
    town.place(garage(opening_hours=hours), garage(id="P2", price={"per_hour": 9}))
    assert [g.free for g in city.refresh().garages] == [None, None]
    for minutes, cars in ((-60, 20), (-30, 40), (0, 60)):
        town.read("parking", "HARBOUR", NOW_MS + minutes * MINUTE_MS, occupied=cars, capacity=100)
        city.refresh()
    town.clock(NOW_MS + 2 * MINUTE_MS)
    found = city.refresh()
    harbour, other = found.garages
    assert found.garage("HARBOUR") is harbour
    assert (harbour.free, harbour.age_s, harbour.per_hour) == (40, 120, 40)
    assert (harbour.open, harbour.hours, harbour.tariff.per_hour) == (True, hours, 7)
    assert (other.tariff.per_hour, other.tariff.assumed) == (9, False)


def test_a_garage_that_is_taken_away_is_gone(town: Town, city: LiveCity) -> None:
    town.place(garage())
    assert city.refresh().garages
    with town.engine.begin() as connection:
        connection.execute(delete(PlaceRow))
    assert not city.refresh().garages


def test_the_air_is_known_for_three_hours(town: Town, city: LiveCity) -> None:
    town.place(block(1, "traffic", "air"))
    town.read("air", "s1", NOW_MS, **dict.fromkeys(builtin()["air"].fields, 80))
    found = city.refresh().costs()
    assert found.air_known
    assert found.air == pytest.approx(80)
    assert found.pollution(Mode.WALK)[2] == pytest.approx(found.walk_s[2] / 3600 * 80)
    town.clock(NOW_MS + 181 * MINUTE_MS)
    assert not city.refresh().costs().air_known


def test_later_departures_are_by_what_was_learned(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {"place_id": "s0", "slot": slot, "total": 9 * 3.6 / 45, "weight": 9.0, "updated_ms": 0}
        for slot in range(SLOTS)
    ]
    town.write(LearnedRow, *rows)
    found = LiveCity(town.engine, NETWORK).refresh().costs(NOW_MS + 60 * MINUTE_MS)
    assert found.basis[0] == Basis.LEARNED
    assert NETWORK.length_m[0] / found.car_s[0] * 3.6 == pytest.approx(45)


def test_what_is_learned_meanwhile_counts_after_a_minute(
    town: Town, city: LiveCity, monkeypatch: pytest.MonkeyPatch
) -> None:
    city.refresh()
    row = {"place_id": "s0", "total": 9 * 3.6 / 45, "weight": 9.0, "updated_ms": 0}
    town.write(LearnedRow, *({**row, "slot": slot} for slot in range(SLOTS)))
    assert kmh(city, 0) == pytest.approx(60)
    ahead = time.monotonic() + 61
    monkeypatch.setattr("citywise.apps.travel_planner.roads.livecity.monotonic", lambda: ahead)
    assert kmh(city, 0) == pytest.approx(45)


def test_an_event_whose_place_is_described_later_is_there_from_then_on(
    town: Town, city: LiveCity
) -> None:
    town.event("e1", "s2")
    assert city.refresh().events == ()
    town.place(block(2))
    assert [event.id for event in city.refresh().events] == ["e1"]


def test_many_threads_may_ask_at_once(town: Town, city: LiveCity) -> None:
    town.place(block(2))
    town.event("e1", "s2")
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: city.refresh().costs().version, range(40)))
    assert len(set(found)) == 1


def test_the_costs_cannot_be_written_to(city: LiveCity) -> None:
    with pytest.raises(ValueError, match="read-only"):
        city.refresh().costs().car_s[0] = 1
