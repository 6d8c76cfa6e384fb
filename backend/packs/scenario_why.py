"""Why an instance was, or was not, told of something in a scenario."""

from __future__ import annotations

from pathlib import Path

from backend.ingest.records import ClockReading, Standing
from backend.packs import scenarios
from backend.packs.manifest import Pack
from backend.packs.run import TemplateRun
from backend.packs.why import Reasons, explain
from backend.times import iso


def reasons(
    pack: Pack, path: Path, at_ms: int | None, instance: str, kind: str, about: str
) -> Reasons:
    """What explains a notice, or its absence, at a time (Unix ms; None: at the end).

    Raises `ScenarioError` where the scenario has no such instance or begins later, and
    `NoInstanceError` where the instance was not there then.
    """
    entries = scenarios.entries(path, pack.templates)
    run = TemplateRun(pack.template(_template(path, entries, instance)))
    try:
        for entry in entries:
            if isinstance(entry, ClockReading) and at_ms is not None and entry.now_ms > at_ms:
                break
            list(run.take(entry))
        if run.clock is None:
            begins = next(iso(e.now_ms) for e in entries if isinstance(e, ClockReading))
            raise scenarios.ScenarioError(f"{path}: begins at {begins}, after --at")
        return explain(run, instance, kind, about)
    finally:
        run.close()


def _template(path: Path, entries: list[scenarios.Entry], instance: str) -> str:
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
