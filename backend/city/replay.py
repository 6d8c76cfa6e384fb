"""Replay of the Aarhus pack as a city stream."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time, timedelta
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Literal

from citywise.backend.city.aarhus import COPENHAGEN, Pack
from citywise.backend.city.steps import Batch, SourceError, Step
from citywise.backend.ingest.payloads import Place
from citywise.backend.times import from_ms, to_ms

LEAD_IN = timedelta(hours=24)
SETTLE = timedelta(hours=1)
"""Lead-in of weather and air: they have no state, so the latest values suffice."""
MORNING = time(7)
LASTING = ("traffic", "parking")
"""Kinds with a state, which begins before the replay; events are made of these."""
KINDS = (*LASTING, "weather", "air")


class Replay:
    """Readings of the Aarhus pack from `start` to `until`, both included.

    `lead_in` (24 hours) is how long before `start` traffic and parking begin, so that what was
    already jammed or full at `start` is known. Without `start` the replay begins at
    07:00 local time on the first day that has a whole lead-in; without `until` it runs
    to the end of the traffic data. `kinds` limits what is replayed.
    """

    name: Literal["replay"] = "replay"

    def __init__(
        self,
        data: Path,
        start: datetime | None = None,
        until: datetime | None = None,
        lead_in: timedelta | None = None,
        kinds: Sequence[str] = KINDS,
    ) -> None:
        self._pack = Pack(data)
        self._lead_in = lead_in = LEAD_IN if lead_in is None else lead_in
        first, last = (from_ms(ms) for ms in self._pack.span())
        self.start = start.astimezone(UTC) if start else _first_morning(first, lead_in)
        self.until = until.astimezone(UTC) if until else last
        if self.start > last or self.until < first or self.until < self.start:
            raise SourceError(
                f"{self._pack.folder}: nothing to replay from {self.start:%Y-%m-%dT%H:%MZ} to "
                f"{self.until:%Y-%m-%dT%H:%MZ}; the traffic data run from {first:%Y-%m-%dT%H:%MZ} "
                f"to {last:%Y-%m-%dT%H:%MZ}: choose times within them"
            )
        self._kinds = tuple(kinds)

    def places(self) -> list[Place]:
        return self._pack.places()

    def steps(self, since: datetime | None = None) -> Iterator[Step]:
        sent = 0 if since is None else to_ms(since)
        batches = [self._batches(kind, sent) for kind in self._kinds]
        merged = heapq.merge(*batches, key=itemgetter(0))
        for ms, group in groupby(merged, key=itemgetter(0)):
            yield Step(ms, tuple(batch for _, batch in group))

    def _batches(self, kind: str, sent: int) -> Iterator[tuple[int, Batch]]:
        lead_in = self._lead_in if kind in LASTING else min(self._lead_in, SETTLE)
        begin, until = max(sent, to_ms(self.start - lead_in)), to_ms(self.until)
        read = {
            "traffic": self._pack.traffic,
            "parking": self._pack.parking,
            "weather": self._pack.weather,
            "air": self._pack.air,
        }[kind]
        return ((ms, Batch(kind, readings)) for ms, readings in read(begin, until))


def _first_morning(first: datetime, lead_in: timedelta) -> datetime:
    day = (first + lead_in).astimezone(COPENHAGEN).date()
    morning = datetime.combine(day, MORNING, COPENHAGEN)
    if morning < first + lead_in:
        morning = datetime.combine(day + timedelta(days=1), MORNING, COPENHAGEN)
    return morning.astimezone(UTC)
