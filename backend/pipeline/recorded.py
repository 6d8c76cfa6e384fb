"""What the system would have produced over recorded data, without a broker or Spark."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from citywise.backend.city.replay import LASTING, Replay
from citywise.backend.city.source import SETTLE_MS
from citywise.backend.city.steps import Source, Table
from citywise.backend.ingest.blocks import Block
from citywise.backend.ingest.records import ClockReading, LogEntry, Reading, Standing
from citywise.backend.kinds import Kinds
from citywise.backend.packs.run import TemplateRun
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.pipeline.played import Announced, Failed, Played, unheard
from citywise.backend.times import iso, to_ms
from citywise.reasoning import Choice


def announcements(data: Path, start: datetime, until: datetime, lead_in: float) -> Iterator[str]:
    """JSON lines of `citywise replay` (docs/data.md) for recorded city data.

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
    failed: Failed = unheard,
    kinds: Kinds | None = None,
) -> Iterator[Announced]:
    """The notices of templates over recorded city data, lead-in included.

    `requests` run beside the city's own; `users` are what stands besides what the city gives,
    with the time from which it does, in order of time: users' positions, routes, instances.
    `failed` is told what could not be evaluated.
    """
    source = _replay(data, start, until, lead_in)
    played = Played(source.places(), templates, requests, failed, kinds=kinds)
    for entry in _with(users, readings(source)):
        yield from (found for found in played.take(entry) if found[1] == "notice")


def lines(found: Iterable[Announced], start: datetime) -> Iterator[str]:
    """Announcements from a time on as JSON lines."""
    first = to_ms(start)
    for t_ms, kind, body in found:
        if t_ms >= first:
            yield orjson.dumps({"t": iso(t_ms), "kind": kind, **body}).decode()


def changes(
    source: Source, engine: Choice = "auto", failed: Failed = unheard
) -> Iterator[Announced]:
    """The events of a source's whole run, by an engine (see the setting `pipeline.engine`).

    `failed` is told what could not be evaluated.
    """
    played = Played(source.places(), failed=failed, engine=engine)
    for entry in entries(source):
        yield from played.take(entry)


def concluded(
    found: Sequence[LogEntry],
    templates: Sequence[TemplateVersion],
    failed: Failed = unheard,
    requests: Sequence[str] = (),
    kinds: Kinds | None = None,
) -> Iterator[dict[str, Any]]:
    """What templates conclude from entries of a log: changes of notices, as rows carry them.

    Where there are readings, the city's requests, and `requests`, make events of them; a
    second after such readings their windows are over. `kinds` are those of the readings; if left
    out, those that come with Citywise.
    """
    played = _played(found, templates, requests, failed, kinds)
    for entry in _settled(found):
        yield from played.conclude(entry)


def run_after(
    found: Sequence[LogEntry],
    template: TemplateVersion,
    until_ms: int | None = None,
    requests: Sequence[str] = (),
    kinds: Kinds | None = None,
) -> TemplateRun:
    """A template's run after entries of a log and what the city's requests make of them, up
    to a time (Unix ms)."""
    played = _played(found, [template], requests, unheard, kinds)
    for entry in _settled(found):
        if not isinstance(entry, ClockReading) or until_ms is None or entry.now_ms <= until_ms:
            list(played.conclude(entry))
    return played.runs[0]


def _played(
    found: Sequence[LogEntry],
    templates: Sequence[TemplateVersion],
    requests: Sequence[str],
    failed: Failed,
    kinds: Kinds | None,
) -> Played:
    """For entries without readings the city's requests need not be there."""
    has_readings = any(isinstance(entry, Reading) for entry in found)
    wanted = requests if has_readings else None
    return Played((), templates, wanted, failed, kinds=kinds)


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


def _replay(data: Path, start: datetime, until: datetime, lead_in: float) -> Replay:
    return Replay(data, start, until, timedelta(hours=lead_in), kinds=LASTING)


def entries(source: Source) -> Iterator[Block | ClockReading]:
    """A source's steps as they would stand in the log; a moment after each, time goes on."""
    position = 0
    ahead: list[int] = []
    for step in source.steps():
        if ahead and ahead[0] < step.ms:
            yield ClockReading(ahead[0], ahead[0], position)
            position += 1
        for batch in step.batches:
            told = Table.of(batch.readings)
            yield Block(batch.kind, told.sensors, [step.ms] * len(told), position, told.columns)
            position += len(told)
        yield ClockReading(step.ms, step.ms, position)
        position += 1
        ahead = [step.ms + SETTLE_MS]
    if source.until is not None:
        ahead.append(to_ms(source.until) + SETTLE_MS)
    for t_ms in dict.fromkeys(ahead):
        yield ClockReading(t_ms, t_ms, position)
        position += 1


def readings(source: Source) -> Iterator[Reading | ClockReading]:
    """As `entries`, each reading by itself."""
    for entry in entries(source):
        yield from (entry,) if isinstance(entry, ClockReading) else entry.readings()


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
