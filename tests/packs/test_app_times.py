"""Templates that remember, and that look at the time (docs/apps.md, Time in rules)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from citywise.backend.cli import cli
from citywise.backend.machine import REPOSITORY
from citywise.backend.packs.run import TemplateRun, serves
from tests.packs.test_run import (
    BEGINNING,
    GARAGE,
    LASTING,
    Happening,
    instance,
    log,
    position,
    reading,
    steps_of,
    template,
)

EXAMPLE = REPOSITORY / "examples" / "bad_air"
FULL: Happening = reading("parking", "g", occupied=8, capacity=9)
FREE: Happening = reading("parking", "g", occupied=2, capacity=9)


def citywise(*arguments: object) -> str:
    return CliRunner().invoke(cli, [*map(str, arguments)]).output


@pytest.fixture
def app(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLE, tmp_path / "bad_air")
    return tmp_path / "bad_air"


def test_the_example_is_sound_and_does_what_its_scenario_expects(app: Path) -> None:
    assert citywise("check", app) == ""
    assert "first: 4 notices as expected" in citywise("app", "test", app)


@pytest.mark.parametrize(
    ("name", "said"),
    [("rain_commute", "week: 4"), ("school_speed", "day: 8"), ("doubted_noise", "morning: 5")],
)
def test_the_other_examples_are_sound_and_do_what_they_say(name: str, said: str) -> None:
    example = REPOSITORY / "examples" / name
    assert citywise("check", example) == ""
    assert f"{said} notices as expected" in citywise("app", "test", example)


def test_it_is_explained_how_long_is_left(app: Path) -> None:
    asked = ["--instance", "alice.air", "--notice", "bad_air", "--about", "park"]
    text = citywise("app", "why", app, "first", *asked, "--at", "2026-05-04T07:32:00Z")
    assert "that is 27 min; you asked for at least 30 min: in 3 min, unless a reading" in text
    text = citywise("app", "why", app, "first", *asked, "--at", "2026-05-04T07:36:00Z")
    assert "has held since 2026-05-04T07:05:00Z, that is 31 min; you asked for at least" in text
    assert "it is 2026-05-04T07:36:00Z" in text
    assert "citywise_" not in text
    text = citywise("app", "why", app, "first", *asked, "--at", "2026-05-04T10:10:00Z")
    assert "held last at 2026-05-04T08:09:59Z, that is 2 h 1 s ago; you asked for less" in text


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("old(Me,N) :- since_bad(Me,_,_), now(N).", "it would change with every second"),
        ("old(Me) :- since_bad(Me,_,T), now(N), V = N-T, V > 5.", "write it as `N-T >= D`"),
        ("old(Me) :- since_bad(Me,_,T), now(N), N*2 > T.", "write it as `N-T >= D`"),
        ("old(Me) :- since_bad(Me,_,T), not now(T).", "gives a time to comparisons"),
        ("old :- since_bad(_,_,T), now(N), N > T+5.", "derives one atom of an instance"),
        ("#held station/2.", "a template remembers what its rules derive of an instance"),
        ("#last dark/0 1d. dark :- time_of_day(M), M > 1200.", "which is the first argument"),
        ("#last bad/2.", "say after how long it is forgotten, e.g. `#last bad/2 1d`"),
        ("now(5) :- time_of_day(5).", "`now/1` is told by the framework"),
    ],
)
def test_check_finds_what_a_template_cannot_remember_or_nobody_could_foresee(
    app: Path, rule: str, said: str
) -> None:
    rules = app / "templates" / "bad_air.casp"
    rules.write_text(f"{rules.read_text()}\n{rule}\n")
    assert said in citywise("check", app)


def test_each_instance_remembers_for_itself() -> None:
    happenings: list[Happening] = [
        GARAGE, instance("a", radius=500), position("a", 10.198), FULL, 1,
        instance("b", radius=500), position("b", 10.198), 1, 1, 1,
    ]  # fmt: skip
    found = steps_of(TemplateRun(LASTING), log(happenings))
    opened = [(c["instance"], t) for t, c in found if c["change"] == "opened"]
    assert [name for name, _t in opened] == ["a.jam", "b.jam"]
    assert opened[1][1] - opened[0][1] == 60_000


def test_an_instance_that_was_removed_is_forgotten() -> None:
    run = TemplateRun(LASTING)
    happenings: list[Happening] = [
        GARAGE, instance("a", radius=500), position("a", 10.198), FULL, 1, 1,
    ]  # fmt: skip
    steps_of(run, log(happenings))
    assert list(run.state(0)["memory"]["keys"]) == ['"a.jam"']
    steps_of(run, log([*happenings, ("instance", "a.jam", None), 1])[len(happenings) :])
    assert run.state(0)["memory"]["keys"] == {}


def test_parts_remember_together_what_one_run_does() -> None:
    happenings: list[Happening] = [GARAGE, *BEGINNING, FULL, 1, FREE, 2, FULL, 3]
    entries = log(happenings)
    whole = TemplateRun(LASTING)
    steps = steps_of(whole, entries)
    parts = [TemplateRun(LASTING, users=serves(number, 3)) for number in range(3)]
    split = [step for part in parts for step in steps_of(part, entries)]
    assert sorted(split, key=str) == sorted(steps, key=str)
    memories = [part.state(0)["memory"]["keys"] for part in parts]
    together = {key: kept for memory in memories for key, kept in memory.items()}
    assert together == whole.state(0)["memory"]["keys"]


def test_what_is_remembered_must_be_about_an_instance() -> None:
    rules = """
    #held full/1.
    full(P) :- city_occupiedPlaces(P,N), N > 5.
    notice(Me,"jam",P,1) :- radius(Me,R), near_me(Me,P,R), since_full(P,_).
    """
    run = TemplateRun(template(rules))
    happenings: list[Happening] = [GARAGE, *BEGINNING, FULL, 1]
    faults = [fault for entry in log(happenings) for s in run.take(entry) for fault in s.faults]
    assert any("the first argument of a predicate under `#held`" in fault for fault in faults)


def test_a_template_that_remembers_has_one_answer() -> None:
    rules = """
    #feedback full/2.
    { full(Me,P) } :- radius(Me,R), near_me(Me,P,R), city_occupiedPlaces(P,N), N > 5.
    notice(Me,"jam",P,1) :- full(Me,P), prev_full(Me,P).
    """
    run = TemplateRun(template(rules))
    happenings: list[Happening] = [GARAGE, *BEGINNING, FULL, 1]
    faults = [fault for entry in log(happenings) for s in run.take(entry) for fault in s.faults]
    assert any("it remembers, and has 2 answers" in fault for fault in faults)
