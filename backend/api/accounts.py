"""Accounts over HTTP: signing up, logging in and out; and, for admins, who there is."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request
from pydantic import Field
from sqlalchemy import Connection, delete

from citywise.backend.api import (
    access,
    hashing,
    identity,
    limits,
    parameters,
    presence,
    second_step,
    sign_in,
)
from citywise.backend.api.answers import as_json
from citywise.backend.api.faults_of_people import as_problems
from citywise.backend.api.instance_bodies import StrictBody
from citywise.backend.api.problems import ProblemError, bad_parameter, not_found
from citywise.backend.api.second_step import Proof
from citywise.backend.api.state import state
from citywise.backend.people import (
    accounts,
    administration,
    audit,
    first_admin,
    invitations,
    logins,
)
from citywise.backend.people.accounts import Account
from citywise.backend.people.secret import digest
from citywise.backend.store.models import InvitationRow
from citywise.backend.times import iso, iso_or_none, wall_ms

blueprint = Blueprint("accounts", __name__)


class Credentials(StrictBody):
    """Who logs in."""

    name: str = Field(max_length=200)
    password: str = Field(max_length=1000)


class LogIn(Credentials, Proof):
    """Who logs in, with the second step of who has one."""


class SignUp(Credentials):
    """Who wants an account; `invitation` is the secret of one."""

    invitation: str | None = Field(default=None, max_length=200)


class ChangedAccount(StrictBody):
    """What an admin changes of an account; what is absent stays."""

    roles: list[str] | None = Field(default=None, max_length=10)
    disabled: bool | None = None


class NewInvitation(StrictBody):
    """What whoever is invited may be, and for how many hours they may come."""

    roles: list[str] = Field(default=["user"], max_length=10)
    hours: float = Field(default=invitations.HOURS, gt=0, le=24 * 90)


# --- Coming and going -----------------------------------------------------------------------------


@blueprint.post("/accounts")
@access.door
def sign_up() -> Response:
    """A new account, logged in at once."""
    parameters.only()
    body = parameters.body(SignUp)
    refuse_password()
    limits.spend("sign-up", limits.address())
    _refuse_uninvited(body.invitation)
    # Who waits for a hash holds no lock: nobody else could write, nor this one go on.
    with hashing.turn(), as_problems():
        kept = hashing.apart(lambda: accounts.hashed(body.name, body.password))
    with as_problems(), state().engine.begin() as connection:
        roles = _roles_of_new(connection, body.invitation)
        account = accounts.create_hashed(connection, body.name, kept, roles)
        return welcome(connection, account, 201)


@blueprint.post("/login")
@access.door
def log_in() -> Response:
    """Log a browser in; a login that it had is over."""
    parameters.only()
    body = parameters.body(LogIn)
    refuse_password()
    limits.refuse_guesser(body.name)
    with hashing.turn(), state().engine.connect() as connection:
        proof = hashing.apart(lambda: accounts.proven(connection, body.name, body.password))
    if proof is None:
        limits.note_guess(body.name)
        raise _wrong_login()
    with second_step.judging(proof.account, body):
        with state().engine.begin() as connection:
            account = accounts.admit(connection, proof)
            if account is None:
                raise _wrong_login()
            if not account.has_two_factor or second_step.is_right(connection, account.id, body):
                return welcome(connection, account, 200)
            asked = second_step.question(connection, account.id)
        raise second_step.refused(account.id, body, asked)


@blueprint.delete("/login")
@access.own_rights
def log_out() -> Response:
    """End this browser's login; `leave` is where it is ended at the provider, too."""
    parameters.only()
    login = identity.person().login
    if login is None:
        raise ProblemError(
            409, "no-login", "No login", "the demo's user is there without one, and cannot leave"
        )
    with state().engine.begin() as connection:
        logins.close(connection, login.account, login.id)
    state().end_streams(login=login.id)
    leave = sign_in.way_out(login)
    answer = Response(status=204) if leave is None else as_json({"leave": leave})
    identity.forget(answer)
    return answer


def welcome(connection: Connection, account: Account, status: int) -> Response:
    """Log a browser in under a secret it has never had (no session fixation)."""
    if (before := request.cookies.get(identity.cookie_name())) is not None:
        found = logins.find_login(connection, before)
        if found is not None:
            logins.close(connection, found[1].id, found[0].id)
    hours = state().settings.people.login_hours
    login, secret = logins.open_login(
        connection, account.id, hours, request.headers.get("User-Agent", "")
    )
    principal = identity.logged_in(account, login)
    answer = as_json(presence.shown(principal), status)
    identity.remember(answer, secret, hours)
    return answer


def refuse_password() -> None:
    """A problem where people log in at a provider of identities alone."""
    if not state().settings.sign_in.passwords:
        detail = "people log in at the provider of identities here; open the page /log-in"
        raise ProblemError(403, "no-passwords", "No passwords", detail)


def _wrong_login() -> ProblemError:
    detail = "name or password is wrong, or the account is shut; try again"
    return ProblemError(401, "wrong-login", "Wrong name or password", detail)


def _refuse_uninvited(invitation: str | None) -> None:
    """A problem where nobody may sign up, or nobody without an invitation."""
    how = state().settings.people.sign_up
    if how == "closed":
        raise ProblemError(
            403,
            "sign-up-closed",
            "Sign-up closed",
            "nobody can sign up here; ask who runs this for an account (`citywise user add`)",
        )
    if how == "invited" and invitation is None:
        raise ProblemError(
            403, "invitation-needed", "Invitation needed", "ask an admin here for an invitation"
        )


def _roles_of_new(connection: Connection, invitation: str | None) -> list[str]:
    """What whoever signs up may be; an invitation is used up."""
    if invitation is None:
        return ["user"]
    first_admin.close(connection)
    return invitations.take(connection, invitation)


# --- For admins -----------------------------------------------------------------------------------


@blueprint.get("/accounts")
@access.role("admin")
def list_accounts() -> Response:
    """All accounts, oldest first."""
    parameters.only("limit", "cursor")
    limit = parameters.integer("limit", 100, 1, 1000) or 100
    cursor = parameters.identifier("cursor")
    with state().engine.connect() as connection:
        there = accounts.listed(connection)
    ids = [account.id for account in there]
    if cursor is not None and cursor not in ids:
        raise bad_parameter("cursor", f"{cursor!r} is not a cursor given as `next` before")
    begin = 0 if cursor is None else ids.index(cursor) + 1
    page = there[begin : begin + limit]
    following = page[-1].id if begin + limit < len(there) else None
    return as_json({"accounts": list(map(_account_json, page)), "next": following})


@blueprint.patch("/accounts/<account_id>")
@access.role("admin", device=False)
def change_account(account_id: str) -> Response:
    """Change somebody's roles, shut them out, or let them in again."""
    parameters.only()
    body = parameters.body(ChangedAccount)
    with as_problems(), state().engine.begin() as connection:
        found, actor = _required_account(connection, account_id), identity.own_id()
        after = administration.change(
            connection, actor, found.id, roles=body.roles, disabled=body.disabled
        )
    state().end_streams(user=account_id)  # They come back with the rights of now.
    state().tell_broker()
    return as_json(_account_json(after))


@blueprint.post("/invitations")
@access.role("admin", device=False)
def invite() -> Response:
    """A new invitation; its secret is shown this once."""
    parameters.only()
    body = parameters.body(NewInvitation)
    with as_problems(), state().engine.begin() as connection:
        secret = invitations.issue(connection, body.roles, body.hours)
        actor, after = identity.own_id(), {"roles": body.roles, "hours": body.hours}
        audit.record(connection, actor, "invitation.issued", digest(secret), None, after)
    expires = iso(wall_ms() + round(body.hours * 3_600_000))
    root = state().origin()
    url = f"{root}/sign-up?invitation={secret}"
    made = {"invitation": secret, "url": url, "roles": body.roles, "expires": expires}
    return as_json(made, 201)


@audit.undoable("invitation.issued")
def _withdraw(connection: Connection, action: audit.Action) -> None:
    gone = delete(InvitationRow).where(InvitationRow.id == action.target)
    if not connection.execute(gone).rowcount:
        raise audit.NotUndoableError("id", "the invitation has been used or is over")


def _required_account(connection: Connection, account_id: str) -> Account:
    found = accounts.find(connection, account_id)
    if found is None:
        raise not_found(f"account {account_id!r}")
    return found


def _account_json(account: Account) -> dict[str, Any]:
    return {
        "id": account.id,
        "name": account.name,
        "roles": sorted(account.roles),
        "created": iso(account.created_ms),
        "disabled": iso_or_none(account.disabled_ms),
    }
