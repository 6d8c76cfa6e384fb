"""One source at work: fetch or hear, read, send on, and say how it fares."""

from __future__ import annotations

import json
import logging
import queue
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit
from zoneinfo import ZoneInfo

from citywise.backend import connectors
from citywise.backend.connectors import Connector, Desk, Found, Message, Reading, Refused
from citywise.backend.errors import CitywiseError
from citywise.backend.kinds import Kinds
from citywise.backend.operations.sources import unheard
from citywise.backend.settings import Source
from citywise.backend.sources.fetch import FetchError, Tag, fetch, send
from citywise.backend.sources.refusals import NotTaken, Samples
from citywise.backend.sources.relay import Relay, Sent
from citywise.backend.sources.schedule import Schedule
from citywise.backend.sources.subscribing import Subscriber
from citywise.backend.times import iso_or_none, wall_ms

LOG = logging.getLogger("citywise.connectors")
MOST_PAGES = 1_000
"""Of one answer."""
_WAITING = 10_000
"""Messages that have been heard and not yet read."""
_SNAPSHOTS = frozenset(("gbfs", "gtfs-rt", "wzdx", "datex2"))
"""Connectors whose answers name every event there is."""
Send = Callable[[Sent], None]


class UnknownConnectorError(CitywiseError):
    """A source names no connector; the message says which there are."""


def connector_of(source: Source, kinds: Kinds) -> Connector:
    """What reads a source's messages; raises as `connectors.connector` does."""
    zone = ZoneInfo(source.zone) if source.zone else None
    desk = Desk(kinds, source=source.name, prefix=source.prefix, zone=zone)
    return connectors.connector(source.connector, desk, source.mapping)


class Working:
    """A source; `fetch_all` and `hear` are its two ways in, `report` says how it fares."""

    def __init__(
        self,
        source: Source,
        kinds: Kinds,
        forward: Send,
        folder: Path,
        allowed: Collection[str] = (),
    ) -> None:
        self.source = source
        self._allowed = allowed
        try:
            self._connector = connector_of(source, kinds)
        except LookupError:
            raise UnknownConnectorError(
                f"sources: `{source.name}` names the connector `{source.connector}`, which is none "
                "of `citywise connect list` and no file"
            ) from None
        self._send = forward
        self._file = folder / f"{source.name}.json"
        self._relay = Relay(_read_state(self._file))
        self._kept = self._relay.state()
        self._tags: dict[str, Tag] = {}
        self._heard: queue.Queue[Message] = queue.Queue(_WAITING)
        self.schedule = Schedule(source.interval_s)
        own = source.subscribe
        self.subscriber = Subscriber(source, own, partial(send, allowed=allowed)) if own else None
        self._renewal = Schedule(own.renew_s if own else 0)
        self._counts: Counter[str] = Counter()
        self._samples, self._not_taken = Samples(), Samples()
        self._success_ms: int | None = None
        self._newest_ms: int | None = None
        self._errors: dict[str, str] = {}
        self._lock = threading.Lock()

    def know(self, kinds: Kinds) -> None:
        """Read with other kinds from now on."""
        self._connector.desk = replace(self._connector.desk, kinds=kinds)

    # -- fetching ---------------------------------------------------------------------

    def fetch_all(self) -> float:
        """Ask all addresses once; how many seconds to wait before the next time."""
        wait_s: float | None = None
        failure: str | None = None
        for url in self.source.urls:
            try:
                self._fetch(url)
            except FetchError as error:
                failure = f"{url}: {error}"
                wait_s = max(wait_s or 0, error.wait_s or 0)
        self._note("urls", failure)
        return self.schedule.succeeded() if failure is None else self.schedule.failed(wait_s)

    def _note(self, part: str, failure: str | None) -> None:
        """How a part of it went this time."""
        with self._lock:
            before = self._errors.pop(part, None)
            if failure is None:
                self._success_ms = wall_ms()
                return
            self._errors[part] = failure
        self._counts["failures"] += 1
        if before is None:
            LOG.warning("source `%s`: %s", self.source.name, failure)

    def catch_up(self) -> float:
        """Renew the subscription at the context broker, and ask it for all that is there now: what
        it told while nobody listened is made good. How many seconds to wait."""
        assert self.subscriber is not None
        assert self.source.subscribe is not None
        failure: str | None = None
        try:
            self.subscriber.renew()
            self._fetch(self.subscriber.all_entities)
        except FetchError as error:
            failure = f"{self.source.subscribe.broker}: {error}"
        self._note("broker", failure)
        renewal = self._renewal
        return renewal.succeeded() if failure is None else min(renewal.failed(), renewal.interval_s)

    def _fetch(self, url: str) -> None:
        """Ask an address, and the pages that its answer goes on with."""
        about, page, tag = self.source, url, self._tags.pop(url, Tag())
        server, seen = urlsplit(url)[:2], set[str]()
        while page not in seen and len(seen) < MOST_PAGES:
            seen.add(page)
            answer = fetch(
                page, headers=about.headers, tag=tag,
                timeout_s=about.timeout_s, max_bytes=about.max_bytes, allowed=self._allowed,
            )  # fmt: skip
            if answer.body is None:
                self._counts["unchanged"] += 1
                self._tags[url] = tag
                return
            message = Message(answer.body, page, wall_ms())
            self._read(message, url, about.connector in _SNAPSHOTS)
            following = self._connector.following or answer.following
            if following is None:
                if len(seen) == 1:  # of several pages any may change
                    self._tags[url] = answer.tag
                return
            page, tag = urljoin(page, following), Tag()
            if urlsplit(page)[:2] != server:
                raise FetchError(f"its next page is at another server: {page[:200]}")
        raise FetchError(f"it goes on after {len(seen)} pages, or begins anew")

    # -- hearing ----------------------------------------------------------------------

    def hear(self, topic: str, payload: bytes) -> None:
        """Take a message from the network thread; the oldest that waits is lost if too many do."""
        if len(payload) > self.source.max_bytes:
            self._refuse(Refused("too-large", "", f"found {len(payload)} bytes (max_bytes)"), topic)
            return
        message = Message(payload, topic, wall_ms())
        while True:
            try:
                self._heard.put_nowait(message)
                return
            except queue.Full:
                self._counts["lost"] += 1
                try:
                    self._heard.get_nowait()
                except queue.Empty:
                    continue

    def may_hear(self, refusal: str | None) -> None:
        """Note what the broker of its topics refuses; None: nothing."""
        if refusal is None:
            with self._lock:
                self._errors.pop("topics", None)
        elif self._errors.get("topics") != refusal:
            self._note("topics", refusal)

    def read_heard(self, wait_s: float) -> None:
        """Read what was heard; wait for the first of it."""
        try:
            message = self._heard.get(timeout=wait_s)
        except queue.Empty:
            return
        self._read(message, "", names_all=False)
        with self._lock:
            self._success_ms = wall_ms()

    def read_posted(self, bodies: Iterable[tuple[bytes, int]]) -> None:
        """Read what was posted, each with the time (Unix ms) at which it came."""
        for body, at_ms in bodies:
            self._read(Message(body, None, at_ms), "", names_all=False)
            with self._lock:
                self._success_ms = wall_ms()

    # -- reading ----------------------------------------------------------------------

    def _read(self, told: Message, origin: str, names_all: bool) -> None:
        """Read a message and send on what it says; a fault of ours costs this message only.

        `names_all`: it names every event that there is.
        """
        self._counts["messages"] += 1
        found: list[Found] = []
        try:
            found += connectors.told(self._connector, told)
        except Exception:
            LOG.exception("source `%s`: cannot read a message", self.source.name)
            self._refuse(Refused("internal", "", "a fault of ours; see the log"), origin)
            names_all = False
        for one in found:
            if isinstance(one, Refused):
                self._refuse(one, origin)
            elif isinstance(one, Reading):
                self._counts["observations"] += 1
                self._newest_ms = max(self._newest_ms or 0, one.observed_ms)
        names_all = names_all and not any(isinstance(o, Refused) and not o.at for o in found)
        for message_ in self._relay.messages(found, origin, names_all):
            self._send(message_)
            self._counts["sent"] += 1
        self._keep()

    def _refuse(self, refused: Refused, origin: str) -> None:
        self._counts["refused"] += 1
        told = {"reason": refused.reason, "at": refused.at, "said": refused.said, "from": origin}
        with self._lock:
            self._samples.add(told)

    def was_refused(self, some: NotTaken) -> None:
        """The ingest did not take some of what the source sent."""
        self._counts["not_taken"] += some.number
        with self._lock:
            for sample in some.samples:
                self._not_taken.add(sample)

    def _keep(self) -> None:
        """Keep what must outlast a restart, where it has changed."""
        if (state := self._relay.state()) == self._kept:
            return
        fresh = self._file.with_suffix(".new")
        fresh.write_text(json.dumps(state), encoding="utf-8")
        fresh.replace(self._file)
        self._kept = state

    def end_what_is_over(self) -> None:
        """End the events whose time is over."""
        for message in self._relay.over(wall_ms()):
            self._send(message)
        self._keep()

    def leave(self) -> None:
        """The source is no more, or is to rest: its events are over, and no broker need notify."""
        for message in self._relay.all_over():
            self._send(message)
        self._keep()
        if self.subscriber is not None:
            try:
                self.subscriber.end()
            except FetchError as error:
                LOG.warning("source `%s`: its subscription stays until it ends by itself: %s",
                            self.source.name, error)  # fmt: skip

    def report(self) -> dict[str, Any]:
        """How the source fares, for the operator; no secret is in it."""
        with self._lock:
            newest = self._newest_ms
            return report(
                self.source,
                self._counts,
                last_success=iso_or_none(self._success_ms),
                error=next(iter(self._errors.values()), None),
                lag_s=None if newest is None else round(max(0, wall_ms() - newest) / 1000, 1),
                samples=self._samples.shown(),
                not_taken_samples=self._not_taken.shown(),
            )


def report(source: Source, counts: Mapping[str, int] | None = None, **more: Any) -> dict[str, Any]:
    """What the operator is told of a source."""
    return {**unheard(source), **(counts or {}), **more}


def _read_state(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        assert all(len(pair) == 2 for pair in found["events"].values())
    except (OSError, ValueError, KeyError, AttributeError, TypeError, AssertionError):
        return {}  # none yet, or damaged: then its events are told again
    return dict(found)
