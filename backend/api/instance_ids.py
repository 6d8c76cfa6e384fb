"""Ids of template instances, which say whose they are.

A person's instances are `<account>.<anything>`, a session's is the session itself, and test
persons may have all other ids. So nobody can try out which ids others have taken.
"""

from __future__ import annotations

import re

from sqlalchemy import ColumnElement, and_

from citywise.backend.api.problems import invalid
from citywise.backend.people.ids import DEMO, is_account, is_session
from citywise.backend.people.principal import Principal
from citywise.backend.store.models import InstanceRow

_OF_PEOPLE = ("u-", "citypulse-")
_SOMEBODY = re.compile(r"u-[a-z2-7]{20}|citypulse-[0-9a-f]{32}")


def refuse_unless_of(user: str, instance_id: str) -> None:
    """Raise a problem unless an instance of a user may have an id, taken or not."""
    if is_account(user):
        if not instance_id.startswith(f"{user}."):
            raise _unfit(instance_id, f"an id of yours begins with `{user}.`; or leave it out")
    elif _is_of_somebody(instance_id):
        raise _unfit(instance_id, "it looks like the id of a person's or a session's; take another")


def may_be_made(asker: Principal, instance_id: str) -> bool:
    """Whether anybody for whom `asker` may act could have an instance of an id."""
    own = asker.user is not None and instance_id.startswith(f"{asker.user}.")
    return own or (asker.has("developer") and not _is_of_somebody(instance_id))


def is_shown(instance_id: str, asker: Principal) -> bool:
    """Whether a developer may see that there is (or was) an instance; a session's id is a
    secret."""
    owner = instance_id.partition(".")[0]
    return owner == asker.user or not _is_of_somebody(instance_id)


def without_others(text: str, asker: Principal) -> str:
    """A message to developers without the ids of people and sessions, but their own."""
    return _SOMEBODY.sub(lambda found: found[0] if found[0] == asker.user else "somebody", text)


def of_test_persons() -> ColumnElement[bool]:
    """That an instance is a test person's (and that its user is not even called like an
    account or a session)."""
    somebody = (InstanceRow.user.startswith(prefix) for prefix in _OF_PEOPLE)
    return and_(InstanceRow.user != DEMO, *(~condition for condition in somebody))


def _is_of_somebody(instance_id: str) -> bool:
    return is_account(instance_id.partition(".")[0]) or is_session(instance_id)


def _unfit(instance_id: str, message: str) -> Exception:
    return invalid([{"path": "id", "message": f"found {instance_id!r}, but {message}"}])
