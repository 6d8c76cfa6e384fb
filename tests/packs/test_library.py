"""Where apps are found, and how they are listed."""

from __future__ import annotations

import importlib.metadata
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from citywise.backend.packs import broken, library, parts
from citywise.backend.packs.check import check_pack
from citywise.backend.packs.listing import lines
from tests.packs.folders import AppFolder, with_python


def test_apps_are_found_in_a_folder_of_apps(tmp_path: Path) -> None:
    one, two = AppFolder(tmp_path), AppFolder(tmp_path / ".hidden")
    assert library.folders(tmp_path) == [one.path]
    assert library.folders(two.path) == [two.path]


def test_an_app_is_found_by_path_or_by_name(app: AppFolder) -> None:
    assert library.find(str(app.path)) == app.path
    assert library.find(str(app.path.parent)) == app.path
    assert library.find("contextual_filtering") in library.built_in()


def test_a_name_that_no_app_has_names_those_there_are() -> None:
    with pytest.raises(library.UnknownAppError) as caught:
        library.find("no_such_app")
    assert "no app `no_such_app`; give the path of its folder or one of those there are: " in str(
        caught.value
    )
    assert "contextual_filtering" in str(caught.value)


def test_a_manifest_is_read_alike_wherever_it_is_read(tmp_path: Path) -> None:
    """Also one that begins with a mark of its byte order, as editors on Windows write it."""
    app = AppFolder(tmp_path, "folder")
    app.manifest('name = "jam_watch"', 'name = "jam_watch"\npython = "parts"')
    app.manifest("name =", "\N{BYTE ORDER MARK}name =")
    assert "python" in {finding.code for finding in check_pack(app.path)}
    assert library.app_name(app.path) == "jam_watch"
    assert parts.brought([app.path]).folders["jam_watch"] == app.path


def test_a_folder_of_several_apps_is_not_one(tmp_path: Path) -> None:
    AppFolder(tmp_path, "one")
    AppFolder(tmp_path, "two")
    with pytest.raises(library.UnknownAppError, match="name the folder of one app"):
        library.find(str(tmp_path))


def test_a_package_brings_an_app_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = AppFolder(tmp_path)
    (app.path / "__init__.py").touch()
    sys.modules.pop("jam_watch", None)  # Of a try that failed.
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("jams", "jam_watch", library.GROUP)
    monkeypatch.setattr(library, "_points", lambda: [point])
    assert list(library.of_packages()) == [app.path]
    assert library.find("jam_watch") == app.path
    del sys.modules["jam_watch"]


def test_a_package_that_is_installed_meanwhile_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    assert "jams" not in {point.name for point in library._points()}
    told = tmp_path / "jams-1.dist-info"
    told.mkdir()
    (told / "entry_points.txt").write_text(f"[{library.GROUP}]\njams = jam_watch\n")
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: jams\nVersion: 1\n")
    assert "jams" in {point.name for point in library._points()}


def test_an_entry_point_of_a_package_that_is_not_there_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    point = importlib.metadata.EntryPoint("jams", "no_such_package", library.GROUP)
    monkeypatch.setattr(library, "_points", lambda: [point])
    assert list(library.of_packages()) == []
    (fault,) = (found for found in broken.known() if found.app == "jams")
    assert fault.part == "package"
    assert fault.reason.startswith("entry point `jams` of citywise.apps: cannot import")


def test_an_app_is_listed_with_its_templates(app: AppFolder) -> None:
    assert list(lines(app.path)) == [
        f"jam_watch 1.0.0  Jam watch  ({app.path})",
        "  jam_ahead@1  Jams on my way  (radius)",
    ]
    app.manifest("unit =", "units =")
    (line,) = lines(app.path)
    assert line == f"jam_watch  not sound, 1 finding: citywise check {app.path}"


PARTS = """
from citywise.backend.packs.parts import Parts
PARTS = Parts(decisions={"way": lambda request, data, at_ms: {"request": request.name}})
"""


def test_a_package_brings_python_beside_its_rules(tmp_path: Path) -> None:
    with with_python(tmp_path, "own_code", PARTS) as app:
        decide = parts.found()["own_code"].decisions["way"]
        assert decide(Path("way.json"), tmp_path, None) == {"request": "way.json"}
        assert check_pack(app.path) == []


def test_what_is_no_parts_is_a_fault(tmp_path: Path) -> None:
    with with_python(tmp_path, "no_code", "PARTS = 1") as app:
        (found,) = check_pack(app.path)
        assert found.code == "python"
        assert "`no_code.parts.PARTS` is no Parts" in found.message
        (line,) = lines(app.path)
        assert line == f"no_code  not sound, 1 finding: citywise check {app.path}"


@pytest.mark.parametrize("code", ["1 / 0", "import no_such_module", "raise SystemExit(3)", "("])
def test_an_app_whose_python_fails_leaves_the_others_theirs(tmp_path: Path, code: str) -> None:
    before = set(parts.found())
    with with_python(tmp_path, "no_code", code) as app:
        apps = parts.brought()
        assert set(apps.parts) == before
        assert apps.unusable == ("no_code",)
        (fault,) = broken.known()
        assert (fault.app, fault.part) == ("no_code", "python")
        app.write("parts.py", PARTS)
        assert set(parts.found()) == {*before, "no_code"}
    assert broken.known() == []


def test_a_folder_that_is_no_package_brings_no_python(app: AppFolder) -> None:
    app.manifest('title = "Jam watch"', 'title = "Jam watch"\npython = "parts"')
    (found,) = check_pack(app.path)
    assert found.code == "python"
    assert "citywise app trust" in found.message
