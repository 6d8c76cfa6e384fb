"""The server-sent-event stream: announcements that a client can resume, readings, clock."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson
from flask import Blueprint, Response, request

from citywise.backend.api import access, identity, limits, parameters
from citywise.backend.api.entitled import Reader as Reader
from citywise.backend.api.hub import PAGE, Hub, Subscription
from citywise.backend.api.hub import Message as Message
from citywise.backend.api.problems import ProblemError, bad_parameter
from citywise.backend.api.state import state

blueprint = Blueprint("event_stream", __name__)

KEEP_ALIVE_S = 15
RETRY_MS = 1500
MAX_CLIENTS = 1_500
MOST_OF_ACCOUNT, MOST_OF_ADDRESS = 20, 200
"""Streams of one person, and of one address where nobody has logged in."""


def _last_id() -> int | None:
    """Where the client wants to go on: its header, which a browser sets when it reconnects,
    before the parameter, which stays as it was in the address."""
    for name, text in (
        ("Last-Event-ID", request.headers.get("Last-Event-ID")),
        ("last_event_id", request.args.get("last_event_id")),
    ):
        if text:
            if not text.isascii() or not text.isdigit() or len(text) > 18:
                raise bad_parameter(name, f"{text!r} is not an id this stream has given")
            return int(text)
    return None


def _disconnect(environ: dict[str, Any]) -> Callable[[], None]:
    """What ends the connection of a client that no longer reads.

    Its own thread is blocked in `send`, so nothing but the socket can wake it.
    """
    connection = environ.get("gunicorn.socket") or environ.get("werkzeug.socket")

    def disconnect() -> None:
        if connection is not None:
            with contextlib.suppress(OSError):  # It may have gone by itself.
                connection.shutdown(socket.SHUT_RDWR)

    return disconnect


def beginning(hub: Hub, last_id: int | None) -> tuple[int, Message]:
    """The id to go on from, and the first message: `hello`, or `reset` where announcements
    after `last_id` are no longer kept (or were never made: another database)."""
    newest = hub.newest()
    if last_id is None:
        return newest, Message("hello", orjson.dumps({"position": newest}), newest)
    oldest = hub.oldest()
    kept_from = newest if oldest is None else oldest - 1
    if kept_from <= last_id <= newest:
        return last_id, Message("hello", orjson.dumps({"position": last_id}), last_id)
    return newest, Message("reset", orjson.dumps({"position": newest}), newest)


Shown = Callable[[Message], Message | None]
"""What a client is shown of a message; None: nothing."""


def as_it_is(message: Message) -> Message:
    """All of it."""
    return message


def follow(
    hub: Hub,
    subscription: Subscription,
    last_id: int | None,
    shown: Shown = as_it_is,
) -> Iterator[bytes]:
    """All announcements after `last_id` for the client, each once and in order, with what
    goes between; each as `shown` gives it, or left out."""
    position, first = beginning(hub, last_id)
    yield b"retry: %d\n\n" % RETRY_MS + first.encode()
    user = subscription.reader.user
    page = hub.after(position, user)
    while page and not subscription.is_closed():
        yield _encoded(page, shown)
        position = page[-1].id or position
        page = hub.after(position, user) if len(page) == PAGE else []
    while not subscription.is_closed():
        fresh = [m for m in subscription.take(KEEP_ALIVE_S) if m.id is None or m.id > position]
        if subscription.is_closed():
            return
        yield _encoded(fresh, shown) or b": keep-alive\n\n"


def _encoded(messages: Iterable[Message], shown: Shown) -> bytes:
    return b"".join(found.encode() for found in map(shown, messages) if found is not None)


def _reader() -> Reader:
    """Who asks, for their own notices or those of a user they may act for."""
    asker, named = identity.principal(), request.args.get("user")
    if named is None:
        return Reader.of(asker, asker.user if asker.may("notices") else None, limits.address())
    identity.refuse_token("notices")
    return Reader.of(asker, identity.whose(named), limits.address())


def _refuse_beyond(hub: Hub, reader: Reader) -> None:
    """Raise a problem where too many streams are open, of all or of who has just opened one."""
    most_of_all = min(MAX_CLIENTS, state().settings.web.connections * 3 // 4)
    if hub.clients > most_of_all:
        raise ProblemError(
            503,
            "too-many-streams",
            "Too many streams",
            f"{most_of_all} event streams are open, and no more are served; try again later",
        )
    if identity.principal().means == "demo" or not state().settings.people.rate_limits:
        return
    most = MOST_OF_ADDRESS if reader.account is None else MOST_OF_ACCOUNT
    if hub.opened_by(reader) > most:
        detail = f"you have {most} event streams open, and may have no more; close one"
        problem = ProblemError(429, "too-many-requests", "Too many requests", detail)
        problem.headers["Retry-After"] = str(KEEP_ALIVE_S)
        raise problem


@blueprint.get("/events/stream")
@access.city
def stream_events() -> Response:
    """Open an event stream, with the notices to `user`, or to who asks."""
    parameters.only("last_event_id", "user")
    return served(_reader())


def served(reader: Reader, shown: Shown = as_it_is) -> Response:
    """An open stream for a reader, from where the request says it wants to go on."""
    last_id, hub = _last_id(), state().hub
    subscription = hub.subscribe(_disconnect(request.environ), reader=reader)
    try:
        # Afterwards: others may have come while this one waited to be taken in.
        _refuse_beyond(hub, reader)
    except ProblemError:
        hub.unsubscribe(subscription)
        raise

    def body() -> Iterator[bytes]:
        yield from follow(hub, subscription, last_id, shown)

    answer = Response(body(), content_type="text/event-stream; charset=utf-8")
    answer.call_on_close(lambda: hub.unsubscribe(subscription))
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["X-Accel-Buffering"] = "no"
    return answer
