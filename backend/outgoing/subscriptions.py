"""Subscriptions: who is told of which changes, where, and how far they have come."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update

from citywise.backend.outgoing.filters import Filter
from citywise.backend.store import outbox
from citywise.backend.store.models import AccountRow, SubscriptionRow, UndeliveredRow
from citywise.backend.times import iso, iso_or_none, wall_ms

Form = Literal["webhook", "ngsi-ld", "web-push"]
PUSH: Form = "web-push"
MOST = 20
"""Of one account."""
LOG_POSITION = "@log"
"""In `extra`: up to where in the log readings were dealt with."""
MOST_UNDELIVERED = 10_000
"""Kept of one subscription: the newest."""


class TooManyError(Exception):
    """An account has as many subscriptions as it may."""


@dataclass(frozen=True)
class Subscription:
    """A subscription as it is kept; times are Unix milliseconds of the wall."""

    id: str
    account: str
    form: Form
    url: str
    secret: str
    label: str
    filter: Filter
    extra: dict[str, Any]
    """What only its form knows."""
    is_active: bool
    position: int
    """Id of the last announcement that was dealt with."""
    created_ms: int
    sent: int
    success_ms: int | None
    failure_ms: int | None
    error: str | None
    """Why it failed last; None once it went well again."""

    @classmethod
    def of(cls, row: Row[Any]) -> Subscription:
        """The subscription in a row."""
        body = dict(row._mapping)
        return cls(**{**body, "filter": Filter.model_validate(body["filter"])})

    def to_json(self, undelivered: int) -> dict[str, Any]:
        """As its owner sees it; the secret was shown when it was made."""
        return {
            "id": self.id,
            "label": self.label,
            "url": self.url,
            "filter": self.filter.model_dump(mode="json", exclude_defaults=True),
            "active": self.is_active,
            "created": iso(self.created_ms),
            "sent": self.sent,
            "undelivered": undelivered,
            "last_success": iso_or_none(self.success_ms),
            "last_failure": iso_or_none(self.failure_ms),
            "error": self.error,
        }


_TABLE = SubscriptionRow.__table__


def add(
    connection: Connection,
    account: str,
    form: Form,
    url: str,
    secret: str,
    *,
    label: str = "",
    wanted: Filter | None = None,
    extra: dict[str, Any] | None = None,
    name: str | None = None,
) -> Subscription:
    """Make a subscription to what is announced from now on; raises `TooManyError`."""
    own = select(func.count()).where(SubscriptionRow.account == account)
    if (connection.scalar(own) or 0) >= MOST:
        raise TooManyError(f"{MOST} subscriptions are the most of one account; remove one first")
    identity = name or "s-" + secrets.token_hex(8)
    row = {
        "id": identity,
        "account": account,
        "form": form,
        "url": url,
        "secret": secret,
        "label": label,
        "filter": (wanted or Filter()).model_dump(mode="json", exclude_defaults=True),
        "extra": extra or {},
        "is_active": True,
        "position": outbox.newest(connection),
        "created_ms": wall_ms(),
        "sent": 0,
    }
    connection.execute(insert(SubscriptionRow), [row])
    found = find(connection, account, identity)
    assert found is not None
    return found


def of(connection: Connection, account: str, form: Form) -> list[Subscription]:
    """The subscriptions of an account, oldest first."""
    query = select(_TABLE).where(_TABLE.c.account == account, _TABLE.c.form == form)
    rows = connection.execute(query.order_by(_TABLE.c.created_ms, _TABLE.c.id))
    return [Subscription.of(row) for row in rows]


def find(connection: Connection, account: str, identity: str) -> Subscription | None:
    """One of an account's subscriptions."""
    query = select(_TABLE).where(_TABLE.c.account == account, _TABLE.c.id == identity)
    row = connection.execute(query).one_or_none()
    return None if row is None else Subscription.of(row)


def active(connection: Connection) -> list[Subscription]:
    """All that are to be sent to: of accounts that are not disabled."""
    query = select(_TABLE).join(AccountRow, AccountRow.id == _TABLE.c.account)
    rows = connection.execute(query.where(_TABLE.c.is_active, AccountRow.disabled_ms.is_(None)))
    return [Subscription.of(row) for row in rows]


def change(connection: Connection, identity: str, **values: Any) -> None:
    """Set columns of a subscription."""
    row = SubscriptionRow
    connection.execute(update(row).where(row.id == identity).values(**values))


def keep(connection: Connection, identity: str, log_position: int | None, **values: Any) -> None:
    """Note how far a subscription is, beside what its owner may be changing in it just now."""
    change(connection, identity, **values)  # first: from here on nobody else writes it
    if log_position is not None:
        extra = connection.scalar(select(_TABLE.c.extra).where(_TABLE.c.id == identity))
        change(connection, identity, extra={**(extra or {}), LOG_POSITION: log_position})


def remove(connection: Connection, account: str, identity: str) -> bool:
    """Remove a subscription with what it was not delivered; False where there is none."""
    row = SubscriptionRow
    wanted = delete(row).where(row.account == account, row.id == identity)
    if not connection.execute(wanted).rowcount:
        return False
    letters = UndeliveredRow
    connection.execute(delete(letters).where(letters.subscription == identity))
    return True


def remove_everybodys(connection: Connection, identity: str) -> None:
    """Remove a subscription whoever has it."""
    owner = connection.scalar(select(_TABLE.c.account).where(_TABLE.c.id == identity))
    if owner is not None:
        remove(connection, owner, identity)


of_login = SubscriptionRow.extra["login"].as_string()
"""The login that gave a browser; None where nobody logs in, as on a machine of one's own."""


def end_pushes(connection: Connection, *which: ColumnElement[bool]) -> None:
    """Alerts reach a browser with no page open for as long as somebody is logged in there."""
    query = select(_TABLE.c.account, _TABLE.c.id).where(_TABLE.c.form == PUSH, *which)
    for account, identity in connection.execute(query).all():
        remove(connection, account, identity)


# -- what could not be delivered ------------------------------------------------------


def bury(
    connection: Connection, subscription: Subscription, changes: Sequence[tuple[int, Any]], why: str
) -> None:
    """Put changes (each its number and body) among those that were not delivered."""
    if not changes:
        return
    now = wall_ms()
    rows = [
        {
            "subscription": subscription.id, "account": subscription.account, "number": number,
            "body": body, "error": why[:500], "failed_ms": now, "is_due": False,
        }
        for number, body in changes
    ]  # fmt: skip
    connection.execute(insert(UndeliveredRow), rows)
    row = UndeliveredRow
    mine = row.subscription == subscription.id
    newest = select(row.id).where(mine).order_by(row.id.desc()).offset(MOST_UNDELIVERED).limit(1)
    if (oldest := connection.scalar(newest)) is not None:
        connection.execute(delete(row).where(mine, row.id <= oldest))


def undelivered(
    connection: Connection, identity: str, most: int, *, due: bool = False
) -> list[Row[Any]]:
    """The oldest changes that were not delivered; `due`: only those to be sent again."""
    row = UndeliveredRow.__table__
    query = select(row).where(row.c.subscription == identity)
    if due:
        query = query.where(row.c.is_due)
    return list(connection.execute(query.order_by(row.c.number).limit(most)))


def undelivered_count(connection: Connection, identity: str) -> int:
    """How many changes were not delivered."""
    row = UndeliveredRow
    return connection.scalar(select(func.count()).where(row.subscription == identity)) or 0


def send_again(connection: Connection, identity: str) -> int:
    """Have all that was not delivered sent again; returns how many that are."""
    row = UndeliveredRow
    wanted = update(row).where(row.subscription == identity).values(is_due=True)
    return connection.execute(wanted).rowcount


def to_send_again(connection: Connection) -> set[str]:
    """The subscriptions of which something is to be sent again."""
    query = select(UndeliveredRow.subscription).where(UndeliveredRow.is_due).distinct()
    return set(connection.scalars(query))


def put_back(connection: Connection, number: int, why: str) -> None:
    """Note that a change could not be delivered this time, either."""
    values = {"is_due": False, "error": why[:500], "failed_ms": wall_ms()}
    connection.execute(update(UndeliveredRow).where(UndeliveredRow.id == number).values(values))
