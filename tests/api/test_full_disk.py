"""What is answered, and what goes on, where there is no room to write."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from flask import Flask
from sqlalchemy import Engine, create_engine, event, text, update
from sqlalchemy.exc import OperationalError

from citywise.apps.meeting_mgr.model import APP
from citywise.backend import machine
from citywise.backend.broker import EmbeddedBroker
from citywise.backend.settings import Ingest, People, Settings
from citywise.backend.store.models import LoginRow
from citywise.backend.store.outage import is_full
from citywise.backend.supervisor import Child, System
from citywise.backend.times import wall_ms
from tests.api.browsers import PASSWORD, Browser
from tests.api.town import soon
from tests.meeting_mgr.hosted import BUSINESS
from tests.meeting_mgr.system import Meetings, Running, running

# --- Telling it ----------------------------------------------------------------------------------


def written_to_a_full_one(file: Path) -> OperationalError:
    """What is raised where a database cannot grow."""
    engine = create_engine(f"sqlite:///{file}")
    with engine.connect() as connection:
        connection.execute(text("CREATE TABLE t (x)"))
        connection.execute(text("PRAGMA max_page_count=1"))
        with pytest.raises(OperationalError) as raised:
            connection.execute(text("INSERT INTO t VALUES (zeroblob(100000))"))
    engine.dispose()
    return raised.value


def test_a_full_database_is_told_from_one_that_is_away(tmp_path: Path) -> None:
    assert is_full(written_to_a_full_one(tmp_path / "full.db"))
    with pytest.raises(OperationalError) as raised:
        create_engine(f"sqlite:///{tmp_path / 'no' / 'folder.db'}").connect()
    assert not is_full(raised.value)


def test_a_full_disk_is_found_in_what_an_error_was_raised_from() -> None:
    reason = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(RuntimeError) as raised:
        raise RuntimeError("cannot write the key") from reason
    assert is_full(raised.value)
    assert is_full(OSError(errno.EDQUOT, "Disk quota exceeded"))
    assert not is_full(OSError(errno.EACCES, "Permission denied"))
    assert not is_full(sqlite3.OperationalError("database is locked"))


# --- What the web answers ------------------------------------------------------------------------


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path)


@contextmanager
def full(engine: Engine, error: OperationalError) -> Iterator[None]:
    """In this block nothing can be written into the database."""

    def refuse(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.split(None, 1)[0].upper() in {"INSERT", "UPDATE", "DELETE"}:
            raise error

    event.listen(engine, "before_cursor_execute", refuse)
    try:
        yield
    finally:
        event.remove(engine, "before_cursor_execute", refuse)


def test_what_cannot_be_kept_is_a_507_and_what_is_read_is_answered(
    app: Flask, engine: Engine, tmp_path: Path
) -> None:
    anna = Browser.of(app)
    assert anna.sign_up("Anna").status_code == 201
    with engine.begin() as connection:  # so that it would be noted that she was here
        connection.execute(update(LoginRow).values(seen_ms=0))
    with full(engine, written_to_a_full_one(tmp_path / "full.db")):
        for path in ("/me", "/events", "/clock", "/instances"):
            assert anna.get(path).status_code == 200
        for refused in (Browser.of(app).sign_up("Berta"), anna.post("/meetings", BUSINESS)):
            assert refused.status_code == 507
            assert refused.json["type"] == "urn:citywise:problem:disk-full"
    assert Browser.of(app).sign_up("Berta").status_code == 201


# --- Whoever keeps the system running ------------------------------------------------------------


def test_orders_are_whole_at_every_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that ends on a full disk has to find them when there is room again."""
    system = System(Settings(data_dir=tmp_path))
    system._write_orders()
    before = system._orders.read_text()

    def refused(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fdopen", refused)
    monkeypatch.setattr(Path, "write_text", refused)
    system.play = {"start": "2014-08-05T06:00:00Z"}
    with pytest.raises(OSError, match="No space left"):
        system._write_orders()
    assert system._orders.read_text() == before


def test_what_cannot_be_started_again_is_tried_until_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = System(Settings(data_dir=tmp_path))
    with subprocess.Popen(["true"], stdin=subprocess.PIPE) as ended:
        ended.wait()
    system.children["web"] = Child("web", ended, 0.0, restart_at=0.0)
    tried: list[str] = []

    def spawn(role: str) -> None:
        tried.append(role)
        if len(tried) < 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        del system.children[role]

    monkeypatch.setattr(system, "spawn", spawn)
    for _ in range(5):
        system.tend()
    assert tried == ["web"] * 3


def test_a_broker_that_cannot_be_started_again_is_tried_until_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may do what is written into a file before it starts."""
    system = System(Settings(data_dir=tmp_path))
    system.broker = EmbeddedBroker()
    tried: list[bool] = []

    def write(*_: object) -> None:
        tried.append(True)
        if len(tried) < 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        system.broker = None

    monkeypatch.setattr(system, "start_broker", write)
    for _ in range(5):
        system.tend()
    assert len(tried) == 3


def test_what_is_counted_lies_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is mapped: on a full disk, counting a request would kill the process."""
    memory = tmp_path / "memory"
    memory.mkdir()
    monkeypatch.setattr(machine, "_MEMORY", memory)
    found = machine.folder_in_memory("x", tmp_path / "disk")
    assert found.parent == memory
    assert found.stat().st_mode & 0o777 == 0o700
    (found / "old").touch()
    assert not list(machine.folder_in_memory("x", tmp_path / "disk").iterdir())


def test_where_there_is_no_memory_for_it_it_lies_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_MEMORY", tmp_path / "none")
    assert machine.folder_in_memory("x", tmp_path / "disk") == tmp_path / "disk"
    taken = tmp_path / "memory"
    taken.mkdir()
    monkeypatch.setattr(machine, "_MEMORY", taken)
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
    (taken / f"x-{os.getuid()}").mkdir()  # somebody else's, which we cannot remove
    assert machine.folder_in_memory("x", tmp_path / "other") == tmp_path / "other"


# --- A disk that is full -------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 60 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=60m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("file systems cannot be mounted here (that needs root)")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


class WithIngest(Meetings):
    """With all processes but Spark's."""

    @property
    def roles(self) -> Sequence[str]:
        return ("ingest", "notifier", *super().roles)


def fill(folder: Path) -> Path:
    """Take all room; the file that has it."""
    file = folder / "fill"
    with file.open("wb", buffering=0) as output, suppress(OSError):
        while True:
            output.write(b"x" * 4096)
    return file


def ask(city: Running, path: str, body: Any = None) -> int:
    request = urllib.request.Request(
        f"{city.url}/api/v1{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Origin": city.url},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.thorough
def test_the_web_lives_on_a_full_disk_and_all_are_back_when_there_is_room(disk: Path) -> None:
    settings = Settings(
        data_dir=disk / "data",
        ingest=Ingest(min_free_bytes=1_000_000),
        people=People(rate_limits=False),
    )
    with running(disk, settings, WithIngest) as city:
        children = city.system.children

        def workers() -> list[int]:
            return [one.pid for one in psutil.Process(children["web"].process.pid).children()]

        before = workers()
        filling = fill(disk)
        for _ in range(3):
            assert [ask(city, path) for path in ("/events", "/clock", "/places")] == [200] * 3
            assert ask(city, "/accounts", {"name": "Anna", "password": PASSWORD}) == 507
        assert workers() == before, "nothing has died"
        for role in ("ingest", "notifier"):  # and who dies now of something else
            children[role].process.send_signal(signal.SIGKILL)
            children[role].process.wait()
        for _ in range(5):
            city.system.tend()
        filling.unlink()
        since_ms = wall_ms()

        def is_back() -> bool:
            city.system.tend()
            return all((city.beat_ms(role) or 0) > since_ms for role in ("ingest", "notifier", APP))

        soon(is_back, 60)
        assert ask(city, "/accounts", {"name": "Anna", "password": PASSWORD}) == 201
