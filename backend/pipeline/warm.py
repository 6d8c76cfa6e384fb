"""Runs that stay in a worker's memory between batches, as long as they are the truth.

The log and the committed state are the truth (docs/decisions/pipeline.md). Partitions move
between workers, batches are repeated, and some are never committed: a run goes on only
where it stands as its request is committed. One that another worker has overtaken and
whose engine keeps its window takes what lies between first, and tells nobody.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from citywise.backend.ingest.records import item_position, record_position
from citywise.backend.pipeline.evaluation import RequestRun
from citywise.backend.pipeline.slices import Slices, Stretch


@dataclass(frozen=True)
class _Stand:
    """A run, and where it stands."""

    run: RequestRun
    position: int
    resume_from: int
    state: bytes

    @classmethod
    def of(cls, run: RequestRun, position: int) -> _Stand:
        """Where a run stands that has taken the log up to `position`."""
        item = item_position(position)
        resume_from = record_position(run.resume_from(item))
        return cls(run, position, resume_from, _canonical(run.stands(item)))


class WarmRuns:
    """The runs that answered last, `most` of them, by what they evaluate."""

    def __init__(self, slices: Slices, most: int = 64) -> None:
        self._slices = slices
        self._most = most
        self._stands: OrderedDict[Hashable, _Stand] = OrderedDict()

    def take(self, key: Hashable, stretch: Stretch, state: Mapping[str, Any]) -> RequestRun | None:
        """The run for `key`, if it stands where the stretch begins in this state
        (`backend.pipeline.evaluation.standing`), or comes to that. The stretch resumes from what
        the run's windows need.

        Whoever takes it keeps it again when done: a run that fails on the way is gone.
        """
        stand = self._stands.pop(key, None)
        if stand is None:
            return None
        if stand.position != stretch.start:
            if not (stand.run.catches_up and stretch.resume_from <= stand.position < stretch.start):
                return None
            followed = self._followed(stand, stretch)
            if followed is None:
                return None
            stand = followed
        same = stand.resume_from == stretch.resume_from
        return stand.run if same and stand.state == _canonical(state) else None

    def keep(self, key: Hashable, run: RequestRun, position: int) -> None:
        """Keep a run that stands at `position`; the one longest unused may have to go."""
        self._stands[key] = _Stand.of(run, position)
        while len(self._stands) > self._most:
            self._stands.popitem(last=False)

    def _followed(self, stand: _Stand, stretch: Stretch) -> _Stand | None:
        """Where a run stands after what others have answered; None where that changed its past."""
        entries = self._slices.read(stretch.location, stand.position, stretch.start)
        return _Stand.of(stand.run, stretch.start) if stand.run.follow(entries) else None


def _canonical(values: Mapping[str, Any]) -> bytes:
    return orjson.dumps(values, option=orjson.OPT_SORT_KEYS)
