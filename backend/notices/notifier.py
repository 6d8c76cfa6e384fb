"""The notifier process: reminders, alerts to devices, what leaves for other systems, history."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

import paho.mqtt.client as paho
from prometheus_client import Counter
from sqlalchemy import Engine

from citywise.backend import history
from citywise.backend.errors import CitywiseError
from citywise.backend.history import HistoryWriter
from citywise.backend.kinds import installed
from citywise.backend.mail.postman import Postman
from citywise.backend.mqtt_session import BrokerSession
from citywise.backend.network import certificates
from citywise.backend.notices.delivery import Delivery
from citywise.backend.notices.reminders import MOST, remind
from citywise.backend.operations import schedule
from citywise.backend.outgoing import web_push
from citywise.backend.outgoing.pushing import Sending
from citywise.backend.outgoing.topics import PATTERN, READERS, ROOM, EventTopics, ReadingTopics
from citywise.backend.outgoing.webhooks import Sender
from citywise.backend.people import logins
from citywise.backend.privacy import forgetting
from citywise.backend.settings import Settings
from citywise.backend.store import clocks, followers
from citywise.backend.store.heartbeat import beat

LOG = logging.getLogger("citywise.notifier")
CLIENT_ID = "notifier"
REMIND_S = 0.25
SWEEP_S = 1.0
TRIM_S = 600.0
RECORD_S = 1.0
"""History is behind by so much at least: the more it writes at once, the less others wait."""
_BEAT_S = 1.0
_IDLE_S = 0.05
_AGAIN_S = 1.0
OUTSTANDING = 2_000
"""Messages that the broker has not acknowledged."""
_IN_FLIGHT = 200
_TOPICS = ("notices/+/+/seen", PATTERN)
_ACKNOWLEDGED_S = 10.0
_SAID_S = 5.0
"""After a connection the broker has said by then what it retains."""
REMINDED = Counter("citywise_notices_due", "Alerts that had been held back and came due")


class NotifierService:
    """Reminds and delivers; `run` returns when `stop` is set.

    Reminders need no broker, devices no clock, and tidying up may take long: each is a thread of
    its own.
    """

    def __init__(self, settings: Settings, engine: Engine, stop: threading.Event) -> None:
        self._settings = settings
        self._engine = engine
        self._stop = stop
        self._on_the_way = 0
        self._counting = threading.Lock()
        self._delivery = Delivery(engine, self._publish)
        self._topics = EventTopics(engine, self._retain)
        self._readings = ReadingTopics(engine, settings.log_dir, self._send_all)
        outlast_s = settings.pipeline.trace_retention_hours * 3600
        contact = web_push.contact(settings.mail.sender, settings.web.public_url)
        push = Sending(certificates.folder_of(settings.data_dir), contact)
        self._sender = Sender(engine, settings.webhooks, outlast_s, settings.log_dir, push)
        self._postman = Postman(engine, settings, stop) if settings.writes_to_people else None
        self._session = BrokerSession(
            settings.broker,
            CLIENT_ID,
            _TOPICS,
            hear=self._hear,
            connected=self._connected,
            prepare=self._prepare,
            is_told=True,
        )
        self._reminded = 0
        self._swept_at = self._beaten_at = 0.0

    def run(self) -> None:
        """Work until stopped; the heartbeat `notifier` says how it fares."""
        others = [
            threading.Thread(target=self._deliver, name="delivery"),
            threading.Thread(target=self._tidy, name="tidying"),
            threading.Thread(target=self._record, name="history"),
            threading.Thread(target=self._post, name="webhooks"),
            threading.Thread(target=self._tell_events, name="topics"),
            threading.Thread(target=self._tell_readings, name="readings"),
            threading.Thread(target=self._write_letters, name="mail"),
        ]
        for thread in others:
            thread.start()
        while not self._stop.wait(REMIND_S):
            for duty in (self._remind, self._sweep, self._beat):
                try:
                    duty()
                except Exception:  # what one cannot do, the others do not wait for
                    LOG.exception("cannot do what is due; trying again")
                    self._stop.wait(_AGAIN_S)
        for thread in others:
            thread.join()

    def _now_ms(self) -> int:
        with self._engine.connect() as connection:
            return clocks.read(connection).now_ms

    def _remind(self) -> None:
        """Reminders that the stream's clock brings."""
        now_ms = self._now_ms()
        due = MOST
        while due == MOST and not self._stop.is_set():
            with self._engine.begin() as connection:
                due = remind(connection, now_ms)
            self._reminded += due
            REMINDED.inc(due)

    def _sweep(self) -> None:
        """What operators have planned for this time."""
        if time.monotonic() - self._swept_at >= SWEEP_S:
            self._swept_at = time.monotonic()
            schedule.sweep(self._engine, self._now_ms())

    def _beat(self) -> None:
        if time.monotonic() - self._beaten_at < _BEAT_S:
            return
        self._beaten_at = time.monotonic()
        detail = {
            "connected": self._session.is_connected,
            "reminded": self._reminded,
            "sent": self._delivery.sent,
            "devices": self._delivery.receivers,
            "devices_behind": self._delivery.behind,
            "subscriptions": self._sender.count,
            "subscriptions_failing": self._sender.failing,
            **({"mail_error": self._postman.error} if self._postman else {}),
        }
        with self._engine.begin() as connection:
            beat(connection, "notifier", detail)

    # -- the tidying thread -----------------------------------------------------------

    def _tidy(self) -> None:
        """Finish forgetting, which may wait for the database, and end logins."""
        trimmed_at = -TRIM_S
        while not self._stop.wait(SWEEP_S):
            try:
                forgetting.sweep(self._engine, self._settings)
                if time.monotonic() - trimmed_at >= TRIM_S:
                    trimmed_at = time.monotonic()
                    with self._engine.begin() as connection:
                        logins.trim(connection)
                        kinds = installed.read(connection)
                    history.trim(self._engine, kinds, self._settings.history, self._now_ms())
            except Exception:
                LOG.exception("cannot tidy up; trying again")
                self._stop.wait(_AGAIN_S)

    # -- the thread that writes history -----------------------------------------------

    def _record(self) -> None:
        """Keep what sensors say, as it comes in the log."""
        writer = HistoryWriter(self._engine, self._settings.log_dir, self._settings.history)
        wait_s = RECORD_S
        while not self._stop.wait(wait_s):
            try:
                wait_s = _IDLE_S if writer.step() else RECORD_S
            except Exception:
                LOG.exception("cannot write history; trying again")
                wait_s = _AGAIN_S

    # -- the threads of what goes to other systems ------------------------------------

    def _post(self) -> None:
        """Tell subscribers at their addresses."""
        wait_s = RECORD_S
        while not self._stop.wait(wait_s):
            try:
                wait_s = _IDLE_S if self._sender.step() else 2 * _IDLE_S
            except Exception:
                LOG.exception("cannot tell subscribers; trying again")
                wait_s = _AGAIN_S
        self._sender.close()

    def _write_letters(self) -> None:
        """Write to people by e-mail, where there is a mail server."""
        wait_s = RECORD_S
        while self._postman is not None and not self._stop.wait(wait_s):
            try:
                wait_s = _IDLE_S if self._postman.step() else RECORD_S
            except Exception:
                LOG.exception("cannot send letters; trying again")
                wait_s = _AGAIN_S

    def _tell_events(self) -> None:
        """Keep the topics of events as the events are."""
        tidy_at: float | None = None
        while not self._stop.wait(2 * _IDLE_S):
            if not self._session.is_connected:
                tidy_at = None
                continue
            tidy_at = time.monotonic() + _SAID_S if tidy_at is None else tidy_at
            try:
                while self._topics.step() and not self._stop.is_set():
                    pass
                if time.monotonic() >= tidy_at:
                    self._topics.tidy()
            except Exception:
                LOG.exception("cannot publish events; trying again")
                self._stop.wait(_AGAIN_S)

    def _tell_readings(self) -> None:
        """Pass on readings, where the operator wants it."""
        wants = self._settings.outgoing.readings
        while not self._stop.wait(2 * _IDLE_S):
            try:
                if not wants:
                    with self._engine.begin() as connection:
                        followers.forget(connection, READERS)
                    return
                while self._session.is_connected and self._readings.step():
                    if self._stop.is_set():
                        break
            except Exception:
                LOG.exception("cannot publish readings; trying again")
                self._stop.wait(_AGAIN_S)

    def _retain(self, topic: str, payload: bytes, is_retained: bool) -> None:
        """Publish what is told of an event; returns when the broker has it."""
        _see_taken(self._publish(topic, payload, retain=is_retained), topic)

    def _send_all(self, messages: Sequence[tuple[str, bytes]]) -> None:
        """Publish readings; returns when the broker has them."""
        sent = [(self._publish(*message), message[0]) for message in messages]
        for info, topic in sent:
            _see_taken(info, topic)

    # -- the delivering thread --------------------------------------------------------

    def _deliver(self) -> None:
        while not self._stop.is_set():
            try:
                self._step()
            except (CitywiseError, OSError) as error:
                LOG.warning("no broker: %s; trying again", error)
                self._stop.wait(_AGAIN_S)
            except Exception:
                LOG.exception("cannot deliver; trying again")
                self._stop.wait(_AGAIN_S)
        self._session.close()

    def _step(self) -> None:
        if not self._session.is_open:
            self._session.open()
        room = OUTSTANDING - self._on_the_way
        if not self._session.is_connected or room <= 0:
            self._stop.wait(_IDLE_S)
        elif not self._delivery.step(room):
            self._delivery.heard.wait(_IDLE_S)

    def _publish(self, topic: str, payload: bytes, *, retain: bool = False) -> paho.MQTTMessageInfo:
        with self._counting:
            self._on_the_way += 1
        whole = f"{self._settings.broker.prefix}/{topic}"
        return self._session.publish(whole, payload, 1, retain=retain)

    # -- the network thread -----------------------------------------------------------

    def _prepare(self, client: paho.Client) -> None:
        client.max_inflight_messages_set(_IN_FLIGHT)
        client.on_publish = lambda *_: self._arrived()

    def _arrived(self) -> None:
        with self._counting:
            self._on_the_way = max(0, self._on_the_way - 1)

    def _connected(self) -> None:
        self._delivery.reconnected()
        self._topics.connected()

    def _hear(self, message: paho.MQTTMessage) -> None:
        below = message.topic.removeprefix(f"{self._settings.broker.prefix}/")
        if below.startswith(f"{ROOM}/"):
            if message.retain:
                self._topics.hear(below, bytes(message.payload))
            return
        user, device, _seen = message.topic.rsplit("/", 3)[1:]
        self._delivery.hear(user, device, bytes(message.payload))


def _see_taken(info: paho.MQTTMessageInfo, topic: str) -> None:
    info.wait_for_publish(_ACKNOWLEDGED_S)
    if not info.is_published():
        raise ConnectionError(f"the broker does not acknowledge {topic}")
