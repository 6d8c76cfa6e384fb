"""Letters to people: one's address, links in letters, another password, and what did not leave.

Nothing is sent here: the notifier does (`backend.mail.postman`).
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request
from pydantic import Field
from sqlalchemy import select

from citywise.backend.api import (
    access,
    hashing,
    identity,
    limits,
    me,
    parameters,
)
from citywise.backend.api.answers import as_json
from citywise.backend.api.faults_of_people import as_problems
from citywise.backend.api.instance_bodies import StrictBody
from citywise.backend.api.languages import chosen
from citywise.backend.api.pages import page
from citywise.backend.api.problems import ProblemError, not_found
from citywise.backend.api.state import state
from citywise.backend.mail import addresses, letters
from citywise.backend.mail.letters import Letter
from citywise.backend.notices import answers
from citywise.backend.notices.announcing import begin
from citywise.backend.notices.attention import DEFAULT
from citywise.backend.notices.listeners import wishes_of
from citywise.backend.people import accounts, audit
from citywise.backend.store import clocks
from citywise.backend.store.models import HeartbeatRow
from citywise.backend.times import iso

blueprint = Blueprint("mail", __name__)
pages = Blueprint("mail_pages", __name__)
_BEAT = select(HeartbeatRow.detail).where(HeartbeatRow.process == "notifier")
_MOST = 100
"""Letters that could not be sent, in one answer."""


class NewAddress(StrictBody):
    """An address, and that one may say so: where there is a password, it opens the account."""

    address: str = Field(max_length=300)
    password: str | None = Field(default=None, max_length=1000)


class Link(StrictBody):
    """The secret of a link in a letter."""

    secret: str = Field(max_length=200)


class Forgotten(StrictBody):
    """Who has forgotten their password: their name, or the address they are written to."""

    name: str = Field(min_length=1, max_length=300)


class NewPassword(Link):
    """A password instead of the one that was forgotten."""

    password: str = Field(max_length=1000)


# --- One's address --------------------------------------------------------------------------------


@blueprint.get("/me/mail")
@access.own_rights
def show_address() -> Response:
    """Where one is written to."""
    parameters.only()
    return _mine()


@blueprint.put("/me/mail")
@access.own_rights
def put_address() -> Response:
    """Be written to at an address, once a link in a letter to it has been opened."""
    parameters.only()
    body, user = parameters.body(NewAddress), identity.own_id()
    _refuse_without_mail()
    with state().engine.connect() as connection:
        account = accounts.find(connection, user)
    if account is not None and account.has_password:
        me.prove(body.password, "password")
    limits.spend("letters", f"user {user}")
    with as_problems(), state().engine.begin() as connection:
        addresses.want(connection, user, body.address, chosen(request))
        letters.put_anew(connection, "verify", user)
    return _mine(202)


@blueprint.delete("/me/mail")
@access.own_rights
def remove_address() -> Response:
    """Be written to no more; the address is forgotten."""
    parameters.only()
    with state().engine.begin() as connection:
        addresses.remove(connection, identity.own_id())
    return Response(status=204)


def _mine(status: int = 200) -> Response:
    mail = state().settings.mail
    with state().engine.connect() as connection:
        found = addresses.of(connection, identity.own_id())
        account = accounts.find(connection, identity.own_id())
    return as_json(
        {
            "asks_password": account is not None and account.has_password,
            "available": state().settings.writes_to_people,
            "address": found and found.address,
            "wanted": found and found.wanted,
            "error": found and found.error,
            "language": found and found.language,
            "sender": mail.sender if state().settings.writes_to_people else None,
            "per_hour": mail.per_hour,
        },
        status,
    )


def _refuse_without_mail() -> None:
    if not state().settings.writes_to_people:
        detail = (
            "nobody is written to by e-mail here; who runs this sets mail.host and web.public_url"
        )
        raise ProblemError(409, "mail-not-configured", "No mail", detail)


# --- Links in letters -----------------------------------------------------------------------------


@blueprint.post("/mail/verified")
@access.door
def verify() -> Response:
    """Show that an address is one's own, by the link that was sent there."""
    parameters.only()
    body = parameters.body(Link)
    limits.spend("log-in", limits.address())
    with as_problems(), state().engine.begin() as connection:
        account, before = addresses.verify(connection, body.secret)
        if before is not None:
            letters.put(connection, "moved", account, before)
        found = addresses.of(connection, account)
    assert found is not None
    return as_json({"address": found.address})


@blueprint.post("/password-reset")
@access.door
def ask_for_password() -> Response:
    """Be sent a link for another password. The answer is the same, and takes as long, whether
    there is such a name or address: it is looked up later, by another process."""
    parameters.only()
    body = parameters.body(Forgotten)
    _refuse_without_passwords()
    limits.spend("letters", limits.address())
    with state().engine.begin() as connection:
        letters.put(connection, "asked", "", body.name.strip())
    return as_json({"minutes": addresses.LASTS_MS["reset"] // 60_000}, 202)


@blueprint.put("/password-reset")
@access.door
def set_password() -> Response:
    """Have another password, by the link that was sent; all logins end, and who has a second
    step is asked for it at the next."""
    parameters.only()
    body = parameters.body(NewPassword)
    _refuse_without_passwords()
    limits.spend("log-in", limits.address())
    with hashing.turn(), as_problems():
        with state().engine.connect() as connection:
            account = addresses.whose(connection, "reset", body.secret)
            name = accounts.known(connection, account).name
        kept = hashing.apart(lambda: accounts.hashed(name, body.password))
    with as_problems(), state().engine.begin() as connection:
        addresses.reset(connection, body.secret, kept)
        letters.put(connection, "done", account)
    state().end_streams(user=account)
    return Response(status=204)


def _refuse_without_passwords() -> None:
    _refuse_without_mail()
    if not state().settings.sign_in.passwords:
        detail = "people log in at the provider of identities here; open the page /log-in"
        raise ProblemError(403, "no-passwords", "No passwords", detail)


@pages.get("/mail")
@access.door
def show_verifying() -> Response:
    """Where the link leads that shows an address to be somebody's; its secret stands behind `#`,
    and is sent by the page: who only looks at links uses none up."""
    return page("mail")


@pages.get("/reset")
@access.door
def show_reset() -> Response:
    """Asking for another password, and where the link for it leads."""
    return page("reset")


@pages.get("/unsubscribe/<secret>")
@access.door
def show_unsubscribing(secret: str) -> Response:
    """Asks whether alerts by e-mail are to end: a mail program that looks at links ends nothing."""
    with state().engine.connect() as connection:
        there = addresses.unsubscriber(connection, secret) is not None
    return page("unsubscribe", done=False, there=there)


@pages.post("/unsubscribe/<secret>")
@access.door
def unsubscribe(secret: str) -> Response:
    """End alerts by e-mail: by the page's button, or by a mail program's (RFC 8058)."""
    with state().engine.begin() as connection:
        begin(connection)
        user = addresses.unsubscriber(connection, secret)
        if user is not None:
            wishes = wishes_of(connection, [user]).get(user, DEFAULT)
            quiet = wishes.channels.model_copy(update={"email": None})
            now_ms = clocks.read(connection).now_ms
            answers.wish(connection, user, wishes.model_copy(update={"channels": quiet}), now_ms)
            letters.drop_alerts(connection, user)
    return page("unsubscribe", done=True, there=user is not None)


# --- For operators --------------------------------------------------------------------------------


@blueprint.get("/operator/mail")
@access.role("admin")
def list_letters() -> Response:
    """Whether letters leave, and those that were given up, the newest first."""
    parameters.only()
    with state().engine.connect() as connection:
        found = letters.given_up(connection, _MOST)
        waiting = letters.waiting(connection)
        beat = connection.scalar(_BEAT) or {}
        shown = [_shown(one, addresses.of(connection, one.account)) for one in found]
    return as_json(
        {
            "available": state().settings.writes_to_people,
            "waiting": waiting,
            "error": beat.get("mail_error"),
            "letters": shown,
        }
    )


@blueprint.post("/operator/mail/<int:letter_id>/send-again")
@access.role("admin", device=False)
def send_again(letter_id: int) -> Response:
    """Try a letter once more."""
    parameters.only()
    with state().engine.begin() as connection:
        if not letters.send_again(connection, letter_id):
            raise not_found(f"letter {letter_id} that was given up")
        audit.record(connection, identity.own_id(), "letter.sent-again", str(letter_id), None, None)
    return Response(status=204)


@blueprint.delete("/operator/mail/<int:letter_id>")
@access.role("admin", device=False)
def drop_letter(letter_id: int) -> Response:
    """Forget a letter that was given up."""
    parameters.only()
    with state().engine.begin() as connection:
        if not letters.drop_given_up(connection, letter_id):
            raise not_found(f"letter {letter_id} that was given up")
        audit.record(connection, identity.own_id(), "letter.dropped", str(letter_id), None, None)
    return Response(status=204)


def _shown(letter: Letter, to: addresses.MailAddress | None) -> dict[str, Any]:
    """A letter, and of its address what a server's log is searched by, not whom it reaches."""
    address = (to.wanted if letter.purpose == "verify" else to.address) if to else None
    return {
        "id": letter.id,
        "purpose": letter.purpose,
        "account": letter.account or None,
        "host": address.rpartition("@")[2] if address else None,
        "error": letter.error,
        "tries": letter.tries,
        "created": iso(letter.created_ms),
    }
