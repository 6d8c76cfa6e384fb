"""Bundles of the pages' modules and styles, where set-up made them (`scripts/bundle.mjs`).

Without them, or once a module was changed since, pages load the modules one by one.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import orjson

from citywise.backend.machine import REPOSITORY

LOG = logging.getLogger("citywise.web")
FOLDER = REPOSITORY / "web" / "built"
NAME = "citywise-built/"
"""What bundles write before the name of another; the page's import map knows it."""
STYLES = ("fields", "tokens", "shell", "city", "apps", "people")
"""Of every page, in order; `shell.css` has them all."""


@dataclass(frozen=True)
class Bundles:
    """What is in which bundle."""

    root: Path
    """The checkout that the modules are in."""
    folder: Path
    digest: str
    """Of their content."""
    modules: Mapping[str, str]
    """The bundle of each module, by its path in the checkout."""
    imports: Mapping[str, tuple[str, ...]]
    """The bundles that each imports."""

    def of(self, module: Path) -> str | None:
        """The bundle that a module is in, if it is in one."""
        return self.modules.get(self._name(module))

    def facade(self, module: Path) -> Path | None:
        """What stands at the address of a module that is in a bundle: it leads there."""
        found = self.folder / "facades" / self._name(module)
        return found if self.of(module) and found.is_file() else None

    def starts(self, module: Path) -> bool:
        """Whether a bundle is called after a module: pages start with it."""
        bundle = self.of(module) or ""
        return bundle.endswith((f"-{module.name}", f".{module.name}"))

    def start(self, module: Path) -> str | None:
        """The bundle that is loaded in a module's stead, if one is called after it."""
        return self.of(module) if self.starts(module) else None

    def with_imports(self, names: Iterable[str]) -> Iterator[str]:
        """Bundles and those that they import, at any depth, each once."""
        ahead, seen = list(names), set()
        while ahead:
            name = ahead.pop(0)
            if name not in seen:
                seen.add(name)
                yield name
                ahead.extend(self.imports.get(name, ()))

    def _name(self, module: Path) -> str:
        path = module.resolve()
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else ""

    @property
    def files(self) -> list[str]:
        """What pages load of the folder: all bundles, the styles, and what leads to those bundles
        that are loaded later."""
        later = [f"facades/{name}" for name, of in self.modules.items() if of.startswith("later.")]
        return ["shell.css", *sorted(self.imports), *later]


@lru_cache
def made(folder: Path = FOLDER, root: Path = REPOSITORY) -> Bundles | None:
    """The bundles, if they are of the modules as these are now."""
    try:
        written = (folder / "bundles.json").read_bytes()
    except OSError:
        return None
    told = orjson.loads(written)
    if told["made_of"] != made_of(root):
        LOG.info("bundles of pages are of older modules: `make prepare` makes them anew")
        return None
    imports = {name: tuple(others) for name, others in told["imports"].items()}
    content = b"".join((folder / name).read_bytes() for name in sorted(imports))
    digest = hashlib.sha256(content + (folder / "shell.css").read_bytes()).hexdigest()
    return Bundles(root.resolve(), folder, digest, told["modules"], imports)


def made_of(root: Path) -> str:
    """A digest of all that bundles are made of."""
    modules = [*(root / "web" / "static" / "js").rglob("*.js")]
    modules += (root / "apps").glob("*/static/**/*.js")
    modules += [root / "web" / "static" / "css" / f"{name}.css" for name in STYLES]
    digest = hashlib.sha256()
    for name, path in sorted((path.relative_to(root).as_posix(), path) for path in modules):
        digest.update(name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
