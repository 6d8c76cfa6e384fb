"""Passkeys: a second step, or a log-in without a password, that no other page can get."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from limits import RateLimitItemPerHour
from sqlalchemy import Engine, select

from citywise.backend.api import limits
from citywise.backend.people import accounts, logins, passkeys, two_factor
from citywise.backend.people.passkeys import LIFE_S, Challenges, Party
from citywise.backend.privacy import export
from citywise.backend.settings import People, Settings
from citywise.backend.store.models import PasskeyRow, RecoveryCodeRow
from citywise.backend.times import wall_ms
from tests.api.accounts_alone import quick as quick
from tests.api.accounts_alone import settings as settings
from tests.api.authenticator import PRESENT, Device
from tests.api.browsers import PASSWORD, Browser
from tests.api.test_people import code as problem

MINE, ALONE, TOTP = "/me/passkeys", "/login/passkey", "/me/two-factor"
CREDENTIALS = {"name": "Anna", "password": PASSWORD}


@pytest.fixture
def anna(app: Flask) -> Browser:
    browser = Browser.of(app)
    assert browser.sign_up("Anna").status_code == 201
    return browser


@pytest.fixture
def device() -> Device:
    return Device()


def added(browser: Browser, device: Device, name: str = "Phone", **proof: Any) -> Any:
    """The answer to a passkey that a device makes for somebody."""
    asked = browser.post(MINE, {"password": PASSWORD, **proof}).json
    answer = browser.put(MINE, {"name": name, "passkey": device.make(asked)})
    assert answer.status_code == 201, answer.json
    return answer.json


def asked_second(browser: Browser) -> Any:
    """What the passkeys of an account are asked after the right password."""
    refused = browser.post("/login", CREDENTIALS)
    assert problem(refused) == (401, "second-step")
    return refused.json["passkey"]


def test_a_log_in_then_needs_one_that_is_asked_after_the_right_password(
    app: Flask, anna: Browser, device: Device
) -> None:
    added(anna, device)
    other = Browser.of(app)
    assert problem(other.log_in("Anna", "wrong password")) == (401, "wrong-login")
    signed = device.sign(asked_second(other))
    assert other.get("/me").json["user"] is None
    assert other.post("/login", {**CREDENTIALS, "passkey": signed}).status_code == 200


def test_it_lets_in_without_name_and_password(app: Flask, anna: Browser, device: Device) -> None:
    added(anna, device)
    other = Browser.of(app)
    asked = other.get(ALONE)
    assert asked.headers["Cache-Control"] == "no-store"
    assert (asked.json["allowCredentials"], asked.json["userVerification"]) == ([], "required")
    came = other.post(ALONE, {"passkey": device.sign(asked.json)})
    assert (came.status_code, came.json["name"]) == (200, "Anna")


def test_alone_it_is_not_enough_that_somebody_was_there(
    app: Flask, anna: Browser, device: Device
) -> None:
    """A key that lies about is no second factor; one that knows a finger is."""
    added(anna, device)
    device.flags = PRESENT
    other = Browser.of(app)
    refused = other.post(ALONE, {"passkey": device.sign(other.get(ALONE).json)})
    assert problem(refused) == (401, "wrong-passkey")
    signed = device.sign(asked_second(other))
    assert other.post("/login", {**CREDENTIALS, "passkey": signed}).status_code == 200


def another_origin(device: Device) -> None:
    device.origin = "https://localhost.example"


def another_host(device: Device) -> None:
    device.host = "localhost.example"


def nobody_there(device: Device) -> None:
    device.flags = 0


def counts_back(device: Device) -> None:
    device.steps = -1


def counts_not(device: Device) -> None:
    device.steps = 0


LIES: list[Callable[[Device], None]] = [
    another_origin, another_host, nobody_there, counts_back, counts_not,
]  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_what_another_page_or_a_copy_of_the_device_signed_lets_nobody_in(
    app: Flask, anna: Browser, device: Device, lie: Callable[[Device], None]
) -> None:
    added(anna, device)
    other = Browser.of(app)
    for _ in range(2):
        signed = device.sign(asked_second(other))
        assert other.post("/login", {**CREDENTIALS, "passkey": signed}).status_code == 200
    lie(device)
    second = {**CREDENTIALS, "passkey": device.sign(asked_second(other))}
    assert problem(Browser.of(app).post("/login", second)) == (401, "wrong-passkey")
    alone = {"passkey": device.sign(other.get(ALONE).json)}
    assert problem(Browser.of(app).post(ALONE, alone)) == (401, "wrong-passkey")


@pytest.mark.parametrize("lie", LIES[:3])
def test_nor_is_such_a_one_kept(
    anna: Browser, device: Device, lie: Callable[[Device], None]
) -> None:
    lie(device)
    made = device.make(anna.post(MINE, {"password": PASSWORD}).json)
    refused = anna.put(MINE, {"name": "Phone", "passkey": made})
    assert refused.json["errors"][0]["code"] == "wrong-passkey"
    assert anna.get(MINE).json == {"passkeys": [], "ask": None}


def test_an_answer_is_good_once(app: Flask, anna: Browser, device: Device) -> None:
    asked = anna.post(MINE, {"password": PASSWORD}).json
    made = {"name": "Phone", "passkey": device.make(asked)}
    assert anna.put(MINE, made).status_code == 201
    assert anna.put(MINE, {**made, "name": "Again"}).json["errors"][0]["code"] == "wrong-passkey"
    second = {**CREDENTIALS, "passkey": device.sign(asked_second(Browser.of(app)))}
    alone = {"passkey": device.sign(anna.get(ALONE).json)}
    device.steps = 5
    for path, body in (("/login", second), (ALONE, alone)):
        first, again = (Browser.of(app).post(path, body) for _ in range(2))
        assert first.status_code == 200
        assert problem(again) == (401, "wrong-passkey")


def test_a_challenge_is_for_one_purpose_and_one_account(
    app: Flask, anna: Browser, device: Device
) -> None:
    bert, of_bert = Browser.of(app), Device()
    bert.sign_up("Bert")
    added(bert, of_bert)
    added(anna, device)
    signed = of_bert.sign(anna.get(ALONE).json)
    body = {**CREDENTIALS, "passkey": signed}
    assert problem(anna.post("/login", body)) == (401, "wrong-passkey")
    signed = of_bert.sign(bert.get(MINE).json["ask"])
    assert problem(bert.post(ALONE, {"passkey": signed})) == (401, "wrong-passkey")
    made = of_bert.make(anna.post(MINE, {"password": PASSWORD, **second(anna, device)}).json)
    refused = bert.put(MINE, {"name": "Hers", "passkey": made})
    assert refused.json["errors"][0]["code"] == "wrong-passkey"


def second(browser: Browser, device: Device) -> dict[str, Any]:
    """The second step of who is logged in."""
    return {"passkey": device.sign(browser.get(MINE).json["ask"])}


def test_the_passkey_of_another_account_is_no_second_step_of_this_one(
    app: Flask, anna: Browser, device: Device
) -> None:
    bert, of_bert = Browser.of(app), Device()
    bert.sign_up("Bert")
    added(bert, of_bert)
    added(anna, device)
    asked = asked_second(Browser.of(app))
    (named,) = of_bert.keys
    signed = of_bert.sign(asked, named)
    refused = Browser.of(app).post("/login", {**CREDENTIALS, "passkey": signed})
    assert problem(refused) == (401, "wrong-passkey")


def test_a_passkey_is_of_the_account_that_its_device_names(
    app: Flask, anna: Browser, device: Device
) -> None:
    added(anna, device)
    (key,) = device.keys.values()
    key.handle = "dS1zb21lYm9keQ"
    refused = Browser.of(app).post(ALONE, {"passkey": device.sign(anna.get(ALONE).json)})
    assert problem(refused) == (401, "wrong-passkey")


def test_a_challenge_is_over_after_five_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    challenges, now = Challenges(), wall_ms()
    challenge, other = challenges.new("a"), challenges.new("a")
    monkeypatch.setattr(passkeys, "wall_ms", lambda: now + LIFE_S * 1000 - 1000)
    assert challenges.take(other, "a")
    monkeypatch.setattr(passkeys, "wall_ms", lambda: now + LIFE_S * 1000 + 1000)
    assert not challenges.take(challenge, "a")
    assert not challenges.take(other, "a")


@pytest.mark.parametrize("challenge", [b"", b"\0" * 24, b"\0" * 56, b"\xff" * 5000])
def test_nobody_makes_a_challenge_of_ours(challenge: bytes) -> None:
    assert not Challenges().take(challenge, "a")


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://your.city", "https://your.city"),
        ("HTTPS://Your.City:443", "https://your.city"),
        ("https://bücher.example:8443", "https://xn--bcher-kva.example:8443"),
        ("http://localhost:8000", "http://localhost:8000"),
        ("http://your.city", None),
        ("https://192.168.0.7:8443", None),
        ("https://[::1]", None),
        ("https://a..b", None),
        ("https://your.city:x", None),
    ],
)
def test_browsers_have_passkeys_for_a_name_with_https(address: str, origin: str | None) -> None:
    found = Party.of(address)
    assert (None if found is None else found.origin) == origin


def test_where_browsers_have_none_it_is_said(app: Flask, anna: Browser) -> None:
    answer = anna.client.get("/api/v1/login/passkey", base_url="http://127.0.0.1:8000")
    assert (answer.status_code, answer.json["type"].rpartition(":")[2]) == (409, "no-passkeys")


SHAPES: list[Any] = [
    {},
    {"id": "x", "response": {}},
    {"id": 5, "response": {"clientDataJSON": 7}},
    {"response": {"clientDataJSON": "e30"}},
    {"response": {"clientDataJSON": "AAAA"}},
    {"id": "🚋" * 100, "response": {"clientDataJSON": "W10"}},
]


@pytest.mark.parametrize("given", SHAPES)
def test_what_is_no_answer_is_a_wrong_one(
    app: Flask, anna: Browser, device: Device, given: Any
) -> None:
    added(anna, device)
    other = Browser.of(app)
    assert problem(other.post(ALONE, {"passkey": given})) == (401, "wrong-passkey")
    assert problem(other.post("/login", {**CREDENTIALS, "passkey": given})) == (
        401,
        "wrong-passkey",
    )
    refused = anna.put(MINE, {"name": "A", "passkey": given})
    assert refused.json["errors"][0]["code"] == "wrong-passkey"


@pytest.mark.parametrize("part", ["attestationObject", "authenticatorData", "signature"])
@pytest.mark.parametrize("bytes_", ["", "AAAA", "n" * 400, "_" * 4000, {"a": []}, None])
def test_nor_does_a_broken_one_break_anything(
    app: Flask, anna: Browser, device: Device, part: str, bytes_: Any
) -> None:
    if part == "attestationObject":
        made = device.make(anna.post(MINE, {"password": PASSWORD}).json)
        made["response"][part] = bytes_
        refused = anna.put(MINE, {"name": "A", "passkey": made})
        assert refused.json["errors"][0]["code"] == "wrong-passkey"
        return
    added(anna, device)
    signed = device.sign(anna.get(ALONE).json)
    signed["response"][part] = bytes_
    assert problem(Browser.of(app).post(ALONE, {"passkey": signed})) == (401, "wrong-passkey")


def test_wrong_ones_count_as_wrong_codes_do(
    app: Flask, anna: Browser, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(limits.LIMITS, "codes", RateLimitItemPerHour(2))
    added(anna, device)
    wrong = {**CREDENTIALS, "passkey": {}}
    answers = [problem(Browser.of(app).post("/login", wrong)) for _ in range(3)]
    assert answers == [(401, "wrong-passkey")] * 2 + [(429, "too-many-requests")]


def test_there_may_be_several_with_names_and_each_is_removed_by_who_has_a_second_step(
    app: Flask, anna: Browser, device: Device
) -> None:
    first = added(anna, device)
    other = Device()
    added(anna, other, "  Key   of steel ", **second(anna, device))
    assert [each["name"] for each in anna.get(MINE).json["passkeys"]] == ["Phone", "Key of steel"]
    assert anna.delete(f"{MINE}/{first['id']}", {}).status_code == 422
    assert anna.delete(f"{MINE}/{first['id']}", second(anna, other)).status_code == 204
    (left,) = anna.get(MINE).json["passkeys"]
    assert left["used"] is not None
    refused = Browser.of(app).post(ALONE, {"passkey": device.sign(anna.get(ALONE).json)})
    assert problem(refused) == (401, "wrong-passkey")
    again = anna.delete(f"{MINE}/{first['id']}", second(anna, other))
    assert problem(again) == (404, "not-found")


@pytest.mark.parametrize("name", ["", "  ", "a" * 61, "a\x01b", "\u202e"])
def test_a_name_says_which_it_is(anna: Browser, device: Device, name: str) -> None:
    made = device.make(anna.post(MINE, {"password": PASSWORD}).json)
    refused = anna.put(MINE, {"name": name, "passkey": made})
    assert refused.json["errors"][0]["path"] == "name"
    kept = added(anna, device)
    refused = anna.patch(f"{MINE}/{kept['id']}", {"name": name})
    assert refused.json["errors"][0]["path"] == "name"
    assert [each["name"] for each in anna.get(MINE).json["passkeys"]] == ["Phone"]


def test_a_passkey_is_renamed_and_signs_as_before(
    app: Flask, anna: Browser, device: Device
) -> None:
    made, other = added(anna, device), Device()
    added(anna, other, "Key", **second(anna, device))
    called = anna.patch(f"{MINE}/{made['id']}", {"name": "  Old   phone "})
    assert (called.status_code, called.json["name"]) == (200, "Old phone")
    assert [each["name"] for each in anna.get(MINE).json["passkeys"]] == ["Old phone", "Key"]
    assert called.json == anna.get(MINE).json["passkeys"][0]
    signed = device.sign(asked_second(Browser.of(app)))
    assert Browser.of(app).post("/login", {**CREDENTIALS, "passkey": signed}).status_code == 200
    assert problem(anna.patch(f"{MINE}/{'0' * 64}", {"name": "x"})) == (404, "not-found")


def test_nobody_removes_renames_or_sees_somebody_elses(
    app: Flask, anna: Browser, device: Device
) -> None:
    made = added(anna, device)
    bert, of_bert = Browser.of(app), Device()
    bert.sign_up("Bert")
    added(bert, of_bert)
    assert made["id"] not in str(bert.get(MINE).json)
    gone = bert.delete(f"{MINE}/{made['id']}", second(bert, of_bert))
    assert problem(gone) == (404, "not-found")
    called = bert.patch(f"{MINE}/{made['id']}", {"name": "mine now"})
    assert problem(called) == (404, "not-found")
    assert [each["name"] for each in anna.get(MINE).json["passkeys"]] == ["Phone"]


def test_another_one_needs_the_password_and_the_second_step(anna: Browser, device: Device) -> None:
    assert anna.post(MINE, {"password": "guess"}).json["errors"][0]["path"] == "password"
    added(anna, device)
    for more in ({}, {"code": "000000"}):
        refused = anna.post(MINE, {"password": PASSWORD, **more})
        assert refused.json["errors"][0]["code"] == "wrong-code"
    assert anna.post(TOTP, {"password": PASSWORD}).status_code == 422


def test_the_first_second_step_ends_other_logins_and_has_recovery_codes(
    app: Flask, anna: Browser, device: Device
) -> None:
    other = Browser.of(app, "Anna")
    codes = added(anna, device)["recovery"]
    assert len(codes) == two_factor.RECOVERY_CODES
    assert other.get("/me").json["user"] is None
    came = Browser.of(app).post("/login", {**CREDENTIALS, "code": codes[0]})
    assert came.status_code == 200
    more = added(anna, Device(), "Key", **second(anna, device))
    assert more["recovery"] is None
    assert dict(anna.get(TOTP).json or {}) == {
        "on": False, "since": None, "passkeys": 2, "needed_for": [],
        "recovery_left": two_factor.RECOVERY_CODES - 1,
    }  # fmt: skip
    new = anna.post(f"{TOTP}/recovery", second(anna, device)).json["recovery"]
    assert set(new).isdisjoint(codes)


def test_recovery_codes_end_with_the_last_second_step(
    anna: Browser, device: Device, engine: Engine
) -> None:
    codes = added(anna, device)["recovery"]
    made = anna.post(TOTP, {"password": PASSWORD, "code": codes[0]}).json["secret"]
    new = anna.put(TOTP, {"code": two_factor.code_at(made, time.time())}).json["recovery"]
    assert anna.delete(TOTP, {"code": new[0]}).status_code == 204
    (left,) = anna.get(MINE).json["passkeys"]
    assert anna.get(TOTP).json["recovery_left"] == len(new) - 1
    assert anna.delete(f"{MINE}/{left['id']}", {"code": new[1]}).status_code == 204
    with engine.connect() as connection:
        assert connection.scalars(select(RecoveryCodeRow.id)).all() == []
        assert connection.scalars(select(PasskeyRow.id)).all() == []


def test_a_disabled_account_has_no_way_in(
    app: Flask, anna: Browser, device: Device, engine: Engine
) -> None:
    added(anna, device)
    with engine.begin() as connection:
        accounts.disable(connection, anna.user, disabled=True)
    other = Browser.of(app)
    refused = other.post(ALONE, {"passkey": device.sign(other.get(ALONE).json)})
    assert problem(refused) == (401, "wrong-passkey")


def test_who_lost_everything_logs_in_with_the_password_after_an_operator_turned_it_off(
    app: Flask, anna: Browser, device: Device, engine: Engine
) -> None:
    """What `citywise user two-factor NAME --off` does."""
    added(anna, device)
    with engine.begin() as connection:
        assert two_factor.end_all(connection, anna.user)
        assert not two_factor.end_all(connection, anna.user)
    other = Browser.of(app)
    assert other.log_in("Anna").status_code == 200
    assert other.get(MINE).json["passkeys"] == []


def test_nobody_has_more_than_some(
    anna: Browser, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passkeys, "MOST", 1)
    added(anna, device)
    made = Device().make(anna.post(MINE, {"password": PASSWORD, **second(anna, device)}).json)
    refused = anna.put(MINE, {"name": "More", "passkey": made})
    assert refused.json["errors"][0]["code"] == "too-many-passkeys"


def test_the_export_tells_their_names_and_no_key(
    anna: Browser, device: Device, settings: Settings, engine: Engine
) -> None:
    added(anna, device, "Pixel")
    with engine.connect() as connection:
        found = export.everything(connection, settings, anna.user)
        row = connection.execute(select(PasskeyRow.__table__)).one()
    assert [each["name"] for each in found["passkeys"]] == ["Pixel"]
    assert row.public_key not in str(found)


def test_forgetting_leaves_none(anna: Browser, device: Device, engine: Engine) -> None:
    added(anna, device)
    assert anna.delete("/me", {"password": PASSWORD}).status_code == 202
    with engine.connect() as connection:
        assert connection.scalars(select(PasskeyRow.id)).all() == []
        assert logins.of(connection, anna.user) == []


class TestRolesThatNeedIt:
    """`people.two_factor` names them."""

    @pytest.fixture
    def settings(self, tmp_path: Path) -> Settings:
        return Settings(data_dir=tmp_path, people=People(two_factor=("admin",)))

    def test_a_passkey_is_the_second_step_that_a_role_needs(
        self, app: Flask, engine: Engine, device: Device
    ) -> None:
        with engine.begin() as connection:
            accounts.create(connection, "Anna", PASSWORD, ("admin",))
        anna = Browser.of(app, "Anna")
        assert anna.get("/accounts").status_code == 403
        made = added(anna, device)
        assert anna.get("/accounts").status_code == 200
        alone = Browser.of(app)
        asked = alone.get(ALONE).json
        alone._came(alone.post(ALONE, {"passkey": device.sign(asked)}))
        assert alone.get("/accounts").status_code == 200
        anna.delete(f"{MINE}/{made['id']}", second(anna, device))
        assert alone.get("/accounts").status_code == 403
