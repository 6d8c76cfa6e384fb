"""Who asks, by which means, and for whom they may act."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from citywise.backend.people.ids import is_session, is_test_person
from citywise.backend.people.logins import Login
from citywise.backend.people.scopes import Scope

Means = Literal["nobody", "login", "token", "demo"]
_OF_CITY = frozenset(("sensors", "places"))
"""Rights that `all` is without (`backend.people.tokens.OF_CITY`)."""


@dataclass(frozen=True)
class Principal:
    """Who asks. `user` is None for whoever has not logged in; `rights` are those of a token,
    and all for other means."""

    user: str | None = None
    name: str | None = None
    roles: frozenset[str] = field(default_factory=frozenset)
    means: Means = "nobody"
    rights: frozenset[str] = field(default_factory=frozenset)
    login: Login | None = None
    device: str | None = None
    """Id of the token."""
    waiting: frozenset[str] = field(default_factory=frozenset)
    """Roles that the account has, but only with two-factor sign-in (`people.two_factor`)."""
    scope: Scope | None = None
    """What the token's rights for the city are limited to."""

    def has(self, role: str) -> bool:
        """Whether they may act in a role."""
        return role in self.roles

    def may(self, right: str) -> bool:
        """Whether their means allow something (`backend.people.tokens.RIGHTS`)."""
        given = {right} if right in _OF_CITY else {right, "all"}
        return self.user is not None and bool(given & self.rights)

    def may_act_for(self, user: str) -> bool:
        """Whether what is a user's is theirs to see and to change.

        Everybody's own; a session's, whose id is its secret; a test person's for developers.
        Admins get nothing more: what people do is not their business.
        """
        if is_session(user):
            return True
        return user == self.user or ("developer" in self.roles and is_test_person(user))


NOBODY = Principal()
