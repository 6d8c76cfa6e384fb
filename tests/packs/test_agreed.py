"""The Python of a folder runs when somebody has agreed to it, and as it was then."""

from __future__ import annotations

import py_compile
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sqlalchemy import Engine

from citywise.backend.api.app import create_app
from citywise.backend.cli import cli
from citywise.backend.packs import agreed, broken
from citywise.backend.packs.parts import PartsError, brought, load
from citywise.backend.packs.scaffold import WITH_PYTHON, create
from citywise.backend.settings import Apps, Settings
from citywise.backend.supervisor import System
from tests.databases import begun


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(agreed, "AGREED", tmp_path / "configuration" / "agreed-apps.json")
    broken._faults.clear()
    yield
    broken._faults.clear()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return create("noise", WITH_PYTHON, tmp_path)


def command(*arguments: str, answer: str = "") -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["app", *arguments], input=answer)
    return done.exit_code, done.output + (str(done.exception) if done.exception else "")


def why_not(folder: Path) -> str:
    with pytest.raises(PartsError) as caught:
        load(folder, "parts")
    return str(caught.value)


def test_nothing_of_it_runs_before_somebody_agrees(folder: Path, tmp_path: Path) -> None:
    (folder / "parts.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    told = f"nobody has agreed to run the Python of this folder; look at it, then run `citywise app trust {folder}`"  # noqa: E501
    assert told in why_not(folder)
    assert "noise" in brought([folder]).unusable
    code, shown = command("trust", str(folder), answer="n\n")
    assert code == 1
    assert "Its code: __init__.py, parts.py, tables.py, views.py." in shown
    assert told in why_not(folder)
    assert not (tmp_path / "ran").exists()


def test_what_it_may_do_is_named_before_somebody_agrees(folder: Path) -> None:
    code, shown = command("trust", str(folder), answer="y\n")
    assert code == 0
    for told in (
        "with all their rights: it can read and change their files and database",
        "  addresses below /api/v1\n  pages\n  entries of the menu: {'noise': '/noise'}\n",
        "  tables in the database\n",
        f"{folder}: trusted, until it changes",
    ):
        assert told in shown
    assert load(folder, "parts").navigation == {"noise": "/noise"}


CHANGES = {
    "a module": lambda folder: (folder / "views.py").write_text("1 / 0"),
    "a page": lambda folder: (folder / "templates" / "notes.html").write_text("{{ 1 }}"),
    "a new file": lambda folder: (folder / "sqlalchemy.py").write_text("1 / 0"),
    "a file that goes": lambda folder: (folder / "icon.svg").unlink(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_folder_that_changes_has_to_be_agreed_to_again(folder: Path, change: object) -> None:
    agreed.agree(folder)
    load(folder, "parts")
    assert callable(change)
    change(folder)
    assert "the folder has changed since somebody agreed to it (" in why_not(folder)
    agreed.agree(folder)
    load(folder, "parts")


def test_scenarios_and_tests_may_change(folder: Path) -> None:
    agreed.agree(folder)
    (folder / "scenarios" / "second.jsonl").write_text("")
    (folder / "tests" / "test_more.py").write_text("")
    load(folder, "parts")


def test_who_writes_the_app_agrees_to_what_it_becomes(folder: Path) -> None:
    assert command("trust", str(folder), "--yes", "--changes")[0] == 0
    assert load(folder, "parts").navigation == {"noise": "/noise"}
    parts = folder / "parts.py"
    parts.write_text(parts.read_text().replace('"/noise"', '"/din"'))
    assert load(folder, "parts").navigation == {"noise": "/noise"}  # of this process
    assert command("trust", str(folder), "--revoke")[1] == f"{folder}: trusted no longer\n"
    assert "nobody has agreed" in why_not(folder)


def test_a_module_that_changes_after_the_start_does_not_run(folder: Path, tmp_path: Path) -> None:
    agreed.agree(folder)
    parts = load(folder, "parts")
    (folder / "views.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(ImportError, match="has changed since somebody agreed to it"):
        parts.pages()
    assert not (tmp_path / "ran").exists()


def test_a_compiled_file_does_not_run_in_place_of_its_source(folder: Path, tmp_path: Path) -> None:
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    agreed.agree(folder)
    for module in ("parts", "tables", "views"):
        name = f"{module}.{sys.implementation.cache_tag}.pyc"
        unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(
            str(evil), str(folder / "__pycache__" / name), invalidation_mode=unchecked
        )
    load(folder, "parts").pages()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("text", ["{", "[]", '{"/a": 5}'])
def test_a_list_of_agreements_that_cannot_be_read_agrees_to_nothing(
    folder: Path, text: str
) -> None:
    agreed.agree(folder)
    agreed.AGREED.write_text(text)
    assert "agreed-apps.json" in why_not(folder)
    assert "remove it" in why_not(folder)


def test_a_folder_may_be_called_as_folders_are(tmp_path: Path) -> None:
    parent = tmp_path / "Mine æøå, 2 'apps'"
    parent.mkdir()
    folder = create("noise", WITH_PYTHON, parent)
    odd = folder.rename(parent / "støj-1.0")
    agreed.agree(odd)
    parts = load(odd, "parts")
    assert parts.tables is not None
    (blueprint,) = brought_blueprints(parts.pages())
    assert blueprint.name == "noise_pages"


def brought_blueprints(found: object) -> list[Any]:
    return list(found) if isinstance(found, list | tuple) else [found]


def test_links_out_of_the_folder_are_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "else.py").write_text("")
    (folder / "more.py").symlink_to(tmp_path / "else.py")
    code, shown = command("trust", str(folder), "--yes")
    assert code != 0
    assert "outside the app; put the file itself there" in shown


def test_a_system_goes_on_without_a_folder_that_nobody_agreed_to(
    folder: Path, tmp_path: Path
) -> None:
    settings = Settings(data_dir=tmp_path / "data", apps=Apps(folders=(str(folder),)))
    engine: Engine = begun(settings.database_url)
    said: list[str] = []
    System(settings, say=said.append)._install_apps(engine)
    assert "nobody has agreed" in said[0]
    client = create_app(settings, engine).test_client()
    assert client.get("/noise").status_code == 404
    assert client.get("/list").status_code == 200
    assert [fault.app for fault in broken.known()] == ["noise"]
    engine.dispose()


def test_a_new_app_with_python_is_sound_and_its_pages_are_shown(folder: Path) -> None:
    assert command("trust", str(folder), "--yes")[0] == 0
    done = CliRunner().invoke(cli, ["check", str(folder)])
    assert (done.exit_code, done.output) == (0, "")
    code, shown = command("test", str(folder))
    assert (code, shown) == (
        0,
        "".join(
            (
                "first: 2 notices as expected\n",
                *(f"/noise in {language}: shown\n" for language in ("en", "da", "de")),
            )
        ),
    )


def test_a_page_that_fails_or_lacks_a_text_fails_the_test(folder: Path) -> None:
    page = folder / "templates" / "notes.html"
    page.write_text(page.read_text().replace("number=number", "of=number"))
    agreed.agree(folder)
    code, shown = command("test", str(folder))
    assert code == 1
    assert "/noise in en: strings: " in shown
    assert "`pages.notes.number` does not fit its values (KeyError: 'number')" in shown


def test_an_installed_package_needs_no_word() -> None:
    code, told = command("trust", "meeting_mgr", "--yes")
    assert (code != 0, "is a Python package, which needs no word" in told) == (True, True)
    assert not agreed.AGREED.exists()


def test_rules_of_a_starter_are_not_those_of_python(tmp_path: Path) -> None:
    code, told = command("new", "noise", "--python", "--template", "area", "--dir", str(tmp_path))
    assert (code, "leave out --template" in told) == (2, True)
