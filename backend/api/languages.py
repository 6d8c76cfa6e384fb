"""The languages of the pages: strings, negotiation, and the choice a person made."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

import orjson
from flask import Request

from citywise.backend.machine import REPOSITORY

LANGUAGES = {"en": "English", "da": "Dansk"}
COOKIE = "lang"
STRINGS = REPOSITORY / "web" / "strings"


@lru_cache
def strings(language: str) -> dict[str, str]:
    """All strings of the shell in a language, by key."""
    return cast("dict[str, str]", orjson.loads((STRINGS / f"{language}.json").read_bytes()))


def chosen(of: Request) -> str:
    """The language of a request: the remembered choice, else what the browser asks for."""
    remembered = of.cookies.get(COOKIE)
    if remembered in LANGUAGES:
        return remembered
    return of.accept_languages.best_match(list(LANGUAGES)) or "en"
