"""What the system would have produced over recorded data, without a broker or Spark."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import orjson

from backend.city.events import event_object, standing_event
from backend.city.replay import Replay
from backend.city.source import SETTLE_MS
from backend.city.steps import Source
from backend.ingest.payloads import Place
from backend.ingest.records import ClockReading, LogEntry, Reading, Standing
from backend.ingest.standing import of_place
from backend.notices.objects import notice_object
from backend.notices.wording import spoken
from backend.packs import run as packs
from backend.packs.notices import OpenNotices
from backend.packs.run import TemplateRun
from backend.packs.template import TemplateVersion
from backend.pipeline.evaluation import RequestRun
from backend.pipeline.ledger import announced, ordered
from backend.pipeline.prepared import prepared
from backend.pipeline.requests import find
from backend.settings import Pipeline
from backend.space.geometry import Spot
from backend.times import iso, to_ms

Announced = tuple[int, str, dict[str, Any]]
"""Evaluation time (Unix ms), kind, and the object of DESIGN A10."""


def announcements(data: Path, start: datetime, until: datetime, lead_in: float) -> Iterator[str]:
    """JSON lines of `citywise replay` (DESIGN A3) for recorded city data.

    `lead_in` hours before `start` are evaluated for state but not reported.
    """
    return lines(changes(_replay(data, start, until, lead_in)), start)


def notices(
    data: Path,
    start: datetime,
    until: datetime,
    lead_in: float,
    templates: Sequence[TemplateVersion],
    users: Iterable[tuple[int, Standing]] = (),
    requests: Sequence[str] = (),
) -> Iterator[Announced]:
    """The notices of templates over recorded city data, lead-in included.

    `requests` run beside the city's own; `users` are what stands besides what the city gives,
    with the time from which it does, in order of time: users' positions, routes, instances.
    """
    source = _replay(data, start, until, lead_in)
    played = Played(source.places(), templates, requests)
    for entry in _with(users, entries(source)):
        yield from (found for found in played.take(entry) if found[1] == "notice")


def lines(found: Iterable[Announced], start: datetime) -> Iterator[str]:
    """Announcements from a time on as JSON lines."""
    first = to_ms(start)
    for t_ms, kind, body in found:
        if t_ms >= first:
            yield orjson.dumps({"t": iso(t_ms), "kind": kind, **body}).decode()


def changes(source: Source) -> Iterator[Announced]:
    """The events of a source's whole run."""
    played = Played(source.places())
    for entry in entries(source):
        yield from played.take(entry)


def concluded(
    found: Sequence[LogEntry], templates: Sequence[TemplateVersion], requests: Sequence[str] = ()
) -> Iterator[tuple[int, dict[str, Any]]]:
    """What templates conclude from entries of a log: stream time (Unix ms) and change.

    Where there are readings, the city's requests, and `requests`, make events of them; a
    second after such readings their windows are over.
    """
    if not any(isinstance(entry, Reading) for entry in found):
        yield from packs.notices(found, templates)
        return
    played = Played((), templates, requests)
    for entry in _settled(found):
        yield from ((change["t_ms"], change) for change in played.conclude(entry))


def run_after(
    found: Sequence[LogEntry],
    template: TemplateVersion,
    until_ms: int | None = None,
    requests: Sequence[str] = (),
) -> TemplateRun:
    """A template's run after entries of a log and what the city's requests make of them, up
    to a time (Unix ms)."""
    has_readings = any(isinstance(entry, Reading) for entry in found)
    played = Played((), [template], requests if has_readings else None)
    for entry in _settled(found):
        if not isinstance(entry, ClockReading) or until_ms is None or entry.now_ms <= until_ms:
            list(played.conclude(entry))
    return played.runs[0]


def _settled(found: Iterable[LogEntry]) -> Iterator[LogEntry]:
    """The entries, with a clock a second after readings where time passes on."""
    due: ClockReading | None = None
    has_readings = False
    for entry in found:
        now = entry.observed_ms if isinstance(entry, Reading) else None
        now = entry.complete_ms if isinstance(entry, ClockReading) else now
        if due is not None and (now is None or now > due.complete_ms):
            yield due
        due = None
        yield entry
        has_readings |= isinstance(entry, Reading)
        if isinstance(entry, ClockReading) and has_readings:
            end = entry.complete_ms + SETTLE_MS
            due, has_readings = ClockReading(end, end, entry.position), False
    if due is not None:
        yield due


class Played:
    """The city's requests and apps' templates over log entries, one after the other.

    `requests` run beside the city's own; None: none at all. What they conclude stands for the
    templates from the same clock on.
    """

    def __init__(
        self,
        places: Iterable[Place],
        templates: Sequence[TemplateVersion] = (),
        requests: Sequence[str] | None = (),
    ) -> None:
        settings = Pipeline()
        limits = settings.limits.of_engine()
        names = () if requests is None else dict.fromkeys([*settings.requests, *requests])
        self._requests = [RequestRun(prepared(find(name), limits)) for name in names]
        self.runs = [TemplateRun(template) for template in templates]
        self._places: dict[str, Place] = {}
        self._names: dict[str, tuple[str, float | None, float | None]] = {}
        self._events: dict[str, Mapping[str, Any]] = {}
        self._opened = OpenNotices()
        for place in places:
            self._stand(Standing(*of_place(place), 0))

    def take(self, entry: LogEntry) -> Iterator[Announced]:
        """The next entry; yields what it brings."""
        if isinstance(entry, Standing):
            self._stand(entry)
            return
        yield from self._happenings(entry)
        for template, change in self._concluded(entry):
            yield change["t_ms"], "notice", self._notice(template, change)

    def conclude(self, entry: LogEntry) -> Iterator[dict[str, Any]]:
        """The next entry; yields the changes of notices it brings, as rows carry them."""
        if isinstance(entry, Standing):
            self._stand(entry)
            return
        list(self._happenings(entry))
        yield from (change for _template, change in self._concluded(entry))

    def _happenings(self, entry: Reading | ClockReading) -> Iterator[Announced]:
        """What the city's requests conclude; it stands for the templates from here on."""
        rows = [row for r in self._requests for row in r.take(entry) if row.kind == "change"]
        for row in ordered(rows):
            event, news = announced(self._events.get(row.body["id"]), row)
            self._events[event["id"]] = event
            if event["end_ms"] is not None:
                del self._events[event["id"]]
            if news:
                body = self._event(event)
                if event["place_id"] in self._places:
                    self._stand(self._standing(body, entry.position))
                yield row.t_ms, row.body["kind"], body

    def _concluded(self, entry: LogEntry) -> Iterator[tuple[TemplateVersion, dict[str, Any]]]:
        for run in self.runs:
            for step in run.take(entry):
                yield from ((run.template, self._opened.take(change)) for change in step.changes)

    def _stand(self, entry: Standing) -> None:
        if entry.subject == "place" and entry.body is not None:
            self._places[entry.key] = Place.model_validate_json(orjson.dumps(entry.body))
        if entry.subject in ("place", "event") and entry.body is not None:
            self._names[entry.key] = _named(entry)
        for run in self.runs:
            list(run.take(entry))

    def _event(self, event: Mapping[str, Any]) -> dict[str, Any]:
        place = self._places.get(event["place_id"])
        return event_object(event, place.summary() if place else None)

    def _standing(self, event: Mapping[str, Any], position: int) -> Standing:
        geometry = self._places[event["place"]["id"]].geometry.model_dump(mode="json")
        return Standing("event", event["id"], standing_event(event, geometry), position)

    def _notice(self, template: TemplateVersion, found: Mapping[str, Any]) -> dict[str, Any]:
        """A change of a notice as the API shows it."""
        texts = {kind: text.model_dump() for kind, text in template.notices.items()}
        name, lat, lon = self._names.get(found["about"], (found["about"], None, None))
        closed = found["change"] == "closed"
        row = {
            **found,
            "kind": found["notice"],
            "about_name": name,
            "about_lat": lat,
            "about_lon": lon,
            "updated_ms": found["t_ms"],
            "closed_ms": found["t_ms"] if closed else None,
        }
        words = spoken(found["notice"], texts, template.strings)
        return notice_object(row, words, change=found["change"])


def _named(entry: Standing) -> tuple[str, float | None, float | None]:
    """Name and point of a place or an event."""
    assert entry.body is not None
    name = entry.body.get("name") or entry.key
    geometry = entry.body.get("geometry")
    if geometry is None:
        return name, None, None
    spot = Spot.of(geometry, directed=False)
    return name, spot.lat, spot.lon


def _replay(data: Path, start: datetime, until: datetime, lead_in: float) -> Replay:
    return Replay(data, start, until, timedelta(hours=lead_in), kinds=("traffic", "parking"))


def entries(source: Source) -> Iterator[Reading | ClockReading]:
    """A source's steps as they would stand in the log; a moment after each, time goes on."""
    positions = count()
    ahead: list[int] = []
    for step in source.steps():
        if ahead and ahead[0] < step.ms:
            yield ClockReading(ahead[0], ahead[0], next(positions))
        for batch in step.batches:
            for values in batch.readings:
                rest = {k: v for k, v in values.items() if k not in ("sensor", "observed_at")}
                sensor = str(values["sensor"])
                yield Reading(batch.kind, sensor, step.ms, step.ms, rest, next(positions))
        yield ClockReading(step.ms, step.ms, next(positions))
        ahead = [step.ms + SETTLE_MS]
    if source.until is not None:
        ahead.append(to_ms(source.until) + SETTLE_MS)
    for t_ms in dict.fromkeys(ahead):
        yield ClockReading(t_ms, t_ms, next(positions))


def _with(
    users: Iterable[tuple[int, Standing]], city: Iterable[Reading | ClockReading]
) -> Iterator[LogEntry]:
    """The city's entries, and what stands from a time on before those of that time; then a
    clock, as users do not wait for the city's sensors."""
    timed = ((_time(entry), 1, n, entry) for n, entry in enumerate(city))
    standing = ((t_ms, 0, n, entry) for n, (t_ms, entry) in enumerate(users))
    clock: int | None = None
    for t_ms, _order, _n, entry in heapq.merge(standing, timed, key=lambda found: found[:3]):
        if clock is not None and t_ms > clock:
            yield ClockReading(clock, clock, 0)
            clock = None
        if isinstance(entry, Standing):
            clock = t_ms
        yield entry


def _time(entry: Reading | ClockReading) -> int:
    return entry.observed_ms if isinstance(entry, Reading) else entry.complete_ms
