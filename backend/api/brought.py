"""What apps bring to the web, each tried before it is served and kept from failing others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

import orjson
from flask import Blueprint, Flask, Response, request

from citywise.backend.api import access, limits
from citywise.backend.errors import CitywiseError
from citywise.backend.packs.broken import contained, mended
from citywise.backend.packs.parts import Limit, Parts

Hook = Callable[..., Any]
_SHELL = {"map", "list", "apps", "system"}


class WebError(CitywiseError):
    """What an app brings to the web cannot be served; says what to change."""


@dataclass(frozen=True)
class Web:
    """What one app brings to the web."""

    app: str
    api: Sequence[Blueprint]
    pages: Sequence[Blueprint]
    parts: Parts
    hooks: frozenset[Hook]
    """Functions of its that are called for everybody's requests."""

    @property
    def blueprints(self) -> frozenset[str]:
        """The names of its blueprints as requests know them."""
        return frozenset([*(f"api.{b.name}" for b in self.api), *(b.name for b in self.pages)])


def sound(brought: Mapping[str, Parts]) -> list[Web]:
    """What can be served of what apps bring; the rest is noted as broken."""
    found: list[Web] = []
    for app, parts in brought.items():
        web = contained(app, "web", partial(tried, app, parts, found), None)
        if web is not None:
            mended(app, "web")
            found.append(web)
    return found


def tried(app: str, parts: Parts, others: Sequence[Web] = ()) -> Web:
    """What an app brings, registered for a try; raises whatever keeps it from being served."""
    scratch = Flask("trial", static_folder=None)
    usual = set(_hooks(scratch))
    below = Blueprint("api", "trial", url_prefix="/api/v1")
    api, pages = _several(parts.api()), _several(parts.pages())
    for blueprint in api:
        below.register_blueprint(blueprint)
    for blueprint in (below, *pages):
        scratch.register_blueprint(blueprint)
    for start in parts.installable.values():
        scratch.add_url_rule(f"{start}.webmanifest", start, access.door(lambda: ""))
    for endpoint in scratch.view_functions:
        access.of(scratch, endpoint)
    _refuse_limits(scratch, parts.limits, others)
    if scratch.error_handler_spec.get(None):
        raise WebError("handles errors of the whole application; use `errorhandler` instead")
    web = Web(app, api, pages, parts, frozenset(set(_hooks(scratch)) - usual))
    _refuse_taken(web, others)
    _refuse_navigation(parts.navigation, others)
    if parts.openapi is not None and not isinstance(orjson.loads(parts.openapi.read_bytes()), dict):
        raise WebError(f"{parts.openapi} holds no OpenAPI document")
    return web


def _several(brought: Blueprint | Sequence[Blueprint]) -> tuple[Blueprint, ...]:
    """A blueprint alone is as good as a list of it."""
    return (brought,) if isinstance(brought, Blueprint) else tuple(brought)


def contain(app: Flask, webs: Sequence[Web]) -> None:
    """Let no function of an app fail the requests of others; call it when all is registered."""
    for kind in _KINDS:
        for kept in kind.of(app):
            kept[:] = [
                kind.guarded(hook, web) if (web := _owner(hook, webs)) else hook for hook in kept
            ]


def _owner(hook: Hook, webs: Sequence[Web]) -> Web | None:
    return next((web for web in webs if hook in web.hooks), None)


@dataclass(frozen=True)
class _Kind:
    """A kind of functions that an application calls for every request."""

    kept: str
    """Where the application keeps them."""
    otherwise: Hook
    """What stands for one that fails: it leaves the request as it is."""
    gives: type = object
    """What one has to return."""

    def of(self, app: Flask) -> Iterator[list[Hook]]:
        """Those of the whole application, if there are any."""
        by_blueprint = getattr(app, self.kept)
        if None in by_blueprint:
            yield by_blueprint[None]

    def guarded(self, hook: Hook, web: Web) -> Hook:
        """One that fails requests of its own app only."""

        @wraps(hook)
        def guarded(*given: Any) -> Any:
            if web.blueprints & set(request.blueprints):
                return hook(*given)
            work = partial(self._checked, hook, given)
            return contained(web.app, "web", work, self.otherwise(*given))

        return guarded

    def _checked(self, hook: Hook, given: Sequence[Any]) -> Any:
        found = hook(*given)
        if not isinstance(found, self.gives):
            raise TypeError(f"{hook.__qualname__} returned {found!r}")
        return found


def _nothing(*_given: Any) -> None:
    return None


_KINDS = (
    _Kind("before_request_funcs", _nothing),
    _Kind("after_request_funcs", lambda response: response, Response),
    _Kind("teardown_request_funcs", _nothing),
    _Kind("url_value_preprocessors", _nothing),
    _Kind("url_default_functions", _nothing),
    _Kind("template_context_processors", dict, dict),
)


def _hooks(app: Flask) -> Iterator[Hook]:
    for kind in _KINDS:
        for kept in kind.of(app):
            yield from kept


def _refuse_taken(web: Web, others: Sequence[Web]) -> None:
    for other in others:
        for name in sorted(web.blueprints & other.blueprints):
            raise WebError(
                f"its blueprint `{name}` is called as one of the app `{other.app}`; rename it"
            )


def _refuse_limits(trial: Flask, declared: Mapping[str, Limit], others: Sequence[Web]) -> None:
    taken = limits.LIMITS.keys() | {kind for web in others for kind in web.parts.limits}
    for kind in sorted(declared.keys() & taken):
        raise WebError(f"`limits`: there is a limit `{kind}` already; call it otherwise")
    for kind in sorted(limits.undeclared(trial.view_functions.values(), declared)):
        raise WebError(f"a view counts as `{kind}`, which is no limit; declare it in `limits`")


def _refuse_navigation(navigation: object, others: Sequence[Web]) -> None:
    if not isinstance(navigation, Mapping):
        raise WebError("`navigation` is no mapping from keys to addresses")
    taken = _SHELL.union(*(other.parts.navigation for other in others))
    for key, address in navigation.items():
        if not isinstance(key, str) or not isinstance(address, str) or address[:1] != "/":
            raise WebError(f"`navigation`: {key!r}: {address!r} is no key and address of a page")
        if key in taken:
            raise WebError(f"`navigation`: there is a page `{key}` already; call it otherwise")
