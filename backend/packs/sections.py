"""Sections of the configuration that are apps'."""

from __future__ import annotations

from citywise.backend.packs.guesses import did_you_mean
from citywise.backend.packs.parts import brought_to
from citywise.backend.settings import Section, Settings, SettingsError


def check(settings: Settings, name: str) -> None:
    """Raise pydantic's `ValidationError` or a `SettingsError` where a section is not as its app
    declares it. Of an app whose Python cannot be used, nobody knows what it may hold."""
    apps = brought_to(settings)
    if name in apps.unusable:
        return
    known: dict[str, type[Section]] = {}
    for parts in apps.parts.values():
        known |= parts.settings
    if name not in known:
        ours = [key for key in Settings.model_fields if key not in ("data_dir", "database")]
        cure = did_you_mean(name, [*ours, *known], f"there are {', '.join([*ours, *known])}")
        raise SettingsError(f"there is no such section; {cure}")
    settings.section(name, known[name])
