"""`citywise replay APP`: what an app would have told over a recorded morning, and how that
differs from another version of it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.city.conftest import PackBuilder
from tests.command import Done, Folder
from tests.packs.folders import AppFolder

MORNING = ("--from", "2014-08-05T06:00:00Z", "--until", "2014-08-05T07:00:00Z", "--lead-in", "1")
FIRST, SECOND = 11, 12
"""Roads, one after the other."""
STARTS, MIDDLE, ENDS = [10.1049, 56.2317], [10.1165, 56.2257], [10.1070, 56.2174]
JAM, OTHER = "TrafficJam-11-20140805T061000Z", "TrafficJam-12-20140805T061500Z"
READINGS = [
    (FIRST, "05:30", 80, 2),
    (FIRST, "06:10", 20, 20),  # level 3
    (SECOND, "06:15", 30, 20),  # level 1
    (FIRST, "06:20", 10, 20),  # level 4
    (SECOND, "06:25", 80, 2),
    (FIRST, "06:30", 80, 2),
]
USERS: list[dict[str, Any]] = [
    {
        "context": {
            "user": "alice",
            "route": {"coordinates": [STARTS, MIDDLE, ENDS]},
            "position": {"lat": STARTS[1], "lon": STARTS[0]},
        }
    },
    {"instance": {"id": "alice.jams", "template": "jam_ahead", "user": "alice"}},
    {"context": {"user": "bob", "position": {"lat": 56.2287, "lon": 10.1107}}},
    {"instance": {"id": "bob.jams", "template": "jam_ahead", "user": "bob"}},
]


class Morning:
    """A recording of two roads, two users, and an app."""

    def __init__(self, folder: Path) -> None:
        self.pack = PackBuilder(folder)
        self.pack.traffic([(r, f"2014-08-05T{t}:00", v, n) for r, t, v, n in READINGS])
        self.app = AppFolder(folder)
        self.folder = Folder(folder)
        lines = [{"t": "2014-08-05T06:00:00Z", **line} for line in USERS]
        self.users = self.folder.write("users.jsonl", lines)

    def run(self, *arguments: str) -> Done:
        data = ("--data", str(self.pack.root), *MORNING)
        return self.folder.run("replay", str(self.app.path), *data, *arguments)

    def lines(self, *arguments: str) -> list[dict[str, Any]]:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def told(self, *arguments: str) -> list[tuple[str, ...]]:
        return [told(line) for line in self.lines("--users", str(self.users), *arguments)]

    def edit(self) -> None:
        """Jams of level 1 are left out, those above 3 are told as worst, and who is near such
        a jam is told of it too."""
        self.app.rules("near_route(Me,Jam,R),", "near_route(Me,Jam,R), Level > 1, Level < 4,")
        self.app.rules(
            "(r2)",
            '(r3) notice(Me,"jam_ahead",Jam,5) :- radius(Me,R), near_route(Me,Jam,R), '
            "ev_level(Jam,L), L > 3.\n"
            '(r4) notice(Me,"jam_ahead",Jam,2) :- radius(Me,R), near_me(Me,Jam,R), '
            "ev_level(Jam,L), L > 3.\n(r2)",
        )

    def git(self, *arguments: str) -> None:
        """Run git in the folder above the app's."""
        person = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
        subprocess.run(
            ["git", "-C", str(self.folder.path), *person, *arguments],
            check=True,
            capture_output=True,
        )


def told(line: dict[str, Any]) -> tuple[str, ...]:
    """Minute, change, instance, what about and criticality of a line."""
    minute, about = line["t"][11:16], line["about"]["id"]
    return minute, line["change"], line["instance"], about, str(line["criticality"])


@pytest.fixture
def morning(tmp_path: Path) -> Morning:
    return Morning(tmp_path)


def test_an_apps_notices_over_a_recording(morning: Morning) -> None:
    assert morning.told() == [
        ("06:10", "opened", "alice.jams", JAM, "3"),
        ("06:15", "opened", "alice.jams", OTHER, "1"),
        ("06:20", "updated", "alice.jams", JAM, "4"),
        ("06:25", "closed", "alice.jams", OTHER, "1"),
        ("06:30", "closed", "alice.jams", JAM, "4"),
    ]
    line = morning.lines("--users", str(morning.users))[0]
    assert (line["kind"], line["title"]) == ("notice", "Jam ahead")
    assert line["text"] == "Århusvej, Hinnerup: 4320 → 4322 in 490 m"


def test_how_much_there_was_is_said_at_the_end(morning: Morning) -> None:
    done = morning.run("--users", str(morning.users))
    assert done.stderr == "citywise: 5 changes of notices of 2 instances\n"
    later = morning.run("--users", str(morning.users), "--from", "2014-08-05T06:16:00Z")
    assert len(later.stdout.splitlines()) == 3
    assert later.stderr == "citywise: 3 changes of notices of 2 instances, 2 were open before\n"


def test_what_could_not_be_evaluated_is_said_at_the_end(morning: Morning) -> None:
    morning.app.rules("(r2)", ":- ev_level(_,4).\n(r2)")
    done = morning.run("--users", str(morning.users))
    assert done.returncode == 0
    assert done.stderr.startswith(
        "citywise: jam_watch/jam_ahead@1 could not be evaluated: 2014-08-05T06:20:01Z: instance "
        '"alice.jams": its constraints leave no answer'
    )


@pytest.mark.thorough
def test_an_evaluation_that_takes_too_long_is_stopped(morning: Morning) -> None:
    """It is clingo that grounds, in the command's own process."""
    endless = "n(1..3000). much(Me,A,B,C) :- radius(Me,_), n(A), n(B), n(C), A < B+C.\n"
    morning.app.rules("(r2)", f"{endless}(r2)")
    users = ("--users", str(morning.users))
    data = ("--data", str(morning.pack.root), *MORNING)
    limit = ("--time-limit", "0.5")
    done = morning.folder.run("replay", str(morning.app.path), *data, *users, *limit, given="")
    assert done.returncode == 1
    assert "jam_watch was stopped: it took more than 0.5 s (--time-limit)" in done.stderr


def test_users_may_name_only_places_that_the_data_has(morning: Morning) -> None:
    event = {"id": "x", "type": "Fog", "place_id": "11"}
    lines = [{"t": "2014-08-05T06:00:00Z", "event": event}]
    morning.folder.write("some.jsonl", lines)
    assert morning.run("--users", str(morning.folder.path / "some.jsonl")).returncode == 0
    event["place_id"] = "nope"
    event["geometry"] = {"type": "Point", "coordinates": STARTS}  # type: ignore[assignment]
    morning.folder.write("some.jsonl", lines)
    done = morning.run("--users", str(morning.folder.path / "some.jsonl"))
    assert done.returncode == 1
    assert "some.jsonl:1: event `x`: place_id: there is no place `nope`" in done.stderr


def test_options_of_an_app_need_an_app(morning: Morning) -> None:
    data = ("--data", str(morning.pack.root), *MORNING)
    done = morning.folder.run("replay", *data, "--travellers", "2")
    assert done.returncode == 2
    assert "--users, --travellers and --against are of an APP; name it" in done.stderr


# --- Against another version -----------------------------------------------------------------


def test_a_rule_that_is_edited_shows_exactly_the_notices_that_differ(
    morning: Morning, tmp_path: Path
) -> None:
    before = tmp_path / "before"
    shutil.copytree(morning.app.path, before / "jam_watch")
    morning.edit()
    done = morning.run("--users", str(morning.users), "--against", str(before))
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    found = [(line["diff"], *told(line), line.get("before")) for line in lines]
    assert found == [
        ("removed", "06:15", "opened", "alice.jams", OTHER, "1", None),
        ("added", "06:20", "opened", "bob.jams", JAM, "2", None),
        ("changed", "06:20", "updated", "alice.jams", JAM, "5", {"criticality": 4}),
        ("removed", "06:25", "closed", "alice.jams", OTHER, "1", None),
        ("changed", "06:30", "closed", "alice.jams", JAM, "5", {"criticality": 4}),
        ("added", "06:30", "closed", "bob.jams", JAM, "2", None),
    ]
    assert "1 notices as before, 2 added, 2 removed, 2 changed" in done.stderr


def test_an_app_as_it_was_differs_in_nothing(morning: Morning) -> None:
    done = morning.run("--users", str(morning.users), "--against", str(morning.app.path))
    assert (done.returncode, done.stdout) == (0, "")
    assert "5 notices as before, 0 added, 0 removed, 0 changed" in done.stderr


def test_the_other_version_may_be_one_that_git_keeps(morning: Morning) -> None:
    morning.git("init", "-q")
    morning.git("add", "jam_watch")
    morning.git("commit", "-q", "-m", "Tell of jams")
    morning.git("tag", "told")
    morning.app.rules("Level) :-", "5) :-")
    done = morning.run("--users", str(morning.users), "--against", "told")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    # An update is none any more: of five notices, four are told as worst and one is not told.
    assert [line["diff"] for line in lines].count("changed") == 4
    assert [told(line) for line in lines if line["diff"] == "removed"] == [
        ("06:20", "updated", "alice.jams", JAM, "4")
    ]
    text = morning.app.path / "templates" / "jam_ahead.casp"
    assert "5) :-" in text.read_text()  # what is edited stays as it is


@pytest.mark.parametrize("against", ["nonsense", "--all", "told~9"])
def test_a_version_that_git_does_not_know_is_refused_with_what_to_name(
    morning: Morning, against: str
) -> None:
    morning.git("init", "-q")
    morning.git("add", "jam_watch")
    morning.git("commit", "-q", "-m", "Tell of jams")
    done = morning.run("--users", str(morning.users), f"--against={against}")
    assert done.returncode == 1
    assert f"--against {against}: neither a folder nor a commit" in done.stderr
    assert "name a commit such as HEAD or main, or the folder" in done.stderr


def test_a_commit_without_the_app_is_refused(morning: Morning) -> None:
    morning.git("init", "-q")
    morning.git("commit", "-q", "--allow-empty", "-m", "Begin")
    done = morning.run("--users", str(morning.users), "--against", "HEAD")
    assert done.returncode == 1
    assert "--against HEAD: there was no jam_watch at that commit; name a later" in done.stderr


def test_an_app_that_is_in_no_repository_needs_a_folder(
    morning: Morning, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(morning.folder.path.parent))
    done = morning.run("--users", str(morning.users), "--against", "HEAD~1")
    assert done.returncode == 1
    assert "--against HEAD~1: neither a folder nor a commit" in done.stderr


# --- Whom it tells ----------------------------------------------------------------------------


def test_without_users_it_says_how_to_give_some(morning: Morning) -> None:
    done = morning.run()
    assert done.returncode == 2
    assert "give --users FILE" in done.stderr
    assert "--travellers 200" in done.stderr


def test_a_file_of_users_at_fault_is_named_with_its_line(morning: Morning) -> None:
    users = morning.folder.write("bad.jsonl", [{"t": "2014-08-05T06:00:00Z", "user": "alice"}])
    done = morning.run("--users", str(users))
    assert done.returncode == 1
    assert f"{users}:1" in done.stderr


def test_travellers_are_the_same_for_a_seed_and_others_for_another(morning: Morning) -> None:
    first, again, other = (
        morning.run("--travellers", "5", "--seed", seed).stdout for seed in ("1", "1", "2")
    )
    assert first == again != other
    assert {json.loads(line)["user"].split("-")[0] for line in first.splitlines()} == {"traveller"}


def test_travellers_cannot_have_a_template_that_needs_values(morning: Morning) -> None:
    morning.app.manifest("default = 300\n", "")
    done = morning.run("--travellers", "5")
    assert done.returncode == 1
    assert "radius" in done.stderr
    assert "give --users FILE with instances that have values" in done.stderr
