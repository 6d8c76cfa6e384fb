"""New apps from starters: small apps that run, to be changed into one's own."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from citywise.backend.errors import CitywiseError
from citywise.backend.packs.library import FILE

_STARTERS = Path(__file__).with_name("starters")
WITH_PYTHON = "python"
"""The starter with a page, a table and a test."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")


class ScaffoldError(CitywiseError):
    """An app cannot be made here; the message says why."""


def starters() -> list[str]:
    """The names of the starters without Python."""
    return sorted({path.parent.name for path in _STARTERS.glob(f"*/{FILE}")} - {WITH_PYTHON})


def create(name: str, starter: str, folder: Path) -> Path:
    """Write the app `name` into a new folder of that name within `folder`; returns it.

    Raises `ScaffoldError` for a name that no app can have, for one of a starter that there
    is not, and where there is something already.
    """
    if not _NAME.fullmatch(name):
        raise ScaffoldError(
            f"`{name}` cannot be an app's name: it begins with a lower-case letter, followed by "
            "up to 31 lower-case letters, digits and _, such as `jam_watch`"
        )
    if starter not in (*starters(), WITH_PYTHON):
        raise ScaffoldError(f"no starter `{starter}`; there are {', '.join(starters())}")
    target = folder / name
    if target.exists():
        raise ScaffoldError(f"{target} exists already; choose another name or another --dir")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(_STARTERS / starter, target, ignore=ignored)
    _rename(target / FILE, starter, name)
    if starter == WITH_PYTHON:
        _name_python(target, name)
    return target


def _name_python(folder: Path, name: str) -> None:
    """Give addresses, tables and texts the app's name instead of the starter's."""
    (folder / "tests" / f"test_{WITH_PYTHON}.py").rename(folder / "tests" / f"test_{name}.py")
    word = re.compile(rf"\b{WITH_PYTHON}(?=\b|_)|(?<=write)Python(?=Note)")
    for path in folder.rglob("*"):
        if path.is_file() and path.name != FILE:
            text = path.read_text(encoding="utf-8")
            path.write_text(word.sub(name, text), encoding="utf-8")


def _rename(manifest: Path, starter: str, name: str) -> None:
    title = name.replace("_", " ").capitalize()
    text = manifest.read_text(encoding="utf-8")
    text = text.replace(f'name = "{starter}"', f'name = "{name}"', 1)
    text = re.sub(r'^title = ".*"$', f'title = "{title}"', text, count=1, flags=re.MULTILINE)
    manifest.write_text(text, encoding="utf-8")
