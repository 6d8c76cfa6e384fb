"""What a Spark worker does with a stretch of the log: evaluate one request over it.

No Spark here: a `Task` goes in as JSON, rows of results come out. The window is the
truth's, rebuilt from the log and the committed state wherever the run of the batch before
is not at hand, so it does not matter on which worker a task runs, or how often.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any

import orjson

from citywise.backend.ingest.log import LogError
from citywise.backend.ingest.records import (
    ClockReading,
    LogEntry,
    Reading,
    Withdrawal,
    item_position,
    record_position,
)
from citywise.backend.kinds import Kinds, builtin
from citywise.backend.packs.telling import LATE_MS
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.pipeline import bundle
from citywise.backend.pipeline.evaluation import RequestRun, Row, standing
from citywise.backend.pipeline.parts import Part
from citywise.backend.pipeline.past import Checkpoint, Horizons, Past
from citywise.backend.pipeline.prepared import prepared
from citywise.backend.pipeline.revised import told
from citywise.backend.pipeline.slices import Slices, Stretch
from citywise.backend.pipeline.templates import TemplateRuns
from citywise.backend.pipeline.warm import WarmRuns
from citywise.backend.repeats import Repeats
from citywise.reasoning import Choice, Limits, State, StateError
from citywise.reasoning.budget import seldom_collected

LOG = logging.getLogger("citywise.worker")
LOG.addFilter(Repeats())  # Spark's workers have no handler of ours
_SAY_AGAIN_S = 60.0
_PATIENCE_S = 30.0
"""After how long a task ends at the next clock: the others of its batch wait for it."""
READINGS = "readings"
"""Name of the task that collects the latest reading of every sensor."""


@dataclass(frozen=True)
class Task:
    """Evaluate `request` over the log from `start` to `end`, continuing from `state`."""

    request: str
    source: str
    """The request's file, as `backend.pipeline.bundle.source` finds it; empty for the
    readings."""
    location: str
    """Folder or address of the log."""
    start: int
    end: int
    resume_from: int
    state: Mapping[str, Any]
    limits: Mapping[str, Any]
    part: int = 0
    """Number of the part to evaluate, of `parts`."""
    parts: int = 1
    kinds: Sequence[Mapping[str, Any]] | None = None
    """Those on the streams of a request's file; None: those that come with Citywise."""
    template: Mapping[str, Any] | None = None
    """An app's template in place of a request's file."""
    engine: Choice = "auto"
    """What evaluates a request's file."""
    answered: int | None = None
    """Up to when (Unix ms) it has answered, as far as is known."""
    horizons: Mapping[str, float] = field(default_factory=dict)
    """How far behind the present readings may be revised, in seconds: by kind, and `*` for all
    others. None: no reading is."""
    present_ms: int | None = None
    """Up to when (Unix ms) the stream has come, past the task too; None: nothing is late."""
    late_ms: float = LATE_MS
    """What lies further behind the present has come while the system was away."""
    moves: int | None = None
    """Where the cursor stands, if not at `start`: a template that was behind for too long
    begins anew."""

    def to_json(self) -> str:
        """The task as Spark carries it."""
        return orjson.dumps(asdict(self)).decode()

    @classmethod
    def from_json(cls, text: str) -> Task:
        """The task that `to_json` described."""
        return cls(**orjson.loads(text))


class Worker:
    """Does tasks one after the other, and keeps what the next may need.

    What it keeps is a cache: any other worker gives the same rows for a task.
    """

    def __init__(
        self,
        slices: Slices | None = None,
        runs: WarmRuns | None = None,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._slices = slices or Slices()
        self._runs = runs or WarmRuns(self._slices)
        self._templates = TemplateRuns(self._slices)
        self._patience_s = patience_s
        self._said: dict[str, float] = {}
        """When it was last said that a request is stuck, by its name."""

    def run(self, task: Task) -> Iterator[Row]:
        """Evaluate a task. Rows: `change` (of an event), `notice` (its change), `trace` (an
        evaluation), `late` and `refused` (items for the dead letters), `reading`, and last
        `cursor`, the state to commit with them."""
        if task.request == READINGS:
            yield from self._latest(task)
            return
        try:
            yield from list(self._answer(task))
        except Exception as error:
            if task.template is None and isinstance(error, LogError):
                raise  # the log is everybody's
            LOG.exception("request %s cannot be evaluated", task.request)
            way_out = _way_out(task) if isinstance(error, StateError) else ""
            yield from self._stuck(task, f"{type(error).__name__}: {error}{way_out}")

    def _answer(self, task: Task) -> Iterator[Row]:
        if task.template is None:
            return self._evaluate(task)
        return self._conclude(task, _version(orjson.dumps(task.template)))

    def _evaluate(self, task: Task) -> Iterator[Row]:
        began, cut = time.perf_counter(), False
        run, key, warm = self._run(task)
        ready = time.perf_counter()
        entries = self._slices.read(task.location, task.start, task.end)
        read = time.perf_counter()
        steps = {"catch up": ready - began, "read": read - ready, "reason": 0.0}
        changed = run.look(entries)
        begin = None if changed is None else run.checkpoint(changed, item_position(task.start))
        if begin is not None:
            run, rows = self._again(task, run, begin, entries)
            steps["reason"] += sum(row.body.get("seconds", 0.0) for row in rows)
            yield from rows
        for piece, end in _clocked(entries, task.end) if begin is None else ():
            for row in run.take(*piece):
                steps["reason"] += row.body.get("seconds", 0.0)
                yield row
            if self._is_late(task, began):
                task, cut = replace(task, end=end), True
                break
        yield from run.dead_letters()
        end = item_position(task.end)
        after, answered = run.snapshot(end)
        resume_from = record_position(run.since(end))
        if not (cut and run.revises):  # it has looked further than it went
            self._runs.keep(key, run, task.end)
        steps["encode"] = time.perf_counter() - began - sum(steps.values())
        more = {"warm": warm, "part": task.part, "parts": task.parts, "seconds": steps}
        yield _cursor(task, resume_from, answered, after, more)

    def _again(
        self, task: Task, run: RequestRun, begin: Checkpoint, entries: Sequence[LogEntry]
    ) -> tuple[RequestRun, list[Row]]:
        """A stretch that changes what was answered: the run that begins again before that, and
        its rows up to the stretch's end."""
        start = item_position(task.start)
        since = record_position(min(begin.since, start))
        past = self._slices.read(task.location, since, task.end)
        again = run.again(begin, past, start)
        rows: list[Row] = []
        if again.revises and again.closed is not None:
            found = list(again.run.upto(again.closed, start))
            rows.append(told(again, found, again.run.scale))
        for entry in entries:
            if isinstance(entry, ClockReading):
                rows += again.run.take(entry)
        again.run.settle(again.found.readings)
        return again.run, rows

    def _conclude(self, task: Task, template: TemplateVersion) -> Iterator[Row]:
        """Evaluate an app's template."""
        began = time.perf_counter()
        stretch = _stretch(task)
        part = Part(task.part, task.parts)
        run, warm = self._templates.take(template, Limits(**task.limits), stretch, part)
        steps = {"read": time.perf_counter() - began, "reason": 0.0}
        try:
            entries = self._slices.read(task.location, task.start, task.end)
            run.telling.present_ms, run.telling.late_ms = task.present_ms, task.late_ms
            for piece, end in _clocked(entries, task.end):
                for step in chain.from_iterable(map(run.take, piece)):
                    steps["reason"] += step.evaluated.seconds
                    trace = {**step.trace(), "part": task.part}
                    yield Row(task.request, step.t_ms, "trace", trace)
                    told = (*step.changes, *step.details)
                    yield from (Row(task.request, step.t_ms, "notice", change) for change in told)
                if self._is_late(task, began):
                    task = replace(task, end=end)
                    break
        except Exception:
            run.close()
            raise
        self._templates.keep(template, run, replace(stretch, end=task.end), part)
        end = item_position(task.end)
        resume_from = record_position(run.resume_from(end))
        steps["encode"] = time.perf_counter() - began - sum(steps.values())
        more = {"warm": warm, "part": task.part, "parts": task.parts, "seconds": steps}
        yield _cursor(task, resume_from, run.answered_ms, run.state(end), more)

    def _is_late(self, task: Task, began: float) -> bool:
        """Whether a task is to end here; parts must all end at the same place."""
        return task.parts == 1 and time.perf_counter() - began > self._patience_s

    def _stuck(self, task: Task, error: str) -> Iterator[Row]:
        """A request that stays where it is, and once a minute why: the stretch is tried again
        with a later batch, and nobody else waits."""
        now = time.monotonic()
        if now - self._said.get(task.request, -_SAY_AGAIN_S) >= _SAY_AGAIN_S:
            self._said[task.request] = now
            error = f"request `{task.request}` is tried again: {error}"
            trace = {"items": 0, "atoms": 0, "seconds": 0.0, "error": error, "part": task.part}
            yield Row(task.request, task.answered or 0, "trace", trace)
        stays = replace(task, end=task.start)
        more = {"stuck": True, "part": task.part, "parts": task.parts}
        yield _cursor(stays, task.resume_from, task.answered, dict(task.state), more)

    def _run(self, task: Task) -> tuple[RequestRun, Hashable, bool]:
        """The run that a task continues, what it is kept by, and whether it was kept."""
        part = Part(task.part, task.parts)
        limits = Limits(**task.limits)
        kinds = builtin() if task.kinds is None else _kinds(orjson.dumps(task.kinds))
        found = prepared(bundle.source(task.source), kinds, limits, part, task.engine)
        horizons = Horizons.of(task.horizons)
        state, past = _resumed(task, horizons.longest(found.kinds) > 0)
        if found.division is not None:
            state = found.division.own(state, part)
        needed = task.resume_from if past is None else record_position(past.needed)
        key = (found, task.location, tuple(sorted(task.horizons.items())))
        stretch = replace(_stretch(task), resume_from=needed)
        kept = self._runs.take(key, stretch, standing(state, past))
        if kept is not None:
            return kept, key, True
        entries = self._slices.read(task.location, needed, task.start)
        return RequestRun(found, state, entries, past, horizons), key, False

    def _latest(self, task: Task) -> Iterator[Row]:
        """The latest reading of each sensor and kind in the stretch, and the source's time."""
        latest: dict[tuple[str, str], Reading | Withdrawal] = {}
        answered: int | None = task.state.get("answered_ms")
        for entry in self._slices.read(task.location, task.start, task.end):
            if isinstance(entry, ClockReading):
                answered = max(answered or 0, entry.complete_ms)
            if not isinstance(entry, Reading | Withdrawal):
                continue
            known = latest.get((entry.kind, entry.sensor))
            if known is None or entry.observed_ms >= known.observed_ms:
                latest[entry.kind, entry.sensor] = entry
        for (kind, sensor), reading in latest.items():
            body = {
                "kind": kind,
                "place_id": sensor,
                "observed_ms": reading.observed_ms,
                "body": dict(reading.values) if isinstance(reading, Reading) else None,
            }
            yield Row(READINGS, reading.observed_ms, "reading", body)
        yield _cursor(task, task.end, answered, {"answered_ms": answered})


def _resumed(task: Task, revises: bool) -> tuple[State, Past | None]:
    """The state to continue from, and what is kept of the past. It begins where a request begins,
    or where it stands when a horizon is given to it."""
    values = dict(task.state)
    known = values.pop("past", None)
    state = State.from_json(values)
    if not revises:
        return state, None
    if known is not None:
        return state, Past.from_json(known)
    needed = item_position(task.resume_from)
    return state, Past(needed, [Checkpoint(state, needed)])


def _way_out(task: Task) -> str:
    """What to do with a state that this version cannot read."""
    if task.template is not None:
        return (
            "; start the version again that kept it, or leave it: once more than "
            "`ingest.max_lag_bytes` behind, the template begins anew"
        )
    return (
        "; start the version again that kept it, or leave the request out of `pipeline.requests` "
        "for one start: then it begins with what is new"
    )


@lru_cache(maxsize=64)
def _version(body: bytes) -> TemplateVersion:
    """A template version, read once."""
    return TemplateVersion.from_json(orjson.loads(body))


@lru_cache(maxsize=64)
def _kinds(bodies: bytes) -> Kinds:
    """Kinds, read once."""
    return Kinds.from_json(orjson.loads(bodies))


_HERE = Worker()


def run(task: Task) -> Iterator[Row]:
    """Evaluate a task with what this process keeps; see `Worker.run`."""
    seldom_collected()
    return _HERE.run(task)


def _clocked(entries: Sequence[LogEntry], end: int) -> Iterator[tuple[Sequence[LogEntry], int]]:
    """A stretch of the log in pieces that end with a clock, and the log position after each;
    `end` is where the whole ends."""
    after = [n for n, e in enumerate(entries, 1) if isinstance(e, ClockReading)]
    if not after or after[-1] < len(entries):
        after.append(len(entries))
    for first, last in pairwise([0, *after]):
        following = entries[last : last + 1]
        yield entries[first:last], _position(following[0]) if following else end


def _position(entry: LogEntry) -> int:
    return record_position(entry.position)


def _stretch(task: Task) -> Stretch:
    return Stretch(task.location, task.start, task.end, task.resume_from, task.state)


def _cursor(
    task: Task,
    resume_from: int,
    answered: int | None,
    state: dict[str, Any],
    more: Mapping[str, Any] | None = None,
) -> Row:
    """What to commit with a task's rows; `more` says how it went."""
    body = {
        "start": task.start if task.moves is None else task.moves,
        "position": task.end,
        "resume_from": resume_from,
        "answered_ms": answered,
        "state": state,
        **({} if task.moves is None else {"anew": True}),
        **(more or {}),
    }
    return Row(task.request, answered or 0, "cursor", body)
