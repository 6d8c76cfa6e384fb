"""Encrypted files: a passphrase, a header, and chunks that can neither be altered nor cut off.

The key comes from the passphrase by scrypt. Each chunk is sealed with AES-256-GCM; its nonce is
its number and whether it is the last, so that a chunk that is missing, moved or altered, and an
end that is not the end, are found (the STREAM construction of Hoang, Reyhanitabar, Rogaway and
Vizár, 2015, as age uses it). The header is authenticated with each chunk.
"""

from __future__ import annotations

import hmac
import io
import json
import secrets
from dataclasses import dataclass
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from citywise.backend.backup.errors import BackupError, DamagedBackupError, PassphraseError

MAGIC = b"citywise-encrypted\n"
_VERSION = 1
_CHUNK = 1 << 20
_TAG = 16
_COST = 1 << 17
_MOST_COST = 1 << 20
"""More would take a gigabyte of memory for a header that anybody may have written."""
_LONGEST_HEADER = 1000


@dataclass(frozen=True)
class _Keys:
    chunks: AESGCM
    header: bytes
    """What every chunk is bound to."""


def _keys(passphrase: str, header: bytes) -> tuple[_Keys, str]:
    """The keys that a header and a passphrase give, and what shows that the latter is right."""
    said = json.loads(header)
    scrypt = Scrypt(bytes.fromhex(said["salt"]), length=64, n=said["cost"], r=8, p=1)
    both = scrypt.derive(passphrase.encode())
    return _Keys(AESGCM(both[:32]), header), hmac.digest(both[32:], header, "sha256").hex()


def _nonce(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([is_last])


class SealedWriter(io.RawIOBase):
    """A file that takes bytes in the clear and writes them sealed; closing it writes the end."""

    def __init__(self, file: BinaryIO, passphrase: str) -> None:
        if not passphrase:
            raise PassphraseError("the passphrase is empty")
        said = {"version": _VERSION, "cost": _COST, "salt": secrets.token_bytes(16).hex()}
        header = json.dumps(said).encode()
        self._keys, check = _keys(passphrase, header)
        self._file, self._held, self._number = file, bytearray(), 0
        file.write(MAGIC + header + b"\n" + check.encode() + b"\n")

    def writable(self) -> bool:
        """It is for writing."""
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Take bytes; a chunk is written when it is known not to be the last."""
        self._held += data
        while len(self._held) > _CHUNK:
            self._seal(bytes(self._held[:_CHUNK]), is_last=False)
            del self._held[:_CHUNK]
        return len(data)

    def close(self) -> None:
        """Write the last chunk; the file below stays open."""
        if not self.closed:
            self._seal(bytes(self._held), is_last=True)
            super().close()

    def _seal(self, chunk: bytes, *, is_last: bool) -> None:
        nonce = _nonce(self._number, is_last=is_last)
        self._file.write(self._keys.chunks.encrypt(nonce, chunk, self._keys.header))
        self._number += 1


class SealedReader(io.RawIOBase):
    """The bytes in the clear of a file that stands behind `MAGIC`.

    Reading raises `DamagedBackupError` where the file is not what was written.
    """

    def __init__(self, file: BinaryIO, passphrase: str | None) -> None:
        header, check = file.readline(_LONGEST_HEADER), file.readline(_LONGEST_HEADER)
        _look(header)
        if passphrase is None:
            raise PassphraseError("it is encrypted: give the passphrase")
        self._keys, expected = _keys(passphrase, header.rstrip(b"\n"))
        if not hmac.compare_digest(expected.encode(), check.rstrip(b"\n")):
            raise PassphraseError("the passphrase is wrong (or the file's header is altered)")
        self._file, self._number = file, 0
        self._ahead = file.read(_CHUNK + _TAG)
        self._clear = memoryview(b"")
        self._ended = False

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Fill a buffer; 0 at the end, which is where the writer ended."""
        while not self._clear and not self._ended:
            self._open()
        size = min(len(buffer), len(self._clear))
        buffer[:size] = self._clear[:size]
        self._clear = self._clear[size:]
        return size

    def _open(self) -> None:
        chunk, self._ahead = self._ahead, self._file.read(_CHUNK + _TAG)
        self._ended = not self._ahead
        nonce = _nonce(self._number, is_last=self._ended)
        try:
            self._clear = memoryview(self._keys.chunks.decrypt(nonce, chunk, self._keys.header))
        except (InvalidTag, ValueError) as error:
            raise DamagedBackupError(
                f"it is cut short or altered in chunk {self._number + 1} of its encryption"
            ) from error
        self._number += 1


def _look(header: bytes) -> None:
    """Raise where a header is none of ours, or asks for more than it may."""
    try:
        said = json.loads(header)
        version, cost = int(said["version"]), int(said["cost"])
        bytes.fromhex(said["salt"])
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedBackupError("the header of its encryption cannot be read") from error
    if version > _VERSION:
        raise BackupError("it is encrypted by a newer version of Citywise: install that")
    if not 2 <= cost <= _MOST_COST or cost & (cost - 1):
        raise DamagedBackupError(f"the header of its encryption asks for a cost of {cost}")
