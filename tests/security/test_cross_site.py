"""What pages of other sites make a browser send is refused (CSRF, DNS rebinding)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine

from citywise.backend.api import access
from citywise.backend.api.app import create_app
from citywise.backend.settings import People, Settings, Web
from tests.api.browsers import API, PASSWORD, Browser
from tests.databases import begun
from tests.security.cast import Cast

EVIL = "https://evil.example"
ME = f"{API}/me"


def changing(app: Flask, *kinds: str) -> Iterator[tuple[str, str]]:
    """Method and address of every endpoint of some kinds that may change something."""
    for rule in app.url_map.iter_rules():
        if access.of(app, rule.endpoint).kind in kinds:
            for method in sorted((rule.methods or set()) & {"POST", "PUT", "PATCH", "DELETE"}):
                yield method, re.sub(r"<[^>]*>", "1", rule.rule)


@pytest.mark.parametrize("proof", [None, "", "x", "another's"])
def test_nothing_is_changed_without_the_proof_of_the_login(cast: Cast, proof: str | None) -> None:
    before, tried = cast.everything(), 0
    careless = Browser(cast.anna.client, cast.anna.address)
    headers = {} if proof is None else {"X_CSRF_Token": proof}
    if proof == "another's":
        headers = {"X_CSRF_Token": str(cast.bert.csrf)}
    for method, address in changing(cast.app, "person", "role", "own_rights"):
        answer = careless.open(method, f"/{address}", {}, **headers)
        assert answer.status_code == 403, address
        assert answer.json["type"].endswith(":csrf"), address
        tried += 1
    assert tried >= 25
    assert cast.everything() == before


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": EVIL},
        {"Origin": "null"},
        {"Origin": "http://localhost.evil.example"},
        {"Origin": "http://localhost:8080"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_nothing_is_changed_by_pages_of_other_sites(cast: Cast, headers: dict[str, str]) -> None:
    """Logging in and signing up too: who is logged in as another would tell them everything."""
    before = cast.everything()
    for method, address in changing(cast.app, "city", "person", "key", "role", "own_rights"):
        for browser in (cast.anna, cast.nobody):
            answer = browser.open(method, f"/{address}", {}, **headers)
            assert answer.status_code == 403, address
            assert answer.json["type"].endswith(":cross-site"), address
    assert cast.everything() == before


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://localhost"}, {"Sec_Fetch_Site": "same-origin"}, {"Sec_Fetch_Site": "none"}],
)
def test_our_own_pages_may(cast: Cast, headers: dict[str, str]) -> None:
    assert cast.anna.patch("/me", {"name": "Anna"}, **headers).status_code == 200


def test_a_token_is_sent_by_no_browser_by_itself_and_needs_no_proof(cast: Cast) -> None:
    address = f"/users/{cast.bert.user}/context"
    assert cast.device.delete(address, Origin=EVIL).status_code == 202


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
@pytest.mark.parametrize("address", ["/login", "/accounts", "/context/critical_events"])
def test_what_a_form_can_send_is_no_request(cast: Cast, address: str, kind: str) -> None:
    body = f'{{"name": "Anna", "password": "{PASSWORD}"}}'
    answer = cast.app.test_client().post(API + address, data=body, content_type=kind)
    assert answer.status_code == 415


def test_reading_changes_nothing(cast: Cast) -> None:
    """So an address in a picture or a link on another page does no harm."""
    before = cast.everything()
    for rule in cast.app.url_map.iter_rules():
        if "GET" in (rule.methods or ()) and not rule.endpoint.endswith("stream_events"):
            for browser in (cast.anna, cast.admin, cast.developer):
                browser.get(f"/{re.sub(r'<[^>]*>', '1', rule.rule)}")
    assert cast.everything() == before


# --- The demo's user ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """A system at home, where whoever is there may do everything."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("home"), people=People(demo_user=True))
    engine = begun(settings.database_url)
    app = create_app(settings, engine)
    yield app.test_client()
    app.extensions["citywise"].hub.close()
    engine.dispose()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8080", "[::1]:8080", "127.1.2.3"])
def test_the_demos_user_is_whoever_comes_by_a_name_of_this_machine(
    demo: FlaskClient, host: str
) -> None:
    assert demo.get(ME, base_url=f"http://{host}").json["user"] == "demo"


@pytest.mark.parametrize(
    "host",
    [EVIL.removeprefix("https://"), "localhost.evil.example", "127.0.0.1.evil.example", "0x"],
)
def test_a_site_whose_name_leads_here_is_not_the_demos_user(demo: FlaskClient, host: str) -> None:
    """DNS rebinding: the page of another site would be of the same origin as the answer."""
    assert demo.get(ME, base_url=f"http://{host}").json["user"] is None
    answer = demo.post(f"{API}/clock", json={"speed": 0}, base_url=f"http://{host}")
    assert answer.status_code == 401


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"])
def test_who_comes_through_a_proxy_is_not_at_home(demo: FlaskClient, header: str) -> None:
    answer = demo.get(ME, base_url="http://127.0.0.1", headers={header: "192.0.2.1"})
    assert answer.json["user"] is None


@pytest.mark.parametrize("headers", [{"Origin": EVIL}, {"Sec-Fetch-Site": "cross-site"}])
def test_pages_of_other_sites_do_not_act_for_the_demos_user(
    demo: FlaskClient, headers: dict[str, str]
) -> None:
    answer = demo.delete(f"{API}/users/demo/context", headers=headers)
    assert answer.status_code == 403
    assert answer.json["type"].endswith(":cross-site")


def test_a_program_at_home_needs_no_ceremony(demo: FlaskClient) -> None:
    assert demo.delete(f"{API}/users/alice/context").status_code == 202


def test_the_demos_user_has_no_password_and_is_forgotten_by_saying_so(demo: FlaskClient) -> None:
    assert demo.delete(ME, json={"password": ""}).status_code == 422
    assert demo.delete(f"{API}/login").status_code == 409
    assert demo.delete(ME, json={"confirm": "forget me"}).status_code == 202
    assert demo.get(ME).json["user"] == "demo"


# --- Behind a proxy -----------------------------------------------------------------------------


@pytest.fixture
def proxied(cast: Cast, tmp_path: Path) -> FlaskClient:
    """The same city behind a proxy that is known as another host."""
    web = Web(public_url="https://city.example", trusted_proxies=1)
    settings = Settings(data_dir=tmp_path, web=web)
    engine: Engine = cast.engine
    return create_app(settings, engine).test_client()


def test_behind_a_proxy_pages_are_those_of_the_public_address(proxied: FlaskClient) -> None:
    body = {"name": "Bert", "password": PASSWORD}
    ours = proxied.post(f"{API}/login", json=body, headers={"Origin": "https://city.example"})
    assert ours.status_code == 200
    assert "Secure" in ours.headers["Set-Cookie"]
    others = proxied.post(f"{API}/login", json=body, headers={"Origin": EVIL})
    assert others.status_code == 403


def test_behind_a_proxy_guesses_are_counted_by_who_is_before_it(proxied: FlaskClient) -> None:
    def guess(number: int, address: str) -> int:
        body = {"name": "Nobody", "password": "guess"}
        # What a client claims stands before what the proxy saw.
        says = {"X-Forwarded-For": f"203.0.113.{number}, {address}"}
        return proxied.post(f"{API}/login", json=body, headers=says).status_code

    assert [guess(number, "192.0.2.1") for number in range(11)] == [401] * 10 + [429]
    assert guess(11, "192.0.2.2") == 401
