"""Subscriptions of NGSI-LD over HTTP: each account's own (docs/ngsi-ld.md).

Source: ETSI GS CIM 009 V1.8.1, clauses 6.10 and 6.11.
"""

from __future__ import annotations

import secrets
from typing import Any

import orjson
from flask import Blueprint, Response
from pydantic import ValidationError
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from citywise.backend.api import access, identity, parameters
from citywise.backend.api.aside import aside
from citywise.backend.api.ngsi import as_ngsi, base
from citywise.backend.api.problems import ProblemError, bad_parameter, faults
from citywise.backend.api.state import state
from citywise.backend.ingest import log
from citywise.backend.ngsi.query import QueryError
from citywise.backend.ngsi.subscribing import Notifications, Wanted
from citywise.backend.outgoing import signing, subscriptions
from citywise.backend.outgoing.posting import AddressError, Target
from citywise.backend.outgoing.subscriptions import LOG_POSITION, Subscription, TooManyError
from citywise.backend.times import iso

blueprint = Blueprint("ngsi_subscriptions", __name__, url_prefix="/ngsi-ld/v1/subscriptions")
blueprint.register_error_handler(ProblemError, as_ngsi)
_PREFIX = "urn:ngsi-ld:Subscription:"
_OWN = ("@base", LOG_POSITION)


@blueprint.post("")
@access.person()
def add_subscription() -> Response:
    """Have an address notified of changes of entities from now on."""
    parameters.only()
    told = parameters.json_object()
    about = _checked(told)
    name = about.id or _PREFIX + secrets.token_hex(12)
    more = {**told, "@base": base(), LOG_POSITION: log.durable_end(state().settings.log_dir)}
    try:
        with state().engine.begin() as connection:
            subscriptions.add(
                connection, identity.own_id(), "ngsi-ld", about.notification.endpoint.uri,
                signing.new_secret(), extra=more, name=name,
            )  # fmt: skip
            if not about.isActive:
                subscriptions.change(connection, name, is_active=False)
    except TooManyError as error:
        raise ProblemError(403, "too-many", "Too many", str(error)) from None
    except IntegrityError:
        raise ProblemError(
            409, "already-exists", "Already Exists", f"there is a subscription {name!r}"
        ) from None
    answer = Response(status=201)
    answer.headers["Location"] = f"/ngsi-ld/v1/subscriptions/{name}"
    return answer


@blueprint.get("")
@access.person()
def list_subscriptions() -> Response:
    """The subscriptions of who asks, oldest first."""
    parameters.only("limit", "offset", "count")
    limit = parameters.integer("limit", 20, 0, 1000) or 0
    offset = parameters.integer("offset", 0, 0, 10**6) or 0
    with state().engine.connect() as connection:
        found = subscriptions.of(connection, identity.own_id(), "ngsi-ld")
    shown = [_subscription_json(one) for one in found[offset : offset + limit]]
    answer = Response(orjson.dumps(shown), content_type="application/json")
    if parameters.boolean("count"):
        answer.headers["NGSILD-Results-Count"] = str(len(found))
    return answer


@blueprint.get("/<subscription_id>")
@access.person()
def show_subscription(subscription_id: str) -> Response:
    """One of them, and how it fares."""
    parameters.only()
    with state().engine.connect() as connection:
        found = _own(connection, subscription_id)
    return Response(orjson.dumps(_subscription_json(found)), content_type="application/json")


@blueprint.patch("/<subscription_id>")
@access.person()
def change_subscription(subscription_id: str) -> Response:
    """Change the members that are given; null removes one."""
    parameters.only()
    told = parameters.json_object()
    with state().engine.begin() as connection:
        found = _own(connection, subscription_id)
        body = {**_body(found), **told}
        body = {name: value for name, value in body.items() if value is not None}
        about = _checked(body)
        if about.id not in (None, found.id):
            raise bad_parameter("id", "stays as it is")
        kept = {name: found.extra[name] for name in _OWN if name in found.extra}
        subscriptions.change(
            connection, found.id, url=about.notification.endpoint.uri,
            extra={**body, **kept}, is_active=about.isActive, error=None,
        )  # fmt: skip
    return Response(status=204)


@blueprint.delete("/<subscription_id>")
@access.person()
def remove_subscription(subscription_id: str) -> Response:
    """Remove one of them."""
    parameters.only()
    with state().engine.begin() as connection:
        _own(connection, subscription_id)
        subscriptions.remove(connection, identity.own_id(), subscription_id)
    return Response(status=204)


def _checked(told: dict[str, Any]) -> Wanted:
    """A subscription that can be served; else a problem that says what is wrong."""
    try:
        about = Wanted.model_validate(told)
        Notifications("", told)
        target = Target.of(about.notification.endpoint.uri, state().settings.webhooks.allow)
        aside(target.resolved)
    except ValidationError as error:
        found = faults(error)
        detail = f"{found[0]['path']}: {found[0]['message']}"
        raise ProblemError(400, "invalid", "Bad request data", detail, errors=found) from None
    except QueryError as error:
        raise bad_parameter("q", str(error)) from None
    except AddressError as error:
        raise bad_parameter("notification.endpoint.uri", str(error)) from None
    return about


def _own(connection: Connection, name: str) -> Subscription:
    found = subscriptions.find(connection, identity.own_id(), name)
    if found is None or found.form != "ngsi-ld":
        detail = f"there is no subscription {name!r}"
        raise ProblemError(404, "not-found", "Not Found", detail)
    return found


def _body(found: Subscription) -> dict[str, Any]:
    return {name: value for name, value in found.extra.items() if name not in _OWN}


def _subscription_json(found: Subscription) -> dict[str, Any]:
    """As it was made, with what became of it."""
    notification = {
        **found.extra["notification"],
        "status": "failed" if found.error else "ok",
        "timesSent": found.sent,
    }
    for name, at in (("lastSuccess", found.success_ms), ("lastFailure", found.failure_ms)):
        if at is not None:
            notification[name] = iso(at)
    status = "active" if found.is_active else "paused"
    body = {"id": found.id, **_body(found), "notification": notification}
    return {**body, "isActive": found.is_active, "status": status}
