"""`citywise app`: what an author does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from citywise.backend.app_commands import app as group
from citywise.backend.errors import CitywiseError
from citywise.backend.packs.check import check_pack, check_path
from citywise.backend.packs.scaffold import ScaffoldError, create, starters
from tests.packs.folders import AppFolder


def command(*arguments: str) -> tuple[int, str]:
    """Exit code and what was printed."""
    done = CliRunner().invoke(group, arguments)
    if isinstance(done.exception, CitywiseError):
        return done.exception.exit_code, f"citywise: {done.exception}"
    return done.exit_code, done.output


@pytest.mark.parametrize("starter", starters())
def test_a_new_app_is_sound_and_its_scenario_runs(tmp_path: Path, starter: str) -> None:
    code, said = command("new", "my_app", "--template", starter, "--dir", str(tmp_path))
    folder = tmp_path / "my_app"
    assert (code, said.startswith(f"{folder}: a new app; next: citywise check")) == (0, True)
    assert check_pack(folder) == []
    assert command("test", str(folder)) == (0, "first: 2 notices as expected\n")
    assert 'title = "My app"' in (folder / "app.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("starter", starters())
def test_a_starter_is_short(starter: str, tmp_path: Path) -> None:
    files = [path for path in create("x", starter, tmp_path).rglob("*") if path.is_file()]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 60


@pytest.mark.parametrize(
    ("name", "starter", "said"),
    [
        ("My-App", "area", "`My-App` cannot be an app's name"),
        ("mine", "weather", "no starter `weather`; there are area, near_me, near_route, reading"),
        ("there", "area", "exists already; choose another name or another --dir"),
    ],
)
def test_no_app_is_made_where_it_cannot_be(
    tmp_path: Path, name: str, starter: str, said: str
) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(ScaffoldError, match=said):
        create(name, starter, tmp_path)


def test_a_difference_ends_with_1_and_says_how_to_go_on(tmp_path: Path) -> None:
    folder = create("mine", "near_route", tmp_path)
    expected = folder / "scenarios" / "first.expected.jsonl"
    text = expected.read_text(encoding="utf-8")
    expected.write_text(text.replace('"criticality": 4', '"criticality": 2', 1), encoding="utf-8")
    code, said = command("test", str(folder))
    lines = said.splitlines()
    assert (code, lines[:3]) == (
        1,
        ["first: 1 difference", f"--- {expected}", "+++ what came"],
    )
    assert (lines[3][:2], lines[4][:2]) == ("- ", "+ ")
    why = lines[5].removeprefix("why: citywise app ").split()
    assert command(*why)[1].startswith('told("alice.jams","jam_ahead",')
    assert lines[6] == "if this is what should come: add --update"
    assert command("test", str(folder), "--update") == (
        0,
        f"first: wrote 2 notices to {expected}\n",
    )
    assert expected.read_text(encoding="utf-8") == text


def test_a_scenario_that_there_is_not_names_those_there_are(tmp_path: Path) -> None:
    folder = create("mine", "area", tmp_path)
    assert command("test", str(folder), "second") == (
        1,
        "citywise: no scenario `second`; there are first",
    )


def test_an_app_that_is_not_sound_is_not_run(app: AppFolder) -> None:
    app.rules("near_route(", "near_rout(")
    code, said = command("test", str(app.path))
    assert (code, "did you mean `near_route`?" in said) == (1, True)


def test_apps_are_listed(app: AppFolder) -> None:
    assert "contextual_filtering 1.0.0" in command("list")[1]
    code, said = command("list", str(app.path.parent))
    assert (code, said.splitlines()[1]) == (0, "  jam_ahead@1  Jams on my way  (radius)")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--instance", "bob.jams"], "no instance `bob.jams`; there are: alice.jams"),
        (["--instance", "alice.jams", "--at", "2020-01-01T00:00:00Z"], "begins at 2026-05-04"),
        (["--instance", "alice.jams", "--at", "noon"], "--at noon: write a time such as"),
        (["--instance", "alice.jams", "--notice", "jam_ahed"], "did you mean `jam_ahead`?"),
    ],
)
def test_a_question_that_cannot_be_answered_is_told_so(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    folder = create("mine", "near_route", tmp_path)
    about = ["--notice", "jam_ahead", "--about", "jam1"]
    code, answer = command("why", str(folder), "first", *about, *arguments)
    assert code in (1, 2)
    assert said in answer


def test_a_folder_of_apps_and_programs_is_checked_as_what_it_holds(app: AppFolder) -> None:
    parent = app.path.parent
    (parent / "alone.casp").write_text("p(X) :- q(Y).\n", encoding="utf-8")
    app.rules("near_route(", "near_rout(")
    codes = {finding.code for finding in check_path(parent)}
    assert {"unknown-predicate", "unsafe"} <= codes
    assert check_path(app.path) == check_pack(app.path)


def test_a_template_is_checked_with_its_app(app: AppFolder) -> None:
    path = app.path / "templates" / "jam_ahead.casp"
    assert check_path(path) == []
    app.manifest('title = "Jam watch"', 'titel = "Jam watch"')
    app.rules("near_route(", "near_rout(")
    assert check_path(path) == []  # the manifest comes first
    app.manifest('titel = "Jam watch"', 'title = "Jam watch"')
    (found,) = check_path(path)
    assert "near_rout/3" in found.message


READINGS = """\
{"t": "2026-05-04T06:00:00Z", "place": {"id": "bridge", "kind": "road", "name": "Bridge", \
"geometry": {"type": "LineString", "coordinates": [[10.2, 56.15], [10.204, 56.15]]}, \
"sensors": ["traffic"]}}
{"t": "2026-05-04T06:00:00Z", "instance": {"id": "a.jams", "template": "jam_ahead", "user": "a"}}
{"t": "2026-05-04T06:00:00Z", "context": {"user": "a", \
"route": {"coordinates": [[10.19, 56.15], [10.22, 56.15]]}}}
{"t": "2026-05-04T06:01:00Z", "reading": {"kind": "traffic", "sensor": "bridge", \
"speed_kmh": 5, "vehicle_count": 40}}
{"t": "2026-05-04T06:06:00Z", "reading": {"kind": "traffic", "sensor": "bridge", \
"speed_kmh": 55, "vehicle_count": 4}}
"""


def test_the_city_makes_events_of_a_scenario_s_readings(tmp_path: Path) -> None:
    folder = create("mine", "near_route", tmp_path)
    scenario = folder / "scenarios" / "readings.jsonl"
    scenario.write_text(READINGS, encoding="utf-8")
    code, said = command("test", str(folder), "readings")
    told = [json.loads(line[2:]) for line in said.splitlines() if line.startswith("+ {")]
    assert (code, [(line["t"], line["change"], line["criticality"]) for line in told]) == (
        1,
        [("2026-05-04T06:01:01Z", "opened", 5), ("2026-05-04T06:06:01Z", "closed", 5)],
    )
    about = ["--instance", "a.jams", "--notice", "jam_ahead", "--about", told[0]["about"]]
    at = ["--at", "2026-05-04T06:03:00Z"]
    assert "by rule r1" in command("why", str(folder), "readings", *at, *about)[1]
    assert "is not in the answer" in command("why", str(folder), "readings", *about)[1]


def test_what_could_not_be_evaluated_is_an_error_even_if_nothing_else_was_expected(
    app: AppFolder,
) -> None:
    app.rules("(r2)", ":- radius(_,R), R < 200.\n(r2)")
    lines = (
        """{"t": "2026-05-04T06:00:00Z", "instance": {"id": "a.jams", "template": "jam_ahead", \
"user": "a", "values": {"radius": 100}}}""",
        """{"t": "2026-05-04T06:05:00Z"}""",
    )
    app.write("scenarios/first.jsonl", "\n".join(lines))
    expected = app.write("scenarios/first.expected.jsonl", "")
    code, said = command("test", str(app.path))
    assert (code, said.splitlines()[0]) == (1, "first: 1 error")
    assert said.splitlines()[1] == (
        '! 2026-05-04T06:00:00Z jam_watch/jam_ahead@1: instance "a.jams": '
        "its constraints leave no answer"
    )
    code, said = command("test", str(app.path), "--update")
    assert (code, expected.read_text(encoding="utf-8")) == (1, "")
    assert "mend what failed first" in said


def test_a_scenario_without_notices_or_expectations_shows_nothing(app: AppFolder) -> None:
    path = app.write("scenarios/first.jsonl", '{"t": "2026-05-04T06:05:00Z"}')
    code, said = command("test", str(app.path))
    assert code == 1
    assert said.startswith(f"first: no notices, and no {path.with_suffix('.expected.jsonl')}")
    assert command("test", str(app.path), "--update")[0] == 0
    assert command("test", str(app.path)) == (0, "first: 0 notices as expected\n")


WINDY = """\
{"t": "2026-05-04T06:00:00Z", "place": {"id": "roof", "kind": "weather_station", "name": "Roof", \
"geometry": {"type": "Point", "coordinates": [10.2, 56.15]}}}
{"t": "2026-05-04T06:00:00Z", "instance": {"id": "a.wind", "template": "jam_ahead", "user": "a"}}
{"t": "2026-05-04T06:01:00Z", "reading": {"kind": "weather", "sensor": "roof", \
"temperature_c": 50.5}}
"""


@pytest.mark.parametrize("window", ["", "#from stream <WEATHER> [time 1h step 1m].\n"])
def test_a_reading_that_rules_cannot_take_is_an_error(app: AppFolder, window: str) -> None:
    app.manifest('["events"]', '["events", "weather"]')
    stream = window.replace("WEATHER", "https://w3id.org/citywise/stream/weather")
    rule = 'notice(Me,"jam_ahead",P,3) :- radius(Me,_), city_temperature(P,T), T > 20.\n'
    prefix = "#prefix city : <https://w3id.org/citywise/city#>.\n"
    prefix += "#scale city_temperature 100000000.\n"
    app.rules("(r1)", f"{prefix}{stream}{rule}(r1)")
    app.write("scenarios/first.jsonl", WINDY)
    app.write("scenarios/first.expected.jsonl", "")
    code, said = command("test", str(app.path))
    start = "! 2026-05-04T06:01:00Z jam_watch/jam_ahead@1: reading of weather of `roof`: "
    assert (code, said.splitlines()[0]) == (1, "first: 1 error")
    assert said.splitlines()[1].startswith(start)
    assert "does not fit the 32-bit integers" in said
