"""Another version of an app: a folder, or the app as it was at a commit."""

from __future__ import annotations

import io
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from citywise.backend.errors import CitywiseError
from citywise.backend.packs.enclosure import with_ontologies
from citywise.backend.packs.library import find


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
    root = Path(_git(folder, against, "rev-parse", "--show-toplevel").decode().strip())
    revision = ("rev-parse", "--verify", "--end-of-options", f"{against}^{{commit}}")
    commit = _git(root, against, *revision).decode().strip()
    name = str(folder.resolve().relative_to(root.resolve()))
    if not _git(root, against, "ls-tree", commit, "--", name):
        raise EarlierError(
            f"--against {against}: there was no {name} at that commit; name a later one, or a "
            "folder with the other version"
        )
    archive = _git(root, against, "archive", "--format=zip", commit)
    with tempfile.TemporaryDirectory(prefix="citywise-against-") as place:
        with zipfile.ZipFile(io.BytesIO(archive)) as files:
            files.extractall(place)
        with with_ontologies(Path(place) / "ontologies"):
            yield Path(place) / name


def _git(folder: Path, against: str, *arguments: str) -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, check=False
        )
    except OSError as error:
        raise EarlierError(
            f"--against {against}: git cannot be run ({error.strerror}); name a folder instead"
        ) from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise EarlierError(
            f"--against {against}: neither a folder nor a commit that git knows for {folder} "
            f"({said[-1] if said else 'no reason given'}); name a commit such as HEAD or main, "
            "or the folder of another version of the app"
        )
    return done.stdout
