"""Reading an app's folder, collecting all that is wrong on the way."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue, ValidationError

from citywise.backend.kinds import FOLDER, Kinds, PlaceKind, builtin
from citywise.backend.packs import enclosure, faults, strings, toml_errors
from citywise.backend.packs.form_faults import Forms
from citywise.backend.packs.forms import written
from citywise.backend.packs.guesses import did_you_mean
from citywise.backend.packs.library import FILE, STANDING
from citywise.backend.packs.manifest import Manifest, Pack, PackError, TemplateEntry
from citywise.backend.packs.ontology import Ontology, city, expand, extended, reads_as
from citywise.backend.packs.parameters import (
    AnyParameter,
    ClassParameter,
    PlaceParameter,
    SensorParameter,
)
from citywise.backend.packs.scales import ranges
from citywise.backend.packs.template import Switch, TemplateVersion, recipient_of
from citywise.backend.packs.toml_places import Places
from citywise.backend.packs.values import BadValueError, one_of, show
from citywise.backend.packs.vocabulary import PREDICATES
from citywise.reasoning import (
    Background,
    Finding,
    LimitError,
    Location,
    RequestError,
    background,
    budget,
    limited,
)
from citywise.reasoning.languages.casp import Ranges, Reading, check_reading, read, read_file
from citywise.reasoning.rdf.mapping import Mapper, quote

MOST_KNOWLEDGE = 1_000_000
"""Bytes of facts that a template may take from knowledge bases: it travels with them."""
_ONCE = {told.signature: 1 for told in PREDICATES.values() if told.everywhere}
"""Predicates of which there is one fact at a time."""
SETTING = PREDICATES["setting"].signature
BUILT_IN = "pack"
"""What the folder of an app may be called whatever its name: one within a package."""


class Loading:
    """One reading of an app's folder."""

    def __init__(self, folder: Path, kinds: Kinds | None = None) -> None:
        self.folder = folder
        self._others = builtin() if kinds is None else kinds
        self.kinds = self._others
        """All there are for it, its own included."""
        self.roles: tuple[str, ...] = ()
        """What its rules ask fields of readings for."""
        self.path = folder / FILE
        self.places = Places("", str(self.path))
        self.findings: list[Finding] = []
        self.readings: dict[str, Reading] = {}
        """The rules of each template that could be read as text."""
        self._of_forms: dict[str, tuple[str, int, tuple[str, ...]]] = {}
        """By file of rules: the template, the lines of its own, and of which form each line
        behind them is."""

    def pack(self) -> Pack:
        """The pack; raises `PackError` if there is an error."""
        found = self.attempt()
        self.findings = list(map(self.placed, self.findings))
        if found is None or any(f.severity == "error" for f in self.findings):
            raise PackError(self.folder, self.findings)
        return found

    def attempt(self) -> Pack | None:
        """The pack as far as it can be read, None if its manifest cannot; see `findings`."""
        self.findings += enclosure.links(self.folder)
        if self.findings:
            return None  # and nothing is read of what lies elsewhere
        manifest = self._manifest()
        if manifest is None:
            return None
        self.kinds = self._others.and_folder(self.folder / FOLDER, self.findings, replaces=False)
        self.roles = manifest.roles
        self._streams(manifest)
        ontology = self._ontology(manifest).with_properties(self.kinds)
        ontology = ontology.with_roles(manifest.roles)
        self._files(manifest)
        translations = strings.read(self.folder, self.findings)
        templates = [
            template
            for name, entry in manifest.templates.items()
            if (template := self._template(manifest, name, entry, ontology, translations))
        ]
        own = self.kinds.beyond(self._others)
        return Pack(
            self.folder, manifest, tuple(templates), translations, ontology, self.kinds, own
        )

    def error(self, key: tuple[str, ...], code: str, message: str) -> None:
        """Note an error at a key of the manifest."""
        self.findings.append(Finding(self.places.location(key), "error", code, message))

    # -- manifest -------------------------------------------------------------------

    def _manifest(self) -> Manifest | None:
        try:
            text = self.path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        except OSError as error:
            message = f"{error.strerror}; an app is a folder with a file {FILE}"
            self.error((), "file", message)
            return None
        except UnicodeDecodeError:
            self.error((), "encoding", "is not UTF-8 text")
            return None
        self.places = Places(text, str(self.path))
        try:
            return self._validated(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            self.findings.append(toml_errors.finding(error, str(self.path), text))
            return None
        except RecursionError:
            self.error((), "syntax", "nests too deep; put tables and lists side by side")
            return None
        except ValueError as error:  # of a number with thousands of digits
            self.error((), "syntax", str(error))
            return None

    def _validated(self, content: dict[str, JsonValue]) -> Manifest | None:
        try:
            manifest = Manifest.model_validate(content)
        except ValidationError as error:
            self.findings += faults.findings(error, Manifest, self.places)
            return None
        if self.folder.resolve().name not in (manifest.name, BUILT_IN):
            self.error(
                ("name",),
                "name",
                f"`name` is `{manifest.name}` but the folder is `{self.folder.resolve().name}`; "
                "call both the same",
            )
        return manifest

    def _ontology(self, manifest: Manifest) -> Ontology:
        if manifest.ontology is None or not self._is_inside("ontology", manifest.ontology):
            return city()
        try:
            return extended(self.folder / manifest.ontology)
        except RequestError as error:
            self.findings.append(Finding.of(error))
        except LimitError as error:
            self.error(("ontology",), "limit", str(error))
        return city()

    def _streams(self, manifest: Manifest) -> None:
        """See that what the app reads is there."""
        known = (*STANDING, *self.kinds)
        for number, name in enumerate(manifest.streams):
            if name not in known:
                hint = did_you_mean(name, known, "choose one of them")
                message = (
                    f"`streams.{number}`: found {show(name)}, expected {one_of(known)}; {hint}"
                )
                self.error(("streams",), "value", message)

    def _observed(self, manifest: Manifest) -> Kinds:
        """The kinds of observations that the app reads, by name or by role."""
        return self.kinds.only((*manifest.streams, *self.kinds.filling(manifest.roles)))

    def _files(self, manifest: Manifest) -> None:
        """See that rules and entries of the manifest belong together."""
        for name in manifest.requests:
            if self._is_inside("requests", name) and not (self.folder / name).is_file():
                message = f"`requests`: there is no file `{name}` in the app"
                self.error(("requests",), "file", message)
        for path in sorted((self.folder / "templates").glob("*.casp")):
            if path.stem not in manifest.templates:
                message = f"`{FILE}` does not mention this template; add [templates.{path.stem}]"
                self.findings.append(
                    Finding(Location(str(path), 1, 1), "error", "unlisted-template", message)
                )

    def _is_inside(self, key: str, name: str) -> bool:
        """Whether a file is one of the app's own: an app is complete in its folder."""
        if enclosure.is_inside(self.folder, self.folder / name):
            return True
        message = f"`{key}`: `{name}` {enclosure.CURE}"
        self.error((key,), "file", message)
        return False

    # -- templates ------------------------------------------------------------------

    def _template(
        self,
        manifest: Manifest,
        name: str,
        entry: TemplateEntry,
        ontology: Ontology,
        translations: dict[str, dict[str, str]],
    ) -> TemplateVersion | None:
        self._recipient(name, entry)
        parameters = {
            parameter: self._parameter(
                ("templates", name, "parameters", parameter), model, ontology
            )
            for parameter, model in entry.parameters.items()
        }
        reading = self._reading(name)
        reading = reading and self._with_forms(name, entry, reading, parameters)
        if reading is None:
            return None
        version = TemplateVersion(
            app=manifest.name,
            name=name,
            version=entry.version,
            title=entry.title,
            help=entry.help,
            rules=reading.source.text,
            file=f"{manifest.name}/templates/{name}.casp",
            parameters=parameters,
            switch=self._switch(("templates", name, "switch"), entry.switch, parameters),
            recipient=entry.recipient,
            missed=entry.missed,
            notices=manifest.notices,
            permissions=manifest.permissions,
            streams=manifest.streams,
            roles=manifest.roles,
            observes=tuple(self._observed(manifest).values()),
            place_kinds=tuple(self._place_kinds(entry)),
            strings=strings.of_template(_with_own(manifest, translations), name),
            knowledge=self._settings(manifest, reading, ontology),
            superclasses={
                iri: tuple(sorted(ontology.superclasses(iri)))
                for iri in sorted(ontology.classes - city().classes)
            },
        )
        return self._with_knowledge(version, reading)

    def _recipient(self, name: str, entry: TemplateEntry) -> None:
        """See that an instance can be made for a recipient: from the place alone."""
        if entry.recipient is None:
            return
        _role, of = recipient_of(entry.recipient)
        key, parameters = ("templates", name, "recipient"), entry.parameters
        if of:
            place = parameters.get(of)
            if not isinstance(place, PlaceParameter) or place.repeated or place.kind is None:
                said = f"`{of}` is no parameter of type place with a kind, and not repeated"
                self.error(key, "recipient", f"`{'.'.join(key)}`: {said}; name such a one")
        for parameter, about in parameters.items():
            if parameter != of and about.is_needed:
                said = f"nobody gives `{parameter}` a value; add a `default`"
                self.error(key, "recipient", f"`{'.'.join(key)}`: {said}")

    def _place_kinds(self, entry: TemplateEntry) -> Iterator[PlaceKind]:
        """The kinds of place that parameters name and that have fields of their own."""
        named = {p.kind for p in entry.parameters.values() if isinstance(p, PlaceParameter)}
        for name, kind in self.kinds.places.items():
            if name in named and kind.fields:
                yield kind.model_copy(update={"layer": None})

    def _reading(self, name: str) -> Reading | None:
        """The rules of a template, if they can be read."""
        path = self.folder / "templates" / f"{name}.casp"
        if not path.is_file():
            message = f"there is no file `templates/{name}.casp`; write the template's rules there"
            self.error(("templates", name), "file", message)
            return None
        try:
            self.readings[name] = read_file(path, clocked=True)
        except RequestError as error:
            self.findings.append(Finding.of(error))
        return self.readings.get(name)

    def _with_forms(
        self, name: str, entry: TemplateEntry, own: Reading, parameters: dict[str, AnyParameter]
    ) -> Reading | None:
        """The rules with those of the forms behind them; None where a form is at fault."""
        forms = Forms(entry.forms, own, parameters)
        faults = list(forms.faults())
        for (form, *keys), code, message in faults:
            key = ("templates", name, "forms", form, *keys)
            self.error(key, code, f"`{'.'.join(key)}`: {message}")
        if faults or not entry.forms:
            return None if faults else own
        found = written(entry.forms, forms.ages, forms.said)
        text = own.source.text + ("" if own.source.text.endswith("\n") else "\n")
        path = self.folder / "templates" / f"{name}.casp"
        self._of_forms[str(path)] = name, text.count("\n"), found.forms
        self.readings[name] = read(
            text + found.text, name=name, file=str(path), folder=path.parent, clocked=True
        )
        return self.readings[name]

    def placed(self, finding: Finding) -> Finding:
        """A finding where somebody can mend it: what is wrong with the rules of a form stands at
        the form."""
        name, own, forms = self._of_forms.get(finding.location.file, ("", 0, ()))
        number = finding.location.line - own - 1
        if not name or not 0 <= number < len(forms):
            return finding
        key = ("templates", name, "forms", forms[number])
        message = f"`{'.'.join(key)}`: {finding.message}"
        return replace(finding, location=self.places.location(key), message=message)

    def _with_knowledge(self, version: TemplateVersion, reading: Reading) -> TemplateVersion | None:
        """The version with the facts of its knowledge bases; None if they cannot be had."""
        if outside := list(enclosure.knowledge(self.folder, reading)):
            self.findings += outside
            return None
        found = self._knowledge(reading, ranges(reading, version))
        if found is None:
            return None
        size = sum(len(fact.encode()) for fact in found.facts)
        if size > MOST_KNOWLEDGE:
            files = ", ".join(f"<{k.written}>" for k in reading.request.knowledge)
            message = (
                f"the knowledge bases {files} give {size:,} bytes of facts, a template may have "
                f"{MOST_KNOWLEDGE:,}; leave out what the rules do not need"
            )
            self.findings.append(
                Finding(reading.source.location(0), "error", "knowledge-size", message)
            )
            return None
        supplied = found.supplied | {SETTING} if version.knowledge else found.supplied
        facts = (*found.facts, *version.knowledge)
        return version.model_copy(update={"knowledge": facts, "supplied": tuple(sorted(supplied))})

    def _knowledge(self, reading: Reading, between: Ranges) -> Background | None:
        """What a template's knowledge bases give, if nothing is wrong with them or its rules."""
        files = " + ".join(source.path for source in reading.request.knowledge)
        try:
            if not files:
                said, found = _checked(reading, between)
            else:
                what = f"reading {files}, and what follows from it,"
                said, found = limited(lambda: _checked(reading, between), budget.limits(), what)
        except LimitError as error:
            said, found = [Finding(reading.source.location(0), "error", "limit", str(error))], None
        self.findings += said
        return found

    def _settings(
        self, manifest: Manifest, reading: Reading, ontology: Ontology
    ) -> tuple[str, ...]:
        """The facts of the app's settings."""
        mapper, facts = Mapper(reading.request), []
        for name, parameter in manifest.settings.items():
            key = ("settings", name)
            setting = self._parameter(key, parameter, ontology)
            if setting.default is None or setting.arity != 1:
                said = f"a setting cannot be of type {setting.type}"
                if setting.arity == 1:
                    said = "a setting needs a `default`, which is its value"
                self.error(key, "setting", f"`{'.'.join(key)}`: {said}")
                continue
            terms = setting.terms(setting.default, lambda iri: quote(mapper.name(iri)))
            facts += [f"{SETTING.name}({quote(name)},{term})" for (term,) in terms]
        return tuple(facts)

    def _parameter(
        self, key: tuple[str, ...], parameter: AnyParameter, ontology: Ontology
    ) -> AnyParameter:
        """The parameter with its classes and its default in canonical form."""
        if isinstance(parameter, ClassParameter):
            parameter = self._class_parameter(key, parameter, ontology)
        elif isinstance(parameter, SensorParameter):
            self._check_known(key, "observes", parameter.observes, self.kinds)
            parameter = parameter.model_copy(update={"kinds": tuple(self.kinds)})
        elif isinstance(parameter, PlaceParameter):
            self._check_known(key, "kind", parameter.kind, self.kinds.places)
            for role in parameter.roles:
                self._check_known(key, "roles", role, self.roles)
        if parameter.default is None:
            return parameter
        try:
            default = parameter.check(parameter.default, f"{'.'.join(key)}.default")
        except BadValueError as error:
            self.error((*key, "default"), "default", str(error))
            return parameter
        return parameter.model_copy(update={"default": default})

    def _switch(
        self, key: tuple[str, ...], switch: Switch | None, parameters: dict[str, AnyParameter]
    ) -> Switch | None:
        """The switch of a template with its values in canonical form."""
        if switch is None:
            return None
        values: dict[str, JsonValue] = {}
        for name, value in switch.values.items():
            self._check_known((*key, "values"), name, name, parameters)
            if name in parameters:
                try:
                    values[name] = parameters[name].check(value, f"{'.'.join(key)}.values.{name}")
                except BadValueError as error:
                    self.error((*key, "values"), "value", str(error))
        self._check_known(key, "asks", switch.asks, parameters)
        given = {*values, switch.asks}
        for name, parameter in parameters.items():
            if parameter.is_needed and name not in given:
                message = f"`{'.'.join(key)}` gives no value to `{name}`, which has no default; "
                self.error(key, "switch", f"{message}write it in `values`, or `asks` for it")
        return switch.model_copy(update={"values": values})

    def _check_known(
        self, key: tuple[str, ...], part: str, name: str | None, known: Iterable[str]
    ) -> None:
        """See that there is the kind that a parameter names."""
        if name is not None and name not in (there := list(known)):
            hint = did_you_mean(name, there, "choose one of them")
            message = f"`{'.'.join((*key, part))}`: found {show(name)}, expected {one_of(there)}"
            self.error((*key, part), "value", f"{message}; {hint}")

    def _class_parameter(
        self, key: tuple[str, ...], parameter: ClassParameter, ontology: Ontology
    ) -> ClassParameter:
        top, name = expand(parameter.of), ".".join(key)
        below = ontology.below(top)
        if not below:
            message = f"`{name}.of`: `{parameter.of}` is no class of the ontologies"
            self.error((*key, "of"), "unknown-class", message)
            return parameter
        chosen = []
        for choice in parameter.choices:
            meant = [iri for iri in below if reads_as(choice, iri)]
            chosen += meant
            if not meant:
                message = f"`{choice}` is not `{parameter.of}` nor a class below it"
                self.error((*key, "choices"), "unknown-class", f"`{name}.choices`: {message}")
        return parameter.model_copy(update={"of": top, "choices": tuple(chosen) or below})


def _checked(reading: Reading, between: Ranges) -> tuple[list[Finding], Background | None]:
    """What there is to say of rules, and what their knowledge bases give if that is no error."""
    said = [
        finding
        for finding in check_reading(reading, given=_ONCE, ranges=between)
        if finding.code != "unknown-predicate"
    ]
    if any(finding.severity == "error" for finding in said):
        return said, None
    return said, replace(background(reading.request), origins={})


def _with_own(
    manifest: Manifest, translations: dict[str, dict[str, str]]
) -> dict[str, dict[str, str]]:
    """The translations, and what the manifest calls the app in English."""
    own = {"title": manifest.title, "description": manifest.description}
    return {**translations, "en": {**own, **translations.get("en", {})}}
