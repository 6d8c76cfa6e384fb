"""What templates conclude from a log, one clock after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from citywise.backend.ingest.records import LogEntry
from citywise.backend.packs.notices import OpenNotices
from citywise.backend.packs.run import TemplateRun
from citywise.backend.packs.template import TemplateVersion


def notices(
    entries: Iterable[LogEntry], templates: Iterable[TemplateVersion]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Stream time (Unix ms) and change."""
    runs = [TemplateRun(template) for template in templates]
    opened = OpenNotices()
    for entry in entries:
        for run in runs:
            for step in run.take(entry):
                yield from ((step.t_ms, opened.take(change)) for change in step.changes)
