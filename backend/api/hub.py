"""One tailer of the outbox, fanned out to every open event stream.

Threads here become greenlets under gunicorn's gevent worker, which patches `threading`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson
from sqlalchemy import Engine, Select, func, select, union_all
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from citywise.backend import telemetry
from citywise.backend.api.entitled import NONE, Reader, unentitled
from citywise.backend.api.objects import reading_object
from citywise.backend.kinds import Kinds
from citywise.backend.kinds.installed import KnownKinds
from citywise.backend.notices.announcing import NOTICE
from citywise.backend.packs.parts import Channels
from citywise.backend.store import clocks, outbox
from citywise.backend.store.models import OutboxRow, ReadingRow
from citywise.backend.times import iso

POLL_S = 0.06
READINGS_EVERY_S = 0.25
CLOCK_EVERY_S = 1.0
RIGHTS_EVERY_S = 2.0
PAGE = 500
BACKLOG = 5_000
"""Messages a client may fall behind before it is dropped; it resumes by id. A message is
kept once for all clients, so that a long queue costs little."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Message:
    """One server-sent event; only announcements carry an id. `user`: for them alone."""

    event: str
    data: bytes
    id: int | None = None
    user: str | None = None

    def encode(self) -> bytes:
        """The event as it goes over the wire; made once for all clients."""
        return self._encoded

    @cached_property
    def _encoded(self) -> bytes:
        head = b"" if self.id is None else b"id: %d\n" % self.id
        return b"%sevent: %s\ndata: %s\n\n" % (head, self.event.encode(), self.data)


ANYBODY = Reader()


class Subscription:
    """The queue of one client. `on_drop` is called once if the client is given up."""

    def __init__(
        self, on_drop: Callable[[], None], backlog: int = BACKLOG, reader: Reader = ANYBODY
    ) -> None:
        self._queue: deque[Message] = deque()
        self._awake = threading.Event()
        self._backlog = backlog
        self._on_drop = on_drop
        self.reader = reader
        self._closed = False

    def is_closed(self) -> bool:
        """Whether the stream is to end."""
        return self._closed

    def offer(self, message: Message) -> bool:
        """Queue a message; False, and the client is dropped, if it is too far behind."""
        if len(self._queue) >= self._backlog:
            self.close()
            self._on_drop()
            return False
        self._queue.append(message)
        self._awake.set()
        return True

    def close(self) -> None:
        """End the client's stream."""
        self._closed = True
        self._awake.set()

    def take(self, timeout_s: float) -> list[Message]:
        """All messages waiting; empty after `timeout_s` without any."""
        if not self._queue:
            self._awake.wait(timeout_s)
        self._awake.clear()
        return [self._queue.popleft() for _ in range(min(PAGE, len(self._queue)))]


class Hub:
    """Follows the outbox, the readings and the clock while anybody listens; `channels` are those
    of apps, by the app's name."""

    def __init__(self, engine: Engine, channels: Mapping[str, Channels] = NONE) -> None:
        self._engine = engine
        self._channels = channels
        self._kinds = KnownKinds()
        self._lock = threading.Lock()
        self._awake = threading.Event()
        self._subscriptions: set[Subscription] = set()
        self._by_user: dict[str, set[Subscription]] = {}
        self._by_opener: Counter[tuple[str | None, str | None]] = Counter()
        self._thread: threading.Thread | None = None
        self.closed = False
        self._position = 0
        self._change = 0
        self._readings_at = 0.0
        self._clock_at = 0.0
        self._rights_at = 0.0
        self._clock: dict[str, Any] = {}

    @property
    def clients(self) -> int:
        """How many streams are open."""
        return len(self._subscriptions)

    def opened_by(self, reader: Reader) -> int:
        """How many streams an account has open, or an address where nobody logged in."""
        return self._by_opener[reader.opener]

    def newest(self) -> int:
        """The id of the last announcement, 0 if there is none."""
        with self._engine.connect() as connection:
            return outbox.newest(connection)

    def oldest(self) -> int | None:
        """The id of the first announcement that is still kept."""
        with self._engine.connect() as connection:
            return connection.execute(select(func.min(OutboxRow.id))).scalar_one()

    def after(self, position: int, user: str | None) -> list[Message]:
        """Up to `PAGE` announcements after `position`, in order: of the notices only those to
        `user`."""
        with self._engine.connect() as connection:
            return [_message(row) for row in connection.execute(_resumed(position, user))]

    def subscribe(
        self, on_drop: Callable[[], None], backlog: int = BACKLOG, reader: Reader = ANYBODY
    ) -> Subscription:
        """Open a queue that gets every announcement later than this call, of the notices
        only those to the reader's user."""
        subscription = Subscription(on_drop, backlog, reader)
        with self._lock:
            if not self._subscriptions:
                self._catch_up()
            self._subscriptions.add(subscription)
            self._by_opener[reader.opener] += 1
            if reader.user is not None:
                self._by_user.setdefault(reader.user, set()).add(subscription)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="tailer", daemon=True)
                self._thread.start()
        self._awake.set()
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Forget a queue."""
        with self._lock:
            if subscription in self._subscriptions:
                self._subscriptions.remove(subscription)
                self._forget(subscription)
            if not self._subscriptions:
                self._awake.clear()

    def _forget(self, subscription: Subscription) -> None:
        user, opener = subscription.reader.user, subscription.reader.opener
        self._by_opener[opener] -= 1
        if not self._by_opener[opener]:
            del self._by_opener[opener]
        if user is not None:
            self._by_user[user].remove(subscription)
            if not self._by_user[user]:
                del self._by_user[user]

    def end(
        self, *, user: str | None = None, login: str | None = None, device: str | None = None
    ) -> None:
        """End the streams that an account has open or that tell of a user, those of a login,
        or those of a device's token: whoever may go on opens another."""
        for subscription in list(self._subscriptions):
            reader = subscription.reader
            if (
                (user is not None and user in (reader.user, reader.account))
                or (login is not None and login == reader.login)
                or (device is not None and device == reader.device)
            ):
                self._end(subscription)

    def _end(self, subscription: Subscription) -> None:
        subscription.close()
        self.unsubscribe(subscription)

    def close(self) -> None:
        """End all streams; the hub is of no use afterwards."""
        self.closed = True
        self._awake.set()
        for subscription in list(self._subscriptions):
            subscription.close()

    def _catch_up(self) -> None:
        self._position = self.newest()
        with self._engine.connect() as connection:
            self._change = connection.execute(select(func.max(ReadingRow.change))).scalar() or 0
        self._clock = {}

    def _run(self) -> None:
        while not self.closed:
            self._awake.wait()
            try:
                full = self._poll()
            except SQLAlchemyError:
                log.exception("the event stream cannot read the database; trying again")
                time.sleep(1)
                continue
            time.sleep(0 if full else POLL_S)

    def _poll(self) -> bool:
        """Announce what is new; True if there may be more at once."""
        messages = self._announced()
        for message in messages:
            self._publish(message)
            self._position = message.id or self._position
        now = time.monotonic()
        if now - self._readings_at >= READINGS_EVERY_S:
            self._readings_at = now
            self._poll_readings()
        if now - self._clock_at >= CLOCK_EVERY_S:
            self._clock_at = now
            self._poll_clock()
        if now - self._rights_at >= RIGHTS_EVERY_S:
            self._rights_at = now
            self._end_unentitled()
        return len(messages) == PAGE

    def _announced(self) -> list[Message]:
        query = _ROWS.where(OutboxRow.id > self._position).order_by(OutboxRow.id).limit(PAGE)
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
        for row in rows:
            kind = {"citywise.kind": row.kind}
            telemetry.told("tell browsers", row.id, row.traceparent, row.created_ms, **kind)
        return [_message(row) for row in rows]

    def _end_unentitled(self) -> None:
        """Another process may have taken a login or token back, or an account."""
        subscriptions = list(self._subscriptions)
        with self._engine.connect() as connection:
            readers = {one.reader for one in subscriptions}
            over = unentitled(connection, readers, self._channels)
        for subscription in subscriptions:
            if subscription.reader in over:
                self._end(subscription)

    def _poll_readings(self) -> None:
        query = select(ReadingRow).where(ReadingRow.change > self._change)
        with Session(self._engine) as session:
            rows = session.scalars(query).all()
            if not rows:
                return
            now_ms = clocks.read(session).now_ms
            self._change = max(row.change for row in rows)
            kinds = self._kinds.read(session.connection())
            readings = [reading_object(row) for row in rows if _is_public(row, kinds)]
        body = {"now": iso(now_ms), "readings": readings}
        self._publish(Message("readings", orjson.dumps(body)))

    def _poll_clock(self) -> None:
        with self._engine.connect() as connection:
            clock = clocks.read(connection).as_json()
        if clock != self._clock:
            self._clock = clock
            self._publish(Message("clock", orjson.dumps(clock)))

    def _publish(self, message: Message) -> None:
        """Queue a message for everybody, or for its user's streams."""
        of_user = message.user is not None
        readers = self._by_user.get(message.user or "", ()) if of_user else self._subscriptions
        for subscription in list(readers):
            if not subscription.offer(message):
                self.unsubscribe(subscription)


def _is_public(row: ReadingRow, kinds: Kinds) -> bool:
    return row.kind not in kinds or kinds[row.kind].public


_ROWS = select(
    OutboxRow.id, OutboxRow.kind, OutboxRow.body, OutboxRow.user, OutboxRow.traceparent,
    OutboxRow.created_ms,
)  # fmt: skip


def _resumed(position: int, user: str | None) -> Select[Any]:
    """Announcements to everybody and to one user; two walks of one index each."""
    row = OutboxRow
    to_all = _ROWS.where(row.user.is_(None), row.kind != NOTICE, row.id > position)
    if user is None:
        return to_all.order_by(row.id).limit(PAGE)
    own = _ROWS.where(row.user == user, row.id > position)
    walks = [walk.order_by(row.id).limit(PAGE).subquery() for walk in (to_all, own)]
    both = union_all(*(select(walk) for walk in walks)).subquery()
    return select(both).order_by(both.c.id).limit(PAGE)


def _message(row: Any) -> Message:
    """An announcement of `_ROWS`, with the id of its trace where it has one; a notice is never for
    everybody."""
    to = row.body["user"] if row.kind == NOTICE else row.user
    body = row.body
    if row.traceparent is not None:
        body = {**body, "trace": telemetry.id_of(row.traceparent)}
    return Message(row.kind, orjson.dumps(body), row.id, to)
