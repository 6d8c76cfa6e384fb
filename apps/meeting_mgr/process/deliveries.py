"""Tells other conference systems what changes in their meetings, as the outbox says it.

Each message holds how it is when it is sent, also in a later attempt: nothing is told that
somebody has taken back, and what was missed (while the process was away) the next makes up for.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, Engine, select

from citywise.apps.meeting_mgr import settings as configured
from citywise.apps.meeting_mgr import store
from citywise.apps.meeting_mgr.conferences import conference, hooks
from citywise.apps.meeting_mgr.conferences.hooks import HookError, Message, Outcome
from citywise.apps.meeting_mgr.process.faults import PASSING, tell
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.telling import MEETING, host_channel
from citywise.backend.app import Settings, outbox, times

LOG = logging.getLogger("citywise.meeting_mgr.hooks")
POLL_S = 0.2
RETRY_S = 2.0
WORKERS = 4
MOST_WAITING = 200
"""Messages of one meeting; beyond, the oldest are given up."""
BACKOFF_MS = (1_000, 2_000, 4_000, 8_000, 16_000)
_BATCH = 500
_HOSTS = host_channel("")


class News(NamedTuple):
    """An announcement to a meeting's host, and when it was made (wall time, Unix ms)."""

    id: int
    body: Mapping[str, Any]
    at_ms: int


@dataclass
class Queue:
    """What waits to be told of one meeting, in order."""

    waiting: deque[News] = field(default_factory=deque)
    attempts: int = 0
    """At the first of them that failed."""
    again_ms: int = 0
    sending: Future[Outcome] | None = None


Post = Callable[[Message, int], Outcome]


class Deliveries:
    """Follows the outbox from when it was made; `post` sends a message once."""

    def __init__(self, settings: Settings, engine: Engine, post: Post | None = None) -> None:
        self._settings = settings
        self._engine = engine
        self._post = post or partial(hooks.post, exempt=settings.fetching.allow)
        self._boxes = store.boxes_of(settings)
        self._pool = ThreadPoolExecutor(WORKERS, "meeting-hooks")
        self._queues: dict[str, Queue] = {}
        with engine.connect() as connection:
            self._cursor = outbox.newest(connection)

    def step(self, now_ms: int | None = None) -> int:
        """Take up what is new and send what is due; how many messages still wait."""
        at_ms = times.wall_ms() if now_ms is None else now_ms
        self._take_up()
        for meeting, queue in list(self._queues.items()):
            self._go_on(meeting, queue, at_ms)
            if not queue.waiting:
                del self._queues[meeting]
        return sum(len(queue.waiting) for queue in self._queues.values())

    def settle(self, seconds: float) -> None:
        """Wait until nothing is under way, for so long at most."""
        wait_for([one.sending for one in self._queues.values() if one.sending], seconds)

    def close(self) -> None:
        """Give up what still waits."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    # -- what is new --------------------------------------------------------------------------

    def _take_up(self) -> None:
        with self._engine.connect() as connection:
            newest = outbox.newest(connection)
            found = self._news(connection, newest)
            meetings = {one.body["meeting"] for one in found}
            told = {meeting for meeting in meetings if self._is_told(connection, meeting)}
        self._cursor = found[-1].id if len(found) == _BATCH else newest
        for one in found:
            if one.body["meeting"] in told:
                self._add(one)

    def _news(self, connection: Connection, newest: int) -> list[News]:
        """What hosts were told since the last time, in part where that is very much."""
        if newest == self._cursor:
            return []
        query = (
            select(outbox.OutboxRow.id, outbox.OutboxRow.body, outbox.OutboxRow.created_ms)
            .where(outbox.OutboxRow.id > self._cursor, outbox.OutboxRow.id <= newest)
            .where(outbox.OutboxRow.kind == MEETING)
            .where(outbox.OutboxRow.user.startswith(_HOSTS, autoescape=True))
            .order_by(outbox.OutboxRow.id)
            .limit(_BATCH)
        )
        return [News(*row) for row in connection.execute(query)]

    def _is_told(self, connection: Connection, meeting: str) -> bool:
        record = None
        with _guarded(meeting):
            record = self._record(connection, meeting)
        return record is not None

    def _record(self, connection: Connection, meeting: str) -> MeetingRecord | None:
        """A meeting of which another system is to be told."""
        record = store.find(connection, self._boxes, meeting)
        if record is None or record.meeting.hook is None:
            return None
        try:
            # What was allowed when the host wrote it may be so no longer.
            hooks.check(record.meeting.hook.url, configured.of(self._settings).webhooks)
        except HookError:
            return None
        return record

    def _message(self, meeting: str, news: News) -> Message | None:
        """What is to be told now; None: nothing (any more)."""
        with self._engine.connect() as connection:
            record = self._record(connection, meeting)
            if record is None or record.meeting.hook is None:
                return None
            people = store.people_of(connection, self._boxes, record)
        person = next((one for one in people if one.id == news.body.get("person")), None)
        for system in conference.of(record, configured.of(self._settings)):
            told = system.told(record, news.body["change"], person, news.at_ms)
            if told is not None:
                return Message(record.meeting.hook, str(news.id), orjson.dumps(told))
        return None

    def _add(self, news: News) -> None:
        queue = self._queues.setdefault(news.body["meeting"], Queue())
        queue.waiting.append(news)
        if len(queue.waiting) > MOST_WAITING:
            # The first may be under way.
            del queue.waiting[1]
            LOG.warning("too many messages of a meeting wait; the oldest is given up")

    # -- what is due --------------------------------------------------------------------------

    def _go_on(self, meeting: str, queue: Queue, now_ms: int) -> None:
        """Look what became of the message under way, and send the next; one after the other."""
        if queue.sending is not None and queue.sending.done():
            self._settle(queue, queue.sending, now_ms)
        # A clock that is set back lets nothing wait for longer than it would.
        queue.again_ms = min(queue.again_ms, now_ms + BACKOFF_MS[-1])
        while queue.sending is None and queue.waiting and now_ms >= queue.again_ms:
            message = None
            with _guarded(meeting):
                message = self._message(meeting, queue.waiting[0])
            if message is None:
                queue.waiting.popleft()
                queue.attempts = 0
            else:
                queue.sending = self._pool.submit(self._post, message, now_ms // 1000)

    def _settle(self, queue: Queue, sent: Future[Outcome], now_ms: int) -> None:
        queue.sending = None
        outcome: Outcome = "failed" if sent.exception() else sent.result()
        if outcome == "failed" and queue.attempts < len(BACKOFF_MS):
            queue.again_ms = now_ms + BACKOFF_MS[queue.attempts]
            queue.attempts += 1
            return
        if outcome != "taken":
            LOG.warning("message %s: %s; given up", queue.waiting[0].id, outcome)
        queue.waiting.popleft()
        queue.attempts = queue.again_ms = 0


@contextmanager
def _guarded(meeting: str) -> Iterator[None]:
    """What fails with one meeting is said, and stops no other."""
    try:
        yield
    except PASSING:
        raise
    except Exception as error:  # noqa: BLE001 - said, and its message given up
        tell(f"telling of meeting {meeting}", error)


def serve(settings: Settings, engine: Engine, stop: threading.Event) -> None:
    """Deliver until `stop` is set, if the operator allows any; what fails is tried again."""
    if not configured.of(settings).webhooks:
        return
    found: Deliveries | None = None
    while not stop.is_set():
        try:
            found = found or Deliveries(settings, engine)
            found.step()
            stop.wait(POLL_S)
        except Exception as error:  # noqa: BLE001 - tried again, and said
            tell("telling other systems", error)
            stop.wait(RETRY_S)
    if found is not None:
        found.close()
