"""People log in at a real provider of identities, beside those with passwords."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine

pytest.importorskip("authlib")

from citywise.backend.api.app import create_app
from citywise.backend.people import accounts, identities
from citywise.backend.settings import People, Settings, Web
from tests.databases import begun
from tests.people.providers import Provider, providing, visit

pytestmark = pytest.mark.slow

ROOT = "http://127.0.0.1:9"
BACK = f"{ROOT}/sign-in/done"
WORD = "a pass word"


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
        with providing(tmp_path_factory.mktemp("provider"), BACK) as found:
            yield found


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = begun(Settings(data_dir=tmp_path).database_url)
    yield engine
    engine.dispose()


class City:
    """The web of a city, for the browsers of several people."""

    def __init__(self, engine: Engine, folder: Path, provider: Provider, **more: object) -> None:
        self.settings = Settings(
            data_dir=folder,
            web=Web(public_url=ROOT),
            people=People(rate_limits=False),
            sign_in=provider.settings(**more),
        )
        self.app: Flask = create_app(self.settings, engine)

    def browser(self) -> FlaskClient:
        return self.app.test_client()

    def there(self, browser: FlaskClient, name: str, query: str = "") -> str:
        """Go to the provider and log in there; returns where one is sent back to."""
        sent = browser.get(f"/sign-in{query}")
        assert sent.status_code == 303, sent.text
        return visit(sent.location, name, BACK).removeprefix(ROOT)

    def comes(self, name: str, query: str = "") -> FlaskClient:
        """Somebody's browser that has logged in."""
        browser = self.browser()
        assert browser.get(self.there(browser, name, query)).status_code == 303
        return browser


@pytest.fixture
def city(engine: Engine, tmp_path: Path, provider: Provider) -> City:
    provider.put()
    return City(engine, tmp_path, provider)


def me(browser: FlaskClient) -> dict[str, object]:
    return dict(browser.get("/api/v1/me").json or {})


def test_who_comes_for_the_first_time_gets_an_account_and_later_the_same(
    city: City, provider: Provider
) -> None:
    provider.put(anna=["staff"])
    browser = city.browser()
    assert me(browser)["provider"] == "City ID"
    sent = browser.get("/sign-in?next=/list")
    asked = parse_qs(urlsplit(sent.location).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["redirect_uri"] == [BACK]
    back = browser.get(visit(sent.location, "anna", BACK).removeprefix(ROOT))
    assert (back.status_code, back.location) == (303, "/list")
    first = me(browser)
    assert (first["name"], first["roles"]) == ("anna", ["host", "user"])
    assert first["by_provider"] is True
    assert me(city.comes("anna"))["user"] == first["user"]
    assert me(city.comes("bert"))["user"] != first["user"]


def test_roles_are_those_of_now(city: City, provider: Provider, engine: Engine) -> None:
    provider.put(anna=["chiefs"], bert=["chiefs"])
    anna = city.comes("anna")
    assert me(anna)["roles"] == ["admin", "user"]
    city.comes("bert")
    provider.put(anna=["staff"])
    again = city.comes("anna")
    assert me(again)["roles"] == ["host", "user"]
    assert me(anna)["roles"] == ["host", "user"]
    # Bert is the last admin, and stays one: nobody could give roles.
    assert me(city.comes("bert"))["roles"] == ["admin", "user"]
    with engine.connect() as connection:
        assert accounts.has_admin(connection)


def test_a_name_that_somebody_has_gets_a_number(city: City, engine: Engine) -> None:
    with engine.begin() as connection:
        accounts.create(connection, "Anna", WORD)
    assert me(city.comes("anna"))["name"] == "anna 2"


def test_a_code_cannot_be_used_twice_nor_by_another_browser(city: City) -> None:
    browser, thief = city.browser(), city.browser()
    back = city.there(browser, "anna")
    stolen = thief.get(back)
    assert stolen.location == "/log-in?refused=state"
    thief.get("/sign-in")  # with something begun of its own
    assert thief.get(back).location == "/log-in?refused=state"
    assert me(thief)["user"] is None
    assert browser.get(back).location == "/"
    assert browser.get(back).location == "/log-in?refused=state"


def test_an_answer_of_another_issuer_and_a_wrong_code_are_refused(city: City) -> None:
    for changed, why in (("iss=", "issuer"), ("code=", "code")):
        browser = city.browser()
        path, _, query = city.there(browser, "anna").partition("?")
        parts = [
            f"{changed}https%3A%2F%2Fevil.example" if part.startswith(changed) else part
            for part in query.split("&")
        ]
        answer = browser.get(f"{path}?{'&'.join(parts)}")
        assert answer.location == f"/log-in?refused={why}"
        assert me(browser)["user"] is None


@pytest.mark.parametrize("wanted", ["//evil.example", "https://evil.example", "/\\evil", "x", ""])
def test_nobody_is_led_elsewhere(city: City, wanted: str) -> None:
    browser = city.browser()
    back = city.there(browser, "anna", f"?next={wanted}")
    assert browser.get(back).location == "/"


def test_logging_out_leads_to_the_providers_log_out(city: City, provider: Provider) -> None:
    browser = city.comes("anna")
    csrf = str(me(browser)["csrf"])
    answer = browser.delete("/api/v1/login", headers={"X-CSRF-Token": csrf})
    assert answer.status_code == 200
    assert answer.json["leave"].startswith(f"{provider.url}/session/end?client_id=citywise")
    assert me(browser)["user"] is None


def test_an_identity_is_linked_to_an_account_and_taken_away(city: City, engine: Engine) -> None:
    with engine.begin() as connection:
        anna = accounts.create(connection, "Anna", WORD)
    browser = city.browser()
    browser.post("/api/v1/login", json={"name": "Anna", "password": WORD})
    back = city.there(browser, "anna", "?link&next=/account")
    assert browser.get(back).location == "/account"
    (found,) = browser.get("/api/v1/me/identities").json["identities"]
    assert me(city.comes("anna"))["user"] == anna.id
    other = city.comes("bert")
    refused = other.get(city.there(other, "anna", "?link"))
    assert refused.location == "/log-in?refused=linked"
    proof = {"X-CSRF-Token": str(me(browser)["csrf"])}
    where = f"/api/v1/me/identities/{found['id']}"
    assert other.delete(where, headers={"X-CSRF-Token": str(me(other)["csrf"])}).status_code == 404
    assert browser.delete(where, headers=proof).status_code == 204
    assert me(city.comes("anna"))["user"] != anna.id


def test_a_link_belongs_to_the_login_that_began_it(city: City, engine: Engine) -> None:
    with engine.begin() as connection:
        accounts.create(connection, "Anna", WORD)
        accounts.create(connection, "Bert", WORD)
    browser = city.browser()
    browser.post("/api/v1/login", json={"name": "Anna", "password": WORD})
    back = city.there(browser, "anna", "?link")
    browser.post("/api/v1/login", json={"name": "Bert", "password": WORD})
    assert browser.get(back).location == "/log-in?refused=state"


def test_the_only_way_in_is_kept_until_there_is_a_password(city: City) -> None:
    browser = city.comes("anna")
    proof = {"X-CSRF-Token": str(me(browser)["csrf"])}
    (found,) = browser.get("/api/v1/me/identities").json["identities"]
    where = f"/api/v1/me/identities/{found['id']}"
    refused = browser.delete(where, headers=proof)
    assert (refused.status_code, refused.json["errors"][0]["code"]) == (422, "only-way-in")
    set_one = browser.patch("/api/v1/me", json={"password": "another pass word"}, headers=proof)
    assert set_one.status_code == 200, set_one.text
    assert browser.delete(where, headers=proof).status_code == 204


def test_who_is_shut_out_here_does_not_come_in_there(city: City, engine: Engine) -> None:
    city.comes("bert")
    user = str(me(city.comes("anna"))["user"])
    with engine.begin() as connection:
        accounts.disable(connection, user, disabled=True)
    browser = city.browser()
    assert browser.get(city.there(browser, "anna")).location == "/log-in?refused=shut"


def test_who_has_no_password_is_forgotten_after_the_words(
    city: City, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = city.comes("anna")
    user, proof = str(me(browser)["user"]), {"X-CSRF-Token": str(me(browser)["csrf"])}
    assert browser.delete("/api/v1/me", json={}, headers=proof).status_code == 422
    from citywise.backend.api import me as own

    with monkeypatch.context() as patch:
        patch.setattr(own, "_FRESH_MS", -1)
        stale = browser.delete("/api/v1/me", json={"confirm": "forget me"}, headers=proof)
        assert (stale.status_code, stale.json["type"].split(":")[-1]) == (401, "stale-login")
    gone = browser.delete("/api/v1/me", json={"confirm": "forget me"}, headers=proof)
    assert gone.status_code == 202, gone.text
    with engine.connect() as connection:
        assert identities.of(connection, user) == []
    assert me(city.comes("anna"))["user"] != user


def test_a_city_may_know_its_people_and_take_no_passwords(
    engine: Engine, tmp_path: Path, provider: Provider
) -> None:
    city = City(engine, tmp_path, provider, accounts="known", passwords=False)
    browser = city.browser()
    assert browser.get(city.there(browser, "anna")).location == "/log-in?refused=not-linked"
    for address in ("/api/v1/login", "/api/v1/accounts"):
        refused = browser.post(address, json={"name": "Anna", "password": WORD})
        assert (refused.status_code, refused.json["type"].split(":")[-1]) == (403, "no-passwords")


def test_a_provider_that_does_not_answer_keeps_nobody_from_a_password(
    engine: Engine, tmp_path: Path, provider: Provider
) -> None:
    city = City(engine, tmp_path, provider, issuer="http://127.0.0.1:9")
    browser = city.browser()
    assert browser.get("/sign-in").location == "/log-in?refused=provider"
    assert browser.get("/sign-in/done?code=x&state=y").location == "/log-in?refused=provider"
    with engine.begin() as connection:
        accounts.create(connection, "Anna", WORD)
    welcome = browser.post("/api/v1/login", json={"name": "Anna", "password": WORD})
    assert welcome.status_code == 200


def test_without_a_provider_there_is_no_way_there(engine: Engine, tmp_path: Path) -> None:
    browser = create_app(Settings(data_dir=tmp_path), engine).test_client()
    for address in ("/sign-in", "/sign-in/done"):
        assert browser.get(address).status_code == 404
