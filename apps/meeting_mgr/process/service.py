"""The app's own process: it hears readings, concludes what people can do, and proposes agendas.

What is heard stays in memory (docs/decisions/meeting-readings.md); a process that is started
again goes on from what was concluded.
"""

from __future__ import annotations

import logging
import threading
import time

from sqlalchemy import Engine

from citywise.apps.meeting_mgr import reminders, store
from citywise.apps.meeting_mgr.model import APP
from citywise.apps.meeting_mgr.process import again, deliveries
from citywise.apps.meeting_mgr.process.faults import tell
from citywise.apps.meeting_mgr.process.inbox import Inbox
from citywise.apps.meeting_mgr.process.reasoner import Reasoner
from citywise.backend.app import CitywiseError, Settings, beat, handing, outbox, times

LOG = logging.getLogger("citywise.meeting_mgr")
POLL_S = 0.05
"""How long readings and changes are gathered before something is concluded from them."""
TRIM_S = 600.0
REMIND_S = 1.0
_BEAT_S = 1.0
_RETRY_S = 1.0


def serve(settings: Settings, engine: Engine, stop: threading.Event) -> None:
    """Serve meetings until `stop` is set; the heartbeat `meeting_mgr` says how it fares."""
    Service(settings, engine, stop).run()


class Service:
    """Connects the broker, the reasoner and the clock."""

    def __init__(self, settings: Settings, engine: Engine, stop: threading.Event) -> None:
        self._engine = engine
        self._settings = settings
        self._stop = stop
        self._inbox = Inbox(settings)
        self._reasoner: Reasoner | None = None
        self._lacks: str | None = None
        self._fails_with: type[Exception] | None = None
        self._beat_at = 0.0
        self._trim_at = self._remind_at = time.monotonic()

    def run(self) -> None:
        """Work until stopped; what fails is tried again."""
        threads = [
            threading.Thread(target=self._listen, name="inbox"),
            threading.Thread(target=self._tell_hooks, name="hooks"),
        ]
        for thread in threads:
            thread.start()
        while not self._stop.wait(POLL_S):
            try:
                self._step()
                self._fails_with = None
            except Exception as error:  # noqa: BLE001 - tried again, and said once
                if type(error) is not self._fails_with:
                    tell("a step", error)
                self._fails_with = type(error)
                self._stop.wait(_RETRY_S)
        for thread in threads:
            thread.join()
        self._inbox.close()
        if self._reasoner is not None:
            self._reasoner.close()

    def _step(self) -> None:
        heard = self._inbox.take()  # before the outbox: who joined since may have sent already
        if self._reasoner is None:
            self._reasoner = Reasoner(self._settings, self._engine)
        self._reasoner.step(heard, times.wall_ms())
        now = time.monotonic()
        if now >= self._remind_at:
            self._remind_at = now + REMIND_S
            self._remind()
            self._repeat()
        if now >= self._trim_at:
            self._trim_at = now + TRIM_S
            self._trim()
        if now >= self._beat_at:
            self._beat_at = now + _BEAT_S
            self._beat(self._reasoner)

    def _listen(self) -> None:
        """Connect as soon as there is a broker; from then on the connection mends itself."""
        while not self._stop.is_set():
            try:
                self._inbox.open()
                self._lacks = None
                return
            except CitywiseError as error:
                self._lack(str(error))
            except OSError as error:
                broker = self._settings.broker
                self._lack(f"no broker answers at {broker.host}:{broker.port}: {error}")
            except Exception as error:  # noqa: BLE001 - tried again, and said once
                if self._lacks is None:
                    tell("connecting to the broker", error)
                self._lacks = f"the broker cannot be used: {type(error).__name__}"
            self._stop.wait(_RETRY_S)

    def _lack(self, what: str) -> None:
        if self._lacks is None:
            LOG.warning("no readings come: %s; trying again", what)
        self._lacks = what

    def _tell_hooks(self) -> None:
        deliveries.serve(self._settings, self._engine, self._stop)

    def _remind(self) -> None:
        """Have those reminded of whose meetings it is time."""
        now_ms = times.wall_ms()
        with self._engine.connect() as connection:
            if not reminders.is_due(connection, now_ms):
                return
        boxes, writes = store.boxes_of(self._settings), self._settings.writes_to_people
        with self._engine.begin() as connection:
            outbox.begin(connection)
            reminders.remind(connection, boxes, now_ms, writes=writes)

    def _repeat(self) -> None:
        """Make the meetings that are again, after those that are over."""
        now_ms = times.wall_ms()
        with self._engine.connect() as connection:
            if not store.to_follow(connection, now_ms, 1):
                return
        boxes = store.boxes_of(self._settings)
        with self._engine.begin() as connection:
            outbox.begin(connection)
            again.make_due(connection, boxes, now_ms)

    def _trim(self) -> None:
        with self._engine.begin() as connection:
            outbox.begin(connection)
            removed = store.trim(connection, store.boxes_of(self._settings), times.wall_ms())
        if removed:
            handing.tell_broker(self._engine, self._settings)

    def _beat(self, reasoner: Reasoner) -> None:
        detail = {
            "connected": self._inbox.is_connected,
            "meetings": reasoner.meetings,
            "people": reasoner.people,
            **{kind: reasoner.counts[kind] for kind in ("heard", "unknown", "refused")},
            "lost": self._inbox.lost,
            "lacks": self._lacks or self._inbox.refusal,
        }
        with self._engine.begin() as connection:
            beat(connection, APP, detail)
