"""The languages of the pages: strings, negotiation, and the choice a person made."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import cast

import orjson
from flask import Request

LANGUAGES = {"en": "English", "da": "Dansk"}
COOKIE = "lang"
STRINGS = Path(__file__).resolve().parents[2] / "web" / "strings"


@lru_cache
def strings(language: str) -> dict[str, str]:
    """All strings of a language by key."""
    return cast("dict[str, str]", orjson.loads((STRINGS / f"{language}.json").read_bytes()))


def chosen(request: Request) -> str:
    """The language of a request: the remembered choice, else what the browser asks for."""
    remembered = request.cookies.get(COOKIE)
    if remembered in LANGUAGES:
        return remembered
    return request.accept_languages.best_match(list(LANGUAGES)) or "en"
