"""A day of a real office, replayed as a room's sensors by the clock of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from citywise.apps.meeting_mgr.capabilities import Capabilities, Situation
from citywise.apps.meeting_mgr.model import (
    Ability,
    Capability,
    PersonState,
    Presence,
    Rules,
    Sensor,
    Threshold,
)
from citywise.apps.meeting_mgr.readings import RoomReading, observed_in_room
from citywise.apps.meeting_mgr.replaying import Row, rows
from citywise.backend.times import iso, to_ms

DWELLS_S = (10, 300, 600)
NOISE = Threshold(upper=60, hysteresis=3)
LIGHT = Threshold(lower=150, hysteresis=30)
"""The office is never as loud as 80 dB."""
Told = tuple[int, dict[Sensor, float]]
Turn = tuple[int, Ability | Presence]


@dataclass
class Replayed:
    """Somebody in the room, and when what they can do changed."""

    situation: Situation
    turns: dict[Capability, list[Turn]] = field(default_factory=lambda: {"read": [], "speak": []})

    def due_ms(self) -> int:
        """When to look again."""
        return self.situation.state.due_ms or 0


def day(data_pack: Path, name: str, date: str) -> list[Told]:
    """What a room's sensors tell on a day."""
    path = data_pack / "iot" / name
    if not path.is_file():
        pytest.skip(f"no {path}: the data pack has no office")
    begin = datetime.fromisoformat(date).replace(tzinfo=UTC)
    begin_ms, end_ms = to_ms(begin), to_ms(begin + timedelta(days=1))
    return [_told(row) for row in rows(path) if begin_ms <= row.at_ms < end_ms]


def _told(row: Row) -> Told:
    told = RoomReading.model_validate({"at": iso(row.at_ms), "values": row.values})
    return told.at, observed_in_room(told)


def replayed(told: Sequence[Told]) -> list[Replayed]:
    """Somebody for each dwell time, all through a day, looked at whenever that is due."""
    sharing: frozenset[Sensor] = frozenset(
        sensor for sensor in ("noise", "light") if sensor in told[0][1]
    )
    people = [Replayed(_situation(dwell_s, sharing, told[0][0])) for dwell_s in DWELLS_S]
    capabilities = Capabilities()
    for at_ms, values in told:
        while due := [person for person in people if 0 < person.due_ms() < at_ms]:
            _look(capabilities, min(person.due_ms() for person in due), due)
        for person in people:
            seen = {sensor: (value, at_ms) for sensor, value in values.items()}
            person.situation = replace(
                person.situation, observed={**person.situation.observed, **seen}
            )
        _look(capabilities, at_ms, people)
    return people


def _situation(dwell_s: int, sharing: frozenset[Sensor], joined_ms: int) -> Situation:
    rules = Rules(thresholds={"noise": NOISE, "light": LIGHT}, dwell_s=dwell_s, silent_s=3600)
    return Situation(f"p{dwell_s}", "m", rules, sharing, PersonState(), {}, joined_ms)


def _look(capabilities: Capabilities, now_ms: int, people: Sequence[Replayed]) -> None:
    found = capabilities.evaluate(now_ms, [person.situation for person in people])
    for person in people:
        concluded = found[person.situation.person]
        person.situation = replace(person.situation, state=concluded.state)
        for change in concluded.changes:
            if change.of in person.turns and change.before != "unknown":
                person.turns[change.of].append((now_ms, change.after))


def directly(
    values: Sequence[tuple[int, float]], threshold: Threshold, dwell_ms: int
) -> list[Turn]:
    """When an ability turns that one sensor decides, computed from its values alone."""
    turns: list[Turn] = []
    is_out = was_out = False
    changed_ms: int | None = None
    for number, (at_ms, value) in enumerate(values):
        over_ms = at_ms if changed_ms is None else changed_ms + dwell_ms
        if is_out != was_out and over_ms < at_ms:
            was_out, changed_ms = is_out, over_ms
            turns.append((over_ms, "off" if is_out else "on"))
        inset = threshold.hysteresis if is_out else 0
        low = threshold.lower is not None and value <= threshold.lower + inset
        high = threshold.upper is not None and value >= threshold.upper - inset
        is_out = low or high
        if number == 0:
            was_out = is_out
        elif is_out != was_out and (changed_ms is None or changed_ms + dwell_ms <= at_ms):
            was_out, changed_ms = is_out, at_ms
            turns.append((at_ms, "off" if is_out else "on"))
    return turns


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("office_occupancy_2015-02-04_10.csv.gz", "2015-02-08"),
        ("room_occupancy_estimation_2017-12.csv.gz", "2017-12-22"),
    ],
)
def test_no_ability_changes_more_than_once_per_dwell_time_in_an_office(
    data_pack: Path, name: str, date: str
) -> None:
    """And all changes are those of a direct computation, at the same times."""
    told = day(data_pack, name, date)
    for person in replayed(told):
        dwell_ms = round(person.situation.rules.dwell_s * 1000)
        for capability, sensor, threshold in (("read", "light", LIGHT), ("speak", "noise", NOISE)):
            turns = person.turns[capability]
            values = [(at_ms, found[sensor]) for at_ms, found in told if sensor in found]
            assert turns == directly(values, threshold, dwell_ms)
            assert all(later - first >= dwell_ms for (first, _), (later, _) in pairwise(turns))
        assert any(person.turns.values())
