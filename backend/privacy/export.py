"""Everything that is known of a person, to take along (GDPR, articles 15 and 20).

`backend.privacy.forgetting` removes what is listed here, and a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select

from citywise.backend.ingest import log, records
from citywise.backend.ingest.standing import CONTEXT
from citywise.backend.packs import broken, tables
from citywise.backend.packs.parts import brought_to
from citywise.backend.people import (
    accounts,
    consents,
    identities,
    logins,
    passkeys,
    tokens,
    two_factor,
)
from citywise.backend.people.scopes import Scope
from citywise.backend.privacy import saved_places
from citywise.backend.settings import Settings
from citywise.backend.store.models import (
    AuditRow,
    CursorRow,
    DutyRow,
    InstanceRow,
    LetterRow,
    MailAddressRow,
    NoticeRow,
    SubscriptionRow,
    UndeliveredRow,
    WishesRow,
)
from citywise.backend.times import iso, iso_or_none, wall_ms
from citywise.reasoning.rdf.mapping import quote

FORMAT = 1
_SECRET = {"csrf", "has_password", "has_two_factor", "secret", "unsubscribe"}


def everything(connection: Connection, settings: Settings, user: str) -> dict[str, Any]:
    """What is known of a user, by where it is kept; times in ISO 8601.

    `context` is what stands now, `log` what came of context and instances as far back as the
    log goes. Raises `LogError` or `OSError` where the log cannot be read.
    """
    history = list(_history(settings, user))
    of_apps, missing = _of_apps(connection, settings, user)
    return {
        "format": FORMAT,
        "exported": iso(wall_ms()),
        "account": _account(connection, user),
        "two_factor": _exported_row(vars(two_factor.standing(connection, user))),
        "passkeys": [_exported_row(vars(found)) for found in passkeys.of(connection, user)],
        "identities": [_exported_row(vars(found)) for found in identities.of(connection, user)],
        "logins": [_exported_row(vars(found)) for found in logins.of(connection, user)],
        "tokens": [_exported_row(vars(found)) for found in tokens.of(connection, user)],
        "consents": [_exported_row(vars(found)) for found in consents.of(connection, user)],
        "wishes": _one(connection, select(WishesRow.__table__).where(WishesRow.user == user)),
        "mail": _one(
            connection, select(MailAddressRow.__table__).where(MailAddressRow.account == user)
        ),
        "letters": _mine(connection, LetterRow, user),
        "saved_places": saved_places.of(connection, settings, user).model_dump(mode="json")[
            "places"
        ],
        "instances": _all(
            connection,
            select(InstanceRow.__table__).where(InstanceRow.user == user).order_by(InstanceRow.id),
        ),
        "duties": _all(
            connection,
            select(DutyRow.__table__).where(DutyRow.user == user).order_by(DutyRow.role),
        ),
        "remembered": _remembered(connection, user),
        "notices": _all(
            connection,
            select(NoticeRow.__table__)
            .where(NoticeRow.user == user)
            .order_by(NoticeRow.opened_ms, NoticeRow.id),
        ),
        "subscriptions": _mine(connection, SubscriptionRow, user),
        "undelivered": _mine(connection, UndeliveredRow, user),
        **of_apps,
        "missing": missing,
        "actions": _all(
            connection,
            select(AuditRow.__table__).where(AuditRow.actor == user).order_by(AuditRow.id),
        ),
        "context": _standing(history),
        "log": history,
    }


def _of_apps(
    connection: Connection, settings: Settings, user: str
) -> tuple[dict[str, Sequence[Mapping[str, Any]]], list[dict[str, str | None]]]:
    """What apps keep of a user, by part; and which parts of which apps could not be had
    (None: all that the app keeps)."""
    apps = brought_to(settings)
    found: dict[str, Sequence[Mapping[str, Any]]] = {}
    missing: list[dict[str, str | None]] = [{"app": app, "part": None} for app in apps.unusable]
    for app, parts in apps.parts.items():
        for part, export in parts.export.items():
            try:
                with connection.begin_nested():
                    found[part] = export(connection, settings, user)
            except Exception as error:  # noqa: BLE001
                broken.note(app, "export", error)
                missing.append({"app": app, "part": part})
    told = {noted.app for noted in tables.known(connection) if noted.exported}
    for app, table, is_theirs in tables.rows_of(connection, user):
        if app in told:
            found[table.name] = _all(connection, select(table).where(is_theirs))
    return found, missing


def _remembered(connection: Connection, user: str) -> list[dict[str, Any]]:
    """What templates remember of a user's instances (docs/apps.md, Time in rules)."""
    mine = select(InstanceRow.id).where(InstanceRow.user == user)
    keys = {quote(found): found for found in connection.scalars(mine)}
    return [
        {"request": request, "instance": keys[key], "kept": kept}
        for request, state in connection.execute(select(CursorRow.request, CursorRow.state))
        for key, kept in sorted(state.get("memory", {}).get("keys", {}).items())
        if key in keys
    ]


def _account(connection: Connection, user: str) -> dict[str, Any] | None:
    found = accounts.find(connection, user)
    return None if found is None else _exported_row(vars(found))


def _history(settings: Settings, user: str) -> Iterator[dict[str, Any]]:
    """What the log holds of a user, oldest first."""
    folder = settings.log_dir
    bases = log.segments(folder)
    begin = bases[0] if bases else 0
    for received, subject, key, body in records.read_personal(
        folder, begin, log.durable_end(folder), user
    ):
        yield {"received": iso(received), "subject": subject, "id": key, "told": body}


def _standing(history: list[dict[str, Any]]) -> dict[str, Any]:
    """What of a user's context stands after all that came."""
    newest = {entry["subject"]: entry["told"] for entry in history}
    return {subject: newest[subject] for subject in CONTEXT if newest.get(subject) is not None}


def _mine(
    connection: Connection, row: type[LetterRow | SubscriptionRow | UndeliveredRow], user: str
) -> list[dict[str, Any]]:
    """What an account's own rows in a table say, in order."""
    table = row.__table__
    return _all(connection, select(table).where(table.c.account == user).order_by(table.c.id))


def _one(connection: Connection, query: Any) -> dict[str, Any] | None:
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else _exported_row(row)


def _all(connection: Connection, query: Any) -> list[dict[str, Any]]:
    return [_exported_row(row) for row in connection.execute(query).mappings()]


def _exported_row(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row with its times (`…_ms`) in ISO 8601, and without what lets somebody in."""
    shown: dict[str, Any] = {}
    for name, value in row.items():
        if name in _SECRET:
            continue
        if name.endswith("_ms"):
            shown[name.removesuffix("_ms")] = iso_or_none(value)
        elif isinstance(value, Scope):
            shown[name] = value.model_dump(mode="json", exclude_defaults=True)
        else:
            shown[name] = sorted(value) if isinstance(value, frozenset) else value
    return shown
