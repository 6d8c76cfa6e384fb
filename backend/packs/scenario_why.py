"""Why an instance was, or was not, told of something in a scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from citywise.backend.ingest.records import ClockReading, LogEntry, Standing
from citywise.backend.packs import scenarios
from citywise.backend.packs.guesses import did_you_mean
from citywise.backend.packs.manifest import Pack
from citywise.backend.packs.run import TemplateRun
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.packs.why import Reasons, explain
from citywise.backend.times import iso

Play = Callable[[Sequence[LogEntry], TemplateVersion, int | None], TemplateRun]
"""A template's run after some entries, and the time (Unix ms) up to which it goes."""


def reasons(
    pack: Pack,
    path: Path,
    at_ms: int | None,
    instance: str,
    kind: str,
    about: str,
    play: Play | None = None,
) -> Reasons:
    """What explains a notice, or its absence, at a time (Unix ms; None: at the end).

    `play` may also make events of readings (`backend.pipeline.recorded`). Raises
    `ScenarioError` where the scenario has no such instance or begins later, and
    `NoInstanceError` where the instance was not there then.
    """
    entries = scenarios.entries(path, pack.templates, scenarios.ALONE, pack.kinds)
    template = pack.template(_template(path, entries, instance))
    if kind not in template.notices:
        hint = did_you_mean(kind, template.notices, f"there are: {', '.join(template.notices)}")
        raise scenarios.ScenarioError(f"{pack.folder}: no notice `{kind}`; {hint}")
    run = (play or played)(list(_until(entries, at_ms)), template, at_ms)
    try:
        if run.clock is None:
            begins = next(iso(e.now_ms) for e in entries if isinstance(e, ClockReading))
            raise scenarios.ScenarioError(f"{path}: begins at {begins}, after --at")
        if at_ms is not None:
            list(run.before(at_ms + 1))
        return explain(run, instance, kind, about, _things(entries))
    finally:
        run.close()


def _things(entries: Sequence[LogEntry]) -> dict[str, str]:
    """The events and places that a scenario says, by id."""
    return {
        entry.key: entry.subject
        for entry in entries
        if isinstance(entry, Standing) and entry.subject in ("event", "place")
    }


def played(
    entries: Sequence[LogEntry], template: TemplateVersion, _until_ms: int | None
) -> TemplateRun:
    """A template's run after some entries."""
    run = TemplateRun(template)
    run.skip(entries)
    return run


def _until(entries: Sequence[LogEntry], at_ms: int | None) -> Iterator[LogEntry]:
    """The entries up to the last clock that is not after a time."""
    clocks = [
        n
        for n, entry in enumerate(entries)
        if isinstance(entry, ClockReading) and (at_ms is None or entry.now_ms <= at_ms)
    ]
    yield from entries[: max(clocks, default=-1) + 1]


def _template(path: Path, entries: list[LogEntry], instance: str) -> str:
    """The template of an instance of the scenario."""
    known = {
        entry.key: str(entry.body["template"])
        for entry in entries
        if isinstance(entry, Standing) and entry.subject == "instance" and entry.body
    }
    if instance not in known:
        there = ", ".join(known) or "none"
        raise scenarios.ScenarioError(f"{path}: no instance `{instance}`; there are: {there}")
    return known[instance]
