"""A field that is called otherwise, or measured in another unit, keeps what is known of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError
from sqlalchemy import Engine, insert, select

from citywise.backend import history
from citywise.backend.history import FIVE_MINUTES_S, RAW, Question
from citywise.backend.kinds import Kind, Kinds, files, installed
from citywise.backend.kinds.observation import Reader
from citywise.backend.store import heartbeat
from citywise.backend.store.models import ReadingRow
from citywise.backend.times import iso, parse_ms
from citywise.reasoning import Finding
from tests.databases import begun
from tests.history.recorded import Told, append, write

NOON = parse_ms("2026-03-29T12:00:00Z")
BEFORE = """\
kind = "warmth"
places = ["station"]

[fields.temp]
type = "decimal"
unit = "[degF]"
step = 0.1

[fields.lid]
type = "boolean"
"""
AFTER = """\
kind = "warmth"
places = ["station"]

[fields.temperature_c]
type = "decimal"
unit = "Cel"
step = 0.1
was = "temp"
was_unit = "[degF]"

[fields.is_open]
type = "boolean"
was = "lid"
"""


def kind_of(text: str) -> Kind:
    findings: list[Finding] = []
    found = files.parse(text, "warmth.toml", findings)
    assert isinstance(found, Kind), findings
    return found


def installed_in(engine: Engine, text: str) -> None:
    installed.install(engine, Kinds().with_kinds(kind_of(text)))


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """Where warmth was measured in degrees Fahrenheit."""
    engine = begun(f"sqlite:///{tmp_path / 'citywise.db'}")
    with engine.begin() as connection:
        heartbeat.beat(connection, "ingest", {"now_ms": NOON})
    installed_in(engine, BEFORE)
    return engine


def told(engine: Engine, span_s: int = RAW) -> dict[tuple[str, str], list[tuple[float, ...]]]:
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    with engine.connect() as connection:
        asked = Question("warmth", 0, 2**45, span_s=span_s)
        for p in history.points(connection, asked, 10**6):
            numbers = (p.value,) if span_s == RAW else (p.number, p.low, p.high, p.total)
            rounded = tuple(round(float(one), 6) for one in numbers if one is not None)
            found.setdefault((p.sensor, p.field), []).append(rounded)
    return found


def test_a_message_may_call_a_field_as_it_was_called_and_measure_it_so() -> None:
    reader = Reader(kind_of(AFTER))
    head = f'"sensor": "s1", "observed_at": "{iso(NOON)}"'
    assert reader.one(f'{{{head}, "temp": 212, "lid": true}}'.encode()).values == {
        "temperature_c": 100.0,
        "is_open": True,
    }
    both = reader.one(f'{{{head}, "temp": 212, "temperature_c": 21.0}}'.encode())
    assert (both.values["temperature_c"], both.extra) == (21.0, {"temp": 212})
    some = f'[{{{head}, "temp": 32}}, {{{head}, "temperature_c": 1.26}}]'.encode()
    assert [one.values["temperature_c"] for one in reader.several(some)] == [0.0, 1.3]
    with pytest.raises(ValidationError, match="temperature_c"):
        reader.one(f'{{{head}, "temp": "212"}}'.encode())


def test_history_and_the_latest_reading_go_with_the_name(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "log"
    readings: list[Told] = [
        ("warmth", "s1", NOON, {"temp": 212.0, "lid": True}),
        ("warmth", "s1", NOON + 60_000, {"temp": 32.0, "lid": None}),
    ]
    append(folder, readings)
    write(engine, folder)
    row = {"kind": "warmth", "place_id": "s1", "observed_ms": NOON, "change": 1}
    with engine.begin() as connection:
        connection.execute(insert(ReadingRow).values({**row, "body": {"temp": 32.0, "lid": True}}))
    for _start in range(2):  # what has been done is not done again
        installed_in(engine, AFTER)
        assert told(engine) == {
            ("s1", "temperature_c"): [(100.0,), (0.0,)],
            ("s1", "is_open"): [(1.0,)],
        }
        rolled = told(engine, FIVE_MINUTES_S)["s1", "temperature_c"]
        assert rolled == [(2.0, 0.0, 100.0, 100.0)]
        with engine.connect() as connection:
            body = connection.scalar(select(ReadingRow.body))
        assert body == {"temperature_c": 0.0, "is_open": True}
    # What the log still has to tell by the former name, and what comes by the new one.
    append(folder, [("warmth", "s1", NOON + 120_000, {"temp": 50.0, "lid": None})])
    append(folder, [("warmth", "s1", NOON + 180_000, {"temperature_c": 20.0, "is_open": None})])
    write(engine, folder)
    assert told(engine)["s1", "temperature_c"] == [(100.0,), (0.0,), (10.0,), (20.0,)]
    assert told(engine, FIVE_MINUTES_S)["s1", "temperature_c"] == [(4.0, 0.0, 100.0, 130.0)]


def test_a_sensor_that_had_both_fields_keeps_both(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "log"
    installed_in(engine, BEFORE + '\n[fields.temperature_c]\ntype = "decimal"\nunit = "Cel"\n')
    append(folder, [("warmth", "s1", NOON, {"temp": 50.0, "lid": None, "temperature_c": 9.9})])
    append(folder, [("warmth", "s2", NOON, {"temp": 50.0, "lid": None, "temperature_c": None})])
    write(engine, folder)
    installed_in(engine, AFTER)
    assert told(engine) == {
        ("s1", "temp"): [(50.0,)],
        ("s1", "temperature_c"): [(9.9,)],
        ("s2", "temperature_c"): [(10.0,)],
    }


def test_a_kind_whose_field_cannot_have_been_that_stays_and_why_is_said(
    engine: Engine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    append(tmp_path / "log", [("warmth", "s1", NOON, {"temp": 50.0, "lid": None})])
    write(engine, tmp_path / "log")
    for _start in range(2):
        installed_in(engine, AFTER.replace('was_unit = "[degF]"\n', ""))
        assert told(engine) == {("s1", "temp"): [(50.0,)]}
        with engine.connect() as connection:
            assert set(installed.read(connection)["warmth"].fields) == {"temp", "lid"}
    assert 'fields.temperature_c.was_unit: `temp` is in [degF]; write `was_unit = "[degF]"`' in (
        caplog.text
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('was = "temp"', 'was = "is_open"', "there is a field `is_open` now; remove `was`"),
        ('was = "lid"', 'was = "temp"', "two were called the same before"),
        ('"[degF]"', '"m"', "m cannot be converted to Cel"),
        ('was = "temp"\n', "", "of which field?"),
        ('was = "lid"', 'was = "lid"\nwas_unit = "m"', "a field of type boolean has none"),
    ],
)
def test_a_former_name_that_cannot_be_is_a_fault_of_the_file(old: str, new: str, said: str) -> None:
    findings: list[Finding] = []
    assert files.parse(AFTER.replace(old, new), "warmth.toml", findings) is None
    assert any(said in found.message for found in findings), findings


def test_places_are_told_anew() -> None:
    findings: list[Finding] = []
    place = 'place = "rack"\ngeometry = "point"\n[fields.n]\ntype = "integer"\nwas = "m"\n'
    assert files.parse(place, "rack.toml", findings) is None
    assert "places are told anew" in findings[0].message
