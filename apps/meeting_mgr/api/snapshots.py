"""Meetings as they were read last, for the many who follow one: read once, shown to each."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from sqlalchemy import Engine

from citywise.apps.meeting_mgr import store
from citywise.apps.meeting_mgr.api.showing import Showing
from citywise.apps.meeting_mgr.model import Person
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.views import View
from citywise.backend.app import Settings, outbox, times

_MOST, _KEPT_S = 100, 10.0


@dataclass(frozen=True)
class Snapshot:
    """A meeting and who has joined it, with all that was announced up to an id."""

    position: int
    at_ms: int
    record: MeetingRecord | None
    people: tuple[Person, ...]
    read_s: float = field(default_factory=time.monotonic)
    _shown: dict[tuple[str, str], View | None] = field(default_factory=dict, repr=False)

    def shown(self, viewer: str, showing: Showing) -> View | None:
        """As the host (`viewer` is empty) or somebody who takes part sees it; None: it is gone,
        or they have left. Made once, however many changes it shows."""
        key = viewer, showing.origin
        if key not in self._shown:
            found = self._participant(viewer, showing) if viewer else self._host(showing)
            self._shown[key] = found
        return self._shown[key]

    def _host(self, showing: Showing) -> View | None:
        return self.record and showing.host(self.record, self.people, self.at_ms)

    def _participant(self, person: str, showing: Showing) -> View | None:
        me = next((p for p in self.people if p.id == person and p.left_ms is None), None)
        if self.record is None or me is None:
            return None
        return showing.participant(self.record, self.people, me, self.at_ms)


class Snapshots:
    """The last snapshots of a system's meetings, few and for seconds: they are not sealed."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self.engine, self._settings = engine, settings
        self._found: OrderedDict[str, Snapshot] = OrderedDict()
        self._lock = threading.Lock()

    def after(self, position: int, meeting_id: str) -> Snapshot:
        """A meeting with all that was announced up to an id, and perhaps more."""
        with self._lock:
            self._forget_old()
            found = self._found.get(meeting_id)
        if found is None or found.position < position:
            found = self._read(meeting_id)
            with self._lock:
                self._found[meeting_id] = found
                self._found.move_to_end(meeting_id)
        return found

    def _forget_old(self) -> None:
        since = time.monotonic() - _KEPT_S
        while self._found:
            oldest = next(iter(self._found.values()))
            if oldest.read_s >= since and len(self._found) <= _MOST:
                return
            self._found.popitem(last=False)

    def _read(self, meeting_id: str) -> Snapshot:
        boxes = store.boxes_of(self._settings)
        with self.engine.connect() as connection:
            # Time and position first: what is announced meanwhile is at most read too early.
            at_ms, position = times.wall_ms(), outbox.newest(connection)
            record = store.find(connection, boxes, meeting_id)
            people = () if record is None else store.people_of(connection, boxes, record)
        return Snapshot(position, at_ms, record, tuple(people))
