"""Every sensor of the city and what is to be said of it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any

from sqlalchemy import Engine, select

from citywise.backend.kinds import Kinds
from citywise.backend.kinds.doubt import Doubt, Recent, doubts
from citywise.backend.kinds.health import Peers, Series, State, Verdict, judge
from citywise.backend.kinds.installed import KnownKinds
from citywise.backend.operations.history import History
from citywise.backend.store import clocks
from citywise.backend.store.models import PlaceRow, ReadingRow
from citywise.backend.times import iso

FRESH_S = 5.0
"""How long a look at all sensors is good for."""
STATES: tuple[State, ...] = ("silent", "implausible", "ok")
"""The worst first."""
REVISED = ("late", "corrected", "withdrawn")
"""What readings of a sensor may be, beside in order."""
_MINUTE_MS = 60_000
_PLACE = ("id", "name", "kind", "lat", "lon")


@dataclass(frozen=True)
class Sensor:
    """A sensor: its place, its last readings, and what is said of it."""

    kind: str
    place: dict[str, Any]
    series: Series
    verdict: Verdict
    doubt: Doubt | None = None
    """What rules know of how far it can be trusted; None: there is no reading that counts."""

    def to_json(self, now_ms: int) -> dict[str, Any]:
        """As the API shows it at `now_ms` (stream time, Unix ms)."""
        last, period = self.series.last, self.series.period_ms
        return {
            "kind": self.kind,
            "place": self.place,
            "state": self.verdict.state,
            "reasons": [
                {"check": f.check, "text": f.text, "numbers": dict(f.numbers)}
                for f in self.verdict.findings
            ],
            "last": last
            and {
                "observed_at": iso(last.observed_ms),
                "age_s": max(0.0, (now_ms - last.observed_ms) / 1000),
                "values": dict(last.values),
                "extra": dict(last.extra),
            },
            "reliability": self.doubt
            and {
                "reliable": self.doubt.reliable,
                "percent": self.doubt.percent,
                "because": self.doubt.because,
                "accuracy": dict(self.doubt.accuracy),
            },
            "period_s": None if period is None else period / 1000,
            "revised": {name: getattr(self.series, name) for name in REVISED},
        }


@dataclass(frozen=True)
class Look:
    """All sensors at one moment of stream time (Unix ms), the worst first."""

    now_ms: int
    sensors: tuple[Sensor, ...]
    kinds: Kinds

    def counts(self) -> dict[str, dict[State, int]]:
        """How many sensors of each kind are in each state."""
        counts: dict[str, dict[State, int]] = {
            kind: dict.fromkeys(STATES, 0) for kind in self.kinds
        }
        for sensor in self.sensors:
            counts[sensor.kind][sensor.verdict.state] += 1
        return counts

    def revised(self) -> dict[str, dict[str, int]]:
        """How many readings of each kind came late, were corrected and withdrawn."""
        found = {kind: dict.fromkeys(REVISED, 0) for kind in self.kinds}
        for sensor in self.sensors:
            for name in REVISED:
                found[sensor.kind][name] += getattr(sensor.series, name)
        return found


class Roster:
    """Looks at all sensors, at most every few seconds.

    `aside` does what takes long where it holds up nobody else (`backend.api.aside`).
    """

    def __init__(
        self, engine: Engine, history: History, aside: Callable[[Callable[[], None]], None]
    ) -> None:
        self._engine = engine
        self._history = history
        self._aside = aside
        self._kinds = KnownKinds()
        self._lock = Lock()
        self._look: Look | None = None
        self._at = 0.0

    def look(self) -> Look:
        """The sensors as of a few seconds ago at most.

        Takes a second or two where the log has not been read before. Raises `LogError`, `OSError`
        and SQLAlchemy's errors.
        """
        with self._lock:
            if self._look is None or time.monotonic() - self._at > FRESH_S:
                self._look, self._at = self._now(), time.monotonic()
            return self._look

    def _now(self) -> Look:
        self._aside(self._history.follow)
        with self._engine.connect() as connection:
            now_ms = clocks.read(connection).now_ms
            kinds = self._kinds.read(connection)
            places = connection.execute(select(PlaceRow.__table__)).mappings().all()
            readings = connection.execute(select(ReadingRow.__table__)).all()
        latest = {(row.kind, row.place_id): (row.observed_ms, row.body) for row in readings}
        known: list[tuple[str, Any, Series]] = []
        for place in places:
            carried = place["body"].get("sensors", ())
            for kind in (name for name in kinds if name in carried):
                series = self._history.series(kind, place["id"])
                if series.last is None and (found := latest.get((kind, place["id"]))):
                    series.take(*found)
                known.append((kind, place, series))
        sensors = self._judged(known, kinds, now_ms)
        return Look(now_ms, tuple(sorted(sensors, key=lambda s: _order(s, now_ms))), kinds)

    def _judged(
        self, known: list[tuple[str, Any, Series]], kinds: Kinds, now_ms: int
    ) -> Iterator[Sensor]:
        by_kind: dict[str, list[Series]] = defaultdict(list)
        for kind, _place, series in known:
            by_kind[kind].append(series)
        peers = {kind: Peers(series) for kind, series in by_kind.items()}
        doubted = _doubted(known, kinds, now_ms)
        since = now_ms if self._history.since_ms is None else self._history.since_ms
        for kind, place, series in known:
            free_flow = place["body"].get("free_flow_kmh")
            verdict = judge(series, kinds[kind], peers[kind], now_ms, since, free_flow)
            shown = {key: place[key] for key in _PLACE}
            yield Sensor(kind, shown, series, verdict, doubted[kind].get(place["id"]))


def _doubted(
    known: Iterable[tuple[str, Any, Series]], kinds: Kinds, now_ms: int
) -> dict[str, dict[str, Doubt]]:
    """How far the sensors can be trusted, by kind and id."""
    recent: dict[str, dict[str, Recent]] = defaultdict(dict)
    for kind, place, series in known:
        at = None if place["lat"] is None else (place["lat"], place["lon"])
        free_flow = place["body"].get("free_flow_kmh")
        recent[kind][place["id"]] = Recent(list(series.samples), at, free_flow)
    minute = now_ms // _MINUTE_MS * _MINUTE_MS
    return {kind: doubts(kinds[kind], found, minute) for kind, found in recent.items()}


def _order(sensor: Sensor, now_ms: int) -> tuple[int, float, str, str]:
    last = sensor.series.last
    age = float("inf") if last is None else now_ms - last.observed_ms
    return STATES.index(sensor.verdict.state), -age, sensor.kind, sensor.place["id"]
