"""A language is a file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from citywise.backend.api.languages import LANGUAGES, STRINGS, known, strings


def test_a_file_adds_a_language_and_what_it_lacks_is_english(tmp_path: Path) -> None:
    for name in ("en", "da"):
        shutil.copy(STRINGS / f"{name}.json", tmp_path)
    finnish = {"language.name": "Suomi", "nav.map": "Kartta"}
    (tmp_path / "fi.json").write_text(json.dumps(finnish), encoding="utf-8")
    assert known(tmp_path) == {"en": "English", "da": "Dansk", "fi": "Suomi"}
    found = strings("fi", tmp_path)
    assert found["nav.map"] == "Kartta"
    assert found["nav.list"] == strings("en")["nav.list"]


def test_english_comes_first() -> None:
    assert list(LANGUAGES) == ["en", "da", "de"]
