"""Bringing a backup back onto an empty machine: all of it or nothing.

Everything is unpacked beside its place and verified there: the archive by its manifest, the
database by SQLite, the log by its checksums, and all of them as belonging together. Whoever was
forgotten since is forgotten. Only then it is moved to its place.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from citywise.backend import own_files
from citywise.backend.backup import copies
from citywise.backend.backup.archive import Head, Part, opened
from citywise.backend.backup.errors import BackupError, DamagedBackupError
from citywise.backend.backup.taking import CONFIG, SOURCE
from citywise.backend.ingest import log
from citywise.backend.operations import fitting
from citywise.backend.privacy import forgetting, tombstones
from citywise.backend.settings import Settings
from citywise.backend.store import schema
from citywise.backend.store.database import create_engine_for, migrate
from citywise.backend.supervisor import ORDERS

_PIECE = 1 << 20
_SPARE_BYTES = 50_000_000


@dataclass(frozen=True)
class Restored:
    """What was brought back, and how to go on with it."""

    head: Head
    forgotten: int
    """Accounts that were forgotten since the backup was made, and now are again."""
    knows_forgotten: bool
    """Whether a list of who was forgotten lay beside the backup, or was given."""
    config: Path | None
    played: bool
    """Whether the system had a source of its own: it was a demo."""
    apps: list[Path]


def restore(
    file: Path,
    state: Path,
    *,
    passphrase: str | None = None,
    database: str | None = None,
    forgotten: Sequence[Path] = (),
) -> Restored:
    """Bring a backup back into a folder that is empty or not there, and of PostgreSQL into the
    empty database at the URL `database`. `forgotten` are files of tombstones.

    Raises `BackupError` and its kinds, or `CitywiseError` for a state that is not sound; then
    nothing was changed.
    """
    if state.exists() and (not state.is_dir() or any(state.iterdir())):
        raise BackupError(f"{state}: it is not empty; restore into a new folder")
    beside = file.resolve().parent / tombstones.BESIDE
    lists = [*forgotten, *([beside] if beside.exists() else [])]
    with _staged(state.absolute()) as folder:
        with opened(file, passphrase) as (head, parts):
            _refuse(head, database, folder)
            for part in parts:
                _unpack(part, folder)
        buried = tombstones.merged([tombstones.buried(folder), *map(tombstones.read, lists)])
        since = {digest for digest, at_ms in buried.items() if at_ms >= head.made_ms}
        with _database(head, folder, database) as connection:
            count = _settle(connection, folder, buried, since)
            fitting.check(connection, Settings(data_dir=folder))
            config = _configure(folder, state.absolute(), head, database)
            apps = [state / "apps" / name for name in head.apps]
            played = (folder / ORDERS).exists()
            if head.database == "postgresql":  # to commit is the last that can fail
                _place(folder, state.absolute())
                _commit(connection, state)
        if head.database == "sqlite":
            _place(folder, state.absolute())
    own = None if config is None else state / CONFIG
    return Restored(head, count, bool(lists), own, played, apps)


@contextmanager
def _staged(state: Path) -> Iterator[Path]:
    """A folder on the disk where the state will be; nothing stays of it after an error."""
    state.parent.mkdir(parents=True, exist_ok=True)
    own_files.keep_from_others()
    above = state if state.is_mount() else state.parent
    folder = Path(tempfile.mkdtemp(prefix=".citywise-restoring-", dir=above))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _refuse(head: Head, database: str | None, folder: Path) -> None:
    """Raise where a backup cannot be restored here, before anything is unpacked."""
    schema.refuse_newer(head.revision, "the backup")
    if head.database == "postgresql" and database is None:
        raise BackupError("it is of a system with PostgreSQL: name an empty one with --database")
    if database is not None and make_url(database).get_backend_name() != head.database:
        raise BackupError(f"it holds a database of {head.database}; --database names another kind")
    free = shutil.disk_usage(folder).free
    if free < head.bytes + _SPARE_BYTES:
        raise BackupError(f"it needs {head.bytes:,} bytes, but only {free:,} are free")


def _unpack(part: Part, folder: Path) -> None:
    path = folder / part.name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        while piece := part.file.read(_PIECE):
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())


# -- the database -------------------------------------------------------------------------


@contextmanager
def _database(head: Head, folder: Path, url: str | None) -> Iterator[Connection]:
    """The database, filled; what is done with the connection is committed at the end, where it
    is a file."""
    source, file = folder / "database", folder / "citywise.db"
    is_file = head.database == "sqlite"
    if is_file and not (source / file.name).is_file():
        raise DamagedBackupError("it has no database")
    if is_file:
        (source / file.name).rename(file)
    assert is_file or url is not None
    engine = create_engine_for(f"sqlite:///{file}") if is_file else create_engine(url or "")
    try:
        with engine.connect() as connection:
            if is_file:
                _examine(connection)
            else:
                copies.load(connection, source)
            shutil.rmtree(source)
            yield connection
            connection.commit()
        if is_file:
            with engine.connect() as connection:
                connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
    except SQLAlchemyError as error:
        raise BackupError(f"the database cannot be restored: {error}") from error
    finally:
        engine.dispose()


def _examine(connection: Connection) -> None:
    found = connection.execute(text("PRAGMA integrity_check")).scalar_one()
    if found != "ok":
        raise DamagedBackupError(f"its database is damaged: {found}")
    connection.rollback()


def _commit(connection: Connection, state: Path) -> None:
    """Commit, or take back what was put into place."""
    try:
        connection.commit()
    except SQLAlchemyError:
        for path in state.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        raise


def _settle(
    connection: Connection, folder: Path, buried: Mapping[str, int], since: set[str]
) -> int:
    """Forget who was forgotten since, and keep all tombstones; returns how many accounts went."""
    if buried:
        (folder / tombstones.FOLDER).mkdir(exist_ok=True)
        (folder / tombstones.FOLDER / "people").write_bytes(tombstones.text(buried))
    if not since:
        return 0
    migrate(connection)  # what forgets knows the newest tables
    return forgetting.forget_buried(connection, Settings(data_dir=folder), since)


# -- the rest -----------------------------------------------------------------------------


def _configure(folder: Path, state: Path, head: Head, database: str | None) -> Path | None:
    """Write what a demo played where the next one looks for it, and the configuration anew with
    the folders as they are now; returns the latter."""
    played = folder / SOURCE
    if played.exists():
        orders = {"settings": {}, "source": json.loads(played.read_bytes())}
        (folder / ORDERS).write_text(json.dumps(orders), encoding="utf-8")
        played.unlink()
    config = folder / CONFIG
    if not config.exists():
        return None
    try:
        values = tomllib.loads(config.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DamagedBackupError(f"its configuration cannot be read: {error}") from error
    values = {"data_dir": str(state), **{k: v for k, v in values.items() if k != "data_dir"}}
    values.pop("database", None)
    if database is not None and make_url(database).password is None:
        values = {"data_dir": values.pop("data_dir"), "database": database, **values}
    values.get("city", {}).pop("folder", None)
    for section, folders in (("apps", head.apps), ("kinds", head.kinds)):
        if folders:
            found = [str(state / section / name) for name in folders]
            values[section] = {**values.get(section, {}), "folders": found}
    (folder / f"{CONFIG}.before").write_bytes(config.read_bytes())
    config.write_text("\n".join(_toml(values)) + "\n", encoding="utf-8")
    return config


def _toml(values: Mapping[str, Any], name: str = "") -> Iterator[str]:
    """Settings as TOML: texts, numbers, truth values, lists of them; tables and lists of them."""
    tables = {key: value for key, value in values.items() if _is_table(value)}
    for key, value in values.items():
        if key not in tables:
            yield f"{key} = {json.dumps(value, ensure_ascii=False)}"
    for key, value in tables.items():
        header = f"[{name}{key}]" if isinstance(value, dict) else f"[[{name}{key}]]"
        for each in [value] if isinstance(value, dict) else value:
            yield f"\n{header}"
            yield from _toml(each, f"{name}{key}.")


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and isinstance(value[0], dict)
    )


def _place(folder: Path, state: Path) -> None:
    """Move what is whole to its place: at once, or into a file system that is mounted there, the
    database last."""
    for above, _folders, _files in os.walk(folder):
        log.sync_folder(Path(above))
    if folder.parent != state:
        folder.rename(state)
        log.sync_folder(state.parent)
        return
    for path in sorted(folder.iterdir(), key=lambda p: p.name.startswith("citywise.db")):
        path.rename(state / path.name)
    log.sync_folder(state)
