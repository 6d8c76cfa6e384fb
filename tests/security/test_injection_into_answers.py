"""Whatever is written into any field comes back as data, or is refused in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from citywise.backend.settings import People, Settings
from tests.api.browsers import PASSWORD, Browser
from tests.api.test_openapi import document_of
from tests.security.cast import Cast
from tests.security.hostile import SOME, TEXTS


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A city that never tires of being asked."""
    folder: Path = tmp_path_factory.mktemp("patient")
    return Settings(data_dir=folder, people=People(rate_limits=False))


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that is sent makes the server connect to anything."""

    def connect(*_: object) -> None:
        raise AssertionError("the server connected to somewhere")

    monkeypatch.setattr("socket.socket.connect", connect)
    monkeypatch.setattr("socket.getaddrinfo", connect)


@pytest.mark.parametrize("text", SOME)
def test_every_parameter_of_every_address_takes_it_for_a_text(cast: Cast, text: str) -> None:
    tried = 0
    for path, item in document_of(cast.app)["paths"].items():
        if "get" not in item or path.endswith("/stream"):
            continue
        address = path if path.startswith("/api") else f"/{path}"
        address = address.removeprefix("/api/v1")
        for name in [part.partition("}")[0] for part in path.split("{")[1:]]:
            tried += _unmoved(cast.anna, address.replace(f"{{{name}}}", quote(text, safe="")))
        if "{" not in path:
            for name in _queries(item["get"]):
                for browser in (cast.anna, cast.developer, cast.admin):
                    tried += _unmoved(browser, f"{address}?{name}={quote(text, safe='')}")
    assert tried >= 60


def _queries(operation: Any) -> list[str]:
    """What a client may give in the query; references are named as they are."""
    found = []
    for each in operation.get("parameters", ()):
        name = each.get("name") or each["$ref"].rpartition("/")[2].lower()
        found.append("type" if name == "eventtype" else name)
    return found


def _unmoved(browser: Browser, address: str) -> int:
    answer = browser.get(address)
    missing = ("log-unreadable", "no-network")  # There is neither a log nor a city here.
    assert answer.status_code < 500 or answer.json["type"].endswith(missing), address
    assert "Traceback" not in answer.text
    return 1


@pytest.mark.parametrize("text", TEXTS)
def test_what_can_be_called_something_is_called_just_that(cast: Cast, text: str) -> None:
    wish = {"app": "jam_watch", "template": "jam_ahead"}
    made = cast.anna.post("/instances", {**wish, "title": text})
    if made.status_code == 201:
        address = f"/instances/{made.json['id']}"
        assert cast.anna.get(address).json["title"] == text
        cast.anna.delete(address)
    else:
        assert made.status_code == (400 if "\0" in text else 422)
        assert not text.isprintable()
    token = cast.anna.post("/me/tokens", {"label": text, "rights": ["all"]})
    if token.status_code == 201:
        assert token.json["label"] == " ".join(text.split())
        cast.anna.delete(f"/me/tokens/{token.json['id']}")


@pytest.mark.parametrize("text", SOME)
def test_every_field_of_every_body_takes_it_for_a_text_or_refuses_it(cast: Cast, text: str) -> None:
    mine = f"/users/{cast.anna.user}/context"
    wish = {"app": "jam_watch", "template": "jam_ahead"}
    sent: list[tuple[Browser, str, str, Any]] = [
        (cast.nobody, "POST", "/login", {"name": text, "password": text}),
        (cast.nobody, "POST", "/accounts", {"name": text, "password": "x"}),
        (cast.nobody, "POST", "/accounts", {"name": "Q", "password": PASSWORD, "invitation": text}),
        (cast.anna, "PATCH", "/me", {"name": f"A{text}", "old": text, "password": text}),
        (cast.anna, "DELETE", "/me", {"password": text}),
        (cast.anna, "PATCH", mine, {"activity": text}),
        (cast.anna, "PATCH", mine, {"preferences": {text: text}}),
        (cast.anna, "PATCH", mine, {"position": {"lat": text, "lon": 1}}),
        (cast.anna, "POST", "/me/tokens", {"label": "x", "rights": [text]}),
        (cast.anna, "POST", "/me/tokens", {"label": "x", "rights": ["all"], "expires": text}),
        (cast.anna, "PATCH", "/me/wishes", {"muted": [{"app": text, "notice": text}]}),
        (cast.anna, "PATCH", "/me/wishes", {"quiet": [{"from": text, "until": text}]}),
        (cast.anna, "POST", "/instances", {"app": text, "template": text}),
        (cast.anna, "POST", "/instances", {**wish, "values": {text: text, "garage": text}}),
        (cast.anna, "POST", "/instances/check", {**wish, "values": {"radius": text}}),
        (cast.anna, "POST", f"/notices/{cast.notice}/snooze", {"until": text}),
        (cast.admin, "PATCH", f"/accounts/{cast.anna.user}", {"roles": [text]}),
        (cast.admin, "POST", "/invitations", {"roles": [text]}),
        (cast.admin, "POST", "/clock", {"speed": text}),
        (cast.admin, "POST", "/operator/events", {"type": text, "name": text, "place_id": text}),
        (cast.admin, "POST", "/dead-letters/replay", {"reason": text}),
    ]
    for browser, method, address, body in sent:
        answer = browser.open(method, address, body)
        assert answer.status_code < 500, (address, answer.text)
        assert answer.status_code >= 400 or "wishes" in address or "replay" in address, address
        if answer.status_code >= 400:
            assert answer.content_type == "application/problem+json"


def test_a_name_with_several_alphabets_is_nobodys(cast: Cast) -> None:
    """Or somebody could be taken for another: the first letter is Cyrillic."""
    answer = Browser.of(cast.app).sign_up("\u0410nna")
    assert answer.status_code == 422
