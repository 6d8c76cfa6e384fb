"""The installed versions of templates, as the views need them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, select

from citywise.backend.notices.objects import LANGUAGE
from citywise.backend.packs import installed, ontology
from citywise.backend.packs.parameters import AnyParameter, ChoiceParameter, ClassParameter
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.store.models import TemplateVersionRow

Versions = Mapping[tuple[str, str], list[int]]
"""The installed versions by app and template, ascending."""


def numbers(connection: Connection) -> Versions:
    """Which versions are installed, sorted by app and template."""
    row = TemplateVersionRow
    query = select(row.app, row.name, row.version).order_by(row.app, row.name, row.version)
    found: dict[tuple[str, str], list[int]] = {}
    for app, name, version in connection.execute(query):
        found.setdefault((app, name), []).append(version)
    return found


def newest(connection: Connection, app: str | None = None) -> list[TemplateVersion]:
    """The newest version of each template, of one app or of all."""
    found = {(v.app, v.name): v for v in installed.versions(connection) if app in (None, v.app)}
    return list(found.values())


class Speech:
    """What a template says, in one language: translations where there are, else English."""

    def __init__(self, version: TemplateVersion, language: str) -> None:
        self._language = language
        strings = version.strings
        self._table = {**strings.get(LANGUAGE, {}), **strings.get(language, {})}
        self._root = f"templates.{version.name}"

    def app(self, part: str, own: str) -> str:
        """The app's `title` or `description`."""
        return self._table.get(part, own)

    def template(self, part: str, own: str) -> str:
        """The template's `title` or `help`."""
        return self._table.get(f"{self._root}.{part}", own)

    def parameter(self, name: str, part: str, own: str) -> str:
        """The `title` or `help` of a parameter."""
        return self._table.get(f"{self._root}.parameters.{name}.{part}", own)

    def labels(self, name: str, parameter: AnyParameter) -> dict[str, str]:
        """What people read instead of the values they choose from, by value."""
        if isinstance(parameter, ChoiceParameter):
            words = parameter.choices
            return {word: self.parameter(name, f"choices.{word}", word) for word in words}
        if isinstance(parameter, ClassParameter):
            return {iri: self._class(iri) for iri in parameter.choices}
        return {}

    def _class(self, iri: str) -> str:
        labels = ontology.city().labels
        plain = labels.get((iri, LANGUAGE), ontology.local_name(iri))
        return labels.get((iri, self._language), plain)


def spoken_schema(version: TemplateVersion, speech: Speech) -> dict[str, Any]:
    """JSON Schema of a template's values with its titles in the language of `speech`."""
    schema: dict[str, Any] = version.schema()
    schema["title"] = speech.template("title", version.title)
    for name, described in schema["properties"].items():
        parameter = version.parameters[name]
        described["title"] = speech.parameter(name, "title", parameter.title)
        if text := speech.parameter(name, "help", parameter.help):
            described["description"] = text
    return schema
