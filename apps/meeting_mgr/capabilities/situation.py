"""What is known of somebody in a meeting, and what is concluded from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from citywise.apps.meeting_mgr.model import (
    Ability,
    Capability,
    PersonState,
    Presence,
    Reason,
    Rules,
    Sensor,
    Surroundings,
)


@dataclass(frozen=True)
class Situation:
    """All that decides what somebody can do; times are Unix milliseconds of the wall."""

    person: str
    meeting: str
    rules: Rules
    sharing: frozenset[Sensor]
    """What counts as told: what the person shares, and what the room tells in its place."""
    state: PersonState
    """What was last concluded."""
    observed: Mapping[Sensor, tuple[float, int]]
    """Last value of each sensor, and when the server heard it."""
    joined_ms: int
    overrides: Mapping[Capability, Literal["on", "off"]] = field(default_factory=dict)
    says: Surroundings = "unknown"
    item_is_sensitive: bool = False
    """Whether the current item of the agenda is."""
    listening_ms: int | None = None
    """Since when readings are heard, where that is later than `joined_ms`: a service that has
    just begun knows no values, which is not yet silence."""


@dataclass(frozen=True)
class Change:
    """Something that is another than before, or is so for other reasons (`before == after`)."""

    of: Capability | Literal["presence"]
    before: Ability | Presence
    after: Ability | Presence
    because: tuple[Reason, ...] = ()


@dataclass(frozen=True)
class Concluded:
    """What is concluded of somebody."""

    person: str
    state: PersonState
    changes: tuple[Change, ...] = ()
    """Of what counts, and of the presence; the first conclusion of all changes from `unknown`."""
    is_news: bool = False
    """Whether the state is another than before in anything but when to look again."""
