"""A backup as a file: a compressed tar whose first part says what it is, and whose last part,
the manifest, has the size and SHA-256 of all others.

`Archive` writes one, `parts` reads one. What is read is only as good as the manifest says when
the end is reached: nobody may rely on a part before.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from citywise.backend.backup.errors import BackupError, DamagedBackupError
from citywise.backend.backup.sealing import MAGIC, SealedReader, SealedWriter

FORMAT = 1
_HEAD, _MANIFEST = "citywise-backup.json", "manifest.json"
_GZIP = b"\x1f\x8b"
_PIECE = 1 << 20
_LARGEST_TEXT = 100_000_000


class Head(BaseModel):
    """What a backup is of; the first part of the file."""

    model_config = ConfigDict(extra="ignore", strict=True)

    format: int
    citywise: str
    """The version that made it."""
    made: str
    """ISO 8601; the moment whose state it holds."""
    made_ms: int
    database: str
    """`sqlite` or `postgresql`."""
    revision: str
    """Of the database's schema."""
    position: int
    """Where the log ends."""
    bytes: int
    """Of all parts together."""
    apps: dict[str, str] = {}
    """Folders of apps: their names in the archive, and where they were."""
    kinds: dict[str, str] = {}
    """Folders of kinds likewise."""
    encrypted: bool = False


class Part(NamedTuple):
    """A part that is being read: its name, and its bytes (once)."""

    name: str
    size: int
    file: BinaryIO


class Archive:
    """Writes a backup's parts into a file, which is complete once this is closed without an
    error; use it in a `with` statement."""

    def __init__(self, file: BinaryIO, head: Head, passphrase: str | None) -> None:
        self._sealed = None if passphrase is None else SealedWriter(file, passphrase)
        below = cast("BinaryIO", self._sealed or file)
        # Level 1 is four times as fast as the usual one, and a tenth larger.
        self._gzip = gzip.GzipFile(fileobj=below, mode="wb", compresslevel=1, mtime=0)
        form = tarfile.PAX_FORMAT
        self._tar = tarfile.open(fileobj=self._gzip, mode="w|", format=form)  # noqa: SIM115
        self._parts: dict[str, dict[str, Any]] = {}
        self._add(_HEAD, head.model_dump_json().encode())

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._add(_MANIFEST, json.dumps({"parts": self._parts}).encode())
            self._tar.close()
            self._gzip.close()
            if self._sealed is not None:
                self._sealed.close()

    def text(self, name: str, content: bytes) -> None:
        """Add a part that is in memory."""
        self._note(name, len(content), hashlib.sha256(content).hexdigest())
        self._add(name, content)

    def file(self, name: str, path: Path, size: int | None = None) -> None:
        """Add a file, or its first `size` bytes; what grows meanwhile stays out."""
        with path.open("rb") as file:
            length = os.fstat(file.fileno()).st_size if size is None else size
            counted = _Counted(file, length)
            try:
                self._tar.addfile(_info(name, length), cast("Any", counted))
            except OSError as error:
                raise BackupError(f"{path}: {error.strerror or error}") from error
        self._note(name, length, counted.digest.hexdigest())

    def _note(self, name: str, size: int, digest: str) -> None:
        self._parts[name] = {"bytes": size, "sha256": digest}

    def _add(self, name: str, content: bytes) -> None:
        self._tar.addfile(_info(name, len(content)), io.BytesIO(content))


class _Counted:
    """A file of which so many bytes are read, and their digest is taken."""

    def __init__(self, file: BinaryIO, length: int) -> None:
        self._file, self._left = file, length
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(min(size if size >= 0 else self._left, self._left))
        self._left -= len(data)
        self.digest.update(data)
        return data


def _info(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o600
    return info


# -- reading ------------------------------------------------------------------------------


@contextmanager
def opened(path: Path, passphrase: str | None) -> Iterator[tuple[Head, Iterator[Part]]]:
    """A backup's head and its parts, to be read in order and to the end, which verifies them.

    Raises `BackupError` where it is none, or of a newer version; `DamagedBackupError` where it
    is not what was written; `PassphraseError`.
    """
    try:
        with (
            path.open("rb") as file,
            _clear(file, passphrase) as (below, is_sealed),
            tarfile.open(fileobj=below, mode="r|") as tar,
        ):
            yield _head(tar, is_sealed=is_sealed), _verified(tar, below)
    except BackupError as error:
        raise type(error)(f"{path}: {error}") from error
    except (EOFError, zlib.error, tarfile.TarError, gzip.BadGzipFile) as error:
        raise DamagedBackupError(f"{path}: it is cut short or altered: {error}") from error


@contextmanager
def _clear(file: BinaryIO, passphrase: str | None) -> Iterator[tuple[BinaryIO, bool]]:
    """The tar in a file, and whether it was encrypted."""
    start = file.read(len(MAGIC))
    is_sealed = start == MAGIC
    if not is_sealed:
        if not start.startswith(_GZIP):
            raise BackupError("it is no backup of Citywise (`citywise backup FILE` makes one)")
        file.seek(0)
    below = SealedReader(file, passphrase) if is_sealed else file
    with gzip.GzipFile(fileobj=io.BufferedReader(cast("Any", below), _PIECE)) as unpacked:
        yield cast("BinaryIO", unpacked), is_sealed


def _head(tar: tarfile.TarFile, *, is_sealed: bool) -> Head:
    first = tar.next()
    if first is None or first.name != _HEAD:
        raise BackupError("it is no backup of Citywise (`citywise backup FILE` makes one)")
    try:
        said = json.loads(_text(tar, first))
        if (made_by := int(said["format"])) > FORMAT:
            raise BackupError(
                f"it was made by Citywise {said.get('citywise', '?')}, in format {made_by}; this "
                f"version reads up to {FORMAT}: install that version or a newer one"
            )
        return Head.model_validate({**said, "encrypted": is_sealed})
    except (ValidationError, ValueError, KeyError, TypeError) as error:
        raise DamagedBackupError(f"its first part cannot be read: {error}") from error


def _verified(tar: tarfile.TarFile, below: BinaryIO) -> Iterator[Part]:
    """Every part but the first and the last; then what the last says of them is compared."""
    found: dict[str, dict[str, Any]] = {}
    while (info := tar.next()) is not None:
        if info.name == _MANIFEST:
            _compare(found, _text(tar, info))
            while piece := below.read(_PIECE):  # to the end, where the checksums are
                if piece.strip(b"\0"):
                    raise DamagedBackupError("something stands behind its end")
            return
        if not info.isreg() or not _is_safe(info.name) or info.name in found:
            raise DamagedBackupError(f"it has a part `{info.name[:80]}` that no backup has")
        taken = tar.extractfile(info)
        assert taken is not None
        counted = _Counted(cast("BinaryIO", taken), info.size)
        yield Part(info.name, info.size, cast("BinaryIO", counted))
        while counted.read(_PIECE):
            pass
        found[info.name] = {"bytes": info.size, "sha256": counted.digest.hexdigest()}
    raise DamagedBackupError("it is cut short: its manifest is missing")


def _text(tar: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(info)
    if file is None or info.size > _LARGEST_TEXT:
        raise DamagedBackupError(f"its part `{info.name[:80]}` cannot be read")
    return file.read()


def _is_safe(name: str) -> bool:
    """Whether a part lies where it is unpacked, and nowhere else."""
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\0" not in name and bool(name)


def _compare(found: dict[str, dict[str, Any]], manifest: bytes) -> None:
    try:
        said = json.loads(manifest)["parts"]
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedBackupError(f"its manifest cannot be read: {error}") from error
    if missing := sorted(said.keys() - found.keys()):
        raise DamagedBackupError(f"its part `{missing[0]}` is missing")
    for name, measured in found.items():
        if said.get(name) != measured:
            raise DamagedBackupError(f"its part `{name}` is not what the manifest says: altered")
