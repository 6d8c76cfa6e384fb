"""A system starts without an app that is broken, and says so."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from citywise.backend.packs.manifest import PackError
from citywise.backend.settings import Apps, Settings
from citywise.backend.supervisor import Child, StartError, System
from tests.databases import begun
from tests.packs.folders import AppFolder, with_python


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path)


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    engine = begun(settings.database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def said() -> list[str]:
    return []


def test_an_app_of_a_package_that_is_not_sound_is_left_out(
    tmp_path: Path, settings: Settings, engine: Engine, said: list[str]
) -> None:
    with with_python(tmp_path, "own_code", "1 / 0"):
        System(settings, say=said.append)._install_apps(engine)
    (text,) = said
    assert "ZeroDivisionError: division by zero" in text
    assert text.endswith("The system goes on without this app.")


def test_a_folder_that_somebody_names_has_to_be_sound(
    tmp_path: Path, settings: Settings, engine: Engine
) -> None:
    app = AppFolder(tmp_path)
    app.manifest("unit =", "units =")
    named = settings.model_copy(update={"apps": Apps(folders=(str(app.path),))})
    with pytest.raises(PackError, match="units"):
        System(named)._install_apps(engine)


@pytest.fixture
def over() -> subprocess.Popen[bytes]:
    """A process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        return process


def test_a_process_of_an_app_that_does_not_stay_up_stops_nothing(
    settings: Settings, said: list[str], over: subprocess.Popen[bytes]
) -> None:
    system = System(settings, say=said.append)
    system.children["loud"] = Child("loud", over, 0.0, 0, failures=3)
    told = system._failing(frozenset())
    assert system._failing(told) == {"loud"}
    (text,) = said
    assert text.startswith("loud does not stay up")


def test_a_process_of_ours_that_does_not_stay_up_ends_the_start(
    settings: Settings, over: subprocess.Popen[bytes]
) -> None:
    system = System(settings)
    system.children["ingest"] = Child("ingest", over, 0.0, 0, failures=3)
    with pytest.raises(StartError, match="ingest does not stay up"):
        system._failing(frozenset())
