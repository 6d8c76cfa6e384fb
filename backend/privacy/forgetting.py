"""Forgetting a person: the account and all that is theirs, in every room that holds some of it.

What the log holds cannot be taken out of it, but it is sealed with a key of the person's own,
names included, and the key is destroyed: as soon as the workers, which may hold what they once
read, have read that it is removed. A batch that was being evaluated meanwhile may still write
about the person; so a note stays until all has passed that could, and what came in is removed
again.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, Engine, String, cast, delete, func, or_, select, update

from citywise.backend.ingest import inlet, log
from citywise.backend.ingest.keyring import Keyring, digest_of
from citywise.backend.ingest.standing import CONTEXT
from citywise.backend.network import broker_rights
from citywise.backend.operations.sending import Message, NotSentError, send
from citywise.backend.packs import tables
from citywise.backend.packs.parts import brought_to, within
from citywise.backend.people import accounts, tokens
from citywise.backend.people.ids import DEMO
from citywise.backend.privacy import cleaning, tombstones
from citywise.backend.settings import Settings
from citywise.backend.store.exclusion import CONTEXT_OF, exclude
from citywise.backend.store.models import (
    AccountRow,
    AuditRow,
    Base,
    ConsentRow,
    CursorRow,
    DeadLetterRow,
    DutyRow,
    ForgettingRow,
    IdentityRow,
    InletRow,
    InstanceRow,
    LetterRow,
    LoginRow,
    MailAddressRow,
    MailSecretRow,
    NoticeRow,
    OutboxRow,
    PasskeyRow,
    ReceiverRow,
    RecoveryCodeRow,
    SavedPlacesRow,
    SubscriptionRow,
    TokenRow,
    TraceRow,
    UndeliveredRow,
    WishesRow,
)
from citywise.backend.store.outbox import begin
from citywise.backend.store.upsert import upsert
from citywise.backend.times import wall_ms

LOG = logging.getLogger("citywise.privacy")
_PATIENCE_MS = 600_000
"""After so long the key is destroyed though the pipeline has not come so far."""
_NAMELESS = "forgotten "
SOMEBODY = "forgotten"
"""Who it was in the audit log, of which the rest has to stay."""
_OWNED: Sequence[tuple[type[Base], Any]] = (
    (AccountRow, AccountRow.id),
    (RecoveryCodeRow, RecoveryCodeRow.account),
    (PasskeyRow, PasskeyRow.account),
    (LoginRow, LoginRow.account),
    (IdentityRow, IdentityRow.account),
    (TokenRow, TokenRow.account),
    (ReceiverRow, ReceiverRow.user),
    (ConsentRow, ConsentRow.account),
    (WishesRow, WishesRow.user),
    (MailAddressRow, MailAddressRow.account),
    (MailSecretRow, MailSecretRow.account),
    (LetterRow, LetterRow.account),
    (SavedPlacesRow, SavedPlacesRow.user),
    (InstanceRow, InstanceRow.user),
    (DutyRow, DutyRow.user),
    (NoticeRow, NoticeRow.user),
    (OutboxRow, OutboxRow.user),
    (SubscriptionRow, SubscriptionRow.account),
    (UndeliveredRow, UndeliveredRow.account),
)
"""Tables with a column that says whose a row is."""


def forget(engine: Engine, settings: Settings, user: str) -> None:
    """Forget an account: at once in the database and at the broker; in the log, and what is
    still under way, by `sweep` some seconds later.

    The account `demo` is nobody's and stays, empty. Raises `PeopleError` for the last admin,
    without whom nobody could give roles.
    """
    with engine.connect() as connection:
        accounts.refuse_last_admin(connection, user)
    tombstones.bury(settings.data_dir, user)
    _clear_topics(engine, settings, user)
    with engine.begin() as connection:
        _forget(connection, settings, user)
    broker_rights.write(engine, settings)


def _forget(connection: Connection, settings: Settings, user: str) -> None:
    begin(connection)
    exclude(connection, CONTEXT_OF, user)
    upsert(connection, ForgettingRow, [_note(user)])
    _withdraw(connection, user)
    _purge(connection, settings, user)  # where an app fails, `sweep` asks it again


def forget_buried(connection: Connection, settings: Settings, digests: Collection[str]) -> int:
    """Forget, in a state that was just restored, whoever was forgotten since it was saved, of
    whom digests are known; returns how many there were. Nobody else uses the state yet."""
    users = [
        user
        for user in {DEMO, *connection.scalars(select(AccountRow.id))}
        if digest_of(user) in digests
    ]
    for user in users:
        _forget(connection, settings, user)
    Keyring(settings.keys_dir).forget_digests(digests)
    return len(users)


def _clear_topics(engine: Engine, settings: Settings, user: str) -> None:
    """Take away what devices may have had retained; the embedded broker retains nothing of
    people, and an external one cannot refuse it."""
    broker = settings.broker
    if broker.embedded:
        return
    with engine.connect() as connection:
        devices = [f"status/{token.id}" for token in tokens.of(connection, user)]
    topics = [f"{broker.prefix}/{topic}" for topic in (f"context/{user}", *devices)]
    try:
        send(broker, [Message(topic, b"", retain=True) for topic in topics])
    except NotSentError as error:
        LOG.warning("what devices had retained at the broker stays there: %s", error)


def sweep(engine: Engine, settings: Settings) -> int:
    """Remove what came in of people who are being forgotten; returns how many still are.

    A person is forgotten for good when everything that was written about them has been
    answered, and the files of the database are clean: then the note goes too.
    """
    with engine.connect() as connection:
        rows = connection.execute(select(ForgettingRow.__table__)).mappings()
        notes = [dict(row) for row in rows]
    if notes:
        tombstones.spread(settings.data_dir)
    for note in notes:
        if not _is_nameless(note) and _is_done(engine, settings, note):
            note["user"] = _NAMELESS
    if notes and all(map(_is_nameless, notes)) and cleaning.clean(engine):
        with engine.begin() as connection:
            nameless = ForgettingRow.user.startswith(_NAMELESS)
            connection.execute(delete(ForgettingRow).where(nameless))
        return 0
    return len(notes)


def _is_nameless(note: dict[str, Any]) -> bool:
    """Whether a note says only that somebody was forgotten whose pages are to be cleaned."""
    return str(note["user"]).startswith(_NAMELESS)


def _note(user: str) -> dict[str, Any]:
    return {"user": user, "since_ms": wall_ms(), "position": None}


def _is_done(engine: Engine, settings: Settings, note: dict[str, Any]) -> bool:
    """Purge again, and see how far it is: removals in the log, all cursors past them, the key
    destroyed, no answer left."""
    user = note["user"]
    with engine.begin() as connection:
        begin(connection)
        if note["position"] is None and not _waits(connection, user):
            note["position"] = log.durable_end(settings.log_dir)
            noted = update(ForgettingRow).where(ForgettingRow.user == user)
            connection.execute(noted.values(position=note["position"]))
        # First ask, then purge: what is committed in between is not missed.
        answered = _is_answered(connection, note["position"])
        if not answered and wall_ms() - note["since_ms"] < _PATIENCE_MS:
            return False
        is_purged = _purge(connection, settings, user)
    Keyring(settings.keys_dir).forget(user)
    with engine.begin() as connection:
        if not is_purged or not answered or _is_in_cursors(connection, user):
            return False
        noted = update(ForgettingRow).where(ForgettingRow.user == user)
        connection.execute(noted.values(user=f"{_NAMELESS}{secrets.token_hex(8)}"))
    LOG.info("an account has been forgotten")
    return True


def _is_answered(connection: Connection, position: int | None) -> bool:
    """Whether everything in the log up to a position has been answered."""
    if position is None:
        return False
    behind = select(func.count()).where(CursorRow.position < position)
    return not connection.scalar(behind)


def _withdraw(connection: Connection, user: str) -> None:
    """Tell the log that nothing of the person stands any more, whatever was to stand."""
    query = select(InstanceRow.id).where(InstanceRow.user == user)
    instances = list(connection.scalars(query))
    waiting = or_(
        (InletRow.key == user) & InletRow.subject.in_(CONTEXT),
        (InletRow.subject == "instance") & InletRow.key.in_(instances),
    )
    connection.execute(delete(InletRow).where(waiting))
    removals = [*((subject, user) for subject in CONTEXT), *(("instance", i) for i in instances)]
    inlet.write(connection, [(subject, key, None) for subject, key in removals])


def _waits(connection: Connection, user: str) -> bool:
    """Whether the ingest has still to take something about the person."""
    mine = or_(InletRow.key == user, InletRow.key.startswith(f"{user}.", autoescape=True))
    return bool(connection.scalar(select(func.count()).where(mine)))


def _mark(user: str) -> str:
    """What texts that mention a user hold; the word `demo` alone means many things."""
    return f"{user}." if user == DEMO else user


def _purge(connection: Connection, settings: Settings, user: str) -> bool:
    """Remove whatever the tables hold of a person; False where an app could not do its part,
    and has to be asked again."""
    has_all = _purge_apps(connection, settings, user)
    tables.forget(connection, user)
    for row, owner in _OWNED:
        if (row, user) != (AccountRow, DEMO):
            connection.execute(delete(row).where(owner == user))
    row = DeadLetterRow
    texts = (row.topic, row.payload, row.detail, row.source)
    mentioned = or_(*(_holds(column, _mark(user)) for column in texts))
    connection.execute(delete(DeadLetterRow).where(mentioned))
    _purge_traces(connection, _mark(user))
    _purge_audit(connection, user)
    return has_all


def _purge_apps(connection: Connection, settings: Settings, user: str) -> bool:
    """Let every app remove what it holds; whether all could."""
    apps = brought_to(settings)
    asked = [
        within(connection, app, "forgotten", partial(parts.forgotten, connection, user))
        for app, parts in apps.parts.items()
        if parts.forgotten is not None
    ]
    return all(asked) and not apps.unusable


def _purge_traces(connection: Connection, mark: str) -> None:
    """Traces tell of the evaluation of all; only what they say of this person goes."""
    query = select(TraceRow.id, TraceRow.changed, TraceRow.error)
    mentioned = or_(_holds(cast(TraceRow.changed, String), mark), _holds(TraceRow.error, mark))
    for identity, changed, error in connection.execute(query.where(mentioned)).all():
        values = {
            "changed": changed and {name: _others(found, mark) for name, found in changed.items()},
            "error": None if error is None else error.replace(mark, SOMEBODY),
        }
        connection.execute(update(TraceRow).where(TraceRow.id == identity).values(values))


def _others(found: Sequence[Any], mark: str) -> list[Any]:
    """What does not mention the person, of instances (texts) or notices (objects)."""
    return [each for each in found if mark not in str(each)]


def _purge_audit(connection: Connection, user: str) -> None:
    row = AuditRow
    acted = update(row).where(row.actor == user).values(actor=SOMEBODY)
    connection.execute(acted)
    about = or_(
        _holds(row.target, _mark(user)),
        _holds(cast(row.before, String), _mark(user)),
        _holds(cast(row.after, String), _mark(user)),
    )
    gone = {"target": SOMEBODY, "before": None, "after": None}
    connection.execute(update(row).where(about).values(gone))


def _is_in_cursors(connection: Connection, user: str) -> bool:
    """Whether the pipeline still keeps an answer for an instance of the person."""
    kept = _holds(cast(CursorRow.state, String), _mark(user))
    return bool(connection.scalar(select(func.count()).where(kept)))


def _holds(column: Any, part: str) -> Any:
    return column.contains(part, autoescape=True)
