"""Two-factor sign-in over HTTP: setting it up, recovery codes, and turning it off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TypeVar
from weakref import WeakValueDictionary

from flask import Blueprint, Response
from pydantic import Field
from sqlalchemy import Connection

from citywise.backend.api import access, identity, instance_bodies, limits, me, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.faults_of_people import as_problems
from citywise.backend.api.instance_bodies import StrictBody
from citywise.backend.api.problems import ProblemError, fault, invalid
from citywise.backend.api.state import state
from citywise.backend.network import qr_codes
from citywise.backend.people import accounts, logins, two_factor
from citywise.backend.people.accounts import Account
from citywise.backend.times import iso_or_none

blueprint = Blueprint("two_factor", __name__)
Found = TypeVar("Found")
_CITY = "Citywise"
_JUDGING: WeakValueDictionary[str, Lock] = WeakValueDictionary()


class Begun(StrictBody):
    """That it is the account's person who sets it up."""

    password: str = Field(max_length=1000)


class Code(StrictBody):
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
    return as_json({"secret": secret, "uri": address, "svg": qr_codes.as_svg(address)}, 201)


@blueprint.put("/me/two-factor")
@access.own_rights
def confirm() -> Response:
    """Turn it on with a first code; the recovery codes are shown this once, and all other logins
    are over."""
    login, user = identity.person().login, identity.own_id()

    def turn_on(connection: Connection, code: str) -> list[str] | None:
        codes = two_factor.confirm(connection, user, code)
        if codes is not None:
            logins.close_all(connection, user, but=login.id if login else None)
        return codes

    codes = _with_code(turn_on)
    state().end_streams(user=user)
    return as_json({"recovery": codes})


@blueprint.post("/me/two-factor/recovery")
@access.own_rights
def renew() -> Response:
    """New recovery codes instead of the old ones."""
    user = identity.own_id()

    def renewed(connection: Connection, code: str) -> list[str] | None:
        is_right = two_factor.is_right(connection, user, code)
        return two_factor.renew_recovery(connection, user) if is_right else None

    return as_json({"recovery": _with_code(renewed)})


@blueprint.delete("/me/two-factor")
@access.own_rights
def turn_off() -> Response:
    """Log in with the password alone again."""
    user = identity.own_id()

    def turn(connection: Connection, code: str) -> bool | None:
        is_right = two_factor.is_right(connection, user, code)
        return two_factor.end(connection, user) if is_right else None

    _with_code(turn)
    state().end_streams(user=user)  # They come back with the roles of now.
    return Response(status=204)


def _with_code(act: Callable[[Connection, str], Found | None]) -> Found:
    """What `act` makes of the code that was sent, in a transaction; None is a wrong code, which
    counts."""
    parameters.only()
    body, user = instance_bodies.read(Code), identity.own_id()
    with judging(user, body.code):
        with state().engine.begin() as connection:
            found = act(connection, body.code)
        if found is None:
            limits.note("codes", user)
            message = "the code is wrong, over or used; try the next"
            raise invalid([fault("code", message, "wrong-code")])
    return found


@contextmanager
def judging(user: str, code: str | None) -> Iterator[None]:
    """A block in which a code of an account is judged, and counted if it is wrong. Raises a 429
    after too many wrong ones, wherever they come from.

    One block of an account follows the other: else many codes at once would all be tried before
    the first is counted. It is no transaction's lock, as nothing is counted within one.
    """
    with _JUDGING.setdefault(user, Lock()):
        if code is not None:
            limits.refuse_spent("codes", user)
        yield


def is_proven(connection: Connection, account: Account, code: str | None) -> bool:
    """Whether somebody whose password was right may log in: the account has one step, or the
    code is right, which uses it up."""
    if not account.has_two_factor:
        return True
    return code is not None and two_factor.is_right(connection, account.id, code)


def refused(user: str, code: str | None) -> ProblemError:
    """The problem for whoever `is_proven` did not let in; a wrong code counts. Call it after the
    transaction, in the block of `judging`."""
    if code is None:
        detail = "send `code` too: of the authenticator app, or a recovery code"
        return ProblemError(401, "second-step", "Second step", detail)
    limits.note("codes", user)
    detail = "the code is wrong, over or used; wait for the next one"
    return ProblemError(401, "wrong-code", "Wrong code", detail)
