"""Which of our ES modules a page needs: those of the elements it has, and what they import."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from citywise.backend.machine import REPOSITORY

FOLDER = REPOSITORY / "web" / "static" / "js"
START = "main.js"
"""The module that every page starts with."""
_DEFINES = re.compile(r"customElements\.define\('([\w-]+)'")
_IMPORTS = re.compile(r"^(?:import|export)\b[^;'(]*'(\.[^']+)'", re.MULTILINE)
_ELEMENT = re.compile(r"<([a-z]+(?:-[a-z]+)+)\b")


class Modules(NamedTuple):
    """Paths below the folder of modules."""

    started: tuple[str, ...]
    """Those that the page names, in order."""
    imported: tuple[str, ...]
    """Those that they import, at any depth: a browser that knows them loads all at once."""


@lru_cache(maxsize=64)
def needed(html: str, *own: str) -> Modules:
    """What a page needs whose content is `html`, beside modules of its `own`."""
    defined = _defined()
    of_elements = (defined[name] for name in _ELEMENT.findall(html) if name in defined)
    started = tuple(dict.fromkeys((START, *of_elements)))
    found = dict.fromkeys((*started, *own))
    ahead = list(found)
    while ahead:
        for name in _imports(ahead.pop()):
            if name not in found:
                found[name] = None
                ahead.append(name)
    return Modules(started, tuple(name for name in found if name not in started))


@lru_cache
def _defined() -> dict[str, str]:
    """The module that defines each of the elements, but for what a page's own modules bring."""
    return {
        element: path.name
        for path in sorted(FOLDER.glob("*.js"))
        for element in _DEFINES.findall(path.read_text(encoding="utf-8"))
    }


@lru_cache(maxsize=512)
def _imports(name: str) -> tuple[str, ...]:
    """What a module imports when it is loaded."""
    path = FOLDER / name
    text = path.read_text(encoding="utf-8")
    return tuple(_inside(path.parent / other) for other in _IMPORTS.findall(text))


def _inside(path: Path) -> str:
    return Path(path).resolve().relative_to(FOLDER.resolve()).as_posix()
