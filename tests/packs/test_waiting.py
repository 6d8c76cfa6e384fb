"""An app that reads a kind that there is not waits for it, and stops nobody."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from citywise.backend.kinds import Kinds, builtin, files, installed
from citywise.backend.packs import duties
from citywise.backend.packs.installed import versions
from citywise.backend.packs.waiting import Waiting, waits
from tests.databases import begun
from tests.packs.test_tutorial_app import METER, write


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    engine = begun(f"sqlite:///{tmp_path / 'city.db'}")
    installed.install(engine, builtin())
    return engine


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """The app of the tutorial, which reads the kind `sound`."""
    return write(tmp_path, METER)


def with_kinds(app: Path, *names: str) -> Kinds:
    """All kinds, with some of the tutorial's."""
    paths = [app.parent / "city" / "kinds" / f"{name}.toml" for name in names]
    made = (files.parse(path.read_text(encoding="utf-8"), path.name, []) for path in paths)
    return builtin().with_kinds(*(kind for kind in made if kind))


def templates(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return [version.name for version in versions(connection)]


def test_its_templates_are_there_once_the_kind_is(engine: Engine, app: Path) -> None:
    waiting = Waiting()
    assert waiting.sort([app], builtin()) == []
    (line,) = waiting.told(builtin())
    assert line == "app `loud` has no templates here: there is no kind `sound`"
    assert list(waiting.settle(engine, with_kinds(app, "sound_meter"))) == []
    (line,) = waiting.settle(engine, with_kinds(app, "sound_meter", "sound"))
    assert line == "app `loud`: its kinds are here, and its templates with them"
    assert templates(engine) == ["loud"]
    assert waiting.folders == []


def test_what_is_wrong_with_it_is_said_once_and_stops_nobody(engine: Engine, app: Path) -> None:
    rules = app / "templates" / "loud.casp"
    rules.write_text(rules.read_text(encoding="utf-8").replace("_sound_level", "_sound_lev"))
    waiting = Waiting([app])
    kinds = with_kinds(app, "sound_meter", "sound")
    (said,) = waiting.settle(engine, kinds)
    assert "sound_lev" in said
    assert said.endswith("app `loud` still has no templates here")
    assert list(waiting.settle(engine, kinds)) == []
    assert templates(engine) == []
    assert waiting.folders == [app]


def test_one_with_python_runs_from_the_next_start_on(engine: Engine, app: Path) -> None:
    manifest = app / "app.toml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(f'python = "loud"\n{text}', encoding="utf-8")
    waiting = Waiting([app])
    (line,) = waiting.settle(engine, with_kinds(app, "sound_meter", "sound"))
    assert line == "app `loud`: its kinds are here; it runs from the next start on"
    assert (templates(engine), waiting.folders) == ([], [])


def test_after_an_error_of_the_database_it_is_tried_again(
    engine: Engine, app: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = Waiting([app])
    kinds = with_kinds(app, "sound_meter", "sound")
    with monkeypatch.context() as broken:
        broken.setattr(duties, "settle", failing)
        with pytest.raises(OperationalError):
            list(waiting.settle(engine, kinds))
    (line,) = waiting.settle(engine, kinds)
    assert line == "app `loud`: its kinds are here, and its templates with them"
    assert (templates(engine), waiting.folders) == (["loud"], [])


def failing(_connection: object) -> None:
    raise OperationalError("INSERT", {}, Exception("database is locked"))


def test_what_an_app_waits_for_can_be_asked(app: Path) -> None:
    assert list(waits([app], builtin())) == [("loud", ["sound"])]
    assert list(waits([app], with_kinds(app, "sound_meter", "sound"))) == []
