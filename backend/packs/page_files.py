"""What the folder of an app with Python brings to the pages, beside its code.

Texts (`nav.…` and `pages.…` in `strings/<language>.json`), icons of its menu entries
(`icons/<key>.svg`, or `icon.svg` for all), templates (`templates/*.html`) and `static/`. What of it
is missing or faulty is replaced by what can be read, and said: by `check` beforehand, and on the
operator's page.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from html import escape
from pathlib import Path
from xml.etree import ElementTree

from citywise.backend.errors import CitywiseError
from citywise.backend.packs import broken
from citywise.backend.packs.guesses import did_you_mean
from citywise.backend.packs.strings import EXPECTED, Translations, of_pages, place, read
from citywise.reasoning import Finding, Location
from citywise.reasoning.errors import Severity

ENGLISH = "en"
MOST_ICON_BYTES = 20_000
"""Of an icon's file: it is part of every page."""
_SVG = "{http://www.w3.org/2000/svg}"
_SHAPES = {"g", "path", "circle", "ellipse", "line", "polyline", "polygon", "rect"}
_LEFT_OUT = {"title", "desc"}
_ATTRIBUTE = re.compile(
    r"d|points|[cr]?[xy]|[xy][12]|r|width|height|transform|opacity"
    r"|fill(-rule|-opacity)?|stroke(-(width|linecap|linejoin|miterlimit|dasharray|opacity))?"
)
_VIEW = re.compile(r"-?[\d.]+([ ,]+-?[\d.]+){3}")
_VALUE = re.compile(r"[^<>&\"']*")
_ASKED = re.compile(r"""\bt\(\s*(['"])([^'"]+)\1\s*[,)]""")
_MOST_NAMED = 20


class PageFilesError(CitywiseError):
    """A file that an app brings to the pages cannot be used; names it and the cure."""


class PageFiles:
    """The files that one app brings to the pages, read once."""

    def __init__(self, app: str, folder: Path) -> None:
        self.app, self.folder = app, folder
        self._missing: dict[str, str] = {}
        findings: list[Finding] = []
        self._texts = _of_pages(
            broken.contained(app, "strings", partial(read, folder, findings), {})
        )
        self._is_read = not findings
        if findings:
            self._note("strings", str(findings[0]))
        self.version = broken.contained(app, "static", partial(_digest, self.static), "none")

    @property
    def static(self) -> Path:
        """The folder of the files that browsers may ask for."""
        return self.folder / "static"

    @property
    def templates(self) -> Path:
        """The folder of its templates, beside those of its rules."""
        return self.folder / "templates"

    def texts(self, language: str) -> Mapping[str, str]:
        """Its texts by key: in a language, or else in English."""
        return {**self._texts.get(ENGLISH, {}), **self._texts.get(language, {})}

    def address(self, path: str) -> str:
        """The address of a file in `static/`, which changes with their content."""
        return f"/assets/apps/{self.app}/{self.version}/{path}"

    def holds(self, path: str) -> bool:
        """Whether there is a file in `static/` that every page is to load; noted if not."""
        is_there = (self.static / path).is_file()
        if not is_there:
            self._note("static", f"{self.static / path}: every page is to load it; it is not there")
        return is_there

    def kept(self, most_bytes: int) -> Iterator[str]:
        """The names of the files in `static/` that are no larger."""
        for path in sorted(self.static.rglob("*.*")):
            if path.is_file() and path.stat().st_size <= most_bytes:
                yield path.relative_to(self.static).as_posix()

    def icon(self, key: str) -> str | None:
        """The `<symbol id="icon-APP-KEY">` of a menu entry; None if it has none to use."""
        try:
            return symbol(self.folder, key, f"icon-{self.app}-{key}")
        except PageFilesError as error:
            broken.note(self.app, "icon", error)
            return None

    def lacks(self, key: str, why: str = "is not there") -> None:
        """Note that a page asked for a text that cannot be used."""
        if not self._is_read:
            return  # of which the cause is noted
        if len(self._missing) < _MOST_NAMED and key not in self._missing:
            self._missing[key] = why
            named = ", ".join(f"`{each}` {why}" for each, why in sorted(self._missing.items()))
            self._note("strings", f"{_english(self.folder)}: {named}; write it there")

    def _note(self, part: str, reason: str) -> None:
        broken.note(self.app, part, PageFilesError(reason))


def readable(key: str) -> str:
    """What stands for the text of a key: its last part, as words."""
    return key.rpartition(".")[2].replace("_", " ").replace("-", " ").strip().capitalize() or key


def symbol(folder: Path, key: str, name: str) -> str | None:
    """The icon of a menu entry as a `<symbol>` of a name; None if there is no file.

    Raises `PageFilesError` for a file that is no plain drawing: it becomes part of every page.
    """
    path = next((file for file in _icons(folder, key) if file.is_file()), None)
    if path is None:
        return None
    try:
        if path.stat().st_size > MOST_ICON_BYTES:
            raise PageFilesError(f"{path}: has more than {MOST_ICON_BYTES} bytes; draw it simpler")
        text = path.read_text(encoding="utf-8-sig")
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise PageFilesError(f"{path}: declares a document type; save it as plain SVG")
        root = ElementTree.fromstring(text)  # noqa: S314
        view = root.get("viewBox", "")
        if root.tag != f"{_SVG}svg" or not _VIEW.fullmatch(view):
            raise PageFilesError(f'{path}: is no `<svg>` of SVG with a `viewBox="0 0 24 24"`')
        drawn = "".join(_drawn(path, child) for child in root)
    except (OSError, ValueError, RecursionError, ElementTree.ParseError) as error:
        raise PageFilesError(f"{path}: cannot be read as SVG: {error}") from error
    given = f'id="{escape(name)}" viewBox="{view}"{_written(path, root, root=True)}'
    return f"<symbol {given}>{drawn}</symbol>"


def _icons(folder: Path, key: str) -> tuple[Path, Path]:
    return folder / "icons" / f"{key}.svg", folder / "icon.svg"


def _drawn(path: Path, element: ElementTree.Element) -> str:
    tag = element.tag.removeprefix(_SVG)
    if tag in _LEFT_OUT:
        return ""
    if tag not in _SHAPES:
        raise PageFilesError(
            f"{path}: `{tag}` is no shape; save it as plain SVG of {', '.join(sorted(_SHAPES))}"
        )
    within = "".join(_drawn(path, child) for child in element)
    return f"<{tag}{_written(path, element)}>{within}</{tag}>"


def _written(path: Path, element: ElementTree.Element, *, root: bool = False) -> str:
    kept = []
    for name, value in element.attrib.items():
        if root and name in {"viewBox", "width", "height", "version", "id", "x", "y"}:
            continue
        if not _ATTRIBUTE.fullmatch(name) or not _VALUE.fullmatch(value):
            raise PageFilesError(f"{path}: attribute `{name}` is no plain drawing; remove it")
        kept.append(f' {name}="{value}"')
    return "".join(kept)


def _of_pages(translations: Mapping[str, Mapping[str, str]]) -> Translations:
    return {
        language: {key: text for key, text in texts.items() if of_pages(key)}
        for language, texts in translations.items()
    }


def _english(folder: Path) -> Path:
    return folder / "strings" / f"{ENGLISH}.json"


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def check(
    folder: Path,
    navigation: Collection[str],
    translations: Mapping[str, Mapping[str, str]],
    shell: Collection[str],
    drawn: Collection[str],
) -> Iterator[Finding]:
    """What of an app's files for the pages is missing or cannot be used. `shell` and `drawn` are
    the texts and icons that there are without the app."""
    texts = _of_pages(translations)
    yield from _texts(folder, navigation, texts, shell)
    for key in navigation:
        try:
            if symbol(folder, key, key) is None and key not in drawn:
                message = f"the menu entry `{key}` has no icon, and shows that of apps; draw one"
                yield _of(folder / "icon.svg", "warning", "no-icon", message)
        except PageFilesError as error:
            path = next(file for file in _icons(folder, key) if file.is_file())
            yield _of(path, "error", "icon", str(error).removeprefix(f"{path}: "))
    known = {*texts.get(ENGLISH, {}), *shell}
    for path in sorted((folder / "templates").rglob("*.html")):
        yield from _template(path, known, _english(folder))


def _texts(
    folder: Path, navigation: Collection[str], texts: Translations, shell: Collection[str]
) -> Iterator[Finding]:
    english = texts.get(ENGLISH, {})
    named = {f"nav.{key}" for key in navigation}
    for key in sorted(named - english.keys() - set(shell)):
        message = f"no text `{key}` for the menu, which shows the app's title; write it"
        yield _of(_english(folder), "warning", "no-string", message)
    for language, found in texts.items():
        path = folder / "strings" / f"{language}.json"
        for key in found:
            if key.startswith("nav.") and key not in named:
                cure = did_you_mean(key, named, "remove it")
                message = f"`{key}` names no page in `Parts.navigation`; {cure}"
                yield Finding(place(path, key), "error", "unknown-string", message)
            elif key not in english:
                message = f"`{key}` has no English text, which stands in for other languages'; "
                cure = f"write it in {ENGLISH}.json"
                yield Finding(place(path, key), "error", "no-string", message + cure)
    if missing := sorted(english.keys() - texts.get(EXPECTED, {}).keys()):
        message = f"no translation of {', '.join(f'`{key}`' for key in missing)}"
        yield _of(folder / "strings" / f"{EXPECTED}.json", "warning", "untranslated", message)


def _template(path: Path, known: Collection[str], english: Path) -> Iterator[Finding]:
    from jinja2 import Environment, TemplateSyntaxError  # Nobody else here needs it.

    try:
        text = path.read_text(encoding="utf-8")
        Environment(autoescape=True).parse(text)
    except TemplateSyntaxError as error:
        yield _of(path, "error", "template", str(error.message), error.lineno)
        return
    except (OSError, ValueError) as error:
        yield _of(path, "error", "template", f"cannot be read: {error}")
        return
    for number, line in enumerate(text.splitlines(), 1):
        for asked in _ASKED.finditer(line):
            if (key := asked[2]) not in known:
                cure = did_you_mean(key, known, f"write it in {english.parent.name}/{english.name}")
                message = f"there is no text `{key}`; {cure}"
                place = Location(str(path), number, asked.start(2) + 1)
                yield Finding(place, "error", "no-string", message)


def _of(path: Path, severity: Severity, code: str, message: str, line: int = 1) -> Finding:
    return Finding(Location(str(path), line, 1), severity, code, message)
