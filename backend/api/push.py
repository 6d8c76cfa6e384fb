"""Web Push: the browsers that alerts reach where no page of ours is open, each its owner's."""

from __future__ import annotations

import hashlib
from typing import Any

from flask import Blueprint, Response, request
from pydantic import ConfigDict, Field

from citywise.backend.api import access, identity, limits, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.instance_bodies import StrictBody
from citywise.backend.api.languages import chosen
from citywise.backend.api.problems import ProblemError, fault, invalid, not_found
from citywise.backend.api.state import state
from citywise.backend.outgoing import subscriptions
from citywise.backend.outgoing.posting import AddressError, Target
from citywise.backend.outgoing.subscriptions import PUSH, Subscription, TooManyError
from citywise.backend.times import iso, iso_or_none

blueprint = Blueprint("push", __name__)


class Keys(StrictBody):
    """What messages to a browser are encrypted with, in base64url; a browser may say more."""

    model_config = ConfigDict(extra="ignore")

    p256dh: str = Field(max_length=200)
    auth: str = Field(max_length=100)


class NewBrowser(StrictBody):
    """What `PushSubscription.toJSON()` of a browser gives."""

    endpoint: str = Field(max_length=1000)
    keys: Keys
    expirationTime: float | None = None  # noqa: N815


@blueprint.get("/me/push")
@access.own_rights
def list_browsers() -> Response:
    """The browsers of who asks, and the key that a browser is to take messages of."""
    # Few ask for it, and each web process would load what reads certificates.
    from citywise.backend.network import certificates
    from citywise.backend.outgoing import web_push

    parameters.only()
    key = web_push.key_in(certificates.folder_of(state().settings.data_dir))
    with state().engine.connect() as connection:
        found = subscriptions.of(connection, identity.own_id(), PUSH)
    return as_json({"key": web_push.public(key), "browsers": list(map(_shown, found))})


@blueprint.post("/me/push")
@access.own_rights
@limits.counted("writes")
def add_browser() -> Response:
    """Have alerts reach a browser where no page is open; the same browser again is one."""
    from citywise.backend.outgoing import web_push

    parameters.only()
    body, user = parameters.body(NewBrowser), identity.own_id()
    try:
        Target.of(body.endpoint, state().settings.webhooks.allow)
    except AddressError as error:
        raise invalid([fault("endpoint", str(error), "bad-address")]) from None
    try:
        web_push.Browser.of(body.keys.p256dh, body.keys.auth)
    except ValueError as error:
        raise invalid([{"path": "keys", "message": str(error)}]) from None
    name = identity_of(body.endpoint)
    login = identity.person().login
    extra = {
        "p256dh": body.keys.p256dh,
        "auth": body.keys.auth,
        "language": chosen(request),
        "login": login.id if login else None,
    }
    agent = request.headers.get("User-Agent", "")[:200]
    with state().engine.begin() as connection:
        subscriptions.remove_everybodys(connection, name)  # who was logged in there before
        try:
            made = subscriptions.add(
                connection, user, PUSH, body.endpoint, "", label=agent, extra=extra, name=name
            )
        except TooManyError as error:
            raise ProblemError(409, "too-many", "Too many", str(error)) from None
    return as_json(_shown(made), 201)


@blueprint.delete("/me/push/<browser_id>")
@access.own_rights
def remove_browser(browser_id: str) -> Response:
    """Have alerts not reach a browser any more."""
    parameters.only()
    with state().engine.begin() as connection:
        found = subscriptions.find(connection, identity.own_id(), browser_id)
        if found is None or found.form != PUSH:
            raise not_found(f"browser {browser_id!r}")
        subscriptions.remove(connection, identity.own_id(), browser_id)
    return Response(status=204)


def identity_of(endpoint: str) -> str:
    """What a browser is called here: its endpoint is a secret of its own."""
    return "w-" + hashlib.sha256(endpoint.encode()).hexdigest()[:32]


def _shown(one: Subscription) -> dict[str, Any]:
    return {
        "id": one.id,
        "agent": one.label,
        "created": iso(one.created_ms),
        "last_success": iso_or_none(one.success_ms),
        "error": one.error,
    }
