"""Looks at a system, running or stopped, and says what is wrong with it and what to do.

Nothing is changed, and nothing is started. What one part does not allow to look at keeps nobody
from looking at the others.
"""

from __future__ import annotations

import os
import shutil
import ssl
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from cryptography import x509
from pydantic import BaseModel
from sqlalchemy import Engine, func, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from citywise.backend import causes, machine, mqtt
from citywise.backend.errors import CitywiseError
from citywise.backend.ingest import log
from citywise.backend.ingest.frames import LogError
from citywise.backend.machine import MachineError
from citywise.backend.mail import transport
from citywise.backend.operations import fitting, readiness
from citywise.backend.packs.check import checked
from citywise.backend.packs.library import available
from citywise.backend.people import accounts
from citywise.backend.settings import Settings
from citywise.backend.store import schema
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import CursorRow, HeartbeatRow
from citywise.backend.times import wall_ms

Severity = Literal["error", "warning", "note", "fine"]
_SOON = timedelta(days=21)
_LARGE_BYTES = 500_000_000
"""A database that is larger is not read as a whole while somebody waits."""
_OF_CONFIGURATION = ("configuration", "certificate", "machine", "mail")
"""What can be looked at before there is a system."""
_MAIL_S = 5
"""How long the mail server may take for each answer while somebody waits; six times that in all."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class Finding:
    """What was found of a part, and what to do about it."""

    severity: Severity
    part: str
    found: str
    cure: str = ""


def examine(settings: Settings, *, running: bool) -> Iterator[Finding]:
    """All findings; `settings` are those of the system as it runs, where it does."""
    rooms: list[tuple[str, Callable[[Settings], Iterator[Finding]]]] = [
        ("configuration", _files),
        ("configuration", _openness),
        ("certificate", _certificate),
        ("disk", _disk),
        ("database", _database),
        ("apps", _apps),
        *([("system", _processes)] if running else [("machine", _machine)]),
        ("broker", _broker),
        ("mail", _mail),
    ]
    if not settings.data_dir.is_dir():
        yield Finding(
            "warning",
            "disk",
            f"{settings.data_dir} is not there: no system has run with this configuration here",
            "start one, or look for the folder that it should be",
        )
        rooms = [room for room in rooms if room[0] in _OF_CONFIGURATION]
    for part, look in rooms:
        try:
            yield from look(settings)
        except (CitywiseError, OSError, SQLAlchemyError) as error:
            yield Finding("error", part, _line(error))


def _line(error: Exception) -> str:
    if isinstance(error, SQLAlchemyError):
        return f"{type(error).__name__}: {str(error.args[0]) if error.args else ''}"
    return str(error)


# -- what is configured -------------------------------------------------------------------


def _files(settings: Settings) -> Iterator[Finding]:
    """Files and folders that the configuration names."""
    named = list(_paths(settings))
    for key, path in named:
        if not path.exists():
            yield Finding("error", "configuration", f"{key}: {path} is not there", "mend the path")
        elif not os.access(path, os.R_OK):
            cure = "let the user that runs Citywise read it"
            yield Finding("error", "configuration", f"{key}: {path} cannot be read", cure)


def _paths(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, Path]]:
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _paths(value, f"{prefix}{name}.")
        elif isinstance(value, Path) and f"{prefix}{name}" not in ("data_dir", "city.folder"):
            yield f"{prefix}{name}", value


def _openness(settings: Settings) -> Iterator[Finding]:
    """Whether more is open than is meant to be."""
    web, people = settings.web, settings.people
    if not web.is_local and not web.is_secure:
        yield Finding(
            "warning",
            "configuration",
            f"web.host is {web.host}, and the pages come over plain HTTP",
            "set web.certificate and web.private_key, or a proxy and web.public_url "
            "(docs/deployment.md)",
        )
    if people.sign_up == "open" and not web.is_local:
        yield Finding(
            "note", "configuration", "everybody may sign up", "set people.sign_up to `invited`"
        )
    if not people.rate_limits:
        yield Finding(
            "warning",
            "configuration",
            "people.rate_limits is off: passwords can be guessed",
            "leave it out",
        )


def _certificate(settings: Settings) -> Iterator[Finding]:
    web = settings.web
    if web.certificate is None or web.private_key is None:
        return
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(web.certificate, web.private_key)
        found = x509.load_pem_x509_certificates(web.certificate.read_bytes())[0]
    except (ssl.SSLError, ValueError) as error:
        yield Finding(
            "error",
            "certificate",
            f"{web.certificate} and {web.private_key} do not belong together: {error}",
            "give the chain and its own key (PEM)",
        )
        return
    until, now = found.not_valid_after_utc, datetime.now(UTC)
    if until < now:
        yield Finding("error", "certificate", f"{web.certificate} ended {until:%F}", "renew it")
    elif until < now + _SOON:
        yield Finding("warning", "certificate", f"{web.certificate} ends {until:%F}", "renew it")
    if found.not_valid_before_utc > now:
        cure = "look at the machine's clock"
        yield Finding("error", "certificate", f"{web.certificate} is not valid yet", cure)


# -- what is kept ---------------------------------------------------------------------------


def _disk(settings: Settings) -> Iterator[Finding]:
    folder = settings.data_dir
    for path in (folder, settings.log_dir):
        if path.exists() and not os.access(path, os.W_OK):
            cure = "run Citywise as its owner, or mount its disk for writing"
            yield Finding("error", "disk", f"{path} cannot be written", cure)
    if folder.stat().st_mode & _OTHERS and any(
        path.stat().st_mode & _OTHERS for path in folder.glob("citywise.db*")
    ):
        yield Finding("warning", "disk", f"others may read {folder}", f"chmod -R go= {folder}")
    free, least = shutil.disk_usage(folder).free, settings.ingest.min_free_bytes
    if free < least:
        cure = "make room; until then nothing is taken in (ingest.min_free_bytes)"
        yield Finding("error", "disk", f"{free:,} bytes are free on the disk of {folder}", cure)
    elif free < 4 * least:
        yield Finding("warning", "disk", f"{free:,} bytes are free on the disk of {folder}", "")
    size = sum(path.stat().st_size for path in settings.log_dir.glob("*.log"))
    yield Finding("fine", "disk", f"{free:,} bytes are free; the log has {size:,}")


def _database(settings: Settings) -> Iterator[Finding]:
    place = make_url(settings.database_url)
    if place.get_backend_name() == "sqlite" and not Path(place.database or "").is_file():
        yield Finding("warning", "database", f"{place.database} is not there", "start the system")
        return
    with closing(_Opened(create_engine_for(settings.database_url))) as opened:
        with opened.engine.connect() as connection:
            revision = schema.revision_of(connection)
        schema.refuse_newer(revision, place.render_as_string(hide_password=True))
        if waiting := schema.steps(revision):
            cure = "`citywise upgrade --check` says what that means"
            said = f"{len(waiting)} changes of its schema come with the next start"
            yield Finding("note", "database", said, cure)
            return
        yield from _content(opened.engine, settings)


class _Opened:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def close(self) -> None:
        self.engine.dispose()


def _content(engine: Engine, settings: Settings) -> Iterator[Finding]:
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            file = Path(engine.url.database or "")
            if file.stat().st_size <= _LARGE_BYTES:
                found = connection.execute(text("PRAGMA quick_check(1)")).scalar_one()
                if found != "ok":
                    cure = "bring back a backup (docs/backup.md)"
                    yield Finding("error", "database", f"{file} is damaged: {found}", cure)
        try:
            fitting.check(connection, settings)
        except (fitting.LogBehindError, LogError) as error:
            yield Finding("error", "log", str(error))
        else:
            end = log.durable_end(settings.log_dir)
            furthest = connection.scalar(select(func.max(CursorRow.position))) or 0
            said = f"log and database belong together; {end - furthest:,} bytes are not answered"
            yield Finding("fine", "log", said)
        newest = connection.scalar(select(func.max(HeartbeatRow.at_ms)))
        if newest is not None and newest > wall_ms() + 60_000:
            ahead = (newest - wall_ms()) // 1000
            yield Finding(
                "error",
                "machine",
                f"the machine's clock is {ahead} s behind what it was when the system ran last",
                "set the clock: logins, retention and windows go by it",
            )
        if not accounts.has_admin(connection) and not settings.people.demo_user:
            cure = "use the link that the start prints, or `citywise user add NAME --role admin`"
            yield Finding("warning", "people", "nobody is an admin", cure)


def _apps(settings: Settings) -> Iterator[Finding]:
    folders = [Path(folder) for folder in settings.apps.folders]
    missing = [path for path in folders if not path.is_dir()]
    for path in missing:
        yield Finding("error", "apps", f"{path} is not there", "mend apps.folders")
    for folder in available([path for path in folders if path not in missing]):
        try:
            checked(folder)
        except CitywiseError as error:
            ours = any(folder == path or path in folder.parents for path in folders)
            cure = f"`citywise check {folder}` says more"
            yield Finding("error" if ours else "warning", "apps", str(error), cure)


# -- what runs ------------------------------------------------------------------------------


def _processes(settings: Settings) -> Iterator[Finding]:
    """Of a running system: what `/readyz` says, and why a process died."""
    engine = create_engine_for(settings.database_url)
    try:
        checks = readiness.check_all(engine, settings)
    finally:
        engine.dispose()
    for check in checks:
        if check.reason is not None:
            yield Finding("error", "system", check.reason, _help(check.name))
    failed = [check for check in checks if not check.ok]
    logs = settings.data_dir / "logs"
    for role in ("ingest", "pipeline", "notifier", "web") if failed else ():
        lines = causes.cause(logs / f"{role}.log") if (logs / f"{role}.log").exists() else []
        if any("ERROR" in line or "Error" in line for line in lines):
            yield Finding("note", "system", f"{logs / role}.log says: {lines[0][:300]}")
    if not failed:
        yield Finding("fine", "system", "it runs, and is ready")


def _help(check: str) -> str:
    return {
        "ingest_blocked": "make room on the disk, or mend the request that it names",
        "broker_connected": "look whether the broker runs, and at its password",
        "first_batch": "wait while it starts; else look into data_dir/logs/pipeline.log",
        "backlog_s": "wait, if it gets less; else give it more cores, or fewer requests",
        "requests_behind_bytes": "the page System says why",
    }.get(check, "look into data_dir/logs")


def _machine(settings: Settings) -> Iterator[Finding]:
    """Of a stopped system: whether it could start here."""
    needs = [machine.java_home, *([machine.node] if settings.broker.embedded else [])]
    for find in needs:
        try:
            find()
        except MachineError as error:
            yield Finding("error", "machine", str(error))
    web = settings.web
    ports = {"web.port": (web.host, web.port)}
    if settings.broker.embedded:
        ports["broker.port"] = (settings.broker.host, settings.broker.port)
    for key, (host, port) in ports.items():
        if port and not machine.is_free(host, port):
            cure = "end what listens there, or choose another"
            yield Finding("error", "machine", f"{key}: port {port} of {host} is taken", cure)
    yield Finding("note", "system", "it does not run")


def _broker(settings: Settings) -> Iterator[Finding]:
    broker = settings.broker
    if broker.embedded:
        return
    began = time.monotonic()
    mqtt.look_for_broker(broker)
    took = time.monotonic() - began
    yield Finding("fine", "broker", f"{broker.host}:{broker.port} answers ({took:.2f} s)")


def _mail(settings: Settings) -> Iterator[Finding]:
    """Whether the mail server lets us in; it is given no letter."""
    mail = settings.mail
    if mail.host is None:
        return
    began = time.monotonic()
    try:
        with transport.connected(
            mail.model_copy(update={"timeout_s": min(mail.timeout_s, _MAIL_S)})
        ):
            took = time.monotonic() - began
    except transport.ServerError as error:
        found, _, cure = str(error).rpartition("; ")
        yield Finding("error", "mail", f"{found}: no letters leave", cure)
        return
    as_whom = "" if mail.username is None else f" and knows {mail.username}"
    said = f"{mail.host}:{mail.port} answers{as_whom} ({took:.2f} s); no letter was sent"
    yield Finding("fine", "mail", said)
