"""Where apps are found: our own, those of installed packages, and those in folders."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from citywise.backend.errors import CitywiseError
from citywise.backend.kinds import FOLDER, Kinds
from citywise.backend.packs import broken

STANDING = ("events", "places")
"""Streams that are no kinds of observations."""
FILE = "app.toml"
"""An app's manifest: the folder that it lies in is the app's."""
GROUP = "citywise.apps"
"""Entry points of packages that bring an app: each names the package that is its folder."""
_OURS = (("citywise.backend.context", "pack"), ("citywise.apps", ""))
"""Packages of ours that hold apps, and where in them."""


class UnknownAppError(CitywiseError):
    """No app of that name or at that path."""


def folders(path: Path) -> list[Path]:
    """The apps at a path: itself if it is one, or those within; hidden folders are left out."""
    if (path / FILE).is_file():
        return [path]
    found = sorted(path.rglob(FILE)) if path.is_dir() else []
    return [
        file.parent
        for file in found
        if not any(part.startswith(".") for part in file.relative_to(path).parts)
    ]


def of_template(path: Path) -> Path | None:
    """The folder of the app one of whose templates a file is."""
    is_template = path.is_file() and path.parent.name == "templates"
    folder = path.parent.parent
    return folder if is_template and (folder / FILE).is_file() else None


@cache
def built_in() -> Sequence[Path]:
    """Folders of the apps that Citywise brings along; they stay while a process runs."""
    return [
        folder
        for package, within in _OURS
        if (spec := importlib.util.find_spec(package)) is not None
        for location in spec.submodule_search_locations or ()
        for folder in folders(Path(location).resolve() / within)
    ]


def package_of(folder: Path) -> str | None:
    """The name of the Python package that the app in a folder is; None if it is none."""
    for package, _within in _OURS:
        spec = importlib.util.find_spec(package)
        for location in (spec.submodule_search_locations or ()) if spec else ():
            if folder.resolve().is_relative_to(Path(location).resolve()):
                below = folder.resolve().relative_to(Path(location).resolve())
                return ".".join((package, *below.parts))
    for point in _points():
        with suppress(UnknownAppError):
            if _folder(point).resolve() == folder.resolve():
                return point.value
    return None


def of_packages() -> Iterator[Path]:
    """Folders of the apps that installed packages bring; one that cannot be found is left out,
    and noted as broken."""
    for point in _points():
        try:
            yield _folder(point)
            broken.mended(point.name, "package")
        except UnknownAppError as error:
            broken.note(point.name, "package", error)


def _points() -> Sequence[EntryPoint]:
    """What installed packages name. To read the metadata of all takes long, so it is done again
    only where something was installed or removed."""
    return _points_of(tuple((path, _changed_ns(Path(path or "."))) for path in sys.path))


@lru_cache(maxsize=1)
def _points_of(_state: tuple[tuple[str, int], ...]) -> Sequence[EntryPoint]:
    return tuple(entry_points(group=GROUP))


def _changed_ns(path: Path) -> int:
    """When a file or folder was changed; 0 if there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _folder(point: EntryPoint) -> Path:
    try:
        module = importlib.import_module(point.value)
    except (Exception, SystemExit) as error:  # noqa: BLE001
        raise UnknownAppError(
            f"entry point `{point.name}` of {GROUP}: cannot import `{point.value}`: {error}"
        ) from None
    folder = Path(next(iter(module.__path__)))
    if not (folder / FILE).is_file():
        raise UnknownAppError(
            f"entry point `{point.name}` of {GROUP}: {folder} holds no {FILE}; let it name the "
            "package that is the app's folder"
        )
    return folder


def available(paths: Sequence[Path] = ()) -> list[Path]:
    """All apps there are: built in, of packages, and at some paths, each once."""
    found = [*built_in(), *of_packages(), *(f for path in paths for f in folders(path))]
    return list(dict.fromkeys(folder.resolve() for folder in found))


def find(name: str) -> Path:
    """The folder of an app by path or by name; raises `UnknownAppError`."""
    path = Path(name)
    if path.exists():
        found = folders(path)
        if len(found) == 1:
            return found[0]
        there = ", ".join(map(str, found)) or f"no {FILE}"
        raise UnknownAppError(f"{path} holds {there}; name the folder of one app")
    known = {app_name(folder): folder for folder in available()}
    if name not in known:
        listed = ", ".join(sorted(known)) or "none"
        raise UnknownAppError(
            f"no app `{name}`; give the path of its folder or one of those there are: {listed}"
        )
    return known[name]


def app_name(folder: Path) -> str:
    """The name of the app in a folder: as its manifest says, else the folder's own."""
    return said(folder, "name") or folder.resolve().name


def missing(folder: Path, kinds: Kinds) -> list[str]:
    """The kinds that an app names and that there are not: of observations that it reads, and of
    what its templates ask people for."""
    own = (path.stem for path in (folder / FOLDER).glob("*.toml"))
    known = {*STANDING, *kinds, *kinds.places, *own}
    named = dict.fromkeys(_named(_manifest(folder)))
    return [name for name in named if name not in known]


def _named(manifest: Mapping[str, Any]) -> Iterator[str]:
    """The kinds that a manifest names, as far as it is one."""
    streams = manifest.get("streams")
    yield from (one for one in streams if isinstance(one, str)) if isinstance(streams, list) else ()
    for template in _tables(manifest.get("templates")):
        for parameter in _tables(template.get("parameters")):
            if isinstance(kind := parameter.get("kind"), str):
                yield kind


def _tables(found: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(found, dict):
        yield from (table for table in found.values() if isinstance(table, dict))


def said(folder: Path, key: str) -> str | None:
    """A text that the manifest in a folder has at its top; None also where it cannot be read,
    which `loading` tells of."""
    found = _manifest(folder).get(key)
    return found if isinstance(found, str) else None


def _manifest(folder: Path) -> Mapping[str, Any]:
    try:
        return _parsed((folder / FILE).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}


@lru_cache(maxsize=100)
def _parsed(text: str) -> Mapping[str, Any]:
    """A manifest is asked for one text after another."""
    return tomllib.loads(text)
