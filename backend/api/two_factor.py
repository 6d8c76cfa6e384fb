"""Two-factor sign-in with an authenticator app over HTTP: setting it up, recovery codes, and
turning it off."""

from __future__ import annotations

from flask import Blueprint, Response
from pydantic import Field
from sqlalchemy import Connection

from citywise.backend.api import access, identity, parameters, second_step
from citywise.backend.api.answers import as_json
from citywise.backend.api.faults_of_people import as_problems
from citywise.backend.api.instance_bodies import StrictBody
from citywise.backend.api.second_step import Proof, Sure
from citywise.backend.api.state import state
from citywise.backend.network import qr_codes
from citywise.backend.people import accounts, logins, passkeys, two_factor
from citywise.backend.times import iso_or_none

blueprint = Blueprint("two_factor", __name__)
_CITY = "Citywise"


class Code(StrictBody):
    """A code of the authenticator app that is set up."""

    code: str = Field(max_length=100)


@blueprint.get("/me/two-factor")
@access.own_rights
def show() -> Response:
    """Whether one logs in with an authenticator app or passkeys; `needed_for` are roles that
    wait for one of them."""
    parameters.only()
    user = identity.own_id()
    with state().engine.connect() as connection:
        found = two_factor.standing(connection, user)
        keys = passkeys.of(connection, user)
    return as_json(
        {
            "on": found.since_ms is not None,
            "since": iso_or_none(found.since_ms),
            "recovery_left": found.recovery_left,
            "passkeys": len(keys),
            "needed_for": sorted(identity.person().waiting),
        }
    )


@blueprint.post("/me/two-factor")
@access.own_rights
def begin() -> Response:
    """A secret for an authenticator app, as text, address and QR code; nothing changes until one
    of its codes has come back."""
    parameters.only()
    user = identity.own_id()
    second_step.prove(parameters.body(Sure))
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
    parameters.only()
    body, asker, user = parameters.body(Code), identity.person(), identity.own_id()
    given = Proof(code=body.code)
    with second_step.judging(user, given):
        with state().engine.begin() as connection:
            codes = two_factor.confirm(connection, user, body.code)
            if codes is not None:
                logins.close_all(connection, user, but=asker.login.id if asker.login else None)
        if codes is None:
            raise second_step.wrong(user, given)
    state().end_streams(user=user)
    return as_json({"recovery": codes})


@blueprint.post("/me/two-factor/recovery")
@access.own_rights
def renew() -> Response:
    """New recovery codes instead of the old ones."""
    parameters.only()
    user = identity.own_id()

    def renewed(connection: Connection) -> list[str]:
        return two_factor.renew_recovery(connection, user)

    return as_json({"recovery": second_step.shown(parameters.body(Proof), renewed)})


@blueprint.delete("/me/two-factor")
@access.own_rights
def turn_off() -> Response:
    """Do without an authenticator app again."""
    parameters.only()
    user = identity.own_id()
    second_step.shown(parameters.body(Proof), lambda found: two_factor.end(found, user))
    state().end_streams(user=user)  # They come back with the roles of now.
    return Response(status=204)
