"""The process `connectors`: all sources of a system, each in a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import paho.mqtt.client as paho
from sqlalchemy import Connection, Engine

from citywise.backend.errors import CitywiseError
from citywise.backend.kinds.installed import KnownKinds
from citywise.backend.mqtt_session import BrokerSession
from citywise.backend.settings import Settings, Source
from citywise.backend.sources import made as made_sources
from citywise.backend.sources import posted
from citywise.backend.sources.layers import LayerAddresses
from citywise.backend.sources.refusals import Outcomes
from citywise.backend.sources.relay import Sent
from citywise.backend.sources.working import Working, report
from citywise.backend.store.heartbeat import beat

LOG = logging.getLogger("citywise.connectors")
ROLE = "connectors"
_BEAT_S = 2.0
_AGAIN_S = 2.0
_STEP_S = 0.5
_SENT_S = 30.0


@dataclass
class _Run:
    """A source with its thread; `version` is that of one that an operator made, else 0."""

    working: Working
    version: int
    thread: threading.Thread
    stop: threading.Event
    is_leaving: bool = False
    """Whether it is to end what it has open: it will not come again as it is."""


class SourcesService:
    """Runs the sources of the settings and those that operators make; `run` returns when `stop` is
    set."""

    def __init__(self, settings: Settings, engine: Engine, stop: threading.Event) -> None:
        self._settings, self._engine, self._stop = settings, engine, stop
        self._known = KnownKinds()
        with engine.connect() as connection:
            self._kinds = self._known.read(connection)
        self._folder = settings.data_dir.resolve() / "sources"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._session = BrokerSession(settings.broker, ROLE, is_told=True)
        self._layers = LayerAddresses(engine, settings.fetching.allow)
        self._outcomes = Outcomes(settings.broker.prefix)
        self._runs: dict[str, _Run] = {}
        self._broken: dict[str, tuple[int, dict[str, Any]]] = {}
        """What cannot begin: its version, and its report."""

    def run(self) -> None:
        """Work until stopped; the heartbeat `connectors` says how each source fares."""
        self._layers.know(self._kinds)
        self._open(self._session)
        while True:
            try:
                self._beat()
            except Exception:
                LOG.exception("cannot say how the sources fare; trying again")
            if self._stop.wait(_BEAT_S):
                break
        self._layers.close()
        for one in self._runs.values():
            one.stop.set()
        for one in self._runs.values():
            one.thread.join(_STEP_S * 2)
        self._session.close()

    def _beat(self) -> None:
        """Take up what operators changed, and say how the sources fare."""
        with self._engine.connect() as connection:
            kinds = self._known.read(connection)
            wanted = self._wanted_sources(connection)
            refused = self._outcomes.read(connection)
        if kinds is not self._kinds:
            self._kinds = kinds
            self._layers.know(kinds)
            for one in self._runs.values():
                one.working.know(kinds)
            self._broken.clear()  # a mapping may have waited for a kind
        for some in refused:
            if (known := self._runs.get(some.source)) is not None:
                known.working.was_refused(some)
        self._follow(wanted)
        reports = [report for _version, report in self._broken.values()]
        reports += [one.working.report() for one in self._runs.values()]
        detail = {
            "connected": self._session.is_connected,
            "sources": reports,
            "failing": sum(report["error"] is not None for report in reports),
            "refused": sum(report["refused"] for report in reports),
            "not_taken": sum(report["not_taken"] for report in reports),
        }
        with self._engine.begin() as connection:
            beat(connection, ROLE, detail)

    def _wanted_sources(self, connection: Connection) -> dict[str, tuple[Source, int]]:
        """The sources that are to run; a name of the settings is theirs."""
        made = made_sources.listed(connection)
        found = {n: (one.source, one.version) for n, one in made.items() if one.is_active}
        return found | {source.name: (source, 0) for source in self._settings.sources}

    def _follow(self, wanted: Mapping[str, tuple[Source, int]]) -> None:
        """Let the sources run that are wanted, as they are wanted, and no others."""
        for name, one in list(self._runs.items()):
            if name not in wanted or wanted[name][1] != one.version:
                one.is_leaving = True
                one.stop.set()
                if not one.thread.is_alive():  # else it waits for an answer: the next time
                    del self._runs[name]
        for name in self._broken.keys() - wanted.keys():
            del self._broken[name]
        for name, (source, version) in wanted.items():
            broken = self._broken.get(name)
            if name not in self._runs and (broken is None or broken[0] != version):
                self._broken.pop(name, None)
                self._begin(source, version)

    def _begin(self, source: Source, version: int) -> None:
        stop = threading.Event()
        send = partial(self._publish, source.name, stop)
        try:
            made_sources.refuse_own_topics(source, self._settings.broker)
            working = Working(
                source, self._kinds, send, self._folder, self._settings.fetching.allow
            )
        except CitywiseError as error:  # a mapping file at fault costs its own source
            LOG.error("source `%s`: %s", source.name, error)
            self._broken[source.name] = version, report(source, error=str(error))
            return
        name = source.name
        thread = threading.Thread(target=self._work_on, args=(name,), name=name, daemon=True)
        self._runs[name] = _Run(working, version, thread, stop)
        thread.start()

    def _open(self, session: BrokerSession, stop: threading.Event | None = None) -> None:
        """Connect for the first time, however long that takes."""
        stop = stop or self._stop
        while not stop.is_set():
            try:
                session.open()
                return
            except (CitywiseError, OSError) as error:
                LOG.warning("no broker: %s; trying again", error)
                stop.wait(_AGAIN_S)

    def _publish(self, source: str, stop: threading.Event, message: Sent) -> None:
        """Hand a message to the broker; while it does not answer the source waits, no other."""
        topic = f"{self._settings.broker.prefix}/{message.topic}"
        self._outcomes.sends(source, topic, message.payload)
        while not self._stop.is_set():
            info = self._session.publish(topic, message.payload, 1, retain=message.retain)
            try:
                info.wait_for_publish(_SENT_S)
            except (RuntimeError, ValueError):
                self._stop.wait(_STEP_S)
            if info.is_published() or stop.is_set():
                return

    # -- a source's thread ------------------------------------------------------------

    def _work_on(self, name: str) -> None:
        run = self._runs[name]
        one, source = run.working, run.working.source
        session = self._listening(one, run.stop) if source.topics else None
        asked_at = time.monotonic() + one.schedule.first_s()
        renewed_at = heard_at = time.monotonic()
        while not run.stop.is_set():
            try:
                if source.urls and time.monotonic() >= asked_at:
                    asked_at = time.monotonic() + one.fetch_all()
                if source.subscribe and time.monotonic() >= renewed_at:
                    renewed_at = time.monotonic() + one.catch_up()
                if source.secret and self._read_posted(one):
                    continue
                if session is not None:
                    one.may_hear(session.refusal)
                    if time.monotonic() >= heard_at:
                        heard_at = time.monotonic() + _AGAIN_S
                        session.ask_again()
                    one.read_heard(_STEP_S)
                else:
                    run.stop.wait(_STEP_S)
                one.end_what_is_over()
            except Exception:
                LOG.exception("source `%s`: trying again", source.name)
                run.stop.wait(_AGAIN_S)
        if session is not None:
            session.close()
        if run.is_leaving:
            one.leave()

    def _read_posted(self, one: Working) -> bool:
        """Read what was posted and forget it; False where nothing was."""
        with self._engine.connect() as connection:
            rows = posted.waiting(connection, one.source.name)
        if rows:
            one.read_posted((row.body, row.received_ms) for row in rows)
            with self._engine.begin() as connection:
                posted.drop(connection, [row.id for row in rows])
        return bool(rows)

    def _listening(self, one: Working, stop: threading.Event) -> BrokerSession:
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
        self._open(session, stop)
        return session
