"""The server-sent-event stream: announcements that a client can resume, readings, clock."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Any

import orjson
from flask import Blueprint, Response, request

from backend.api import parameters
from backend.api.hub import PAGE, Hub, Message, Subscription
from backend.api.problems import ProblemError, bad_parameter
from backend.api.state import state

blueprint = Blueprint("event_stream", __name__)

KEEP_ALIVE_S = 15
RETRY_MS = 1500
MAX_CLIENTS = 1_500


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


def follow(hub: Hub, subscription: Subscription, last_id: int | None) -> Iterator[bytes]:
    """All announcements after `last_id` for the client, each once and in order, with what
    goes between."""
    position, first = beginning(hub, last_id)
    yield b"retry: %d\n\n" % RETRY_MS + first.encode()
    page = hub.after(position)
    while page:
        # A page may hold nothing for this client, and an empty chunk would end the answer.
        yield b"".join(m.encode() for m in page if subscription.wants(m)) or b": \n\n"
        position = page[-1].id or position
        page = hub.after(position) if len(page) == PAGE else []
    while not subscription.is_closed():
        fresh = [m for m in subscription.take(KEEP_ALIVE_S) if m.id is None or m.id > position]
        if subscription.is_closed():
            return
        yield b"".join(message.encode() for message in fresh) or b": keep-alive\n\n"


@blueprint.get("/events/stream")
def stream_events() -> Response:
    """Open an event stream, with the notices to `user` if one is named."""
    parameters.only("last_event_id", "user")
    last_id, user = _last_id(), parameters.identifier("user")
    hub = state().hub
    if hub.clients >= MAX_CLIENTS:
        raise ProblemError(
            503,
            "too-many-streams",
            "Too many streams",
            f"{MAX_CLIENTS} event streams are open, and no more are served; try again later",
        )
    subscription = hub.subscribe(_disconnect(request.environ), user=user)

    def body() -> Iterator[bytes]:
        yield from follow(hub, subscription, last_id)

    answer = Response(body(), content_type="text/event-stream; charset=utf-8")
    answer.call_on_close(lambda: hub.unsubscribe(subscription))
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["X-Accel-Buffering"] = "no"
    return answer
