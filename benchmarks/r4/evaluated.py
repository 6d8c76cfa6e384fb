"""One run of a document over a recording, in a process of its own.

    python -m benchmarks.r4.evaluated PROGRAM STREAM facts|instances|reading

prints what it took, and what came and went at each instant, as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from benchmarks.r4.conclusions import digest, text
from citywise.reasoning.budget import seldom_collected
from citywise.reasoning.languages.rif.evaluation import Instance
from citywise.reasoning.languages.rif.language import RifProgram
from citywise.reasoning.languages.rif.reasoner import RifEvaluation
from citywise.reasoning.model.rules import Fact
from citywise.reasoning.run.recorded import Recorded
from citywise.reasoning.streams.recordings import Recording

MEGABYTE = 1_000_000


class Clock:
    """Seconds of the process, and seconds altogether."""

    def __init__(self) -> None:
        self.cpu, self.wall = 0.0, 0.0
        self._since = time.process_time(), time.perf_counter()

    def read(self) -> tuple[float, float]:
        """Processor seconds and seconds so far."""
        cpu, wall = self._since
        return self.cpu + time.process_time() - cpu, self.wall + time.perf_counter() - wall

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """What is done here does not count."""
        self.cpu, self.wall = self.read()
        yield
        self._since = time.process_time(), time.perf_counter()


def evaluated(program: Path, stream: Path, *, instances: bool) -> dict[str, Any]:
    """Evaluate a document over a recording, as `citywise reason` does."""
    clock, process = Clock(), psutil.Process()
    recorded = Recorded(program, [stream], limits=None)
    document = recorded.parsed
    assert isinstance(document, RifProgram)
    reasoner = document.reasoner(recorded, document.theory(recorded), instances=instances)
    start = clock.read()[0]
    memory: list[float] = []
    digests: dict[int, str] = {}
    shown, most = 0, 0
    for evaluation in recorded.run(reasoner):
        with clock.stopped():
            assert isinstance(evaluation, RifEvaluation)
            if evaluation.error is not None:
                raise SystemExit(f"{program.name} at {evaluation.time}: {evaluation.error}")
            shown += len(evaluation.came) - len(evaluation.gone)
            most = max(shown, most)
            if change := _digest(evaluation, instances=instances):
                digests[evaluation.time] = change
            memory.append(process.memory_info().rss / MEGABYTE)
    if recorded.problems or recorded.warnings:
        raise SystemExit("; ".join([*recorded.problems, *recorded.warnings][:3]))
    cpu, wall = clock.read()
    return {
        "start_s": start,
        "cpu_s": cpu,
        "wall_s": wall,
        "shown": most,
        "memory_mb": memory,
        "digests": digests,
    }


def reading(program: Path, stream: Path) -> dict[str, Any]:
    """Read the recording alone."""
    request = Recorded(program, [stream], limits=None).request
    clock = Clock()
    number = sum(1 for _ in Recording([stream], request))
    return {"cpu_s": clock.read()[0], "items": number}


def _digest(evaluation: RifEvaluation, *, instances: bool) -> str:
    if instances:
        return digest(_told(evaluation.entailed), _told(evaluation.negated))
    return digest(_texts(evaluation.came), _texts(evaluation.gone))


def _texts(facts: Iterable[Fact]) -> list[str]:
    return [text(relation, row) for relation, row in facts]


def _told(found: Iterable[Instance]) -> list[str]:
    return [text(text(*each.fact), (each.since, each.last)) for each in found]


def main(program: str, stream: str, what: str) -> None:
    """Measure one run."""
    seldom_collected()
    paths = Path(program), Path(stream)
    found = reading(*paths) if what == "reading" else evaluated(*paths, instances=what != "facts")
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
