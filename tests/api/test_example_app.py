"""The example of an app with a page, as a package from outside; and what is wrong with it stops
nobody else."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import Engine, inspect, select, text

from citywise.backend.api.app import create_app
from citywise.backend.machine import REPOSITORY
from citywise.backend.packs import agreed, broken, library
from citywise.backend.packs.check import check_pack
from citywise.backend.packs.installed import install
from citywise.backend.packs.manifest import load
from citywise.backend.packs.parts import upgrade_tables
from citywise.backend.packs.removal import RemovalError, remove
from citywise.backend.privacy import export, forgetting
from citywise.backend.settings import Apps, Broker, People, Settings
from citywise.backend.store.models import InletRow
from tests.api.browsers import Browser

EXAMPLE = REPOSITORY / "examples" / "pulse"
SHELL = ("/", "/list", "/apps", "/system")
MODULES = ("pulse", "pulse.parts", "pulse.tables", "pulse.views")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the example's package, found as pip's entry point says."""
    shutil.copytree(EXAMPLE, tmp_path / "site", ignore=shutil.ignore_patterns("__pycache__"))
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    ((name, value),) = project["entry-points"][library.GROUP].items()
    point = EntryPoint(name, value, library.GROUP)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setattr(library, "_points", lambda: [point])
    broken._faults.clear()
    yield tmp_path / "site" / "pulse"
    broken._faults.clear()
    for module in MODULES:
        sys.modules.pop(module, None)


def findings(folder: Path) -> list[str]:
    return [str(finding).replace(f"{folder}/", "") for finding in check_pack(folder)]


def get(app: Flask, address: str, language: str = "en") -> str:
    answer = app.test_client().get(address, headers={"Accept-Language": language})
    assert answer.status_code == 200, answer.text
    return answer.text


def served(settings: Settings, engine: Engine) -> Flask:
    """The pages of a system that has been started."""
    upgrade_tables(engine, settings)
    return create_app(settings, engine)


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path)


def test_the_example_is_sound_and_short(folder: Path) -> None:
    assert findings(folder) == []
    lines = [line for file in folder.glob("*.py") for line in file.read_text().splitlines()]
    assert sum(map(bool, lines)) <= 60


def test_it_has_a_page_in_every_language(folder: Path, settings: Settings, engine: Engine) -> None:
    app = served(settings, engine)
    for language, entry, title in ("en", "Pulse", "The city now"), ("da", "Puls", "Byen lige nu"):
        page = get(app, "/pulse", language)
        assert f"<h1>{title}</h1>" in page
        assert f"<title>{title} · Citywise</title>" in page
        for address in (*SHELL, "/plan", "/pulse"):
            _, _, link = get(app, address, language).partition('<a href="/pulse"')
            assert f"<span>{entry}</span>" in link.partition("</a>")[0]
            assert 'href="#icon-pulse-pulse"' in link.partition("</a>")[0]
        assert '<symbol id="icon-pulse-pulse" viewBox="0 0 24 24"><path d="M3' in page
    assert json.loads(get(app, "/api/v1/pulse")) == {"open": {}}
    assert "/pulse" in str(json.loads(get(app, "/api/v1/openapi.json"))["paths"].keys())
    assert broken.known() == []


def test_its_static_files_are_served_as_our_own(
    folder: Path, settings: Settings, engine: Engine
) -> None:
    client = served(settings, engine).test_client()
    page = client.get("/pulse").text
    found = re.findall(r'"(/assets/apps/pulse/[^"]+)"', page)
    assert sorted({Path(address).name for address in found}) == ["now.css", "now.js"]
    for address in found:
        answer = client.get(address, buffered=True)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["Cache-Control"]
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    css = next(address for address in found if address.endswith(".css"))
    old = css.replace(css.split("/")[4], "0" * 12)
    assert "immutable" not in client.get(old, buffered=True).headers["Cache-Control"]
    for wrong in (f"{css}/../../parts.py", css.replace("now.css", "../parts.py"),
                  css.replace("pulse", "nobody", 1), css.replace("now", "none")):  # fmt: skip
        assert client.get(wrong).status_code == 404


def test_its_page_alone_is_granted_another_origin_and_the_broker(
    folder: Path, settings: Settings, engine: Engine
) -> None:
    granted = 'granted={"https://meet.example.org": ("frame-src", "camera")}'
    plain = 'page("now", section="pulse")'
    change(folder / "views.py", plain, plain.replace(")", f", has_broker=True, {granted})"))
    broker = Broker(websocket_url="wss://city.example/mqtt")
    client = served(settings.model_copy(update={"broker": broker}), engine).test_client()
    page, other = client.get("/pulse").headers, client.get("/list").headers
    policy = "Content-Security-Policy"
    assert "frame-src https://meet.example.org" in page[policy]
    assert "connect-src 'self' wss://city.example;" in page[policy]
    assert 'camera=(self "https://meet.example.org")' in page["Permissions-Policy"]
    assert "meet.example.org" not in f"{other[policy]}{other['Permissions-Policy']}"
    assert "wss:" not in other[policy]


def test_its_code_has_the_rules_watch_for_a_person(
    folder: Path, settings: Settings, engine: Engine
) -> None:
    pinned, who = 'upsert(connection, PINS, [row], keys=("user", "type"))', 'row["user"]'
    values = {"where": {"center": {"lat": 56.15, "lon": 10.2}, "radius_m": 300}}
    watched = f'watching.watch(connection, {who} + ".pins", {who}, "pulse", "busy", {values})'
    told = f'watching.tell(connection, {who}, {{"activity": {{"activity": "Walking"}}}})'
    change(folder / "views.py", pinned, f"{pinned}; {watched}; {told}")
    change(folder / "views.py", "times, upsert", "times, upsert, watching")
    install(engine, [load(folder)])
    browser = Browser(served(settings, engine).test_client())
    browser.sign_up("Ida")
    user = browser.user
    assert browser.put("/pulse/pins/TrafficJam", {}).json == {"pinned": "TrafficJam"}
    (found,) = browser.get("/instances").json["instances"]
    assert (found["id"], found["template"], found["user"]) == (f"{user}.pins", "busy", user)
    assert found["values"] == {"least": 10, **values}
    with engine.connect() as connection:
        rows = connection.execute(select(InletRow.subject, InletRow.key).order_by(InletRow.id))
        assert rows.all() == [("instance", f"{user}.pins"), ("activity", user)]


EN, PAGE, ICON = "strings/en.json", "templates/now.html", "icon.svg"
LACKING = {
    "a text of the page": (EN, '"pages.now.none"', '"pages.now.nothing"',
        "templates/now.html:5:59: error no-string: there is no text `pages.now.none`",
        "None</p>", "`pages.now.none` is not there"),
    "the text of the menu": (EN, '"nav.pulse"', '"pages.pulse"',
        "strings/en.json:1:1: warning no-string: no text `nav.pulse` for the menu",
        "<span>City pulse</span>", None),
    "the file of texts": (EN, "{\n", "{,\n", "strings/en.json:1:2: error strings",
        "None</p>", "en.json:1:2"),
    "a sound icon": (ICON, "<circle", '<script href="x"/><circle',
        "icon.svg:1:1: error icon: `script` is no shape", 'href="#icon-apps"', "no shape"),
    "an icon that can be read": (ICON, "</svg>", "",
        "icon.svg:1:1: error icon: cannot be read as SVG", 'href="#icon-apps"', "cannot be read"),
    "an icon without acts": (ICON, "<circle", '<circle onclick="x()"',
        "attribute `onclick` is no plain drawing", 'href="#icon-apps"', "onclick"),
    "a text that its values fit into": (PAGE, "t('pages.now.none')", "t('pages.now.open', n=1)",
        None, "Open now: {number}</p>", "does not fit its values (KeyError"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("file", "old", "new", "finding", "shown", "told"), LACKING.values(), ids=LACKING.keys()
)
def test_what_is_missing_is_stood_in_for_and_told(
    folder: Path, settings: Settings, engine: Engine,
    file: str, old: str, new: str, finding: str | None, shown: str, told: str | None,
) -> None:  # fmt: skip
    change(folder / file, old, new)
    if finding is not None:
        assert finding in "\n".join(findings(folder))
    app = served(settings, engine)
    assert shown in get(app, "/pulse")
    for address in SHELL:
        get(app, address)
    assert ("told" if told else "") == ("told" if broken.known() else "")
    if told:
        assert any(told in fault.reason for fault in broken.known())


def test_an_app_without_an_icon_is_warned_of_it(
    folder: Path, settings: Settings, engine: Engine
) -> None:
    (folder / "icon.svg").unlink()
    (found,) = findings(folder)
    assert found.startswith("icon.svg:1:1: warning no-icon: the menu entry `pulse` has no icon")
    assert 'href="#icon-apps"' in get(served(settings, engine), "/list").partition("/pulse")[2]


BROKEN = {
    "its import fails": ("parts.py", "PARTS =", "1 / 0\nPARTS =", 404),
    "the import of its views fails": ("views.py", "api =", "import no_such_module\napi =", 404),
    "its view fails": ("views.py", 'page("now"', 'page(str(1 / 0)', 500),
    "its template is wrong": ("templates/now.html", "{% block body %}", "{% block %}", 500),
    "its template is not there": ("views.py", 'page("now"', 'page("nowhere"', 500),
}  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "status"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_example_breaks_no_other_page(
    folder: Path, settings: Settings, engine: Engine, file: str, old: str, new: str, status: int
) -> None:
    change(folder / file, old, new)
    app = served(settings, engine)
    assert app.test_client().get("/pulse").status_code == status
    for address in SHELL:
        assert ('href="/pulse"' in get(app, address)) == (status == 500)
    if status == 404:
        assert [fault.app for fault in broken.known()] == ["pulse"]
    assert (findings(folder) != []) == (status == 404 or file.endswith(".html"))


# --- As a folder and as a package: from its first version until it is gone -----------------------


@pytest.fixture(params=["package", "folder"])
def way(request: pytest.FixtureRequest, settings: Settings) -> tuple[Path, Settings]:
    """The example, and the settings of a system that has it."""
    if request.param == "package":
        return request.getfixturevalue("folder"), settings
    broken._faults.clear()
    tmp_path: Path = request.getfixturevalue("tmp_path")
    request.getfixturevalue("monkeypatch").setattr(agreed, "AGREED", tmp_path / "agreed.json")
    folder = tmp_path / "apps" / "pulse"
    shutil.copytree(EXAMPLE / "pulse", folder, ignore=shutil.ignore_patterns("__pycache__"))
    apps = Apps(folders=(str(folder),))
    return folder, settings.model_copy(update={"apps": apps})


def begin(folder: Path, settings: Settings, engine: Engine) -> Flask:
    """The pages of a system that starts with the example as it now is."""
    agreed.agree(folder)
    for module in MODULES:
        sys.modules.pop(module, None)
    return served(settings, engine)


def test_it_comes_is_upgraded_and_goes_without_a_trace(
    way: tuple[Path, Settings], engine: Engine
) -> None:
    folder, settings = way
    before = sorted(inspect(engine).get_table_names())
    change(folder / "tables.py", "[first, second]", "[first]")
    change(folder / "views.py", ', "since_ms": times.wall_ms()', "")
    browser = Browser(begin(folder, settings, engine).test_client())
    browser.sign_up("Ida")
    user = browser.user
    assert browser.put("/pulse/pins/TrafficJam", {}).json == {"pinned": "TrafficJam"}
    page = browser.get("//pulse", Accept_Language="da").text
    assert "<h1>Byen lige nu</h1>" in page
    assert '<symbol id="icon-pulse-pulse"' in page

    shutil.copy(EXAMPLE / "pulse" / "tables.py", folder)
    shutil.copy(EXAMPLE / "pulse" / "views.py", folder)
    begin(folder, settings, engine)
    with engine.connect() as connection:
        told = export.everything(connection, settings, user)["pulse_pins"]
    assert told == [{"user": user, "type": "TrafficJam", "since": "1970-01-01T00:00:00Z"}]

    forgetting.forget(engine, settings, user)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT * FROM pulse_pins")).all() == []
    with pytest.raises(RemovalError, match="the app `pulse` is still there"):
        remove(engine, settings, "pulse")
    shutil.rmtree(folder)
    for module in MODULES:
        sys.modules.pop(module, None)
    assert remove(engine, settings, "pulse").tables == ["pulse_pins"]
    assert sorted(inspect(engine).get_table_names()) == before


@pytest.mark.parametrize(
    ("file", "old", "new", "status", "told"),
    [
        ("strings/en.json", '"pages.now.none"', '"pages.now.nothing"', 200, "`pages.now.none` is"),
        ("parts.py", "PARTS =", "1 / 0\nPARTS =", 404, "ZeroDivisionError"),
        ("views.py", 'page("now"', "page(str(1 / 0)", 500, "GET /pulse: ZeroDivisionError"),
        ("tables.py", "op.add_column", "1 / op.add_column", 404, "TypeError"),
    ],
    ids=["a missing text", "a failing import", "a failing view", "a failing migration"],
)
def test_a_broken_one_is_named_with_the_reason_and_all_other_pages_work(
    way: tuple[Path, Settings], engine: Engine,
    file: str, old: str, new: str, status: int, told: str,
) -> None:  # fmt: skip
    folder, settings = way
    change(folder / file, old, new)
    demo = settings.model_copy(update={"people": People(demo_user=True)})
    client = begin(folder, demo, engine).test_client()
    assert client.get("/pulse").status_code == status
    for address in (*SHELL, "/plan", "/meetings", "/account"):
        assert client.get(address).status_code == 200
    shown = client.get("/api/v1/operator/requests").json["broken_apps"]
    (reason,) = [fault["reason"] for fault in shown if fault["app"] == "pulse"]
    assert told in reason
