"""Timetables and real-time data of a system, as files in its city's folder."""

from __future__ import annotations

import logging
import os
import re
import shutil
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from citywise.apps.travel_planner.roads.router import Router
from citywise.apps.travel_planner.transit import town
from citywise.apps.travel_planner.transit.decide import Transit, message_in
from citywise.apps.travel_planner.transit.feed import Feed, read_feed
from citywise.apps.travel_planner.transit.realtime import Message
from citywise.apps.travel_planner.transit.timetable import Timetable
from citywise.backend.app import CitywiseError

LOG = logging.getLogger(__name__)
FOLDER = "timetables"
_ENDS_SOON = timedelta(days=14)
_TOLD_MS = 10 * 60_000
"""How often the simulated town tells how late its lines are, of its own time."""
Stamp = tuple[tuple[str, int, int], ...]
"""Files by name, time of change and size."""


def is_feed(file: Path) -> bool:
    """Whether a file is an archive; no file of OpenStreetMap is one."""
    return zipfile.is_zipfile(file) or file.suffix.lower() == ".zip"


def is_realtime(file: Path) -> bool:
    """Whether a file begins as a message of GTFS-Realtime does, which no .osm.pbf does."""
    with file.open("rb") as opened:
        begin = opened.read(64)
    return begin[:1] == b"\n" and b"OSMHeader" not in begin


def take_feed(file: Path, city: Path) -> Iterator[str]:
    """Keep a timetable in a city's folder and tell of it; raises `FeedError`, and then nothing
    has changed. One of the same file name is replaced."""
    feed = read_feed(file)
    target = city / FOLDER / (_name(file) + ".zip")
    had = target.exists()
    _keep(file, target)
    yield f"{target}: {'replaced' if had else 'written'}"
    yield from report(feed, datetime.now(UTC).date())


def take_realtime(file: Path, city: Path) -> Iterator[str]:
    """Keep real-time data likewise; those of the same file name are replaced."""
    message = message_in(file)
    target = city / FOLDER / (_name(file) + ".pb")
    _keep(file, target)
    yield f"{target}: written"
    yield f"updates\t{len(message.updates)} of trips"
    yield f"alerts\t{len(message.alerts)}"


def _name(file: Path) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", file.stem).strip("._") or "feed"


def _keep(file: Path, target: Path) -> None:
    """Put a copy in place whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as copy, file.open("rb") as original:
            shutil.copyfileobj(original, copy)
        Path(name).replace(target)
    except OSError as error:
        with suppress(OSError):
            Path(name).unlink()
        raise CitywiseError(f"{target}: cannot be written: {error.strerror}") from None


def report(feed: Feed, today: date) -> Iterator[str]:
    """What a timetable holds, until when, and its faults."""
    running = {trip.service for trip in feed.trips}
    days = sorted({day for service in running for day in feed.days.get(service, ())})
    yield f"stops\t{len(feed.stops)}"
    yield f"routes\t{len(feed.routes)}"
    yield f"trips\t{len(feed.trips)}, {sum(len(trip.calls) for trip in feed.trips)} stop times"
    if days:
        ends = ""
        if days[-1] < today:
            ends = "; it is over"
        elif days[-1] < today + _ENDS_SOON:
            ends = "; it ends soon: import the next one"
        yield f"days\t{days[0]} to {days[-1]}{ends}"
    else:
        yield "days\tnone: nothing of it ever runs"
    for unread in feed.unread:
        yield f"not read\t{unread}"
    yield f"faults\t{feed.fault_count}"
    yield from feed.faults
    if feed.fault_count > len(feed.faults):
        yield f"… and {feed.fault_count - len(feed.faults)} more"


class Kept:
    """The timetables of a city's folder, read again when they change; the old ones stay in use
    until then, and where the new ones cannot be read."""

    def __init__(self, city: Path, router: Router | None) -> None:
        self._folder, self._router = city / FOLDER, router
        self._transit: Transit | None = None
        self._feeds: Stamp = ()
        self._realtime: Stamp = ()
        self._loading: threading.Thread | None = None
        self._town: tuple[Feed, Transit] | None = None
        self._told_ms = -_TOLD_MS

    def transit(self, now_ms: int) -> Transit | None:
        """What is known at a time of the city (Unix ms); None where there is no timetable. The
        simulated town has lines of its own."""
        feeds, realtime = self._stamp(".zip"), self._stamp(".pb")
        if self._router is not None and not feeds and town.is_town(self._router.network):
            return self._of_town(self._router, now_ms)
        if feeds != self._feeds and (self._loading is None or not self._loading.is_alive()):
            if self._transit is None:
                self._load(feeds, now_ms)
            else:
                self._loading = threading.Thread(
                    target=self._load, args=(feeds, now_ms), daemon=True
                )
                self._loading.start()
        if self._transit is not None and realtime != self._realtime:
            self._realtime = realtime
            self._update(self._transit)
        return self._transit

    def _of_town(self, router: Router, now_ms: int) -> Transit:
        if self._town is None:
            feed = town.timetable(router, now_ms)
            self._town = feed, Transit(Timetable([feed]), (), router)
        feed, transit = self._town
        realtime = self._stamp(".pb")
        if abs(now_ms - self._told_ms) > _TOLD_MS or realtime != self._realtime:
            self._told_ms, self._realtime = now_ms, realtime
            transit.update([town.lateness(feed, now_ms), *self._messages()])
        return transit

    def _stamp(self, suffix: str) -> Stamp:
        found = []
        with suppress(OSError):
            for path in sorted(self._folder.iterdir()):
                if path.suffix == suffix and not path.name.startswith("."):
                    stat = path.stat()
                    found.append((path.name, stat.st_mtime_ns, stat.st_size))
        return tuple(found)

    def _load(self, stamp: Stamp, now_ms: int) -> None:
        feeds = []
        for name, _, _ in stamp:
            try:
                feeds.append(read_feed(self._folder / name))
            except CitywiseError as error:
                LOG.error("a timetable is not used: %s", error)
        self._feeds = stamp
        if feeds:
            transit = Transit(Timetable(feeds), (), self._router, compiled=True)
            self._update(transit)
            transit.warm(now_ms)
            self._transit = transit
        elif not stamp:
            self._transit = None

    def _update(self, transit: Transit) -> None:
        transit.update(self._messages())

    def _messages(self) -> list[Message]:
        """The real-time data that can be read."""
        messages = []
        for name, _, _ in self._stamp(".pb"):
            try:
                messages.append(message_in(self._folder / name))
            except CitywiseError as error:
                LOG.error("real-time data are not used: %s", error)
        return messages
