"""`citywise log`, and what `demo`, `run` and the processes say of a damaged log."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from citywise.backend.ingest import log, records
from citywise.backend.pipeline.slices import Slices
from citywise.backend.process import _tell
from citywise.backend.settings import Settings
from citywise.backend.store.models import CursorRow, HeartbeatRow
from tests.command import Done, Folder
from tests.databases import begun
from tests.ingest.test_damage import READINGS, flip, written


class State:
    """A state folder with a log, and a request whose cursor stands in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "state"
        self.settings = Settings(data_dir=self.folder)
        self.log = self.settings.log_dir
        engine = begun(self.settings.database_url)
        self.starts = written(self.log)
        row = {"request": "r", "position": self.starts[80], "resume_from": self.starts[40]}
        with engine.begin() as connection:
            connection.execute(insert(CursorRow), [{**row, "state": {}, "updated_ms": 0}])
        engine.dispose()
        self._command = Folder(folder)

    def run(self, *arguments: str) -> Done:
        return self._command.run(*arguments, "--state", str(self.folder))


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path)


def test_of_a_whole_log_it_says_so(state: State) -> None:
    done = state.run("log", "check")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{2 * READINGS} records, positions 0 to {log.durable_end(state.log)}" in done.stdout


def test_a_damaged_log_is_salvaged_and_the_pipeline_goes_on_where_it_stood(
    state: State, tmp_path: Path
) -> None:
    lost = [state.starts[60], state.starts[80], state.starts[81]]
    for position in lost:
        flip(state.log, position + 12)
    end = log.durable_end(state.log)
    done = state.run("log", "check")
    assert (done.returncode, done.stdout.count("lost")) == (1, 2)
    assert f"positions {lost[0]} to {state.starts[61]}" in done.stdout
    assert "citywise log salvage" in done.stderr
    new = tmp_path / "new"
    done = state.run("log", "salvage", "--to", str(new))
    assert (done.returncode, done.stderr) == (0, "")
    state.log.rename(tmp_path / "old")
    new.rename(state.log)
    assert state.run("log", "check").returncode == 0
    log.LogWriter(state.log).close()
    entries = Slices().read(str(state.log), state.starts[80], end)
    sensors = [entry.sensor for entry in entries if isinstance(entry, records.Reading)]
    assert sensors == [f"s{number}" for number in range(41, READINGS)]
    window = Slices().read(str(state.log), state.starts[40], state.starts[80])
    assert len(window) == 39


@pytest.mark.parametrize("command", ["demo", "run"])
def test_the_system_does_not_start_and_says_where_the_damage_is(
    state: State, tmp_path: Path, command: str
) -> None:
    flip(state.log, state.starts[100] + 12)
    config = tmp_path / "city.toml"
    config.write_text(f"data_dir = {json.dumps(str(state.folder))}\n[broker]\nembedded = true\n")
    given = ["--state", str(state.folder)] if command == "demo" else ["--config", str(config)]
    before = {path: path.read_bytes() for path in state.log.iterdir()}
    done = subprocess.run(
        [sys.executable, "-m", "citywise.backend.cli", command, *given, "--for", "1"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"damaged record at position {state.starts[100]}" in done.stderr
    assert "citywise log check" in done.stderr
    assert {path: path.read_bytes() for path in state.log.iterdir()} == before


def test_a_process_that_ends_by_it_leaves_the_reason_and_what_it_knew(state: State) -> None:
    engine = begun(state.settings.database_url)
    with engine.begin() as connection:
        row = {"process": "ingest", "at_ms": 0, "detail": {"position": 7}}
        connection.execute(insert(HeartbeatRow), [row])
    _tell(state.settings, "ingest", log.LogError("damaged record at position 9"))
    with engine.connect() as connection:
        detail = connection.scalar(select(HeartbeatRow.detail))
    engine.dispose()
    assert detail == {"position": 7, "error": "damaged record at position 9"}
