"""A flood of refused messages is counted; of each reason and sensor some letters are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, delete, func, select

from citywise.backend.ingest.acceptance import Verdict
from citywise.backend.ingest.faults import DeadLetter
from citywise.backend.ingest.intake import Entry, IntakeStore
from citywise.backend.settings import Settings
from citywise.backend.store import letters
from citywise.backend.store.models import DeadLetterRow, RefusalRow
from tests.databases import begun

BOUNDS = letters.Bounds(2_000, 1_000_000)
HOUR = 3_600_000


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = begun(Settings(data_dir=tmp_path).database_url)
    yield engine
    engine.dispose()


def refused(number: int, of: list[tuple[str, str]], payload: bytes = b"{}") -> Entry:
    """A message of which observations are refused: the reason and the sensor of each."""
    dead = [DeadLetter.of(reason, "why", payload, sensor) for reason, sensor in of]
    return Entry("citywise/observations/traffic", HOUR + number, f"m{number}", Verdict(dead=dead))


def kept(engine: Engine) -> Counter[tuple[str, str]]:
    with engine.connect() as connection:
        rows = connection.execute(select(DeadLetterRow.reason, DeadLetterRow.source))
        return Counter((reason, source) for reason, source in rows)


def test_a_flood_of_one_sensor_is_counted_and_pushes_out_its_own(
    engine: Engine, tmp_path: Path
) -> None:
    store = IntakeStore(engine, BOUNDS)
    store.write([refused(0, [("schema", "rare")])])
    for number in range(1, 21):
        store.write([refused(number, [("ancient", "loud")] * 5_000)])
        if number == 10:
            store.write([refused(1000, [("ancient", "quiet"), ("json", "")])])
    found = kept(engine)
    assert found["schema", "rare"] == found["ancient", "quiet"] == 1
    assert sum(found.values()) <= BOUNDS.number * 1.2
    with engine.connect() as connection:
        counts = letters.refused(connection)
        newest = connection.scalar(select(func.max(DeadLetterRow.received_ms)))
        assert newest == HOUR + 1000
    assert counts == {"schema": 1, "ancient": 100_001, "json": 1}
    assert sum(path.stat().st_size for path in tmp_path.glob("citywise.db*")) < 8_000_000


def test_a_flood_of_many_sensors_leaves_other_reasons_theirs(engine: Engine) -> None:
    store = IntakeStore(engine, BOUNDS)
    store.write([refused(0, [("schema", "rare")] * 50)])
    for number in range(1, 21):
        store.write([refused(number, [("unknown-sensor", f"{number}-{n}") for n in range(500)])])
    assert kept(engine)["schema", "rare"] == 50


def test_large_letters_are_bounded_by_their_bytes(engine: Engine) -> None:
    store = IntakeStore(engine, BOUNDS)
    store.write([refused(0, [("schema", "rare")])])
    for number in range(1, 60):
        store.write([refused(number, [("json", "loud")], b"\xff" * 16_000)])
    with engine.connect() as connection:
        size = connection.scalar(select(func.sum(func.length(DeadLetterRow.payload)))) or 0
    assert size < BOUNDS.bytes * 1.2
    assert kept(engine)["schema", "rare"] == 1


def test_the_same_letter_again_is_counted_and_kept_once(engine: Engine) -> None:
    store = IntakeStore(engine, BOUNDS)
    for _ in range(3):
        store.write([refused(1, [("json", "a")])])
    assert kept(engine) == {("json", "a"): 1}
    with engine.connect() as connection:
        assert letters.refused(connection) == {"json": 3}


def test_counts_go_with_their_age(engine: Engine) -> None:
    store = IntakeStore(engine, BOUNDS)
    store.write([refused(0, [("json", "a")]), refused(10 * HOUR, [("json", "b")])])
    with engine.begin() as connection:
        letters.forget(connection, 8 * HOUR)
        assert letters.refused(connection) == {"json": 1}
        connection.execute(delete(RefusalRow))
    assert kept(engine) == {("json", "b"): 1}
