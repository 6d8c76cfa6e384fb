"""Letters that apps have sent: their words are asked for when they leave, and each time they are
tried, so that what is past, or is another now, is not told."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from sqlalchemy import Connection

from citywise.backend.mail.letters import Letter, app_of
from citywise.backend.mail.wording import Asked, Written
from citywise.backend.packs.page_files import PageFiles
from citywise.backend.packs.parts import brought_to, within
from citywise.backend.settings import Settings


def written(
    connection: Connection, settings: Settings, letter: Letter, language: str
) -> Written | None:
    """What an app says in a letter now; None: nothing any more, or it is gone or fails."""
    app, about = app_of(letter)
    there = brought_to(settings)
    parts = there.parts.get(app)
    if parts is None or parts.letters is None:
        return None
    asked = Asked(letter.account, about, language, _texts(app, there.installed[app], language))
    said: list[Written | None] = []
    ask = parts.letters
    within(connection, app, "letters", lambda: said.append(ask(connection, settings, asked)))
    return said[0] if said else None


@lru_cache(maxsize=64)
def _texts(app: str, folder: Path, language: str) -> Mapping[str, str]:
    return PageFiles(app, folder).texts(language)
