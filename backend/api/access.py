"""Who may call what: every view says it, and none is served that does not.

A view is declared with one of `city`, `person`, `key_holder`, `role` and `own_rights`; what is
declared is enforced before the view is called, and compared with the API's description by a test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar
from urllib.parse import urlencode

from flask import Flask, abort, redirect, request

from citywise.backend.api import forgery, identity
from citywise.backend.api.state import state
from citywise.backend.errors import CitywiseError

View = TypeVar("View", bound=Callable[..., Any])
Kind = Literal["city", "person", "key", "role", "own_rights"]
Right = Literal["context", "notices", "sensors", "all"]
_DECLARED = "citywise_access"


class UndeclaredError(CitywiseError):
    """A view does not say who may call it."""


@dataclass(frozen=True)
class Access:
    """Who may call a view.

    `right` is what a device's token needs to have (`backend.people.tokens.RIGHTS`; a token
    with `all` may always), None: no token will do. With `session` also who presents a
    session's id; the view has to ask `identity.whose` or `identity.refuse_other`.
    """

    kind: Kind
    right: Right | None = "all"
    role: str | None = None
    session: bool = False
    is_door: bool = False
    """Anybody may call it in a private city, too."""


def city(view: View) -> View:
    """Declare a view that anybody may call: it tells of the city, and of no person. In a private
    city (`people.private`) only who is logged in, or a device with a token, may."""
    return _declare(view, Access("city", None))


def door(view: View) -> View:
    """Declare a view that whoever is outside needs to come in, or to see whether we live: it
    tells nothing of the city, nor of any person."""
    return _declare(view, Access("city", None, is_door=True))


def person(*, right: Right = "all", session: bool = False) -> Callable[[View], View]:
    """Declare a view for who is logged in, about what is theirs.

    `right`: what a device's token has to have; `session`: who has no account but presents
    the id of a CityPulse session may call it about that.
    """
    return lambda view: _declare(view, Access("person", right, session=session))


def key_holder(view: View) -> View:
    """Declare a view for who presents a secret that the view itself asks for, with an account
    or without: it answers all others with a 404, which says nothing of what there is."""
    return _declare(view, Access("key", None))


def role(
    name: str, *others: str, device: bool = True, right: Right = "all"
) -> Callable[[View], View]:
    """Declare a view for who has a role, or one of several; `device`: also by a token that has
    `right`."""
    needed: Right | None = right if device else None
    return lambda view: _declare(view, Access("role", needed, " ".join((name, *others))))


def own_rights(view: View) -> View:
    """Declare a view about a person's rights themselves (password, tokens, consent, being
    forgotten): for who is logged in, and for no token."""
    return _declare(view, Access("own_rights", None))


def of(app: Flask, endpoint: str) -> Access:
    """What the view of an endpoint declares; raises `UndeclaredError`."""
    found = getattr(app.view_functions[endpoint], _DECLARED, None)
    if not isinstance(found, Access):
        raise UndeclaredError(
            f"{endpoint} does not say who may call it; declare its view with one of "
            "citywise.backend.api.access: city, person, key_holder, role, own_rights"
        )
    return found


def install(app: Flask) -> None:
    """Enforce what the views of `app` declare; call it when all are registered.

    Raises `UndeclaredError` if one declares nothing.
    """
    for endpoint in app.view_functions:
        of(app, endpoint)

    @app.before_request
    def _admit() -> None:
        if request.endpoint is not None and request.method != "OPTIONS":
            admit(of(app, request.endpoint))


def admit(declared: Access) -> None:
    """Raise a problem unless whoever asks may call a view that declares this."""
    forgery.refuse_foreign()
    if state().settings.people.private and not _may_be_outside(declared):
        refuse_outsider()
    if declared.kind == "city":
        if forgery.bearer() is not None:
            identity.principal()  # A token that is over is told so everywhere.
        return
    asker = identity.principal()
    if declared.kind == "key":
        return
    forgery.refuse_unproven(asker)
    if declared.session and asker.user is None:
        return  # The view asks for the session; without one it says to log in.
    identity.person()
    identity.refuse_token(declared.right)
    if declared.role is not None:
        identity.require(*declared.role.split())


def _may_be_outside(declared: Access) -> bool:
    """Whether who is not logged in may call a view of a private city: doors, and what has a
    secret of its own, but not what a mere session may call."""
    return declared.is_door or (declared.kind != "city" and not declared.session)


def refuse_outsider() -> None:
    """Raise a 401 for who is nobody; a browser that wants a page is led to log in."""
    if identity.principal().user is not None:
        return
    wants_page = request.method == "GET" and request.accept_mimetypes.accept_html
    if wants_page and not request.path.startswith(("/api/", "/metrics")):
        wanted = request.full_path.rstrip("?")
        abort(redirect(f"/log-in?{urlencode({'next': wanted})}", 303))
    raise identity.log_in()


def described(declared: Access) -> list[dict[str, list[str]]]:
    """What OpenAPI's `security` says of a view: the alternatives, each with the role or the
    token's right it needs; an empty one is nobody with a session's id."""
    if declared.kind == "city":
        return []
    if declared.kind == "key":
        return [{"key": []}]
    if declared.kind == "own_rights":
        return [{"login": []}]
    roles = [[role] for role in declared.role.split()] if declared.role else [[]]
    token = [{"token": [declared.right, *role]} for role in roles if declared.right]
    return [*({"login": role} for role in roles), *token, *([{}] if declared.session else [])]


def _declare(view: View, declared: Access) -> View:
    setattr(view, _DECLARED, declared)
    return view
