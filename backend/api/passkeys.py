"""Passkeys over HTTP: making, listing, renaming and removing one's own, and logging in with one
alone."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response
from pydantic import Field, JsonValue
from sqlalchemy import Connection

from citywise.backend.api import (
    access,
    accounts,
    identity,
    limits,
    parameters,
    second_step,
)
from citywise.backend.api.answers import as_json
from citywise.backend.api.faults_of_people import as_problems
from citywise.backend.api.instance_bodies import StrictBody
from citywise.backend.api.problems import ProblemError, fault, invalid, not_found
from citywise.backend.api.second_step import CHALLENGES, Proof, Sure
from citywise.backend.api.state import state
from citywise.backend.people import logins, passkeys, two_factor
from citywise.backend.people.accounts import held, known
from citywise.backend.people.errors import PeopleError
from citywise.backend.people.passkeys import Passkey
from citywise.backend.times import iso, iso_or_none

blueprint = Blueprint("passkeys", __name__)
_ALONE = "log-in"


class Signed(StrictBody):
    """What a passkey has signed (`PublicKeyCredential.toJSON()`)."""

    passkey: dict[str, JsonValue]


class Name(StrictBody):
    """What a passkey is called."""

    name: str = Field(max_length=200)


class NewPasskey(Signed, Name):
    """A passkey that a browser has made, and what it is called."""


# -- logging in ---------------------------------------------------------------------------


@blueprint.get("/login/passkey")
@access.door
def ask() -> Response:
    """What a browser is asked to log in with a passkey, without name and password."""
    parameters.only()
    accounts.refuse_password()
    answer = as_json(passkeys.question(second_step.party(), CHALLENGES.new(_ALONE)))
    answer.headers["Cache-Control"] = "no-store"
    return answer


@blueprint.post("/login/passkey")
@access.door
def log_in() -> Response:
    """Log in whose passkey has signed that, after its device asked for a finger or a PIN."""
    parameters.only()
    body, party = parameters.body(Signed), second_step.party()
    accounts.refuse_password()
    limits.spend("sign-in", limits.address())
    try:
        challenge = passkeys.challenge_of(body.passkey)
    except PeopleError:
        raise _wrong() from None
    if not CHALLENGES.take(challenge, _ALONE):
        raise _wrong()
    with state().engine.begin() as connection:
        account = passkeys.whose(connection, body.passkey, party, challenge)
        if account is not None:
            return accounts.welcome(connection, account, 200)
    raise _wrong()


def _wrong() -> ProblemError:
    detail = "no passkey that is known here has signed what was asked last; try again"
    return ProblemError(401, "wrong-passkey", "Wrong passkey", detail)


# -- one's own ----------------------------------------------------------------------------


@blueprint.get("/me/passkeys")
@access.own_rights
def list_passkeys() -> Response:
    """One's passkeys; `ask` is what a browser is asked to take a second step with one of them."""
    parameters.only()
    user = identity.own_id()
    with state().engine.connect() as connection:
        found = list(map(_shown, passkeys.of(connection, user)))
        asked = second_step.question(connection, user)
    return as_json({"passkeys": found, "ask": asked})


@blueprint.post("/me/passkeys")
@access.own_rights
def begin() -> Response:
    """What a browser is asked to make a passkey; nothing changes until it has come back."""
    parameters.only()
    body, party, user = parameters.body(Sure), second_step.party(), identity.own_id()
    second_step.prove(body)
    with state().engine.connect() as connection:
        account = known(connection, user)
        return as_json(passkeys.creation(connection, account, party, CHALLENGES.new(_making(user))))


@blueprint.put("/me/passkeys")
@access.own_rights
def add() -> Response:
    """Keep it. The first second step of an account ends all other logins, and has recovery codes,
    which are shown this once."""
    parameters.only()
    body, party = parameters.body(NewPasskey), second_step.party()
    asker, user = identity.person(), identity.own_id()
    with as_problems():
        challenge = passkeys.challenge_of(body.passkey)
        if not CHALLENGES.take(challenge, _making(user)):
            message = "this answers nothing that was asked for your account lately; begin again"
            raise invalid([fault("passkey", message, "wrong-passkey")])
        with state().engine.begin() as connection:
            is_first = not held(connection, user).has_two_factor
            made = passkeys.add(connection, user, body.name, body.passkey, party, challenge)
            codes = two_factor.renew_recovery(connection, user) if is_first else None
            if is_first:
                logins.close_all(connection, user, but=asker.login.id if asker.login else None)
    if is_first:
        state().end_streams(user=user)
    return as_json({**_shown(made), "recovery": codes}, 201)


@blueprint.patch("/me/passkeys/<passkey_id>")
@access.own_rights
def change_passkey(passkey_id: str) -> Response:
    """Call a passkey otherwise. It opens nothing, so the login is enough."""
    parameters.only()
    user, body = identity.own_id(), parameters.body(Name)
    with as_problems(), state().engine.begin() as connection:
        changed = passkeys.rename(connection, user, passkey_id, body.name)
    if changed is None:
        raise not_found(f"passkey {passkey_id!r}")
    return as_json(_shown(changed))


@blueprint.delete("/me/passkeys/<passkey_id>")
@access.own_rights
def remove(passkey_id: str) -> Response:
    """Take a passkey away from one's account."""
    parameters.only()
    user = identity.own_id()

    def taken(connection: Connection) -> bool:
        return two_factor.remove_passkey(connection, user, passkey_id)

    if not second_step.shown(parameters.body(Proof), taken):
        raise not_found(f"passkey {passkey_id!r}")
    state().end_streams(user=user)  # They come back with the roles of now.
    return Response(status=204)


def _making(user: str) -> str:
    """The purpose of challenges for a new passkey of an account."""
    return f"make/{user}"


def _shown(passkey: Passkey) -> dict[str, Any]:
    return {
        "id": passkey.id,
        "name": passkey.name,
        "created": iso(passkey.created_ms),
        "used": iso_or_none(passkey.used_ms),
    }
