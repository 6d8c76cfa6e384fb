"""Running a source: its steps go out over MQTT at a pace one can change while it runs."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from citywise.backend.city.pacing import Command, Pace
from citywise.backend.city.publisher import Publisher, PublisherError
from citywise.backend.city.steps import Source, Step
from citywise.backend.ingest.payloads import Clock
from citywise.backend.settings import Broker
from citywise.backend.times import from_ms, to_ms

log = logging.getLogger(__name__)

BATCH = 500
"""Readings in one message."""
TICK_S = 0.25
SETTLE_MS = 1000
AHEAD = timedelta(hours=6)
PATIENCE_S = 10.0
CONNECT_S = 300.0
"""How long a broker that does not answer is tried; one that refuses ends it at once."""


class Outlet(Protocol):
    """Where a source's messages go."""

    def publish(
        self,
        topic: str,
        payload: bytes,
        *,
        retain: bool = False,
        standing: bool = False,
        mark: int | None = None,
    ) -> None: ...


class IngestStatus(BaseModel):
    """What the ingest says about itself on `<prefix>/status/ingest`."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    state: str
    complete: AwareDatetime | None = None
    """Stream time up to which everything is durable."""
    answered: AwareDatetime | None = None
    """Stream time the slowest request has answered."""
    blocked: str | None = None


class Flow:
    """Keeps a source that goes as fast as it can from running away from its readers.

    What is sent may be ahead of what is answered by `ahead_ms`. Where nobody says how
    far they are (no status within `PATIENCE_S`), the source goes on alone. Where the
    status has no `answered`, what is durable counts.
    """

    def __init__(self, ahead_ms: int) -> None:
        self._ahead, self._begin = ahead_ms, 0
        self._since = self._told = 0.0
        self._status: IngestStatus | None = None

    def begin(self, first: int, wall: float) -> None:
        """The source is about to send its first step, at this stream time."""
        self._begin, self._since, self._told = first, wall, wall

    def heard(self, status: IngestStatus) -> None:
        if self._status is None or status.state == "online":
            self._status = status

    def allows(self, sent: int, wall: float) -> bool:
        """Whether more may be sent after what was sent up to a stream time (Unix ms)."""
        if self._status is None:
            alone = wall - self._since > PATIENCE_S
            if alone:
                self._say(wall, "no ingest answers; publishing without waiting for one")
            return alone
        reached = max(self._reached(self._status), self._begin)
        if sent - reached <= self._ahead:
            self._told = wall
            return True
        self._say(wall, f"waiting for answers, which are at {from_ms(reached):%Y-%m-%dT%H:%MZ}")
        return False

    def _reached(self, status: IngestStatus) -> int:
        known = "answered" if "answered" in status.model_fields_set else "complete"
        time: datetime | None = getattr(status, known)
        return self._begin if time is None else to_ms(time)

    def _say(self, wall: float, text: str) -> None:
        if wall - self._told >= PATIENCE_S:
            blocked = self._status.blocked if self._status else None
            log.warning("source: %s%s", text, f" (ingest: {blocked})" if blocked else "")
            self._told = wall


class Runner:
    """Sends a source's places and steps, each step when the pace says it is due.

    `wall` is a monotonic clock in seconds; `orders` waits at most so many seconds for
    the next command. Both are parameters so that tests need no time.
    """

    def __init__(
        self,
        source: Source,
        outlet: Outlet,
        prefix: str,
        speed: float | None,
        *,
        wall: Callable[[], float] = time.monotonic,
        orders: Callable[[float], Command | None],
        ahead: timedelta = AHEAD,
        stop: threading.Event | None = None,
        since: datetime | None = None,
    ) -> None:
        self._source, self._outlet, self._prefix = source, outlet, prefix
        self._wall, self._orders = wall, orders
        self._stop = stop or threading.Event()
        self._start = to_ms(source.start)
        self._speed = speed
        self._pace = Pace(speed, self._start, self._start - 1)
        self._since = since
        self._complete: int | None = None
        self._clock: Clock | None = None
        self.flow = Flow(round(ahead.total_seconds() * 1000))

    def run(self) -> bool:
        """Send everything; returns False if it was stopped before the end."""
        for place in self._source.places():
            payload = place.model_dump_json(exclude_none=True).encode()
            topic = f"{self._prefix}/places/{place.kind}/{place.id}"
            self._outlet.publish(topic, payload, retain=True, standing=True)
        if self._since is not None:
            self._go_on(to_ms(self._since))
        for step in self._source.steps(self._since):
            if self._complete is None:
                self._begin(step.ms)
            if not self._await(step.ms):
                return False
            self._send(step)
        return self._end()

    def _begin(self, first: int) -> None:
        self._complete = first - 1
        self._pace = Pace(self._speed, min(first, self._start), self._start - 1)
        self.flow.begin(first, self._wall())

    def _go_on(self, since: int) -> None:
        """Everything up to `since` has been sent: by the process before this one."""
        self._complete = since
        self._pace = Pace(self._speed, since, self._start - 1)
        self._pace.arrive(since, self._wall())
        self.flow.begin(since, self._wall())

    def _await(self, ms: int, ending: bool = False) -> bool:
        """Wait until a step is due, ticking and taking commands; False when stopped."""
        pause = 0.0
        while not self._stop.is_set():
            command = self._orders(pause)
            if command is not None:
                self._pace.order(command, self._wall(), ms - 1)
                log.info("source: %s", command.model_dump_json(exclude_unset=True))
            delay = self._pace.wait(ms, self._wall())
            if delay == 0 and (ending or self._may_send(ms)):
                return True
            if delay == 0:
                pause = 0.02
            else:
                self._tick(ms)
                pause = TICK_S if delay is None else min(delay, TICK_S)
        return False

    def _may_send(self, ms: int) -> bool:
        if self._complete is None:
            return True
        first = self._clock is None
        if not first and not self._pace.rushes(ms):
            return True
        return self.flow.allows(self._complete, self._wall())

    def _tick(self, step: int) -> None:
        now = min(self._pace.now(self._wall()), step - 1)
        now = now if self._complete is None else max(now, self._complete)
        self._complete = now
        self._tell(now, self._pace.speed)

    def _send(self, step: Step) -> None:
        speed = None if self._pace.rushes(step.ms) else self._pace.speed
        self._pace.arrive(step.ms, self._wall())
        self._tell(step.ms, speed)
        for batch in step.batches:
            topic = f"{self._prefix}/observations/{batch.kind}"
            for payload in batch.payloads(BATCH):
                self._outlet.publish(topic, payload, mark=step.ms)
        self._complete = step.ms
        self._tell(step.ms, speed)

    def _end(self) -> bool:
        """The recording is over: the clock stands at `until`, all of it complete."""
        if self._source.until is None:
            return True
        until, complete = to_ms(self._source.until), self._complete or 0
        if complete < until and not self._await(until, ending=True):
            return False
        # A little past the end, so that the windows of the last readings are evaluated.
        self._complete = max(until + SETTLE_MS, complete)
        self._tell(self._complete, 0)
        log.info("source: the data end at %s", from_ms(until).isoformat())
        return True

    def _tell(self, now: int, speed: float | None) -> None:
        complete = now if self._complete is None else self._complete
        clock = Clock(
            now=from_ms(now),
            complete=from_ms(complete),
            speed=speed,
            start=self._source.start,
            until=self._source.until,
            source=self._source.name,
        )
        if clock != self._clock:
            self._clock = clock
            topic = f"{self._prefix}/clock"
            self._outlet.publish(topic, clock.model_dump_json().encode(), retain=True, mark=now)


def run_source(
    source: Source,
    broker: Broker,
    *,
    speed: float | None = 60.0,
    stop: threading.Event | None = None,
    stay: bool = True,
    ahead: timedelta = AHEAD,
    name: str = "source",
    since: datetime | None = None,
) -> None:
    """Publish a source until it ends, then stay connected until `stop` is set.

    `speed` is stream seconds per wall second (None: as fast as it goes); `stay` False
    returns at the end of the data; `ahead` is how far a source that goes as fast as it
    can may be ahead of what is answered; `since` is the time up to which all has been sent
    before, by a source that ended. Raises `PublisherError` where the broker
    cannot be used and `SourceError` where the data cannot be read.
    """
    stop = stop or threading.Event()
    commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
    ingest = f"{broker.prefix}/status/ingest"
    publisher = Publisher(
        broker,
        name,
        {
            f"{broker.prefix}/control/source": lambda text: _take(text, commands),
            ingest: lambda text: _hear(text, runner, publisher),
        },
        peer=ingest,
    )

    def orders(seconds: float) -> Command | None:
        try:
            return commands.get(timeout=seconds) if seconds else commands.get_nowait()
        except queue.Empty:
            return None

    runner = Runner(
        source,
        publisher,
        broker.prefix,
        speed,
        orders=orders,
        ahead=ahead,
        stop=stop,
        since=since,
    )
    publisher.connect(CONNECT_S)
    # A stop must also reach a publish that waits for a broker that is away.
    threading.Thread(target=_close_at, args=(stop, publisher), daemon=True).start()
    try:
        if runner.run() and stay:
            stop.wait()
    except PublisherError:
        if not stop.is_set():
            raise
    finally:
        publisher.close()


def _close_at(stop: threading.Event, publisher: Publisher) -> None:
    stop.wait()
    publisher.close()


def _take(text: bytes, commands: queue.SimpleQueue[Command]) -> None:
    try:
        commands.put(Command.model_validate_json(text))
    except ValidationError as error:
        log.warning("source: a command was not understood: %s: %s", text[:200], error)


def _hear(text: bytes, runner: Runner, publisher: Publisher) -> None:
    try:
        status = IngestStatus.model_validate_json(text)
    except ValidationError as error:
        log.warning("source: the ingest's status was not understood: %s", error)
        return
    runner.flow.heard(status)
    if status.complete is not None:
        publisher.settle(to_ms(status.complete))
