"""Who is there: what `/me` shows of who asks."""

from __future__ import annotations

from typing import Any

from citywise.backend.api.state import state
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
        "waiting_roles": sorted(principal.waiting),
        "passwords": state().settings.sign_in.passwords,
        "writes": state().settings.writes_to_people,
    }
