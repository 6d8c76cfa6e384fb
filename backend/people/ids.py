"""What users are known by in the log, in notices and at the broker.

An account's id is opaque, so that nothing but the table `accounts` says who it is. Other ids
are those of CityPulse's sessions, which are secrets, and names of test persons, whom
developers make up. Channels are no users at all: each is an app's, and whoever the app lets read
one hears what is told to it.
"""

from __future__ import annotations

import re

from citywise.backend.people.secret import random_text

DEMO = "demo"
"""The demo's account: whoever is not logged in, on a machine of one's own."""
ACCOUNT = re.compile(r"u-[a-z2-7]{20}")
_SESSION = re.compile(r"citypulse-[0-9a-f]{32}")
_CHANNEL = re.compile(r"([a-z][a-z0-9_]*)/(.+)", re.DOTALL)
"""No id that somebody can ask for, nor a test person's name, has a slash."""
LONGEST = 64
"""Characters of an id (`backend.store.models.UserId`)."""


def new_id() -> str:
    """An id for a new account: 96 random bits and more."""
    return f"u-{random_text()}"


def namespace_of(text: str) -> str:
    """Whose namespace an id is in: what comes before the first dot, if that is the id of an
    account (`u-….jam_ahead`) or a session; else the whole text."""
    owner = text.partition(".")[0]
    return owner if is_account(owner) or is_session(owner) else text


def is_account(user: str) -> bool:
    """Whether an id is one of an account, existing or not."""
    return user == DEMO or ACCOUNT.fullmatch(user) is not None


def is_session(user: str) -> bool:
    """Whether an id is one of a CityPulse session."""
    return _SESSION.fullmatch(user) is not None


def channel(app: str, name: str) -> str:
    """A channel of an app: where it tells something to whoever it lets read there, who need not
    have an account (`backend.packs.parts.Channels`). Raises `ValueError` where it is too long."""
    found = f"{app}/{name}"
    if len(found) > LONGEST:
        raise ValueError(f"channel `{found}` has {len(found)} characters, at most are {LONGEST}")
    return found


def of_channel(user: str) -> tuple[str, str] | None:
    """The app and the name of a channel; None for every other id."""
    found = _CHANNEL.fullmatch(user)
    return None if found is None else (found[1], found[2])


def is_test_person(user: str) -> bool:
    """Whether an id is neither an account's nor a session's, nor in the namespace of one, nor
    a channel: nobody real."""
    owner = namespace_of(user)
    return not (is_account(owner) or is_session(owner) or of_channel(user))
