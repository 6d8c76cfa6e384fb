"""Logging in at a provider of identities (docs/sign-in.md): there, back, and out again."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlencode

import orjson
from flask import Blueprint, Flask, Response, current_app, request
from werkzeug.utils import redirect
from werkzeug.wrappers import Response as Redirect

from citywise.backend.api import access, identity, limits, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.faults_of_people import as_problems
from citywise.backend.api.problems import not_found
from citywise.backend.api.state import state
from citywise.backend.people import identities, logins
from citywise.backend.people.accounts import Account
from citywise.backend.people.errors import PeopleError
from citywise.backend.people.provider import (
    PENDING_S,
    Pending,
    Provider,
    SignInError,
    claims_of,
    code_of,
    with_userinfo,
)
from citywise.backend.settings import SignIn
from citywise.backend.times import iso

LOG = logging.getLogger("citywise.sign-in")
DONE = "/sign-in/done"
_EXTENSION = "citywise-sign-in"
_MOST_PENDING = 5000
_KEPT_S = 600
"""How long a provider's description and keys are used before they are read again."""
_FRESH_S = 30
"""An unknown key does not make us read them again sooner."""
_TIMEOUT_S = (5, 10)
_LARGEST = 500_000

blueprint = Blueprint("sign_in", __name__)
pages = Blueprint("sign_in_pages", __name__)


@dataclass
class _Desk:
    """What the web process knows of the provider, and of who is on the way there."""

    settings: SignIn
    pending: OrderedDict[str, Pending] = field(default_factory=OrderedDict)
    """By the secret that the browser keeps in a cookie."""
    provider: Provider | None = None
    keys: Mapping[str, Any] = field(default_factory=dict)
    read_s: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def known(self, *, older_s: float = _KEPT_S) -> Provider:
        """The provider, described anew if what is known is older."""
        with self.lock:
            if self.provider is None or time.monotonic() - self.read_s > older_s:
                issuer = str(self.settings.issuer)
                where = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
                provider = Provider.of(issuer, _fetched(where))
                self.keys = _fetched(provider.jwks)
                self.provider, self.read_s = provider, time.monotonic()
            return self.provider

    def expect(self, pending: Pending) -> str:
        """Remember who was sent away; returns the secret for their cookie."""
        secret = secrets.token_urlsafe(32)
        self.pending[secret] = pending
        while len(self.pending) > _MOST_PENDING:
            self.pending.popitem(last=False)
        return secret

    def returned(self, secret: str | None) -> Pending | None:
        """Who comes back, once."""
        return None if secret is None else self.pending.pop(secret, None)


def install(app: Flask, settings: SignIn) -> None:
    """Have the way to the provider open, where there is one."""
    if settings.issuer is not None:
        app.extensions[_EXTENSION] = _Desk(settings)


def _desk() -> _Desk:
    found = current_app.extensions.get(_EXTENSION)
    if found is None:
        raise not_found("a provider of identities (sign_in.issuer)")
    return cast("_Desk", found)


def _fetched(url: str, token: str | None = None) -> Mapping[str, Any]:
    """A JSON object of the provider; it is led nowhere else, and is not to be large."""
    # As Authlib in `_client`.
    import requests

    from citywise.backend.network.sessions import guard

    headers = {"Accept": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    session = requests.Session()
    guard(session, state().settings.fetching.allow)
    try:
        with session.get(
            url, headers=headers, timeout=_TIMEOUT_S, allow_redirects=False, stream=True
        ) as answer:
            data = answer.raw.read(_LARGEST + 1, decode_content=True)
            found = orjson.loads(data) if answer.status_code == 200 else None
    except (requests.RequestException, OSError, ValueError) as error:
        raise SignInError("provider", f"{url} cannot be read: {error}") from error
    if not isinstance(found, dict) or len(data) > _LARGEST:
        raise SignInError("provider", f"{url} answers {answer.status_code}, and no JSON object")
    return found


# -- there and back -----------------------------------------------------------------------


@pages.get("/sign-in")
@access.door
def go() -> Redirect:
    """Send the browser to the provider; with `link`, to link an identity to one's account."""
    desk, wanted = _desk(), request.args.get("next", "/")
    try:
        provider = desk.known()
    except SignInError as error:
        return _sorry(error)
    login = identity.principal().login if request.args.get("link") is not None else None
    back = f"{state().origin()}{DONE}"
    begun = Pending.begun(back, _local(wanted), login.id if login else None, time.time())
    with _client(desk, begun) as client:
        url, _ = client.create_authorization_url(
            provider.authorization,
            state=begun.state,
            code_verifier=begun.verifier,
            nonce=begun.nonce,
            **({"prompt": "login"} if login else {}),
        )
    answer = redirect(url, 303)
    answer.set_cookie(
        _cookie(),
        desk.expect(begun),
        max_age=PENDING_S,
        path="/",
        secure=identity.is_secure(),
        httponly=True,
        samesite="Lax",
    )
    answer.headers["Cache-Control"] = "no-store"
    return answer


@pages.get(DONE)
@access.door
def come_back() -> Redirect:
    """Let in whom the provider vouches for."""
    desk = _desk()
    limits.spend("sign-in", limits.address())
    pending = desk.returned(request.cookies.get(_cookie()))
    try:
        answer = _entered(desk, pending)
    except SignInError as error:
        answer = _sorry(error)
    except PeopleError as error:
        answer = _sorry(SignInError(error.code or "refused", str(error)))
    answer.delete_cookie(_cookie(), path="/", secure=identity.is_secure(), httponly=True)
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _entered(desk: _Desk, pending: Pending | None) -> Redirect:
    provider = desk.known()
    code = code_of(request.args.to_dict(), pending, provider, time.time())
    assert pending is not None
    claims = _claims(desk, provider, pending, code)
    if pending.login is not None:
        return _linked(pending, claims)
    before = request.cookies.get(identity.cookie_name())
    hours, agent = state().settings.people.login_hours, request.headers.get("User-Agent", "")
    with state().engine.begin() as connection:
        if before is not None and (found := logins.find_login(connection, before)) is not None:
            logins.close(connection, found[1].id, found[0].id)
        account = identities.enter(connection, claims, desk.settings)
        opened = logins.open_login(connection, account.id, hours, agent, provider.issuer)
    _tell(account)
    answer = redirect(pending.next, 303)
    identity.remember(answer, opened[1], hours)
    return answer


def _tell(account: Account) -> None:
    """Rights may be others now: open streams and devices have those of now."""
    state().end_streams(user=account.id)
    state().tell_broker()


def _linked(pending: Pending, claims: Mapping[str, Any]) -> Redirect:
    """Link an identity to the account of who began it, who must still be logged in."""
    login = identity.principal().login
    if login is None or login.id != pending.login:
        raise SignInError("state", "whoever began this is not logged in any more; begin again")
    with state().engine.begin() as connection:
        identities.link(connection, login.account, claims)
    return redirect(pending.next, 303)


def _claims(desk: _Desk, provider: Provider, pending: Pending, code: str) -> dict[str, Any]:
    """What the provider says of who came back."""
    with _client(desk, pending) as client:
        try:
            token = client.fetch_token(
                provider.token,
                grant_type="authorization_code",
                code=code,
                code_verifier=pending.verifier,
                timeout=_TIMEOUT_S,
                allow_redirects=False,
            )
        except Exception as error:
            if not _is_of_provider(error):
                raise
            raise SignInError("code", f"the provider does not take the code: {error}") from error
    given = token.get("id_token")
    if not isinstance(given, str):
        raise SignInError("key", "the provider gave no ID token")
    client_id, now_s = desk.settings.client_id, time.time()
    try:
        claims = claims_of(given, desk.keys, provider, client_id, pending.nonce, now_s)
    except SignInError as error:
        if error.code != "key":
            raise
        desk.known(older_s=_FRESH_S)  # it may have new keys
        claims = claims_of(given, desk.keys, provider, client_id, pending.nonce, now_s)
    if provider.userinfo is None or not isinstance(token.get("access_token"), str):
        return claims
    return with_userinfo(claims, _fetched(provider.userinfo, token["access_token"]))


def _is_of_provider(error: Exception) -> bool:
    """Whether it is what the provider answered, or that it did not."""
    import requests
    from authlib.common.errors import AuthlibBaseError

    return isinstance(error, AuthlibBaseError | requests.RequestException | ValueError)


def _client(desk: _Desk, pending: Pending) -> Any:
    """A session of Authlib's."""
    # Here, as few systems have a provider, and every web process would wait for it.
    from authlib.integrations.requests_client import OAuth2Session

    from citywise.backend.network.sessions import guard

    settings = desk.settings
    method = "client_secret_basic" if settings.client_secret else "none"
    session = OAuth2Session(
        settings.client_id,
        settings.client_secret,
        token_endpoint_auth_method=method,
        scope=" ".join(settings.scopes),
        redirect_uri=pending.redirect,
        code_challenge_method="S256",
    )
    guard(session, state().settings.fetching.allow)
    return session


def _sorry(error: SignInError) -> Redirect:
    """Back to the page to log in, which says why in the reader's language."""
    LOG.warning("nobody is let in: %s: %s", error.code, error)
    return redirect(f"/log-in?{urlencode({'refused': error.code})}", 303)


def _local(wanted: str) -> str:
    """The page that was wanted, which is one of ours."""
    plain = wanted.isprintable() and "\\" not in wanted
    return wanted if plain and wanted.startswith("/") and not wanted.startswith("//") else "/"


def _cookie() -> str:
    return "__Host-citywise-sign-in" if identity.is_secure() else "citywise-sign-in"


def way_out(login: logins.Login) -> str | None:
    """Where to send a browser that logs out, so that it is logged out at the provider, too."""
    desk = cast("_Desk | None", current_app.extensions.get(_EXTENSION))
    if desk is None or login.issuer != desk.settings.issuer:
        return None
    try:
        end = desk.known().end_session
    except SignInError:
        return None
    if end is None:
        return None
    back = f"{state().origin()}/log-in"
    more = urlencode({"client_id": desk.settings.client_id, "post_logout_redirect_uri": back})
    return f"{end}{'&' if '?' in end else '?'}{more}"


# -- what is linked -----------------------------------------------------------------------


@blueprint.get("/me/identities")
@access.own_rights
def list_identities() -> Response:
    """Who one is at providers of identities."""
    parameters.only()
    with state().engine.connect() as connection:
        found = identities.of(connection, identity.own_id())
    shown = [
        {"id": e.id, "issuer": e.issuer, "created": iso(e.created_ms), "used": iso(e.used_ms)}
        for e in found
    ]
    return as_json({"identities": shown})


@blueprint.delete("/me/identities/<identity_id>")
@access.own_rights
def unlink(identity_id: str) -> Response:
    """Take one of them away from one's account."""
    parameters.only()
    with as_problems(), state().engine.begin() as connection:
        if not identities.unlink(connection, identity.own_id(), identity_id):
            raise not_found(f"identity {identity_id!r}")
    return Response(status=204)
