"""Who may do what at the broker, told to it in a file: one entry for each device.

The web process writes the file anew when tokens, accounts, roles, sources or what apps let in
change; the embedded broker reads it again within a second and disconnects whom it no longer names.
For mosquitto the same is written as a password file and an access control list
(docs/deployment.md).
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, Engine, select

from citywise.backend.errors import CitywiseError
from citywise.backend.network.secret_files import replace
from citywise.backend.network.topics import Device
from citywise.backend.outgoing.topics import OPEN
from citywise.backend.packs.parts import Devices, Parts, of_settings, within
from citywise.backend.people.scopes import Known
from citywise.backend.people.secret import broker_hash
from citywise.backend.people.tokens import OF_CITY, Token, valid
from citywise.backend.settings import Settings
from citywise.backend.sources import made as made_sources
from citywise.backend.store.models import PlaceRow


class RightsError(CitywiseError):
    """The settings do not say who our own processes are; the message says what to set."""


SOURCES = "$sources"
"""Where the file has the topics of sources, by name; no device is called so."""
_PLACES = "places/#"
_READINGS = ("observations/#", "events/#")


def path(settings: Settings) -> Path:
    """The embedded broker's file: secret, and written by `write` alone."""
    return settings.data_dir.resolve() / "broker-rights.json"


def write(engine: Engine, settings: Settings) -> None:
    """Tell the embedded broker the devices' rights as the database has them now.

    Call it after the commit of whatever changes tokens, disables or removes an account, or
    changes whom an app lets in. With an external broker it does nothing.
    """
    if not settings.broker.embedded:
        return
    file = path(settings)
    file.parent.mkdir(parents=True, exist_ok=True)
    # Who reads last must write last: a token that was taken back must not come back.
    with file.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with engine.connect() as connection:
            tokens = valid(connection)
            others = _devices(connection, of_settings(settings))
            topics = made_sources.at_own_broker(connection, settings)
        entries: dict[str, object] = {SOURCES: topics} if topics else {}
        entries |= {token.id: _entry(token, password) for token, password in tokens}
        entries |= {device.name: _entry_of(device) for device in others}
        replace(file, json.dumps(entries).encode())


def write_for_mosquitto(engine: Engine, settings: Settings, folder: Path) -> list[Path]:
    """Write mosquitto's `passwords` and `acl` into a folder and return their paths.

    `broker.username`, who is our own processes, gets all rights under the prefix; lines for
    users of your own come from `passwords.own` and `acl.own` in the same folder. Raises
    `RightsError` where that user has no password.
    """
    broker = settings.broker
    if broker.username is None or broker.password is None:
        raise RightsError(
            "broker.username and broker.password say who our own processes are at the broker; "
            "set both (the password as CITYWISE_SET__BROKER__PASSWORD)"
        )
    apps = of_settings(settings)
    with engine.connect() as connection:
        tokens, others = valid(connection), _devices(connection, apps)
        scoped = any(token.scope for token, _password in tokens)
        places = _places(connection) if scoped else []
        topics = made_sources.at_own_broker(connection, settings)
    passwords = [f"{broker.username}:{broker_hash(broker.password)}"]
    passwords += [f"{token.id}:{password}" for token, password in tokens]
    passwords += [f"{device.name}:{device.hash}" for device in others]
    rules = [f"user {broker.username}", f"topic readwrite {broker.prefix}/#"]
    rules += [f"topic read {topic}" for own in topics.values() for topic in own]
    sensors = [*_READINGS, *(topic for parts in apps.values() for topic in parts.topics.sensors)]
    for token, _ in tokens:
        rules += [f"user {token.id}", *_acl(broker.prefix, token, sensors, places)]
        written = (topic for name, own in topics.items() if _may_send(token, name) for topic in own)
        rules += [f"topic write {topic}" for topic in written]
    for device in others:
        written = (f"topic write {broker.prefix}/{topic}" for topic in device.write)
        rules += [f"user {device.name}", *written]
    return [_write(folder / "passwords", passwords), _write(folder / "acl", rules)]


def _entry(token: Token, password: str) -> dict[str, object]:
    scope = token.scope.model_dump(mode="json") if token.scope else None
    return {
        "user": token.account,
        "rights": sorted(token.rights),
        "hash": password,
        "expires_ms": token.expires_ms,
        **({"scope": scope} if scope else {}),
    }


def _devices(connection: Connection, apps: Mapping[str, Parts]) -> list[Device]:
    """Whom apps let in without tokens."""
    found: list[Device] = []
    for app, parts in apps.items():
        if parts.devices is not None:
            within(connection, app, "devices", partial(_let_in, found, connection, parts.devices))
    return found


def _let_in(found: list[Device], connection: Connection, devices: Devices) -> None:
    found += list(devices(connection))


def _entry_of(device: Device) -> dict[str, object]:
    return {
        "user": device.user,
        "write": device.write,
        "hash": device.hash,
        "expires_ms": device.expires_ms,
    }


def _places(connection: Connection) -> list[Known]:
    rows = connection.execute(select(PlaceRow.id, PlaceRow.kind, PlaceRow.body))
    every = [Known(row.id, row.kind, tuple(row.body.get("sensors", ()))) for row in rows]
    return sorted(every)


def _acl(
    prefix: str, token: Token, sensors: Iterable[str], places: Sequence[Known]
) -> Iterable[str]:
    """What the embedded broker allows a token (`ofToken`), in mosquitto's words.

    A scoped token gets the own topics of the sensors and places that there are: mosquitto knows
    no such patterns, and does not look into messages at a shared topic.
    """
    rights, notices = token.rights, f"notices/{token.account}/{token.id}"
    yield from (f"topic read {prefix}/{topic}" for topic in OPEN)
    if rights & {"notices", "all"}:
        yield f"topic read {prefix}/{notices}"
        yield f"topic write {prefix}/{notices}/seen"
    if rights & {"context", "all"}:
        yield f"topic write {prefix}/context/{token.account}"
    written = [f"status/{token.id}"] if rights & OF_CITY else []
    scope = token.scope
    if "sensors" in rights:
        own = bool(scope and (scope.kinds or scope.sensors or scope.sources))
        written += scope.observation_topics(places) if scope and own else sensors
    if "places" in rights:
        written += scope.place_topics(places) if scope else [_PLACES]
    yield from (f"topic write {prefix}/{topic}" for topic in written)


def _may_send(token: Token, source: str) -> bool:
    """Whether a token may send at the topics of a source."""
    return "sensors" in token.rights and (token.scope is None or token.scope.sends_to(source))


def _write(file: Path, lines: list[str]) -> Path:
    """Write lines after those of the file beside it that is the operator's own."""
    own = file.with_name(f"{file.name}.own")
    before = own.read_text(encoding="utf-8").splitlines() if own.exists() else []
    replace(file, "".join(f"{line}\n" for line in [*before, *lines]).encode())
    return file
