"""Sources: how they fare, those that an operator makes, and what is posted for them."""

from __future__ import annotations

import hmac
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from flask import Blueprint, Response, request
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import Connection

from citywise.backend import connectors
from citywise.backend.api import access, identity, limits, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.aside import aside
from citywise.backend.api.body_faults import faults
from citywise.backend.api.instance_bodies import StrictBody
from citywise.backend.api.problems import ProblemError, fault, invalid, not_found
from citywise.backend.api.state import state
from citywise.backend.connectors import (
    BUILTIN,
    Connector,
    Found,
    MappingError,
    Message,
    Refused,
)
from citywise.backend.operations import sources
from citywise.backend.people import audit
from citywise.backend.settings import Source
from citywise.backend.sources import made, posted
from citywise.backend.sources.fetch import FetchError, Tag, fetch
from citywise.backend.sources.subscribing import SECRET_HEADER, Subscriber
from citywise.backend.sources.working import connector_of
from citywise.backend.times import iso, wall_ms

blueprint = Blueprint("sources", __name__)
MOST = 100
"""Sources that operators may make."""
_MOST_SHOWN = 200
_MOST_SAMPLE = 20_000
_FETCH_S = 20.0


class Sample(BaseModel):
    """A source as it would be, and a message of it; without one its addresses are asked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: dict[str, Any]
    sample: str | None = Field(default=None, max_length=900_000)
    topic: str | None = Field(default=None, max_length=1000)


class Switch(StrictBody):
    """Whether a source is to run."""

    active: bool


@blueprint.get("/operator/sources")
@access.role("admin")
def list_sources() -> Response:
    """Every source that a connector reads, and how it fares; those that fail first."""
    parameters.only()
    with state().engine.connect() as connection:
        reports = {one["name"]: one for one in sources.report(connection)}
        known = made.listed(connection)
    found = [{**report, **_origin(name, known)} for name, report in reports.items()]
    quiet = [one for name, one in known.items() if name not in reports]
    found += [{**sources.unheard(one.source), **_origin(one.source.name, known)} for one in quiet]
    offered = [{"name": name, "title": one.title} for name, one in BUILTIN.items()]
    return as_json({"now": iso(wall_ms()), "sources": found, "connectors": offered})


@blueprint.post("/operator/sources/try")
@access.role("admin")
@limits.counted("expensive")
def try_source() -> Response:
    """What a connector makes of a sample; nothing is kept."""
    parameters.only()
    asked = parameters.body(Sample)
    told = {"name": "sample", **asked.source}
    if not (told.get("urls") or told.get("topics")):
        told["topics"] = ["sample"]
    with state().engine.connect() as connection:
        source = _read(told, made.listed(connection).get(str(told["name"])))
    reader = _connector(source)
    if asked.sample is not None:
        body = asked.sample.encode("utf-8", "replace")
        messages = [Message(body, asked.topic, wall_ms())]
    else:
        messages = _fetched(source)
    found = aside(lambda: [f for m in messages for f in connectors.told(reader, m)])
    counts = Counter(next(iter(one.to_json())) for one in found)
    return as_json(
        {
            "sample": messages[0].body[:_MOST_SAMPLE].decode("utf-8", "replace"),
            "counts": counts,
            "found": [_sample_json(one) for one in _first(found)],
        }
    )


@blueprint.put("/operator/sources")
@access.role("admin")
def put_source() -> Response:
    """Make a source, or change one that an operator made; it runs within seconds.

    The answer shows the secret that others post with, where it is new.
    """
    parameters.only()
    told = parameters.json_object()
    takes, active = told.pop("takes_posts", None), told.pop("active", True)
    for name, value in (("takes_posts", takes), ("active", active)):
        if value not in (None, True, False):
            raise invalid([fault(name, "expected true or false")])
    with state().engine.begin() as connection:
        known = made.listed(connection)
        before = known.get(str(told.get("name")))
        _refuse_of_file(str(told.get("name")))
        if before is None and len(known) >= MOST:
            detail = f"{MOST} sources are the most; remove one first"
            raise ProblemError(409, "too-many", "Too many", detail)
        fresh = None
        if takes and told.get("secret") is None:
            had = before.source.secret if before else None
            fresh = None if had else secrets.token_urlsafe(32)
            told["secret"] = had or fresh
        elif takes is False:
            told["secret"] = None
        source = _read(told, before)
        _connector(source)
        try:
            made.refuse_own_topics(source, state().settings.broker)
        except made.OwnTopicError as error:
            raise invalid([fault("topics", str(error))]) from None
        made.put(connection, source, is_active=bool(active))
        action = "source.made" if before is None else "source.changed"
        earlier = made.shown(before.source) if before else None
        audit.record(
            connection, identity.own_id(), action, source.name, earlier, made.shown(source)
        )
        shown = {"name": source.name, **_origin(source.name, made.listed(connection))}
    state().tell_broker()
    more = {"secret": fresh} if fresh else {}
    return as_json({**shown, **more}, status=201 if before is None else 200)


@blueprint.patch("/operator/sources/<name>")
@access.role("admin")
def switch_source(name: str) -> Response:
    """Have a source that an operator made rest, or run again."""
    parameters.only()
    active = parameters.body(Switch).active
    with state().engine.begin() as connection:
        _own(connection, name)
        made.switch(connection, name, is_active=active)
        action = "source.started" if active else "source.stopped"
        audit.record(connection, identity.own_id(), action, name, None, None)
        shown = {"name": name, **_origin(name, made.listed(connection))}
    state().tell_broker()
    return as_json(shown)


@blueprint.delete("/operator/sources/<name>")
@access.role("admin")
def remove_source(name: str) -> Response:
    """Remove a source that an operator made; what it told stays, its events end."""
    parameters.only()
    with state().engine.begin() as connection:
        before = _own(connection, name)
        made.remove(connection, name)
        shown = made.shown(before.source)
        audit.record(connection, identity.own_id(), "source.removed", name, shown, None)
    state().tell_broker()
    return Response(status=204)


@blueprint.post("/sources/<name>")
@access.key_holder
@limits.counted("posted")
def post_for_source(name: str) -> Response:
    """Keep what a foreign system posts, such as a context broker's notification, to be read."""
    parameters.only()
    with state().engine.begin() as connection:
        source = _taking(connection, name)
        given = request.headers.get(SECRET_HEADER, "").encode("utf-8", "replace")
        secret = source.secret if source is not None else None
        if secret is None or not hmac.compare_digest(given, secret.encode()):
            raise not_found(f"source {name!r} that takes messages with this {SECRET_HEADER}")
        if not posted.put(connection, name, request.get_data()):
            detail = f"{posted.MOST_WAITING} messages wait to be read; post it again later"
            problem = ProblemError(503, "unavailable", "Not available", detail)
            problem.headers["Retry-After"] = "10"
            raise problem
    return Response(status=204)


def _taking(connection: Connection, name: str) -> Source | None:
    """The source of a name that runs."""
    of_file = {source.name: source for source in state().settings.sources}
    if name in of_file:
        return of_file[name]
    found = made.listed(connection).get(name)
    return found.source if found is not None and found.is_active else None


def _read(told: dict[str, Any], before: made.Made | None) -> Source:
    """The settings that were sent; a problem with all that is wrong with them."""
    try:
        told = made.with_secrets(told, before.source if before else None)
    except made.ForgottenError as error:
        found = [fault(f"headers.{name}", str(error)) for name in error.headers]
        raise invalid(found) from None
    if isinstance(told.get("broker"), dict):
        told["broker"] = {**told["broker"], "embedded": False}
        if told["broker"].pop("ca", None) is not None:
            raise invalid([fault("broker", "`ca` is a file, and is set in the configuration")])
    try:
        return Source.model_validate(told)
    except ValidationError as error:
        found = faults(error, Source.model_fields)
        own = [{**one, "path": "urls"} if one["path"] == "body" else one for one in found]
        raise invalid(own) from None


def _connector(source: Source) -> Connector:
    """The connector of a source; a file of this machine is none that an operator may name."""
    if source.mapping is None and source.connector not in BUILTIN:
        there = ", ".join(BUILTIN)
        raise invalid([fault("connector", f"there is no `{source.connector}`; there are {there}")])
    try:
        return connector_of(source, state().kinds())
    except MappingError as error:
        lines = [line.removeprefix("mapping: ") for line in str(error).splitlines()]
        raise invalid([fault("mapping", line) for line in lines]) from None


def _fetched(source: Source) -> list[Message]:
    """What the addresses of a source answer now."""
    own = source.subscribe
    urls = [*source.urls, *([Subscriber(source, own).all_entities] if own else [])]
    if not urls:
        raise invalid([fault("sample", "paste a message: there is no address to ask")])
    timeout_s = min(source.timeout_s, _FETCH_S)
    allowed = state().settings.fetching.allow

    def ask(url: str) -> Message:
        answer = fetch(
            url, headers=source.headers, tag=Tag(), timeout_s=timeout_s,
            max_bytes=source.max_bytes, allowed=allowed,
        )  # fmt: skip
        return Message(answer.body or b"", url, wall_ms())

    try:
        return aside(lambda: [ask(url) for url in urls])
    except FetchError as error:
        raise invalid([fault("urls", str(error))]) from None


def _first(found: Iterable[Found]) -> Iterator[Found]:
    """The first of what was found, and of what was refused: that is to be seen in any case."""
    refused = [one for one in found if isinstance(one, Refused)][: _MOST_SHOWN // 2]
    others = [one for one in found if not isinstance(one, Refused)]
    yield from refused
    yield from others[: _MOST_SHOWN - len(refused)]


def _sample_json(found: Found) -> dict[str, Any]:
    said = {"said": found.said} if isinstance(found, Refused) else {}
    return {**found.to_json(), **said}


def _origin(name: str, known: dict[str, made.Made]) -> dict[str, Any]:
    """Who made a source, whether it is to run, and its settings where an operator may change
    them."""
    one = known.get(name)
    if one is None or name in {source.name for source in state().settings.sources}:
        return {"origin": "files", "active": True, "settings": None}
    return {"origin": "operator", "active": one.is_active, "settings": made.shown(one.source)}


def _own(connection: Connection, name: str) -> made.Made:
    """A source that an operator made."""
    _refuse_of_file(name)
    found = made.listed(connection).get(name)
    if found is None:
        raise not_found(f"source {name!r}")
    return found


def _refuse_of_file(name: str) -> None:
    if name in {source.name for source in state().settings.sources}:
        detail = f"`{name}` stands in the configuration; change it there"
        raise ProblemError(409, "source-of-file", "Source of a file", detail)
