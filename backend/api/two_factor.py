"""Two-factor sign-in over HTTP: setting it up, recovery codes, and turning it off."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from citywise.backend.api import access, identity, instance_bodies, limits, me, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.faults_of_people import as_problems
from citywise.backend.api.problems import ProblemError, fault, invalid
from citywise.backend.api.state import state
from citywise.backend.network import qr_codes
from citywise.backend.people import accounts, logins, two_factor
from citywise.backend.people.accounts import Account
from citywise.backend.times import iso_or_none

blueprint = Blueprint("two_factor", __name__)
_CITY = "Citywise"


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Begun(_Body):
    """That it is the account's person who sets it up."""

    password: str = Field(max_length=1000)


class Code(_Body):
    """A code of the authenticator app, or, but to set it up, a recovery code."""

    code: str = Field(max_length=100)


@blueprint.get("/me/two-factor")
@access.own_rights
def show() -> Response:
    """Whether one logs in with two steps; `needed_for` are roles that wait for it."""
    parameters.only()
    with state().engine.connect() as connection:
        found = two_factor.standing(connection, identity.own_id())
    return as_json(
        {
            "on": found.since_ms is not None,
            "since": iso_or_none(found.since_ms),
            "recovery_left": found.recovery_left,
            "needed_for": sorted(identity.person().waiting),
        }
    )


@blueprint.post("/me/two-factor")
@access.own_rights
def begin() -> Response:
    """A secret for an authenticator app, as text, address and QR code; nothing changes until one
    of its codes has come back."""
    parameters.only()
    body, user = instance_bodies.read(Begun), identity.own_id()
    me.prove(body.password, "password")
    with as_problems(), state().engine.begin() as connection:
        secret = two_factor.begin(connection, user)
        name = accounts.known(connection, user).name
    address = two_factor.address(secret, name, _CITY)
    answer = as_json({"secret": secret, "uri": address, "svg": qr_codes.as_svg(address)}, 201)
    answer.headers["Cache-Control"] = "no-store"
    return answer


@blueprint.put("/me/two-factor")
@access.own_rights
def confirm() -> Response:
    """Turn it on with a first code; the recovery codes are shown this once, and all other logins
    are over."""
    parameters.only()
    body, asker, user = instance_bodies.read(Code), identity.person(), identity.own_id()
    refuse_guesser(user)
    with state().engine.begin() as connection:
        codes = two_factor.confirm(connection, user, body.code)
        if codes is not None:
            logins.close_all(connection, user, but=asker.login.id if asker.login else None)
    if codes is None:
        raise _wrong(user)
    state().end_streams(user=user)
    return _codes(codes)


@blueprint.post("/me/two-factor/recovery")
@access.own_rights
def renew() -> Response:
    """New recovery codes instead of the old ones."""
    parameters.only()
    body, user = instance_bodies.read(Code), identity.own_id()
    refuse_guesser(user)
    with state().engine.begin() as connection:
        codes = None
        if two_factor.is_right(connection, user, body.code):
            codes = two_factor.renew_recovery(connection, user)
    if codes is None:
        raise _wrong(user)
    return _codes(codes)


@blueprint.delete("/me/two-factor")
@access.own_rights
def turn_off() -> Response:
    """Log in with the password alone again."""
    parameters.only()
    body, user = instance_bodies.read(Code), identity.own_id()
    refuse_guesser(user)
    with state().engine.begin() as connection:
        is_right = two_factor.is_right(connection, user, body.code)
        if is_right:
            two_factor.end(connection, user)
    if not is_right:
        raise _wrong(user)
    state().end_streams(user=user)  # They come back with the roles of now.
    return Response(status=204)


def refuse_guesser(user: str) -> None:
    """Raise a 429 after too many wrong codes for an account, wherever they come from."""
    limits.refuse_spent("codes", user)


def is_proven(connection: Connection, account: Account, code: str | None) -> bool:
    """Whether who knows the password of an account has taken the second step, too, if it has one;
    a code is used up by that."""
    if not account.has_two_factor:
        return True
    return code is not None and two_factor.is_right(connection, account.id, code)


def refused(user: str, code: str | None) -> ProblemError:
    """What is said to who has not; a wrong code counts. Call it after the transaction."""
    if code is None:
        detail = "send `code` too: of the authenticator app, or a recovery code"
        return ProblemError(401, "second-step", "Second step", detail)
    limits.note("codes", user)
    detail = "the code is wrong, over or used; wait for the next one"
    return ProblemError(401, "wrong-code", "Wrong code", detail)


def _wrong(user: str) -> ProblemError:
    limits.note("codes", user)
    return invalid([fault("code", "the code is wrong, over or used; try the next", "wrong-code")])


def _codes(codes: list[str]) -> Response:
    shown: dict[str, Any] = {"recovery": codes}
    answer = as_json(shown)
    answer.headers["Cache-Control"] = "no-store"
    return answer
