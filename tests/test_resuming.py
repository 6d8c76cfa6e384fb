"""A source that died goes on where its readings end, and so does a state folder: also at the end
of a recording, where nothing is left to send."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from citywise.backend import cli
from citywise.backend.city.simulation import START
from citywise.backend.city.source import SETTLE_MS
from citywise.backend.ingest import records
from citywise.backend.ingest.journal import Journal
from citywise.backend.ingest.payloads import Clock
from citywise.backend.process import city
from citywise.backend.settings import Settings
from citywise.backend.supervisor import ORDERS, Child, System
from citywise.backend.times import from_ms, iso, to_ms, wall_ms
from tests.command import Done, Folder
from tests.databases import begun

UNTIL = START + timedelta(hours=2)
ENDED = to_ms(UNTIL) + SETTLE_MS
"""What the clock shows when a recording was sent to its end."""
PLAY: dict[str, Any] = {
    "data": None,
    "speed": 60.0,
    "start": START.isoformat(),
    "until": UNTIL.isoformat(),
    "lead_in_s": 3600.0,
    "seed": 7,
}


def left(play: dict[str, Any]) -> list[int]:
    """The times of the steps that a source has still to send."""
    since = from_ms(to_ms(cli.Time().convert(play["since"], None, None)))
    return [step.ms for step in city(play).steps(since)]


# --- A source that dies in a running system -------------------------------------------------


@dataclass
class Supervised(System):
    """A system whose source dies as soon as it is started; what each was to play is kept."""

    played: list[dict[str, Any]] = field(default_factory=list)

    def spawn(self, role: str) -> None:
        assert self.play is not None
        self.played.append(self.play)
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        self.children[role] = Child(role, ended, 0.0)


@pytest.fixture
def system(tmp_path: Path) -> Supervised:
    settings = Settings(data_dir=tmp_path)
    found = Supervised(settings, PLAY)
    found._engine = begun(settings.database_url)
    found.spawn("source")
    return found


def dies(system: Supervised, complete: int) -> dict[str, Any]:
    """What a source plays after one died that had sent everything up to a stream time."""
    from tests.api.town import Town

    Town(system._database).heartbeat("ingest", complete_ms=complete)
    known = len(system.played)
    while len(system.played) == known:
        system.tend()
        system.children["source"].restart_at = 0.0
    return system.played[-1]


@pytest.mark.parametrize("complete", [ENDED - SETTLE_MS, ENDED])
def test_a_source_that_died_at_its_end_starts_again(system: Supervised, complete: int) -> None:
    """As often as it dies: after its last readings, and after it has told the end."""
    for _ in range(4):
        again = dies(system, complete)
        assert [ms for ms in left(again) if ms > complete] == []
        assert (city(again).start, city(again).until) == (START, UNTIL)


def test_a_source_that_died_in_its_lead_in_has_the_start_it_had(system: Supervised) -> None:
    """Whoever waits for the start to be answered waits for the same time."""
    middle = to_ms(START) - 30 * 60_000
    again = dies(system, middle)
    assert city(again).start == START
    assert min(left(again)) == middle


def test_a_source_that_died_before_it_said_anything_begins_anew(system: Supervised) -> None:
    system.tend()
    system.children["source"].restart_at = 0.0
    system.tend()
    assert system.played[-1] == PLAY


# --- A state folder that goes on --------------------------------------------------------------


@pytest.fixture
def state(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def holds(folder: Folder, complete: int, play: dict[str, Any] | None) -> None:
    """Have the folder hold a city up to a stream time, as a system leaves it behind."""
    journal = Journal(folder.path / "log", 1_000_000)
    clock = Clock(now=from_ms(complete), complete=from_ms(complete))
    journal.add(records.encode_clock(clock, wall_ms()))
    journal.write()
    journal.close()
    if play is not None:
        orders = {"settings": {}, "source": play}
        (folder.path / ORDERS).write_text(json.dumps(orders), encoding="utf-8")


def goes_on(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, *more: str
) -> tuple[Done, dict[str, Any]]:
    """What `demo --state` would have a system play."""
    played: dict[str, Any] = {}
    monkeypatch.setattr(cli, "_run", lambda _settings, play, *_: played.update(play))
    return folder.run("demo", "--state", str(folder.path), *more), played


def test_a_folder_whose_recording_was_sent_can_be_resumed(
    state: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    holds(state, ENDED, PLAY)
    done, play = goes_on(state, monkeypatch, "--until", UNTIL.isoformat())
    assert done.returncode == 0, done.stderr
    assert left(play) == []
    assert (city(play).start, city(play).until) == (START, UNTIL)


def test_a_folder_of_an_older_version_can_be_resumed(
    state: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not say what was played in it."""
    holds(state, ENDED, None)
    done, play = goes_on(state, monkeypatch, "--until", UNTIL.isoformat())
    assert done.returncode == 0, done.stderr
    assert left(play) == []


def test_a_folder_that_holds_more_than_is_asked_for_ends_where_it_ends(
    state: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    holds(state, ENDED, PLAY)
    earlier = UNTIL - timedelta(minutes=30)
    done, play = goes_on(state, monkeypatch, "--until", earlier.isoformat())
    assert done.returncode == 0, done.stderr
    assert left(play) == []
    assert city(play).until == UNTIL


def test_a_folder_whose_lead_in_was_cut_short_goes_through_the_rest_of_it(
    state: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    middle = to_ms(START) - 30 * 60_000
    holds(state, middle, PLAY)
    done, play = goes_on(state, monkeypatch, "--until", UNTIL.isoformat())
    assert f"goes on where it ended, at {from_ms(middle):%Y-%m-%dT%H:%MZ}" in done.stderr
    assert (play["since"], city(play).start) == (iso(middle), START)
    assert left(play)[0] == middle
