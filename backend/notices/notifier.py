"""The notifier process: reminders of what was held back, and alerts to devices over MQTT."""

from __future__ import annotations

import logging
import threading
import time

import paho.mqtt.client as paho
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from prometheus_client import Counter
from sqlalchemy import Engine

from backend import mqtt
from backend.errors import CitywiseError
from backend.notices.delivery import Delivery
from backend.notices.reminders import MOST, remind
from backend.operations import schedule
from backend.people import logins
from backend.privacy import forgetting
from backend.settings import Settings
from backend.store import clocks
from backend.store.heartbeat import beat

LOG = logging.getLogger("citywise.notifier")
CLIENT_ID = "notifier"
REMIND_S = 0.25
SWEEP_S = 1.0
TRIM_S = 600.0
_BEAT_S = 1.0
_IDLE_S = 0.05
_AGAIN_S = 1.0
OUTSTANDING = 2_000
"""Messages that the broker has not acknowledged."""
_IN_FLIGHT = 200
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
        self._client: paho.Client | None = None
        self._connected = threading.Event()
        self._on_the_way = 0
        self._counting = threading.Lock()
        self._delivery = Delivery(engine, self._publish)
        self._reminded = 0
        self._swept_at = 0.0

    def run(self) -> None:
        """Work until stopped; the heartbeat `notifier` says how it fares."""
        others = [
            threading.Thread(target=self._deliver, name="delivery"),
            threading.Thread(target=self._tidy, name="tidying"),
        ]
        for thread in others:
            thread.start()
        beaten_at = 0.0
        while not self._stop.wait(REMIND_S):
            try:
                self._keep_time()
                if time.monotonic() - beaten_at >= _BEAT_S:
                    beaten_at = time.monotonic()
                    self._beat()
            except Exception:
                LOG.exception("cannot do what is due; trying again")
                self._stop.wait(_AGAIN_S)
        for thread in others:
            thread.join()

    def _keep_time(self) -> None:
        """What the stream's clock brings: reminders, and what operators have planned."""
        with self._engine.connect() as connection:
            now_ms = clocks.read(connection).now_ms
        due = MOST
        while due == MOST and not self._stop.is_set():
            with self._engine.begin() as connection:
                due = remind(connection, now_ms)
            self._reminded += due
            REMINDED.inc(due)
        if time.monotonic() - self._swept_at >= SWEEP_S:
            self._swept_at = time.monotonic()
            schedule.sweep(self._engine, now_ms)

    def _beat(self) -> None:
        detail = {
            "connected": self._connected.is_set(),
            "reminded": self._reminded,
            "sent": self._delivery.sent,
            "devices": self._delivery.receivers,
            "devices_behind": self._delivery.behind,
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
            except Exception:
                LOG.exception("cannot tidy up; trying again")
                self._stop.wait(_AGAIN_S)

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
        if self._client is not None:
            self._client.disconnect()
            self._client.loop_stop()

    def _step(self) -> None:
        if self._client is None:
            self._client = mqtt.connect(self._settings.broker, CLIENT_ID, prepare=self._prepare)
        room = OUTSTANDING - self._on_the_way
        if not self._connected.is_set() or room <= 0:
            self._stop.wait(_IDLE_S)
        elif not self._delivery.step(room):
            self._delivery.heard.wait(_IDLE_S)

    def _publish(self, topic: str, payload: bytes) -> None:
        assert self._client is not None
        with self._counting:
            self._on_the_way += 1
        self._client.publish(f"{self._settings.broker.prefix}/{topic}", payload, qos=1)

    # -- the network thread -----------------------------------------------------------

    def _prepare(self, client: paho.Client) -> None:
        client.max_inflight_messages_set(_IN_FLIGHT)
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_publish = self._on_publish
        client.on_message = self._on_message

    def _on_connect(
        self,
        client: paho.Client,
        _data: object,
        _flags: paho.ConnectFlags,
        reason: ReasonCode,
        _properties: Properties | None,
    ) -> None:
        if reason.is_failure:
            LOG.warning("broker refuses: %s", reason)
            return
        prefix = self._settings.broker.prefix
        client.subscribe(f"{prefix}/notices/+/+/seen", 1)
        client.publish(
            mqtt.status_topic(self._settings.broker, CLIENT_ID),
            mqtt.status_payload("online"),
            retain=True,
        )
        self._delivery.reconnected()
        self._connected.set()

    def _on_disconnect(
        self,
        _client: paho.Client,
        _data: object,
        _flags: paho.DisconnectFlags,
        _reason: ReasonCode,
        _properties: Properties | None,
    ) -> None:
        self._connected.clear()

    def _on_publish(
        self,
        _client: paho.Client,
        _data: object,
        _mid: int,
        _reason: ReasonCode,
        _properties: Properties,
    ) -> None:
        with self._counting:
            self._on_the_way = max(0, self._on_the_way - 1)

    def _on_message(self, _client: paho.Client, _data: object, message: paho.MQTTMessage) -> None:
        user, device, _seen = message.topic.rsplit("/", 3)[1:]
        self._delivery.hear(user, device, bytes(message.payload))
