"""The operator's page: sensors, requests, dead letters sent again, events opened by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from flask import Blueprint, Response, current_app, request
from prometheus_client.core import GaugeMetricFamily
from pydantic import Field

from citywise.backend.api import access, identity, instance_ids, limits, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.aside import aside
from citywise.backend.api.problems import ProblemError, fault, invalid, not_found
from citywise.backend.api.state import state
from citywise.backend.ingest import log
from citywise.backend.ingest.frames import LogError
from citywise.backend.ingest.payloads import Payload
from citywise.backend.layers import taking
from citywise.backend.operations import (
    byhand,
    events,
    foreign,
    last_hour,
    letters,
    metrics,
    processes,
    requests,
    sources,
)
from citywise.backend.operations.drafts import Changes, Draft, types
from citywise.backend.operations.errors import (
    BadTimesError,
    EventExistsError,
    EventOverError,
    NotReplayableError,
    UnknownEventError,
    UnknownLetterError,
    UnknownPlaceError,
)
from citywise.backend.operations.history import History
from citywise.backend.operations.readiness import HEARTBEAT_LIMIT_S
from citywise.backend.operations.roster import STATES, Look, Roster
from citywise.backend.operations.sending import NotSentError
from citywise.backend.packs import broken
from citywise.backend.packs.waiting import waits
from citywise.backend.store import clocks
from citywise.backend.store.models import LARGEST_ID
from citywise.backend.times import iso, wall_ms

blueprint = Blueprint("operator", __name__)

MOST_SENSORS = 5000
MOST_EVENTS = 1000
MOST_EVENT_FILE = 5_000_000
"""Characters of a file of events."""
_MOST_FAULTS = 20
_CONFLICTS = {
    EventExistsError: ("event-exists", "Event exists"),
    EventOverError: ("event-over", "Event over"),
    NotReplayableError: ("not-replayable", "Not replayable"),
}
_MISSING = (UnknownEventError, UnknownLetterError, UnknownPlaceError)


class LettersOf(Payload):
    """Which dead letters to send again: those of a reason, at most so many."""

    reason: Annotated[str, Field(min_length=1, max_length=64)]
    limit: Annotated[int, Field(ge=1, le=letters.MOST)] = 100


class EventFile(Payload):
    """A file of events in a format of others."""

    content: Annotated[str, Field(min_length=1, max_length=MOST_EVENT_FILE)]


class Drafts(Payload):
    """Events to open together."""

    events: Annotated[tuple[Draft, ...], Field(min_length=1, max_length=foreign.MOST)]


class Watch:
    """What the views of one application remember of its sensors and requests."""

    def __init__(self) -> None:
        city = state()
        self.lags = requests.Lags()
        self._roster = Roster(city.engine, History(city.settings.log_dir), aside)

    def look(self) -> Look:
        """The sensors now; a problem where the log cannot be read."""
        with _readable_log():
            return self._roster.look()


def watch() -> Watch:
    """That of the current application."""
    kept = current_app.extensions
    if "citywise-watch" not in kept:
        kept["citywise-watch"] = Watch()
    found = kept["citywise-watch"]
    assert isinstance(found, Watch)
    return found


def gauges() -> Iterator[GaugeMetricFamily]:
    """For `/metrics`; without the sensors where the log cannot be read."""
    with suppress(ProblemError):
        yield from metrics.of_sensors(watch().look())
    with state().engine.connect() as connection:
        yield from metrics.of_requests(connection)
        yield from metrics.of_events(connection)
        yield from sources.gauges(connection)


@blueprint.get("/operator/sensors")
@access.role("admin")
def list_sensors() -> Response:
    """Every sensor, the worst first."""
    parameters.only("state", "kind", "limit")
    states = parameters.choices("state", STATES) or list(STATES)
    known = tuple(state().kinds())
    kinds = parameters.choices("kind", known) or list(known)
    limit = parameters.integer("limit", 1000, 1, MOST_SENSORS) or 1000
    look = watch().look()
    found = [s for s in look.sensors if s.verdict.state in states and s.kind in kinds]
    return as_json(
        {
            "now": iso(look.now_ms),
            "counts": look.counts(),
            "sensors": [sensor.to_json(look.now_ms) for sensor in found[:limit]],
            "truncated": len(found) > limit,
        }
    )


@blueprint.get("/operator/requests")
@access.role("admin")
def list_requests() -> Response:
    """Every request and template, and every process, and how they fare."""
    parameters.only()
    city = state()
    limits = city.settings.pipeline.limits
    with _readable_log():
        end = log.durable_end(city.settings.log_dir)
    with city.engine.connect() as connection:
        found = requests.report(connection, limits, watch().lags, end)
        body = {
            "now": iso(clocks.read(connection).now_ms),
            "limits": limits.model_dump(),
            "processes": processes.report(connection, HEARTBEAT_LIMIT_S),
            "dead_letters": processes.dead_letters(connection),
            "minutes": last_hour.last_hour(connection, wall_ms(), watch().lags.worst_s),
            "broken_apps": [_fault(found) for found in broken.known()],
        }
    folders = [Path(folder) for folder in city.settings.apps.folders]
    waiting = [{"app": app, "kinds": lacking} for app, lacking in waits(folders, city.kinds())]
    found = list(_without_people(found))
    return as_json({**body, "waiting_apps": waiting, "requests": found})


@blueprint.get("/operator/events")
@access.role("admin")
def list_events() -> Response:
    """Events opened by hand, the newest first, and what types there are."""
    parameters.only("state", "limit")
    states = parameters.choices("state", byhand.STATES) or list(byhand.LIVE)
    limit = parameters.integer("limit", 200, 1, MOST_EVENTS) or 200
    with state().engine.connect() as connection:
        now = iso(clocks.read(connection).now_ms)
        found = [event.to_json() for event in byhand.listed(connection, states, limit)]
    return as_json({"now": now, "events": found, "types": list(types().values())})


@blueprint.post("/operator/events")
@access.role("admin")
def open_event() -> Response:
    """Open an event, or plan one."""
    parameters.only()
    draft = parameters.body(Draft)
    with _as_problems(), state().engine.begin() as connection:
        done = events.open_event(connection, draft, identity.own_id())
    return _done_response(done, status=201)


@blueprint.post("/operator/events/try")
@access.role("admin")
@limits.counted("expensive")
def try_events() -> Response:
    """What events a file holds that may be opened; nothing is kept."""
    # A quote within JSON is two characters.
    request.max_content_length = 2 * MOST_EVENT_FILE
    parameters.only()
    asked = parameters.body(EventFile)
    kinds, zone = state().kinds(), ZoneInfo(state().settings.city.zone)
    with state().engine.connect() as connection:
        now_ms = clocks.read(connection).now_ms
        city = taking.bounds(connection, kinds.layers)
    offer = aside(lambda: foreign.offered(asked.content, kinds, zone, now_ms, city))
    return as_json(
        {
            "format": offer.format,
            "events": offer.events,
            "left": offer.left._asdict(),
            "refused": [{"at": one.at, "said": one.said} for one in offer.refused[:_MOST_FAULTS]],
        }
    )


@blueprint.post("/operator/events/import")
@access.role("admin")
def import_events() -> Response:
    """Open or plan several events as one act, which is undone as one."""
    parameters.only()
    drafts = parameters.body(Drafts)
    with _as_problems(), state().engine.begin() as connection:
        done = events.import_events(connection, drafts.events, identity.own_id())
    opened = [event.to_json() for event in done.events]
    body = {"events": opened, "known": done.known, "audit": done.audit}
    return as_json(body, status=201 if opened else 200)


@blueprint.patch("/operator/events/<event_id>")
@access.role("admin")
def change_event(event_id: str) -> Response:
    """Change an event that is planned or open."""
    parameters.only()
    changes = parameters.body(Changes)
    with _as_problems(), state().engine.begin() as connection:
        done = events.change_event(connection, event_id, changes, identity.own_id())
    return _done_response(done)


@blueprint.post("/operator/events/<event_id>/end")
@access.role("admin")
def end_event(event_id: str) -> Response:
    """End an event; one that is still planned will not begin."""
    parameters.only()
    with _as_problems(), state().engine.begin() as connection:
        done = events.end_event(connection, event_id, identity.own_id())
    return _done_response(done)


@blueprint.post("/dead-letters/<int:letter_id>/replay")
@access.role("admin")
def replay_letter(letter_id: int) -> Response:
    """Publish a dead letter again."""
    parameters.only()
    if letter_id > LARGEST_ID:
        raise not_found(f"dead letter {letter_id}")
    city = state()
    with _as_problems():
        sent = letters.replay(city.engine, letter_id, city.settings.broker, identity.own_id())
    return as_json({"id": sent.id, "topic": sent.topic, "replayed_at": iso(wall_ms())})


@blueprint.post("/dead-letters/replay")
@access.role("admin")
def replay_letters() -> Response:
    """Publish the dead letters of a reason again, the oldest first."""
    parameters.only()
    asked = parameters.body(LettersOf)
    city = state()
    with _as_problems():
        found = letters.replay_all(
            city.engine, asked.reason, asked.limit, city.settings.broker, identity.own_id()
        )
    return as_json({"replayed": len(found.letters), "skipped": found.skipped, "left": found.left})


def _done_response(done: events.Done, status: int = 200) -> Response:
    return as_json({**done.event.to_json(), "audit": done.audit}, status=status)


def _fault(found: broken.Fault) -> dict[str, Any]:
    return {
        "app": found.app,
        "part": found.part,
        "reason": found.reason,
        "times": found.times,
        "last": iso(found.last_ms),
    }


def _without_people(found: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Failures may name template instances, and so whose they are."""
    asker = identity.person()
    for each in found:
        failure = each["last_failure"]
        if failure:
            error = instance_ids.without_others(failure["error"], asker)
            each = {**each, "last_failure": {**failure, "error": error}}
        yield each


@contextmanager
def _as_problems() -> Iterator[None]:
    """Turn what operators do wrong in the block into problems."""
    try:
        yield
    except BadTimesError as error:
        raise invalid([fault(error.field, str(error), error.code)]) from None
    except _MISSING as error:
        raise ProblemError(404, "not-found", "Not Found", str(error)) from None
    except tuple(_CONFLICTS) as error:
        raise ProblemError(409, *_CONFLICTS[type(error)], str(error)) from None
    except NotSentError as error:
        raise ProblemError(503, "broker-unreachable", "Broker unreachable", str(error)) from None


@contextmanager
def _readable_log() -> Iterator[None]:
    try:
        yield
    except (LogError, OSError) as error:
        raise ProblemError(
            503, "log-unreadable", "Log unreadable", f"{error}; try again later"
        ) from None
