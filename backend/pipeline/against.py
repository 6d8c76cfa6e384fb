"""Another version of an app: a folder, or the app as it was at a commit."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from backend.errors import CitywiseError
from backend.packs.library import find


class EarlierError(CitywiseError):
    """There is no such other version of an app; the message says why."""


@contextmanager
def earlier(folder: Path, against: str) -> Iterator[Path]:
    """The folder of another version of the app in `folder`, while it is needed.

    `against` is a folder, or anything git knows as a commit of the repository that holds
    the app. Raises `EarlierError`.
    """
    if Path(against).is_dir():
        yield find(against)
        return
    root = Path(_git(folder, "rev-parse", "--show-toplevel").decode().strip())
    archive = _git(root, "archive", "--format=tar", against)
    with tempfile.TemporaryDirectory(prefix="citywise-against-") as place:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(place, filter="data")
        there = Path(place) / folder.resolve().relative_to(root.resolve())
        if not there.is_dir():
            raise EarlierError(f"--against {against}: there was no {folder.name} at that commit")
        yield there


def _git(folder: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, check=False
        )
    except OSError as error:
        raise EarlierError(
            f"--against: git cannot be run ({error.strerror}); name a folder instead"
        ) from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise EarlierError(
            f"--against {arguments[-1]}: neither a folder nor a commit git knows: "
            f"{said[-1] if said else 'no reason given'}"
        )
    return done.stdout
