"""One source at work: fetch or hear, read, send on, and say how it fares."""

from __future__ import annotations

import json
import logging
import queue
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from citywise.backend import connectors
from citywise.backend.connectors import Desk, Found, Message, Reading, Refused, recorded
from citywise.backend.connectors.values import whole
from citywise.backend.errors import CitywiseError
from citywise.backend.kinds import Kinds
from citywise.backend.settings import Source
from citywise.backend.sources.fetch import FetchError, Tag, fetch
from citywise.backend.sources.relay import Relay, Sent
from citywise.backend.sources.schedule import Schedule
from citywise.backend.times import iso_or_none, wall_ms

LOG = logging.getLogger("citywise.connectors")
SAMPLES = 5
_SAMPLE = 300
_WAITING = 10_000
"""Messages that have been heard and not yet read."""
_SNAPSHOTS = frozenset(("gbfs", "gtfs-rt", "wzdx", "datex2"))
"""Connectors whose answers name every event there is."""
Send = Callable[[Sent], None]


class UnknownConnectorError(CitywiseError):
    """A source names no connector; the message says which there are."""


class Working:
    """A source; `fetch_all` and `hear` are its two ways in, `report` says how it fares."""

    def __init__(self, source: Source, kinds: Kinds, send: Send, folder: Path) -> None:
        self.source = source
        zone = ZoneInfo(source.zone) if source.zone else None
        desk = Desk(kinds, source=source.name, prefix=source.prefix, zone=zone)
        try:
            self._connector = connectors.connector(source.connector, desk)
        except LookupError:
            raise UnknownConnectorError(
                f"sources: `{source.name}` names the connector `{source.connector}`, which is none "
                "of `citywise connect list` and no file"
            ) from None
        self._send = send
        self._file = folder / f"{source.name}.json"
        self._relay = Relay(_kept(self._file))
        self._kept = self._relay.state()
        self._tags: dict[str, Tag] = {}
        self._heard: queue.Queue[Message] = queue.Queue(_WAITING)
        self.schedule = Schedule(source.interval_s)
        self._counts: Counter[str] = Counter()
        self._samples: deque[dict[str, str]] = deque(maxlen=SAMPLES)
        self._success_ms: int | None = None
        self._newest_ms: int | None = None
        self._error: str | None = None
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
        with self._lock:
            self._error = failure
            if failure is None:
                self._success_ms = wall_ms()
        if failure is None:
            return self.schedule.succeeded()
        self._counts["failures"] += 1
        if self.schedule.failures == 0:
            LOG.warning("source `%s`: %s", self.source.name, failure)
        return self.schedule.failed(wait_s)

    def _fetch(self, url: str) -> None:
        about = self.source
        tag = self._tags.get(url, Tag())
        answer = fetch(
            url, headers=about.headers, tag=tag,
            timeout_s=about.timeout_s, max_bytes=about.max_bytes,
        )  # fmt: skip
        if answer.body is None:
            self._counts["unchanged"] += 1
            return
        self._tags[url] = answer.tag
        self._read(Message(answer.body, None, wall_ms()), url, about.connector in _SNAPSHOTS)

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

    def read_heard(self, wait_s: float) -> None:
        """Read what was heard; wait for the first of it."""
        try:
            message = self._heard.get(timeout=wait_s)
        except queue.Empty:
            return
        self._read(message, "", names_all=False)
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
            for message in recorded(told):
                found += self._connector.read(message)
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
            self._samples.append({key: whole(value[:_SAMPLE]) for key, value in told.items()})

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

    def report(self) -> dict[str, Any]:
        """How the source fares, for the operator; no secret is in it."""
        with self._lock:
            newest = self._newest_ms
            return report(
                self.source,
                self._counts,
                last_success=iso_or_none(self._success_ms),
                error=self._error,
                lag_s=None if newest is None else round(max(0, wall_ms() - newest) / 1000, 1),
                samples=list(self._samples),
            )


def report(source: Source, counts: Mapping[str, int] | None = None, **more: Any) -> dict[str, Any]:
    """What the operator is told of a source."""
    names = ("messages", "observations", "sent", "refused", "unchanged", "failures", "lost")
    usual: dict[str, Any] = {"last_success": None, "error": None, "lag_s": None, "samples": []}
    counted = {name: (counts or {}).get(name, 0) for name in names}
    return {"name": source.name, "connector": source.connector, **usual, **counted, **more}


def _kept(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        assert all(len(pair) == 2 for pair in found["events"].values())
    except (OSError, ValueError, KeyError, AttributeError, TypeError, AssertionError):
        return {}  # none yet, or damaged: then its events are told again
    return dict(found)
