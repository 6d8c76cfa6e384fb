"""All there is to say about an app before it runs: its folder, its rules, its texts."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from citywise.backend.kinds import Kinds
from citywise.backend.packs import enclosure, page_files, scenarios, strings
from citywise.backend.packs.broken import reason_of
from citywise.backend.packs.library import FILE, folders, of_template
from citywise.backend.packs.loading import Loading
from citywise.backend.packs.manifest import Pack, PackError
from citywise.backend.packs.parts import Parts, PartsError, load
from citywise.backend.packs.prepared import prepared
from citywise.backend.packs.rules import Rules
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.packs.vocabulary import CONCLUSIONS, PREDICATES
from citywise.reasoning import Finding, LimitError, Location, RequestError, budget, check
from citywise.reasoning.languages.casp import read_file

LOG = logging.getLogger("citywise.apps")


def check_pack(folder: Path, kinds: Kinds | None = None) -> list[Finding]:
    """All findings about an app, by file and position; `kinds` as of `manifest.load`."""
    return _limited(folder, kinds)[1]


def check_path(
    path: Path, *, partitioned: bool = False, kinds: Kinds | None = None
) -> list[Finding]:
    """All findings about a program, an app, or what a folder holds of both.

    A template's rules are judged with its app. `partitioned` as `reasoning.run.language.check`.
    """
    folder = of_template(path)
    if folder is not None:
        return [f for f in check_pack(folder, kinds) if Path(f.location.file) == path]
    apps = folders(path)
    found = [finding for app in apps for finding in check_pack(app, kinds)]
    others = check(path, partitioned=partitioned)
    return found + [f for f in others if not _is_within(Path(f.location.file), apps)]


def _is_within(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def checked(folder: Path, kinds: Kinds | None = None) -> Pack:
    """The app in a folder; raises `PackError` if `check_pack` finds an error."""
    pack, findings = _limited(folder, kinds)
    errors = [finding for finding in findings if finding.severity == "error"]
    if pack is None or errors:
        raise PackError(folder, errors)
    return pack


def _limited(folder: Path, kinds: Kinds | None) -> tuple[Pack | None, list[Finding]]:
    """An app as far as it can be read within limits, and the findings about it."""
    what = f"checking {folder}"
    try:
        with budget.metered(budget.limits(), LOG.error, what), budget.step(what):
            return _judged(Loading(folder, kinds))
    except LimitError as error:
        place = Location(str(folder / FILE), 1, 1)
        return None, [Finding(place, "error", "limit", str(error))]


def _judged(loading: Loading) -> tuple[Pack | None, list[Finding]]:
    pack = loading.attempt()
    found = list(loading.findings)
    if pack is not None:
        found += _Judgement(loading, pack).findings()
    found = list(map(loading.placed, found))
    places = {f: (f.location.file, f.location.line, f.location.column, f.code) for f in found}
    return pack, sorted(places, key=places.__getitem__)


def _why_not_served(app: str, parts: Parts) -> str | None:
    """Why the web process would leave out an app's pages and addresses."""
    from citywise.backend.api.brought import tried

    try:
        tried(app, parts)
    except (Exception, SystemExit) as error:  # noqa: BLE001
        return reason_of(error)
    return None


class _Judgement:
    """The checks of an app whose manifest could be read."""

    def __init__(self, loading: Loading, pack: Pack) -> None:
        self._loading, self._pack = loading, pack
        self._manifest = pack.manifest
        self._rules = {
            template.name: Rules(template, loading.readings[template.name], pack)
            for template in pack.templates
        }

    def findings(self) -> Iterator[Finding]:
        """All there is to say beyond what loading found."""
        for template in self._pack.templates:
            found = list(self._rules[template.name].findings())
            yield from found
            if not any(finding.severity == "error" for finding in found):
                yield from self._cost(template)
        yield from self._python()
        yield from self._parameters()
        yield from self._notices()
        yield from strings.check(self._pack.folder, self._manifest, self._pack.strings)
        yield from self._scenarios()
        for path in self._pack.requests:
            if path.is_file():
                yield from self._request(path)

    def _request(self, path: Path) -> Iterator[Finding]:
        """A request of the city that the app brings."""
        outside: list[Finding] = []
        if path.suffix == ".casp":
            with suppress(RequestError):  # which `check` says
                outside = list(enclosure.knowledge(self._pack.folder, read_file(path)))
        yield from outside or check(path)

    def _python(self) -> Iterator[Finding]:
        """What the app brings in Python, which must be there."""
        if self._manifest.python is None:
            return
        place = self._loading.places.location(("python",))
        try:
            parts = load(self._pack.folder, self._manifest.python)
        except PartsError as error:
            told = str(error).removeprefix(f"{self._pack.folder / FILE}: ")
            yield Finding(place, "error", "python", told)
            return
        if why := _why_not_served(self._manifest.name, parts):
            message = f"`python`: what the app brings to the web cannot be served: {why}"
            yield Finding(place, "error", "web", message)
            return
        from citywise.backend.api import languages, pages

        yield from page_files.check(
            self._pack.folder,
            parts.navigation,
            self._pack.strings,
            languages.strings("en").keys(),
            pages.icons(),
        )

    def _scenarios(self) -> Iterator[Finding]:
        """Expectations of nothing."""
        for path in sorted((self._pack.folder / "scenarios").glob(f"*{scenarios.EXPECTED}")):
            name = path.name.removesuffix(scenarios.EXPECTED) + scenarios.SUFFIX
            if not path.with_name(name).is_file():
                message = f"there is no scenario `{name}` of which this could be expected; "
                cure = "write it, rename this file or remove it"
                place = Location(str(path), 1, 1)
                yield Finding(place, "warning", "no-scenario", message + cure)

    def _cost(self, template: TemplateVersion) -> Iterator[Finding]:
        """Rules of which more is evaluated than the instances that a change concerns."""
        source = self._loading.readings[template.name].source
        found = prepared(template).rules
        for leap in found.leaps:
            message = f"{leap}, so that every change evaluates all instances; let the rule reach "
            cure = "it from Me or from what its other atoms name"
            yield Finding(source.location(0), "warning", "not-local", message + cure)
        if not found.certain:
            message = "the rules may have several answers, of which one is taken; write rules "
            cure = "without choices, disjunctions and loops through negation"
            yield Finding(source.location(0), "warning", "uncertain", message + cure)

    def _parameters(self) -> Iterator[Finding]:
        """Parameters whose facts would be mistaken for others."""
        for template, entry in self._manifest.templates.items():
            for name in entry.parameters:
                if name in PREDICATES or name in CONCLUSIONS:
                    key = ("templates", template, "parameters", name)
                    message = f"`{name}` is a predicate of the framework; rename the parameter"
                    yield Finding(self._loading.places.location(key), "error", "name", message)

    def _notices(self) -> Iterator[Finding]:
        """Kinds that nothing concludes, texts with details that nothing gives."""
        if len(self._rules) < len(self._manifest.templates):
            return  # What is missing may stand in a template that could not be read.
        kinds = [rules.conclusions.kinds for rules in self._rules.values()]
        for kind, words in self._manifest.notices.items():
            key = ("notices", kind)
            by_code = words.by == "code"
            if not by_code and all(known is not None and kind not in known for known in kinds):
                message = f"no rule concludes a notice of kind `{kind}`; write one or remove it"
                location = self._loading.places.location(key)
                yield Finding(location, "warning", "unused-notice", message)
                continue
            for part, text in (("title", words.title), ("text", words.text)):
                location = self._loading.places.location((*key, part))
                if fault := strings.lone_brace(text):
                    message = f"`notices.{kind}.{part}`: {fault}"
                    yield Finding(location, "error", "brace", message)
                if not by_code:
                    yield from self._details(kind, f"notices.{kind}.{part}", text, location)
            if not by_code:
                yield from self._translated(kind)

    def _translated(self, kind: str) -> Iterator[Finding]:
        for language, texts in self._pack.strings.items():
            path = self._pack.folder / "strings" / f"{language}.json"
            for part in ("title", "text"):
                key = f"notices.{kind}.{part}"
                if key in texts:
                    yield from self._details(kind, key, texts[key], strings.place(path, key))

    def _details(self, kind: str, key: str, text: str, location: Location) -> Iterator[Finding]:
        given = [rules.conclusions.details(kind) for rules in self._rules.values()]
        if None in given:
            return
        known = {"about"}.union(*(names for names in given if names is not None))
        for name in sorted(strings.placeholders(text) - known):
            message = f"`{key}` names the detail {{{name}}}, which no rule gives; there are "
            cure = ", ".join(f"{{{n}}}" for n in sorted(known))
            yield Finding(location, "error", "unknown-detail", message + cure)
