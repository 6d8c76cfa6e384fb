"""What is usual is learned hour by hour of the week, each reading once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, delete, select

from citywise.apps.travel_planner.roads import learned
from citywise.apps.travel_planner.roads.learned import SLOTS, Learner, Weeks, slot, usual, weeks_of
from citywise.apps.travel_planner.tables import LearnedRow
from citywise.backend.store.models import ReadingRow
from citywise.backend.store.upsert import upsert
from citywise.backend.times import to_ms
from tests.databases import begun
from tests.roads.avenue import MINUTE_MS, NOW_MS

HOUR_MS = 60 * MINUTE_MS
WEEK_MS = SLOTS * HOUR_MS


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = begun(f"sqlite:///{tmp_path_factory.mktemp('learned') / 'city.db'}")
    yield engine
    engine.dispose()


@pytest.fixture
def engine(database: Engine) -> Engine:
    with database.begin() as connection:
        for table in (LearnedRow, ReadingRow):
            connection.execute(delete(table))
    return database


def at(*moment: int, fold: int = 0) -> int:
    return to_ms(datetime(*moment, tzinfo=ZoneInfo("Europe/Copenhagen"), fold=fold))  # type: ignore[misc, arg-type]


def read(engine: Engine, change: int, t_ms: int, kmh: float, vehicles: int = 5) -> None:
    body = {"speed_kmh": kmh, "vehicle_count": vehicles}
    keep(engine, change, "traffic", "s0", t_ms, body)


def keep(
    engine: Engine, change: int, kind: str, place: str, t_ms: int, body: dict[str, float]
) -> None:
    row = {"kind": kind, "place_id": place, "observed_ms": t_ms, "body": body, "change": change}
    with engine.begin() as connection:
        upsert(connection, ReadingRow, [row])


def rows(engine: Engine) -> list[list[Any]]:
    """What was learned: place, slot, total and weight."""
    row = LearnedRow
    with engine.connect() as connection:
        found = connection.execute(select(row.place_id, row.slot, row.total, row.weight))
        return [list(one) for one in found]


def nearly(value: float) -> Any:
    return pytest.approx(value, rel=1e-3)


def test_hours_are_those_of_the_citys_clock_all_year() -> None:
    assert slot(at(2014, 8, 4, 0, 30)) == 0
    assert slot(at(2014, 8, 10, 23, 59)) == SLOTS - 1
    assert slot(at(2014, 1, 6, 8)) == slot(at(2014, 7, 7, 8)) == 8
    assert slot(at(2014, 10, 26, 2, 30)) == slot(at(2014, 10, 26, 2, 30, fold=1)) == 6 * 24 + 2


def test_between_the_middles_of_two_hours_it_is_between_their_means() -> None:
    week = np.full(SLOTS, np.nan)
    week[8], week[9] = 10.0, 20.0
    assert usual(week, at(2014, 8, 4, 8, 30)) == 10
    assert usual(week, at(2014, 8, 4, 9, 0)) == 15
    assert usual(week, at(2014, 8, 4, 9, 30)) == 20
    assert usual(week, at(2014, 8, 4, 9, 45)) == 20  # of ten o'clock nothing is known
    assert np.isnan(usual(week, at(2014, 8, 4, 11, 0)))


def test_an_hour_of_which_too_little_is_known_is_as_on_the_other_workdays() -> None:
    tuesdays = np.array([at(2014, 8, 5, 8), at(2014, 8, 12, 8), at(2014, 8, 19, 8)])
    place = np.zeros(3, dtype=np.int64)
    week = weeks_of(1, place, tuesdays, np.array([4.0, 4.0, 4.0]), at(2014, 8, 20, 8))[0]
    assert week[24 + 8] == pytest.approx(4)
    assert week[8] == pytest.approx(4)
    assert np.isnan(week[5 * 24 + 8])


@settings(max_examples=15)
@given(
    st.lists(st.tuples(st.integers(0, 4 * WEEK_MS), st.floats(0.02, 1.2)), max_size=40),
    st.integers(0, WEEK_MS),
)
def test_what_is_usual_is_within_what_was_seen(
    seen: list[tuple[int, float]], ahead_ms: int
) -> None:
    t_ms = np.array([NOW_MS - ago for ago, _ in seen], dtype=np.int64)
    values = np.array([value for _, value in seen])
    week = weeks_of(1, np.zeros(len(seen), dtype=np.int64), t_ms, values, NOW_MS)[0]
    found = float(usual(week, NOW_MS + ahead_ms))
    assert np.isnan(found) or values.min() * 0.999 <= found <= values.max() * 1.001


def test_the_learner_takes_each_reading_once_even_when_it_starts_anew(engine: Engine) -> None:
    read(engine, 1, NOW_MS, 36)
    learner = Learner(engine)
    assert [learner.learn(), learner.learn(), Learner(engine).learn()] == [1, 0, 0]
    read(engine, 2, NOW_MS + 5 * MINUTE_MS, 18)
    assert [learner.learn(), Learner(engine).learn()] == [1, 0]
    assert rows(engine) == [["s0", slot(NOW_MS), *map(nearly, (0.3, 2.0))]]


def test_what_counted_last_is_learned_as_it_is_corrected(engine: Engine) -> None:
    t_ms = at(2026, 5, 4, 8, 10)
    learner, other = Learner(engine), Learner(engine)
    read(engine, 1, t_ms, 30)
    assert (learner.learn(), learner.learn()) == (1, 0)
    read(engine, 2, t_ms, 60)
    assert learner.learn() == 1
    expected = rows(engine)
    with engine.begin() as connection:
        connection.execute(delete(LearnedRow))
    assert other.learn() == 1
    assert nearly(rows(engine)[0][2]) == expected[0][2]
    keep(engine, 3, "traffic", "s0", t_ms, {})
    other.learn()
    assert rows(engine)[0][2:4] == [nearly(0.0), nearly(0.0)]


def test_the_learner_takes_nothing_from_a_road_without_vehicles(engine: Engine) -> None:
    read(engine, 1, NOW_MS, 36, vehicles=0)
    assert Learner(engine).learn() == 0
    assert rows(engine) == []


def test_after_four_weeks_what_was_learned_counts_half(engine: Engine) -> None:
    learner = Learner(engine)
    for change, weeks, kmh in ((1, 0, 36), (2, 4, 18)):
        read(engine, change, NOW_MS + weeks * WEEK_MS, kmh)
        learner.learn()
    assert rows(engine) == [["s0", slot(NOW_MS), *map(nearly, (0.25, 1.5))]]


def test_of_garages_the_share_of_taken_places_is_learned(engine: Engine) -> None:
    keep(engine, 1, "parking", "P", NOW_MS, {"occupied": 30, "capacity": 120})
    assert Learner(engine).learn() == 1
    assert rows(engine) == [["P", slot(NOW_MS), 0.25, 1]]


def test_what_the_learner_wrote_is_what_is_read(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned, "ENOUGH", 1.0)
    weeks, learner = Weeks(), Learner(engine)
    for change, minutes in ((1, 0), (2, 5)):
        read(engine, change, NOW_MS + minutes * MINUTE_MS, 36)
        learner.learn()
        with engine.connect() as connection:
            assert weeks.update(connection)
        week = weeks.of(["s0", "s1"])
        assert week[0, slot(NOW_MS)] == pytest.approx(0.1)
        assert np.isnan(week[1]).all()
