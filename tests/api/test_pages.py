"""The shell around the pages: headers, languages, assets, manifest, service worker."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine
from werkzeug.test import TestResponse

from citywise.backend.api.app import create_app
from citywise.backend.api.pages import PAGES, WEB
from citywise.backend.settings import Settings, Web
from tests.api.town import Town

ADDRESSES = (*PAGES.values(), "/plan", "/apps/traces", "/log-in", "/sign-up", "/account")

TEXTS = {
    name: (WEB / "strings" / f"{name}.json").read_text(encoding="utf-8") for name in ("en", "da")
}
STRINGS = {name: json.loads(text) for name, text in TEXTS.items()}
SOURCES = [
    *sorted((WEB / "static" / "js").rglob("*.js")),
    *sorted((WEB / "templates").glob("*.html")),
]
ASKED = re.compile(r"""['"`]([\w-]+(?:\.[\w-]+)*)['"`]""")
"""A key, as it stands where its string is asked for."""
FILLED_IN = re.compile(
    r"""`([\w-]+\.[\w.-]*\$\{[^`]*)`|f"([\w-]+\.[\w.-]*\{[^"]*)"|'([\w-]+\.' ~)"""
)
"""A key with places to be filled in, in JavaScript, in Python and in a template."""
PLACE = re.compile(r"\$?\{[^{}]*\}|' ~")
ALLOWED_ADDRESSES = {"http://www.w3.org/2000/svg"}


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


def test_each_answer_has_its_own_nonce(client: FlaskClient) -> None:
    first, second = (client.get("/").headers["Content-Security-Policy"] for _ in range(2))
    assert first != second


@pytest.mark.parametrize("address", [*ADDRESSES, "/service-worker.js"])
def test_pages_name_no_other_host(client: FlaskClient, address: str) -> None:
    assert not re.findall(r"(?:https?:)?//[a-z][\w-]+\.[\w.]+", client.get(address).text)


def test_our_assets_name_no_other_host() -> None:
    for path in (WEB / "static").rglob("*.*"):
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


def test_the_map_begins_where_the_places_are(client: FlaskClient, town: Town) -> None:
    town.garage("FAR", "Far", lon=12.5, lat=55.7)
    assert "[[55.7, 12.5], [55.7, 12.5]]" in client.get("/").text


def test_every_asset_a_page_asks_for_is_there(client: FlaskClient) -> None:
    for page in PAGES.values():
        text = client.get(page).text
        for address in re.findall(r'(?:src|href)="(/assets/[^"#]+)"', text):
            assert fetch(client, address).status_code == 200, address
    worker = client.get("/service-worker.js").text
    files = re.search(r"const FILES = (\[.*?\]);", worker)
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
    assert table["nav.map"] == STRINGS["da"]["nav.map"]
    assert STRINGS["da"]["trip.stop"] not in page  # texts that scripts ask for are not in the page
    old = re.sub(r"/[0-9a-f]{12}/", "/000000000000/", address[1])
    assert "immutable" not in fetch(client, old).headers.get("Cache-Control", "")
    for wrong in ("/assets/texts/-/0/xx.js", "/assets/texts/nobody/0/en.js"):
        assert client.get(wrong).status_code == 404


@pytest.mark.parametrize("address", ["/", "/list", "/system", "/plan"])
def test_a_page_loads_the_modules_of_its_elements_and_no_others(
    client: FlaskClient, address: str
) -> None:
    page = client.get(address).text
    started = re.findall(r'<script type="module" src="/assets/\w+/js/([^"]+)"', page)
    ahead = re.findall(r'<link rel="modulepreload" href="/assets/\w+/js/([^"]+)"', page)
    assert ("operator-events.js" in started) == (address == "/system")
    assert ("map.js" in started) == (address == "/")
    known = {*started, *ahead}
    folder = WEB / "static" / "js"
    for name in known:
        path = folder / name
        for other in re.findall(r"^import[^;(]*'(\.[^']+)'", path.read_text("utf-8"), re.M):
            assert (path.parent / other).resolve().relative_to(folder).as_posix() in known


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
    for path in (WEB / "static" / "js").rglob("*.js"):
        for name in re.findall(r"(?:from|import)\s*\(?'(\.[^']+)'", path.read_text("utf-8")):
            assert (path.parent / name).is_file(), f"{path.name} imports {name}"


def test_our_assets_may_be_kept_for_good_and_others_may_not(client: FlaskClient) -> None:
    address = re.search(r'src="(/assets/\w+/js/main\.js)"', client.get("/list").text)
    assert address is not None
    assert "immutable" in fetch(client, address[1]).headers["Cache-Control"]
    stale = fetch(client, "/assets/0123456789ab/js/main.js")
    assert "immutable" not in stale.headers.get("Cache-Control", "")
    assert client.get("/").headers["Cache-Control"] == "no-cache"


def test_both_languages_have_the_same_strings_and_placeholders() -> None:
    assert STRINGS["en"].keys() == STRINGS["da"].keys()
    for key, text in STRINGS["en"].items():
        other = STRINGS["da"][key]
        assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", other)), key


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_no_string_is_there_twice(text: str) -> None:
    pairs: list[tuple[str, str]] = json.loads(text, object_pairs_hook=list)
    assert [key for key, count in Counter(key for key, _ in pairs).items() if count > 1] == []


def test_every_string_is_asked_for_somewhere() -> None:
    python = (path for top in ("apps", "backend") for path in (WEB.parent / top).rglob("*.py"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in (*SOURCES, *python))
    asked = set(ASKED.findall(text))
    heads = {next(filter(None, found)) for found in FILLED_IN.findall(text)}
    among = re.compile("|".join(map(any_of, heads)))
    unused = [
        key for key in STRINGS["en"] if not {key, bare(key)} & asked and not among.fullmatch(key)
    ]
    assert unused == []


def bare(key: str) -> str:
    """A key without what a number makes of it."""
    return re.sub(r"\.(one|other)$", "", key)


def any_of(key: str) -> str:
    """A pattern of all that a key with places may become."""
    return ".*".join(map(re.escape, PLACE.split(key)))


def test_every_string_the_pages_ask_for_exists() -> None:
    known = {bare(key) for key in STRINGS["en"]} | STRINGS["en"].keys()
    asked = {
        (path.name, key)
        for path in SOURCES
        for key in re.findall(r"\bt\('([\w.]+)'", path.read_text(encoding="utf-8"))
        if not key.endswith(".")
    }
    assert asked
    assert {(name, key) for name, key in asked if key not in known} == set()


def test_the_language_is_negotiated(client: FlaskClient) -> None:
    danish = client.get("/list", headers={"Accept-Language": "de, da;q=0.8, en;q=0.5"})
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
