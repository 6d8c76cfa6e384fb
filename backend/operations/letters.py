"""Dead letters sent once more, after their cause is gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from sqlalchemy import ColumnElement, Connection, Engine, and_, func, or_, select, update

from citywise.backend.ingest.intake import KEPT_BYTES
from citywise.backend.operations.errors import NotReplayableError, UnknownLetterError
from citywise.backend.operations.sending import Message, NotSentError, send
from citywise.backend.people import audit
from citywise.backend.settings import Broker
from citywise.backend.store.models import DeadLetterRow, longest
from citywise.backend.times import wall_ms

REPLAYED, FAILED = "dead-letter.replayed", "dead-letter.not-replayed"
MOST = 1000
"""Sent again at a time."""
_SENT = ("observations", "places", "events")
_RETAINED = "places"
_LONGEST_TOPIC = longest(DeadLetterRow, "topic")
_SENT_BEFORE = "it was sent again already; if it fails once more, it will be back"


class Kept(Protocol):
    """What of a row of `dead_letters` says whether it can be sent again."""

    @property
    def topic(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def payload(self) -> str: ...
    @property
    def replayed_ms(self) -> int | None: ...


class Letter(NamedTuple):
    """A dead letter, as far as it matters here."""

    id: int
    topic: str
    reason: str
    size: int
    payload: str
    replayed_ms: int | None


class Replayed(NamedTuple):
    """What became of several letters: sent again, passed over and why, and how many more
    there are."""

    letters: list[int]
    skipped: list[dict[str, Any]]
    left: int


def why_not(letter: Kept, prefix: str) -> str | None:
    """Why a letter cannot be sent again; None where it can."""
    subject = letter.topic.removeprefix(f"{prefix}/").partition("/")[0]
    ours = letter.topic.startswith(f"{prefix}/")
    if letter.replayed_ms is not None:
        return _SENT_BEFORE
    if ours and subject == "context":
        return "it is of a person's context, of which no payload is kept"
    if not ours or subject not in _SENT:
        return (
            f"only what came over MQTT as {', '.join(_SENT)} is sent again, and this came by "
            f"{letter.topic!r}"
        )
    if len(letter.topic) >= _LONGEST_TOPIC:
        return "its topic was not kept whole"
    if letter.size > KEPT_BYTES:
        return f"only the first {KEPT_BYTES} of its {letter.size} bytes were kept"
    if len(letter.payload.encode()) != letter.size:
        return "its payload is not text, and was not kept as it came"
    return None


def replay(engine: Engine, identity: int, broker: Broker, actor: str) -> Letter:
    """Publish one letter again.

    It is marked before it is sent, so that of two clicks one sends; where the broker does
    not take it, the mark is removed. Raises `UnknownLetterError`, `NotReplayableError` or
    `NotSentError`.
    """
    with engine.begin() as connection:
        found = _letters(connection, DeadLetterRow.id == identity, 1)
        if not found:
            raise UnknownLetterError(f"there is no dead letter {identity}")
        reason = _claim(connection, found[0], broker.prefix)
        if reason:
            raise NotReplayableError(f"dead letter {identity}: {reason}")
        before = {"topic": found[0].topic, "reason": found[0].reason}
        audit.record(connection, actor, REPLAYED, str(identity), before)
    _send(engine, found, broker, actor)
    return found[0]


def replay_all(engine: Engine, reason: str, most: int, broker: Broker, actor: str) -> Replayed:
    """Publish up to `most` letters of a reason again, the oldest first.

    Raises `NotSentError`; then none counts as sent.
    """
    skipped: list[dict[str, Any]] = []
    claimed: list[Letter] = []
    waiting = (DeadLetterRow.reason == reason) & _may_be_sent(broker.prefix)
    with engine.begin() as connection:
        for letter in _letters(connection, waiting, most):
            because = _claim(connection, letter, broker.prefix)
            if because:
                skipped.append({"id": letter.id, "because": because})
            else:
                claimed.append(letter)
        sent = [letter.id for letter in claimed]
        if sent:
            audit.record(connection, actor, REPLAYED, f"all of {reason}", {"letters": sent})
    _send(engine, claimed, broker, actor)
    with engine.connect() as connection:
        waits = connection.scalar(select(func.count(DeadLetterRow.id)).where(waiting)) or 0
    return Replayed(sent, skipped, max(0, waits - len(skipped)))


def _may_be_sent(prefix: str) -> ColumnElement[bool]:
    """What `why_not` says, as far as a database can: so that letters that never can be
    sent do not stand before those that can."""
    row = DeadLetterRow
    topics = (row.topic.startswith(f"{prefix}/{kind}/", autoescape=True) for kind in _SENT)
    return and_(row.replayed_ms.is_(None), row.size <= KEPT_BYTES, or_(*topics))


def _letters(connection: Connection, wanted: ColumnElement[bool], most: int) -> list[Letter]:
    row = DeadLetterRow
    columns = (row.id, row.topic, row.reason, row.size, row.payload, row.replayed_ms)
    found = connection.execute(select(*columns).where(wanted).order_by(row.id).limit(most))
    return [Letter(*values) for values in found]


def _claim(connection: Connection, letter: Letter, prefix: str) -> str | None:
    """Mark a letter as sent; or why not."""
    reason = why_not(letter, prefix)
    if reason is None:
        row = DeadLetterRow
        mine = update(row).where(row.id == letter.id, row.replayed_ms.is_(None))
        if not connection.execute(mine.values(replayed_ms=wall_ms())).rowcount:
            return _SENT_BEFORE
    return reason


def _send(engine: Engine, letters: Sequence[Letter], broker: Broker, actor: str) -> None:
    retained = f"{broker.prefix}/{_RETAINED}/"
    messages = [Message(x.topic, x.payload.encode(), x.topic.startswith(retained)) for x in letters]
    try:
        if messages:
            send(broker, messages)
    except NotSentError:
        _unmark(engine, [letter.id for letter in letters], actor)
        raise


def _unmark(engine: Engine, ids: Sequence[int], actor: str) -> None:
    with engine.begin() as connection:
        marked = update(DeadLetterRow).where(DeadLetterRow.id.in_(ids))
        connection.execute(marked.values(replayed_ms=None))
        audit.record(connection, actor, FAILED, ", ".join(map(str, ids)), {"letters": list(ids)})
