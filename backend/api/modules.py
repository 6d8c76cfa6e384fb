"""Which ES modules a page needs: those of the elements it has, and what they import."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from citywise.backend.api.bundles import Bundles
from citywise.backend.machine import REPOSITORY

FOLDER = REPOSITORY / "web" / "static" / "js"
START = "main.js"
"""The module that every page starts with."""
SHELL = "citywise/"
"""What modules of apps write before the name of one of ours; the page has an import map for it."""
_DEFINES = re.compile(r"customElements\.define\('([\w-]+)'")
_IMPORTS = re.compile(rf"^(?:import|export)\b[^;'(]*'((?:\.|{SHELL})[^']+)'", re.MULTILINE)
_ELEMENT = re.compile(r"<([a-z]+(?:-[a-z]+)+)\b")


class Root(NamedTuple):
    """A folder of modules, and what their addresses begin with."""

    prefix: str
    folder: Path

    def path(self, address: str) -> Path:
        """The file of a module at an address below it."""
        return self.folder / address.removeprefix(self.prefix)


class Modules(NamedTuple):
    """Addresses of modules."""

    started: tuple[str, ...]
    """Those that the page names, in order."""
    imported: tuple[str, ...]
    """Those that they import, at any depth: a browser that knows them loads all at once."""


@lru_cache(maxsize=64)
def needed(html: str, own: tuple[str, ...], roots: tuple[Root, ...]) -> Modules:
    """What a page needs whose content is `html`, beside modules at addresses of its `own`. The
    first of the roots is the shell's."""
    defined = _defined()
    of_elements = (defined[name] for name in _ELEMENT.findall(html) if name in defined)
    shell = roots[0].prefix
    started = tuple(shell + name for name in dict.fromkeys((START, *of_elements)))
    found = dict.fromkeys((*started, *own))
    ahead = list(found)
    while ahead:
        address = ahead.pop()
        root = root_of(address, roots)
        for other in _imports(root, address.removeprefix(root.prefix)) if root else ():
            name = shell + other.removeprefix(SHELL) if other.startswith(SHELL) else other
            if name not in found:
                found[name] = None
                ahead.append(name)
    return Modules(started, tuple(name for name in found if name not in started))


def root_of(address: str, roots: Iterable[Root]) -> Root | None:
    """The root that an address is below, if it is below one."""
    return next((root for root in roots if address.startswith(root.prefix)), None)


def bundled(found: Modules, roots: tuple[Root, ...], made: Bundles, prefix: str) -> Modules:
    """The same by bundles, whose addresses begin with `prefix`: a module that is in none stays."""

    def names(addresses: Iterable[str]) -> list[str]:
        return list(dict.fromkeys(_bundle(each, roots, made) or each for each in addresses))

    def address(name: str) -> str:
        return prefix + name if name in made.imports else name

    started = names(found.started)
    behind = dict.fromkeys(made.with_imports([*started, *names(found.imported)]))
    imported = tuple(address(name) for name in behind if name not in started)
    return Modules(tuple(map(address, started)), imported)


def _bundle(address: str, roots: tuple[Root, ...], made: Bundles) -> str | None:
    root = root_of(address, roots)
    return None if root is None else made.of(root.path(address))


@lru_cache
def _defined() -> dict[str, str]:
    """The module that defines each of the elements, but for what a page's own modules bring."""
    return {
        element: path.name
        for path in sorted(FOLDER.glob("*.js"))
        for element in _DEFINES.findall(path.read_text(encoding="utf-8"))
    }


@lru_cache(maxsize=512)
def _imports(root: Root, name: str) -> tuple[str, ...]:
    """What a module imports when it is loaded: addresses, and names of the shell's modules."""
    folder = root.folder.resolve()
    path = (folder / name).resolve()
    if not path.is_relative_to(folder) or not path.is_file():
        return ()  # An app's page names it; the browser says that it is not there.
    found = _IMPORTS.findall(path.read_text(encoding="utf-8", errors="replace"))
    beside = [(path.parent / other).resolve() for other in found if not other.startswith(SHELL)]
    inside = [other.relative_to(folder) for other in beside if other.is_relative_to(folder)]
    shells = [other for other in found if other.startswith(SHELL)]
    return (*(root.prefix + other.as_posix() for other in inside), *shells)
