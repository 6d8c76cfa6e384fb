"""Accounts, logins, tokens and invitations."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest
from argon2 import PasswordHasher
from pydantic import ValidationError
from sqlalchemy import Connection, select, update

from citywise.backend.people import (
    accounts,
    administration,
    audit,
    consents,
    ids,
    invitations,
    logins,
    names,
    passwords,
    tokens,
)
from citywise.backend.people.errors import NameTakenError, PeopleError, UnknownAccountError
from citywise.backend.people.principal import NOBODY, Principal
from citywise.backend.people.secret import broker_hash
from citywise.backend.settings import People, Settings, Web
from citywise.backend.store.models import AccountRow, LoginRow, TokenRow
from citywise.backend.times import wall_ms

WORDS = "three words suffice"


# --- Names and passwords -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Åse Holm", "o'brien", "al", "søren.k-2", "Ελένη", "小林", "x_y"])
def test_names_of_people_are_accepted(name: str) -> None:
    assert names.checked(f"  {name} ") == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a",
        " ",
        "x" * 41,
        "-al",
        "al-",
        "a<b>c",
        'a"b',
        "a/b",
        "a\nb\x00",
        "аdmin",
        "a,b",
        "@al",
        "\u3164\u3164",
        "\u200b\u200b",
    ],
)
def test_what_could_be_mistaken_or_break_something_is_no_name(name: str) -> None:
    with pytest.raises(PeopleError):
        names.checked(name)


def test_two_names_that_look_alike_are_one(connection: Connection) -> None:
    accounts.create(connection, "Åse Holm", WORDS)
    for same in ("åse holm", "ÅSE HOLM", "A\u030ase  Holm", "åseholm"):
        with pytest.raises(NameTakenError):
            accounts.create(connection, same, WORDS)


@pytest.mark.parametrize(
    "password", ["short", "x" * 201, "password123", "aaaaaaaaaaaa", "alicealice"]
)
def test_a_password_that_is_easily_guessed_is_refused(
    connection: Connection, password: str
) -> None:
    with pytest.raises(PeopleError, match=r"expected 10 to 200|easily guessed"):
        accounts.create(connection, "alice", password)


def test_the_database_holds_an_argon2_hash_and_no_password(connection: Connection) -> None:
    accounts.create(connection, "alice", WORDS)
    kept = connection.scalar(select(AccountRow.password))
    assert kept is not None
    assert kept.startswith("$argon2id$")
    assert WORDS not in kept


def test_only_the_right_password_logs_in(connection: Connection) -> None:
    made = accounts.create(connection, "Alice", WORDS)
    assert accounts.log_in(connection, "aLICE", WORDS) == made
    assert accounts.log_in(connection, "Alice", WORDS + ".") is None
    assert accounts.log_in(connection, "Alic", WORDS) is None
    assert accounts.log_in(connection, "nobody", "") is None


def test_nobody_logs_in_to_the_demo_account_or_a_disabled_one(connection: Connection) -> None:
    accounts.ensure_demo(connection)
    made = accounts.create(connection, "alice", WORDS)
    accounts.disable(connection, made.id, disabled=True)
    assert accounts.log_in(connection, "demo", "") is None
    assert accounts.log_in(connection, "alice", WORDS) is None


def test_a_hash_with_old_parameters_is_renewed_at_log_in(connection: Connection) -> None:
    made = accounts.create(connection, "alice", WORDS)
    old = connection.scalar(select(AccountRow.password))
    passwords.use(PasswordHasher(time_cost=2, memory_cost=8, parallelism=1))
    assert accounts.log_in(connection, "alice", WORDS) == made
    assert connection.scalar(select(AccountRow.password)) != old
    assert accounts.log_in(connection, "alice", WORDS) == made


# --- Roles -----------------------------------------------------------------------------------


def test_the_last_admin_stays(connection: Connection) -> None:
    accounts.ensure_demo(connection)
    first = accounts.create(connection, "first", WORDS, ["admin"])
    with pytest.raises(PeopleError, match="last admin"):
        accounts.change_roles(connection, first.id, ["user"])
    with pytest.raises(PeopleError, match="last admin"):
        accounts.disable(connection, first.id, disabled=True)
    second = accounts.create(connection, "second", WORDS, ["admin"])
    accounts.change_roles(connection, first.id, ["host"])
    assert accounts.known(connection, "FIRST").roles == {"user", "host"}
    with pytest.raises(PeopleError, match="last admin"):
        accounts.disable(connection, second.id, disabled=True)


def test_unknown_roles_and_accounts_are_named(connection: Connection) -> None:
    with pytest.raises(PeopleError, match="`root` is not one of user, host"):
        accounts.create(connection, "alice", WORDS, ["root"])
    with pytest.raises(UnknownAccountError, match="`bob`"):
        accounts.known(connection, "bob")
    with pytest.raises(UnknownAccountError):
        accounts.rename(connection, ids.new_id(), "bob")


def test_gone_are_ids_of_accounts_that_there_are_not(connection: Connection) -> None:
    there, never = accounts.create(connection, "alice", WORDS).id, ids.new_id()
    assert accounts.gone(connection, {there, never, "alice", "citypulse-" + 32 * "a"}) == {never}


# --- Who may act for whom --------------------------------------------------------------------


def test_nobody_acts_for_another_account() -> None:
    own, other = ids.new_id(), ids.new_id()
    everything = frozenset(accounts.ROLES)
    admin = Principal(own, "a", everything, "login", frozenset({"all"}))
    user = Principal(own, "a", frozenset({"user"}), "login", frozenset({"all"}))
    assert admin.may_act_for(own)
    assert not admin.may_act_for(other)
    assert not admin.may_act_for(ids.DEMO)
    assert admin.may_act_for("alice")
    assert not user.may_act_for("alice")
    assert not NOBODY.may_act_for("alice")
    assert NOBODY.may_act_for("citypulse-" + 32 * "0")


def test_ids_tell_accounts_sessions_and_test_persons_apart() -> None:
    assert all(ids.is_account(ids.new_id()) for _ in range(100))
    assert not ids.is_test_person(ids.new_id())
    assert ids.is_test_person("u-alice")
    assert not ids.is_test_person("citypulse-" + 32 * "0")
    assert not ids.is_test_person(ids.DEMO)
    assert not ids.is_test_person(ids.channel("some_app", "room-1"))
    for owner in (ids.new_id(), ids.DEMO, "citypulse-" + 32 * "0"):
        assert not ids.is_test_person(f"{owner}.x"), "somebody's namespace"
        assert ids.namespace_of(f"{owner}.x.y") == owner
    assert ids.namespace_of("alice.x") == "alice.x"


def test_a_channel_is_of_one_app_and_no_longer_than_an_id() -> None:
    assert ids.of_channel(ids.channel("some_app", "room/1")) == ("some_app", "room/1")
    assert [ids.of_channel(one) for one in ("alice", "/x", "App/x", ids.DEMO)] == [None] * 4
    with pytest.raises(ValueError, match="has 73 characters, at most are 64"):
        ids.channel("some_app", "x" * 64)


# --- Logins ----------------------------------------------------------------------------------


def test_a_login_ends_with_its_time_its_account_or_by_being_closed(connection: Connection) -> None:
    alice = accounts.create(connection, "alice", WORDS)
    login, secret = logins.open_login(connection, alice.id, hours=1)
    assert logins.find_login(connection, secret) == (login, alice)
    assert secret not in str(connection.execute(select(LoginRow.__table__)).all())
    assert logins.find_login(connection, secret + "x") is None
    assert not logins.close(connection, "somebody", login.id)
    accounts.disable(connection, alice.id, disabled=True)
    assert logins.find_login(connection, secret) is None
    accounts.disable(connection, alice.id, disabled=False)
    connection.execute(update(LoginRow).values(expires_ms=wall_ms()))
    assert logins.find_login(connection, secret) is None


def test_all_logins_but_one_are_closed(connection: Connection) -> None:
    alice = accounts.create(connection, "alice", WORDS).id
    opened = [logins.open_login(connection, alice, hours=1)[0] for _ in range(3)]
    logins.close_all(connection, alice, but=opened[1].id)
    assert logins.of(connection, alice) == [opened[1]]


# --- Tokens ----------------------------------------------------------------------------------


def test_a_token_is_known_by_its_secret_until_it_is_revoked(connection: Connection) -> None:
    alice = accounts.create(connection, "alice", WORDS)
    token, secret = tokens.issue(connection, alice.id, " My  phone ", ["context"])
    assert tokens.find_token(connection, f"{token.id}.{secret}") == (token, alice)
    assert token.label == "My phone"
    for wrong in (f"{token.id}.{secret}x", token.id, "", f".{secret}", f"{token.id}."):
        assert tokens.find_token(connection, wrong) is None
    assert not tokens.revoke(connection, "somebody", token.id)
    assert tokens.revoke(connection, alice.id, token.id)
    assert tokens.find_token(connection, f"{token.id}.{secret}") is None


def test_a_token_that_has_expired_lets_nobody_in(connection: Connection) -> None:
    alice = accounts.create(connection, "alice", WORDS)
    token, secret = tokens.issue(connection, alice.id, "x", ["all"], expires_ms=wall_ms())
    assert tokens.find_token(connection, f"{token.id}.{secret}") is None
    assert tokens.valid(connection) == []
    connection.execute(update(TokenRow).values(expires_ms=None))
    assert [found.id for found, _ in tokens.valid(connection)] == [token.id]
    accounts.disable(connection, alice.id, disabled=True)
    assert tokens.valid(connection) == []


def test_the_broker_can_check_a_secret_with_pbkdf2() -> None:
    _, kind, rounds, salt, key = broker_hash("secret").split("$")
    given = hashlib.pbkdf2_hmac("sha512", b"secret", base64.b64decode(salt), int(rounds))
    assert (kind, given) == ("7", base64.b64decode(key))


@pytest.mark.parametrize("right", ["sensors", "places"])
def test_a_right_to_the_city_lasts_as_long_as_the_role(connection: Connection, right: str) -> None:
    boss = accounts.create(connection, "boss", WORDS, ["admin"])
    accounts.create(connection, "other", WORDS, ["admin"])
    only, _ = tokens.issue(connection, boss.id, "detector", [right])
    both, _ = tokens.issue(connection, boss.id, "phone", [right, "notices"])
    assert {found.id for found, _ in tokens.valid(connection)} == {only.id, both.id}
    accounts.change_roles(connection, boss.id, [])
    ((left, _),) = tokens.valid(connection)
    assert left.id == both.id
    assert left.rights == {"notices"}


@pytest.mark.parametrize(
    ("label", "rights"), [("", ["all"]), ("x\x00", ["all"]), ("x", []), ("x", ["root"])]
)
def test_a_token_needs_a_label_and_known_rights(
    connection: Connection, label: str, rights: list[str]
) -> None:
    with pytest.raises(PeopleError):
        tokens.issue(connection, "u", label, rights)


# --- Invitations -----------------------------------------------------------------------------


def test_an_invitation_is_used_once_and_in_time(connection: Connection) -> None:
    secret = invitations.issue(connection, ["host"])
    assert invitations.take(connection, secret) == ["user", "host"]
    with pytest.raises(PeopleError, match="used or is over"):
        invitations.take(connection, secret)
    late = invitations.issue(connection, hours=0)
    with pytest.raises(PeopleError, match="used or is over"):
        invitations.take(connection, late)


# --- Consents --------------------------------------------------------------------------------


def test_nothing_is_consented_to_until_it_is(connection: Connection) -> None:
    alice = accounts.create(connection, "alice", WORDS).id
    assert consents.refused(connection, alice, consents.SUBJECTS) == list(consents.SUBJECTS)
    consents.write(connection, alice, "route", given=True, hours=2)
    assert consents.refused(connection, alice, ["position", "route"]) == ["position"]
    assert consents.own_hours(connection) == {(alice, "route"): 2}
    consents.write(connection, alice, "route", given=False)
    assert consents.refused(connection, alice, ["route"]) == ["route"]
    assert [found.given for found in consents.of(connection, alice)] == [False] * 4


def test_test_persons_and_sessions_need_no_consent_and_who_is_gone_gives_none(
    connection: Connection,
) -> None:
    for user in ("alice", "citypulse-" + 32 * "0"):
        assert consents.refused(connection, user, ["position"]) == []
    assert consents.refused(connection, ids.new_id(), ["position"]) == ["position"]


# --- Audit -----------------------------------------------------------------------------------


def test_an_action_is_undone_once_and_the_undoing_is_noted(connection: Connection) -> None:
    brought_back = []

    @audit.undoable("test.done")
    def _undo(_: Connection, action: audit.Action) -> None:
        brought_back.append(action.before)

    done = audit.record(connection, "u-1", "test.done", "x", {"n": 1}, {"n": 2})
    undone = audit.undo(connection, done, "u-2")
    assert brought_back == [{"n": 1}]
    assert (undone.undoes, undone.actor, undone.after) == (done, "u-2", {"n": 1})
    for identity in (done, undone.id, 10**6, audit.record(connection, "u-1", "test.sent", "x")):
        with pytest.raises(audit.NotUndoableError):
            audit.undo(connection, identity, "u-2")
    assert brought_back == [{"n": 1}]


def test_a_consent_that_is_given_again_keeps_its_hours(connection: Connection) -> None:
    alice = accounts.create(connection, "alice", WORDS).id
    consents.write(connection, alice, "route", given=True, hours=1)
    consents.write(connection, alice, "route", given=False)
    consents.write(connection, alice, "route", given=True)
    assert consents.own_hours(connection) == {(alice, "route"): 1}
    consents.write(connection, alice, "route", given=True, hours=None)
    assert consents.own_hours(connection) == {}


def test_a_change_is_undone_only_if_nothing_was_changed_since(connection: Connection) -> None:
    alice = accounts.create(connection, "alice", WORDS).id
    administration.change(connection, "u-1", alice, roles=["host"])
    administration.change(connection, "u-1", alice, roles=["host"])  # changes nothing
    administration.change(connection, "u-1", alice, disabled=True)
    administration.change(connection, "u-1", alice, roles=["developer"])
    developer, shut, host = audit.listed(connection, 10)
    with pytest.raises(audit.NotUndoableError, match="roles of the account were changed again"):
        audit.undo(connection, host.id, "u-2")
    audit.undo(connection, shut.id, "u-2")
    audit.undo(connection, developer.id, "u-2")
    found = accounts.known(connection, alice)
    assert found.disabled_ms is None
    assert found.roles == {"user", "host"}


# --- Settings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("web", "named"),
    [
        ({"host": "0.0.0.0"}, r"web\.host is 0\.0\.0\.0"),
        ({"public_url": "https://city.example"}, r"web\.public_url"),
        ({"trusted_proxies": 1}, r"web\.trusted_proxies"),
    ],
    ids=["address", "address of a proxy", "proxy"],
)
def test_the_demo_user_stays_on_this_machine(web: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        Settings(web=Web(**web), people=People(demo_user=True))
    assert Settings(web=Web(**web)).people.demo_user is False
