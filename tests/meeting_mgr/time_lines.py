"""Random time lines of somebody in a meeting, for Hypothesis."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from citywise.apps.meeting_mgr.capabilities import Situation
from citywise.apps.meeting_mgr.model import (
    CAPABILITIES,
    SENSORS,
    PersonState,
    Rules,
    Sensor,
    Threshold,
)

JOINED_MS = 1_700_000_000_000


@dataclass(frozen=True)
class Step:
    """What happens `after_ms` milliseconds after the step before."""

    after_ms: int
    told: dict[Sensor, float]
    changes: dict[str, Any]
    """Of the situation."""
    forgets: bool = False
    """Whether the service is started again, and has forgotten all values."""


thresholds = st.sampled_from(
    [
        Threshold(lower=lower, upper=upper, hysteresis=hysteresis)
        for lower in (None, 0, 5, 9.5, 10)
        for upper in (None, 5, 10, 20)
        for hysteresis in (0, 0.5, 2)
        if lower is None or upper is None or lower + 2 * hysteresis < upper
    ]
)
rules = st.builds(
    Rules,
    thresholds=st.dictionaries(st.sampled_from(SENSORS), thresholds, max_size=len(SENSORS)),
    dwell_s=st.sampled_from((0, 1, 5)),
    silent_s=st.sampled_from((2, 3)),
)
values = st.sampled_from((-1, 0, 0.004, 4.5, 5, 7, 8, 9.99, 10, 11, 19.5, 25))
_sharing = st.frozensets(st.sampled_from(SENSORS))
_changes = st.fixed_dictionaries(
    {},
    optional={
        "rules": rules,
        "sharing": _sharing | st.just(frozenset(SENSORS)),
        "overrides": st.dictionaries(
            st.sampled_from(CAPABILITIES), st.sampled_from(("on", "off")), max_size=2
        ),
        "says": st.sampled_from(("unknown", "public", "private")),
        "item_is_sensitive": st.booleans(),
    },
)
steps = st.builds(
    Step,
    after_ms=st.sampled_from((0, 1, 400, 999, 1000, 1001, 2000, 4999, 5000)),
    told=st.dictionaries(st.sampled_from(SENSORS), values, max_size=len(SENSORS)),
    changes=st.just({}) | _changes,
    forgets=st.sampled_from((False,) * 9 + (True,)),
)
time_lines = st.lists(st.tuples(steps, steps), min_size=1, max_size=12)
"""Of two people; when things happen is up to the first."""


def joined(person: str, rules: Rules) -> Situation:
    """Somebody who has just joined and shares all."""
    return Situation(
        person, "m", rules, frozenset(SENSORS), PersonState(), observed={}, joined_ms=JOINED_MS
    )


def after(now_ms: int, before: Situation, step: Step) -> Situation:
    """The situation when a step has happened at `now_ms`."""
    kept = {} if step.forgets else dict(before.observed)
    told = {sensor: (value, now_ms) for sensor, value in step.told.items()}
    listening_ms = now_ms if step.forgets else before.listening_ms
    return replace(before, observed={**kept, **told}, listening_ms=listening_ms, **step.changes)
