"""New apps from starters: small apps that run, to be changed into one's own."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from citywise.backend.errors import CitywiseError
from citywise.backend.packs.library import FILE

_STARTERS = Path(__file__).with_name("starters")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")


class ScaffoldError(CitywiseError):
    """An app cannot be made here; the message says why."""


def starters() -> list[str]:
    """The names of the starters."""
    return sorted(path.parent.name for path in _STARTERS.glob(f"*/{FILE}"))


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
    if starter not in starters():
        raise ScaffoldError(f"no starter `{starter}`; there are {', '.join(starters())}")
    target = folder / name
    if target.exists():
        raise ScaffoldError(f"{target} exists already; choose another name or another --dir")
    shutil.copytree(_STARTERS / starter, target)
    _rename(target / FILE, starter, name)
    return target


def _rename(manifest: Path, starter: str, name: str) -> None:
    title = name.replace("_", " ").capitalize()
    text = manifest.read_text(encoding="utf-8")
    text = text.replace(f'name = "{starter}"', f'name = "{name}"', 1)
    text = re.sub(r'^title = ".*"$', f'title = "{title}"', text, count=1, flags=re.MULTILINE)
    manifest.write_text(text, encoding="utf-8")
