"""Apps that wait for a kind of observations: installed when an operator makes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Engine

from citywise.backend.kinds import Kinds
from citywise.backend.kinds import installed as installed_kinds
from citywise.backend.packs import duties
from citywise.backend.packs.check import checked
from citywise.backend.packs.installed import StaleVersionError, install
from citywise.backend.packs.library import app_name, available, missing, said
from citywise.backend.packs.manifest import PackError


@dataclass
class Waiting:
    """The folders of apps that read kinds which a system does not have, yet."""

    folders: list[Path] = field(default_factory=list)
    _tried: Kinds = field(default_factory=Kinds)

    def sort(self, folders: list[Path], kinds: Kinds) -> list[Path]:
        """Those whose kinds are there; the others wait: a city may be without cars."""
        self.folders = [folder for folder in folders if missing(folder, kinds)]
        return [folder for folder in folders if folder not in self.folders]

    def told(self, kinds: Kinds) -> Iterator[str]:
        """Which apps wait, and for what."""
        for folder in self.folders:
            names = ", ".join(f"`{name}`" for name in missing(folder, kinds))
            yield f"app `{app_name(folder)}` has no templates here: there is no kind {names}"

    def settle(self, engine: Engine, kinds: Kinds) -> Iterator[str]:
        """Install the apps whose kinds have come, and say so; what is wrong with one is said once
        for each state of the kinds. Where the database fails, all of it is tried again."""
        if not self.folders or kinds == self._tried:
            return
        for folder in [folder for folder in self.folders if not missing(folder, kinds)]:
            try:
                yield self._install(engine, folder, kinds)
                self.folders.remove(folder)
            except (PackError, StaleVersionError) as error:
                yield f"{error}\napp `{app_name(folder)}` still has no templates here"
        self._tried = kinds

    def _install(self, engine: Engine, folder: Path, kinds: Kinds) -> str:
        """What has code or requests of its own is started with the system, not beside it."""
        pack = None if said(folder, "python") else checked(folder, kinds)
        if pack is None or pack.requests:
            return f"app `{app_name(folder)}`: its kinds are here; it runs from the next start on"
        install(engine, [pack])
        with engine.begin() as connection:
            for kind in pack.own_kinds.beyond(kinds).described:
                installed_kinds.add(connection, kind)
            duties.settle(connection)
        return f"app `{pack.name}`: its kinds are here, and its templates with them"


def waits(paths: Sequence[Path], kinds: Kinds) -> Iterator[tuple[str, list[str]]]:
    """The apps of some folders, and the built-in ones, that wait: each with the kinds that it
    lacks."""
    for folder in available(paths):
        if names := missing(folder, kinds):
            yield app_name(folder), names
