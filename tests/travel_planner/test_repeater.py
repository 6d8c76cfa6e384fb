"""Repeating trips are told of when something is to be told, once, over restarts too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine, select

from citywise.apps.travel_planner import repeats, trips
from citywise.apps.travel_planner.repeat_looks import Look, Looks
from citywise.apps.travel_planner.repeat_news import State, told
from citywise.apps.travel_planner.repeat_times import Pattern, Run, instant
from citywise.apps.travel_planner.repeater import Repeater
from citywise.apps.travel_planner.repeats import Content, Repeat
from citywise.apps.travel_planner.roads.conditions import Conditions
from citywise.apps.travel_planner.transit.kept import Kept
from citywise.backend.machine import REPOSITORY
from citywise.backend.notices.objects import notice_object
from citywise.backend.notices.wording import wordings
from citywise.backend.privacy.boxes import Boxes
from citywise.backend.settings import Settings
from citywise.backend.store.models import NoticeRow, OutboxRow
from citywise.backend.store.outbox import begin
from citywise.backend.times import ZONE, iso, parse_ms
from tests.api.templates import install, pack_of
from tests.api.town import Town
from tests.transit.oracle import Update
from tests.travel_planner.bus_town import DAY, BusTown
from tests.travel_planner.followed import FROM, TO, planner
from tests.travel_planner.test_lines_followed import late

MINUTE = 60_000
WEEKDAYS = Pattern(at="08:00", weekdays=(1, 2, 3, 4, 5))
ASKED = {"from": FROM, "to": TO, "mode": "car"}


@dataclass
class Told:
    """A way that departs when it is asked for and takes as long as a test says."""

    minutes: int = 30
    broken_at: str | None = None
    asked: list[tuple[str, bool]] = field(default_factory=list)
    """Days that were looked at, and whether a plan was told for them."""

    def look(
        self, asked: Any, at: Run, by: str, plan: dict[str, Any] | None, conditions: Conditions
    ) -> Look:
        self.asked.append((at.day.isoformat(), plan is not None))
        lasts = self.minutes * MINUTE
        departs = at.anchor_ms - lasts if by == "arrive" else at.anchor_ms
        plan = {"mode": "car", "departs": iso(departs), "arrives": iso(departs + lasts)}
        return Look(State(told(at.day.isoformat(), plan), broken_at=self.broken_at), plan)


@dataclass
class Scene:
    """A repeater over a real database, at the time that a test says."""

    engine: Engine
    boxes: Boxes
    looker: Any
    now_ms: int = 0
    repeater: Repeater = field(init=False)
    conditions: Callable[[int], Conditions] | None = None

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Another process takes over."""
        self.repeater = Repeater(self.engine, self.boxes, self.looker)

    def put(self, pattern: Pattern, asked: dict[str, Any] = ASKED) -> Repeat:
        made = repeats.new("alice", Content(pattern, asked, "Work"), self.now_ms)
        return self.save(made)

    def save(self, one: Repeat) -> Repeat:
        with self.engine.begin() as connection:
            begin(connection)
            return repeats.save(connection, self.boxes, one)

    def one(self) -> Repeat:
        with self.engine.connect() as connection:
            (found,) = repeats.of_user(connection, self.boxes, "alice")
        return found

    def until(self, local: str) -> list[str]:
        """Let time go on by the clocks of the city, and give the texts of what was told by then."""
        goal = round(
            datetime.fromisoformat(local).replace(tzinfo=ZoneInfo(ZONE)).timestamp() * 1000
        )
        before = len(self.texts())
        while self.now_ms < goal:
            due = self.one().due_ms
            self.now_ms = goal if due is None else min(goal, max(due, self.now_ms + 1))
            conditions = Conditions.calm(planner().city.network, self.now_ms)
            if self.conditions is not None:
                conditions = self.conditions(self.now_ms)
            self.repeater.step(conditions)
        return self.texts()[before:]

    def texts(self) -> list[str]:
        """When each notice was opened and what it says, the oldest first."""
        query = select(NoticeRow.__table__).order_by(NoticeRow.opened_ms)
        with self.engine.connect() as connection:
            rows = [dict(row) for row in connection.execute(query).mappings()]
            said = wordings(connection, rows)
            return [
                f"{_clock(row['opened_ms'])} {notice_object(row, said(row))['text']}"
                for row in rows
            ]

    def open(self) -> list[str]:
        with self.engine.connect() as connection:
            query = select(NoticeRow.kind).where(NoticeRow.closed_ms.is_(None))
            return list(connection.scalars(query))

    def alerts(self) -> int:
        with self.engine.connect() as connection:
            query = select(OutboxRow.body).where(OutboxRow.kind == "notice")
            return sum(bool(body["alert"]) for body in connection.scalars(query))


def _clock(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, ZoneInfo(ZONE)).strftime("%a %H:%M")


@pytest.fixture
def scene(engine: Engine, town: Town, settings: Settings) -> Scene:
    town.running()
    install(town, *pack_of(REPOSITORY / "apps" / "travel_planner").templates)
    return Scene(engine, trips.boxes_of(settings), Told(), parse_ms("2026-05-02T10:00:00Z"))


def test_the_first_is_told_the_evening_before_and_the_same_again_never(scene: Scene) -> None:
    scene.put(WEEKDAYS)
    assert scene.until("2026-05-08T12:00") == ["Sun 20:00 Work, 2026-05-04: 08:00–08:30"]
    assert scene.alerts() == 1
    assert scene.open() == []


def test_a_change_is_told_when_it_is_seen_with_what_changed_since(scene: Scene) -> None:
    scene.put(WEEKDAYS)
    scene.until("2026-05-04T06:00")
    scene.looker.minutes = 42
    assert scene.until("2026-05-04T07:30") == [
        "Mon 07:00 Work, 2026-05-04: 08:00–08:42. You arrive 12 min later"
    ]
    scene.looker.minutes = 44
    assert scene.until("2026-05-04T07:40") == []
    scene.looker.broken_at = "Harbour"
    assert scene.until("2026-05-04T08:10") == [
        "Mon 07:45 Work, 2026-05-04: 08:00–08:44. The change at Harbour does not hold"
    ]
    assert scene.open() == ["repeat_ahead"]
    scene.until("2026-05-04T10:00")
    assert scene.open() == []


def test_on_it_only_who_wants_to_is_told(scene: Scene) -> None:
    scene.put(replace(WEEKDAYS, underway=False))
    scene.until("2026-05-04T08:05")
    scene.looker.minutes = 60
    assert scene.until("2026-05-04T12:00") == []


def test_a_change_on_the_way_is_one_of_its_own(scene: Scene) -> None:
    scene.put(WEEKDAYS)
    scene.until("2026-05-04T08:05")
    scene.looker.minutes = 45
    found = scene.until("2026-05-04T08:20")
    assert found == ["Mon 08:06 Work, 2026-05-04: 08:00–08:45. You arrive 15 min later"]
    assert scene.open() == ["repeat_changed"]


def test_nothing_is_doubled_or_lost_by_restarts(scene: Scene) -> None:
    scene.put(WEEKDAYS)
    said = []
    for day in (3, 4, 5):
        for clock in ("19:59", "20:01", "23:00"):
            scene.restart()
            said += scene.until(f"2026-05-0{day}T{clock}")
    assert said == ["Sun 20:00 Work, 2026-05-04: 08:00–08:30"]


def test_what_was_missed_is_told_late_or_left_out_when_the_trip_is_over(scene: Scene) -> None:
    scene.put(WEEKDAYS)
    scene.now_ms = instant(date(2026, 5, 4), "06:10")  # away on Sunday evening
    assert scene.until("2026-05-04T06:11") == ["Mon 06:10 Work, 2026-05-04: 08:00–08:30"]
    scene.looker.minutes = 50
    scene.now_ms = instant(date(2026, 5, 5), "09:30")  # away on Tuesday morning
    assert scene.until("2026-05-05T12:00") == []
    assert scene.until("2026-05-06T12:00") == [
        "Tue 20:00 Work, 2026-05-06: 08:00–08:50. You arrive 20 min later"
    ]


def test_a_trip_made_when_its_time_is_over_is_told_of_from_the_next_one_on(scene: Scene) -> None:
    scene.now_ms = instant(date(2026, 5, 4), "09:00")
    scene.put(WEEKDAYS)
    assert scene.until("2026-05-05T12:00") == ["Mon 20:00 Work, 2026-05-05: 08:00–08:30"]


def test_a_trip_that_is_to_arrive_soon_is_told_before_one_leaves(scene: Scene) -> None:
    scene.now_ms = instant(date(2026, 5, 4), "06:30")
    scene.put(Pattern(at="08:00", by="arrive", weekdays=(1,)))
    assert scene.until("2026-05-04T06:31") == ["Mon 06:30 Work, 2026-05-04: 07:30–08:00"]
    assert scene.open() == ["repeat_ahead"]


def test_what_is_seen_on_the_way_in_silence_was_not_told(scene: Scene) -> None:
    scene.put(replace(WEEKDAYS, underway=False))
    scene.until("2026-05-04T07:30")
    scene.looker.minutes = 60
    scene.until("2026-05-04T12:00")
    assert scene.until("2026-05-04T20:01") == [
        "Mon 20:00 Work, 2026-05-05: 08:00–09:00. You arrive 30 min later"
    ]


def test_dates_may_lie_years_apart(scene: Scene) -> None:
    scene.put(Pattern(at="08:00", dates=("2026-05-04", "2027-12-01"), evening=None))
    scene.until("2026-05-04T12:00")
    assert scene.one().content.course.day == "2027-12-01"


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
def test_on_the_days_the_clocks_change_it_is_told_by_the_clocks(scene: Scene, day: str) -> None:
    begin = datetime.fromisoformat(day) - timedelta(days=1)
    scene.now_ms = parse_ms(f"{begin.date()}T06:00:00Z")
    scene.put(Pattern(at="08:00", dates=(day,), evening=None))
    assert scene.until(f"{day}T12:00") == [f"Sun 07:00 Work, {day}: 08:00–08:30"]
    assert scene.one().due_ms is None


def test_who_wants_to_be_there_at_a_time_is_told_before_they_leave(scene: Scene) -> None:
    scene.put(Pattern(at="08:00", by="arrive", weekdays=(1,), evening=None))
    assert scene.until("2026-05-04T12:00") == ["Mon 06:30 Work, 2026-05-04: 07:30–08:00"]


def test_days_left_out_and_pauses_are_not_told_of(scene: Scene) -> None:
    scene.put(replace(WEEKDAYS, skipped=("2026-05-04",)))
    assert scene.until("2026-05-04T12:00") == []
    assert scene.one().content.course.day == "2026-05-05"
    one = scene.one()
    paused = replace(one.content, pattern=replace(one.content.pattern, paused=True))
    scene.save(repeats.begun(one, paused, scene.now_ms))
    assert scene.until("2026-05-08T12:00") == []
    assert scene.looker.asked == []


def test_a_trip_that_was_changed_meanwhile_is_told_as_it_is_then(scene: Scene) -> None:
    made = scene.put(WEEKDAYS)
    renamed = replace(made.content, name="Office")

    class Renames(Told):
        def look(self, *asked: Any) -> Look:
            if scene.one().content.name != "Office":
                scene.save(repeats.begun(made, renamed, scene.now_ms))
            return super().look(*asked)

    scene.looker = Renames()
    scene.restart()
    assert scene.until("2026-05-03T21:00") == ["Sun 20:00 Office, 2026-05-04: 08:00–08:30"]


def test_one_that_cannot_be_looked_at_does_not_stop_the_others(scene: Scene) -> None:
    scene.put(WEEKDAYS)

    class Fails(Told):
        def look(self, *asked: Any) -> Look:
            if not self.asked:
                self.asked.append(("", False))
                raise RuntimeError("a test")
            return super().look(*asked)

    scene.looker = Fails()
    scene.restart()
    assert scene.until("2026-05-03T21:00") == ["Sun 20:01 Work, 2026-05-04: 08:00–08:30"]


# --- By line --------------------------------------------------------------------------------------


@pytest.fixture
def buses(scene: Scene, tmp_path: Path) -> BusTown:
    """The scene with two bus lines at noon of their only day (14:00 in the city)."""
    town = BusTown(tmp_path)
    kept = Kept(tmp_path, None)
    kept.transit = lambda _: town.transit  # type: ignore[method-assign,assignment]
    scene.looker = Looks(planner(), kept)
    scene.restart()
    scene.conditions = lambda now_ms: town.live.change(now_ms=now_ms)
    scene.now_ms = parse_ms("2014-08-04T12:00:00Z")
    scene.put(
        Pattern(at="14:30", dates=("2014-08-05",)), {"from": FROM, "to": TO, "mode": "transit"}
    )
    return town


FIRST = "Mon 20:00 Work, 2014-08-05: 14:35–14:48 (A, B)"


def test_a_cancelled_line_is_named_with_what_there_is_instead(scene: Scene, buses: BusTown) -> None:
    assert scene.until("2014-08-05T14:00") == [FIRST]
    buses.told(Update("A3", DAY, "CANCELED"))
    (text,) = scene.until("2014-08-05T14:20")
    assert "Cancelled: A 14:35 South. Leave 10 min later. You arrive 10 min later" in text


def test_a_change_that_breaks_on_the_way_is_told_with_the_next_one(
    scene: Scene, buses: BusTown
) -> None:
    scene.until("2014-08-05T14:37")
    buses.told(late("A3", "half", 5, 2))
    (text,) = scene.until("2014-08-05T14:41")
    assert "The change at Change does not hold" in text
    assert "You arrive 10 min later" in text


def test_a_delay_within_what_was_told_is_no_news(scene: Scene, buses: BusTown) -> None:
    scene.until("2014-08-05T14:00")
    buses.told(late("B3", "change", 1))
    assert scene.until("2014-08-05T15:30") == []
