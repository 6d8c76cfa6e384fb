"""What hosts and participants say over HTTP, checked with all faults at once."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from citywise.apps.meeting_mgr.model import (
    CAPABILITIES,
    LONGEST_MINUTES,
    AttendeeId,
    Busy,
    Capability,
    ItemId,
    LongText,
    PersonId,
    Room,
    Sensor,
    Surroundings,
    Text,
    Value,
)
from citywise.apps.meeting_mgr.steps.drafts import AttendeeDraft, Changes
from citywise.backend.app import times

Key = Annotated[str, Field(min_length=1, max_length=64)]
Word = Literal["on", "off"]
_NEEDS = {"go_to": "item", "extend": "minutes"} | dict.fromkeys(
    ("mute", "unmute", "ask_to_speak", "ask_to_present", "hand_over", "remove"), "person"
)


class ToldBusy(Busy):
    """When somebody has no time."""

    from_ms: times.Instant = Field(alias="from")
    until_ms: times.Instant = Field(alias="until")


class ToldAttendee(AttendeeDraft):
    """Who is to be invited."""

    busy: tuple[ToldBusy, ...] | None = Field(default=None, max_length=500, strict=False)


class ToldMeeting(Changes):
    """What a host writes of a meeting, with times as they are sent."""

    starts_ms: times.Instant | None = Field(default=None, alias="starts")
    ends_ms: times.Instant | None = Field(default=None, alias="ends")
    attendees: tuple[ToldAttendee, ...] | None = Field(default=None, max_length=200, strict=False)

    def changes(self) -> Changes:
        """What is given of a meeting itself."""
        given = self.model_fields_set & Changes.model_fields.keys()
        return Changes.model_construct(given, **{name: getattr(self, name) for name in given})


class NewMeeting(ToldMeeting):
    """A meeting to be; what is left out is the usual."""

    title: Text
    room: Room
    starts_ms: times.Instant = Field(alias="starts")
    ends_ms: times.Instant = Field(alias="ends")


class ChangedMeeting(ToldMeeting):
    """What is to be of a meeting; what is left out stays."""

    version: int = Field(ge=0, lt=2**53)
    """The one that was read."""
    state: Literal["planned"] | None = None
    """Restores a meeting that was cancelled."""
    following: bool = False
    """Whether what changes holds for those of its series that follow, too."""


class Action(Value):
    """What a host does in a meeting."""

    do: Literal[
        "start",
        "next",
        "go_to",
        "extend",
        "end",
        "mute",
        "unmute",
        "ask_to_speak",
        "ask_to_present",
        "hand_over",
        "new_link",
        "remove",
    ]
    item: ItemId | None = None
    person: PersonId | None = None
    minutes: int | None = Field(default=None, ge=1, le=LONGEST_MINUTES)
    keep_link: bool = False
    """Whether who is removed could come back with the link, which else leads nowhere."""

    @model_validator(mode="after")
    def _says_all(self) -> Action:
        name = _NEEDS.get(self.do)
        if name is not None and getattr(self, name) is None:
            raise ValueError(f"`{self.do}` needs `{name}`")
        return self


class Overrides(Value):
    """What a host says somebody can do; null: what the sensors say counts again."""

    speak: Word | None = None
    listen: Word | None = None
    read: Word | None = None
    chat: Word | None = None
    share: Word | None = None

    def given(self) -> dict[Capability, Word | None]:
        """What is said of any, by capability."""
        return {name: getattr(self, name) for name in CAPABILITIES if name in self.model_fields_set}


class Answer(Value):
    """What a host says to a proposal; `option` counts from 0, which is the best."""

    answer: Literal["accept", "decline", "undo"]
    option: int = Field(default=0, ge=0, le=99)


class TypedDecision(Value):
    """What a meeting has decided, on an item or in general."""

    text: LongText
    item: ItemId | None = None


class Joining(Value):
    """Who comes by the link: by a name, or as one of the invited."""

    key: Key
    name: Text | None = None
    """None: as the invited is called."""
    attendee: AttendeeId | None = None


class Sharing(Value):
    """Which sensors somebody's device may tell of from now on."""

    sensors: Annotated[tuple[Sensor, ...], Field(max_length=20, strict=False)]
    noted: Annotated[tuple[Sensor, ...], Field(max_length=20, strict=False)] = ()
    """Whose ending they have seen: what of these is in `sensors` is shared again."""


class Arriving(Value):
    """Whether a meeting may know when somebody arrives."""

    tells: bool


class TalkTime(Value):
    """Whether the minutes may say how long somebody spoke."""

    agrees: bool


class OwnWord(Value):
    """What somebody says of themselves; what is left out stays."""

    surroundings: Surroundings | None = None
    hand: bool | None = None
    muted: bool | None = None
    presents: bool | None = None
    """Whether one shows one's screen."""
