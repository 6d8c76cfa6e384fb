"""Settings and limits that an app declares: checked where Citywise's own are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from citywise.backend.api.app import create_app
from citywise.backend.packs import broken
from citywise.backend.packs.parts import brought_to, upgrade_tables
from citywise.backend.settings import Settings, SettingsError, load
from tests.packs.folders import AppFolder, with_python

CODE = """
from flask import Blueprint
from pydantic import Field
from citywise.backend.app import Limit, Parts, Section, access, as_json, limits, state

class Loudness(Section):
    most: int = Field(default=80, ge=0)
    words: tuple[str, ...] = ()

api = Blueprint("loud_api", __name__)

@api.post("/loud")
@access.city
@limits.counted("{counted}")
def most():
    return as_json(dict(most=state().settings.section("loud", Loudness).most))

PARTS = Parts(
    api=lambda: api,
    settings={{"{section}": Loudness}},
    limits={{"{limit}": Limit(2, 60)}},
)
"""


def code(counted: str = "loud-calls", limit: str = "loud-calls", section: str = "loud") -> str:
    return CODE.format(counted=counted, limit=limit, section=section)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[AppFolder]:
    broken._faults.clear()
    with with_python(tmp_path, "loud", code()) as app:
        yield app
    broken._faults.clear()


def loaded(folder: Path, text: str) -> Settings:
    file = folder / "citywise.toml"
    file.write_text(text)
    return load(file)


def test_an_app_reads_its_own_section(app: AppFolder, tmp_path: Path, engine: Engine) -> None:
    settings = loaded(tmp_path, '[web]\nport = 8000\n[loud]\nmost = 90\nwords = ["a"]\n')
    settings = Settings.model_validate(settings.model_dump(mode="json"))  # as processes get them
    client = create_app(settings.model_copy(update={"data_dir": tmp_path}), engine).test_client()
    assert client.post("/api/v1/loud").json == {"most": 90}


def test_the_environment_sets_it_too(app: AppFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITYWISE_SET__LOUD__MOST", "95")
    assert load().of_apps == {"loud": {"most": "95"}}
    monkeypatch.setenv("CITYWISE_SET__LOUD__MOST", "much")
    with pytest.raises(SettingsError, match=r"^CITYWISE_SET__LOUD__MOST: loud\.most: Input should"):
        load()


WRONG = {
    "a value": ("[loud]\nmost = -1\n", "2: loud.most: Input should be greater than or equal to 0"),
    "a key": ("\n[loud]\nmust = 1\n", "3: loud.must: Extra inputs are not permitted"),
    "a section": ("[lout]\nmost = 1\n", "1: lout: there is no such section; did you mean `loud`?"),
    "a value alone": ("lout = 1\n", "there is no such setting"),
    "a value of ours": ("[web]\n\nport = -1\n", "3: web.port: Input should be greater than"),
}


@pytest.mark.parametrize(("text", "told"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_told_with_file_line_and_key(
    app: AppFolder, tmp_path: Path, text: str, told: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        loaded(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'citywise.toml'}:")
    assert told in str(caught.value)


MISDECLARED = {
    "tables": ("tables=5", "`tables` is 5, no `Tables`"),
    "settings": ("settings=[1]", "`settings` is [1], no mapping"),
    "a section": ("settings={'loud': int}", "int is no `Section`; let it be one"),
    "limits": ("limits={'loud': 5}", "`limits` is {'loud': 5}, no mapping from names to Limits"),
    "modules": ("everywhere='a.js'", "`everywhere` is 'a.js', no list of paths in `static/`"),
    "shortcuts": ("shortcuts=['/loud']", "`shortcuts` is ['/loud'], no mapping from names to strs"),
    "a module": ("everywhere=('a.js',)", "a.js: every page is to load it; it is not there"),
    "what is installable": ("installable={'a': 'loud'}", "'loud.webmanifest'"),
    "a limit": ("limits={'loud': Limit(0, 1)}", "`loud` allows 0 in 1 s; write one or more"),
}


@pytest.mark.parametrize(("parts", "told"), MISDECLARED.values(), ids=MISDECLARED.keys())
def test_what_is_declared_as_something_else_is_left_out_and_named(
    tmp_path: Path, engine: Engine, parts: str, told: str
) -> None:
    program = f"from citywise.backend.app import Limit, Parts\nPARTS = Parts({parts})\n"
    with with_python(tmp_path, "loud", program):
        settings = Settings(data_dir=tmp_path)
        upgrade_tables(engine, settings)
        assert create_app(settings, engine).test_client().get("/list").status_code == 200
        assert told in broken.known()[0].reason
    broken._faults.clear()


def test_no_app_takes_a_section_of_ours(tmp_path: Path) -> None:
    with with_python(tmp_path, "loud", code(section="web")):
        assert "loud" in brought_to(Settings()).unusable
        assert "`settings` declares `web`, a section of Citywise's own" in broken.known()[0].reason
    broken._faults.clear()


def test_of_two_apps_with_one_section_the_second_is_left_out_and_told_what_to_call_it(
    tmp_path: Path,
) -> None:
    with with_python(tmp_path, "loud", code(section="meetings")):
        brought = brought_to(Settings())
        assert ("meeting_mgr" in brought.parts, "loud" in brought.unusable) == (True, True)
        told = "declares `meetings`, a section of the app `meeting_mgr`; call it `loud`"
        assert told in broken.known()[0].reason
    broken._faults.clear()


def test_calls_count_as_of_the_app_s_own_kind(
    app: AppFolder, tmp_path: Path, engine: Engine
) -> None:
    client = create_app(Settings(data_dir=tmp_path), engine).test_client()
    assert [client.post("/api/v1/loud").status_code for _ in range(3)] == [200, 200, 429]
    assert "at most 2 in 60 s of this kind (loud-calls)" in client.post("/api/v1/loud").text


@pytest.mark.parametrize(
    ("counted", "limit", "told"),
    [
        ("loud-cries", "loud-calls", "a view counts as `loud-cries`, which is no limit"),
        ("writes", "writes", "there is a limit `writes` already; call it otherwise"),
    ],
)
def test_limits_that_cannot_be_keep_the_app_from_being_served(
    tmp_path: Path, engine: Engine, counted: str, limit: str, told: str
) -> None:
    with with_python(tmp_path, "loud", code(counted, limit)):
        client = create_app(Settings(data_dir=tmp_path), engine).test_client()
        assert client.post("/api/v1/loud").status_code == 404
        assert client.get("/list").status_code == 200
        assert told in broken.known()[0].reason
    broken._faults.clear()
