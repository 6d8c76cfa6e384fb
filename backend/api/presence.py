"""Who is there: what `/me` shows of who asks, and ending what they have open."""

from __future__ import annotations

from typing import Any

from citywise.backend.api.state import state
from citywise.backend.network import broker_rights
from citywise.backend.people.principal import Principal


def shown(principal: Principal) -> dict[str, Any]:
    """Who asks, as the API shows it; `csrf` is what a browser proves its login with."""
    people = state().settings.people
    return {
        "user": principal.user,
        "name": principal.name,
        "roles": sorted(principal.roles),
        "means": principal.means,
        "rights": sorted(principal.rights),
        "csrf": None if principal.login is None else principal.login.csrf,
        "sign_up": people.sign_up,
        "by_provider": principal.login is not None and bool(principal.login.issuer),
        "demo": people.demo_user,
        "provider": state().settings.sign_in.shown or None,
        "passwords": state().settings.sign_in.passwords,
    }


def end_streams(
    *, user: str | None = None, login: str | None = None, device: str | None = None
) -> None:
    """End at once the event streams of an account, or those that one login or token opened."""
    state().hub.end(user=user, login=login, device=device)


def tell_broker() -> None:
    """Let the embedded broker know whom it may let in now; after the commit of the change."""
    city = state()
    broker_rights.write(city.engine, city.settings)
