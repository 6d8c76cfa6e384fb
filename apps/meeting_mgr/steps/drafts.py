"""What a host writes of a meeting: as `model`, without what only happens."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from citywise.apps.meeting_mgr.model import (
    AttendeeId,
    Busy,
    Email,
    Every,
    Hook,
    Instant,
    ItemId,
    PlannedItem,
    Room,
    Rules,
    Text,
    Value,
)


class AttendeeDraft(Value):
    """Who is to be invited; without an `id` it is somebody new, without `busy` the calendar
    stays as it was."""

    id: AttendeeId | None = None
    name: Text
    email: Email | None = None
    required: bool = True
    busy: tuple[Busy, ...] | None = Field(default=None, max_length=500, strict=False)


class ItemDraft(PlannedItem):
    """An item of the agenda; without an `id` it is a new one."""

    id: ItemId | None = None
    put_off: bool | None = None
    """Whether it is left for another meeting; None: as it was."""


class Changes(Value):
    """What is to change of a meeting: the fields that are given (`model_fields_set`), `agenda`
    and `attendees` each as a whole, of `rules` what is given. `hook` may be given as None: no
    more."""

    title: Text | None = None
    room: Room | None = None
    starts_ms: Instant | None = None
    ends_ms: Instant | None = None
    attendees: tuple[AttendeeDraft, ...] | None = Field(default=None, max_length=200, strict=False)
    agenda: tuple[ItemDraft, ...] | None = Field(default=None, max_length=40, strict=False)
    rules: Rules | None = None
    hook: Hook | None = None
    conference: Literal["none", "jitsi"] | None = None
    repeats: Every | Literal["never"] | None = None
    """How often it is again; where it was, for those that follow it."""
