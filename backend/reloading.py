"""What of a configuration can be changed while a system runs.

A change is taken by the web, the notifier, the connectors and the apps' processes, which begin
anew with it one after the other; ingest and pipeline go on. What those two, the broker or the
database depend on takes a restart, which is said and not done.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from citywise.backend.network.secret_files import replace
from citywise.backend.settings import Settings

FILE = "reloaded.json"
"""In `data_dir`: what the last reload came to, for whoever asked for it."""
_EXCEPT: Mapping[str, frozenset[str]] = {
    "fetching": frozenset(),
    "history": frozenset(),
    "outgoing": frozenset(),
    "people": frozenset({"demo_user"}),
    "sign_in": frozenset(),
    "sources": frozenset(),
    "start": frozenset(),
    "web": frozenset({"host", "port", "public_url", "certificate", "private_key"}),
    "webhooks": frozenset(),
}
"""Sections that can be changed, with their keys that cannot."""


@dataclass(frozen=True)
class Reloaded:
    """What a reload came to: keys that are used as they are now, and keys that take a restart."""

    changed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    error: str | None = None
    """Why nothing was changed at all."""

    def write(self, folder: Path) -> None:
        """Leave it for whoever asked."""
        replace(folder / FILE, json.dumps(asdict(self)).encode())

    @classmethod
    def read(cls, folder: Path) -> Reloaded | None:
        """What was left in a folder; None: nothing (yet)."""
        try:
            found = json.loads((folder / FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return cls(tuple(found["changed"]), tuple(found["kept"]), found["error"])


def compare(before: Settings, after: Settings) -> Reloaded:
    """Which keys differ between two configurations, and which of them can be changed."""
    changed: list[str] = []
    kept: list[str] = []
    for section in sorted({*_values(before), *_values(after)}):
        for key, name in _differing(before, after, section):
            is_fixed = section not in _EXCEPT or key in _EXCEPT[section]
            (kept if is_fixed else changed).append(name)
    return Reloaded(tuple(changed), tuple(kept))


def taken(running: Settings, after: Settings, found: Reloaded) -> Settings:
    """The settings that a running system has from now on: `running`, with the keys of
    `found.changed` as `after` has them. Raises `ValueError` where the two do not go together."""
    values: dict[str, Any] = {}
    for name in found.changed:
        section, _, key = name.partition(".")
        wanted = getattr(after, section)
        if key:
            old = values.get(section, getattr(running, section))
            values[section] = old.model_copy(update={key: getattr(wanted, key)})
        else:
            values[section] = wanted
    # As a whole: what cannot be changed may forbid what can.
    return Settings.model_validate(running.model_copy(update=values).model_dump())


def _differing(before: Settings, after: Settings, section: str) -> list[tuple[str, str]]:
    """The keys of a section that differ, each with its whole name; a section without keys is one
    itself."""
    old, new = _values(before).get(section), _values(after).get(section)
    if old == new:
        return []
    if not isinstance(old, dict) or not isinstance(new, dict):
        return [("", section)]
    keys = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
    return [(key, f"{section}.{key}") for key in keys]


def _values(settings: Settings) -> dict[str, Any]:
    return settings.model_dump(mode="json")
