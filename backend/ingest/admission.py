"""What may be taken of whom: accounts that exist, and what they consent to.

Whoever withdraws a consent or leaves has what stands removed through the inlet, in the same
transaction. The ingest reads the inlet before it asks here, and writes before it reads the
inlet again: what was let in just before is removed after, what comes later is not let in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, Engine

from citywise.backend.ingest.acceptance import Verdict
from citywise.backend.ingest.faults import DeadLetter
from citywise.backend.ingest.standing import CONTEXT, Entry, owner
from citywise.backend.people import consents
from citywise.backend.people.ids import is_account, is_test_person

UNKNOWN_USER = "unknown-user"
NO_CONSENT = "no-consent"
_UNKNOWN = "there is no such account (any more); a device sends to its own account's topic"
_NO_CONSENT = (
    "not taken: {}; the user does not consent to it, and can under Account or with "
    "PUT /api/v1/me/consents/<kind>"
)


def shown(name: str) -> str:
    """What a dead letter calls a user, or an entry of a user: it does not say which person."""
    return name if is_test_person(name) else "(a person)"


@dataclass(frozen=True)
class Admission:
    """What may be taken of some users at one moment."""

    gone: frozenset[str] = frozenset()
    """Ids of accounts that there are not (any more)."""
    given: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By account, the kinds of context that may be taken; of other users all may."""

    def screened(self, verdict: Verdict, size: int) -> Verdict:
        """What may be taken of a message about a person, of so many bytes."""
        if verdict.user in self.gone:
            letter = DeadLetter.not_kept(UNKNOWN_USER, _UNKNOWN, size)
            return Verdict(dead=[letter], user=verdict.user)
        refused = [entry for entry in verdict.standing if self.refuses(entry)]
        if not refused:
            return verdict
        detail = _NO_CONSENT.format(", ".join(entry.subject for entry in refused))
        kept = [entry for entry in verdict.standing if entry not in refused]
        dead = [*verdict.dead, DeadLetter.not_kept(NO_CONSENT, detail, size)]
        return replace(verdict, standing=kept, dead=dead)

    def refuses(self, entry: Entry) -> bool:
        """Whether an entry's user does not let it be taken; to remove is always allowed."""
        user = owner(*entry)
        if user is None or not is_account(user):
            return False
        asked = entry.subject in CONTEXT
        return user in self.gone or (asked and entry.subject not in self.given.get(user, ()))


def of(connection: Connection, users: Iterable[str]) -> Admission:
    """What may be taken of some users now."""
    asked = {user for user in users if is_account(user)}
    given = consents.given(connection, asked)
    return Admission(frozenset(asked - given.keys()), given)


def read(engine: Engine, users: Iterable[str]) -> Admission:
    """As `of`; asks nothing where no account is concerned."""
    asked = {user for user in users if is_account(user)}
    if not asked:
        return Admission()
    with engine.connect() as connection:
        return of(connection, asked)
