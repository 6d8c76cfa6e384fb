"""A meeting, its agenda and its people, as values; times are Unix milliseconds of the wall.

Meetings follow the wall's clock, not the city's: people sit in them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from citywise.backend.app import people, times

APP = "meeting_mgr"

Sensor = Literal[
    "noise", "light", "proximity", "motion", "speed", "distance", "visible", "battery", "network"
]
SENSORS: tuple[Sensor, ...] = (
    "noise",
    "light",
    "proximity",
    "motion",
    "speed",
    "distance",
    "visible",
    "battery",
    "network",
)
"""What is judged: dB, lux, cm, m/s², km/h, metres to the room, 0 or 1, per cent, Mbit/s."""
Capability = Literal["speak", "listen", "read", "chat", "share"]
CAPABILITIES: tuple[Capability, ...] = ("speak", "listen", "read", "chat", "share")
Ability = Literal["on", "off", "unknown"]
Presence = Literal["room", "remote", "unknown"]
Surroundings = Literal["public", "private", "unknown"]
Reason = Literal[
    "noise",
    "light",
    "proximity",
    "motion",
    "driving",
    "hidden",
    "battery",
    "network",
    "sensitive",
    "override",
    "silent",
    "not_shared",
    "left",
]
"""Why an ability is off or unknown: a sensor out of its range, driving (`speed`), a page in
the background (`visible`), a sensitive item in a public place, the host's word, no data since a
while, nothing shared that would tell, or the person has left."""
MeetingState = Literal["planned", "running", "ended", "cancelled"]
OPEN: tuple[MeetingState, ...] = ("planned", "running")
"""States of meetings that people are in."""
ItemState = Literal["open", "current", "done", "put_off"]
Kind = Literal["reorder", "shorten", "put_off", "take_up", "reschedule"]
"""What a proposal is mostly about."""
Answer = Literal["open", "accepted", "declined", "undone", "outdated"]
LONGEST_MS = 24 * 3_600_000
"""So long a meeting takes at most."""
LONGEST_MINUTES = 480
"""So long an item takes at most."""
_PROGRESS: tuple[ItemState, ...] = ("done", "current", "open", "put_off")

ItemId = Annotated[str, Field(pattern=r"^i[0-9]{1,4}$")]
PERSON_ID = r"p-[a-z2-7]{20}"
PersonId = Annotated[str, Field(pattern=f"^{PERSON_ID}$")]
AttendeeId = Annotated[str, Field(pattern=r"^a[0-9]{1,4}$")]
_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
"""Control characters, and what ends a line or turns round what follows without being seen."""
_ADDRESS = re.compile(r"[^@\s<>\"?#%&,;:\\()\[\]]+@[^@\s<>\"?#%&,;:\\()\[\]]+")
"""Also as it stands in a `mailto:`, which `?` would give headers of its own."""


def _one_line(text: str) -> str:
    if _UNSEEN.search(text):
        raise ValueError(f"found {text!r}, expected one line of text that can be seen")
    return _visible_text(text)


def _lines(text: str) -> str:
    if _UNSEEN.search(text.replace("\n", "").replace("\t", "")):
        raise ValueError(f"found {text!r}, expected lines of text without control characters")
    return _visible_text(text)


def _visible_text(text: str) -> str:
    if not people.names.is_seen(text):
        raise ValueError(f"found {text!a}, which shows nothing; expected text that can be seen")
    return text


def _address(text: str) -> str:
    if _UNSEEN.search(text) or not _ADDRESS.fullmatch(text):
        raise ValueError(f"found {text!r}, expected an address such as ann@example.org")
    return text


Text = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_one_line)]
LongText = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_lines)]
Email = Annotated[str, Field(max_length=254), AfterValidator(_address)]
Instant = times.Milliseconds
LARGEST_BOUND = 1e9
"""In the unit of its sensor; no device tells as much."""
Bound = Annotated[float, Field(ge=-LARGEST_BOUND, le=LARGEST_BOUND)]


class Value(BaseModel):
    """Base of all here: immutable, strict, and nothing that is not known."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Threshold(Value):
    """The range in which a sensor's values are fine: `lower` < value < `upper` (thesis, Listing
    7.3). Once out, a value must be inside by more than `hysteresis` to be fine again."""

    lower: Bound | None = None
    upper: Bound | None = None
    hysteresis: float = Field(default=0, ge=0, le=LARGEST_BOUND)


USUAL_THRESHOLDS: Mapping[Sensor, Threshold] = {
    "noise": Threshold(upper=80, hysteresis=5),
    "light": Threshold(lower=150, hysteresis=30),
    "proximity": Threshold(lower=0),
    "motion": Threshold(upper=8, hysteresis=2),
    "speed": Threshold(upper=20, hysteresis=10),
    "distance": Threshold(upper=50, hysteresis=25),
    "visible": Threshold(lower=0),
    "battery": Threshold(lower=5, hysteresis=3),
    "network": Threshold(lower=0.1, hysteresis=0.1),
}
"""Figure 7.15's (noise 80 dB, proximity 0, light 150 lux), and ours for the others."""


class Room(Value):
    """Where a meeting is; `sensors` names the MQTT room sensors that measure there."""

    name: Text
    lat: float | None = Field(default=None, ge=-90, le=90)
    lon: float | None = Field(default=None, ge=-180, le=180)
    sensors: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$")


class Busy(Value):
    """When somebody has no time."""

    from_ms: Instant
    until_ms: Instant


class Attendee(Value):
    """Who is invited."""

    id: AttendeeId
    name: Text
    email: Email | None = None
    required: bool = True
    busy: tuple[Busy, ...] = Field(default=(), max_length=500, strict=False)


class PlannedItem(Value):
    """What the host says of an item; `minutes` can be cut to `least_minutes`, `needs` is what its
    speaker must be able to do, `listeners` what every required attendee must (both at least)."""

    title: Text
    type: Literal["talk", "discussion", "decision", "break"] = "talk"
    speaker: AttendeeId | None = None
    minutes: int = Field(ge=1, le=LONGEST_MINUTES)
    least_minutes: int | None = Field(default=None, ge=1, le=LONGEST_MINUTES)
    sensitive: bool = False
    needs: tuple[Capability, ...] = Field(default=("speak",), strict=False)
    listeners: tuple[Capability, ...] = Field(default=("listen",), strict=False)
    after: tuple[ItemId, ...] = Field(default=(), strict=False)
    """Items that must have been dealt with before."""


class Item(PlannedItem):
    """An item of the agenda, and how far it has come."""

    id: ItemId
    state: ItemState = "open"
    began_ms: Instant | None = None
    ended_ms: Instant | None = None
    returns: bool = False
    """Of what is put off: whether a proposal did it, so that another may take it up again."""


class Rules(Value):
    """What the host sets for a meeting; all can be changed while it runs."""

    thresholds: dict[Sensor, Threshold] = Field(default_factory=lambda: dict(USUAL_THRESHOLDS))
    dwell_s: int = Field(default=10, ge=0, le=600)
    """An ability that sensors have changed stays so for at least this long."""
    silent_s: float = Field(default=15, ge=2, le=3600)
    """Without a word for so long a sensor is silent."""
    apply_automatically: tuple[Literal["reorder", "shorten", "put_off", "take_up"], ...] = Field(
        default=(), strict=False
    )
    """Proposals of these kinds are applied without asking; they can be undone."""
    show_abilities_to_all: bool = False
    """Whether participants see what the others can do."""
    talk_time: bool = False
    """Whether the minutes say how long each spoke, if all agree."""
    absence_minutes: int = Field(default=15, ge=1, le=480)
    """For so long, from now, somebody who cannot take part is taken to be unable to."""


class Decision(Value):
    """Something decided, as the host typed it."""

    at_ms: Instant
    item: ItemId | None = None
    title: Text | None = None
    """Of the item as it was then: it may be removed."""
    text: LongText


class Hook(Value):
    """Where another conference system wants to be told (`webhooks`)."""

    url: Annotated[str, Field(pattern=r"^https?://\S{1,400}$")]
    secret: Annotated[str, Field(min_length=16, max_length=200)]


class Move(Value):
    """The host moved the bounds by which a sensor is judged."""

    sensor: Sensor
    at_ms: Instant


Every = Literal["week", "fortnight", "weekdays", "month"]
"""How often a meeting is again: `month` on the same weekday of it, as the second Tuesday."""


class Series(Value):
    """Of a meeting that is again and again: each time is a meeting of its own."""

    id: str
    """The first meeting's id: by it calendars know all of them."""
    every: Every | None
    """None: this was the last one."""
    rule: str
    """The same as calendars have it (RFC 5545), as it was when the host said so."""
    plan: Meeting
    """What those that follow are like; its times are when this one is by the rule."""
    next: str | None = None
    """The id of the one after it, once it is made."""


class Meeting(Value):
    """A meeting as its host keeps it."""

    title: Text
    room: Room
    starts_ms: Instant
    ends_ms: Instant
    attendees: tuple[Attendee, ...] = Field(default=(), max_length=200, strict=False)
    agenda: tuple[Item, ...] = Field(default=(), max_length=40, strict=False)
    """In the order in which it is meant to happen; what is done or put off may be anywhere in it
    (`in_order`)."""
    rules: Rules = Rules()
    decisions: tuple[Decision, ...] = Field(default=(), strict=False)
    hook: Hook | None = None
    conference: Literal["none", "jitsi"] = "none"
    moves: tuple[Move, ...] = Field(default=(), strict=False)
    """Of the last hour, of each sensor the last few (`steps.bounds`)."""
    renewed_ms: Instant | None = None
    """When the link was last made anew: invitations sent before lead nowhere."""
    series: Series | None = None
    """Of which it is one, if it is again and again."""

    def planned(self) -> tuple[tuple[Item, ...], Instant, Instant]:
        """Agenda and times: what a proposal is about."""
        return self.agenda, self.starts_ms, self.ends_ms

    def current(self) -> Item | None:
        """The item that the meeting is at."""
        return next((item for item in self.agenda if item.state == "current"), None)

    def attendee(self, name: str | None) -> Attendee | None:
        """One of the invited, by their id."""
        return next((one for one in self.attendees if one.id == name), None)

    def named(self, attendee: str | None) -> str | None:
        """What one of the invited is called."""
        one = self.attendee(attendee)
        return None if one is None else one.name

    def in_order(self) -> list[Item]:
        """The agenda as it happens: what is done, the current item, what is to come, and what
        is put off."""
        return sorted(self.agenda, key=lambda item: _PROGRESS.index(item.state))


Series.model_rebuild()
Meeting.model_rebuild()


# --- What the reasoner concludes of a person -----------------------------------------------------


class SensorState(Value):
    """How a person's sensor stands: in or out of its range, silent, or not shared."""

    state: Literal["in", "out", "silent", "not_shared"]
    since_ms: Instant


class AbilityState(Value):
    """What of one capability is so, since when and why (empty where it is on)."""

    state: Ability
    since_ms: Instant
    because: tuple[Reason, ...] = Field(default=(), strict=False)


class PersonState(Value):
    """What the reasoner last concluded of a person; the whole of what it remembers of them.

    No values of sensors are in it: hosts see states.
    """

    sensors: dict[Sensor, SensorState] = Field(default_factory=dict)
    sensed: dict[Capability, AbilityState] = Field(default_factory=dict)
    """By sensors alone, each at least the dwell time."""
    abilities: dict[Capability, AbilityState] = Field(default_factory=dict)
    """What counts: the host's word, then sensitive items in public, then `sensed`."""
    presence: Presence = "unknown"
    presence_since_ms: Instant = 0
    surroundings: Surroundings = "unknown"
    changed_ms: dict[Capability | Literal["presence"], Instant] = Field(default_factory=dict)
    """When a sensed ability, or the presence, last changed: from then on it stays for the dwell
    time. What has only just become known has not changed, and is not in it."""
    due_ms: Instant | None = None
    """When to look again though nothing is heard: a dwell time is over, or a sensor silent."""


class Asked(Value):
    """What the host asks of somebody, until they have done it."""

    what: Literal["mute", "unmute", "speak", "present"]
    """`present`: to show their screen."""
    at_ms: Instant


Ending = Literal["bounds", "room", "over"]
"""Why the sharing of a sensor was ended for somebody: its bounds were moved too often, the room
is another place, or the meeting is not before them any more, or not yet."""


class Ended(Value):
    """The sharing of a sensor was ended for somebody, who has not noted it so far."""

    sensor: Sensor
    because: Ending
    at_ms: Instant


class Person(Value):
    """Somebody who has joined a meeting."""

    id: PersonId
    meeting: str
    name: Text
    attendee: AttendeeId | None = None
    """Which of the invited it is; None: somebody else."""
    user: str | None = None
    """The account, of who is logged in."""
    formerly: tuple[PersonId, ...] = Field(default=(), strict=False)
    """As whom the same browser took part before: what is withdrawn goes of these, too."""
    device: int = Field(default=1, ge=1)
    """Which it is of those with which the same one of the invited was there as they joined."""
    sharing: tuple[Sensor, ...] = Field(default=(), strict=False)
    shared_ms: dict[Sensor, Instant] = Field(default_factory=dict)
    """Since when they share what they share."""
    ended: tuple[Ended, ...] = Field(default=(), strict=False)
    """What they shared and would be asked anew for."""
    says_surroundings: Surroundings = "unknown"
    """What the person says of where they are; it outranks what sensors suggest."""
    overrides: dict[Capability, Literal["on", "off"]] = Field(default_factory=dict)
    """What the host has said they can or cannot do."""
    hand: bool = False
    """Whether they ask to speak."""
    muted: bool = False
    presents: bool = False
    """Whether they show their screen, as they or their video room say."""
    asked: Asked | None = None
    tells_arrival: bool = False
    """Whether the meeting may know when they arrive, by a trip that they follow."""
    agrees_talk_time: bool = False
    """Whether the minutes may say how long they spoke, if all agree."""
    arrives_ms: Instant | None = None
    """When that is, a full minute; until then nothing is expected of them."""
    joined_ms: Instant
    left_ms: Instant | None = None
    away_ms: Instant | None = None
    """Since when no page of theirs is open, of who has not left: the seat waits for them."""
    state: PersonState = PersonState()

    @property
    def is_there(self) -> bool:
        """Whether they count: they have neither left nor closed the page."""
        return self.left_ms is None and self.away_ms is None


# --- What the meeting reasoner proposes ----------------------------------------------------------


class Placed(Value):
    """An item in a proposed agenda: when it begins and how long it takes."""

    item: ItemId
    starts_ms: Instant
    minutes: int


class Proposed(Value):
    """One way to go on. `cost` as the objective has it (docs/meeting-manager-agenda.md), the most
    important first."""

    agenda: tuple[Placed, ...] = Field(strict=False)
    put_off: tuple[ItemId, ...] = Field(default=(), strict=False)
    moved: tuple[ItemId, ...] = Field(default=(), strict=False)
    shortened: tuple[ItemId, ...] = Field(default=(), strict=False)
    taken_up: tuple[ItemId, ...] = Field(default=(), strict=False)
    """Items that had been put off, and take place again."""
    starts_ms: Instant | None = None
    """Of the whole meeting, where it is proposed to be at another time."""
    ends_ms: Instant | None = None
    """Of the whole meeting, where it is proposed to go on past its end."""
    cost: tuple[int, ...] = Field(strict=False)
    is_best: bool = True
    """Whether it is proved that there is none better."""


Because = Reason | Literal["away", "busy", "late", "again", "arriving"]
"""`late`: too late, somebody or an item; `again`: an item can take place again; `arriving`: on the
way, and told when they are there, which `Person.arrives_ms` alone says."""


class Cause(Value):
    """Why something is proposed: who cannot take part in what, and why."""

    item: ItemId | None
    person: AttendeeId | None
    lacks: tuple[Capability, ...] = Field(default=(), strict=False)
    because: tuple[Because, ...] = Field(default=(), strict=False)


class Proposal(Value):
    """What the meeting reasoner proposes to the host."""

    number: int = 0
    """Which of the meeting's proposals it is; 0 until it is put to the host."""
    at_ms: Instant
    kind: Kind
    causes: tuple[Cause, ...] = Field(strict=False)
    options: tuple[Proposed, ...] = Field(min_length=1, strict=False)
    """The best first, then alternatives."""
    answer: Answer = "open"
    chosen: int | None = None
    automatic: bool = False
    before: tuple[Item, ...] | None = Field(default=None, strict=False)
    """The agenda before it was accepted, for undoing."""
    before_times: tuple[Instant, Instant] | None = Field(default=None, strict=False)
    before_state: MeetingState | None = None
