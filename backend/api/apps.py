"""The apps that are installed, and the templates that people can instantiate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from flask import Blueprint, Response
from sqlalchemy import Connection, func, select

from citywise.backend.api import access, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.problems import not_found
from citywise.backend.api.state import state
from citywise.backend.api.templates import Speech, Versions, newest, numbers, spoken_schema
from citywise.backend.notices.objects import LANGUAGE
from citywise.backend.notices.wording import spoken
from citywise.backend.packs import asking
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.store.models import InstanceRow

blueprint = Blueprint("apps", __name__)
Describe = Callable[[TemplateVersion, str], dict[str, Any]]


@blueprint.get("/apps")
@access.city
def list_apps() -> Response:
    """The apps with their templates, without the parameters of these."""
    parameters.only("lang")
    shelf = _shelf()
    apps = groupby(shelf.templates, lambda version: version.app)
    return as_json({"apps": [shelf.app(list(found), _summary) for _, found in apps]})


@blueprint.get("/apps/<app>")
@access.city
def show_app(app: str) -> Response:
    """One app: its templates at their newest versions, with parameters and notices."""
    parameters.only("lang")
    shelf = _shelf(app)
    if not shelf.templates:
        raise not_found(f"app {app!r}")
    return as_json(shelf.app(shelf.templates, _template))


@dataclass(frozen=True)
class _Shelf:
    """The newest versions, which versions there are, and how many instances of each."""

    templates: list[TemplateVersion]
    versions: Versions
    instances: Mapping[tuple[str, str], int]
    language: str

    def app(self, templates: list[TemplateVersion], describe: Describe) -> dict[str, Any]:
        described = [
            {
                **describe(version, self.language),
                "versions": self.versions[version.app, version.name],
                "instances": self.instances.get((version.app, version.name), 0),
            }
            for version in templates
        ]
        return {**_app(templates[0], self.language), "templates": described}


def _shelf(app: str | None = None) -> _Shelf:
    language = parameters.language()
    with state().engine.connect() as connection:
        return _Shelf(
            newest(connection, app), numbers(connection), _instances(connection), language
        )


def _instances(connection: Connection) -> dict[tuple[str, str], int]:
    columns = (InstanceRow.app, InstanceRow.template)
    rows = connection.execute(select(*columns, func.count()).group_by(*columns))
    return {(app, template): count for app, template, count in rows}


def _app(version: TemplateVersion, language: str) -> dict[str, Any]:
    speech = Speech(version, language)
    named = version.app.replace("_", " ").capitalize()
    return {
        "name": version.app,
        "title": speech.app("title", named),
        "description": speech.app("description", ""),
    }


def _summary(version: TemplateVersion, language: str) -> dict[str, Any]:
    speech = Speech(version, language)
    return {
        "name": version.name,
        "version": version.version,
        "title": speech.template("title", version.title),
        "help": speech.template("help", version.help),
        **_switch(version, speech),
    }


def _switch(version: TemplateVersion, speech: Speech) -> dict[str, Any]:
    """The alert that one switch turns on, and the parameter that it asks for; none of most."""
    switch = version.switch
    if switch is None:
        return {}
    described = {
        "title": speech.template("switch.title", switch.title),
        "help": speech.template("switch.help", switch.help),
        "values": switch.values,
        "asks": None if switch.asks is None else _parameter(version, switch.asks, speech),
    }
    return {"switch": described}


def _parameter(version: TemplateVersion, name: str, speech: Speech) -> dict[str, Any]:
    parameter = version.parameters[name]
    return {
        **parameter.model_dump(mode="json", exclude_none=True),
        "name": name,
        "title": speech.parameter(name, "title", parameter.title),
        "help": speech.parameter(name, "help", parameter.help),
        "labels": speech.labels(name, parameter),
    }


def _template(version: TemplateVersion, language: str) -> dict[str, Any]:
    speech = Speech(version, language)
    return {
        **_summary(version, language),
        "streams": list(version.streams),
        "permissions": list(version.permissions),
        "asks": asking.asks(version),
        "parameters": [_parameter(version, name, speech) for name in version.parameters],
        "schema": spoken_schema(version, speech),
        "notices": [_notice(version, kind, language) for kind in version.notices],
    }


def _notice(version: TemplateVersion, kind: str, language: str) -> dict[str, str]:
    texts = {name: text.model_dump() for name, text in version.notices.items()}
    worded = spoken(kind, texts, version.strings)
    chosen = worded.get(language, worded[LANGUAGE])
    return {"name": kind, "title": chosen.title, "text": chosen.text}
