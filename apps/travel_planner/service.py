"""The app's own process: it follows trips, learns what is usual, and removes what is old."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlalchemy import Engine, select

from citywise.apps.travel_planner import repeats, trips
from citywise.apps.travel_planner.tables import TripRow
from citywise.apps.travel_planner.trips import APP
from citywise.backend.app import CitywiseError, Settings, beat, clocks, outbox

if TYPE_CHECKING:
    from citywise.apps.travel_planner.follower import Follower
    from citywise.apps.travel_planner.repeater import Repeater
    from citywise.apps.travel_planner.roads.learned import Learner

LOG = logging.getLogger("citywise.travel_planner")
POLL_S = 0.05
REPEAT_S = 0.5
LEARN_S = 60.0
TRIM_S = 600.0
CALM_S = 30.0
"""So long after the start the city is read only if somebody is followed: it takes seconds of
work, which the rest of the system needs just then."""
_BEAT_S = 1.0
_RETRY_S = 1.0
_NO_CITY_S = 5.0


def serve(settings: Settings, engine: Engine, stop: threading.Event) -> None:
    """Follow trips until `stop` is set; the heartbeat `travel_planner` says how it fares."""
    Service(settings, engine, stop).run()


class Service:
    """Follows, learns what is usual, and removes what is old."""

    def __init__(self, settings: Settings, engine: Engine, stop: threading.Event) -> None:
        self._settings = settings
        self._engine = engine
        self._stop = stop
        self._learner: Learner | None = None
        self._follower: Follower | None = None
        self._repeater: Repeater | None = None
        self._lacks: str | None = None
        self._city_at = self._beat_at = self._repeat_at = 0.0
        self._trim_at = time.monotonic()
        self._calm_until = self._trim_at + CALM_S
        self._learn_at = self._trim_at + LEARN_S

    def run(self) -> None:
        """Work until stopped; what fails is tried again."""
        while not self._stop.is_set():
            self._stop.wait(0 if self._step() else POLL_S)

    def _step(self) -> bool:
        """Do what is due; returns whether there may be more."""
        is_behind = self._safely(self._follow)
        is_behind |= self._safely(self._repeat)
        now = time.monotonic()
        if now >= self._learn_at:
            self._learn_at = now + LEARN_S
            self._safely(self._learn)
        if now >= self._trim_at:
            self._trim_at = now + TRIM_S
            self._safely(self._trim)
        if now >= self._beat_at:
            self._beat_at = now + _BEAT_S
            self._safely(self._beat)
        return is_behind

    def _safely(self, duty: Callable[[], object]) -> bool:
        """What a duty says; what one cannot do, the others do not wait for."""
        try:
            return bool(duty())
        except Exception:
            LOG.exception("cannot follow trips; trying again")
            self._stop.wait(_RETRY_S)
            return False

    def _follow(self) -> bool:
        now = time.monotonic()
        if self._follower is None and now >= self._city_at and self._is_needed(now):
            self._city_at = now + _NO_CITY_S
            self._make()
        return self._follower is not None and self._follower.step()

    def _repeat(self) -> bool:
        """Tell of repeating trips, once in a while: their times are in minutes."""
        now = time.monotonic()
        if self._repeater is None or self._follower is None or now < self._repeat_at:
            return False
        is_behind = self._repeater.step(self._follower.conditions())
        self._repeat_at = now if is_behind else now + REPEAT_S
        return is_behind

    def _is_needed(self, now: float) -> bool:
        """Whether it is time for the follower: somebody is followed, or the start is over."""
        if now >= self._calm_until:
            return True
        with self._engine.connect() as connection:
            query = select(TripRow.id).where(TripRow.state == "following").limit(1)
            return connection.scalar(query) is not None or repeats.are_any(connection)

    def _learn(self) -> None:
        from citywise.apps.travel_planner.roads.learned import Learner

        self._learner = self._learner or Learner(self._engine)
        self._learner.learn()

    def _make(self) -> None:
        """The follower and who tells of repeating trips, as soon as there is a city for them."""
        from citywise.apps.travel_planner import follower

        try:
            made = follower.follower_of(self._settings, self._engine)
            self._follower, self._repeater = made
            self._lacks = None
        except CitywiseError as error:
            if self._lacks is None:
                LOG.warning("no trips are followed: %s", error)
            self._lacks = str(error)

    def _trim(self) -> None:
        with self._engine.begin() as connection:
            outbox.begin(connection)
            trips.trim(connection, clocks.read(connection).now_ms)

    def _beat(self) -> None:
        following = self._follower.following if self._follower else 0
        proposed = self._follower.proposed if self._follower else 0
        repeats_told = self._repeater.told if self._repeater else 0
        detail = {
            "following": following,
            "proposed": proposed,
            "repeats_told": repeats_told,
            "lacks": self._lacks,
        }
        with self._engine.begin() as connection:
            beat(connection, APP, detail)
