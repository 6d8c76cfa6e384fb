"""Sending changes to the addresses of subscriptions: each once, in order, and with patience.

A subscription waits for nobody else, and its changes for each other: what comes next is sent when
what came before has been taken, or given up and put among the undelivered. How far each has come is
kept after every few; what a crash of ours makes it send twice has the same `webhook-id`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson
from prometheus_client import Counter
from sqlalchemy import Engine, delete
from sqlalchemy.orm import Session

from citywise.backend import telemetry
from citywise.backend.ingest import log
from citywise.backend.kinds.installed import KnownKinds
from citywise.backend.ngsi import entities
from citywise.backend.ngsi.entities import Entity
from citywise.backend.ngsi.subscribing import Notifications
from citywise.backend.outgoing import signing, subscriptions
from citywise.backend.outgoing.changes import Change, since
from citywise.backend.outgoing.measured import Measured
from citywise.backend.outgoing.measured import since as readings_since
from citywise.backend.outgoing.posting import AddressError, Line, PostError, Target
from citywise.backend.outgoing.pushing import GONE, Pushes, Sending
from citywise.backend.outgoing.retries import Retries
from citywise.backend.outgoing.subscriptions import LOG_POSITION, PUSH, Subscription
from citywise.backend.settings import Webhooks
from citywise.backend.store import outbox
from citywise.backend.store.models import PlaceRow, SubscriptionRow, UndeliveredRow
from citywise.backend.times import wall_ms

LOG = logging.getLogger("citywise.webhooks")
REFRESH_S = 1.0
KEEP_S = 5.0
"""How often it is written how far a receiver is that fails again and again."""
PAGE = 200
"""Announcements that are looked at in one go, before it is kept how far it is."""
_LAST_S = 3.0
_MARGIN = 3
"""A post that takes so many times as long as it may is broken off."""
POSTED = Counter("citywise_webhooks_posted", "Messages that receivers took")
FAILED = Counter("citywise_webhooks_failed", "Posts that failed, and are tried again")
GIVEN_UP = Counter("citywise_webhooks_given_up", "Messages that were given up")


@dataclass
class _Receiver:
    """A subscription at work."""

    about: Subscription
    line: Line
    retries: Retries
    position: int
    work: Future[None] | None = None
    sent: int = 0
    """Not yet added to what is kept."""
    has_letters: bool = False
    """Whether something is to be sent again."""
    ahead: deque[Change | Measured] = field(default_factory=deque)
    """What was read and is to be sent next."""
    notifications: Notifications | None = None
    """Of a subscription of NGSI-LD."""
    pushes: Pushes | None = None
    """Of a browser."""
    observed: frozenset[str] = frozenset()
    """Kinds of readings that it is for."""
    log_position: int = 0
    """Up to where readings were dealt with, where it is for some."""
    log_read: int = 0
    """Up to where they were read."""
    noted_at: float = 0.0
    """When it was last written how far it is (monotonic seconds)."""

    def passed(self) -> None:
        """Go on after what comes next."""
        change = self.ahead.popleft()
        if isinstance(change, Change):
            self.position = change.id
        elif not self.ahead:  # within a record it would begin again with its first
            self.log_position = self.log_read

    @property
    def log_place(self) -> int | None:
        """How far it is in the log; None where it is for no readings."""
        return None if self.notifications is None else self.log_position

    def go_on_from(self, other: _Receiver) -> None:
        """Be as far as the one in whose place it comes."""
        self.position = max(self.position, other.position)
        self.log_position = self.log_read = max(self.log_position, other.log_position)
        self.sent = other.sent

    def has_moved(self) -> bool:
        """Whether it is so much further than is kept that it is worth being written."""
        kept = int(self.about.extra.get(LOG_POSITION, self.log_position))
        return self.position - self.about.position >= PAGE or self.log_position > kept


class Sender:
    """All subscriptions; `step` gives those work that have something to send."""

    def __init__(
        self,
        engine: Engine,
        settings: Webhooks,
        outlast_s: float,
        location: Path | None = None,
        push: Sending | None = None,
    ) -> None:
        """`outlast_s`: how long announcements are kept; half of it is as long as is tried.
        `location`: the folder of the log, for subscriptions to readings; `push`: for those of
        browsers."""
        self._engine, self._settings, self._location = engine, settings, location
        self._known, self._push = KnownKinds(), push
        self._give_up_ms = round(1000 * min(settings.give_up_hours * 3600, outlast_s / 2))
        self._receivers: dict[str, _Receiver] = {}
        self._pool = ThreadPoolExecutor(settings.workers, "webhooks")
        self._refresh_at = 0.0
        self._stopping = threading.Event()

    @property
    def count(self) -> int:
        """How many subscriptions there are."""
        return len(self._receivers)

    @property
    def failing(self) -> int:
        """How many of them failed last."""
        return sum(one.retries.failures > 0 for one in self._receivers.values())

    def close(self) -> None:
        """End; what is under way may take a moment, then it is broken off."""
        self._stopping.set()
        under_way = {one.work for one in self._receivers.values() if one.work is not None}
        wait(under_way, _LAST_S)
        for one in list(self._receivers.values()):
            one.line.break_off()
        self._pool.shutdown(wait=True)
        for one in self._receivers.values():
            self._keep(one)
            one.line.close()

    def step(self) -> bool:
        """Give work to whoever has some; False where nobody has."""
        now = time.monotonic()
        if now >= self._refresh_at:
            self._refresh_at = now + REFRESH_S
            self._refresh()
        if not self._receivers:
            return False
        with self._engine.connect() as connection:
            newest = outbox.newest(connection)
        end = 0
        if self._location is not None and any(one.observed for one in self._receivers.values()):
            end = log.durable_end(self._location)
        found = False
        for one in self._receivers.values():
            if one.work is not None and not one.work.done():
                self._watch(one, now)
                found = True
            elif one.retries.due <= now and (
                one.position < newest
                or one.has_letters
                or one.ahead
                or (one.observed and one.log_position < end)
            ):
                if one.work is not None and (error := one.work.exception()) is not None:
                    LOG.error("subscription %s: %s", one.about.id, error, exc_info=error)
                    one.retries.failed(now)
                    one.work = None
                    continue
                one.work = self._pool.submit(self._work, one)
                found = True
        return found

    def _watch(self, one: _Receiver, now: float) -> None:
        began = one.line.since
        if began is not None and now - began > _MARGIN * self._settings.timeout_s:
            one.line.break_off()

    def _refresh(self) -> None:
        """Subscriptions come, change and go."""
        with self._engine.connect() as connection:
            wanted = {one.id: one for one in subscriptions.active(connection)}
            again = subscriptions.to_send_again(connection)
            kinds = self._known.read(connection)
        for name in self._receivers.keys() - wanted.keys():
            one = self._receivers.pop(name)
            if one.work is None or one.work.done():
                self._keep(one)
                one.line.close()
            one.line.break_off()
        for name, about in wanted.items():
            known = self._receivers.get(name)
            if known is None or _differs(known.about, about):
                if known is not None and known.work is not None and not known.work.done():
                    continue  # the next time
                self._receivers.pop(name, None)
                self._begin(about)
                if known is not None:
                    known.line.close()
                    if name in self._receivers:
                        self._receivers[name].go_on_from(known)
            known = self._receivers.get(name)
            if known is not None:
                known.has_letters = name in again
                if known.notifications is not None:
                    known.observed = known.notifications.observed(kinds)

    def _begin(self, about: Subscription) -> None:
        limits = self._settings
        try:
            target = Target.of(about.url, limits.allow)
        except AddressError as error:
            if about.error != str(error):
                self._note(about.id, error=str(error), failure_ms=wall_ms())
            return
        retries = Retries(limits.first_retry_s, limits.longest_retry_s)
        line = Line(target, limits.timeout_s)
        one = _Receiver(about, line, retries, about.position)
        if about.form == "ngsi-ld":
            one.notifications = Notifications(about.id, about.extra)
            one.log_position = one.log_read = int(about.extra.get(LOG_POSITION, 0))
        if about.form == PUSH:
            if self._push is None:
                return
            try:
                one.pushes = Pushes(about, self._push)
            except (KeyError, ValueError) as error:  # what is damaged stops nobody else
                self._note(about.id, error=f"its keys cannot be used: {error}", is_active=False)
                return
        self._receivers[about.id] = one

    # -- a worker's thread ------------------------------------------------------------

    def _work(self, one: _Receiver) -> None:
        """Send what comes next, up to the first failure."""
        try:
            self._send_letters(one)
            self._send_changes(one)
            one.retries.succeeded()
            self._keep(one)
        except PostError as error:
            FAILED.inc()
            now = time.monotonic()
            one.retries.failed(now, error.wait_s)
            if one.pushes is not None and error.status in GONE:
                with self._engine.begin() as connection:
                    subscriptions.remove(connection, one.about.account, one.about.id)
            elif error.is_gone or now - one.noted_at > KEEP_S:
                self._keep(one, str(error), is_gone=error.is_gone)

    def _send_changes(self, one: _Receiver) -> None:
        if not one.ahead:
            self._read_ahead(one)
        while one.ahead and not self._stopping.is_set():
            change = one.ahead[0]
            for number, body in self._messages(one, change):
                try:
                    with _traced(one, change) as marks:
                        self._post(one, number, body, marks)
                except PostError as error:
                    if wall_ms() - change.created_ms > self._give_up_ms:
                        self._give_up(one, str(error))
                    raise
            one.passed()

    def _read_ahead(self, one: _Receiver) -> None:
        """Announcements, and where there are none, readings if it is for some."""
        with self._engine.connect() as connection:
            newest = outbox.newest(connection)  # first: what comes meanwhile is not skipped
            one.ahead.extend(since(connection, one.position, PAGE, one.about.account))
            if one.ahead:
                return
            one.position = max(one.position, newest)
        if self._location is not None and one.observed:
            found, one.log_read = readings_since(self._location, one.log_position, one.observed)
            one.ahead.extend(found)
            if not found:
                one.log_position = one.log_read

    def _messages(
        self, one: _Receiver, change: Change | Measured
    ) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """What is told of a change; nothing where the subscription is not for it."""
        if one.pushes is not None:
            with self._engine.connect() as connection:
                told = one.pushes.told(connection, change) if isinstance(change, Change) else None
            if told is not None:
                yield change.id, told
            return
        if one.notifications is None:
            if isinstance(change, Change) and one.about.filter.fits(change, one.about.account):
                yield change.id, change.to_json()
            return
        if isinstance(change, Change) and change.user is not None:
            return
        try:
            told = one.notifications.of(self._entities(change), change.id)
        except Exception:  # a fault of ours costs this change, and none that comes after it
            LOG.exception("subscription %s: change %d cannot be told", one.about.id, change.id)
            return
        if told is not None:
            yield change.id, told

    def _entities(self, change: Change | Measured) -> list[Entity]:
        if isinstance(change, Change):
            return [entities.event(change.body, None)]
        with Session(self._engine) as session:
            kinds = self._known.read(session.connection())
            place = session.get(PlaceRow, change.sensor)
        at = place.body if place is not None else None
        kind = kinds[change.kind]
        return list(entities.readings(kind, change.sensor, change.at_ms, change.values, at))

    def _post(
        self,
        one: _Receiver,
        number: int,
        body: Mapping[str, Any],
        trace: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        if one.pushes is not None:
            head, payload = one.pushes.sealed(body)
            one.line.post(payload, head)
            self._taken(one)
            return
        identity = f"{one.about.id}.{number}"
        form = {"Content-Type": "application/json"}
        if one.notifications is not None:
            form, payload = one.notifications.headers(), orjson.dumps(body)
        else:
            payload = orjson.dumps({"id": identity, "subscription": one.about.id, **body})
        marks = signing.headers(one.about.secret, identity, int(time.time()), payload)
        one.line.post(payload, {"User-Agent": "citywise", **form, **trace, **marks})
        self._taken(one)

    @staticmethod
    def _taken(one: _Receiver) -> None:
        one.retries.succeeded()
        one.sent += 1
        POSTED.inc()

    def _give_up(self, one: _Receiver, why: str) -> None:
        """Put what has been tried for long enough among the undelivered, and go on after it."""
        oldest = wall_ms() - self._give_up_ms
        over = list(takewhile(lambda change: change.created_ms < oldest, one.ahead))
        buried = [message for change in over for message in self._messages(one, change)]
        with self._engine.begin() as connection:
            if one.pushes is None:  # an alert that nobody was shown in time is not shown later
                subscriptions.bury(connection, one.about, buried, why)
            for _ in over:
                one.passed()
            subscriptions.keep(connection, one.about.id, one.log_place, position=one.position)
        GIVEN_UP.inc(len(buried))

    def _send_letters(self, one: _Receiver) -> None:
        """What somebody wants sent again."""
        with self._engine.connect() as connection:
            rows = subscriptions.undelivered(connection, one.about.id, PAGE, due=True)
        for row in rows:
            try:
                self._post(one, row.number, row.body)
            except PostError as error:  # what comes after it is not to wait for it
                with self._engine.begin() as connection:
                    subscriptions.put_back(connection, row.id, str(error))
                raise
            with self._engine.begin() as connection:
                connection.execute(delete(UndeliveredRow).where(UndeliveredRow.id == row.id))
        one.has_letters = len(rows) == PAGE

    def _keep(self, one: _Receiver, error: str | None = None, *, is_gone: bool = False) -> None:
        """Note how far it is, where that is news."""
        values: dict[str, Any] = {}
        if one.sent:
            values |= {"sent": SubscriptionRow.sent + one.sent, "success_ms": wall_ms()}
        if error is not None:
            values |= {"error": error[:500], "failure_ms": wall_ms()}
            LOG.warning("subscription %s: %s", one.about.id, error)
        elif one.about.error is not None and one.sent:
            values["error"] = None
        if is_gone:
            values["is_active"] = False
        if values or one.has_moved():
            self._note(one.about.id, one.log_place, position=one.position, **values)
            one.sent, one.noted_at = 0, time.monotonic()
            extra = {**one.about.extra, LOG_POSITION: one.log_position}
            one.about = replace(one.about, position=one.position, extra=extra, error=error)

    def _note(self, identity: str, log_position: int | None = None, **values: Any) -> None:
        with self._engine.begin() as connection:
            subscriptions.keep(connection, identity, log_position, **values)


@contextmanager
def _traced(one: _Receiver, change: Change | Measured) -> Iterator[dict[str, str]]:
    """A stage of a change's trace, from its commit until the receiver has taken it or not; what the
    receiver is told of it."""
    parent = change.traceparent if isinstance(change, Change) else None
    stage = None
    if parent is not None and telemetry.is_on():
        told: telemetry.Attributes = {
            "citywise.announcement": change.id,
            "citywise.subscription": one.about.id,
        }
        stage = telemetry.begun("tell a webhook", change.created_ms * 1_000_000, parent, told)
    if stage is None:
        yield {}
        return
    error = None
    try:
        yield {"traceparent": stage.traceparent}
    except PostError as failure:
        error = str(failure)
        raise
    finally:
        stage.end(time.time_ns(), error)


def _differs(one: Subscription, other: Subscription) -> bool:
    """Whether somebody has changed a subscription."""

    def said(of: Subscription) -> tuple[Any, ...]:
        more = {name: value for name, value in of.extra.items() if name != LOG_POSITION}
        return of.url, of.secret, of.filter, more

    return said(one) != said(other)
