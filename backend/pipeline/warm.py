"""Runs that stay in a worker's memory between batches, as long as they are the truth.

The log and the committed state are the truth (docs/decisions/pipeline.md). Partitions move
between workers, batches are repeated, and some are never committed: a run goes on only
from exactly where its request is committed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from backend.pipeline.evaluation import RequestRun
from reasoning.reasoner import State


@dataclass(frozen=True)
class _Stand:
    """A run, and where it stands."""

    run: RequestRun
    position: int
    resume_from: int
    state: bytes


class WarmRuns:
    """The runs that answered last, `most` of them, by what they evaluate."""

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._stands: OrderedDict[Hashable, _Stand] = OrderedDict()

    def take(
        self, key: Hashable, position: int, resume_from: int, state: State
    ) -> RequestRun | None:
        """The run for `key`, if it stands at this position in this state.

        Whoever takes it keeps it again when done: a run that fails on the way is gone.
        """
        stand = self._stands.pop(key, None)
        if stand is None or (stand.position, stand.resume_from) != (position, resume_from):
            return None
        return stand.run if stand.state == _canonical(state.to_json()) else None

    def keep(
        self, key: Hashable, run: RequestRun, position: int, resume_from: int, state: State
    ) -> None:
        """Keep a run that stands at `position`; the one longest unused may have to go."""
        stand = _Stand(run, position, resume_from, _canonical(state.to_json()))
        self._stands[key] = stand
        while len(self._stands) > self._most:
            self._stands.popitem(last=False)


def _canonical(values: Mapping[str, Any]) -> bytes:
    return orjson.dumps(values, option=orjson.OPT_SORT_KEYS)
