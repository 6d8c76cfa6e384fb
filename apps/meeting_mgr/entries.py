"""What happened in a meeting, as its minutes tell it: states and deeds, never a sensor's value."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field, TypeAdapter

from citywise.apps.meeting_mgr.model import (
    Ability,
    Answer,
    AttendeeId,
    Capability,
    ItemId,
    ItemState,
    Kind,
    MeetingState,
    Presence,
    Proposal,
    Reason,
    Text,
    Value,
)


class Joined(Value):
    """Somebody joined, under this name; `device`: the second, say, with which the same one of
    the invited is there."""

    kind: Literal["joined"] = "joined"
    name: Text
    attendee: AttendeeId | None = None
    device: int = Field(default=1, ge=1)


class Left(Value):
    """Somebody left, or was put out by the host."""

    kind: Literal["left"] = "left"
    removed: bool = False


class WentAway(Value):
    """Somebody closed the page, or lost the connection; or is back in their place."""

    kind: Literal["away"] = "away"
    is_away: bool


class AbilityChanged(Value):
    """What somebody can do changed."""

    kind: Literal["abilities"] = "abilities"
    capability: Capability
    state: Ability
    because: tuple[Reason, ...] = Field(default=(), strict=False)


class PresenceChanged(Value):
    """Where somebody takes part changed."""

    kind: Literal["presence"] = "presence"
    presence: Presence


class ItemChanged(Value):
    """An item of the agenda was begun, done or put off; `title` as it was then."""

    kind: Literal["item"] = "item"
    item: ItemId
    title: Text
    state: ItemState


class ProposalChanged(Value):
    """Another agenda was proposed, or that was answered; `option`: which of it."""

    kind: Literal["proposal"] = "proposal"
    number: int
    proposed: Kind
    answer: Answer
    option: int | None = None
    automatic: bool = False

    @classmethod
    def of(cls, proposal: Proposal) -> ProposalChanged:
        """How a proposal stands."""
        return cls(
            number=proposal.number,
            proposed=proposal.kind,
            answer=proposal.answer,
            option=proposal.chosen,
            automatic=proposal.automatic,
        )


class Decided(Value):
    """Something was decided; the text is the meeting's (`Meeting.decisions`, by this index)."""

    kind: Literal["decision"] = "decision"
    index: int = Field(ge=0)


class Acted(Value):
    """The host did something about somebody: asked them to (un)mute, to speak or to show their
    screen, handed an item over, or said what they can do (`word`; None: what the sensors say)."""

    kind: Literal["action"] = "action"
    do: Literal["mute", "unmute", "ask_to_speak", "ask_to_present", "hand_over", "override"]
    capability: Capability | None = None
    word: Literal["on", "off"] | None = None
    item: ItemId | None = None
    former: AttendeeId | None = None
    """Who was to speak on an item that was handed over."""


class HandRaised(Value):
    """Somebody asked to speak."""

    kind: Literal["hand"] = "hand"


class ArrivalTold(Value):
    """Somebody lets the meeting know when they arrive, or no longer; not when that is."""

    kind: Literal["arrival"] = "arrival"
    tells: bool


class StateChanged(Value):
    """The meeting was started, ended, cancelled or restored."""

    kind: Literal["state"] = "state"
    state: MeetingState


Body = Annotated[
    Joined
    | Left
    | WentAway
    | AbilityChanged
    | PresenceChanged
    | ItemChanged
    | ProposalChanged
    | Decided
    | Acted
    | HandRaised
    | ArrivalTold
    | StateChanged,
    Field(discriminator="kind"),
]
BODY: TypeAdapter[Body] = TypeAdapter(Body)


class Entry(NamedTuple):
    """An entry of the minutes; `id` is 0 until it is written."""

    at_ms: int
    body: Body
    person: str | None = None
    """Whom it is about."""
    id: int = 0
