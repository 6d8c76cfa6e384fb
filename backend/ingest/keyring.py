"""The keys with which what is personal is sealed in the log: one random key for each user.

Forgetting a user destroys the key, and with it all that any copy of the log says of them.
The keys lie beside the log, never in it or in the database, so that neither tells anything
without them; in the log a key is known by a random id. Each key exists once: at its place in
the file `keys`, where `forget` writes zeros over it. (A row of SQLite does not do: its pages
keep copies of rows that moved, even with `secure_delete`.) `keys.db` says which place is
whose, under a digest of the user.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from citywise.backend import own_files
from citywise.backend.store.chunks import chunks

KEY_BYTES = 32
ID_BYTES = 8
_GONE = bytes(KEY_BYTES)
_BUSY_SECONDS = 15.0
_TABLES = """
CREATE TABLE IF NOT EXISTS places (
    place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, user TEXT NOT NULL UNIQUE
);
CREATE TABLE IF NOT EXISTS forgettings (number INTEGER NOT NULL);
INSERT INTO forgettings SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM forgettings);
CREATE TABLE IF NOT EXISTS ring (id TEXT NOT NULL);
INSERT INTO ring SELECT lower(hex(randomblob(8))) WHERE NOT EXISTS (SELECT 1 FROM ring)
"""


class Key(NamedTuple):
    """A user's key, and the id (hexadecimal) by which the log knows it."""

    id: str
    secret: bytes


def beside(log_folder: Path) -> Path:
    """Where the keys of the log in a folder lie."""
    return log_folder.parent / "keys"


class Keyring:
    """The keys in a folder, for several processes and threads; made when the first is needed.

    A key is durable when the call that made it returns, and gone when `forget` returns.
    Raises `sqlite3.Error` or `OSError` where the folder cannot be read or written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._reading: tuple[int, sqlite3.Connection, int] | None = None

    # -- reading ------------------------------------------------------------------------

    def key_of(self, user: str) -> Key | None:
        """A user's key; None where there is none (any more)."""
        return self.keys_of([user]).get(user)

    def keys_of(self, users: Collection[str]) -> dict[str, Key]:
        """The keys of those of some users who have one."""
        asked = {digest_of(user): user for user in users}
        return {asked[digest]: key for digest, key in self._read("user", asked)}

    def load(self, ids: Collection[str]) -> tuple[int, Mapping[str, bytes]]:
        """How many users have been forgotten so far, and the keys with these ids that there
        are. Who is forgotten in between may be in the keys, but not in the number."""
        opened = self._opened()
        if opened is None:
            return 0, {}
        (number,) = opened[0].execute("SELECT number FROM forgettings").fetchone()
        return number, {key.id: key.secret for _id, key in self._read("id", ids)}

    def ids(self) -> set[str]:
        """The ids of all keys."""
        opened = self._opened()
        rows = opened[0].execute("SELECT id FROM places").fetchall() if opened else []
        return {row[0] for row in rows}

    def identity(self) -> str | None:
        """The random id of all these keys together; None where there are none."""
        opened = self._opened()
        return opened[0].execute("SELECT id FROM ring").fetchone()[0] if opened else None

    def _read(self, column: str, values: Collection[str]) -> Iterator[tuple[str, Key]]:
        """Keys by a column's values, each with its value."""
        opened = self._opened()
        for some in chunks(values) if opened else ():
            marks = ",".join("?" * len(some))
            query = f"SELECT {column}, id, place FROM places WHERE {column} IN ({marks})"  # noqa: S608
            assert opened is not None
            for value, name, place in opened[0].execute(query, some).fetchall():
                if (secret := _secret(opened[1], place)) != _GONE:
                    yield value, Key(name, secret)

    def _opened(self) -> tuple[sqlite3.Connection, int] | None:
        """For reading: single statements only, which threads may share; not across a fork."""
        if self._reading is None or self._reading[0] != os.getpid():
            if not self._exists():
                return None
            with self._writing():
                pass  # another process may only just have made the file, without its tables
            file = os.open(self._folder / "keys", os.O_RDONLY)
            self._reading = os.getpid(), self._connect(), file
        return self._reading[1:]

    def _exists(self) -> bool:
        return all((self._folder / name).exists() for name in ("keys.db", "keys"))

    def __del__(self) -> None:
        if self._reading is not None:
            self._reading[1].close()
            os.close(self._reading[2])

    # -- writing ------------------------------------------------------------------------

    def made_identity(self) -> str:
        """As `identity`; keys to come have it where there are none."""
        with self._writing() as (database, _file):
            return str(database.execute("SELECT id FROM ring").fetchone()[0])

    def make(self, users: Collection[str]) -> dict[str, Key]:
        """The keys of users, new ones for those who have none."""
        found = self.keys_of(users)
        if missing := [user for user in dict.fromkeys(users) if user not in found]:
            self._create(missing)
            found = self.keys_of(users)
        return found

    def _create(self, users: Collection[str]) -> None:
        with self._writing() as (database, file):
            for user in users:
                made = _insert(database, file, user)
                if made is not None:
                    os.pwrite(file, secrets.token_bytes(KEY_BYTES), made * KEY_BYTES)
            os.fsync(file)

    def forget(self, user: str) -> bool:
        """Destroy a user's key for ever; returns whether there was one."""
        if not self._exists():
            return False
        with self._writing() as (database, file):
            return _destroy(database, file, digest_of(user))

    def forget_digests(self, digests: Collection[str]) -> None:
        """Destroy the keys of users of whom only digests are known."""
        if not self._exists():
            return
        with self._writing() as (database, file):
            for digest in digests:
                _destroy(database, file, digest)

    def copy(self, folder: Path) -> list[Path]:
        """Copy all keys as they are at one moment; returns the files, none where there are no
        keys. A key that somebody needs is older than what is sealed with it."""
        if not self._exists():
            return []
        names = ("keys.db", "keys")
        with self._writing():
            return [Path(shutil.copyfile(self._folder / n, folder / n)) for n in names]

    @contextmanager
    def _writing(self) -> Iterator[tuple[sqlite3.Connection, int]]:
        """One writer at a time; all of it or nothing, and durable at the end."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        own_files.create(self._folder / "keys.db")
        file = os.open(self._folder / "keys", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with closing(self._connect()) as database:
                database.execute("BEGIN IMMEDIATE")
                for statement in _TABLES.split(";"):
                    database.execute(statement)
                yield database, file
                database.execute("COMMIT")
        finally:
            os.close(file)

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(
            self._folder / "keys.db",
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        for setting in ("secure_delete=ON", "journal_mode=TRUNCATE", "synchronous=FULL"):
            database.execute(f"PRAGMA {setting}").fetchall()
        return database


def _insert(database: sqlite3.Connection, file: int, user: str) -> int | None:
    """A place for a user's key; None where another process was faster and made one."""
    statement = "INSERT INTO places (id, user) VALUES (?, ?) ON CONFLICT (user) DO NOTHING"
    row = [secrets.token_hex(ID_BYTES), digest_of(user)]
    made = database.execute(statement, row)
    if made.rowcount:
        return made.lastrowid
    place = _place(database, digest_of(user))
    assert place is not None
    if _secret(file, place) != _GONE:
        return None
    database.execute("DELETE FROM places WHERE place = ?", [place])  # half forgotten
    return database.execute(statement, row).lastrowid


def _destroy(database: sqlite3.Connection, file: int, digest: str) -> bool:
    """Write zeros over a user's key; whether there was one."""
    place = _place(database, digest)
    if place is not None:
        os.pwrite(file, _GONE, place * KEY_BYTES)
        os.fsync(file)
        database.execute("DELETE FROM places WHERE place = ?", [place])
        database.execute("UPDATE forgettings SET number = number + 1")
    return place is not None


def _place(database: sqlite3.Connection, digest: str) -> int | None:
    query = "SELECT place FROM places WHERE user = ?"
    row = database.execute(query, [digest]).fetchone()
    return None if row is None else int(row[0])


def _secret(file: int, place: int) -> bytes:
    """The key at a place; zeros where there is none."""
    return os.pread(file, KEY_BYTES, place * KEY_BYTES).ljust(KEY_BYTES, b"\0")


def digest_of(user: str) -> str:
    """What stands for a user where nobody is to be named."""
    return hashlib.blake2b(user.encode(), digest_size=16).hexdigest()
