"""The invitation with all roles that each start gives while nobody is an admin."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection

from citywise.backend.people import accounts, first_admin, invitations
from citywise.backend.people.errors import PeopleError


def test_only_the_newest_of_these_invitations_is_good(connection: Connection) -> None:
    by_hand = invitations.issue(connection, accounts.ROLES)
    old, new = (first_admin.invite(connection, "command") for _ in range(2))
    assert old is not None
    assert new is not None
    with pytest.raises(PeopleError):
        invitations.take(connection, old)
    first_admin.close(connection)
    for secret in (by_hand, new):
        assert invitations.take(connection, secret) == list(accounts.ROLES)


def test_with_an_admin_none_of_these_invitations_is_good(connection: Connection) -> None:
    secret = first_admin.invite(connection, "command")
    assert secret is not None
    accounts.create(connection, "Ada", "three small boats at sea", ["admin"])
    first_admin.close(connection)
    with pytest.raises(PeopleError):
        invitations.take(connection, secret)
    assert first_admin.invite(connection, "command") is None
