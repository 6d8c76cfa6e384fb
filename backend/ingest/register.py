"""Where the newest record of everything that stands lies in the log.

No I/O. It is kept small, because a city has hundreds of thousands of entries: each is one
integer (where it is, how large, when its user was last heard of, which key it is sealed with,
and a digest of the body).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from itertools import islice
from typing import NamedTuple

from citywise.backend.ingest.records import StandingRow
from citywise.backend.ingest.standing import CONTEXT, Entry

_DIGEST_BYTES = 8
_DIGEST_BITS = 8 * _DIGEST_BYTES
_SIZE_BITS = 32
_HEARD_BITS = 48
_LOCK_BITS = 64
_ROW_BYTES = 32
"""What a row takes in a record beside its subject, key and body."""


class Register:
    """What stands, oldest record first, and when each user was last heard of.

    Bodies are known by their digests (see `digest`), keys by their ids (hexadecimal, empty
    for what is not sealed); times are Unix milliseconds.
    """

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
        return None if first is None else _position(first)

    def is_news(self, subject: str, key: str, told: int | None) -> bool:
        """Whether it does not already stand so: a body of this digest, or None."""
        known = self._entries.get(f"{subject} {key}")
        if known is None or told is None:
            return (known is None) != (told is None)
        return known & (1 << _DIGEST_BITS) - 1 != told

    def is_at(self, subject: str, key: str, position: int) -> bool:
        """Whether an entry's newest row is the one at a position."""
        known = self._entries.get(f"{subject} {key}")
        return known is not None and _position(known) == position

    def put(
        self, subject: str, key: str, told: int, size: int, position: int, lock: str = ""
    ) -> None:
        """It stands so from `position` on, the newest of all; its row takes `size` bytes and
        is sealed with the key `lock`."""
        self.remove(subject, key)
        entry = _Packed(position, size, 0, int(lock or "0", 16), told)
        self._entries[f"{subject} {key}"] = entry.number()
        self.bytes += size

    def move(self, subject: str, key: str, position: int) -> None:
        """The same row stands at another position, the newest of all."""
        name = f"{subject} {key}"
        known = _unpacked(self._entries.pop(name))
        self._entries[name] = known._replace(position=position).number()

    def remove(self, subject: str, key: str) -> None:
        """It stands no more."""
        known = self._entries.pop(f"{subject} {key}", None)
        if known is not None:
            self.bytes -= _unpacked(known).size

    def lock_of(self, subject: str, key: str) -> str | None:
        """The id of the key with which an entry is sealed; None where it does not stand."""
        known = self._entries.get(f"{subject} {key}")
        return None if known is None else _hexadecimal(_unpacked(known).lock)

    def keep_only(self, locks: Collection[str]) -> None:
        """What is sealed with another key than these stands no more."""
        there = {0, *(int(lock, 16) for lock in locks)}
        for name, known in list(self._entries.items()):
            if known >> _DIGEST_BITS & (1 << _LOCK_BITS) - 1 not in there:
                self.remove(*name.split(" ", 1))

    # -- who is heard of --------------------------------------------------------------

    def hear(self, subject: str, user: str, at_ms: int) -> None:
        """Something of a user's context came at a time; what it is stands already."""
        name = f"{subject} {user}"
        known = _unpacked(self._entries[name])
        self._entries[name] = known._replace(heard_ms=at_ms).number()
        if at_ms >= self._heard.get(user, 0):
            self._heard.pop(user, None)
            self._heard[user] = at_ms

    def heard_ms(self, subject: str, user: str) -> int | None:
        """When something of a user's context last came; None where it does not stand."""
        known = self._entries.get(f"{subject} {user}")
        return None if known is None else _unpacked(known).heard_ms

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


def digest(body: bytes, secret: bytes = b"") -> int:
    """What a body is known by: with another secret, the same body is another."""
    return int.from_bytes(hashlib.blake2b(body, digest_size=_DIGEST_BYTES, key=secret).digest())


def row_bytes(row: StandingRow) -> int:
    """About what a row takes in a record."""
    return len(row.subject) + len(row.key) + len(row.body or b"") + _ROW_BYTES


class _Packed(NamedTuple):
    """An entry; as one number it takes a fifth of the memory."""

    position: int
    size: int
    heard_ms: int
    lock: int
    told: int

    def number(self) -> int:
        above = (self.position << _SIZE_BITS | self.size) << _HEARD_BITS | self.heard_ms
        return (above << _LOCK_BITS | self.lock) << _DIGEST_BITS | self.told


def _unpacked(number: int) -> _Packed:
    parts = []
    for bits in (_DIGEST_BITS, _LOCK_BITS, _HEARD_BITS, _SIZE_BITS):
        parts.append(number & (1 << bits) - 1)
        number >>= bits
    return _Packed(number, *reversed(parts))


def _position(number: int) -> int:
    return number >> _SIZE_BITS + _HEARD_BITS + _LOCK_BITS + _DIGEST_BITS


def _hexadecimal(lock: int) -> str:
    return f"{lock:0{_LOCK_BITS // 4}x}" if lock else ""
