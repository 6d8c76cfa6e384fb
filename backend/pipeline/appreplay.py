"""An app over recorded data: its notices, and how they differ from another version's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from citywise.backend.city.replay import Replay
from citywise.backend.city.travellers import Roads, told
from citywise.backend.errors import CitywiseError
from citywise.backend.ingest.payloads import Place
from citywise.backend.ingest.records import ClockReading, Standing
from citywise.backend.packs import scenarios
from citywise.backend.packs.check import checked
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.packs.values import BadValuesError
from citywise.backend.pipeline.played import Announced
from citywise.backend.pipeline.recorded import lines, notices
from citywise.backend.times import iso, to_ms
from citywise.reasoning import budget

Timed = tuple[int, Standing]
Line = dict[str, Any]
_IDENTITY = ("t", "change", "instance", "notice", "about")


@dataclass(frozen=True)
class Recording:
    """A period of recorded data; `lead_in` hours before it are evaluated for state."""

    data: Path
    start: datetime
    until: datetime
    lead_in: float


class NoDefaultsError(CitywiseError):
    """A template cannot be tried with its defaults alone."""


class Replayed:
    """An app over a recording, for users of a file and simulated travellers."""

    def __init__(
        self, folder: Path, recording: Recording, users: Path | None, travellers: int, seed: int
    ) -> None:
        self._pack = checked(folder)
        self._recording = recording
        self._file, self._travellers, self._seed = users, travellers, seed
        self._count = self._instances = 0
        self._open: set[str] = set()
        """Ids of the notices that are open when what is reported begins."""
        self._failures = Counter[str]()
        """How often a template or a request could not be evaluated."""
        self._first: dict[str, str] = {}
        """When that was first, and why."""

    def lines(self) -> Iterator[str]:
        """Its notices as JSON lines (docs/data.md); afterwards `summary` is about them."""
        given = self._recording
        told = sorted(chain(self._of_file(), self._of_travellers()), key=lambda entry: entry[0])
        self._instances = len({e.key for _t_ms, e in told if e.subject == "instance" and e.body})
        found = notices(
            given.data,
            given.start,
            given.until,
            given.lead_in,
            self._pack.templates,
            told,
            [str(path) for path in self._pack.requests],
            self._failed,
            self._pack.kinds,
        )
        for line in lines(map(self._counted, found), given.start):
            self._count += 1
            yield line

    def summary(self) -> Iterator[str]:
        """How much there was, and what could not be evaluated."""
        for name, times in self._failures.items():
            more = f" (and {times - 1} times more)" if times > 1 else ""
            yield f"{name} could not be evaluated: {self._first[name]}{more}"
        before = f", {len(self._open)} were open before" if self._open else ""
        yield f"{self._count} changes of notices of {self._instances} instances{before}"

    def _failed(self, t_ms: int, name: str, why: str) -> None:
        self._first.setdefault(name, f"{iso(t_ms)}: {why}")
        self._failures[name] += 1

    def _counted(self, found: Announced) -> Announced:
        t_ms, _kind, notice = found
        if t_ms < to_ms(self._recording.start):
            note = self._open.discard if notice["change"] == "closed" else self._open.add
            note(notice["id"])
        return found

    def _of_file(self) -> Iterator[Timed]:
        """What a file says to stand, at the time of its line."""
        if self._file is None:
            return
        waiting: list[Standing] = []
        city = {place.id: place.model_dump(mode="json") for place in self._places()}
        for entry in scenarios.entries(self._file, self._pack.templates, city, self._pack.kinds):
            if isinstance(entry, Standing):
                waiting.append(entry)
            elif isinstance(entry, ClockReading):
                yield from ((entry.now_ms, standing) for standing in waiting)
                waiting.clear()

    def _places(self) -> list[Place]:
        given = self._recording
        return list(Replay(given.data, given.start, given.until).places())

    def _of_travellers(self) -> Iterator[Timed]:
        if not self._travellers:
            return
        given = self._recording
        first, last = to_ms(given.start), to_ms(given.until)
        roads = Roads(self._places())
        trips = []
        for trip in roads.trips(self._travellers, first, last, self._seed):
            budget.progressed()
            trips.append(trip)
            for template in self._pack.templates:
                yield first, _instance(template, trip.user)
        yield from told(trips, last)


def _instance(template: TemplateVersion, user: str) -> Standing:
    try:
        values = template.bind({})
    except BadValuesError as fault:
        raise NoDefaultsError(
            f"travellers take every template with its defaults, but {fault}; give --users FILE "
            "with instances that have values"
        ) from None
    body = {
        "app": template.app,
        "template": template.name,
        "version": template.version,
        "user": user,
        "values": values,
    }
    return Standing("instance", f"{user}.{template.name}", body, 0)


@dataclass(frozen=True)
class Differences:
    """What one version of an app notifies and the other does not."""

    added: tuple[Line, ...]
    removed: tuple[Line, ...]
    changed: tuple[tuple[Line, Line], ...]
    same: int

    def lines(self) -> Iterator[str]:
        """The differences as JSON lines in the order of their times, each with `diff`."""
        found = [{"diff": "added", **line} for line in self.added]
        found += [{"diff": "removed", **line} for line in self.removed]
        found += [
            {"diff": "changed", **new, "before": _other(old, new)} for old, new in self.changed
        ]
        for line in sorted(found, key=_identity):
            yield orjson.dumps(line).decode()

    @property
    def summary(self) -> str:
        """The differences in a sentence."""
        return (
            f"{self.same} notices as before, {len(self.added)} added, "
            f"{len(self.removed)} removed, {len(self.changed)} changed"
        )


def compare(before: Replayed, after: Replayed) -> Differences:
    """How the notices of two versions differ over the same recording."""
    old, new = ({_identity(line): line for line in _objects(run)} for run in (before, after))
    both = [(old[key], line) for key, line in new.items() if key in old]
    changed = tuple((one, other) for one, other in both if _other(one, other))
    return Differences(
        tuple(line for key, line in new.items() if key not in old),
        tuple(line for key, line in old.items() if key not in new),
        changed,
        len(both) - len(changed),
    )


def _objects(run: Replayed) -> Sequence[Line]:
    return [orjson.loads(line) for line in run.lines()]


def _identity(line: Line) -> tuple[str, ...]:
    about = line["about"]["id"]
    return tuple(str(about if name == "about" else line[name]) for name in _IDENTITY)


def _other(old: Line, new: Line) -> Line:
    """What the old line says otherwise, but for the versions that say it."""
    ignored = ("version", "diff", "id")
    return {k: v for k, v in old.items() if k not in ignored and new.get(k) != v}
