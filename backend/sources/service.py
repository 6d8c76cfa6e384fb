"""The process `connectors`: all sources of a system, each in a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import paho.mqtt.client as paho
from sqlalchemy import Engine

from citywise.backend.errors import CitywiseError
from citywise.backend.kinds.installed import KnownKinds
from citywise.backend.mqtt_session import BrokerSession
from citywise.backend.settings import Settings
from citywise.backend.sources.layers import LayerAddresses
from citywise.backend.sources.relay import Sent
from citywise.backend.sources.working import Working, report
from citywise.backend.store.heartbeat import beat

LOG = logging.getLogger("citywise.connectors")
ROLE = "connectors"
_BEAT_S = 2.0
_AGAIN_S = 2.0
_STEP_S = 0.5
_SENT_S = 30.0


class SourcesService:
    """Runs the sources of the settings; `run` returns when `stop` is set."""

    def __init__(self, settings: Settings, engine: Engine, stop: threading.Event) -> None:
        self._settings, self._engine, self._stop = settings, engine, stop
        self._known = KnownKinds()
        with engine.connect() as connection:
            kinds = self._kinds = self._known.read(connection)
        folder = settings.data_dir.resolve() / "sources"
        folder.mkdir(parents=True, exist_ok=True)
        self._session = BrokerSession(settings.broker, ROLE, is_told=True)
        self._layers = LayerAddresses(engine)
        self._sources: list[Working] = []
        self._broken: list[dict[str, Any]] = []
        for source in settings.sources:
            try:
                self._sources.append(Working(source, kinds, self._publish, folder))
            except CitywiseError as error:  # a mapping file at fault costs its own source
                LOG.error("source `%s`: %s", source.name, error)
                self._broken.append(report(source, error=str(error)))

    def run(self) -> None:
        """Work until stopped; the heartbeat `connectors` says how each source fares."""
        self._layers.know(self._kinds)
        self._open(self._session)
        threads = [
            threading.Thread(target=self._work, args=(one,), name=one.source.name, daemon=True)
            for one in self._sources
        ]
        for thread in threads:
            thread.start()
        while not self._stop.wait(_BEAT_S):
            try:
                self._beat()
            except Exception:
                LOG.exception("cannot say how the sources fare; trying again")
        self._layers.close()
        for thread in threads:
            thread.join(_STEP_S * 2)
        self._session.close()

    def _beat(self) -> None:
        """Say how the sources fare; take up kinds that an operator has made or changed."""
        reports = [*self._broken, *(one.report() for one in self._sources)]
        detail = {
            "connected": self._session.is_connected,
            "sources": reports,
            "failing": sum(report["error"] is not None for report in reports),
            "refused": sum(report["refused"] for report in reports),
        }
        with self._engine.begin() as connection:
            beat(connection, ROLE, detail)
            kinds = self._known.read(connection)
        if kinds is not self._kinds:
            self._kinds = kinds
            self._layers.know(kinds)
            for one in self._sources:
                one.know(kinds)

    def _open(self, session: BrokerSession) -> None:
        """Connect for the first time, however long that takes."""
        while not self._stop.is_set():
            try:
                session.open()
                return
            except (CitywiseError, OSError) as error:
                LOG.warning("no broker: %s; trying again", error)
                self._stop.wait(_AGAIN_S)

    def _publish(self, message: Sent) -> None:
        """Hand a message to the broker; while it does not answer the source waits, no other."""
        topic = f"{self._settings.broker.prefix}/{message.topic}"
        while not self._stop.is_set():
            info = self._session.publish(topic, message.payload, 1, retain=message.retain)
            try:
                info.wait_for_publish(_SENT_S)
            except (RuntimeError, ValueError):
                self._stop.wait(_STEP_S)
            if info.is_published():
                return

    # -- a source's thread ------------------------------------------------------------

    def _work(self, one: Working) -> None:
        source = one.source
        session = self._listening(one) if source.topics else None
        due = time.monotonic() + one.schedule.first_s()
        while not self._stop.is_set():
            try:
                if source.urls and time.monotonic() >= due:
                    due = time.monotonic() + one.fetch_all()
                if source.topics:
                    one.read_heard(_STEP_S)
                else:
                    self._stop.wait(min(_STEP_S, max(0.0, due - time.monotonic())))
                one.end_what_is_over()
            except Exception:
                LOG.exception("source `%s`: trying again", source.name)
                self._stop.wait(_AGAIN_S)
        if session is not None:
            session.close()

    def _listening(self, one: Working) -> BrokerSession:
        """Hear the topics of a source, at its own broker or the system's."""

        def hear(message: paho.MQTTMessage) -> None:
            one.hear(message.topic, bytes(message.payload))

        source = one.source
        session = BrokerSession(
            source.broker or self._settings.broker,
            f"{ROLE}-{source.name}",
            source.topics,
            hear=hear,
            whole_topics=True,
        )
        self._open(session)
        return session
