"""Webhooks: addresses of others that are told of changes (docs/outgoing.md)."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from citywise.backend.api import access, identity, limits, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.aside import aside
from citywise.backend.api.problems import ProblemError, fault, invalid, not_found
from citywise.backend.api.state import state
from citywise.backend.ingest.payloads import Name
from citywise.backend.outgoing import signing, subscriptions
from citywise.backend.outgoing.filters import Filter
from citywise.backend.outgoing.posting import AddressError, Target
from citywise.backend.outgoing.subscriptions import Subscription, TooManyError
from citywise.backend.times import iso

blueprint = Blueprint("webhooks", __name__)
_MOST = 100
"""Undelivered changes in one answer."""


class ChangedWebhook(BaseModel):
    """What is to be of a webhook; what is absent stays as it is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str | None = Field(default=None, max_length=1000)
    label: Name | None = None
    filter: Filter | None = None
    secret: str | None = Field(default=None, max_length=128)
    active: bool | None = None


class NewWebhook(ChangedWebhook):
    """A new one: without `secret` it is given one, without `filter` it gets every event."""

    url: str = Field(max_length=1000)


@blueprint.get("/webhooks")
@access.person()
def list_webhooks() -> Response:
    """The webhooks of who asks."""
    parameters.only()
    with state().engine.connect() as connection:
        found = subscriptions.of(connection, identity.own_id(), "webhook")
        return as_json({"webhooks": [_webhook_json(connection, one) for one in found]})


@blueprint.post("/webhooks")
@access.person()
def add_webhook() -> Response:
    """Have an address told of changes from now on; the answer shows the secret, once."""
    parameters.only()
    body = parameters.body(NewWebhook)
    _look_at(body.url)
    secret = _secret(body.secret) or signing.new_secret()
    with state().engine.begin() as connection:
        try:
            made = subscriptions.add(
                connection, identity.own_id(), "webhook", body.url, secret,
                label=body.label or "", wanted=body.filter,
            )  # fmt: skip
        except TooManyError as error:
            raise ProblemError(409, "too-many", "Too many", str(error)) from None
        if body.active is False:
            subscriptions.change(connection, made.id, is_active=False)
        shown = _webhook_json(connection, _own(connection, made.id))
    return as_json({**shown, "secret": secret}, status=201)


@blueprint.get("/webhooks/<webhook_id>")
@access.person()
def show_webhook(webhook_id: str) -> Response:
    """One webhook, and how it fares."""
    parameters.only()
    with state().engine.connect() as connection:
        return as_json(_webhook_json(connection, _own(connection, webhook_id)))


@blueprint.patch("/webhooks/<webhook_id>")
@access.person()
def change_webhook(webhook_id: str) -> Response:
    """Change what is given of a webhook; one that was switched off goes on where it ended."""
    parameters.only()
    body = parameters.body(ChangedWebhook)
    if body.url is not None:
        _look_at(body.url)
    names = {"url": body.url, "label": body.label, "secret": _secret(body.secret)}
    values: dict[str, Any] = {name: value for name, value in names.items() if value is not None}
    if body.filter is not None:
        values["filter"] = body.filter.model_dump(mode="json", exclude_defaults=True)
    if body.active is not None:
        values |= {"is_active": body.active, "error": None}
    with state().engine.begin() as connection:
        _own(connection, webhook_id)
        if values:
            subscriptions.change(connection, webhook_id, **values)
        return as_json(_webhook_json(connection, _own(connection, webhook_id)))


@blueprint.delete("/webhooks/<webhook_id>")
@access.person()
def remove_webhook(webhook_id: str) -> Response:
    """Remove a webhook with what it was not delivered."""
    parameters.only()
    with state().engine.begin() as connection:
        _own(connection, webhook_id)
        subscriptions.remove(connection, identity.own_id(), webhook_id)
    return Response(status=204)


@blueprint.get("/webhooks/<webhook_id>/undelivered")
@access.person()
def list_undelivered(webhook_id: str) -> Response:
    """The oldest changes that a receiver did not take until they were given up."""
    parameters.only()
    with state().engine.connect() as connection:
        _own(connection, webhook_id)
        rows = subscriptions.undelivered(connection, webhook_id, _MOST)
        total = subscriptions.undelivered_count(connection, webhook_id)
    shown = [
        {
            "id": f"{webhook_id}.{row.number}", **row.body, "error": row.error,
            "failed": iso(row.failed_ms), "again": row.is_due,
        }
        for row in rows
    ]  # fmt: skip
    return as_json({"undelivered": shown, "total": total})


@blueprint.post("/webhooks/<webhook_id>/undelivered/send")
@access.person()
@limits.counted("expensive")
def send_undelivered(webhook_id: str) -> Response:
    """Send all that was not delivered again, with the ids that it had."""
    parameters.only()
    with state().engine.begin() as connection:
        _own(connection, webhook_id)
        return as_json({"again": subscriptions.send_again(connection, webhook_id)}, status=202)


def _own(connection: Connection, webhook_id: str) -> Subscription:
    found = subscriptions.find(connection, identity.own_id(), webhook_id)
    if found is None or found.form != "webhook":
        raise not_found(f"webhook {webhook_id!r}")
    return found


def _webhook_json(connection: Connection, found: Subscription) -> dict[str, Any]:
    return found.to_json(subscriptions.undelivered_count(connection, found.id))


def _look_at(url: str) -> None:
    """A problem unless an address is one that may be sent to."""
    try:
        target = Target.of(url, state().settings.webhooks.allow)
        aside(target.resolved)
    except AddressError as error:
        raise invalid([fault("url", str(error), "bad-address")]) from None


def _secret(told: str | None) -> str | None:
    if told is not None:
        try:
            signing.key_of(told)
        except ValueError as error:
            raise invalid([fault("secret", str(error), "bad-secret")]) from None
    return told
