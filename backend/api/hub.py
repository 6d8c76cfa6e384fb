"""One tailer of the outbox, fanned out to every open event stream.

Threads here become greenlets under gunicorn's gevent worker, which patches `threading`.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Engine, func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from backend.api import clocks
from backend.api.objects import reading_object
from backend.notices.book import NOTICE
from backend.store.models import OutboxRow, ReadingRow
from backend.times import iso

POLL_S = 0.06
READINGS_EVERY_S = 0.25
CLOCK_EVERY_S = 1.0
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
        head = b"" if self.id is None else b"id: %d\n" % self.id
        return b"%sevent: %s\ndata: %s\n\n" % (head, self.event.encode(), self.data)


class Subscription:
    """The queue of one client. `on_drop` is called once if the client is given up; `user`
    is whose notices it gets."""

    def __init__(
        self, on_drop: Callable[[], None], backlog: int = BACKLOG, user: str | None = None
    ) -> None:
        self._queue: queue.Queue[Message | None] = queue.Queue(backlog)
        self._on_drop = on_drop
        self._user = user
        self._closed = False

    def wants(self, message: Message) -> bool:
        """Whether a message is for this client: the one place that says who sees whose."""
        return message.user is None or message.user == self._user

    def is_closed(self) -> bool:
        """Whether the stream is to end."""
        return self._closed

    def offer(self, message: Message) -> bool:
        """Queue a message; False, and the client is dropped, if it is too far behind."""
        try:
            self._queue.put_nowait(message)
        except queue.Full:
            self.close()
            self._on_drop()
            return False
        return True

    def close(self) -> None:
        """End the client's stream."""
        self._closed = True
        with contextlib.suppress(queue.Full):  # Then the reader is not waiting for it.
            self._queue.put_nowait(None)

    def take(self, timeout_s: float) -> list[Message]:
        """All messages waiting; empty after `timeout_s` without any."""
        taken: list[Message | None] = []
        try:
            taken.append(self._queue.get(timeout=timeout_s))
            while len(taken) < PAGE:
                taken.append(self._queue.get_nowait())
        except queue.Empty:
            pass
        return [message for message in taken if message is not None]


class Hub:
    """Follows the outbox, the readings and the clock while anybody listens."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._awake = threading.Event()
        self._subscriptions: set[Subscription] = set()
        self._thread: threading.Thread | None = None
        self.closed = False
        self._position = 0
        self._change = 0
        self._readings_at = 0.0
        self._clock_at = 0.0
        self._clock: dict[str, Any] = {}

    @property
    def clients(self) -> int:
        """How many streams are open."""
        return len(self._subscriptions)

    def newest(self) -> int:
        """The id of the last announcement, 0 if there is none."""
        with self._engine.connect() as connection:
            return connection.execute(select(func.max(OutboxRow.id))).scalar_one() or 0

    def oldest(self) -> int | None:
        """The id of the first announcement that is still kept."""
        with self._engine.connect() as connection:
            return connection.execute(select(func.min(OutboxRow.id))).scalar_one()

    def after(self, position: int) -> list[Message]:
        """Up to `PAGE` announcements after `position`, in order."""
        query = (
            select(OutboxRow.id, OutboxRow.kind, OutboxRow.body)
            .where(OutboxRow.id > position)
            .order_by(OutboxRow.id)
            .limit(PAGE)
        )
        with self._engine.connect() as connection:
            return [
                Message(kind, orjson.dumps(body), number, body["user"] if kind == NOTICE else None)
                for number, kind, body in connection.execute(query)
            ]

    def subscribe(
        self, on_drop: Callable[[], None], backlog: int = BACKLOG, user: str | None = None
    ) -> Subscription:
        """Open a queue that gets every announcement later than this call, of the notices
        only those to `user`."""
        subscription = Subscription(on_drop, backlog, user)
        with self._lock:
            if not self._subscriptions:
                self._catch_up()
            self._subscriptions.add(subscription)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="tailer", daemon=True)
                self._thread.start()
        self._awake.set()
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Forget a queue."""
        with self._lock:
            self._subscriptions.discard(subscription)
            if not self._subscriptions:
                self._awake.clear()

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
        messages = self.after(self._position)
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
        return len(messages) == PAGE

    def _poll_readings(self) -> None:
        query = select(ReadingRow).where(ReadingRow.change > self._change)
        with Session(self._engine) as session:
            rows = session.scalars(query).all()
            if not rows:
                return
            now_ms = clocks.read(session).now_ms
            self._change = max(row.change for row in rows)
            readings = [reading_object(row) for row in rows]
        body = {"now": iso(now_ms), "readings": readings}
        self._publish(Message("readings", orjson.dumps(body)))

    def _poll_clock(self) -> None:
        with self._engine.connect() as connection:
            clock = clocks.read(connection).as_json()
        if clock != self._clock:
            self._clock = clock
            self._publish(Message("clock", orjson.dumps(clock)))

    def _publish(self, message: Message) -> None:
        for subscription in list(self._subscriptions):
            if subscription.wants(message) and not subscription.offer(message):
                self.unsubscribe(subscription)
