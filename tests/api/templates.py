"""Template versions as apps install them, and changes of notices as the pipeline makes them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from citywise.backend.packs.manifest import Pack, load
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.store.models import TemplateVersionRow
from citywise.backend.times import parse_ms, wall_ms
from tests.api.town import Town

NOON_MS = parse_ms("2014-08-05T12:00:00Z")
RULES = """\
#prefix ev : <https://w3id.org/citywise/event#>.
notice(Me,"jam_ahead",E,L) :- radius(Me,R), near_route(Me,E,R), ev_level(E,L).
detail(Me,"jam_ahead",E,"metres",M) :- notice(Me,"jam_ahead",E,_), ahead(Me,E,M).
"""
_RADIUS = {"type": "number", "unit": "m", "min": 50, "max": 1000, "step": 50, "default": 300}
_NEAR = {"title": "How near", "help": "Of what remains of the way."}
_GARAGE = {"type": "place", "kind": "garage", "title": "Garage", "optional": True}
_STRINGS = {
    "da": {
        "title": "Køvagt",
        "templates.jam_ahead.title": "Køer på min vej",
        "templates.jam_ahead.parameters.radius.title": "Hvor tæt på",
        "notices.jam_ahead.title": "Kø forude",
        "notices.jam_ahead.text": "{about} om {metres} m",
    }
}


def jam_ahead(version: int = 1, **more: Any) -> TemplateVersion:
    """Jams on the way: a radius and, from the second version on, a name that is required."""
    parameters: dict[str, Any] = {"radius": {**_RADIUS, **_NEAR}, "garage": _GARAGE}
    if version > 1:
        parameters["alias"] = {"type": "text", "title": "Name", "max_length": 10}
    values = {
        "app": "jam_watch",
        "name": "jam_ahead",
        "version": version,
        "title": "Jams on my way",
        "help": "Tells of jams on what remains of the way.",
        "rules": RULES,
        "parameters": parameters | more.pop("parameters", {}),
        "notices": {"jam_ahead": {"title": "Jam ahead", "text": "{about} in {metres} m"}},
        "permissions": ["position", "route"],
        "streams": ["events"],
        "strings": _STRINGS,
        **more,
    }
    return TemplateVersion.from_json(values)


@cache
def pack_of(folder: Path) -> Pack:
    """The pack of one of our apps: reading it takes longer than most tests."""
    return load(folder)


def install(town: Town, *versions: TemplateVersion) -> None:
    """Store template versions, as `citywise` does when it starts with an app."""
    for version in versions:
        town.save(
            TemplateVersionRow(
                app=version.app,
                name=version.name,
                version=version.version,
                digest=version.digest,
                body=version.to_json(),
                installed_ms=wall_ms(),
            )
        )


@dataclass(frozen=True)
class Change:
    """A row of the pipeline that changes a notice."""

    t_ms: int
    body: dict[str, Any]


def change(kind: str, t_ms: int = NOON_MS, **more: Any) -> Change:
    """A change of the notice to alice about a jam; `more` replaces parts of it."""
    body = {
        "change": kind,
        "app": "jam_watch",
        "template": "jam_ahead",
        "version": 1,
        "instance": "alice.jam_ahead",
        "user": "alice",
        "notice": "jam_ahead",
        "about": "jam-1",
        "about_type": "event",
        "criticality": 3,
        "details": {"metres": 420},
        "closed_because": None,
        "why": ['near_route("alice.jam_ahead","jam-1",300)'],
        "t_ms": t_ms,
    }
    return Change(t_ms, body | more)
