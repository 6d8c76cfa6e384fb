"""Two-factor sign-in: with an authenticator app, recovery codes, and roles that need it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from limits import RateLimitItemPerHour
from sqlalchemy import Engine, select

from citywise.backend.api import limits
from citywise.backend.people import accounts, two_factor
from citywise.backend.privacy import export
from citywise.backend.settings import People, Settings
from citywise.backend.store.models import AccountRow, LoginRow, RecoveryCodeRow
from tests.api.accounts_alone import quick as quick
from tests.api.accounts_alone import settings as settings
from tests.api.browsers import PASSWORD, Browser
from tests.api.test_people import code as problem

MINE = "/me/two-factor"
NOW_S = 1_800_000_000
CREDENTIALS = {"name": "Anna", "password": PASSWORD}


class Phone:
    """An authenticator app with a secret; each code is one that was not used before."""

    def __init__(self, secret: str) -> None:
        self.secret = secret
        self._step = NOW_S // two_factor.STEP_S - 2

    def code(self) -> str:
        self._step += 1
        return two_factor.code_at(self.secret, self._step * two_factor.STEP_S)


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    """No step ends while a test runs."""
    monkeypatch.setattr(two_factor, "wall_ms", lambda: NOW_S * 1000)


@pytest.fixture
def anna(app: Flask) -> Browser:
    browser = Browser.of(app)
    assert browser.sign_up("Anna").status_code == 201
    return browser


def set_up(browser: Browser) -> tuple[Phone, list[str]]:
    """Turn it on; the phone, and the recovery codes."""
    phone = Phone(browser.post(MINE, {"password": PASSWORD}).json["secret"])
    answer = browser.put(MINE, {"code": phone.code()})
    assert answer.status_code == 200
    return phone, answer.json["recovery"]


def test_codes_are_those_of_the_standard() -> None:
    """RFC 6238, appendix B, of which six digits are shown."""
    secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    for at_s, shown in ((59, "287082"), (1111111109, "081804"), (20000000000, "353130")):
        assert two_factor.code_at(secret, at_s) == shown


def test_nothing_changes_until_a_first_code_has_come_back(app: Flask, anna: Browser) -> None:
    begun = anna.post(MINE, {"password": PASSWORD})
    assert begun.headers["Cache-Control"] == "no-store"
    told = parse_qs(urlsplit(begun.json["uri"]).query)
    assert (told["secret"], told["issuer"]) == ([begun.json["secret"]], ["Citywise"])
    assert begun.json["svg"].startswith("<svg")
    assert anna.get(MINE).json["on"] is False
    assert Browser.of(app).log_in("Anna").status_code == 200


def test_only_who_knows_the_password_sets_it_up(anna: Browser) -> None:
    assert anna.post(MINE, {"password": "guess"}).json["errors"][0]["path"] == "password"
    assert anna.put(MINE, {"code": "123456"}).json["errors"][0]["code"] == "wrong-code"


def test_a_log_in_then_needs_a_code_after_the_right_password(app: Flask, anna: Browser) -> None:
    phone, _ = set_up(anna)
    other = Browser.of(app)
    assert problem(other.log_in("Anna")) == (401, "second-step")
    assert problem(other.log_in("Anna", "wrong password")) == (401, "wrong-login")
    assert problem(other.post("/login", {**CREDENTIALS, "code": "000000"})) == (401, "wrong-code")
    assert other.get("/me").json["user"] is None
    assert other.post("/login", {**CREDENTIALS, "code": phone.code()}).status_code == 200


def test_a_code_is_good_once(app: Flask, anna: Browser) -> None:
    phone, (recovery, *_) = set_up(anna)
    for given in (phone.code(), recovery, recovery):
        body = {**CREDENTIALS, "code": given}
        first, again = (Browser.of(app).post("/login", body) for _ in range(2))
        assert problem(again) == (401, "wrong-code")
    assert anna.get(MINE).json["recovery_left"] == two_factor.RECOVERY_CODES - 1
    assert first.status_code == 401


def test_a_phone_whose_clock_is_minutes_off_is_not_believed(anna: Browser) -> None:
    secret = anna.post(MINE, {"password": PASSWORD}).json["secret"]
    late = two_factor.code_at(secret, NOW_S - 120)
    assert anna.put(MINE, {"code": late}).status_code == 422


@pytest.mark.parametrize("given", ["", "٠٠٠٠٠٠", "1" * 100, "a" * 16, "🚋" * 16])
def test_what_is_no_code_is_a_wrong_one(app: Flask, anna: Browser, given: str) -> None:
    set_up(anna)
    answer = Browser.of(app).post("/login", {**CREDENTIALS, "code": given})
    assert problem(answer) == (401, "wrong-code")


def test_a_recovery_code_is_read_however_it_is_written(app: Flask, anna: Browser) -> None:
    _, (first, second, *_) = set_up(anna)
    for given in (first.replace("-", "").upper(), second.replace("-", " ")):
        assert Browser.of(app).post("/login", {**CREDENTIALS, "code": given}).status_code == 200


def test_who_guesses_codes_has_to_wait_but_not_who_knows_them(
    app: Flask, anna: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(limits.LIMITS, "codes", RateLimitItemPerHour(3))
    phone, _ = set_up(anna)
    wrong, right = {**CREDENTIALS, "code": "12345"}, {**CREDENTIALS, "code": phone.code()}
    assert Browser.of(app).post("/login", right).status_code == 200
    answers = [problem(Browser.of(app).post("/login", wrong)) for _ in range(4)]
    assert answers == [(401, "wrong-code")] * 3 + [(429, "too-many-requests")]
    assert anna.delete(MINE, {"code": "123456"}).status_code == 429


def test_turning_it_on_ends_all_other_logins(app: Flask, anna: Browser) -> None:
    other = Browser.of(app, "Anna")
    set_up(anna)
    assert other.get("/me").json["user"] is None
    assert anna.get("/me").json["user"] == anna.user


def test_turning_it_off_needs_a_code_and_leaves_nothing(
    app: Flask, anna: Browser, engine: Engine
) -> None:
    _, (recovery, *_) = set_up(anna)
    assert anna.delete(MINE, {"code": "123456"}).status_code == 422
    assert anna.delete(MINE, {"code": recovery}).status_code == 204
    assert Browser.of(app).log_in("Anna").status_code == 200
    with engine.connect() as connection:
        assert connection.scalar(select(AccountRow.totp_secret)) is None
        assert connection.scalars(select(RecoveryCodeRow.id)).all() == []


def test_new_recovery_codes_void_the_old_ones(anna: Browser) -> None:
    phone, old = set_up(anna)
    new = anna.post(f"{MINE}/recovery", {"code": phone.code()}).json["recovery"]
    assert set(new).isdisjoint(old)
    assert anna.delete(MINE, {"code": old[0]}).status_code == 422


def test_it_cannot_be_set_up_over_one_that_is_on(anna: Browser) -> None:
    phone, _ = set_up(anna)
    answer = anna.post(MINE, {"password": PASSWORD, "code": phone.code()})
    assert answer.json["errors"][0]["code"] == "two-factor-on"


def test_the_export_tells_since_when_and_no_secret(
    anna: Browser, settings: Settings, engine: Engine
) -> None:
    phone, codes = set_up(anna)
    with engine.connect() as connection:
        found = export.everything(connection, settings, anna.user)
    assert found["two_factor"]["recovery_left"] == len(codes)
    assert phone.secret not in str(found)


def test_forgetting_leaves_no_recovery_code(anna: Browser, engine: Engine) -> None:
    set_up(anna)
    assert anna.delete("/me", {"password": PASSWORD}).status_code == 202
    with engine.connect() as connection:
        assert connection.scalars(select(RecoveryCodeRow.id)).all() == []


def test_all_other_logins_are_ended_at_once(app: Flask, anna: Browser, engine: Engine) -> None:
    others = [Browser.of(app, "Anna") for _ in range(2)]
    bert = Browser.of(app)
    bert.sign_up("Bert")
    assert anna.delete("/me/logins").json == {"ended": 2}
    assert [other.get("/me").json["user"] for other in others] == [None, None]
    assert (anna.get("/me").json["name"], bert.get("/me").json["name"]) == ("Anna", "Bert")
    with engine.connect() as connection:
        assert len(connection.scalars(select(LoginRow.id)).all()) == 2


class TestRolesThatNeedIt:
    """`people.two_factor` names them."""

    @pytest.fixture
    def settings(self, tmp_path: Path) -> Settings:
        return Settings(data_dir=tmp_path, people=People(two_factor=("admin",)))

    @pytest.fixture
    def admin(self, app: Flask, engine: Engine) -> Browser:
        with engine.begin() as connection:
            accounts.create(connection, "Ada", PASSWORD, ("admin", "developer"))
        return Browser.of(app, "Ada")

    def test_an_admin_is_none_until_it_is_set_up(self, admin: Browser) -> None:
        refused = admin.get("/accounts")
        assert problem(refused) == (403, "not-allowed")
        assert "two-factor" in refused.json["detail"]
        me = admin.get("/me").json
        assert (me["roles"], me["waiting_roles"]) == (["developer", "user"], ["admin"])
        set_up(admin)
        assert admin.get("/accounts").status_code == 200
        assert admin.get("/me").json["waiting_roles"] == []

    def test_nor_is_an_admins_device(self, app: Flask, admin: Browser) -> None:
        made = admin.post("/me/tokens", {"label": "script", "rights": ["all"]}).json
        device = Browser.device(app, made["bearer"])
        refused = device.get("/accounts")
        assert problem(refused) == (403, "not-allowed")
        assert "two-factor" in refused.json["detail"]
        set_up(admin)
        assert device.get("/accounts").status_code == 200
