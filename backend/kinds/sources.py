"""Where a system's kinds come from: Citywise, the city's folder, and folders of the settings."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from citywise.backend.errors import CitywiseError
from citywise.backend.kinds.registry import FOLDER, Kinds, builtin
from citywise.backend.settings import Settings


class KindFolderError(CitywiseError):
    """A folder of kinds is not there."""


def of_files(settings: Settings) -> Kinds:
    """The kinds of a system but for those of its apps; raises `KindError`, `KindFolderError`."""
    given = [Path(folder) for folder in settings.kinds.folders]
    base = builtin() if settings.kinds.built_in else Kinds()
    return with_folders(base, [*_there(settings.city_dir / FOLDER), *given])


def with_folders(kinds: Kinds, folders: Iterable[Path]) -> Kinds:
    """Kinds and those of some folders, which may replace them; raises as `of_files`."""
    for folder in folders:
        if not folder.is_dir():
            raise KindFolderError(f"{folder}: there is no such folder of kinds")
        kinds = kinds.with_folder(folder)
    return kinds


def _there(folder: Path) -> list[Path]:
    return [folder] if folder.is_dir() else []


def of_option(folders: Iterable[Path]) -> Kinds:
    """Those that come with Citywise, and those of folders that a command was given."""
    return with_folders(builtin(), folders)
