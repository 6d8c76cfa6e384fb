"""A tormented city ends as an undisturbed one, and the oracle for it reads durations rightly."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from citywise.apps.meeting_mgr.entries import AbilityChanged, Decided, Entry
from citywise.backend.city.simulation import START, Simulation
from citywise.backend.ingest.records import Standing
from citywise.backend.packs.check import check_pack, checked
from citywise.backend.pipeline.played import Played
from citywise.backend.pipeline.recorded import entries
from citywise.backend.times import to_ms
from citywise.reasoning.engines.clingo.guard import Guard
from citywise.reasoning.errors import SolvingError
from tests.torture import timed
from tests.torture.__main__ import said, tormented
from tests.torture.city import LEAD_IN, City, Found
from tests.torture.people import Meeting, compare
from tests.torture.restarts import WAYS, Restarting, Restarts


def told(folder: Path, source: Simulation) -> list[timed.Told]:
    """What the templates tell of a city without a broker, a log, Spark and a database."""
    app = timed.write(folder, 1)
    assert check_pack(app) == []
    played = Played(source.places(), checked(app).templates, None)
    for name in timed.TEMPLATES:
        body = {"app": timed.APP, "template": name, "version": 1, "user": "anna"}
        played._stand(Standing("instance", name, {**body, "values": timed.values(name)}, 0))
    found = (one for entry in entries(source) for one in played.take(entry))
    return [
        (t, body["template"], body["version"], body["change"], body["about"]["id"])
        for t, kind, body in found
        if kind == "notice"
    ]


def test_what_is_told_of_slow_roads_is_what_the_definitions_say(tmp_path: Path) -> None:
    until = START + timedelta(hours=2)
    source = Simulation(3, START, until, LEAD_IN)
    wanted = timed.due(source, [to_ms(until) + 1000], [timed.Life(1, 0, None)])
    got = told(tmp_path, source)
    assert sorted(got) == wanted
    found = Found()
    found.told(got, wanted, {step.ms for step in source.steps()})
    assert found.is_right
    assert found.by_timer > 3


def test_the_oracle_sees_what_is_lost_doubled_and_early() -> None:
    wanted = [(60_000, "lasting", 1, "opened", "r1"), (90_000, "lasting", 1, "closed", "r1")]
    hasty = [(59_000, *wanted[0][1:]), wanted[1], wanted[1]]
    found = Found()
    found.told(hasty, wanted, set())
    assert (found.lost, found.doubled, found.early) == (1, 2, 1)
    assert not found.is_right


def test_what_is_right_is_computed_again_where_the_solver_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    city = City(3, START + timedelta(minutes=10))
    right, answer_sets, asked = city.events(), Guard.evaluate, 0

    def fails_once(*given: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked == 10:
            raise SolvingError("its process was killed")
        return answer_sets(*given)

    def fails(*_given: object) -> None:
        raise SolvingError("there is no memory")

    monkeypatch.setattr(Guard, "evaluate", fails_once)
    assert city.events() == right
    assert asked > 10
    monkeypatch.setattr(Guard, "evaluate", fails)
    with pytest.raises(AssertionError, match="there is no memory"):
        city.events()


def test_what_is_lost_doubled_or_early_on_a_way_is_seen() -> None:
    minute = 60_000
    due = [(minute, "opened", "e1"), (9 * minute, "closed", "e1"), (30 * minute, "opened", "e2")]

    def found(*got: tuple[int, str, str]) -> tuple[int, int, int]:
        seen = Found()
        compare(seen, got, due)
        return seen.lost, seen.doubled, seen.early

    opened, closed = (3 * minute, "opened", "e1"), (9 * minute, "closed", "e1")
    assert found(opened, closed) == (0, 0, 0)
    assert found(opened, closed, (32 * minute, "opened", "e2")) == (0, 0, 0)
    assert found(closed) == (1, 0, 0)
    assert found(opened, opened, closed) == (0, 1, 0)
    assert found(opened, (8 * minute, "closed", "e1")) == (0, 0, 1)


def test_a_meeting_in_which_something_is_lost_or_told_twice_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def meeting(kept: list[str], states: list[Any], told: int) -> list[str]:
        bodies = [AbilityChanged(capability="speak", state=state) for state in states]
        entries = [Entry(0, body, "dan") for body in bodies]
        entries += [Entry(0, Decided(index=number)) for number in range(told)]
        found = Meeting.__new__(Meeting)
        found.decided, found.noise, found.error = ["a", "b"], ["off", "on"], None
        shown = {"decisions": [{"text": text} for text in kept]}
        monkeypatch.setattr(Meeting, "_shown", lambda _self: shown)
        monkeypatch.setattr(Meeting, "_entries", lambda _self: iter(entries))
        return list(found.differences())

    assert meeting(["a", "b"], ["off", "on"], 2) == []
    assert meeting(["a", "b"], ["off", "unknown", "off", "on", "unknown"], 2) == []
    assert "1 are there" in meeting(["a"], ["off", "on"], 2)[0]
    assert "3 are there" in meeting(["a", "b", "b"], ["off", "on"], 2)[0]
    assert "3 of 2 decisions" in meeting(["a", "b"], ["off", "on"], 3)[0]
    assert "told twice" in meeting(["a", "b"], ["off", "off", "on"], 2)[0]
    assert "1 are told" in meeting(["a", "b"], ["off"], 2)[0]


def test_what_is_wrong_is_told_with_the_line_that_does_it_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    restarts = Restarts(7, 20, {"killed": 2}, [1.5])
    restarts.found.lost, restarts.found.differences = 1, ["lost: r1"]
    said(restarts)
    printed = capsys.readouterr()
    assert json.loads(printed.out)["done"] == {"killed": 2}
    line = "again: python -m tests.torture --seed 7 --restarts 20\n  lost: r1\n"
    assert printed.err == line


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(7200)
def test_20_restarts_of_the_whole_system_miss_double_and_hasten_nothing(tmp_path: Path) -> None:
    """Killed, stopped, upgraded, and restored after its log was damaged."""
    restarts = Restarting(tmp_path, 1, 20).run()
    assert restarts.is_right, [restarts.replay, restarts.error, *restarts.found.differences]
    assert sum(restarts.done.values()) == 20
    assert {*restarts.done} == {*WAYS}
    print(restarts)


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(3600)
def test_a_tormented_city_ends_as_an_undisturbed_one() -> None:
    found = tormented(1, 2.0)
    assert found.is_right, [found.replay, found.error, *found.found.differences]
    print(found)
