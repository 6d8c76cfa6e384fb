"""Sources that operators make while the system runs, as the database has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError
from sqlalchemy import Connection, delete, exists, select, update

from citywise.backend.errors import CitywiseError
from citywise.backend.settings import Broker, Settings, Source
from citywise.backend.store.models import PostedRow, SourceRow
from citywise.backend.store.upsert import upsert

SECRETS = ("headers", "secret", "broker")
"""Settings that hold keys: no answer shows what they hold."""


@dataclass(frozen=True)
class Made:
    """A source, whether it is to run, and how often it was changed."""

    source: Source
    is_active: bool
    version: int


def listed(connection: Connection) -> dict[str, Made]:
    """The sources by name; one that a newer Citywise wrote and that cannot be read is left out."""
    found: dict[str, Made] = {}
    for row in connection.execute(select(SourceRow.__table__).order_by(SourceRow.name)):
        try:
            source = Source.model_validate(row.body)
        except ValidationError:
            continue
        found[row.name] = Made(source, row.is_active, row.version)
    return found


def is_any_active(connection: Connection) -> bool:
    """Whether a source is to run."""
    return bool(connection.scalar(select(exists().where(SourceRow.is_active))))


def at_own_broker(connection: Connection, settings: Settings) -> dict[str, tuple[str, ...]]:
    """By name, the topics of those sources that run and are read at the city's own broker."""
    made = (one.source for one in listed(connection).values() if one.is_active)
    every = {source.name: source for source in (*made, *settings.sources)}
    return {
        name: source.topics
        for name, source in sorted(every.items())
        if source.broker is None
        and source.topics
        and not any(is_own(topic, settings.broker) for topic in source.topics)
    }


class OwnTopicError(CitywiseError):
    """A source is to read what may be the city's own."""


def is_own(topic: str, broker: Broker) -> bool:
    """Whether a topic may be the city's own."""
    first = topic.split("/", 1)[0]
    return first in ("+", "#", broker.prefix.split("/", 1)[0]) or first.startswith("$")


def refuse_own_topics(source: Source, broker: Broker) -> None:
    """Raise `OwnTopicError` for a source that would read the city's own topics, such as where
    people are, at the embedded broker."""
    for topic in source.topics if broker.embedded and source.broker is None else ():
        if is_own(topic, broker):
            raise OwnTopicError(
                f"`{topic}` may be one of the city's own topics, which sources do not read; begin "
                f"with another name than `{broker.prefix}`, such as `homeassistant/#`"
            )


def put(connection: Connection, source: Source, *, is_active: bool) -> None:
    """Make a source, or change the one of its name."""
    row = {
        "name": source.name,
        "body": source.model_dump(mode="json", exclude_defaults=True),
        "is_active": is_active,
        "version": 1,
    }
    upsert(connection, SourceRow, [row], add=("version",))


def switch(connection: Connection, name: str, *, is_active: bool) -> None:
    """Have a source run, or not."""
    version = SourceRow.version + 1
    values = {"is_active": is_active, "version": version}
    connection.execute(update(SourceRow).where(SourceRow.name == name).values(values))


def remove(connection: Connection, name: str) -> bool:
    """Remove a source with what was posted for it; False where there is none."""
    connection.execute(delete(PostedRow).where(PostedRow.source == name))
    return bool(connection.execute(delete(SourceRow).where(SourceRow.name == name)).rowcount)


def shown(source: Source) -> dict[str, Any]:
    """The settings of a source without its secrets: of headers the names are told, of a broker
    all but the password."""
    body = source.model_dump(mode="json", exclude_defaults=True, exclude={"secret"})
    if source.headers:
        body["headers"] = dict.fromkeys(source.headers, "")
    if source.broker is not None:
        told = source.broker.model_dump(mode="json", exclude_defaults=True, exclude={"password"})
        body["broker"] = told
    return body | {"has_secret": source.secret is not None}


class ForgottenError(CitywiseError):
    """Headers go to another server than before, and their values are not told."""

    def __init__(self, headers: Sequence[str]) -> None:
        super().__init__(
            "the value that was kept is not sent to another server than before; write it once more"
        )
        self.headers = headers


def with_secrets(told: dict[str, Any], before: Source | None) -> dict[str, Any]:
    """Settings as an operator sent them, completed by the secrets that no answer shows.

    A secret stays only where it is sent to the same servers: nobody is to learn one by having
    it sent elsewhere. Raises `ForgottenError` where a header would be left without its value.
    """
    if before is None:
        return told
    found = dict(told)
    if "secret" not in found and before.secret is not None:
        found["secret"] = before.secret
    headers = found.get("headers")
    if isinstance(headers, dict) and _servers(found) <= _servers(before.model_dump()):
        found["headers"] = {n: v or before.headers.get(n, "") for n, v in headers.items()}
    elif isinstance(headers, dict):
        empty = [name for name, value in headers.items() if not value and before.headers.get(name)]
        if empty:
            raise ForgottenError(empty)
    broker, known = found.get("broker"), before.broker
    if isinstance(broker, dict) and known is not None and not broker.get("password"):
        same = (broker.get("host"), broker.get("port")) == (known.host, known.port)
        if same and known.password is not None:
            found["broker"] = {**broker, "password": known.password}
    return found


def _servers(body: dict[str, Any]) -> set[tuple[str, str]]:
    """The servers that a source's headers are sent to."""
    told = body.get("subscribe")
    broker = told.get("broker") if isinstance(told, dict) else None
    urls = body.get("urls")
    every = [*(urls if isinstance(urls, list | tuple) else []), *([broker] if broker else [])]
    found = set()
    for url in every:
        try:
            parts = urlsplit(str(url))
        except ValueError:
            continue
        found.add((parts.scheme, parts.netloc))
    return found
