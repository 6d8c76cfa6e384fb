"""Alerts from the outbox to the devices of their users, over MQTT; none waits for another."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from prometheus_client import Counter
from sqlalchemy import Connection, Engine, delete, func, select

from citywise.backend import telemetry
from citywise.backend.notices.announcing import NOTICE
from citywise.backend.notices.listeners import wishes_of
from citywise.backend.notices.receivers import WINDOW, Receiver, Said, behind, for_devices, reset
from citywise.backend.people import tokens
from citywise.backend.store import outbox
from citywise.backend.store.chunks import chunks
from citywise.backend.store.models import OutboxRow, ReceiverRow
from citywise.backend.store.upsert import upsert

REFRESH_S = 2.0
KEEP_S = 1.0
ADVANCE_S = 600.0
"""How often devices with nothing under way are noted to be up to date: announcements they
were not to have are trimmed meanwhile."""
PAGE = 2_000
_AT_ONCE = 2 * WINDOW
RIGHTS = frozenset({"notices", "all"})
SENT = Counter("citywise_notices_sent", "Messages to devices")
Publish = Callable[[str, bytes], object]
"""Sends a payload to the topic `notices/<user>/<device>` (the first argument, without prefix)."""


class Delivery:
    """The devices that are sent notices, and how far each has come."""

    def __init__(self, engine: Engine, publish: Publish) -> None:
        self._engine = engine
        self._publish = publish
        self._receivers: dict[str, Receiver] = {}
        self._by_user: dict[str, list[Receiver]] = {}
        self._said: dict[str, Said] = {}
        self._lock = threading.Lock()
        self.heard = threading.Event()
        self._position = 0
        self._oldest = self._newest = 0
        self._refresh_at = self._keep_at = 0.0
        self._advance_at = time.monotonic() + ADVANCE_S
        self.sent = 0
        """Messages sent since the start."""

    @property
    def receivers(self) -> int:
        """How many devices there are."""
        return len(self._receivers)

    @property
    def behind(self) -> int:
        """How many are sent nothing until they say that they have what they were sent."""
        return behind(self._receivers.values())

    def hear(self, user: str, device: str, payload: bytes) -> None:
        """Note what a device says; called in another thread."""
        said, receiver = Said.of(payload), self._receivers.get(device)
        if said is not None and receiver is not None and receiver.user == user:
            with self._lock:
                self._said[device] = said.with_earlier(self._said.get(device))
            self.heard.set()

    def reconnected(self) -> None:
        """The broker was away: what it had not delivered may be lost."""
        for receiver in list(self._receivers.values()):
            receiver.turns_back = True

    def step(self, most: int) -> int:
        """Send up to about `most` messages; returns how many."""
        now = time.monotonic()
        if now >= self._refresh_at:
            self._refresh_at = now + REFRESH_S
            self._refresh()
        with self._engine.connect() as connection:
            self._look(connection)
            self._heed(now)
            before = self.sent
            self._send(connection, most)
        if now >= self._keep_at:
            self._keep_at = now + KEEP_S
            self._keep(now)
        SENT.inc(self.sent - before)
        return self.sent - before

    # -- who there is ---------------------------------------------------------------

    def _refresh(self) -> None:
        """Devices come and go, with their tokens and their users' wishes."""
        with self._engine.begin() as connection:
            wanted = _devices(connection)
            newest, self._oldest = _ends(connection)
            self._newest = newest
            if not self._receivers:
                self._position = newest
            known = {row.device: row.seen for row in connection.execute(select(_ROWS))}
            for some in chunks(known.keys() - wanted.keys()):
                connection.execute(delete(ReceiverRow).where(ReceiverRow.device.in_(some)))
            new = [device for device in wanted if device not in known]
            rows = [{"device": d, "user": wanted[d], "seen": newest} for d in new]
            upsert(connection, ReceiverRow, rows, update=False)
        for device in self._receivers.keys() - wanted.keys():
            del self._receivers[device]
        for device in wanted.keys() - self._receivers.keys():
            seen = known.get(device, newest)
            self._receivers[device] = Receiver.at(device, wanted[device], seen)
        self._by_user = {}
        for receiver in self._receivers.values():
            self._by_user.setdefault(receiver.user, []).append(receiver)

    def _heed(self, now: float) -> None:
        self.heard.clear()
        with self._lock:
            said, self._said = self._said, {}
        for device, words in said.items():
            if device in self._receivers:
                self._receivers[device].hear(words)
        for receiver in self._receivers.values():
            receiver.turn_back(now)

    # -- what there is for them -----------------------------------------------------

    def _look(self, connection: Connection) -> None:
        """Whom what is new in the outbox concerns."""
        if not self._receivers:
            return
        query = select(OutboxRow.id, OutboxRow.user).where(OutboxRow.id > self._position)
        for number, user in connection.execute(query.order_by(OutboxRow.id).limit(PAGE)):
            self._position = number
            self._newest = max(self._newest, number)
            for receiver in self._by_user.get(user or "", ()):
                receiver.concerned(number)

    def _send(self, connection: Connection, most: int) -> None:
        """In turns, so that who has much to come holds nobody up."""
        waiting = [receiver for receiver in self._receivers.values() if receiver.is_ready]
        for receiver in waiting:
            if most <= 0:
                return
            most -= self._send_to(connection, receiver)
            self._receivers[receiver.device] = self._receivers.pop(receiver.device)

    def _send_to(self, connection: Connection, receiver: Receiver) -> int:
        """What comes next for one device; returns how many messages that were."""
        newest = self._position
        if receiver.position < self._oldest - 1 or receiver.position > self._newest:
            receiver.begin_at(newest)
            self._publish(_topic(receiver), reset(newest))
            return 1
        if receiver.position > newest:  # a new device; the others are not as far
            return 0
        before = self.sent
        rows = connection.execute(_next(receiver, newest)).all()
        for number, body, traceparent, created_ms in rows:
            receiver.position = number
            if for_devices(body):
                self._publish(_topic(receiver), receiver.payload(number, body))
                self.sent += 1
                telemetry.told("tell a device", number, traceparent, created_ms)
            if receiver.room <= 0:
                return self.sent - before
        if len(rows) < _AT_ONCE:
            receiver.position, receiver.is_pending = newest, False
        return self.sent - before

    # -- how far they are -----------------------------------------------------------

    def _keep(self, now: float) -> None:
        if now >= self._advance_at:
            self._advance_at = now + ADVANCE_S
            for receiver in self._receivers.values():
                if not receiver.is_pending:
                    receiver.advance(self._position)
        dirty = [receiver for receiver in self._receivers.values() if receiver.is_dirty]
        if not dirty:
            return
        rows = [{"device": r.device, "user": r.user, "seen": r.seen} for r in dirty]
        with self._engine.begin() as connection:
            upsert(connection, ReceiverRow, rows)
        for receiver in dirty:
            receiver.is_dirty = False


_ROWS = ReceiverRow.__table__


def _devices(connection: Connection) -> dict[str, str]:
    """The devices that are to be sent notices, and whose they are."""
    found = {t.id: t.account for t, _ in tokens.valid(connection) if t.rights & RIGHTS}
    wishes = wishes_of(connection, found.values())
    deaf = {user for user, said in wishes.items() if not said.channels.mqtt}
    return {device: user for device, user in found.items() if user not in deaf}


def _ends(connection: Connection) -> tuple[int, int]:
    """Ids of the newest and the oldest announcement that is kept; newest + 1 without any."""
    newest = outbox.newest(connection)
    return newest, connection.scalar(select(func.min(OutboxRow.id))) or newest + 1


def _next(receiver: Receiver, newest: int) -> Any:
    """What its user was told since, up to what has been looked at."""
    row = OutboxRow
    mine = (row.user == receiver.user, row.kind == NOTICE)
    between = (row.id > receiver.position, row.id <= newest)
    found = select(row.id, row.body, row.traceparent, row.created_ms).where(*mine, *between)
    return found.order_by(row.id).limit(_AT_ONCE)


def _topic(receiver: Receiver) -> str:
    return f"notices/{receiver.user}/{receiver.device}"
