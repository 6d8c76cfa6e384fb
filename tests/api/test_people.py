"""Signing up, logging in and out, and what is one's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import Engine, select

from citywise.backend.api import hashing
from citywise.backend.api.entitled import Reader, unentitled
from citywise.backend.people import accounts, invitations
from citywise.backend.settings import People, Settings
from citywise.backend.store.models import InletRow, LoginRow
from tests.api.accounts_alone import quick as quick
from tests.api.accounts_alone import settings as settings
from tests.api.browsers import PASSWORD, Browser

BETTER = "four small boats at sea"
TOKEN = {"label": "phone", "rights": ["all"]}


@pytest.fixture
def anna(app: Flask) -> Browser:
    browser = Browser.of(app)
    assert browser.sign_up("Anna").status_code == 201
    return browser


@pytest.fixture
def admin(app: Flask, engine: Engine) -> Browser:
    with engine.begin() as connection:
        accounts.create(connection, "Ada", PASSWORD, ("admin",))
    return Browser.of(app, "Ada")


def code(answer: object) -> tuple[int, str]:
    """Status and kind of a problem."""
    return answer.status_code, answer.json["type"].rpartition(":")[2]  # type: ignore[attr-defined]


# --- Coming and going ---------------------------------------------------------------------------


def test_who_signs_up_is_logged_in(anna: Browser) -> None:
    me = anna.get("/me").json
    assert (me["name"], me["roles"], me["means"]) == ("Anna", ["user"], "login")
    assert me["user"] == anna.user
    assert me["csrf"] == anna.csrf


def test_nobody_is_nobody(app: Flask) -> None:
    me = Browser.of(app).get("/me").json
    assert (me["user"], me["roles"], me["means"], me["csrf"]) == (None, [], "nobody", None)
    assert (me["sign_up"], me["demo"]) == ("open", False)


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(app: Flask) -> None:
    cookie = Browser.of(app).sign_up("Anna").headers["Set-Cookie"]
    assert cookie.startswith("citywise-login=")
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))


def test_over_https_the_cookie_is_this_hosts_alone(app: Flask) -> None:
    answer = app.test_client().post(
        "/api/v1/accounts",
        json={"name": "Anna", "password": PASSWORD},
        base_url="https://city.example",
    )
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("__Host-citywise-login=")
    assert "Secure" in cookie.split("; ")
    assert "Domain" not in cookie


def test_logging_out_ends_the_login_and_takes_the_cookie(anna: Browser, engine: Engine) -> None:
    answer = anna.delete("/login")
    assert answer.status_code == 204
    assert "Max-Age=0" in answer.headers["Set-Cookie"]
    assert anna.get("/me").json["user"] is None
    with engine.connect() as connection:
        assert connection.execute(select(LoginRow.id)).all() == []


def test_a_name_is_found_however_it_is_written(app: Flask, anna: Browser) -> None:
    assert Browser.of(app).log_in("ANNA").status_code == 200


@pytest.mark.parametrize(
    ("name", "password"), [("Anna", "three small boats at se"), ("Nobody", PASSWORD), ("", "")]
)
def test_a_wrong_name_and_a_wrong_password_are_answered_alike(
    app: Flask, anna: Browser, name: str, password: str
) -> None:
    answer = Browser.of(app).log_in(name, password)
    assert code(answer) == (401, "wrong-login")
    assert answer.json["detail"] == ("name or password is wrong, or the account is shut; try again")


def test_who_waits_too_long_for_a_turn_to_log_in_is_told_so(
    app: Flask, anna: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hashing takes both cores: one at a time, or a few could keep everybody else out."""
    monkeypatch.setattr(hashing, "PATIENCE_S", 0.01)
    with app.test_request_context(), hashing.turn():
        answer = Browser.of(app).log_in("Anna")
    assert code(answer) == (503, "busy")
    assert int(answer.headers["Retry-After"]) > 0


def test_one_address_does_not_keep_all_others_waiting(
    app: Flask, anna: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hashing, "MOST_OF_ONE", 1)
    monkeypatch.setattr(hashing, "PATIENCE_S", 3600)  # who does not hear at once hears nothing
    at_hers = {"REMOTE_ADDR": anna.address}
    with app.test_request_context(environ_overrides=at_hers), hashing.turn():
        assert code(anna.log_in("Anna")) == (503, "busy")


@pytest.mark.parametrize(
    ("name", "password", "path"),
    [("A", PASSWORD, "name"), ("Анna", PASSWORD, "name"), ("Berta", "short", "password")],
)
def test_what_is_wrong_with_a_sign_up_is_said_at_its_field(
    app: Flask, name: str, password: str, path: str
) -> None:
    answer = Browser.of(app).sign_up(name, password)
    assert code(answer) == (422, "invalid")
    assert answer.json["errors"][0]["path"] == path


def test_a_name_is_given_once(app: Flask, anna: Browser) -> None:
    assert code(Browser.of(app).sign_up("anna")) == (409, "name-taken")


class TestWhoMaySignUp:
    """`people.sign_up` says so."""

    @pytest.fixture
    def settings(self, tmp_path: Path, request: pytest.FixtureRequest) -> Settings:
        return Settings(data_dir=tmp_path, people=People(sign_up=request.param))

    @pytest.mark.parametrize("settings", ["closed"], indirect=True)
    def test_nobody_where_it_is_closed(self, app: Flask) -> None:
        assert code(Browser.of(app).sign_up("Anna")) == (403, "sign-up-closed")

    @pytest.mark.parametrize("settings", ["invited"], indirect=True)
    def test_who_is_invited_once_and_in_the_roles_they_are_invited_to(
        self, app: Flask, engine: Engine
    ) -> None:
        assert code(Browser.of(app).sign_up("Anna")) == (403, "invitation-needed")
        with engine.begin() as connection:
            invitation = invitations.issue(connection, ("developer",))
        came = Browser.of(app).sign_up("Anna", invitation=invitation)
        assert came.json["roles"] == ["developer", "user"]
        again = Browser.of(app).sign_up("Bert", invitation=invitation)
        assert again.json["errors"][0]["path"] == "invitation"


# --- The account --------------------------------------------------------------------------------


def test_a_new_password_needs_the_old_one_and_ends_other_logins(app: Flask, anna: Browser) -> None:
    other = Browser.of(app, "Anna")
    wrong = anna.patch("/me", {"password": BETTER, "old": "what was it"})
    assert wrong.json["errors"][0]["path"] == "old"
    assert anna.patch("/me", {"password": BETTER, "old": PASSWORD}).status_code == 200
    assert other.get("/me").json["user"] is None
    assert anna.get("/me").json["user"] == anna.user
    assert Browser.of(app).log_in("Anna").status_code == 401
    assert Browser.of(app).log_in("Anna", BETTER).status_code == 200


def test_name_and_password_are_changed_together_or_not_at_all(
    app: Flask, anna: Browser, engine: Engine
) -> None:
    """And nobody waits for the hash with the lock of all who write (`giving_way.refused`)."""
    Browser.of(app).sign_up("Berta")
    taken = anna.patch("/me", {"name": "Berta", "password": BETTER, "old": PASSWORD})
    assert code(taken) == (409, "name-taken")
    called = anna.patch("/me", {"name": "Anni", "password": BETTER, "old": PASSWORD}).json["name"]
    with engine.connect() as connection:
        found = accounts.log_in(connection, "Anni", BETTER)
    assert (called, found is not None and found.id) == ("Anni", anna.user)


@pytest.mark.parametrize(("devices", "status"), [("keep", 200), ("end", 401)])
def test_a_new_password_ends_tokens_if_told_so(
    app: Flask, anna: Browser, devices: str, status: int
) -> None:
    phone = Browser.device(app, anna.post("/me/tokens", TOKEN).json["bearer"])
    stream = app.extensions["citywise"].hub.subscribe(print, reader=Reader(account=anna.user))
    without = anna.patch("/me", {"name": "Anna B", "devices": "end"})
    assert without.json["errors"][0]["path"] == "devices"
    body = {"password": BETTER, "old": PASSWORD, "devices": devices}
    assert anna.patch("/me", body).status_code == 200
    assert phone.get("/notices").status_code == status
    assert stream.is_closed()


def test_a_person_can_be_called_otherwise(anna: Browser) -> None:
    assert anna.patch("/me", {"name": "Anna B"}).json["name"] == "Anna B"
    assert anna.get("/me").json["name"] == "Anna B"


def test_forgetting_needs_the_password_and_leaves_no_account(app: Flask, anna: Browser) -> None:
    assert anna.delete("/me", {"password": "no"}).status_code == 422
    assert anna.delete("/me", {}).status_code == 422
    assert anna.delete("/me", {"password": PASSWORD}).status_code == 202
    assert anna.get("/me").json["user"] is None
    assert Browser.of(app).log_in("Anna").status_code == 401


def test_logins_are_listed_and_ended_one_by_one(app: Flask, anna: Browser) -> None:
    other = Browser.of(app)
    other.post("/login", {"name": "Anna", "password": PASSWORD}, User_Agent="Firefox")
    found = anna.get("/me/logins").json["logins"]
    assert sorted((each["agent"][:7], each["current"]) for each in found) == [
        ("Firefox", False),
        ("Werkzeu", True),
    ]
    [firefox] = [each["id"] for each in found if not each["current"]]
    assert anna.delete(f"/me/logins/{firefox}").status_code == 204
    assert anna.delete(f"/me/logins/{firefox}").status_code == 404
    assert other.get("/me").json["user"] is None


# --- Consent ------------------------------------------------------------------------------------


def test_context_is_taken_only_of_who_allows_it(anna: Browser, engine: Engine) -> None:
    told = {"position": {"lat": 56.15, "lon": 10.2}}
    address = f"/users/{anna.user}/context"
    refused = anna.patch(address, told)
    assert code(refused) == (403, "no-consent")
    assert refused.json["subjects"] == ["position"]
    assert anna.put("/me/consents/position", {"given": True, "hours": 2}).json["hours"] == 2
    assert anna.patch(address, told).status_code == 202
    withdrawn = anna.put("/me/consents/position", {"given": False, "hours": None})
    assert withdrawn.json["given"] is False
    with engine.connect() as connection:
        rows = connection.execute(select(InletRow.subject, InletRow.body).order_by(InletRow.id))
        assert [(subject, body is None) for subject, body in rows] == [
            ("position", False),
            ("position", True),
        ]


def test_a_consent_that_is_given_again_is_for_as_long_as_before(anna: Browser) -> None:
    address = "/me/consents/position"
    for body in ({"given": True, "hours": 1}, {"given": False}, {"given": True}):
        assert anna.put(address, body).json["hours"] == 1
    assert anna.put(address, {"given": True, "hours": None}).json["hours"] is None


def test_how_much_is_told_of_a_person_is_limited(anna: Browser) -> None:
    for subject in ("position", "route"):
        anna.put(f"/me/consents/{subject}", {"given": True})
    address, spaces = f"/users/{anna.user}/context", " " * 900_000
    sent = {"data": f'{{"position": null}}{spaces}', "content_type": "application/json"}
    headers = {"X-CSRF-Token": anna.csrf or ""}
    statuses = [
        anna.client.patch(f"/api/v1{address}", headers=headers, **sent).status_code
        for _ in range(13)
    ]
    assert statuses == [202] * 11 + [429] * 2
    assert anna.patch(address, {"position": None}).status_code == 202


def test_forgetting_is_allowed_without_consent(anna: Browser) -> None:
    assert anna.delete(f"/users/{anna.user}/context").status_code == 202
    assert anna.patch(f"/users/{anna.user}/context", {"position": None}).status_code == 202


@pytest.mark.parametrize(
    ("subject", "body", "status"),
    [
        ("dreams", {"given": True}, 404),
        ("position", {"given": "yes"}, 422),
        ("position", {"given": True, "hours": 0}, 422),
        ("position", {"given": True, "hours": 25}, 422),  # nothing is kept longer than a day
        ("position", {"given": True, "hours": 1e9}, 422),
    ],
)
def test_a_consent_that_cannot_be_is_refused(
    anna: Browser, subject: str, body: object, status: int
) -> None:
    assert anna.put(f"/me/consents/{subject}", body).status_code == status


# --- Tokens -------------------------------------------------------------------------------------


def test_a_token_lets_a_device_do_what_it_has_the_right_to(app: Flask, anna: Browser) -> None:
    made = anna.post("/me/tokens", {"label": "phone", "rights": ["notices"]})
    assert made.status_code == 201
    assert made.json["topic"] == f"citywise/notices/{anna.user}/{made.json['id']}"
    phone = Browser.device(app, made.json["bearer"])
    assert phone.get("/notices").status_code == 200
    assert code(phone.delete(f"/users/{anna.user}/context")) == (403, "not-allowed")
    assert code(phone.get("/instances")) == (403, "not-allowed")
    shown = anna.get("/me/tokens").json["tokens"]
    assert [(each["label"], each["used"] is not None) for each in shown] == [("phone", True)]
    assert "secret" not in shown[0]


def test_why_notices_came_tells_a_position_and_needs_the_right_to_all(
    app: Flask, anna: Browser
) -> None:
    made = anna.post("/me/tokens", {"label": "phone", "rights": ["notices"]})
    answer = Browser.device(app, made.json["bearer"]).get(f"/why?instance={anna.user}.x")
    assert code(answer) == (403, "not-allowed")


@pytest.mark.parametrize("right", ["sensors", "places"])
def test_a_token_that_speaks_for_the_city_is_in_the_audit(admin: Browser, right: str) -> None:
    made = admin.post("/me/tokens", {"label": "detector", "rights": [right]}).json
    action = admin.get("/audit").json["actions"][0]
    assert (action["action"], action["target"]) == ("token.issued", made["id"])
    assert action["after"] == {"label": "detector", "rights": [right]}


def test_a_developers_name_is_not_taken_for_the_test_person_of_that_name(
    app: Flask, engine: Engine
) -> None:
    with engine.begin() as connection:
        accounts.create(connection, "alice", PASSWORD, ("developer",))
    alice = Browser.of(app, "alice")
    assert alice.get("/users/alice/context").json["user"] == "alice"
    assert alice.patch("/me", {"name": "Bert"}).status_code == 200
    assert alice.get("/users/alice/context").json["user"] == "alice"


def test_a_token_may_not_touch_the_account(app: Flask, anna: Browser) -> None:
    made = anna.post("/me/tokens", {"label": "script", "rights": ["all"]})
    script = Browser.device(app, made.json["bearer"])
    assert script.get("/instances").status_code == 200
    for answer in (
        script.get("/me/tokens"),
        script.patch("/me", {"name": "Eve"}),
        script.delete("/me", {"password": PASSWORD}),
    ):
        assert code(answer) == (403, "not-allowed")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"label": "", "rights": ["all"]}, "label"),
        ({"label": "x", "rights": []}, "rights"),
        ({"label": "x", "rights": ["root"]}, "rights"),
        ({"label": "x", "rights": ["sensors"]}, "rights"),
        ({"label": "x", "rights": ["all", "places"]}, "rights"),
        ({"label": "x", "rights": ["all"], "expires": "2001-01-01T00:00:00Z"}, "expires"),
        ({"label": "x", "rights": ["all"], "expires": "soon"}, "expires"),
    ],
)
def test_a_token_that_cannot_be_is_refused(anna: Browser, body: object, path: str) -> None:
    answer = anna.post("/me/tokens", body)
    assert code(answer) == (422, "invalid")
    assert answer.json["errors"][0]["path"] == path


# --- Admins -------------------------------------------------------------------------------------


def test_admins_change_roles_and_what_they_did_is_kept_and_undone(
    admin: Browser, anna: Browser
) -> None:
    answer = admin.patch(f"/accounts/{anna.user}", {"roles": ["developer"]})
    assert answer.json["roles"] == ["developer", "user"]
    assert anna.get("/traces").status_code == 200
    action = admin.get("/audit").json["actions"][0]
    assert (action["action"], action["target"]) == ("account.changed", anna.user)
    assert (action["actor"], action["undoable"]) == ({"id": admin.user, "name": "Ada"}, True)
    undone = admin.post(f"/audit/{action['id']}/undo")
    assert (undone.status_code, undone.json["undoes"]) == (200, action["id"])
    assert anna.get("/traces").status_code == 403
    assert code(admin.post(f"/audit/{action['id']}/undo")) == (409, "not-undoable")
    assert admin.post("/audit/9999/undo").status_code == 404


def test_undoing_leaves_what_was_done_since(app: Flask, admin: Browser, anna: Browser) -> None:
    account = f"/accounts/{anna.user}"
    admin.patch(account, {"roles": ["host"]})
    given = f"/audit/{admin.get('/audit').json['actions'][0]['id']}/undo"
    admin.patch(account, {"disabled": True})
    admin.patch(account, {"roles": ["developer"]})
    assert code(admin.post(given)) == (409, "not-undoable")
    admin.patch(account, {"roles": ["host"]})
    assert admin.post(given).json["after"]["roles"] == ["user"]
    shown = admin.get("/accounts").json["accounts"]
    [now] = [(each["roles"], each["disabled"]) for each in shown if each["id"] == anna.user]
    assert now[0] == ["user"]
    assert now[1] is not None, "still shut out"


def test_who_is_no_developer_any_more_reads_no_test_person(
    app: Flask, admin: Browser, anna: Browser, engine: Engine
) -> None:
    """Also where another process took the role: then it is looked for now and then."""
    readers = {Reader("alice", anna.user), Reader(anna.user, anna.user), Reader()}
    admin.patch(f"/accounts/{anna.user}", {"roles": ["developer"]})
    with engine.connect() as connection:
        assert unentitled(connection, readers) == set()
    stream = app.extensions["citywise"].hub.subscribe(print, reader=Reader("alice", anna.user))
    admin.patch(f"/accounts/{anna.user}", {"roles": ["user"]})
    assert stream.is_closed()
    with engine.connect() as connection:
        assert unentitled(connection, readers) == {Reader("alice", anna.user)}


def test_undoing_that_somebody_was_let_in_ends_their_streams(
    app: Flask, admin: Browser, anna: Browser
) -> None:
    admin.patch(f"/accounts/{anna.user}", {"disabled": True})
    admin.patch(f"/accounts/{anna.user}", {"disabled": False})
    stream = app.extensions["citywise"].hub.subscribe(print, reader=Reader(account=anna.user))
    admin.post(f"/audit/{admin.get('/audit').json['actions'][0]['id']}/undo")
    assert stream.is_closed()


def test_who_is_shut_out_is_out_at_once_and_can_be_let_in_again(
    app: Flask, admin: Browser, anna: Browser
) -> None:
    assert admin.patch(f"/accounts/{anna.user}", {"disabled": True}).json["disabled"] is not None
    assert anna.get("/me").json["user"] is None
    assert Browser.of(app).log_in("Anna").status_code == 401
    assert admin.patch(f"/accounts/{anna.user}", {"disabled": False}).json["disabled"] is None
    assert Browser.of(app, "Anna").user == anna.user


def test_the_last_admin_stays(admin: Browser) -> None:
    assert admin.patch(f"/accounts/{admin.user}", {"roles": ["user"]}).status_code == 422
    assert admin.patch(f"/accounts/{admin.user}", {"disabled": True}).status_code == 422


def test_accounts_are_listed_by_pages(admin: Browser, anna: Browser) -> None:
    first = admin.get("/accounts?limit=1").json
    second = admin.get(f"/accounts?limit=1&cursor={first['next']}").json
    assert [first["accounts"][0]["id"], second["accounts"][0]["id"]] == [admin.user, anna.user]
    assert second["next"] is None
    assert set(first["accounts"][0]) == {"id", "name", "roles", "created", "disabled"}


def test_an_invitation_can_be_withdrawn(app: Flask, admin: Browser) -> None:
    made = admin.post("/invitations", {"roles": ["host"], "hours": 1})
    assert made.status_code == 201
    assert made.json["url"].endswith(f"/sign-up?invitation={made.json['invitation']}")
    action = admin.get("/audit").json["actions"][0]
    assert made.json["invitation"] not in str(action)
    assert admin.post(f"/audit/{action['id']}/undo").status_code == 200
    assert Browser.of(app).sign_up("Bo", invitation=made.json["invitation"]).status_code == 422
