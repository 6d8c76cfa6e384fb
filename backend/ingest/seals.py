"""Sealing what is personal in the log, and opening it again: AES-256-GCM with the user's key.

A sealed row of the log is `[subject, id of the key, box, …]`: it names no user. The box is
base64 of 12 random bytes (the nonce) and of what they and the key make of
`[key of the entry, body or null]`; the subject is authenticated with it.
"""

from __future__ import annotations

import binascii
import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from citywise.backend.ingest import belonging, remote
from citywise.backend.ingest.keyring import Key, Keyring, beside

_NONCE_BYTES = 12
_LOOK_SECONDS = 0.5
"""A key that was read before is used so long after its user was forgotten."""
_MOST_KEPT = 50_000
_MOST_ASKED = 50_000
"""At a time, over the network."""


class Sealed(NamedTuple):
    """What of a row of the log is needed to open it."""

    subject: str
    id: str
    box: str

    @classmethod
    def of(cls, row: Sequence[Any]) -> Sealed | None:
        """The seal of a row; None if it is not sealed."""
        return cls(*row[:3]) if isinstance(row[2], str) else None


class Source(Protocol):
    """Where keys come from: a `Keyring`, or the ingest process on another machine."""

    def load(self, ids: Collection[str]) -> tuple[int, Mapping[str, bytes]]:
        """As of `Keyring.load`."""


class Keys:
    """Keys by their ids, as this process has read them.

    It asks twice a second at most whether somebody has been forgotten: that long, and no
    longer, it opens what was sealed with a key that is destroyed.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._kept: dict[str, bytes | None] = {}
        """None: there is none any more, and it never comes back."""
        self._looked = -_LOOK_SECONDS
        self._number = 0

    def forgettings(self, within_seconds: float = _LOOK_SECONDS) -> int:
        """How many users have been forgotten; what was known so many seconds ago will do."""
        if time.monotonic() - self._looked >= within_seconds:
            self._load(())
        return self._number

    def get(self, ids: Collection[str]) -> dict[str, bytes | None]:
        """The keys with these ids; None for one that is gone."""
        self.forgettings()
        found = {name: self._kept[name] for name in ids if name in self._kept}
        if missing := [name for name in ids if name not in found]:
            number = self._number
            found |= self._load(missing)
            if number != self._number:
                return self.get(ids)
        return found

    def _load(self, ids: Collection[str]) -> Mapping[str, bytes | None]:
        looked = time.monotonic()
        number, there = self._source.load(ids)
        found = {name: there.get(name) for name in ids}
        if number != self._number or len(self._kept) + len(found) > _MOST_KEPT:
            self._kept.clear()
        self._looked, self._number = looked, number
        self._kept.update(found)
        return found

    def open(self, boxes: Sequence[Sealed]) -> list[bytes | None]:
        """What is in boxes, as JSON; None where the key is gone, or it is not what was sealed."""
        secrets = self.get({box.id for box in boxes})
        return [_opened(secrets[box.id], box) for box in boxes]


class RemoteKeys:
    """The keys of the log that an ingest process serves at an address."""

    def __init__(self, location: str) -> None:
        self._location = location

    def load(self, ids: Collection[str]) -> tuple[int, Mapping[str, bytes]]:
        """As of `Keyring.load`; raises `LogError` if the ingest does not answer."""
        names = list(ids)
        number, found = remote.keys(self._location, names[:_MOST_ASKED])
        for first in range(_MOST_ASKED, len(names), _MOST_ASKED):
            found |= remote.keys(self._location, names[first : first + _MOST_ASKED])[1]
        return number, found


def at(location: Path | str) -> Keys:
    """The keys of the log at a location, as this process knows them.

    Raises `LogError` where the keys beside the log are not its own.
    """
    return _at(str(location), os.getpid())


@lru_cache(maxsize=16)
def _at(location: str, _process: int) -> Keys:
    if remote.is_remote(location):
        return Keys(RemoteKeys(location))
    folder = Path(location)
    ring = Keyring(beside(folder))
    belonging.check(folder, ring)
    return Keys(ring)


class Sealer:
    """The keys with which the ingest seals; whoever has none yet is given one."""

    def __init__(self, ring: Keyring) -> None:
        self._ring = ring
        self._kept: dict[str, Key] = {}
        self.keys = Keys(ring)
        self._number = 0

    def expect(self, users: Iterable[str]) -> None:
        """Have the keys of users ready; new ones are made at once, together.

        Raises `sqlite3.Error` or `OSError` where that is not possible.
        """
        wanted, number = set(users), self.keys.forgettings(0)
        if number != self._number or len(self._kept.keys() | wanted) > _MOST_KEPT:
            self._kept.clear()
        missing = [user for user in wanted if user not in self._kept]
        if missing:
            self._kept.update(self._ring.make(missing))
        self._number = number

    def key_of(self, user: str) -> Key:
        """The key of a user who was expected."""
        return self._kept[user]

    def key(self, name: str) -> Key | None:
        """The key with an id; None where it is gone."""
        secret = self.keys.get([name])[name]
        return None if secret is None else Key(name, secret)


def seal(key: Key, subject: str, text: bytes) -> bytes:
    """A box as it stands in the log (JSON) with `text`, which says key and body."""
    nonce = os.urandom(_NONCE_BYTES)
    box = nonce + AESGCM(key.secret).encrypt(nonce, text, subject.encode())
    return b'"%b"' % binascii.b2a_base64(box, newline=False)


def _opened(secret: bytes | None, sealed: Sealed) -> bytes | None:
    if secret is None:
        return None
    try:
        box = binascii.a2b_base64(sealed.box)
        subject = sealed.subject.encode()
        return AESGCM(secret).decrypt(box[:_NONCE_BYTES], box[_NONCE_BYTES:], subject)
    except (InvalidTag, ValueError):
        return None


def content(key: str, body: Mapping[str, Any] | None) -> bytes:
    """What a box holds: the same bytes for the same content."""
    return orjson.dumps([key, body], option=orjson.OPT_SORT_KEYS)
