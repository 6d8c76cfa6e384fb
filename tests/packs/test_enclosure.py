"""No file of an app lies outside of its folder, whatever way it is named."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citywise.backend.machine import REPOSITORY
from citywise.backend.packs.check import check_pack, checked
from citywise.backend.packs.manifest import PackError, load
from citywise.backend.packs.ontology import ONTOLOGIES
from citywise.backend.pipeline.against import earlier
from tests.packs.folders import AppFolder

SECRET = "secret(1)."


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """Facts that are nobody's business, beside the folder of apps."""
    file = tmp_path / "secret.lp"
    file.write_text(SECRET)
    return file


@pytest.fixture
def inner(tmp_path: Path) -> AppFolder:
    return AppFolder(tmp_path / "apps")


def _named(app: AppFolder, name: str) -> None:
    app.rules("#prefix rdf", f"#from <{name}>.\n#prefix rdf")


def _linked_knowledge(app: AppFolder, secret: Path) -> None:
    (app.path / "templates" / "own.lp").symlink_to(secret)
    _named(app, "own.lp")


def _linked_folder(app: AppFolder, secret: Path) -> None:
    (app.path / "more").symlink_to(secret.parent)
    _named(app, "../more/secret.lp")


def _linked(name: str) -> Callable[[AppFolder, Path], None]:
    def make(app: AppFolder, secret: Path) -> None:
        file = app.path / name
        text = file.read_text() if file.exists() else "{}"
        secret.write_text(text)
        file.unlink(missing_ok=True)
        file.parent.mkdir(exist_ok=True)
        file.symlink_to(secret)

    return make


def _requested(app: AppFolder, secret: Path) -> None:
    app.write("requests/city.casp", f"#from <{secret}>.\nq(X) :- secret(X).\n")
    app.manifest('title = "Jam watch"', 'title = "Jam watch"\nrequests = ["requests/city.casp"]')


WAYS: dict[str, Callable[[AppFolder, Path], None]] = {
    "knowledge by a relative path": lambda app, _: _named(app, "../../../secret.lp"),
    "knowledge by an absolute path": lambda app, secret: _named(app, str(secret)),
    "knowledge by a link": _linked_knowledge,
    "knowledge in a folder that is a link": _linked_folder,
    "a template by a link": _linked("templates/jam_ahead.casp"),
    "texts by a link": _linked("strings/da.json"),
    "a scenario by a link": _linked("scenarios/more.jsonl"),
    "the manifest by a link": _linked("app.toml"),
    "knowledge of a request": _requested,
}


@pytest.mark.parametrize("lead_out", WAYS.values(), ids=WAYS.keys())
def test_what_lies_outside_of_an_app_is_refused_and_not_read(
    inner: AppFolder,
    secret: Path,
    lead_out: Callable[[AppFolder, Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert check_pack(inner.path) == []
    lead_out(inner, secret)
    opened: list[Path] = []
    usual = Path.open

    def opening(path: Path, *how: Any, **more: Any) -> Any:
        opened.append(path.resolve())
        return usual(path, *how, **more)

    monkeypatch.setattr(Path, "open", opening)
    found = check_pack(inner.path)
    assert [finding.code for finding in found] == ["outside"]
    assert "is outside of the app's folder; copy the file into it" in found[0].message
    with pytest.raises(PackError, match="outside of the app's folder"):
        checked(inner.path)
    assert secret.resolve() not in opened


def test_our_ontologies_are_everybodys(inner: AppFolder) -> None:
    _named(inner, str(ONTOLOGIES / "event.ttl"))
    assert "outside" not in {finding.code for finding in check_pack(inner.path)}


def test_an_app_of_ours_is_sound_as_it_was_at_a_commit() -> None:
    """With the ontologies of that commit."""
    with earlier(REPOSITORY / "apps" / "travel_planner", "HEAD") as folder:
        assert folder != REPOSITORY / "apps" / "travel_planner"
        assert {template.name for template in load(folder).templates} >= {"ahead"}


def test_links_within_an_app_are_its_own(inner: AppFolder) -> None:
    template = inner.path / "templates" / "jam_ahead.casp"
    template.rename(inner.path / "rules.casp")
    template.symlink_to(os.path.relpath(inner.path / "rules.casp", template.parent))
    assert check_pack(inner.path) == []
