"""The shell around the pages: headers, languages, assets, manifest, service worker."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from urllib.parse import urljoin

import pytest
from flask.testing import FlaskClient
from pydantic import ValidationError
from sqlalchemy import Engine
from werkzeug.test import TestResponse

from citywise.backend.api import bundles
from citywise.backend.api.app import create_app
from citywise.backend.api.languages import LANGUAGES
from citywise.backend.api.pages import PAGES, WEB
from citywise.backend.packs.strings import of_pages
from citywise.backend.settings import Links, Settings, Web
from tests.api.town import Town

ADDRESSES = (*PAGES.values(), "/plan", "/apps/traces", "/log-in", "/sign-up", "/account")

FOLDERS = (WEB, *(WEB.parent / "apps" / name for name in ("meeting_mgr", "travel_planner")))
"""What has texts, templates and static files of pages: the shell, and our apps."""
TEXTS = {
    (folder, name): (folder / "strings" / f"{name}.json").read_text(encoding="utf-8")
    for folder in FOLDERS
    for name in LANGUAGES
}
STRINGS = {
    place: {
        key: text for key, text in json.loads(found).items() if of_pages(key) or place[0] == WEB
    }
    for place, found in TEXTS.items()
}
MODULES = [path for folder in FOLDERS for path in sorted((folder / "static").rglob("*.js"))]
SOURCES = [
    *MODULES,
    *(path for folder in FOLDERS for path in sorted((folder / "templates").glob("*.html"))),
]
ALL = STRINGS[WEB, "en"] | STRINGS[FOLDERS[1], "en"] | STRINGS[FOLDERS[2], "en"]
ASKED = re.compile(r"""['"`]([\w-]+(?:\.[\w-]+)*)['"`]""")
"""A key, as it stands where its string is asked for."""
FILLED_IN = re.compile(
    r"""`([\w-]+\.[\w.-]*\$\{[^`]*)`|f"([\w-]+\.[\w.-]*\{[^"]*)"|'([\w-]+\.' ~)"""
)
"""A key with places to be filled in, in JavaScript, in Python and in a template."""
PLACE = re.compile(r"\$?\{[^{}]*\}|' ~")
ALLOWED_ADDRESSES = {"http://www.w3.org/2000/svg", "http://www.topografix.com/GPX/1/1"}
"""Of namespaces: nothing is loaded from there."""


def fetch(client: FlaskClient, address: str) -> TestResponse:
    """Get a file to its end, so that it is closed."""
    return client.get(address, buffered=True)


@pytest.mark.parametrize("address", [*ADDRESSES, "/offline"])
def test_inline_scripts_and_styles_carry_the_nonce_of_the_policy(
    client: FlaskClient, address: str
) -> None:
    answer = client.get(address)
    policy = answer.headers["Content-Security-Policy"]
    nonce = re.search(r"script-src 'self' 'nonce-([\w-]+)'", policy)
    assert nonce is not None
    assert "unsafe" not in policy
    for attributes, content in re.findall(r"<script([^>]*)>(.*?)</script>", answer.text, re.S):
        if content.strip() and "application/json" not in attributes:
            assert f'nonce="{nonce[1]}"' in attributes
    assert "<style" not in answer.text
    assert not re.search(r"\sstyle=|\son\w+=", answer.text)


def test_a_slow_phone_may_draw_between_the_parts_of_the_map(client: FlaskClient) -> None:
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", client.get("/").text, re.S)
    made = [script for script in scripts if "map_city" in script]
    assert len(made) >= 4
    assert [("L.map(" in script) for script in made] == [True, *[False] * (len(made) - 1)]


def test_each_answer_has_its_own_nonce(client: FlaskClient) -> None:
    first, second = (client.get("/").headers["Content-Security-Policy"] for _ in range(2))
    assert first != second


@pytest.mark.parametrize("address", [*ADDRESSES, "/service-worker.js"])
def test_pages_name_no_other_host(client: FlaskClient, address: str) -> None:
    assert not re.findall(r"(?:https?:)?//[a-z][\w-]+\.[\w.]+", client.get(address).text)


def test_our_assets_name_no_other_host() -> None:
    for path in (path for folder in FOLDERS for path in (folder / "static").rglob("*.*")):
        if path.suffix in {".js", ".css", ".svg"}:
            found = set(re.findall(r"https?://[^\s'\"<>)]+", path.read_text(encoding="utf-8")))
            assert found <= ALLOWED_ADDRESSES, path


def test_only_configured_tiles_open_the_policy(engine: Engine, tmp_path: Path) -> None:
    tiles = "https://{s}.tiles.example.org/{z}/{x}/{y}.png"
    web = Web(tiles=tiles, tiles_attribution="© Example")
    client = create_app(Settings(data_dir=tmp_path, web=web), engine).test_client()
    answer = client.get("/")
    policy = answer.headers["Content-Security-Policy"]
    assert "img-src 'self' data: https://*.tiles.example.org;" in policy
    assert policy.count("example.org") == 1
    assert tiles in answer.text


def test_the_menu_of_every_page_leads_where_whoever_runs_the_city_says(
    engine: Engine, tmp_path: Path
) -> None:
    links = {"help": "https://city.example/help", "about": "mailto:city@example.org"}
    web = Web(links=Links(**links))
    client = create_app(Settings(data_dir=tmp_path, web=web), engine).test_client()
    for page in (*ADDRESSES, "/offline"):
        found = re.findall(
            r'<li><a href="([^"]+)">(Help|Who runs this|Privacy)</a>', client.get(page).text
        )
        assert [href for href, _ in found] == [*links.values()]
    with pytest.raises(ValidationError):
        Links(help="javascript:alert(1)")


def test_the_map_begins_where_the_places_are(client: FlaskClient, town: Town) -> None:
    town.garage("FAR", "Far", lon=12.5, lat=55.7)
    assert "[[55.7, 12.5], [55.7, 12.5]]" in client.get("/").text


def test_every_asset_a_page_asks_for_is_there(client: FlaskClient) -> None:
    for page in (*PAGES.values(), "/plan", "/meetings", "/meetings/m", "/meet/m"):
        text = client.get(page).text
        for address in re.findall(r'(?:src|href)="(/assets/[^"#]+)"', text):
            assert fetch(client, address).status_code == 200, address
    worker = client.get("/service-worker.js").text
    for name in ("FILES", "BROUGHT"):
        files = re.search(rf"const {name} = (\[.*?\]);", worker)
        assert files is not None
        for address in json.loads(files[1]):
            assert fetch(client, address).status_code == 200, address


def test_the_texts_of_a_page_are_a_module_that_is_kept_for_good(client: FlaskClient) -> None:
    page = client.get("/list", headers={"Accept-Language": "da"}).text
    address = re.search(r'data-texts="([^"]+)"', page)
    assert address is not None
    module = fetch(client, address[1])
    assert "immutable" in module.headers["Cache-Control"]
    table = json.loads(module.text.removeprefix("export default ").rstrip(";\n"))
    assert table["nav.map"] == STRINGS[WEB, "da"]["nav.map"]
    assert table["form.unreachable"] not in page  # texts that scripts ask for are not in the page
    old = re.sub(r"/[0-9a-f]{12}/", "/000000000000/", address[1])
    assert "immutable" not in fetch(client, old).headers.get("Cache-Control", "")
    for wrong in ("/assets/texts/-/0/xx.js", "/assets/texts/nobody/0/en.js"):
        assert client.get(wrong).status_code == 404


@pytest.mark.parametrize("address", ["/", "/list", "/system", "/plan"])
def test_a_page_loads_the_modules_of_its_elements_and_no_others(
    client: FlaskClient, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "made", lambda: None)
    page = client.get(address).text
    started = re.findall(r'<script type="module" src="([^"]+)"', page)
    ahead = re.findall(r'<link rel="modulepreload" href="([^"]+)"', page)
    shell = re.search(r'"citywise/": "([^"]+)"', page)
    assert shell is not None
    assert (shell[1] + "operator-events.js" in started) == (address == "/system")
    assert (shell[1] + "map.js" in started) == (address == "/")
    known = {*started, *ahead}
    for one in known:
        text = fetch(client, one).text
        for other in re.findall(r"^import[^;(]*'((?:\.|citywise/)[^']+)'", text, re.M):
            assert urljoin(one, other.replace("citywise/", shell[1])) in known, (one, other)


def test_a_module_that_an_app_brings_to_every_page_is_there_on_each(client: FlaskClient) -> None:
    for address in ("/", "/account"):
        assert "/meet/logging-out.js" in client.get(address).text


@pytest.mark.parametrize(
    ("accepted", "sent"), [("gzip, deflate, br, zstd", "br"), ("gzip", "gzip"), ("", None)]
)
def test_what_anybody_may_read_is_compressed_as_the_browser_takes_it(
    client: FlaskClient, accepted: str, sent: str | None
) -> None:
    for address in ("/list", "/api/v1/openapi.json"):
        answer = client.get(address, headers={"Accept-Encoding": accepted})
        assert answer.headers.get("Content-Encoding") == sent, address
        assert "Accept-Encoding" in answer.headers["Vary"]


def test_what_is_somebodys_is_not_compressed(client: FlaskClient) -> None:
    answer = client.get("/api/v1/me", headers={"Accept-Encoding": "gzip, br"})
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Content-Encoding" not in answer.headers


def test_every_module_that_is_imported_exists() -> None:
    for path in MODULES:
        text = path.read_text("utf-8")
        for name in re.findall(r"(?:from|import)\s*\(?'(\.[^']+|citywise/[^']+)'", text):
            is_shells = name.startswith("citywise/")
            there = WEB / "static" / "js" / name[9:] if is_shells else path.parent / name
            assert there.is_file(), f"{path.name} imports {name}"
            assert not (is_shells and path.is_relative_to(WEB))


def test_the_shell_asks_for_no_text_of_an_app_and_no_app_for_one_of_another() -> None:
    for folder in FOLDERS:
        known = STRINGS[WEB, "en"] | STRINGS[folder, "en"]
        others = ALL.keys() - known.keys()
        for path in (path for path in SOURCES if path.is_relative_to(folder)):
            found = re.findall(r"\bt\('([\w.-]+)'", path.read_text(encoding="utf-8"))
            assert set(found) & others == set(), path


def test_our_assets_may_be_kept_for_good_and_others_may_not(client: FlaskClient) -> None:
    address = re.search(r'src="(/assets/\w+/(?:js|built)/\w+\.js)"', client.get("/list").text)
    assert address is not None
    assert "immutable" in fetch(client, address[1]).headers["Cache-Control"]
    stale = fetch(client, "/assets/0123456789ab/js/main.js")
    assert "immutable" not in stale.headers.get("Cache-Control", "")
    assert client.get("/").headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("language", [code for code in LANGUAGES if code != "en"])
def test_every_language_has_the_same_strings_and_placeholders(language: str) -> None:
    for folder in FOLDERS:
        english, translated = STRINGS[folder, "en"], STRINGS[folder, language]
        assert english.keys() == translated.keys()
        for key, text in english.items():
            other = translated[key]
            assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", other)), key


def test_no_app_says_anew_what_the_shell_says() -> None:
    assert sum(len(STRINGS[folder, "en"]) for folder in FOLDERS) == len(ALL)


@pytest.mark.parametrize("text", TEXTS.values())
def test_no_string_is_there_twice(text: str) -> None:
    pairs: list[tuple[str, str]] = json.loads(text, object_pairs_hook=list)
    assert [key for key, count in Counter(key for key, _ in pairs).items() if count > 1] == []


def test_every_string_is_asked_for_somewhere() -> None:
    python = (path for top in ("apps", "backend") for path in (WEB.parent / top).rglob("*.py"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in (*SOURCES, *python))
    asked = set(ASKED.findall(text))
    heads = {next(filter(None, found)) for found in FILLED_IN.findall(text)}
    among = re.compile("|".join(map(any_of, heads)))
    unused = [key for key in ALL if not {key, bare(key)} & asked and not among.fullmatch(key)]
    assert unused == []


def bare(key: str) -> str:
    """A key without what a number makes of it."""
    return re.sub(r"\.(one|other)$", "", key)


def any_of(key: str) -> str:
    """A pattern of all that a key with places may become."""
    return ".*".join(map(re.escape, PLACE.split(key)))


def test_every_string_the_pages_ask_for_exists() -> None:
    known = {bare(key) for key in ALL} | ALL.keys()
    asked = {
        (path.name, key)
        for path in SOURCES
        for key in re.findall(r"\bt\('([\w.]+)'", path.read_text(encoding="utf-8"))
        if not key.endswith(".")
    }
    assert asked
    assert {(name, key) for name, key in asked if key not in known} == set()


def test_the_language_is_negotiated(client: FlaskClient) -> None:
    danish = client.get("/list", headers={"Accept-Language": "fi, da;q=0.8, de;q=0.5"})
    assert danish.headers["Content-Language"] == "da"
    assert '<html lang="da"' in danish.text
    assert (
        client.get("/list", headers={"Accept-Language": "fi"}).headers["Content-Language"] == "en"
    )


def test_a_choice_is_remembered_and_leaves_the_address(client: FlaskClient) -> None:
    answer = client.get("/?lang=da&event=a%26b&theme=dark")
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/?event=a%26b"
    page = client.get("/", headers={"Accept-Language": "en"}).text
    assert '<html lang="da" data-theme="dark"' in page


def test_a_choice_there_is_not_changes_nothing(client: FlaskClient) -> None:
    answer = client.get("/list?lang=xx&theme=%22%3E%3Cscript%3E")
    assert "Set-Cookie" not in answer.headers
    client.set_cookie("theme", '"><script>')
    assert 'data-theme="auto"' in client.get("/list").text


def test_a_choice_leads_to_no_other_host(client: FlaskClient) -> None:
    answer = client.get("//evil.example/?lang=da")
    assert "evil.example" not in answer.headers.get("Location", "")


def test_the_manifest_makes_the_site_installable(client: FlaskClient) -> None:
    manifest = json.loads(client.get("/manifest.webmanifest").data)
    assert manifest["start_url"] == "/"
    assert {icon["sizes"] for icon in manifest["icons"]} >= {"192x192", "512x512"}
    for icon in manifest["icons"]:
        assert fetch(client, icon["src"]).status_code == 200


def test_every_answer_forbids_guessing_types_and_framing(client: FlaskClient) -> None:
    for address in ("/", "/api/v1/events", "/nothing"):
        headers = client.get(address).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
