"""Making a backup of a system, which goes on running."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import psutil

from citywise.backend.backup.archive import FORMAT, Archive, Head
from citywise.backend.backup.errors import BackupError
from citywise.backend.backup.moments import Moment, held
from citywise.backend.ingest import belonging, log
from citywise.backend.ingest.keyring import Keyring
from citywise.backend.privacy import tombstones
from citywise.backend.settings import Settings
from citywise.backend.supervisor import last_played
from citywise.backend.times import iso

CONFIG = "citywise.toml"
SOURCE = "source.json"
_LEFT_OUT = {"__pycache__", ".git", ".venv", "node_modules"}


@dataclass
class _Part:
    name: str
    path: Path
    bytes: int


@dataclass
class Taken:
    """A backup that was made."""

    file: Path
    head: Head
    bytes: int
    """Of the file."""
    seconds: float
    left_out: list[str] = field(default_factory=list)
    """What it should hold and could not be read."""


def back_up(
    settings: Settings, file: Path, *, config: Path | None = None, passphrase: str | None = None
) -> Taken:
    """Write a backup of a system, running or stopped, into a file that is to be new.

    `config` is the file that the settings came from. Raises `BackupError`; then there is no file.
    """
    if file.exists():
        raise BackupError(f"{file}: it is there already; choose another name")
    if not file.parent.is_dir():
        raise BackupError(f"{file.parent}: there is no such folder")
    began = time.monotonic()
    with (
        _room(settings) as folder,
        held(settings.database_url, settings.log_dir, folder) as moment,
    ):
        (folder / "database").mkdir()
        moment.snapshot.save(folder / "database")
        left_out: list[str] = []
        parts = _parts(settings, moment, folder, left_out)
        texts = _texts(settings, moment, config)
        head = _head(settings, moment, parts, sum(map(len, texts.values())))
        size = _write(file, head, parts, texts, passphrase)
    return Taken(file, head, size, time.monotonic() - began, left_out)


@contextmanager
def _room(settings: Settings) -> Iterator[Path]:
    """A folder on the log's disk for copies; what a backup that was killed left is removed."""
    base = settings.data_dir / "tmp"
    if not settings.data_dir.is_dir():
        raise BackupError(f"{settings.data_dir}: there is no system in this folder")
    base.mkdir(exist_ok=True)
    for left in base.glob("backup-*"):
        if not psutil.pid_exists(int(left.name.split("-")[1])):
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"backup-{os.getpid()}-", dir=base))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _parts(settings: Settings, moment: Moment, folder: Path, left_out: list[str]) -> list[_Part]:
    """The files of a backup, but for the small ones that are made here."""
    found = [_Part(f"log/{s.name}", s.path, s.bytes) for s in moment.segments]
    found += _tree("database", folder / "database", left_out)
    (folder / "keys").mkdir()
    # After the moment: a key is older than whatever is sealed with it.
    copied = Keyring(settings.keys_dir).copy(folder / "keys")
    found += [_Part(f"keys/{path.name}", path, path.stat().st_size) for path in copied]
    found += _tree("city", settings.city_dir, left_out)
    found += _tree("tls", settings.data_dir / "tls", left_out)
    for above, folders in (("apps", settings.apps.folders), ("kinds", settings.kinds.folders)):
        for name, path in _named(folders).items():
            found += _tree(f"{above}/{name}", path, left_out)
    return found


def _named(folders: Sequence[str]) -> dict[str, Path]:
    """Folders of apps, or of kinds, that the configuration names, each by a name of its own."""
    named: dict[str, Path] = {}
    for text in folders:
        path = Path(text).resolve()
        name, number = path.name or "folder", 1
        while name in named:
            number += 1
            name = f"{path.name}-{number}"
        named[name] = path
    return named


def _tree(name: str, folder: Path, left_out: list[str]) -> list[_Part]:
    """All files of a folder; those that cannot be read are named."""
    found = []
    for above, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - _LEFT_OUT)
        for each in sorted(files):
            path = Path(above) / each
            if not os.access(path, os.R_OK):
                left_out.append(str(path))
            elif path.is_file():
                below = path.relative_to(folder).as_posix()
                found.append(_Part(f"{name}/{below}", path, path.stat().st_size))
    return found


def _texts(settings: Settings, moment: Moment, config: Path | None) -> dict[str, bytes]:
    """The parts that are made here."""
    texts = {"log/durable": log.packed_mark(moment.position)}
    mark = settings.log_dir / belonging.MARK
    if mark.is_file():
        texts[f"log/{belonging.MARK}"] = mark.read_bytes()
    if buried := tombstones.buried(settings.data_dir):
        texts["forgotten/people"] = tombstones.text(buried)
    if config is not None:
        texts[CONFIG] = config.read_bytes()
    if (played := last_played(settings.data_dir)) is not None:
        texts[SOURCE] = json.dumps(played).encode()
    return texts


def _head(settings: Settings, moment: Moment, parts: list[_Part], more: int) -> Head:
    return Head(
        format=FORMAT,
        citywise=version("citywise"),
        made=iso(moment.at_ms),
        made_ms=moment.at_ms,
        database=moment.snapshot.kind,
        revision=moment.snapshot.revision(),
        position=moment.position,
        bytes=sum(part.bytes for part in parts) + more,
        apps={name: str(path) for name, path in _named(settings.apps.folders).items()},
        kinds={name: str(path) for name, path in _named(settings.kinds.folders).items()},
    )


def _write(
    file: Path, head: Head, parts: list[_Part], texts: dict[str, bytes], passphrase: str | None
) -> int:
    """Write the archive beside its place and move it there when it is whole and on disk."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    partial = Path(name)
    try:
        with os.fdopen(handle, "wb") as output:
            with Archive(output, head, passphrase) as archive:
                for part in parts:
                    archive.file(part.name, part.path, part.bytes)
                for each, content in sorted(texts.items()):
                    archive.text(each, content)
            output.flush()
            os.fsync(output.fileno())
            size = output.tell()
        if file.exists():
            raise BackupError(f"{file}: it is there already; choose another name")
        partial.replace(file)
        log.sync_folder(file.parent)
    except OSError as error:
        raise BackupError(f"{file}: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)
    return size
