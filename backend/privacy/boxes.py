"""Boxes: texts in the database that only their user's key opens.

The rows of an app say whose they are; what is personal in them is in a box. Forgetting the key
(`backend.ingest.keyring`) forgets the boxes in every copy of the database.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import orjson

from citywise.backend.errors import CitywiseError
from citywise.backend.ingest.keyring import Key, Keyring
from citywise.backend.ingest.seals import Keys, Sealed, seal
from citywise.backend.settings import Settings


class BoxError(CitywiseError):
    """Nothing can be sealed: the user's key is gone."""


class KeysAwayError(BoxError):
    """The keys cannot be read or written now; this is no single user's fault."""


class Boxes:
    """Seals and opens texts for a purpose (`subject`): a box of another does not open."""

    def __init__(self, keys_dir: Path, subject: str) -> None:
        self._subject = subject
        self._ring = Keyring(keys_dir)
        self._keys = Keys(self._ring)

    def close(self, texts: Sequence[tuple[str, bytes]]) -> list[str]:
        """Boxes with texts, each with its user, who is given a key where there is none. Raises
        `BoxError`."""
        with _reached():
            keys = self._ring.make([user for user, _text in texts])
        return [self._closed(keys.get(user), text) for user, text in texts]

    def _closed(self, key: Key | None, text: bytes) -> str:
        if key is None:
            raise BoxError("a user's key was destroyed while something of theirs was written")
        return f"{key.id}:{orjson.loads(seal(key, self._subject, text))}"

    def open(self, boxes: Sequence[str]) -> list[bytes | None]:
        """What is in boxes; None where the key is gone. Raises `KeysAwayError`."""
        with _reached():
            return self._keys.open([Sealed(self._subject, *box.split(":", 1)) for box in boxes])


@contextmanager
def _reached() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise KeysAwayError(f"the keys cannot be used: {error}") from error


def boxes_for(settings: Settings, subject: str) -> Boxes:
    """The boxes of a system for a purpose, as this process opens them."""
    return _boxes(settings.keys_dir, subject, os.getpid())


@lru_cache(maxsize=16)
def _boxes(folder: Path, subject: str, _process: int) -> Boxes:
    return Boxes(folder, subject)
