"""`citywise city` imports and shows, and a start prepares what it plays."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from citywise.apps.travel_planner.roads import City, NetworkError, city_of, cityfiles
from citywise.apps.travel_planner.roads.cityfiles import (
    BASEMAP,
    GAZETTEER,
    NETWORK,
    network_file,
    prepare,
)
from citywise.backend.city_commands import city
from citywise.backend.ingest.payloads import Place, Point
from citywise.backend.settings import City as Section
from citywise.backend.settings import Settings
from tests.roads.test_osm import document

SIMULATED = {"data": None, "seed": 1}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data")


@pytest.fixture(autouse=True)
def _made_already(simulated_town: City, monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulated town is made once for all tests."""
    monkeypatch.setattr(cityfiles, "simulated_city", lambda: simulated_town)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "town.osm"
    path.write_text(document(), encoding="utf-8")
    return path


def told(*arguments: object) -> str:
    outcome = CliRunner().invoke(city, [str(each) for each in arguments])
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


def test_an_import_is_written_where_the_planners_look_and_shown(
    settings: Settings, file: Path
) -> None:
    settings.data_dir.mkdir()
    assert "OpenStreetMap (town.osm)" in told("import", file, "--state", settings.data_dir)
    assert "ODbL" in (shown := told("show", "--state", settings.data_dir))
    assert "car\t" in shown
    found = city_of(settings)
    assert found.gazetteer.search("byteatret")[0].kind == "venue"
    assert network_file(settings).is_file()


def test_an_import_goes_into_a_folder_of_ones_own(tmp_path: Path, file: Path) -> None:
    told("import", file, "--into", tmp_path / "mine")
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == [
        BASEMAP,
        GAZETTEER,
        NETWORK,
    ]
    assert "named points" in told("show", "--in", tmp_path / "mine")


def test_a_file_that_is_none_of_streets_ends_the_import_with_what_to_do(tmp_path: Path) -> None:
    (path := tmp_path / "nothing.osm").write_text('<osm version="0.6"></osm>', encoding="utf-8")
    outcome = CliRunner().invoke(city, ["import", str(path), "--into", str(tmp_path)])
    assert isinstance(outcome.exception, NetworkError)
    assert "expected an extract" in str(outcome.exception)


def test_without_an_import_there_is_no_city_and_the_error_says_what_to_do(
    settings: Settings,
) -> None:
    prepare(settings, None)
    with pytest.raises(NetworkError, match="citywise city import"):
        city_of(settings)


def test_a_start_of_the_simulation_makes_its_town_once(settings: Settings) -> None:
    prepare(settings, SIMULATED)
    assert city_of(settings).network.source == "simulated town"
    made = network_file(settings).stat().st_mtime_ns
    prepare(settings, SIMULATED)
    assert network_file(settings).stat().st_mtime_ns == made


def test_what_was_imported_stays_whatever_a_start_plays(settings: Settings, file: Path) -> None:
    settings.data_dir.mkdir()
    prepare(settings, SIMULATED)
    told("import", file, "--state", settings.data_dir)
    prepare(settings, SIMULATED)
    assert city_of(settings).network.source == "OpenStreetMap (town.osm)"


def test_a_start_makes_the_city_again_for_another_source(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(settings, SIMULATED)
    monkeypatch.setattr(cityfiles, "VERSION", "next")
    made = network_file(settings).stat().st_mtime_ns
    prepare(settings, SIMULATED)
    assert network_file(settings).stat().st_mtime_ns > made


def test_the_settings_may_name_the_folder(tmp_path: Path, file: Path) -> None:
    told("import", file, "--into", tmp_path / "mine")
    settings = Settings(data_dir=tmp_path / "data", city=Section(folder=tmp_path / "mine"))
    assert city_of(settings).network.source == "OpenStreetMap (town.osm)"


def test_a_garage_with_a_sensor_is_found_though_no_map_knows_it(
    settings: Settings, file: Path
) -> None:
    told("import", file, "--into", settings.city_dir)
    new = Place(
        id="P9", kind="garage", name="Nyt P-hus", geometry=Point(coordinates=(10.2, 56.15)),
        sensors=("parking",),
    )  # fmt: skip
    assert city_of(settings, [new]).gazetteer.search("nyt p-hus")[0].id == "P9"
    assert len(City.load(settings.city_dir).gazetteer.entries) + 1 == len(
        city_of(settings, [new]).gazetteer.entries
    )
