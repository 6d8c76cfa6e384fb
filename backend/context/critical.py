"""What is critical to somebody right now, by the template that also notifies them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from citywise.backend.errors import CitywiseError
from citywise.backend.ingest.records import ClockReading, Standing
from citywise.backend.ingest.standing import Entry
from citywise.backend.packs.run import TemplateRun
from citywise.backend.packs.template import TemplateVersion, Values
from citywise.reasoning import Limits

APP, TEMPLATE = "contextual_filtering", "critical_events"
_ME = "me"
Event = Mapping[str, Any]
"""An open event as it stands in the log (`backend.ingest.standing.EventState`)."""


@dataclass(frozen=True)
class CriticalEvent:
    """An open event that is critical to somebody."""

    id: str
    event: Event
    criticality: int
    """1 (hardly) to 5 (very)."""
    rank: int
    """1 is the most critical; equal ones share a rank."""
    metres: int | None
    """Along the route or to the user's position, where that is known."""
    why: tuple[str, ...]
    """The atoms that say so."""


class NotAnsweredError(CitywiseError):
    """The rules could not say what is critical; the message says why."""


def critical_events(
    template: TemplateVersion,
    values: Values,
    events: Mapping[str, Event],
    context: Iterable[Entry],
    now_ms: int,
    limits: Limits | None = None,
) -> list[CriticalEvent]:
    """Which open events are critical at a time (Unix ms), the most critical first.

    `values` are those of an instance; `context` are the entries that stand of its user, whoever
    their keys name. With `limits` it is evaluated in a process of its own. Raises
    `BadValuesError` for values that do not fit the template, `NotAnsweredError` at a limit.
    """
    entries = list(_standing(template, template.bind(values), events, context))
    clock = ClockReading(now_ms, now_ms, len(entries))
    with closing(TemplateRun(template, limits)) as run:
        for entry in entries:
            list(run.take(entry))
        steps = list(run.take(clock))
    for step in steps:
        if step.error is not None:
            raise NotAnsweredError(step.error)
    found = [_critical(change, events) for step in steps for change in step.changes]
    return sorted(found, key=lambda each: (each.rank, each.id))


def _standing(
    template: TemplateVersion,
    values: Values,
    events: Mapping[str, Event],
    context: Iterable[Entry],
) -> Iterator[Standing]:
    body = {
        "app": template.app,
        "template": template.name,
        "version": template.version,
        "user": _ME,
        "values": values,
    }
    entries: Sequence[tuple[str, str, Mapping[str, Any] | None]] = [
        ("instance", _ME, body),
        *((entry.subject, _ME, entry.body) for entry in context),
        *(("event", name, event) for name, event in events.items()),
    ]
    for position, entry in enumerate(entries):
        yield Standing(*entry, position)


def _critical(change: Mapping[str, Any], events: Mapping[str, Event]) -> CriticalEvent:
    details = change["details"]
    return CriticalEvent(
        id=change["about"],
        event=events[change["about"]],
        criticality=change["criticality"],
        rank=details["rank"],
        metres=details.get("metres"),
        why=tuple(change["why"]),
    )
