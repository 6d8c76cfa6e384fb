"""The OWASP API Security Top 10 (2023), from API2 on; API1 is in `test_object_level`.

Each test stands under the item it is about. What is said of requests from other sites, of
injection and of event streams stands in modules of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import count
from secrets import token_hex
from typing import Any

import pytest
from flask import Flask
from limits import RateLimitItemPerHour
from sqlalchemy import update
from werkzeug.test import TestResponse

from citywise.backend.api import access, limits
from citywise.backend.api.app import MAX_BODY_BYTES
from citywise.backend.people import accounts, logins
from citywise.backend.store.models import LoginRow
from tests.api.browsers import API, PASSWORD, Browser
from tests.api.test_openapi import document_of
from tests.api.town import Town
from tests.security.cast import Cast

HOUR = 1.0
_NUMBERS = count(1)


def code(answer: TestResponse) -> tuple[int, str]:
    """Status and kind of a problem."""
    return answer.status_code, answer.json["type"].rpartition(":")[2]


def cookie_of(browser: Browser) -> str:
    found = browser.client.get_cookie("citywise-login")
    assert found is not None
    return found.value


def with_cookie(app: Flask, secret: str) -> Browser:
    """A browser that has somebody's cookie."""
    browser = Browser.of(app)
    browser.client.set_cookie("citywise-login", secret)
    return browser


@pytest.fixture
def eve(cast: Cast) -> Browser:
    """Somebody new for each test."""
    name = f"Eve {next(_NUMBERS)}"
    with cast.engine.begin() as connection:
        accounts.create(connection, name, PASSWORD)
    return Browser.of(cast.app, name)


# --- API2: broken authentication ----------------------------------------------------------------


def test_a_token_that_was_taken_back_is_refused_everywhere(cast: Cast, eve: Browser) -> None:
    made = eve.post("/me/tokens", {"label": "phone", "rights": ["all"]}).json
    phone = Browser.device(cast.app, made["bearer"])
    assert phone.get("/notices").status_code == 200
    eve.delete(f"/me/tokens/{made['id']}")
    for address in ("/notices", "/me", "/events", "/events/stream"):
        assert code(phone.get(address)) == (401, "bad-token"), address


@pytest.mark.parametrize("text", ["", ".", "x", "d-0.x", "d-0000000000000000." + "A" * 43])
def test_a_text_that_is_no_token_is_refused_and_not_taken_for_nobody(cast: Cast, text: str) -> None:
    answer = Browser.device(cast.app, text).get("/me")
    assert code(answer) == (401, "bad-token")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_token_of_another_device_does_not_fit(cast: Cast, eve: Browser) -> None:
    one, two = (
        eve.post("/me/tokens", {"label": name, "rights": ["all"]}).json for name in ("one", "two")
    )
    mixed = Browser.device(cast.app, f"{one['id']}.{two['secret']}")
    assert code(mixed.get("/me")) == (401, "bad-token")


def test_a_copied_cookie_is_of_no_use_after_logging_out(cast: Cast, eve: Browser) -> None:
    thief = with_cookie(cast.app, cookie_of(eve))
    assert thief.get("/me").json["user"] == eve.user
    eve.delete("/login")
    assert thief.get("/me").json["user"] is None
    assert thief.get("/notices").status_code == 401


def test_a_copied_cookie_is_of_no_use_after_a_new_password(cast: Cast, eve: Browser) -> None:
    thief = with_cookie(cast.app, cookie_of(Browser.of(cast.app, eve.name)))
    assert thief.get("/me").json["user"] == eve.user
    eve.patch("/me", {"password": "five small boats at sea", "old": PASSWORD})
    assert thief.get("/me").json["user"] is None


def test_a_login_that_is_over_is_nobodys_and_its_cookie_goes(cast: Cast, eve: Browser) -> None:
    with cast.engine.begin() as connection:
        mine = LoginRow.account == eve.user
        connection.execute(update(LoginRow).where(mine).values(expires_ms=1))
    answer = eve.get("/me")
    assert answer.json["user"] is None
    assert "citywise-login=;" in answer.headers["Set-Cookie"]


def test_a_cookie_that_somebody_planted_is_not_the_one_of_the_login(
    cast: Cast, eve: Browser
) -> None:
    """Session fixation: logging in never goes on with a secret that was there before."""
    with cast.engine.begin() as connection:
        bert, planted = logins.open_login(connection, cast.bert.user, HOUR)
    victim = with_cookie(cast.app, planted)
    victim.log_in(eve.name)
    assert cookie_of(victim) != planted
    assert with_cookie(cast.app, planted).get("/me").json["user"] is None
    assert bert.id not in {each["id"] for each in cast.bert.get("/me/logins").json["logins"]}


def test_passwords_are_not_guessed_from_one_address(cast: Cast, eve: Browser) -> None:
    guesser = Browser.of(cast.app)
    answers = [guesser.log_in(f"Nobody {number}", "guess") for number in range(31)]
    assert [answer.status_code for answer in answers] == [401] * 30 + [429]
    assert guesser.log_in(eve.name).status_code == 429
    assert Browser.of(cast.app).log_in(eve.name).status_code == 200


def test_the_password_of_one_name_is_not_guessed_from_many_addresses(
    cast: Cast, eve: Browser
) -> None:
    for _ in range(100):
        assert Browser.of(cast.app).log_in(eve.name.upper(), "guess").status_code == 401
    assert Browser.of(cast.app).log_in(eve.name).status_code == 429


def test_nobody_shuts_another_out_from_one_address(cast: Cast, eve: Browser) -> None:
    mallory = Browser.of(cast.app)
    answers = [mallory.log_in(eve.name, "guess").status_code for _ in range(40)]
    assert answers == [401] * 10 + [429] * 30
    assert Browser.of(cast.app).log_in(eve.name).status_code == 200


def test_names_are_not_tried_out_by_renaming(eve: Browser) -> None:
    statuses = [eve.patch("/me", {"name": "Anna"}).status_code for _ in range(6)]
    assert statuses == [409] * 5 + [429]


def test_the_password_is_not_guessed_by_a_borrowed_browser(eve: Browser) -> None:
    bodies = [{"password": f"guess {number} guess"} for number in range(11)]
    statuses = [eve.delete("/me", body).status_code for body in bodies]
    assert statuses == [422] * 10 + [429]


def test_nobody_logs_in_to_the_demos_account(cast: Cast) -> None:
    for password in ("", "demo", PASSWORD):
        assert Browser.of(cast.app).log_in("demo", password).status_code == 401


# --- API3: broken object property level authorization -------------------------------------------


@pytest.mark.parametrize("field", ["roles", "id", "admin", "disabled", "created_ms", "csrf"])
def test_nobody_gives_themselves_a_role_by_adding_a_field(
    cast: Cast, eve: Browser, field: str
) -> None:
    value: Any = ["admin"] if field == "roles" else "demo"
    body = {"name": "Mallory", "password": PASSWORD, field: value}
    assert code(Browser.of(cast.app).post("/accounts", body)) == (422, "invalid")
    assert code(eve.patch("/me", {"name": eve.name, field: value})) == (422, "invalid")
    assert eve.get("/me").json["roles"] == ["user"]


def test_what_the_server_says_of_an_instance_cannot_be_told_to_it(cast: Cast) -> None:
    wish = {"app": "jam_watch", "template": "jam_ahead", "id": f"{cast.bert.user}.mine"}
    claimed = {"created": "1999-01-01T00:00:00Z", "updated": "1999-01-01T00:00:00Z", "newest": 9}
    made = cast.bert.post("/instances", {**wish, **claimed, "asks": [], "missing": []}).json
    assert made["created"] > "2020"
    assert (made["user"], made["newest"], made["asks"]) == (
        cast.bert.user,
        1,
        ["position", "route"],
    )
    for user in (cast.anna.user, "alice", cast.session):
        answer = cast.bert.put(f"/instances/{made['id']}", {"user": user})
        assert answer.status_code in (404, 409), user
    assert cast.bert.delete(f"/instances/{made['id']}").json["user"] == cast.bert.user


def test_every_body_with_an_unknown_field_is_refused(cast: Cast) -> None:
    without_body = {
        "api.accounts.log_out",
        "api.attend.acknowledge",
        "api.operator.end_event",
        "api.repeats.skip_day",
        "api.operator.replay_letter",
        "api.mail.send_again",
        "api.audit.undo_action",
        "api.webhooks.send_undelivered",
        "api.meeting_people.open_mqtt",
        "api.observations.post_observations",  # devices may tell what no kind knows
        "api.sources.post_for_source",  # its connector reads it, in whatever form it comes
    }
    tried = set()
    for rule in cast.app.url_map.iter_rules():
        for method in (rule.methods or set()) & {"POST", "PUT", "PATCH"}:
            if rule.endpoint in without_body or not rule.rule.startswith(API):
                continue
            address = re.sub(r"<[^>]*>", "1", rule.rule).removeprefix(API)
            address = address.replace("/consents/1", "/consents/position")
            address = address.replace("/instances/1", f"/instances/{cast.admin.user}.x")
            address = address.replace("/users/1", f"/users/{cast.admin.user}")
            answer = cast.admin.open(method, address, {"surprise": True})
            assert answer.status_code in (400, 404, 422), (rule.rule, answer.text)
            assert rule.endpoint in _NOT_THERE or answer.status_code != 404, rule.rule
            assert answer.status_code == 404 or "surprise" in answer.text, (rule.rule, answer.text)
            tried.add(rule.endpoint)
    assert len(tried) >= 15


_NOT_THERE = {
    "api.layers.put_layer",
    "api.attend.snooze",
    "api.meeting_papers.read_calendar",
    "api.operator.change_event",
}
"""Here the object is looked for before the body."""


def test_what_is_secret_is_in_no_answer(cast: Cast) -> None:
    shown = {
        "/me": {"user", "name", "roles", "means", "rights", "csrf", "sign_up", "demo"}
        | {"provider", "passwords", "by_provider", "waiting_roles", "writes"},
        "/me/tokens": {"id", "label", "rights", "created", "used", "expires"},
        "/me/logins": {"id", "agent", "created", "seen", "expires", "current"},
        "/accounts": {"id", "name", "roles", "created", "disabled"},
    }
    me: Any = cast.anna.get("/me").json
    assert set(me) == shown["/me"]
    for browser, address, key in (
        (cast.anna, "/me/tokens", "tokens"),
        (cast.anna, "/me/logins", "logins"),
        (cast.admin, "/accounts", "accounts"),
    ):
        found: Any = browser.get(address).json
        assert set(found[key][0]) == shown[address]


# --- API4: unrestricted resource consumption ----------------------------------------------------


def test_context_is_taken_twenty_times_a_second_and_sixty_at_once(
    cast: Cast, eve: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert limits.said("context") == "60 in 3 s"
    monkeypatch.setitem(limits.LIMITS, "context", RateLimitItemPerHour(60))  # a machine may be slow
    told = [eve.delete(f"/users/{eve.user}/context").status_code for _ in range(61)]
    assert told == [202] * 60 + [429]


@pytest.mark.parametrize(
    ("method", "address", "most"),
    [("GET", "/why?instance=x", 30), ("PUT", "/me/consents/dreams", 120)],
)
def test_each_person_may_ask_so_often_and_others_are_not_held_up(
    cast: Cast, eve: Browser, method: str, address: str, most: int
) -> None:
    statuses = [eve.open(method, address, {}).status_code for _ in range(most + 1)]
    assert 429 not in statuses[:most]
    assert statuses[most] == 429
    assert cast.bert.open(method, address, {}).status_code != 429


def test_who_comes_too_often_hears_when_to_come_again(cast: Cast) -> None:
    nobody = Browser.of(cast.app)
    answers = [nobody.post("/context/critical_events", {}) for _ in range(31)]
    assert code(answers[-1]) == (429, "too-many-requests")
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 60


def test_an_address_of_ipv6_is_a_whole_home(cast: Cast) -> None:
    with cast.app.test_request_context(environ_base={"REMOTE_ADDR": "2001:db8:1:2:3::4"}):
        assert limits.address() == "2001:db8:1::/56"


def test_a_body_has_an_end(cast: Cast) -> None:
    long = {"title": "x" * (MAX_BODY_BYTES + 1)}
    assert cast.anna.put(f"/instances/{cast.instance}", long).status_code == 413


def test_a_page_has_an_end(cast: Cast) -> None:
    for address in ("/instances", "/notices", "/traces", "/audit", "/accounts", "/dead-letters"):
        for limit in (0, -1, 10**6):
            browser = cast.developer if address == "/traces" else cast.admin
            assert browser.get(f"{address}?limit={limit}").status_code == 400, address


# --- API5: broken function level authorization --------------------------------------------------


def guarded(app: Flask, kind: str) -> Iterator[tuple[str, str, access.Access]]:
    """Method, address and declaration of each endpoint of a kind."""
    for rule in app.url_map.iter_rules():
        declared = access.of(app, rule.endpoint)
        if declared.kind == kind:
            address = re.sub(r"<[^>]*>", "1", rule.rule)
            address = address.removeprefix(API) if address.startswith(API) else f"/{address}"
            for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
                yield method, address, declared


def test_what_needs_a_role_is_refused_to_all_without_it(cast: Cast) -> None:
    before, tried = cast.everything(), 0
    for method, address, declared in guarded(cast.app, "role"):
        roles = set((declared.role or "").split())
        if declared.right in ("sensors", "places"):
            roles.add("meter")  # That is what it is for.
        for who, browser in cast.others.items():
            if who not in roles:
                answer = browser.open(method, address, {})
                expected = (401, "log-in") if who == "nobody" else (403, "not-allowed")
                assert code(answer) == expected, (who, address)
                tried += 1
    assert tried >= 40
    assert cast.everything() == before


def test_what_is_about_ones_rights_is_refused_to_every_token(cast: Cast) -> None:
    tried = 0
    for method, address, _ in guarded(cast.app, "own_rights"):
        for device in (cast.device, cast.meter):
            assert code(device.open(method, address, {})) == (403, "not-allowed"), address
        tried += 1
    assert tried >= 10


def test_an_admins_token_gives_nobody_a_role(cast: Cast) -> None:
    made = cast.admin.post("/me/tokens", {"label": "script", "rights": ["all"]}).json
    script = Browser.device(cast.app, made["bearer"])
    assert script.get("/accounts").status_code == 200
    for method, address, declared in guarded(cast.app, "role"):
        if declared.right is None:
            assert code(script.open(method, address, {})) == (403, "not-allowed"), address
    assert code(script.post("/invitations", {"roles": ["admin"]})) == (403, "not-allowed")


def test_what_is_about_a_person_is_refused_to_nobody(cast: Cast) -> None:
    for kind in ("person", "own_rights"):
        for method, address, _ in guarded(cast.app, kind):
            assert code(cast.nobody.open(method, address, {})) == (401, "log-in"), address


@pytest.mark.parametrize("right", ["context", "notices"])
def test_a_token_does_only_what_its_right_says(cast: Cast, eve: Browser, right: str) -> None:
    made = eve.post("/me/tokens", {"label": right, "rights": [right]}).json
    device, tried = Browser.device(cast.app, made["bearer"]), 0
    for method, address, declared in guarded(cast.app, "person"):
        if declared.right != right:
            assert code(device.open(method, address, {})) == (403, "not-allowed"), address
            tried += 1
    assert tried >= 6


@pytest.mark.parametrize(
    "how", [{"X-HTTP-Method-Override": "DELETE"}, {"X-Original-URL": "/api/v1/accounts"}]
)
def test_no_header_makes_another_request_of_one(cast: Cast, how: dict[str, str]) -> None:
    headers = {name.replace("-", "_"): text for name, text in how.items()}
    assert cast.bert.get("/me", **headers).json["user"] == cast.bert.user


# --- API6: unrestricted access to sensitive business flows --------------------------------------


def test_accounts_are_not_made_in_heaps(cast: Cast) -> None:
    flood = Browser.of(cast.app)
    names = [f"Bot {token_hex(3)}" for _ in range(6)]
    statuses = [flood.sign_up(name, PASSWORD).status_code for name in names]
    assert statuses == [201] * 5 + [429]


# --- API7: server side request forgery ----------------------------------------------------------


def test_no_address_takes_an_address_to_fetch(cast: Cast) -> None:
    """Nothing that is sent is fetched: IRIs are names. (Tiles are fetched by browsers, where the
    configuration names a server. Where a meeting's host has another conference system told, the
    configuration says below which addresses it may be. Webhooks go to public addresses alone:
    `tests/outgoing/test_posting.py`. Admins name sources, as the configuration does.) What is
    sent stands in the description, so look there."""
    document = document_of(cast.app)
    for known in ("MeetingHook", "NewWebhook", "ChangedWebhook", "NewSource"):
        document["components"]["schemas"][known] = {}
    sent = [
        operation.get(part)
        for path in document["paths"].values()
        for operation in path.values()
        for part in ("parameters", "requestBody")
    ]
    text, before = json.dumps(sent), ""
    while text != before:
        before = text
        text = re.sub(r'"#/(components/\w+/\w+)"', lambda ref: _resolved(document, ref[1]), text)
    assert (
        re.findall(r'"(?!webhook_id)\w*(?:url|uri|href|webhook|callback)\w*"', text, re.IGNORECASE)
        == []
    )


def _resolved(document: Any, path: str) -> str:
    for part in path.split("/"):
        document = document[part]
    return json.dumps(document)


# --- API8: security misconfiguration ------------------------------------------------------------

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), payment=(), usb=(), geolocation=(self), microphone=(self), "
    "accelerometer=(self), gyroscope=(self)",
}


def test_every_answer_has_the_headers(cast: Cast) -> None:
    for rule in cast.app.url_map.iter_rules():
        if "GET" not in (rule.methods or ()) or rule.endpoint.endswith("stream_events"):
            continue
        address = re.sub(r"<[^>]*>", "1", rule.rule)
        for browser in (cast.bert, cast.nobody):
            answer = browser.get(f"/{address}")
            assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS, address
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"], address
            assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"], address
            assert not any(name.startswith("Access-Control") for name, _ in answer.headers)
            if access.of(cast.app, rule.endpoint).kind != "city":
                assert answer.headers["Cache-Control"] == "no-store", address


def test_what_is_personal_is_kept_by_no_cache(cast: Cast) -> None:
    for address in ("/me", "/instances", "/notices", f"/instances/{cast.instance}"):
        answer = cast.anna.get(address)
        assert answer.headers["Cache-Control"] == "no-store"
        assert {"cookie", "authorization"} <= {each.lower() for each in answer.vary}


def test_browsers_are_told_to_stay_with_https_where_they_have_it(cast: Cast) -> None:
    client = cast.app.test_client()
    secure = client.get("/healthz", base_url="https://city.example")
    assert secure.headers["Strict-Transport-Security"].startswith("max-age=31536000")
    assert "Strict-Transport-Security" not in client.get("/healthz").headers


def test_an_error_of_ours_says_nothing_of_the_inside(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret of the inside")

    monkeypatch.setattr("citywise.backend.api.presence.shown", fail)
    answer = cast.bert.get("/me")
    assert answer.status_code == 500
    for hidden in ("secret of the inside", "Traceback", "backend"):
        assert hidden not in answer.text


@pytest.mark.parametrize("method", ["TRACE", "PUT", "DELETE", "PATCH"])
def test_a_method_that_there_is_not_is_refused(cast: Cast, method: str) -> None:
    answer = cast.bert.open(method, "/events")
    assert answer.status_code == 405
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS"}


def test_options_tells_methods_and_nothing_else(cast: Cast) -> None:
    answer = cast.nobody.open("OPTIONS", f"/instances/{cast.instance}")
    assert (answer.status_code, answer.text) == (200, "")


def test_what_proxies_say_is_believed_only_of_those_that_are_trusted(cast: Cast) -> None:
    """Or whoever guesses passwords would come from another address each time."""
    guesser = Browser.of(cast.app)
    body = {"name": "Nobody", "password": "guess"}
    statuses = [
        guesser.post("/login", body, X_Forwarded_For=f"192.0.2.{n}").status_code for n in range(11)
    ]
    assert statuses[-1] == 429


# --- API9: improper inventory management --------------------------------------------------------


def test_the_description_says_who_may_call_what(cast: Cast) -> None:
    """That it describes what there is and nothing else, `tests/api/test_openapi.py` shows."""
    document = document_of(cast.app)
    for rule in cast.app.url_map.iter_rules():
        path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule)
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            if path in document["paths"]:
                operation = document["paths"][path][method.lower()]
                declared = access.of(cast.app, rule.endpoint)
                assert operation.get("security") == access.described(declared), path


def test_no_view_is_served_that_does_not_say_who_may_call_it(cast: Cast) -> None:
    app = Flask("undeclared", static_folder=None)
    app.add_url_rule("/forgotten", "forgotten", lambda: "secret")
    with pytest.raises(access.UndeclaredError, match="forgotten does not say who may call it"):
        access.install(app)


# --- API10: unsafe consumption of APIs ----------------------------------------------------------


def test_what_others_call_things_is_data_in_every_answer(cast: Cast) -> None:
    """Names come from sensors and authorities; that they are checked when they come in is
    tested with the ingest (`tests/ingest`), that pages show them as text with the pages."""
    town = Town(cast.engine)
    town.road("200", "<script>alert(1)</script>")
    town.event("evil", "200", "2014-08-05T11:00:00Z")
    answer = cast.nobody.get("/events/evil")
    assert answer.content_type == "application/json"
    assert answer.json["place"]["name"] == "<script>alert(1)</script>"
