"""A host may move the bounds by which people are judged, but not so often that it tells values."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import pytest
from flask import Flask
from sqlalchemy import Engine

from citywise.apps.meeting_mgr.api import rights
from citywise.apps.meeting_mgr.model import Move, Person, Room, Rules, Sensor, Threshold
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.steps import bounds, consent, editing
from citywise.apps.meeting_mgr.steps.bounds import MOST_MOVES, WITHIN_MS
from citywise.apps.meeting_mgr.steps.drafts import Changes
from citywise.apps.meeting_mgr.steps.sharing import unasked
from citywise.apps.meeting_mgr.telling import person_channel
from citywise.backend.settings import Settings
from tests.api.browsers import Browser
from tests.meeting_mgr.hosted import Json, join, me, of, show
from tests.meeting_mgr.kept import Kept
from tests.meeting_mgr.made import MINUTE_MS, NOW_MS, person, record

HOUR_MS = 60 * MINUTE_MS


@pytest.fixture(autouse=True)
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """No two requests come in the same millisecond."""
    ticks = count(NOW_MS, 10)
    monkeypatch.setattr(rights, "times", SimpleNamespace(wall_ms=lambda: next(ticks)))


def changed(found: MeetingRecord, now_ms: int, **changes: Any) -> MeetingRecord:
    return editing.edit(found, Changes(**changes), now_ms).record


def moved(found: MeetingRecord, *times: int, sensor: Sensor = "noise") -> MeetingRecord:
    """A meeting with a sensor's bound put to another place at each of some times."""
    for now_ms in times:
        upper = found.meeting.rules.thresholds[sensor].upper or 0
        rules = Rules(thresholds={sensor: Threshold(upper=upper + 1)})
        found = changed(found, now_ms, rules=rules)
    return found


def sharing(*sensors: Sensor, since_ms: int = NOW_MS) -> Person:
    return person(sharing=sensors, shared_ms=dict.fromkeys(sensors, since_ms))


def asked_anew(*times: int, since_ms: int = NOW_MS) -> dict[Sensor, str]:
    """What ends for who shares noise and motion when the bound of noise moves at some times."""
    found = moved(record("running"), *times[:-1])
    bob = sharing("noise", "motion", since_ms=since_ms)
    return dict(unasked(found, moved(found, times[-1]), bob))


def test_whatever_shifts_where_a_state_changes_moves_a_bound() -> None:
    found = record()
    for threshold in (
        Threshold(upper=81, hysteresis=5),
        Threshold(upper=80, hysteresis=4),
        Threshold(upper=80, lower=10, hysteresis=5),
        Threshold(),
    ):
        after = changed(found, NOW_MS, rules=Rules(thresholds={"noise": threshold}))
        assert after.meeting.moves == (Move(sensor="noise", at_ms=NOW_MS),)
    for room in (Room(name="B", lat=56.1501, lon=10.2), Room(name="B")):
        after = changed(found, NOW_MS, room=room)
        assert after.meeting.moves == (Move(sensor="distance", at_ms=NOW_MS),)


def test_what_shifts_no_state_moves_none() -> None:
    found = record()
    same = dict(found.meeting.rules.thresholds)
    renamed = found.meeting.room.model_copy(update={"name": "C"})
    rules = Rules(thresholds=same, dwell_s=1)
    for changes in ({"rules": rules}, {"title": "B"}, {"room": renamed}):
        assert changed(found, NOW_MS, **changes).meeting.moves == ()


def test_the_third_move_within_an_hour_ends_the_sharing_of_that_sensor_alone() -> None:
    assert asked_anew(NOW_MS + 1) == asked_anew(NOW_MS + 1, NOW_MS + 2) == {}
    assert asked_anew(NOW_MS + 1, NOW_MS + 2, NOW_MS + HOUR_MS) == {"noise": "bounds"}


def test_moves_that_are_an_hour_apart_end_nothing() -> None:
    times = [NOW_MS + n * (HOUR_MS // 2 + 1) for n in range(8)]
    assert asked_anew(*times) == {}


def test_moves_before_somebody_shared_do_not_count_for_them() -> None:
    times = [NOW_MS + n for n in (1, 2, 3, 4)]
    assert asked_anew(*times, since_ms=NOW_MS + 2) == {"noise": "bounds"}
    assert asked_anew(*times, since_ms=NOW_MS + 3) == {}


def test_a_clock_that_is_put_back_forgets_no_move() -> None:
    times = (NOW_MS + HOUR_MS, NOW_MS + HOUR_MS + 1, NOW_MS + 1)
    assert asked_anew(*times) == {"noise": "bounds"}


def test_a_room_that_creeps_is_a_bound_that_moves() -> None:
    found = record("running")
    for n in range(MOST_MOVES):
        before = found
        room = Room(name="B", lat=56.15 + (n + 1) * 0.0001, lon=10.2)
        found = changed(found, NOW_MS + n + 1, room=room)
    assert unasked(before, found, sharing("distance")) == {"distance": "bounds"}


def test_moves_are_kept_for_an_hour_and_only_as_many_as_matter() -> None:
    many = moved(record(), *range(NOW_MS, NOW_MS + 20))
    last = [Move(sensor="noise", at_ms=NOW_MS + n) for n in (17, 18, 19)]
    assert list(many.meeting.moves) == last
    later = moved(many, NOW_MS + 2 * HOUR_MS, sensor="motion")
    assert list(later.meeting.moves) == [Move(sensor="motion", at_ms=NOW_MS + 2 * HOUR_MS)]


def test_the_host_is_told_how_often_a_bound_can_still_be_moved() -> None:
    def left(*times: int, now_ms: int = NOW_MS + 5) -> tuple[int, int] | None:
        return bounds.left(moved(record(), *times).meeting, "noise", now_ms)

    assert left() is None
    assert left(NOW_MS) == (1, NOW_MS + WITHIN_MS)
    assert left(NOW_MS, NOW_MS + 1) == (0, NOW_MS + WITHIN_MS)
    assert left(NOW_MS, NOW_MS + 1, NOW_MS + 2) == (0, NOW_MS + 1 + WITHIN_MS)
    assert left(NOW_MS, now_ms=NOW_MS + WITHIN_MS) is None


def test_what_was_ended_is_shared_again_only_by_who_knows_that() -> None:
    found = record("running")
    ended = consent.cease(found, sharing("noise", "light"), {"noise": "bounds"}, NOW_MS)
    (bob,) = ended.people
    assert (bob.sharing, [one.sensor for one in bob.ended]) == (("light",), ["noise"])
    (stale,) = consent.share(found, bob, ("noise", "motion"), NOW_MS + 1).people
    assert (stale.sharing, stale.ended) == (("motion",), bob.ended)
    (knowing,) = consent.share(found, bob, ("noise",), NOW_MS + 2, ("noise",)).people
    assert (knowing.sharing, knowing.ended) == (("noise",), ())
    assert knowing.shared_ms == {"noise": NOW_MS + 2}


def test_what_is_shared_on_is_shared_since_it_was() -> None:
    step = consent.share(record(), sharing("noise"), ("motion", "noise"), NOW_MS + 9)
    assert step.people[0].shared_ms == {"noise": NOW_MS, "motion": NOW_MS + 9}


def test_who_only_notes_an_ending_takes_nothing_out_of_the_minutes() -> None:
    found = record("running")
    (bob,) = consent.cease(found, sharing("noise"), {"noise": "bounds"}, NOW_MS).people
    step = consent.share(found, bob, (), NOW_MS + 1, ("noise",))
    assert (step.people[0].ended, step.forgets) == ((), frozenset())
    assert consent.share(found, bob, (), NOW_MS + 1).forgets


# --- Over HTTP -----------------------------------------------------------------------------------


def move(alice: Browser, meeting: Json, upper: float) -> Json:
    """The host moves the bound of noise; the meeting after it."""
    rules = {"thresholds": {"noise": {"upper": upper}}}
    body = {"version": show(alice, meeting)["version"], "rules": rules}
    answer = alice.patch(of(meeting), body)
    assert answer.status_code == 200, answer.json
    return cast("Json", answer.json)


def own(browser: Browser, meeting: Json) -> Json:
    return cast("Json", browser.get(me(meeting)).json)


def test_whose_sharing_is_ended_is_told_why_and_asked_anew(
    alice: Browser, bob: Browser, meeting: Json
) -> None:
    bob.put(f"{me(meeting)}/sharing", {"sensors": ["noise", "light"]})
    left = [move(alice, meeting, upper)["moved"]["noise"]["left"] for upper in (70, 71)]
    assert (left, own(bob, meeting)["me"]["ended"]) == ([1, 0], [])
    move(alice, meeting, 72)
    seen = own(bob, meeting)
    (ended,) = seen["me"]["ended"]
    assert (seen["me"]["sharing"], ended["sensor"], ended["because"]) == (
        ["light"],
        "noise",
        "bounds",
    )
    assert seen["rules"]["thresholds"]["noise"]["upper"] == 72
    stale = bob.put(f"{me(meeting)}/sharing", {"sensors": ["noise", "light"]}).json["me"]
    assert (stale["sharing"], len(stale["ended"])) == (["light"], 1)
    again = {"sensors": ["noise", "light"], "noted": ["noise"]}
    anew = bob.put(f"{me(meeting)}/sharing", again).json["me"]
    assert (anew["sharing"], anew["ended"]) == (["noise", "light"], [])


def test_whose_sharing_is_ended_hears_of_it_with_the_move_that_ends_it(
    alice: Browser, bob: Browser, meeting: Json, engine: Engine, settings: Settings
) -> None:
    bob.put(f"{me(meeting)}/sharing", {"sensors": ["noise"]})
    heard = [
        (move(alice, meeting, upper), Kept(engine, settings).told(person_channel(str(bob.user))))
        for upper in (70, 71, 72)
    ]
    assert [changes[-1] for _meeting, changes in heard] == ["edited", "edited", "sharing"]
    assert heard[-1][1][-2] == "edited"


def test_who_has_shared_for_a_shorter_time_shares_on(
    app: Flask, alice: Browser, bob: Browser, meeting: Json
) -> None:
    charlie = join(app, meeting, "Charlie")
    for upper, browser in ((70, bob), (71, None), (72, charlie), (73, None)):
        if browser is not None:
            browser.put(f"{me(meeting)}/sharing", {"sensors": ["noise"]})
        move(alice, meeting, upper)
    assert [own(each, meeting)["me"]["sharing"] for each in (bob, charlie)] == [[], ["noise"]]


def test_the_host_is_not_told_who_shares_what(alice: Browser, bob: Browser, meeting: Json) -> None:
    before = move(alice, meeting, 70)
    bob.put(f"{me(meeting)}/sharing", {"sensors": ["noise"]})
    after = show(alice, meeting)
    assert after["moved"] == before["moved"]
    assert not {"sharing", "ended", "sensors"} & after["people"][0].keys()
