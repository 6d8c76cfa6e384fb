"""Where the newest record of everything that stands lies in the log.

No I/O. It is kept small, because a city has hundreds of thousands of entries: each is one
integer (where it is, how large, and a digest of the body).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import islice

from backend.ingest.standing import CONTEXT, Entry

_DIGEST_BYTES = 8
_DIGEST_BITS = 8 * _DIGEST_BYTES
_SIZE_BITS = 32
_ROW_BYTES = 32
"""What a row takes in a record beside its subject, key and body."""


class Register:
    """What stands, oldest record first, and when each user was last heard of."""

    def __init__(self) -> None:
        self._entries: dict[str, int] = {}
        self._heard: dict[str, int] = {}
        self.bytes = 0
        """About what all that stands takes in the log."""

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def oldest(self) -> int | None:
        """Position of the oldest entry; None if nothing stands."""
        first = next(iter(self._entries.values()), None)
        return None if first is None else first >> _SIZE_BITS + _DIGEST_BITS

    def is_news(self, subject: str, key: str, body: bytes | None) -> bool:
        """Whether it does not already stand so."""
        known = self._entries.get(f"{subject} {key}")
        if known is None or body is None:
            return (known is None) != (body is None)
        return known & (1 << _DIGEST_BITS) - 1 != _digest(body)

    def is_at(self, subject: str, key: str, position: int) -> bool:
        """Whether an entry's newest row is the one at a position."""
        known = self._entries.get(f"{subject} {key}")
        return known is not None and known >> _SIZE_BITS + _DIGEST_BITS == position

    def put(self, subject: str, key: str, body: bytes | None, position: int) -> None:
        """It stands so from `position` on, the newest of all."""
        name = f"{subject} {key}"
        known = self._entries.pop(name, 0)
        self.bytes -= known >> _DIGEST_BITS & (1 << _SIZE_BITS) - 1
        if body is not None:
            size = row_bytes(subject, key, body)
            value = position << _SIZE_BITS | size
            self._entries[name] = value << _DIGEST_BITS | _digest(body)
            self.bytes += size

    # -- who is heard of --------------------------------------------------------------

    def hear(self, user: str, at_ms: int) -> None:
        """A user's context came at a time, the newest of all."""
        self._heard.pop(user, None)
        self._heard[user] = at_ms

    def heard_ms(self, user: str) -> int | None:
        """When a user was last heard of."""
        return self._heard.get(user)

    def sort(self) -> None:
        """Order the users by when they were heard of, after they were told in another order."""
        self._heard = dict(sorted(self._heard.items(), key=lambda item: item[1]))

    def silent(self, since_ms: int, most: int) -> Iterator[Entry]:
        """Removals of what stands of users not heard of since; of `most` users at a time."""
        for user, heard in list(islice(self._heard.items(), most)):
            if heard >= since_ms:
                return
            del self._heard[user]
            for subject in CONTEXT:
                if f"{subject} {user}" in self._entries:
                    yield Entry(subject, user, None)


def row_bytes(subject: str, key: str, body: bytes) -> int:
    """About what an entry takes in a record."""
    return len(subject) + len(key) + len(body) + _ROW_BYTES


def _digest(body: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest())
