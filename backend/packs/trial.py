"""Trying the pages and addresses of an app in a system of its own, which nobody else sees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from citywise.backend.packs import broken
from citywise.backend.packs.library import app_name
from citywise.backend.packs.parts import brought_to, upgrade_tables
from citywise.backend.settings import Apps, People, Settings
from citywise.backend.store.database import create_engine_for, migrate

if TYPE_CHECKING:
    from flask.testing import FlaskClient


@dataclass
class Tried:
    """A page of an app in one language, and what was wrong with it."""

    address: str
    language: str
    faults: list[str] = field(default_factory=list)


@contextmanager
def trial(folder: Path) -> Iterator[FlaskClient]:
    """A client of the pages and the API of a new system, with an empty database and the app in a
    folder. Its user may do everything; the city has nothing in it, and no process runs beside."""
    from citywise.backend.api.app import create_app  # Whoever only declares needs no web.

    with TemporaryDirectory() as data:
        apps = Apps(folders=(str(folder),))
        settings = Settings(data_dir=Path(data), apps=apps, people=People(demo_user=True))
        engine = create_engine_for(settings.database_url)
        try:
            migrate(engine)
            upgrade_tables(engine, settings)
            yield create_app(settings, engine).test_client()
        finally:
            engine.dispose()


def pages(folder: Path) -> list[Tried]:
    """Ask for every page in the menu that the app in a folder brings, in every language."""
    from citywise.backend.api.languages import LANGUAGES

    name = app_name(folder)
    brought = brought_to(Settings(apps=Apps(folders=(str(folder),)))).parts.get(name)
    if brought is None or not brought.navigation:
        return []
    found = []
    with trial(folder) as client:
        for address in brought.navigation.values():
            for language in LANGUAGES:
                answer = client.get(address, headers={"Accept-Language": language})
                tried = Tried(address, language)
                if answer.status_code != 200:
                    tried.faults.append(f"answers {answer.status_code}; the error is above")
                tried.faults += [f"{f.part}: {f.reason}" for f in broken.known() if f.app == name]
                found.append(tried)
    return found
