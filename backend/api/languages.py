"""The languages of the pages: strings, negotiation, and the choice a person made."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import orjson
from flask import Request

from citywise.backend.machine import REPOSITORY

COOKIE = "lang"
STRINGS = REPOSITORY / "web" / "strings"
NAME = "language.name"
"""The string that says what a language calls itself."""


@lru_cache
def strings(language: str, folder: Path = STRINGS) -> dict[str, str]:
    """All strings of the shell in a language, by key; those that it lacks are English."""
    wanted = dict.fromkeys(("en", language))
    read = (orjson.loads((folder / f"{each}.json").read_bytes()) for each in wanted)
    return {key: text for table in read for key, text in table.items()}


def known(folder: Path = STRINGS) -> dict[str, str]:
    """The languages of the pages, and what they call themselves: a file each, English first."""
    found = sorted(
        (path.stem for path in folder.glob("*.json")), key=lambda code: (code != "en", code)
    )
    return {code: strings(code, folder)[NAME] for code in found}


LANGUAGES = known()


def chosen(of: Request) -> str:
    """The language of a request: the remembered choice, else what the browser asks for."""
    remembered = of.cookies.get(COOKIE)
    if remembered in LANGUAGES:
        return remembered
    return of.accept_languages.best_match(list(LANGUAGES)) or "en"
