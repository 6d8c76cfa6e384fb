"""What the log says is kept once, rolled up exactly, and for as long as it is to be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine

from citywise.backend import history, process, times
from citywise.backend.history import DAY_S, FIVE_MINUTES_S, HOUR_S, RAW, HistoryWriter, Question
from citywise.backend.history.spans import end_of, start_of
from citywise.backend.ingest import log
from citywise.backend.kinds import Value, builtin
from citywise.backend.settings import History
from citywise.backend.store import heartbeat
from citywise.backend.times import parse_ms, to_ms
from tests.api.town import Town
from tests.databases import begun
from tests.history.recorded import Told, append, write

NOON = parse_ms("2026-03-29T12:00:00Z")
ALWAYS = (0, 2**45)
ZONES = ("Europe/Copenhagen", "America/New_York", "Asia/Kathmandu")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = begun(f"sqlite:///{tmp_path / 'citywise.db'}")
    with engine.begin() as connection:
        heartbeat.beat(connection, "ingest", {"now_ms": NOON})
    yield engine
    engine.dispose()


@pytest.fixture
def in_zone(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Have the test go by a zone; it ends with the test."""
    return lambda zone: monkeypatch.setenv(times.ZONE_VARIABLE, zone)


def told(engine: Engine, kind: str, span_s: int = RAW) -> dict[tuple[str, str], list[Any]]:
    found: dict[tuple[str, str], list[Any]] = defaultdict(list)
    with engine.connect() as connection:
        for p in history.points(connection, Question(kind, *ALWAYS, span_s=span_s), 10**6):
            rolled = (p.at_ms, p.number, p.low, p.high, round(p.total, 6))
            found[p.sensor, p.field].append((p.at_ms, p.value) if span_s == RAW else rolled)
    return dict(found)


def by_hand(readings: list[Told], span_s: int, city: ZoneInfo) -> dict[tuple[str, str], list[Any]]:
    """What is to come out, from the definition: of each instant the last reading counts."""
    values: dict[tuple[str, str, int], float] = {}
    for _kind, sensor, at_ms, fields in readings:
        for name in list(fields) or ["level"]:
            values.pop((sensor, name, at_ms), None)
            if (value := fields.get(name)) is not None:
                values[sensor, name, at_ms] = float(value)
    groups: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (sensor, name, at_ms), value in values.items():
        begin = at_ms // (span_s * 1000) * span_s * 1000
        if span_s == DAY_S:
            day = datetime.fromtimestamp(at_ms / 1000, city).date()
            begin = to_ms(datetime(day.year, day.month, day.day, tzinfo=city))
        groups[sensor, name][begin].append(value)
    return {
        key: [(t, len(v), min(v), max(v), round(sum(v), 6)) for t, v in sorted(some.items())]
        for key, some in groups.items()
    }


@pytest.mark.parametrize(("seed", "zone"), list(enumerate(ZONES)))
def test_roll_ups_are_those_of_the_definition_whatever_comes_late_twice_or_corrected(
    engine: Engine, tmp_path: Path, seed: int, zone: str, in_zone: Callable[[str], None]
) -> None:
    """Over the night in which the clocks of Europe go forward, with a restart in the middle."""
    in_zone(zone)
    dice = Random(seed)
    readings: list[Told] = []
    for _ in range(300):
        at_ms = NOON - dice.randrange(36 * 3600) * 1000
        values = {"level": dice.choice([None, round(dice.uniform(30, 90), 1)])}
        readings.append(("noise", dice.choice(["n1", "n2"]), at_ms, {"level": values["level"]}))
        if dice.random() < 0.2:
            readings.append(dice.choice(readings))
        if dice.random() < 0.2:  # corrected, or withdrawn
            _kind, sensor, at_ms, _old = dice.choice(readings)
            new: dict[str, Value] = {"level": round(dice.uniform(30, 90), 1)}
            readings.append(("noise", sensor, at_ms, dice.choice([new, {}])))
    append(tmp_path / "log", readings[:150])
    write(engine, tmp_path / "log")
    append(tmp_path / "log", readings[150:])
    write(engine, tmp_path / "log")
    for span_s in (FIVE_MINUTES_S, HOUR_S, DAY_S):
        assert told(engine, "noise", span_s) == by_hand(readings, span_s, ZoneInfo(zone))


def test_what_a_source_replays_into_a_new_log_counts_once(engine: Engine, tmp_path: Path) -> None:
    readings: list[Told] = [("noise", "n1", NOON - n * 60_000, {"level": 50.0}) for n in range(9)]
    for folder in ("log", "other"):
        append(tmp_path / folder, readings)
        write(engine, tmp_path / folder)
    assert [row[1] for row in told(engine, "noise", DAY_S)["n1", "level"]] == [9]


def test_a_step_that_fails_is_done_again_and_nothing_counts_twice(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(tmp_path / "log", [("noise", "n1", NOON, {"level": 50.0})])
    writer = HistoryWriter(engine, tmp_path / "log", History())
    with monkeypatch.context() as patched:
        patched.setattr(HistoryWriter, "_advance", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            writer.step()
    assert writer.step()
    assert not writer.step()
    assert [row[1] for row in told(engine, "noise", HOUR_S)["n1", "level"]] == [1]


def test_texts_and_truths_are_kept_and_what_is_unknown_is_not(
    engine: Engine, tmp_path: Path
) -> None:
    from citywise.backend.kinds import Kind, installed

    door = Kind.model_validate(
        {
            "kind": "door",
            "fields": {
                "open": {"type": "boolean"},
                "state": {"type": "category", "values": ["=x", "fine"]},
            },
        }
    )
    installed.install(engine, builtin().with_kinds(door))
    append(
        tmp_path / "log",
        [
            ("door", "d", NOON, {"open": True, "state": "=x"}),
            ("door", "d", NOON + 1, {"open": False, "state": None}),
            ("nowhere", "d", NOON, {"x": 1}),
        ],
    )
    write(engine, tmp_path / "log")
    assert told(engine, "door") == {
        ("d", "open"): [(NOON, 1.0), (NOON + 1, 0.0)],
        ("d", "state"): [(NOON, "=x")],
    }
    assert list(told(engine, "door", HOUR_S)) == [("d", "open")]


def test_a_damaged_stretch_of_the_log_is_left_out_and_the_rest_kept(
    engine: Engine, tmp_path: Path
) -> None:
    folder = tmp_path / "log"
    append(folder, [("noise", "n1", NOON - n * 1000, {"level": 50.0}) for n in range(30)], 400)
    bases = log.segments(folder)
    path = log.path_of(folder, bases[1])
    data = bytearray(path.read_bytes())
    data[20] ^= 255
    path.write_bytes(bytes(data))
    write(engine, folder)
    assert 0 < len(told(engine, "noise")["n1", "level"]) < 30


def test_each_kind_is_kept_for_as_long_as_it_says(engine: Engine, tmp_path: Path) -> None:
    kind = builtin()["noise"]
    own = kind.model_copy(update={"history": type(kind.history)(readings=1, hours=0)})
    kinds = builtin().with_kinds(own)
    days = [NOON - n * 86_400_000 for n in range(5)]
    readings: list[Told] = [("noise", "n1", at_ms, {"level": 50.0}) for at_ms in days]
    append(tmp_path / "log", [*readings, ("climate", "c", days[4], {"temperature_c": 4.0})])
    write(engine, tmp_path / "log")
    town = Town(engine)
    town.event("old", "p", "2016-01-01T00:00:00Z", "2016-01-01T01:00:00Z")
    town.event("open", "p", "2016-01-01T00:00:00Z")
    history.trim(engine, kinds, History(events=30), NOON)
    assert len(told(engine, "noise")["n1", "level"]) == 2  # now, and exactly a day ago
    assert len(told(engine, "noise", HOUR_S)["n1", "level"]) == 1
    assert len(told(engine, "noise", DAY_S)["n1", "level"]) == 5
    assert len(told(engine, "climate")["c", "temperature_c"]) == 1
    with engine.connect() as connection:
        ids = connection.exec_driver_sql("SELECT id FROM events").scalars().all()
    assert list(ids) == ["open"]


def test_a_day_of_spring_has_23_hours_where_the_clocks_go_forward(
    in_zone: Callable[[str], None],
) -> None:
    begins = ("2026-03-28T23:00:00Z", "2026-03-29T04:00:00Z", "2026-03-28T18:15:00Z")
    for zone, begin, hours in zip(ZONES, map(parse_ms, begins), (23, 24, 24), strict=True):
        in_zone(zone)
        assert start_of(DAY_S, NOON) == begin
        assert end_of(DAY_S, begin) - begin == hours * 3_600_000


def test_each_process_goes_by_the_zone_of_its_city(in_zone: Callable[[str], None]) -> None:
    in_zone(ZONES[0])
    orders = {"settings": {"city": {"zone": ZONES[1]}}}
    process._settings("notifier", orders)
    assert times.zone_name() == ZONES[1]
    with pytest.raises(ValueError, match="no time zone `Europe/Aarhus`"):
        process._settings("notifier", {"settings": {"city": {"zone": "Europe/Aarhus"}}})
