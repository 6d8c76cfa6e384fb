"""What is one's own: the account, its consents, logins and tokens; taking it along and being
forgotten."""

from __future__ import annotations

from typing import Any, Literal

from flask import Blueprint, Response
from pydantic import Field, StrictBool

from citywise.backend.api import (
    access,
    hashing,
    identity,
    limits,
    parameters,
    presence,
)
from citywise.backend.api.answers import as_json
from citywise.backend.api.aside import aside
from citywise.backend.api.context import UNREADABLE
from citywise.backend.api.faults_of_people import as_problems
from citywise.backend.api.instance_bodies import StrictBody
from citywise.backend.api.problems import ProblemError, fault, invalid, log_unreadable, not_found
from citywise.backend.api.state import state
from citywise.backend.people import accounts, audit, consents, logins, tokens
from citywise.backend.people.consents import Consent
from citywise.backend.people.logins import Login
from citywise.backend.people.scopes import Scope
from citywise.backend.people.tokens import Token
from citywise.backend.privacy import consenting, export, forgetting
from citywise.backend.times import iso, iso_or_none, parse_ms, wall_ms

_FRESH_MS = 15 * 60_000
blueprint = Blueprint("me", __name__)


class ChangedMe(StrictBody):
    """A new name, a new password, or both; a new password needs the old one.

    `devices`: with a new password, whether tokens go on (`keep`, as who merely likes another
    password expects) or end too (`end`, for who fears that somebody else had the old one).
    """

    name: str | None = Field(default=None, max_length=200)
    password: str | None = Field(default=None, max_length=1000)
    old: str | None = Field(default=None, max_length=1000)
    devices: Literal["keep", "end"] = "keep"


class ForgetMe(StrictBody):
    """That one means it: the password, or for the demo's user, who has none, the words."""

    password: str | None = Field(default=None, max_length=1000)
    confirm: Literal["forget me"] | None = None


class ChangedConsent(StrictBody):
    """Whether a kind of context may be used, and for how many hours it is kept without word;
    null: as long as the system keeps it; absent: as it was."""

    given: StrictBool
    hours: float | None = Field(default=None, allow_inf_nan=False)


class NewToken(StrictBody):
    """A token for a device: what it is called, what it may, and until when."""

    label: str = Field(max_length=200)
    rights: list[str] = Field(max_length=10)
    expires: str | None = Field(default=None, max_length=40)
    scope: dict[str, Any] | None = None


# --- The account ----------------------------------------------------------------------------------


@blueprint.get("/me")
@access.door
def show_me() -> Response:
    """Who asks; `user` is null for nobody."""
    parameters.only()
    return as_json(presence.shown(identity.principal()))


@blueprint.patch("/me")
@access.own_rights
def change_me() -> Response:
    """Change the name or the password; a new password ends all other logins, and tokens if
    it is said so."""
    parameters.only()
    body = parameters.body(ChangedMe)
    asker, user = identity.person(), identity.own_id()
    if body.devices == "end" and body.password is None:
        raise invalid([{"path": "devices", "message": "end with a new password only"}])
    if body.password is not None and not _came_by_provider(user):
        prove(body.old, "old")
    if body.name is not None:
        limits.spend("sign-up", f"user {user}")  # Each tells whether a name is taken.
    kept = _hashed(user, body)
    with as_problems(), state().engine.begin() as connection:
        if body.name is not None:
            accounts.rename(connection, user, body.name)
        if kept is not None:
            accounts.keep(connection, user, kept)
            logins.close_all(connection, user, but=asker.login.id if asker.login else None)
            if body.devices == "end":
                tokens.revoke_all(connection, user)
        account = accounts.known(connection, user)
    if body.password is not None:
        state().end_streams(user=user)  # Those that still may come back by themselves.
        state().tell_broker()
    shown = presence.shown(asker)
    return as_json({**shown, "name": account.name})


@blueprint.delete("/me")
@access.own_rights
def forget_me() -> Response:
    """Forget the account and all that is its own."""
    parameters.only()
    body = parameters.body(ForgetMe)
    user = identity.own_id()
    if identity.person().means == "demo" or _came_by_provider(user):
        if body.confirm is None:
            raise invalid([{"path": "confirm", "message": 'send "forget me"'}])
    else:
        prove(body.password, "password")
    city = state()
    forgetting.forget(city.engine, city.settings, user)
    state().end_streams(user=user)
    answer = as_json({"user": user, "forgotten": True}, status=202)
    identity.forget(answer)
    return answer


@blueprint.get("/me/export")
@access.own_rights
@limits.counted("expensive")
def export_me() -> Response:
    """All that is known of who asks, as a file to take along."""
    parameters.only()
    city, user = state(), identity.own_id()
    try:
        with city.engine.connect() as connection:
            found = aside(lambda: export.everything(connection, city.settings, user))
    except UNREADABLE as error:
        raise log_unreadable(error) from None
    answer = as_json(found)
    answer.headers["Content-Disposition"] = 'attachment; filename="citywise.json"'
    return answer


def _hashed(user: str, body: ChangedMe) -> str | None:
    """What is kept of the password that an account is to have, if it is to have another; before
    the transaction: who waits for a hash holds no lock."""
    password = body.password
    if password is None:
        return None
    with hashing.turn(), as_problems(), state().engine.connect() as connection:
        name = body.name or accounts.known(connection, user).name
        return hashing.apart(lambda: accounts.hashed(name, password))


def _came_by_provider(user: str) -> bool:
    """Whether who asks has just shown to a provider of identities who they are: it stands for
    the password of an account that has none. Raises a 401 where that was long ago."""
    with state().engine.connect() as connection:
        account = accounts.find(connection, user)
    login = identity.person().login
    if account is None or account.has_password or login is None or not login.issuer:
        return False
    if wall_ms() - login.created_ms > _FRESH_MS:
        detail = "log in again at the provider, and then do it within 15 minutes"
        raise ProblemError(401, "stale-login", "Log in again", detail)
    return True


def prove(password: str | None, field: str) -> None:
    """A problem unless a password is that of who asks; guesses are counted."""
    user = identity.own_id()
    limits.spend("log-in", f"user {user}")
    with hashing.turn(), state().engine.connect() as connection:
        if password and hashing.apart(lambda: accounts.has_password(connection, user, password)):
            return
    raise invalid([fault(field, "this is not your password", "wrong-password")])


# --- Consents -------------------------------------------------------------------------------------


@blueprint.get("/me/consents")
@access.own_rights
def list_consents() -> Response:
    """Which kinds of context may be used; `hours` is how long others are kept."""
    parameters.only()
    with state().engine.connect() as connection:
        found = [_consent(each) for each in consents.of(connection, identity.own_id())]
    return as_json({"consents": found, "hours": state().settings.ingest.context_hours})


@blueprint.put("/me/consents/<subject>")
@access.own_rights
def put_consent(subject: str) -> Response:
    """Give or withdraw consent; what was told is removed with it."""
    parameters.only()
    if subject not in consents.SUBJECTS:
        raise not_found(f"kind of context {subject!r}")
    body, user = parameters.body(ChangedConsent), identity.own_id()
    longest = state().settings.ingest.context_hours
    if body.hours is not None and body.hours > longest:
        message = f"expected at most {longest:g}: nothing is kept longer here"
        raise invalid([{"path": "hours", "message": message}])
    changed = body.model_dump(exclude_unset=True)
    with as_problems(), state().engine.begin() as connection:
        consenting.change(connection, state().settings, user, subject, **changed)
        there = {each.subject: each for each in consents.of(connection, user)}
    return as_json(_consent(there[subject]))


# --- Logins and tokens ----------------------------------------------------------------------------


@blueprint.get("/me/logins")
@access.own_rights
def list_logins() -> Response:
    """The browsers that are logged in, the last used first."""
    parameters.only()
    with state().engine.connect() as connection:
        found = logins.of(connection, identity.own_id())
    return as_json({"logins": list(map(_login, found))})


@blueprint.delete("/me/logins")
@access.own_rights
def close_others() -> Response:
    """Log all other browsers out."""
    parameters.only()
    asker, user = identity.person(), identity.own_id()
    mine = asker.login.id if asker.login else None
    with state().engine.begin() as connection:
        others = [login.id for login in logins.of(connection, user) if login.id != mine]
        logins.close_all(connection, user, but=mine)
    for login in others:
        state().end_streams(login=login)
    return as_json({"ended": len(others)})


@blueprint.delete("/me/logins/<login_id>")
@access.own_rights
def close_login(login_id: str) -> Response:
    """Log a browser out."""
    parameters.only()
    with state().engine.begin() as connection:
        if not logins.close(connection, identity.own_id(), login_id):
            raise not_found(f"login {login_id!r}")
    state().end_streams(login=login_id)
    return Response(status=204)


@blueprint.get("/me/tokens")
@access.own_rights
def list_tokens() -> Response:
    """The devices that have a token."""
    parameters.only()
    with state().engine.connect() as connection:
        found = tokens.of(connection, identity.own_id())
    return as_json({"tokens": list(map(_token, found)), "broker": _broker()})


@blueprint.post("/me/tokens")
@access.own_rights
def create_token() -> Response:
    """A new token; its secret is shown this once."""
    parameters.only()
    body, asker, user = parameters.body(NewToken), identity.person(), identity.own_id()
    if (of_city := sorted(tokens.OF_CITY & set(body.rights))) and not asker.has("admin"):
        message = f"only an admin gives the right `{of_city[0]}`"
        raise invalid([{"path": "rights", "message": message}])
    expires = _expiry(body.expires)
    with as_problems(), state().engine.begin() as connection:
        scope = Scope.of(body.scope)
        token, secret = tokens.issue(connection, user, body.label, body.rights, expires, scope)
        if tokens.OF_CITY & token.rights:
            after = {"label": token.label, "rights": sorted(token.rights), **_scope(token)}
            audit.record(connection, user, "token.issued", token.id, None, after)
    state().tell_broker()
    bearer = f"{token.id}.{secret}"
    return as_json({**_token(token), "secret": secret, "bearer": bearer, **_topics(token)}, 201)


@blueprint.delete("/me/tokens/<token_id>")
@access.own_rights
def revoke_token(token_id: str) -> Response:
    """Take a token back; its device is shut out at once."""
    parameters.only()
    with state().engine.begin() as connection:
        if not tokens.revoke(connection, identity.own_id(), token_id):
            raise not_found(f"token {token_id!r}")
    state().end_streams(device=token_id)
    state().tell_broker()
    return Response(status=204)


def _expiry(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        found = parse_ms(text)
    except ValueError:
        message = "expected a time in ISO 8601 with a zone, such as 2030-08-05T07:30:00Z"
        raise invalid([{"path": "expires", "message": message}]) from None
    if found <= wall_ms():
        raise invalid([{"path": "expires", "message": "lies in the past"}])
    return found


def _broker() -> dict[str, Any] | None:
    """Where devices connect over MQTT; without a host it is ours. None: nowhere."""
    broker = state().settings.broker
    if not broker.embedded:
        return {"host": broker.host, "port": broker.port, "tls": broker.tls}
    if not broker.devices_port:
        return None
    return {"host": None, "port": broker.devices_port, "tls": True}


def _topics(token: Token) -> dict[str, Any]:
    """Where the device reads and writes at the broker, as far as it may."""
    prefix, found = state().settings.broker.prefix, {}
    if token.rights & {"notices", "all"}:
        found["topic"] = f"{prefix}/notices/{token.account}/{token.id}"
    if token.rights & {"context", "all"}:
        found["context_topic"] = f"{prefix}/context/{token.account}"
    return found


# --- As they are shown ----------------------------------------------------------------------------


def _consent(consent: Consent) -> dict[str, Any]:
    since = iso_or_none(consent.since_ms)
    return {
        "subject": consent.subject,
        "given": consent.given,
        "since": since,
        "hours": consent.hours,
    }


def _login(login: Login) -> dict[str, Any]:
    mine = identity.person().login
    return {
        "id": login.id,
        "agent": login.agent,
        "created": iso(login.created_ms),
        "seen": iso(login.seen_ms),
        "expires": iso(login.expires_ms),
        "current": mine is not None and login.id == mine.id,
    }


def _token(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "label": token.label,
        "rights": [right for right in tokens.RIGHTS if right in token.rights],
        "created": iso(token.created_ms),
        "used": iso_or_none(token.used_ms),
        "expires": iso_or_none(token.expires_ms),
        **_scope(token),
    }


def _scope(token: Token) -> dict[str, Any]:
    return {"scope": token.scope.model_dump(mode="json")} if token.scope else {}
