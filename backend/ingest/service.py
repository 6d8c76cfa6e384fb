"""The ingest process: MQTT in, log out; acknowledges what is durable, and only that."""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from prometheus_client import Counter, Gauge
from sqlalchemy.exc import SQLAlchemyError

from citywise.backend import mqtt, telemetry
from citywise.backend.ingest import admission, detected, isolation, log, records, standing
from citywise.backend.ingest.acceptance import Acceptor, Verdict
from citywise.backend.ingest.inlet import MOST_ROWS, Inlet, Taken
from citywise.backend.ingest.intake import Entry, IntakeStore
from citywise.backend.ingest.journal import Journal
from citywise.backend.ingest.own_hours import OwnHours
from citywise.backend.ingest.payloads import Clock
from citywise.backend.ingest.server import LogServer
from citywise.backend.ingest.subscription import Message, Subscription, topic_of
from citywise.backend.ingest.traced import Group
from citywise.backend.kinds import Kinds
from citywise.backend.kinds.installed import KnownKinds
from citywise.backend.settings import Settings
from citywise.backend.store.progress import Progress
from citywise.backend.telemetry import Stage
from citywise.backend.times import iso_or_none, to_ms, wall_ms

LOG = logging.getLogger("citywise.ingest")
_BEAT_SECONDS = 0.25
_INLET_SECONDS = 0.05
_KINDS_SECONDS = 2.0
_WALL_CLOCK_MS = 250
_SET_BACK_MS = 2_000
"""Less is what a clock is kept right by."""
_HOUR_MS = 3_600_000
_REMEMBER_BYTES = 32_000_000

MESSAGES = Counter("citywise_ingest_messages", "MQTT messages received")
ACCEPTED = Counter("citywise_ingest_observations", "Observations made durable", ["kind"])
STANDING = Counter(
    "citywise_ingest_standing", "Places, events, contexts and instances made durable", ["source"]
)
DUPLICATES = Counter(
    "citywise_ingest_duplicates", "Observations, and what already stands, dropped as duplicates"
)
CORRECTIONS = Counter(
    "citywise_ingest_corrections", "Observations that correct or withdraw one", ["kind"]
)
DEAD = Counter("citywise_dead_letters", "Messages and observations refused", ["reason"])
STANDS = Gauge("citywise_standing", "What stands in the log's end", multiprocess_mode="mostrecent")
LOG_END = Gauge(
    "citywise_log_end_bytes", "Position of the end of the log", multiprocess_mode="mostrecent"
)


Result = TypeVar("Result")


class Told(NamedTuple):
    """What one message leaves, and its records for the log but for what stands."""

    entry: Entry
    encoded: list[bytes]


class IngestService:
    """Receives, judges, writes and acknowledges; `run` returns when `stop` is set."""

    def __init__(self, settings: Settings, store: IntakeStore, stop: threading.Event) -> None:
        self._settings = settings
        self._limits = settings.ingest
        self._store = store
        self._inlet = Inlet(store.engine)
        self._stop = stop
        self._known_kinds = KnownKinds()
        self._acceptor = Acceptor(settings.broker.prefix, settings.ingest, Kinds())
        self._subscription = Subscription(settings.broker, stop)
        self._own_hours = OwnHours(store.engine)
        self._journal = Journal(settings.log_dir, settings.ingest.segment_bytes)
        self._accepted = 0
        self._dead = 0
        self._blocked: str | None = None
        self._last_clock_ms = 0
        self._is_set_back = False
        self._last_beat = 0.0
        self._last_row = 0.0
        self._last_inlet = 0.0
        self._last_kinds = 0.0

    def run(self) -> None:
        """Work until stopped; where it is configured, serve the log to other machines."""
        with self._server():
            self._work()

    def _server(self) -> contextlib.AbstractContextManager[object]:
        limits = self._limits
        if not limits.serve_port or limits.serve_token is None:
            return contextlib.nullcontext()
        LOG.info("serving the log at %s:%d", limits.serve_host, limits.serve_port)
        return LogServer(
            self._settings.log_dir, limits.serve_host, limits.serve_port, limits.serve_token
        )

    def _work(self) -> None:
        self._recall()
        self._subscription.open()
        try:
            while not self._stop.is_set():
                self._step()
        finally:
            self._subscription.close()
            self._journal.close()

    def _recall(self) -> None:
        """Know again what a process before this one knew: places, and recent readings; and
        finish what it had begun."""
        self._read_kinds()
        self._inlet.remove(self._journal.inlet_ids)
        places = self._store.places(self._settings.broker.prefix)
        for place in places:
            self._acceptor.know(place)
        self._journal.stand([standing.of_place(place) for place in places], wall_ms())
        self._retry(self._write)
        start = self._remembered_from()
        for entry in records.read(self._settings.log_dir, start, self._journal.end):
            if isinstance(entry, records.Reading | records.Withdrawal):
                self._acceptor.remember(entry)
            elif isinstance(entry, records.ClockReading) and self._limits.clock == "topic":
                self._acceptor.clock = entry.clock
        LOG.info("log ends at %d; %d places known", self._journal.end, len(places))

    def _remembered_from(self) -> int:
        """Where in the log begins what may come again, or be corrected: a stretch of its end, or
        as much more as came within the longest horizon."""
        folder, end = self._settings.log_dir, self._journal.end
        bases, longest = log.segments(folder), self._limits.longest_s * 1000
        newest = records.came_ms(folder, bases[-1], end) if bases else None
        start = end
        for base in reversed(bases):
            start, came = base, records.came_ms(folder, base, end)
            within = None not in (newest, came) and (newest or 0) - (came or 0) < longest
            if base < end - _REMEMBER_BYTES and not within:
                break
        return start

    def _read_kinds(self) -> None:
        """Know the kinds as they are now: an operator may make some while we run."""
        self._last_kinds = time.monotonic()
        with self._store.engine.connect() as connection:
            self._acceptor.kinds = self._known_kinds.read(connection)

    # -- the writer's thread --------------------------------------------------------

    def _step(self) -> None:
        """Write one group of messages, then acknowledge it."""
        self._beat()
        if self._blocked is not None:
            time.sleep(0.1)
            return
        self._take_inlet()
        if time.monotonic() - self._last_kinds >= _KINDS_SECONDS:
            self._retry(self._read_kinds)
        group = self._subscription.group()
        if self._subscription.reconnected.is_set():
            self._subscription.reconnected.clear()
            self._acceptor.reconnected(datetime.now(UTC))
        if not group:
            self._let_time_pass()
            return
        traces = Group(group, self._settings.broker.prefix)
        verdicts = [self._judged(*found) for found in zip(group, traces.stages, strict=True)]
        self._retry(lambda: self._screen(group, verdicts))
        self._make_durable(group, verdicts, traces)
        self._subscription.acknowledge(group)
        traces.end()
        self._let_time_pass()

    def _judged(self, message: Message, stage: Stage | None) -> Verdict:
        found, at = message
        if stage is None:
            return self._acceptor.judge(topic_of(found), bytes(found.payload), at)
        with telemetry.about(stage.traceparent):
            return self._acceptor.judge(topic_of(found), bytes(found.payload), at)

    def _screen(self, group: Sequence[Message], verdicts: list[Verdict]) -> None:
        """Take of a person only what the person consents to (see `admission`)."""
        users = {verdict.user for verdict in verdicts if verdict.user}
        if not users:
            return
        admitted = admission.read(self._store.engine, users)
        verdicts[:] = [
            admitted.screened(verdict, len(message.payload)) if verdict.user else verdict
            for (message, _at), verdict in zip(group, verdicts, strict=True)
        ]
        self._journal.expect(entry for verdict in verdicts for entry in verdict.standing)

    def _make_durable(
        self, group: Sequence[Message], verdicts: Sequence[Verdict], traces: Group
    ) -> None:
        """Places and dead letters to the store, the rest to the log; places to both.

        What one message of the group makes us raise becomes its dead letter; the others are kept.
        """
        prefix = self._settings.broker.prefix
        told: list[Told] = []
        for (message, at), verdict in zip(group, verdicts, strict=True):
            payload = bytes(message.payload)
            entry = Entry.of(prefix, topic_of(message), payload, to_ms(at), verdict)
            told.append(self._encoded(entry))
        self._keep(told)
        for index, (entry, encoded) in enumerate(told):
            position = self._journal.next
            for record in encoded:
                self._journal.add(record)
            self._stand("mqtt", entry.verdict.standing, entry.received_ms)
            if self._journal.next > position:
                traces.lies_at(index, position)
            self._count(entry.verdict)
        traces.keep(self._store.engine)
        self._retry(self._write)
        self._keep_events([entry for entry, _encoded in told])

    def _encoded(self, entry: Entry) -> Told:
        """A message with its readings and clock as records, once all of it can be written; else
        its dead letter."""
        verdict, received, encoded = entry.verdict, entry.received_ms, list[bytes]()
        try:
            if verdict.kind and verdict.observations:
                encoded.append(
                    records.encode_readings(verdict.kind, received, verdict.observations)
                )
            if verdict.clock:
                encoded.append(records.encode_clock(verdict.clock, received))
            self._journal.check(verdict.standing)
        except Exception as error:  # noqa: BLE001 - whatever it is, it would come again
            self._tell_fault(entry, error)
            return Told(entry.refused(error, entry.payload), [])
        return Told(entry, encoded)

    def _keep(self, told: list[Told]) -> None:
        """Write what goes to the store; what it cannot take becomes a dead letter in `told`."""
        indexes = [index for index, one in enumerate(told) if one.entry.is_kept]
        if not indexes:
            return
        entries = [told[index].entry for index in indexes]
        for index, kept in zip(
            indexes, self._retry(lambda: self._store.write(entries)), strict=True
        ):
            if kept is not told[index].entry:
                told[index] = Told(kept, [])

    def _keep_events(self, entries: Sequence[Entry]) -> None:
        """Events that others detect become events of the city when they are durable."""
        reported = [e for e in entries if any(s.subject == "event" for s in e.verdict.standing)]
        if not reported:
            return
        now = to_ms(self._acceptor.now(datetime.now(UTC))[0])

        def keep(some: Sequence[Entry]) -> None:
            detected.keep(self._store.engine, [s for e in some for s in e.verdict.standing], now)

        def refuse(entry: Entry, error: Exception) -> None:
            self._tell_fault(entry, error)
            letter = entry.refused(error, entry.payload)
            self._store.write([letter])
            self._count_dead(letter.verdict)

        self._retry(lambda: isolation.each(reported, keep, refuse))

    @staticmethod
    def _tell_fault(entry: Entry, error: Exception) -> None:
        """What is our fault goes into the log, but nothing that a person sent."""
        if entry.verdict.user is None:
            LOG.error("cannot write a message on %s", entry.topic, exc_info=error)
        else:
            LOG.error("cannot write a message about a person: %s", type(error).__name__)

    def _stand(
        self, source: str, entries: Sequence[standing.Entry], at_ms: int, ids: Sequence[int] = ()
    ) -> None:
        known = self._journal.stand(entries, at_ms, ids)
        DUPLICATES.inc(known)
        STANDING.labels(source).inc(len(entries) - known)

    def _take_inlet(self) -> None:
        """What the web and the pipeline put into the database for the log."""
        if time.monotonic() - self._last_inlet < _INLET_SECONDS:
            return
        try:
            taken = self._inlet.take()
        except SQLAlchemyError:
            LOG.exception("cannot read the inlet")
            taken = Taken()
        if len(taken.ids) < MOST_ROWS:
            self._last_inlet = time.monotonic()
        if not taken.ids:
            return
        if taken.dead:
            self._retry(lambda: self._store.write(taken.dead))
        self._retry(lambda: self._journal.expect(taken.entries))
        self._stand("inlet", taken.entries, wall_ms(), taken.entry_ids)
        self._retry(self._write)
        self._retry(lambda: self._inlet.remove(taken.ids))

    def _retry(self, action: Callable[[], Result]) -> Result:
        """Do it until it works: what was received is neither lost nor acknowledged."""
        while True:
            try:
                return action()
            except Exception as error:
                self._blocked = f"cannot write: {error}"
                LOG.exception("cannot write; trying again")
                self._beat(force=True)
                if self._stop.wait(1.0):
                    raise

    def _write(self) -> None:
        self._journal.write()
        LOG_END.set(self._journal.end)

    def _count(self, verdict: Verdict) -> None:
        MESSAGES.inc()
        DUPLICATES.inc(verdict.duplicates)
        if verdict.kind:
            CORRECTIONS.labels(verdict.kind).inc(verdict.corrections)
            ACCEPTED.labels(verdict.kind).inc(len(verdict.observations))
        self._accepted += len(verdict.observations)
        self._count_dead(verdict)

    def _count_dead(self, verdict: Verdict) -> None:
        for letter in verdict.dead:
            DEAD.labels(letter.reason).inc()
        self._dead += len(verdict.dead)

    def _let_time_pass(self) -> None:
        """The wall's clock, or a source's that was held back, goes into the log."""
        now = datetime.now(UTC)
        now_ms = to_ms(now)
        clock: Clock | None = None
        if self._acceptor.holds_time:
            if self._subscription.oldest_waiting() or not self._acceptor.settled(now):
                return
            clock = self._acceptor.clock
        if self._limits.clock == "wall":
            if now_ms - self._last_clock_ms < _WALL_CLOCK_MS:
                self._tell_set_back(self._last_clock_ms - now_ms)
                return
            self._is_set_back = False
            present, complete = self._acceptor.now(self._subscription.oldest_waiting() or now)
            clock = Clock(now=present, complete=complete)
        if clock is None:
            return
        self._last_clock_ms = now_ms
        self._journal.add(records.encode_clock(clock, now_ms))
        self._retry(self._write)

    def _tell_set_back(self, by_ms: int) -> None:
        """Say, once, that the machine's clock was set back: time does not go back with it."""
        if by_ms >= _SET_BACK_MS and not self._is_set_back:
            self._is_set_back = True
            LOG.warning(
                "the machine's clock was set back by %.0f s; time stands still, and nothing is "
                "answered, until it has come so far again",
                by_ms / 1000,
            )

    # -- how it fares ---------------------------------------------------------------

    def _beat(self, force: bool = False) -> None:
        """Say how it goes, remove old segments, and see whether to stop acknowledging."""
        if not force and time.monotonic() - self._last_beat < _BEAT_SECONDS:
            return
        self._last_beat = time.monotonic()
        try:
            progress = self._store.progress()
        except SQLAlchemyError:
            LOG.exception("cannot read the pipeline's progress")
            return
        lag = self._journal.end - progress.position
        if not force:
            was_blocked, self._blocked = self._blocked, self._why_blocked(lag, progress)
            if was_blocked and not self._blocked:
                self._subscription.reconnected.set()
        self._tidy(progress.needed_from, write=not force and self._blocked is None)
        self._report(lag, progress.answered_ms)

    def _tidy(self, needed_from: int, write: bool) -> None:
        """Keep what stands at the log's end, and remove segments that nobody needs."""
        now, seconds = wall_ms(), self._limits.retention_hours * 3600
        if write:
            before = now - round(self._limits.context_hours * _HOUR_MS)
            self._journal.forget(before, now, self._own_hours.overdue(now))
            self._journal.refresh(seconds / 4, now)
            self._retry(self._write)
        needed = min(needed_from, self._journal.needed_from)
        log.trim(self._settings.log_dir, needed, seconds)
        STANDS.set(len(self._journal.register))

    def _why_blocked(self, lag: int, progress: Progress) -> str | None:
        free = shutil.disk_usage(self._settings.log_dir).free
        if free < self._limits.min_free_bytes:
            return (
                f"only {free} bytes free on the log's disk, {self._limits.min_free_bytes} needed "
                f"(ingest.min_free_bytes){_kept_for(progress)}"
            )
        if lag > self._limits.max_lag_bytes:
            return (
                f"the pipeline is {lag} bytes behind, more than {self._limits.max_lag_bytes} "
                "(ingest.max_lag_bytes)"
            )
        return None

    def _report(self, lag: int, answered_ms: int | None) -> None:
        now, complete = self._acceptor.now(datetime.now(UTC))
        clock = self._acceptor.clock
        known = clock is not None or self._limits.clock == "wall"
        detail = {
            "connected": self._subscription.is_connected,
            "blocked": self._blocked,
            "position": self._journal.end,
            "lag_bytes": lag,
            "accepted": self._accepted,
            "dead_letters": self._dead,
            "now_ms": to_ms(now) if known else None,
            "complete_ms": to_ms(complete) if known else None,
            "speed": clock.speed if clock else 1.0,
            "source": clock.source if clock else "wall",
            "start_ms": to_ms(clock.start) if clock and clock.start else None,
            "until_ms": to_ms(clock.until) if clock and clock.until else None,
        }
        if time.monotonic() - self._last_row > 1:
            self._last_row = time.monotonic()
            try:
                self._store.beat("ingest", detail)
            except SQLAlchemyError:
                LOG.exception("cannot write the heartbeat")
        self._subscription.tell(
            mqtt.status_payload(
                "online",
                position=self._journal.end,
                complete=complete if known else None,
                answered=iso_or_none(answered_ms),
                blocked=self._blocked,
            )
        )


def _kept_for(progress: Progress) -> str:
    """Who has the log kept that others need no more, and what can be done."""
    if progress.needed_by is None:
        return ""
    return (
        f"; the log is kept for request `{progress.needed_by}`, which is behind: mend it, or take "
        "it out of pipeline.requests and start again (docs/delivery.md)"
    )
