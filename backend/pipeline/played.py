"""What a stretch of the log brings, without a broker, a database or Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from citywise.backend.city.events import event_object, standing_event
from citywise.backend.city.observations import latest_values
from citywise.backend.ingest.blocks import Block, apart
from citywise.backend.ingest.payloads import Place, of_event
from citywise.backend.ingest.places import stored
from citywise.backend.ingest.records import (
    ClockReading,
    LogEntry,
    Reading,
    Standing,
    Withdrawal,
)
from citywise.backend.ingest.standing import of_place
from citywise.backend.kinds import Kinds, builtin
from citywise.backend.notices.objects import notice_object
from citywise.backend.notices.wording import spoken
from citywise.backend.packs.notices import OpenNotices
from citywise.backend.packs.run import TemplateRun
from citywise.backend.packs.sight import Sight
from citywise.backend.packs.steps import Step
from citywise.backend.packs.supply import UNREADABLE
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.pipeline.evaluation import RequestRun, Row
from citywise.backend.pipeline.ledger import announced, ordered
from citywise.backend.pipeline.prepared import prepared
from citywise.backend.pipeline.requests import find, possible
from citywise.backend.settings import Pipeline
from citywise.backend.space.geometry import Spot
from citywise.reasoning import Choice, ItemError

Announced = tuple[int, str, dict[str, Any]]
"""Evaluation time (Unix ms), kind, and the event or notice of docs/api.md."""

Failed = Callable[[int, str, str], None]
"""Told when something could not be evaluated: time (Unix ms), the name of the request or
template, and why."""


def unheard(_t_ms: int, _name: str, _why: str) -> None:
    """Whatever failed is nobody's concern."""


class Played:
    """The city's requests and apps' templates over log entries, one after the other.

    `requests` run beside the city's own; None: none at all. What they conclude stands for the
    templates from the same clock on. `failed` is told what could not be evaluated. `kinds` are
    those of the readings; if left out, those that come with Citywise.
    """

    def __init__(
        self,
        places: Iterable[Place],
        templates: Sequence[TemplateVersion] = (),
        requests: Sequence[str] | None = (),
        failed: Failed = unheard,
        engine: Choice = "auto",
        kinds: Kinds | None = None,
    ) -> None:
        settings = Pipeline()
        limits = settings.limits.of_engine()
        names = () if requests is None else dict.fromkeys([*settings.requests, *requests])
        self._kinds = builtin() if kinds is None else kinds
        self._requests = [
            RequestRun(prepared(path, self._kinds, limits, engine=engine))
            for path in possible(map(find, names), self._kinds)
        ]
        self.runs = [TemplateRun(template) for template in templates]
        self._places: dict[str, Place] = {}
        self._names: dict[str, tuple[str, float | None, float | None]] = {}
        self._events: dict[str, Mapping[str, Any]] = {}
        self._waiting: list[Reading | Block] = []
        self._opened = OpenNotices()
        self._failed = failed
        heard = failed is not unheard
        self._sights = [(t, Sight(t)) for t in templates if heard]
        for place in places:
            self._stand(Standing(*of_place(place), 0))

    def take(self, entry: LogEntry | Block) -> Iterable[Announced]:
        """The next entry; yields what it brings."""
        if not isinstance(entry, Block):
            return self._announced(entry)
        if not self.runs:
            self._wait(entry)
            return ()
        return (found for each in entry.readings() for found in self._announced(each))

    def _announced(self, entry: LogEntry) -> Iterator[Announced]:
        if isinstance(entry, Standing):
            self._stand(entry)
            return
        yield from self._happenings(entry)
        for template, change in self._concluded(entry):
            yield change["t_ms"], "notice", self._notice(template, change)

    def conclude(self, entry: LogEntry) -> Iterator[dict[str, Any]]:
        """As `take`, but yields changes of notices only, as rows carry them."""
        if isinstance(entry, Standing):
            self._stand(entry)
            return
        list(self._happenings(entry))
        yield from (change for _template, change in self._concluded(entry))

    def _happenings(self, entry: Reading | Withdrawal | ClockReading) -> Iterator[Announced]:
        """What the city's requests conclude; it stands for the templates from here on."""
        if isinstance(entry, Reading):
            self._wait(entry)
            return
        taken: list[LogEntry | Block] = [*self._waiting, entry]
        self._waiting = []
        rows = [row for run in self._requests for row in self._rows(run, taken)]
        for row in ordered(row for row in rows if row.kind == "change"):
            event, news = announced(self._events.get(row.body["id"]), row)
            self._events[event["id"]] = event
            if event["end_ms"] is not None:
                del self._events[event["id"]]
            if news:
                body = self._event(event)
                if self.runs and event["place_id"] in self._places:
                    self._stand(self._standing(body, entry.position))
                yield row.t_ms, row.body["kind"], body

    def _wait(self, taken: Reading | Block) -> None:
        """Readings move no time: the requests take them with the clock that follows."""
        if self._sights:
            for reading in apart((taken,)):
                self._look_at(reading)
        self._waiting.append(taken)

    def _look_at(self, reading: Reading) -> None:
        """Tell of templates whose rules cannot take a reading: for them it is not there."""
        for template, sight in self._sights:
            try:
                if kind := template.kinds.get(reading.kind):
                    sight.atoms(sight.place(reading.sensor), latest_values(reading.values, kind))
            except ItemError as error:
                why = f"reading of {reading.kind} of `{reading.sensor}`: {error}"
                self._failed(reading.observed_ms, template.request_name, why)

    def _rows(self, run: RequestRun, entries: Iterable[LogEntry | Block]) -> Iterator[Row]:
        """What a request brings; what it could not do is told."""
        for row in (*run.take(*entries), *run.dead_letters()):
            why = row.body.get("error" if row.kind == "trace" else "detail")
            if why is not None:
                self._failed(row.t_ms, row.request, why)
            yield row

    def _concluded(self, entry: LogEntry) -> Iterable[tuple[TemplateVersion, dict[str, Any]]]:
        """What an entry brings, of all templates in the order of times."""
        found = [told for run in self.runs for told in self._notices_of(run, run.take(entry))]
        return sorted(found, key=lambda told: int(told[1]["t_ms"]))

    def _notices_of(
        self, run: TemplateRun, steps: Iterable[Step]
    ) -> Iterator[tuple[TemplateVersion, dict[str, Any]]]:
        for step in steps:
            for fault in step.faults:
                # A reading that cannot be taken has been told with its sensor.
                if not fault.startswith(UNREADABLE):
                    self._failed(step.t_ms, run.template.request_name, fault)
            yield from ((run.template, self._opened.take(change)) for change in step.changes)

    def _stand(self, entry: Standing) -> None:
        if entry.subject == "place" and entry.body is not None:
            self._places.update((place.id, place) for place in stored([entry.body]))
        if entry.subject in ("place", "event") and entry.body is not None:
            self._names[entry.key] = _named(entry)
        for run in self.runs:
            list(run.take(entry))

    def _event(self, event: Mapping[str, Any]) -> dict[str, Any]:
        place = self._places.get(event["place_id"])
        return event_object(event, place.summary() if place else None)

    def _standing(self, event: Mapping[str, Any], position: int) -> Standing:
        place = self._places[event["place"]["id"]]
        geometry = of_event(place.geometry.model_dump(mode="json"))
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
