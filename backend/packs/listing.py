"""An app in some lines, for `citywise app list`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from citywise.backend.packs.check import checked
from citywise.backend.packs.library import app_name
from citywise.backend.packs.manifest import Pack, PackError, load


def lines(folder: Path) -> Iterator[str]:
    """Name, version, title and place of an app, and its templates; or that it is not sound."""
    try:
        pack = load(folder)
        if pack.manifest.python is not None:
            pack = checked(folder)
    except PackError as error:
        count = len(error.findings)
        found = "1 finding" if count == 1 else f"{count} findings"
        yield f"{app_name(folder)}  not sound, {found}: citywise check {folder}"
        return
    manifest = pack.manifest
    yield f"{manifest.name} {manifest.version}  {manifest.title}  ({folder})"
    yield from _templates(pack)


def _templates(pack: Pack) -> Iterator[str]:
    for template in pack.templates:
        parameters = ", ".join(template.parameters) or "no parameters"
        yield f"  {template.name}@{template.version}  {template.title}  ({parameters})"
