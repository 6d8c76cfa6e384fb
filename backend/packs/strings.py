"""What apps say, in the languages they speak: `strings/<language>.json`.

Each file is one flat object from dotted paths (`notices.jam.text`) to texts. The manifest's
own texts are English; `en.json` may override them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from citywise.backend.packs.guesses import did_you_mean
from citywise.backend.packs.library import said
from citywise.backend.packs.manifest import Manifest
from citywise.backend.packs.parameters import ChoiceParameter
from citywise.backend.packs.unique_keys import unique
from citywise.reasoning import Finding, Location

Translations = dict[str, dict[str, str]]
"""Texts by language and dotted path."""

_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Z]{2})?")
_PLACEHOLDER = re.compile(r"\{([^{}:]*)(?::length)?\}")
_IN_BRACKETS = re.compile(r"\[[^\[\]]*\]")
MANIFEST = ("title", "description", "templates", "settings", "notices")
"""What the keys of texts begin with that stand for those of the manifest."""
EXPECTED = "da"
"""The language in which, beside English, every text should be there."""


def read(folder: Path, findings: list[Finding]) -> Translations:
    """The translations of an app; what cannot be read is added to `findings`."""
    found: Translations = {}
    for path in sorted((folder / "strings").glob("*.json")):
        if not _LANGUAGE.fullmatch(path.stem):
            message = f"`{path.stem}` is no language; call the file as in da.json or pt-BR.json"
            findings.append(Finding(Location(str(path), 1, 1), "error", "strings", message))
            continue
        try:
            found[path.stem] = _texts(path)
        except (ValueError, RecursionError) as error:
            place = (getattr(error, "lineno", 1), getattr(error, "colno", 1))
            message = f"{getattr(error, 'msg', error)}; expected one object of texts"
            findings.append(Finding(Location(str(path), *place), "error", "strings", message))
    return found


def titles(folder: Path) -> dict[str, str]:
    """What the app in a folder is called, by language; in English always."""
    named = said(folder, "title") or folder.name.replace("_", " ").capitalize()
    own = {language: texts.get("title") for language, texts in read(folder, []).items()}
    return {"en": named, **{language: text for language, text in own.items() if text}}


def _texts(path: Path) -> dict[str, str]:
    content = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=unique)
    if not isinstance(content, dict):
        raise ValueError("found no object")
    for key, text in content.items():
        if not isinstance(text, str):
            raise ValueError(f"`{key}` holds no text")
    return content


def originals(manifest: Manifest) -> dict[str, str]:
    """All texts of a manifest by their dotted paths; empty ones are left out."""
    return {path: text for path, text in _originals(manifest) if text}


def _originals(manifest: Manifest) -> Iterator[tuple[str, str]]:
    yield "title", manifest.title
    yield "description", manifest.description
    for name, template in manifest.templates.items():
        base = f"templates.{name}"
        yield f"{base}.title", template.title
        yield f"{base}.help", template.help
        if template.switch is not None:
            yield f"{base}.switch.title", template.switch.title
            yield f"{base}.switch.help", template.switch.help
        for key, parameter in template.parameters.items():
            yield f"{base}.parameters.{key}.title", parameter.title
            yield f"{base}.parameters.{key}.help", parameter.help
            if isinstance(parameter, ChoiceParameter):
                for choice in parameter.choices:
                    yield f"{base}.parameters.{key}.choices.{choice}", choice
    for name, setting in manifest.settings.items():
        yield f"settings.{name}.title", setting.title
        yield f"settings.{name}.help", setting.help
    for name, notice in manifest.notices.items():
        yield f"notices.{name}.title", notice.title
        yield f"notices.{name}.text", notice.text


def check(
    folder: Path, manifest: Manifest, translations: Mapping[str, Mapping[str, str]]
) -> Iterator[Finding]:
    """Keys that name nothing, braces that stand alone, and texts without a translation."""
    known = originals(manifest)
    for language, texts in translations.items():
        path = folder / "strings" / f"{language}.json"
        for key, text in texts.items():
            if key.startswith("notices.") and (fault := lone_brace(text)):
                yield Finding(place(path, key), "error", "brace", f"`{key}`: {fault}")
            if key not in known and not (manifest.python and of_pages(key)):
                cure = did_you_mean(key, known, "remove it")
                message = f"`{key}` names no text of the app; {cure}"
                yield Finding(place(path, key), "error", "unknown-string", message)
        if language == EXPECTED and (missing := sorted(known.keys() - texts.keys())):
            message = f"no translation of {', '.join(f'`{key}`' for key in missing)}"
            yield Finding(Location(str(path), 1, 1), "warning", "untranslated", message)


def of_pages(key: str) -> bool:
    """Whether a text is one that the pages of an app with Python show."""
    return key.partition(".")[0] not in MANIFEST


def place(path: Path, key: str) -> Location:
    """Where a key stands in a file of texts."""
    wanted = json.dumps(key)
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
        if (column := line.find(wanted)) >= 0:
            return Location(str(path), number, column + 1)
    return Location(str(path), 1, 1)


def of_template(translations: Translations, template: str) -> Translations:
    """The translations that concern one template, the app's notices and the app itself."""
    own = (f"templates.{template}.", "notices.")
    return {
        language: {
            key: text
            for key, text in texts.items()
            if key.startswith(own) or key in ("title", "description")
        }
        for language, texts in translations.items()
    }


def lone_brace(text: str) -> str | None:
    """What is wrong where the braces of a text do not enclose names of details, or its brackets
    no part of it."""
    left = _PLACEHOLDER.sub("", text)
    if "{" in left or "}" in left:
        return "a brace stands alone; write {name} where the value of a detail belongs"
    left = _IN_BRACKETS.sub("", text)
    if "[" in left or "]" in left:
        cure = "write […] around what is to be left out where a detail in it is not known"
        return f"a bracket stands alone or in others; {cure}"
    return None


def placeholders(text: str) -> set[str]:
    """The names in braces."""
    return set(_PLACEHOLDER.findall(text))
