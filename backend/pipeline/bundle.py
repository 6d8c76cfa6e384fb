"""What goes to executors on other machines: requests with their knowledge bases, our code.

A request's bundle is a zip that holds its file and the knowledge bases that it names, with
the same relative paths; it is known by its SHA-256. In a task the request then stands as
`bundle:SHA-256/path`, and each executor unpacks the bundle once beside its other files.
"""

from __future__ import annotations

import functools
import hashlib
import io
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import citywise
from citywise.backend.errors import CitywiseError
from citywise.reasoning.languages.casp import read_file

_SCHEME = "bundle:"
_EPOCH = (1980, 1, 1, 0, 0, 0)


class BundleError(CitywiseError):
    """A request cannot be sent to other machines, or did not arrive there whole."""


@dataclass(frozen=True)
class Bundle:
    """A packed request: the zip, and the text that stands for the request in a task."""

    data: bytes
    digest: str
    request: str
    """Path of the request's file within the zip."""

    @property
    def file_name(self) -> str:
        """The name under which the zip is sent."""
        return _file_name(self.digest)

    @property
    def text(self) -> str:
        """What `source` finds the request by."""
        return f"{_SCHEME}{self.digest}/{self.request}"


def pack(path: Path) -> Bundle:
    """The bundle of a request's file.

    Raises `BundleError` for a knowledge base that the request names by an absolute path,
    which another machine does not have; `RequestError` if the request cannot be read.
    """
    files = [_absolute(path)]
    for knowledge in read_file(path).sound().request.knowledge:
        if Path(knowledge.written).is_absolute():
            raise BundleError(
                f"{path}: `#from <{knowledge.written}>` is an absolute path, which executors on "
                "other machines do not have; name the file relative to the request's folder"
            )
        files.append(_absolute(Path(knowledge.path)))
    root = Path(os.path.commonpath([file.parent for file in files]))
    data = _zip({file.relative_to(root).as_posix(): file.read_bytes() for file in files})
    request = files[0].relative_to(root).as_posix()
    return Bundle(data, hashlib.sha256(data).hexdigest(), request)


def source(text: str, folder: Path | None = None) -> Path:
    """The file of a request: a path is itself, a bundle is unpacked once.

    `folder` is where bundles arrive, by default that of the files Spark has sent. Raises
    `BundleError` if the bundle is not there or is not the one that was sent.
    """
    if not text.startswith(_SCHEME):
        return Path(text)
    digest, _, request = text.removeprefix(_SCHEME).partition("/")
    return _unpacked(folder or _arrivals(), digest) / request


def code(folder: Path) -> Path:
    """Write our packages as a zip that Python imports from; returns its path in `folder`."""
    data = _zip(dict(_modules(Path(citywise.__file__).parent)))
    path = folder / f"citywise-{hashlib.sha256(data).hexdigest()[:16]}.zip"
    path.write_bytes(data)
    return path


def _modules(package: Path) -> Iterator[tuple[str, bytes]]:
    """Name and content of what executors need of a package: not its pages and apps."""
    files = [package / "__init__.py"]
    for folder in (package / "backend", package / "reasoning"):
        files += (path for path in folder.rglob("*") if "__pycache__" not in path.parts)
    for path in files:
        if path.is_file():
            yield path.relative_to(package.parent).as_posix(), path.read_bytes()


def _zip(files: Mapping[str, bytes]) -> bytes:
    """A zip that depends on nothing but names and contents."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def _absolute(path: Path) -> Path:
    """Without `..`, but with its links: what leads where is part of how files are named."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow the links


def _file_name(digest: str) -> str:
    return f"{digest}.zip"


def _arrivals() -> Path:
    from pyspark import SparkFiles

    return Path(SparkFiles.getRootDirectory()).resolve()


@functools.lru_cache(maxsize=256)
def _unpacked(arrivals: Path, digest: str) -> Path:
    """The folder of an unpacked bundle; several processes may unpack it at once."""
    folder = arrivals / digest
    if folder.is_dir():
        return folder
    archive = arrivals / _file_name(digest)
    if not archive.is_file():
        raise BundleError(f"{archive}: the request's bundle has not arrived on this machine")
    data = archive.read_bytes()
    if hashlib.sha256(data).hexdigest() != digest:
        raise BundleError(f"{archive}: the request's bundle is not the one that was sent")
    fresh = Path(tempfile.mkdtemp(dir=arrivals, prefix="unpacking-"))
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        opened.extractall(fresh)
    try:
        fresh.rename(folder)
    except OSError:
        shutil.rmtree(fresh, ignore_errors=True)
        if not folder.is_dir():  # else another process was faster
            raise
    return folder
