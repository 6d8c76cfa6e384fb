"""Who travels and who meets in a city that is tormented, and what is to become of it.

Somebody follows a way through the town: what was told of it is what its template tells in one
process that nothing disturbs, and at the end the trip is as another look at it would leave it.
Somebody hosts a meeting: each decision that was noted stands in it once, and what a guest's phone
tells of the noise around it is concluded once for each change.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import count, groupby, pairwise
from typing import Any

from citywise.apps.meeting_mgr import store
from citywise.apps.meeting_mgr.entries import AbilityChanged, Entry
from citywise.apps.travel_planner import trips
from citywise.apps.travel_planner.beginning import HORIZON_KM
from citywise.apps.travel_planner.ending import context_of
from citywise.apps.travel_planner.follower import follower_of
from citywise.apps.travel_planner.trips import TEMPLATES, Trip
from citywise.backend.city.steps import Source
from citywise.backend.ingest.records import ClockReading, Standing
from citywise.backend.machine import REPOSITORY
from citywise.backend.packs.check import checked
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.pipeline.played import Played
from citywise.backend.pipeline.recorded import entries
from citywise.backend.store.database import create_engine_for
from citywise.backend.supervisor import System
from citywise.backend.times import iso, wall_ms
from tests.street import running as street
from tests.street.soaking import EAST, WEST, Person, Stream, Wish, asked
from tests.torture.city import Found, notices, waits_in_inlet

TripTold = tuple[int, str, str]
"""When (Unix ms), what, of which event."""
_FROM, _TO = {"lat": 56.16896, "lon": 10.1276}, {"lat": 56.15018, "lon": 10.22097}
_APP = REPOSITORY / "apps" / "travel_planner"
_SAID = frozenset({"opened", "closed"})
_LOUD_DB, _QUIET_DB = 92.0, 50.0
_HOURS_MS = 24 * 3_600_000
_ON_ITS_WAY_MS = 15 * 60_000
_PATIENCE_S = 600.0
_PAUSE_S = 3.0


def newcomer(system: System, name: str) -> Person:
    """Somebody with a new account."""
    engine = create_engine_for(system.settings.database_url)
    try:
        return Person.sign_up(engine, name, Wish(WEST, EAST, 1))
    finally:
        engine.dispose()


class Traveller:
    """Somebody who follows a way through the town from stream time `begin_ms` on, with a page."""

    def __init__(self, system: System, begin_ms: int) -> None:
        self._begin_ms = begin_ms
        self._person = person = newcomer(system, "Berit")
        for subject in ("position", "route", "activity"):
            person.ask(system, "PUT", f"me/consents/{subject}", {"given": True})
        self._page = Stream(system, person)
        street.wait_until(system, lambda: self._page.opened > 0, _PATIENCE_S)
        journey = {"from": _FROM, "to": _TO, "mode": "car"}
        plan = person.ask(system, "POST", "plans/travel", journey)
        self._trip = str(person.ask(system, "POST", "trips", {"plan": plan["plan"]})["trip"]["id"])
        street.wait_until(system, lambda: not waits_in_inlet(system), _PATIENCE_S)

    def due(self, system: System, source: Source) -> list[TripTold]:
        """What is to be told of the way."""
        trip = self._kept(system)
        [template] = [one for one in checked(_APP).templates if one.name == TEMPLATES[trip.kind]]
        played, waiting = Played(source.places(), [template], ()), True
        found: list[TripTold] = []
        log = list(entries(source))
        clocks = [one.complete_ms for one in log if isinstance(one, ClockReading)]
        first_ms = max(ms for ms in clocks if ms <= self._begin_ms)
        for entry in log:
            if waiting and isinstance(entry, ClockReading) and entry.complete_ms == first_ms:
                waiting = False
                for standing in _standing(trip, template):
                    list(played.take(standing))
            for t_ms, kind, body in played.take(entry):
                if kind == "notice" and body["change"] in _SAID:
                    about = str(body["about"]["id"])
                    found.append((max(t_ms, self._begin_ms), str(body["change"]), about))
        return sorted(found)

    def told(self, system: System) -> list[TripTold]:
        """What the outbox tells, in its order."""
        return [
            (t_ms, body["change"], body["about"]["id"])
            for t_ms, body in notices(system)
            if body["user"] == self._person.user and body["change"] in _SAID
        ]

    def seen(self, system: System, number: int) -> list[tuple[str, str]]:
        """What the page has been told, when it knows of so many or does not get on."""
        with suppress(AssertionError):
            street.wait_until(system, lambda: len(self._said()) >= number, 60.0)
        self._page.end()
        return self._said()

    def _said(self) -> list[tuple[str, str]]:
        return [(what, about) for what, about, _ in self._page.told.changes if what in _SAID]

    def is_settled(self, system: System) -> bool:
        """Whether another look at the trip, of a follower that knows nothing yet, leaves it."""
        engine = create_engine_for(system.settings.database_url)
        follower, _ = follower_of(system.settings, engine)

        def is_left() -> bool:
            before = self._kept(system)
            while follower.step():
                pass
            return before.state == "following" and before == self._kept(system)

        try:
            street.wait_until(system, is_left, 60.0)
        except AssertionError:
            return False
        finally:
            engine.dispose()
        return True

    def _kept(self, system: System) -> Trip:
        engine = create_engine_for(system.settings.database_url)
        with engine.connect() as connection:
            found = trips.find(connection, trips.boxes_of(system.settings), self._trip)
        engine.dispose()
        assert found is not None, "the trip is lost"
        return found


def _standing(trip: Trip, template: TemplateVersion) -> Iterator[Standing]:
    """What stands in the log while a trip is followed."""
    for subject, body in context_of(trip).items():
        yield Standing(subject, trip.user, body, 0)
    values = template.bind({"horizon": HORIZON_KM[trip.content.plan["mode"]]})
    more = {"app": template.app, "template": template.name, "version": template.version}
    yield Standing("instance", trip.instance, {**more, "user": trip.user, "values": values}, 0)


class Meeting(threading.Thread):
    """A meeting in which something is decided, and somebody's noise changes, without pause."""

    def __init__(self, system: System) -> None:
        super().__init__(daemon=True)
        self._system = system
        self._host = newcomer(system, "Carla")
        self.decided: list[str] = []
        self.noise: list[str] = []
        """What was seen of the guest's noise by the host, in order."""
        self.error: str | None = None
        self._ends = threading.Event()
        now_ms = wall_ms()
        meeting = self._host.ask(system, "POST", "meetings", {
            "title": "Torture", "starts": iso(now_ms), "ends": iso(now_ms + _HOURS_MS),
            "room": {"name": "Room B"}, "rules": {"dwell_s": 0},
        })  # fmt: skip
        self._id = str(meeting["id"])
        self._path = f"meetings/{self._id}"
        self._host.ask(system, "POST", f"{self._path}/actions", {"do": "start"})
        guest = {"key": meeting["join"]["key"], "name": "Dan"}
        _, self._cookie = asked(system, "POST", f"{self._path}/people", guest, {})
        self._as_guest("PUT", "sharing", {"sensors": ["noise"]})
        self.start()

    def run(self) -> None:
        try:
            for number in count(1):
                self._decide(f"Decision {number}")
                self._tell(*((_LOUD_DB, "off") if number % 2 else (_QUIET_DB, "on")))
                if self._ends.wait(_PAUSE_S):
                    return
        except Exception as error:  # noqa: BLE001 - it is what this looks for
            self.error = f"{type(error).__name__}: {error}"

    def end(self) -> None:
        """Come to the end of what is being done."""
        self._ends.set()
        street.wait_until(self._system, lambda: not self.is_alive(), _PATIENCE_S)

    def differences(self) -> Iterator[str]:
        """How the meeting differs from what was done and seen."""
        if self.error is not None:
            yield f"meeting: {self.error}"
        kept = [one["text"] for one in self._shown()["decisions"]]
        if kept != self.decided:
            yield f"meeting: {len(self.decided)} decisions were noted, {len(kept)} are there"
        bodies = [entry.body for entry in self._entries()]
        if (told := sum(one.kind == "decision" for one in bodies)) != len(self.decided):
            yield f"meeting: {told} of {len(self.decided)} decisions are told of"
        states = [
            one.state
            for one in bodies
            if isinstance(one, AbilityChanged) and one.capability == "speak"
        ]
        if any(before == after for before, after in pairwise(states)):
            yield f"meeting: the same is told twice: {states}"
        changes = [state for state, _ in groupby(s for s in states if s in ("on", "off"))]
        if changes != self.noise:
            yield f"meeting: {len(self.noise)} changes of noise were seen, {len(changes)} are told"

    def _decide(self, text: str) -> None:
        """Have it noted: again while it is not known to be."""
        while not self._is_decided(text):
            with suppress(OSError, http.client.HTTPException):
                self._host.ask(self._system, "POST", f"{self._path}/decisions", {"text": text})
        self.decided.append(text)

    def _is_decided(self, text: str) -> bool:
        return text in [one["text"] for one in self._shown()["decisions"]]

    def _tell(self, noise_db: float, state: str) -> None:
        """Let the phone tell it until the host sees it."""
        while self._speaks() != state:
            body = {"at": iso(wall_ms()), "values": {"noise_db": noise_db}}
            with suppress(OSError, http.client.HTTPException):
                self._as_guest("POST", "readings", body)
            time.sleep(0.6)
        self.noise.append(state)

    def _speaks(self) -> str:
        [guest] = self._shown()["people"]
        return str(guest["abilities"].get("speak", {}).get("state"))

    def _shown(self) -> Any:
        return self._until_answered(lambda: self._host.ask(self._system, "GET", self._path))

    def _entries(self) -> Iterator[Entry]:
        """What happened, the oldest first."""
        engine = create_engine_for(self._system.settings.database_url)
        boxes = store.boxes_of(self._system.settings)
        with engine.connect() as connection:
            found = store.newest_entries(connection, boxes, self._id, None, store.MOST_ENTRIES)
        engine.dispose()
        yield from reversed(found)

    def _until_answered(self, ask: Callable[[], Any]) -> Any:
        for _try in range(1000):
            with suppress(OSError, http.client.HTTPException):
                return ask()
            time.sleep(0.3)
        raise AssertionError("the web does not answer")

    def _as_guest(self, method: str, what: str, body: Any) -> None:
        path = f"{self._path}/people/me/{what}"
        asked(self._system, method, path, body, {"Cookie": self._cookie})


def compare(found: Found, got: Sequence[TripTold], due: Sequence[TripTold]) -> None:
    """What was told of a way, and what was to be. An event comes to who travels with the first
    clock after it is announced, so the last ones may not have come."""
    last_ms = max((t for t, _, _ in due), default=0) - _ON_ITS_WAY_MS
    told = [one[1:] for one in got]
    found.count(told, [one[1:] for one in due if one[0] <= last_ms or one[1:] in told])
    times = {one[1:]: one[0] for one in due}
    found.early += sum(t < times.get((what, about), t) for t, what, about in got)


def look_at(
    found: Found, system: System, source: Source, traveller: Traveller, meeting: Meeting
) -> None:
    """Compare what became of who travels and who meets, when all is answered."""
    got, due = traveller.told(system), traveller.due(system, source)
    found.ahead, found.acts = len(got), len(meeting.decided) + len(meeting.noise)
    compare(found, got, due)
    seen = traveller.seen(system, len(got))
    if seen != [(what, about) for _, what, about in got]:
        found.differ(f"trip: the page saw {len(seen)} of {len(got)} notices, or in another order")
    if not traveller.is_settled(system):
        found.differ("trip: another look at it changes it")
    for difference in meeting.differences():
        found.differ(difference)
