"""The face of Citywise for apps with Python: all that they may import of `citywise.backend`.

It is stable: a name changes its meaning, or goes, only with a new major version, and a minor one
says a version before what is going to. Everything else below `citywise.backend` may change at any
time. [docs/app-face.md](../docs/app-face.md) says what each name is for.

A name is loaded when it is first asked for, so that a module that declares an app's parts loads
neither Flask nor the rest of the web.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from citywise.backend import handing, mail, people, spawned, times
    from citywise.backend.api import (
        access,
        event_stream,
        identity,
        limits,
        parameters,
        problems,
        watching,
    )
    from citywise.backend.api.answers import as_json
    from citywise.backend.api.aside import aside
    from citywise.backend.api.pages import page, translator
    from citywise.backend.api.state import state
    from citywise.backend.errors import CitywiseError
    from citywise.backend.network import reach
    from citywise.backend.network.topics import Device, Topics
    from citywise.backend.notices import advising as notices
    from citywise.backend.packs.parts import CityFile, Commands, Limit, Parts
    from citywise.backend.packs.tables import Tables
    from citywise.backend.packs.trial import trial
    from citywise.backend.privacy import boxes
    from citywise.backend.settings import Section, Settings
    from citywise.backend.space import geometry
    from citywise.backend.store import clocks, outbox
    from citywise.backend.store.heartbeat import beat
    from citywise.backend.store.models import EventRow, PlaceRow, ReadingRow
    from citywise.backend.store.upsert import upsert

__all__ = [
    "CityFile",
    "CitywiseError",
    "Commands",
    "Device",
    "EventRow",
    "Limit",
    "Parts",
    "PlaceRow",
    "ReadingRow",
    "Section",
    "Settings",
    "Tables",
    "Topics",
    "access",
    "as_json",
    "aside",
    "beat",
    "boxes",
    "clocks",
    "event_stream",
    "geometry",
    "handing",
    "identity",
    "later",
    "limits",
    "mail",
    "notices",
    "outbox",
    "page",
    "parameters",
    "people",
    "problems",
    "reach",
    "spawned",
    "state",
    "times",
    "translator",
    "trial",
    "upsert",
    "watching",
]

_WHERE: Mapping[str, str] = {
    "access": "api.access",
    "as_json": "api.answers:as_json",
    "aside": "api.aside:aside",
    "beat": "store.heartbeat:beat",
    "boxes": "privacy.boxes",
    "CityFile": "packs.parts:CityFile",
    "CitywiseError": "errors:CitywiseError",
    "clocks": "store.clocks",
    "Commands": "packs.parts:Commands",
    "Device": "network.topics:Device",
    "event_stream": "api.event_stream",
    "EventRow": "store.models:EventRow",
    "geometry": "space.geometry",
    "handing": "handing",
    "identity": "api.identity",
    "Limit": "packs.parts:Limit",
    "limits": "api.limits",
    "mail": "mail",
    "notices": "notices.advising",
    "outbox": "store.outbox",
    "page": "api.pages:page",
    "parameters": "api.parameters",
    "people": "people",
    "Parts": "packs.parts:Parts",
    "PlaceRow": "store.models:PlaceRow",
    "problems": "api.problems",
    "reach": "network.reach",
    "ReadingRow": "store.models:ReadingRow",
    "Section": "settings:Section",
    "Settings": "settings:Settings",
    "spawned": "spawned",
    "state": "api.state:state",
    "Tables": "packs.tables:Tables",
    "times": "times",
    "Topics": "network.topics:Topics",
    "translator": "api.pages:translator",
    "trial": "packs.trial:trial",
    "upsert": "store.upsert:upsert",
    "watching": "api.watching",
}
_FORMER: Mapping[str, str] = {
    "BrokerSession": "handing.BrokerSession",
    "channel": "people.ids.channel",
    "OutboxRow": "outbox.OutboxRow",
    "read_body": "parameters.body",
    "Reader": "event_stream.Reader",
}
"""Names that are to go with the next major version, and what to write instead."""


if not TYPE_CHECKING:  # a checker would take any name for one of the face's

    def __getattr__(name: str) -> Any:
        if name in _FORMER:
            instead = _FORMER[name]
            said = f"`{name}` of {__name__} is to go; write `{instead}`"
            warnings.warn(said, DeprecationWarning, stacklevel=2)
            module, _, attribute = instead.partition(".")
            return attrgetter(attribute)(__getattr__(module))
        if name not in _WHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, _, attribute = _WHERE[name].partition(":")
        found = import_module(f"citywise.backend.{module}")
        value = globals()[name] = getattr(found, attribute) if attribute else found
        return value


def later(package: str | None) -> Callable[..., Any]:
    """A way to name what other modules of an app hold, which are imported when it is used.

    `brings = later(__package__)` in the module of the parts, then `api=brings("views:api")` or
    `service=brings("process:serve")`. A function is called with what it is given; of anything
    else, the value itself is what comes. Of several names come the values of all.
    """

    def brings(*names: str) -> Callable[..., Any]:
        def use(*given: Any) -> Any:
            values = [_held(package, name) for name in names]
            if len(values) > 1:
                return values
            return values[0](*given) if callable(values[0]) else values[0]

        return use

    return brings


def _held(package: str | None, name: str) -> Any:
    module, separator, attribute = name.partition(":")
    if not package or not separator:
        expected = "`later(__package__)` and a name such as `views:api`, module and attribute"
        raise ValueError(f"`{name}` of the package {package!r}: expected {expected}")
    return getattr(import_module(f"{package}.{module}"), attribute)
