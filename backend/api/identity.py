"""Who asks: a device with a token, a browser that is logged in, the demo's user, or nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from flask import Flask, Response, g, request
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError
from werkzeug.wrappers import Response as BaseResponse

from citywise.backend.api import forgery, parameters, sessions
from citywise.backend.api.forgery import refuse_unproven as refuse_unproven
from citywise.backend.api.problems import ProblemError, not_found
from citywise.backend.api.state import state
from citywise.backend.people import accounts, consents, logins, names, tokens, two_factor
from citywise.backend.people.accounts import ROLES, Account
from citywise.backend.people.ids import DEMO, is_session
from citywise.backend.people.logins import Login
from citywise.backend.people.principal import NOBODY, Principal
from citywise.backend.store.outage import is_full

EVERYTHING = frozenset({"all"})
DEMO_USER = Principal(DEMO, "Demo", frozenset(ROLES), "demo", EVERYTHING)


def principal() -> Principal:
    """Who asks, found out once for each request.

    Raises a 401 `bad-token` for a token that does not (or no longer) exist: a device must
    hear of it. A login that is over is nobody's, and its cookie is removed.
    """
    if "principal" not in g:
        g.principal = _identified()
    found = g.principal
    assert isinstance(found, Principal)
    return found


def person() -> Principal:
    """Who asks, if they are somebody (`user` is not None); else raises a 401 `log-in`."""
    found = principal()
    if found.user is None:
        raise log_in()
    return found


def own_id() -> str:
    """The id of who asks; raises a 401 `log-in` for nobody."""
    user = person().user
    assert user is not None
    return user


def require(role: str, *others: str) -> Principal:
    """Who asks, if they have the role or one of several; else raises a 401 or 403
    `not-allowed` that names it."""
    found = person()
    if not found.roles & {role, *others}:
        wanted = " or ".join((role, *others))
        if found.waiting & {role, *others}:
            raise _not_allowed(
                f"the role {wanted} needs two-factor sign-in; set it up under your account"
            )
        raise _not_allowed(f"this needs the role {wanted}, which an admin can give you")
    return found


def whose(text: str | None, name: str = "user") -> str:
    """The user asked about: `text` is an id or the asker's own account name (which for a
    developer is a test person's); None: the asker.

    Raises a 401 for nobody (but for a session's id, which is its own secret), and a 404 for
    all that the asker may not act for, whether it exists or not, and for a session that there
    is not (any more). `name` is the parameter's.
    """
    asker = principal()
    if text is None:
        return own_id()
    if is_session(text):
        with state().engine.connect() as connection:
            sessions.find(connection, text)
    if asker.may_act_for(text):
        return parameters.checked_identifier(name, text)
    if _is_own_name(asker, text):
        return own_id()
    if asker.user is None:
        raise log_in()
    raise not_found(f"{name} {text!r}")


def may_see(owner: str) -> bool:
    """Whether what is `owner`'s may be shown to who asks."""
    return principal().may_act_for(owner)


def refuse_without_consent(connection: Connection, user: str, subjects: Iterable[str]) -> None:
    """A problem if a person did not allow that some kinds of their context are used."""
    refused = consents.refused(connection, user, subjects)
    if refused:
        raise ProblemError(
            403,
            "no-consent",
            "No consent",
            f"nobody said that {', '.join(refused)} may be used; allow it under your account, or "
            f"with PUT /api/v1/me/consents/{refused[0]}",
            subjects=refused,
        )


def name_of(connection: Connection, account: str) -> str | None:
    """What an account is called; None where there is none (any more)."""
    found = accounts.find(connection, account)
    return None if found is None else found.name


def refuse_other(owner: str | None, what: str) -> None:
    """Raise what is raised where there is no `what` (as in "notice 'x'"): a 404, or for
    nobody a 401; unless it is its `owner` who asks. `owner` None: there is none."""
    if owner is not None and may_see(owner):
        return
    if principal().user is None:
        raise log_in()
    raise not_found(what)


def refuse_token(right: str | None) -> None:
    """Raise a 403 for a device whose token lacks a right; None: no token has it."""
    found = principal()
    if found.means != "token" or (right is not None and found.may(right)):
        return
    if right is None:
        raise _not_allowed("this is for who is logged in, not for a device's token")
    raise _not_allowed(f"the token lacks the right {right!r}; make one that has it")


def log_in() -> ProblemError:
    """A 401 for who has to say who they are."""
    detail = "log in, or send a device's token as `Authorization: Bearer …`"
    problem = ProblemError(401, "log-in", "Log in", detail)
    problem.headers["WWW-Authenticate"] = 'Bearer realm="citywise"'
    return problem


# --- Finding out --------------------------------------------------------------------------------


def _identified() -> Principal:
    if (bearer := forgery.bearer()) is not None:
        return _device(bearer)
    if (secret := request.cookies.get(cookie_name())) is not None:
        found = _browser(secret)
        if found is not None:
            return found
        g.login_over = True
    demo = state().settings.people.demo_user and forgery.is_at_home()
    return DEMO_USER if demo else NOBODY


def _device(bearer: str) -> Principal:
    engine = state().engine
    with engine.connect() as connection:
        found = tokens.find_token(connection, bearer)
    if found is None:
        detail = "there is no such token, or not any more; make another under your account"
        problem = ProblemError(401, "bad-token", "Bad token", detail)
        problem.headers["WWW-Authenticate"] = 'Bearer realm="citywise", error="invalid_token"'
        raise problem
    token, account = found
    if tokens.is_due(token):
        _note(lambda connection: tokens.use(connection, token))
    roles = _acting(account, by_provider=not account.has_password)
    return Principal(
        account.id,
        account.name,
        roles,
        "token",
        token.rights,
        device=token.id,
        scope=token.scope,
        waiting=account.roles - roles,
    )


def _browser(secret: str) -> Principal | None:
    engine = state().engine
    with engine.connect() as connection:
        found = logins.find_login(connection, secret)
    if found is None:
        return None
    login, account = found
    if logins.is_due(login):
        _note(lambda connection: logins.see(connection, login))
    return logged_in(account, login)


def _note(write: Callable[[Connection], None]) -> None:
    """Write when somebody was last seen, where there is room: who only reads needs none."""
    try:
        with state().engine.begin() as connection:
            write(connection)
    except OperationalError as error:
        if not is_full(error):
            raise


def logged_in(account: Account, login: Login) -> Principal:
    """Who a browser's login says it is."""
    roles = _acting(account, by_provider=bool(login.issuer))
    waiting = account.roles - roles
    return Principal(account.id, account.name, roles, "login", EVERYTHING, login, waiting=waiting)


def _acting(account: Account, *, by_provider: bool) -> frozenset[str]:
    needing = state().settings.people.two_factor
    return two_factor.acting_roles(account, needing, by_provider=by_provider)


def _is_own_name(asker: Principal, text: str) -> bool:
    """Whether a text is what the asker's account is called; an id is what it says."""
    return asker.name is not None and names.key(text) == names.key(asker.name)


def _not_allowed(detail: str) -> ProblemError:
    return ProblemError(403, "not-allowed", "Not allowed", detail)


# --- The cookie ---------------------------------------------------------------------------------


def cookie_name() -> str:
    """What the login's cookie is called; over HTTPS, browsers let only this host set it."""
    return "__Host-citywise-login" if is_secure() else "citywise-login"


def is_secure() -> bool:
    """Whether the browser that asks does so over HTTPS."""
    return request.is_secure or state().settings.web.is_secure


def remember(answer: BaseResponse, secret: str, hours: float) -> None:
    """Give a browser the cookie of its login."""
    answer.set_cookie(
        cookie_name(),
        secret,
        max_age=round(hours * 3600),
        path="/",
        secure=is_secure(),
        httponly=True,
        samesite="Lax",
    )


def forget(answer: Response) -> None:
    """Take a browser's cookie away."""
    answer.delete_cookie(cookie_name(), path="/", secure=is_secure(), httponly=True, samesite="Lax")


def install(app: Flask) -> None:
    """Take away the cookies of logins that are over; give the demo its account."""
    with app.app_context():
        if state().settings.people.demo_user:
            with state().engine.begin() as connection:
                accounts.ensure_demo(connection)

    @app.after_request
    def _tidy(answer: Response) -> Response:
        if g.get("login_over") and cookie_name() not in answer.headers.get("Set-Cookie", ""):
            forget(answer)
        return answer
