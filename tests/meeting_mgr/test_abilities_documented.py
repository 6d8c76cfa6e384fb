"""docs/meeting-manager-abilities.md says what readings mean, and what they take from people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

from citywise.apps.meeting_mgr.model import SENSORS, USUAL_THRESHOLDS, Reason, Threshold
from citywise.apps.meeting_mgr.readings import RoomValues, Values
from citywise.backend.machine import REPOSITORY
from tests.meeting_mgr.reference import REASONS, SENSORS_OF

PAGE = (REPOSITORY / "docs" / "meeting-manager-abilities.md").read_text(encoding="utf-8")


def table(head: str) -> Iterator[list[str]]:
    """The rows of the table whose head begins so."""
    (text,) = re.findall(rf"^\| {re.escape(head)} .*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    for row in text.splitlines():
        yield [cell.strip() for cell in row.strip("|").split("|")]


def test_every_field_sensor_and_usual_range_is_there() -> None:
    rows = {cells[1]: cells for cells in table("Field")}
    assert tuple(rows) == SENSORS
    fields = {name for cells in rows.values() for name in re.findall(r"`(\w+)`", cells[0])}
    assert fields == set(Values.model_fields)
    assert {sensor: _threshold(*cells[3:]) for sensor, cells in rows.items()} == USUAL_THRESHOLDS


def _threshold(bound: str, hysteresis: str) -> Threshold:
    sign, value = bound.split()
    told: dict[str, Any] = {"upper" if sign == "<" else "lower": float(value)}
    return Threshold(**told, hysteresis=float(hysteresis or 0))


def test_what_a_sensor_takes_and_what_that_is_called_is_there() -> None:
    taken = {sensor: (names.split(", "), reason) for sensor, names, reason in table("Sensor out")}
    assert taken == {
        sensor: (
            [what for what, sensors in SENSORS_OF.items() if sensor in sensors],
            f"`{REASONS.get(sensor, sensor)}`",
        )
        for sensor in SENSORS
        if sensor != "distance"
    }


def test_every_reason_and_what_rooms_tell_is_named() -> None:
    for name in (*get_args(Reason), *RoomValues.model_fields):
        assert f"`{name}`" in PAGE, name
