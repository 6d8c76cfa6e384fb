"""Consents: which kinds of a person's context may be used, and how long they are kept.

None is given until a person gives it. Test persons and sessions are nobody's context.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, select

from citywise.backend.people.errors import PeopleError
from citywise.backend.people.ids import is_account
from citywise.backend.store.chunks import chunks
from citywise.backend.store.models import AccountRow, ConsentRow
from citywise.backend.store.upsert import upsert
from citywise.backend.times import wall_ms

Subject = Literal["position", "route", "activity", "preferences"]
SUBJECTS: tuple[Subject, ...] = ("position", "route", "activity", "preferences")
"""Kinds of a person's context, as they stand in the log."""
LONGEST_HOURS = 24.0 * 366


@dataclass(frozen=True)
class Consent:
    """Whether a kind of context may be used, since when (Unix ms), and for how many hours it is
    kept without word; None: as long as the system keeps it."""

    subject: str
    given: bool
    since_ms: int | None
    hours: float | None


def of(connection: Connection, account: str) -> list[Consent]:
    """What an account consents to, every kind in order."""
    query = select(ConsentRow.__table__).where(ConsentRow.account == account)
    rows = {row["subject"]: row for row in connection.execute(query).mappings()}
    return [
        Consent(
            subject,
            subject in rows and rows[subject]["given_ms"] is not None,
            rows[subject]["given_ms"] if subject in rows else None,
            rows[subject]["hours"] if subject in rows else None,
        )
        for subject in SUBJECTS
    ]


def refused(connection: Connection, user: str, subjects: Iterable[str]) -> list[str]:
    """Which of some kinds of context may not be taken of a user now."""
    wanted = list(subjects)
    if not is_account(user):
        return []
    there = given(connection, [user]).get(user, frozenset())
    return [subject for subject in wanted if subject not in there]


def given(connection: Connection, accounts: Collection[str]) -> dict[str, frozenset[str]]:
    """What each of some accounts consents to; who has no account (any more) is left out."""
    found: dict[str, set[str]] = {}
    row = ConsentRow
    for some in chunks(accounts):
        query = (
            select(AccountRow.id, row.subject)
            .outerjoin(row, (row.account == AccountRow.id) & row.given_ms.is_not(None))
            .where(AccountRow.id.in_(some))
        )
        for account, subject in connection.execute(query):
            found.setdefault(account, set()).update(filter(None, [subject]))
    return {account: frozenset(subjects) for account, subjects in found.items()}


def own_hours(connection: Connection) -> dict[tuple[str, str], float]:
    """By account and kind, for how many hours it is kept, where somebody chose that."""
    row = ConsentRow
    query = select(row.account, row.subject, row.hours)
    found = connection.execute(query.where(row.hours.is_not(None)))
    return {(account, subject): hours for account, subject, hours in found if hours is not None}


def write(
    connection: Connection,
    account: str,
    subject: str,
    *,
    given: bool,
    hours: float | Literal["as before"] | None = "as before",
) -> None:
    """Give or withdraw a consent. What has been told stays: see `backend.privacy.consenting`.

    Raises `PeopleError` for an unknown kind, or hours out of range.
    """
    if subject not in SUBJECTS:
        raise PeopleError("subject", f"`{subject}` is not one of {', '.join(SUBJECTS)}")
    if isinstance(hours, str):
        hours = _hours(connection, account, subject)
    elif hours is not None and not 0 < hours <= LONGEST_HOURS:
        raise PeopleError("hours", f"expected more than 0 and at most {LONGEST_HOURS:g} hours")
    row = {"account": account, "subject": subject, "hours": hours}
    upsert(connection, ConsentRow, [{**row, "given_ms": wall_ms() if given else None}])


def _hours(connection: Connection, account: str, subject: str) -> float | None:
    wanted = (ConsentRow.account == account, ConsentRow.subject == subject)
    return connection.scalar(select(ConsentRow.hours).where(*wanted))


def give_all(connection: Connection, account: str) -> None:
    """Consent to everything: for the demo's user, who is nobody."""
    for subject in SUBJECTS:
        write(connection, account, subject, given=True)
