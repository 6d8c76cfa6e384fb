"""A meeting that people are in, as the app's process has it in memory.

Readings are here and nowhere else: the last value of each sensor that somebody shares, until
they leave, share it no longer, or the meeting is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from citywise.apps.meeting_mgr import readings
from citywise.apps.meeting_mgr.capabilities import Concluded, Situation
from citywise.apps.meeting_mgr.model import Person, PersonState, Sensor
from citywise.apps.meeting_mgr.process.latest import LATE_MS, Latest
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.steps.sharing import ROOM_SENSORS, is_too_early

Values = Mapping[Sensor, tuple[float, int]]
"""Last value of each sensor, and when the server heard it."""


class Live:
    """A meeting, who is in it, and what was last heard of them; `since_ms`: since when, or since
    the clock was set back. What is stamped as of later than now counts as of then."""

    def __init__(self, record: MeetingRecord, people: Sequence[Person], since_ms: int) -> None:
        self.record = record
        self.people: dict[str, Person] = {}
        """Everybody who has joined, also who has left."""
        self._since_ms = since_ms
        self._latest: dict[str, Latest] = {}
        self._news: set[str] = set()
        self.refresh(record, people)

    @property
    def present(self) -> int:
        """How many people are there."""
        return len(self._latest)

    @property
    def room(self) -> str | None:
        """Which room sensors count here."""
        return self.record.meeting.room.sensors

    def refresh(self, record: MeetingRecord, people: Sequence[Person]) -> None:
        """The meeting as it is kept now; what is known of it counts for everybody anew."""
        self.record = record
        self.people = {person.id: person for person in people}
        there = [person for person in people if person.left_ms is None]
        self._latest = {one.id: self._latest.get(one.id, Latest()) for one in there}
        for person in there:
            self._latest[person.id].keep(person.sharing)
        self._news = set(self._latest)

    def set_back(self, now_ms: int) -> None:
        """The clock was set back to `now_ms`."""
        self._since_ms = now_ms
        for latest in self._latest.values():
            latest.not_after(now_ms)
        self._news = set(self._latest)

    # -- what is heard ------------------------------------------------------------------

    def heard_ms(self, person: str) -> int:
        """When a device of somebody was last heard, or this process began to listen."""
        heard = (at_ms for _value, at_ms in self._latest[person].values.values())
        return max(heard, default=self._since_ms)

    def hear(self, person: str, payload: bytes, heard_ms: int) -> bool:
        """Note a reading; False if it is of nobody who is there, came late, or long before the
        meeting.

        Of sensors that the person does not share nothing is noted. Raises `BadReadingError`.
        """
        latest = self._latest.get(person)
        if latest is None or is_too_early(self.record, heard_ms):
            return False
        told = readings.reading(payload)
        values = readings.observed(told, self.record.meeting.room)
        shared = self.people[person].sharing
        mine = {sensor: value for sensor, value in values.items() if sensor in shared}
        self._news.add(person)
        return latest.hear(told.at, mine, heard_ms)

    def hear_room(self) -> None:
        """The room's sensors tell something new of those who are in the room."""
        self._news |= {name for name in self._latest if self._is_in_room(name)}

    # -- what is concluded --------------------------------------------------------------

    def situations(self, now_ms: int, room: Values) -> list[Situation]:
        """Those of whom there is news, or at whom it is time to look again."""
        due = {name for name in self._latest if self._is_due(name, now_ms)}
        return [self._situation(name, room, now_ms) for name in sorted(self._news | due)]

    def took(self, concluded: Iterable[Concluded]) -> None:
        """Remember what was concluded."""
        for one in concluded:
            self._news.discard(one.person)
            person = self.people[one.person]
            self.people[one.person] = person.model_copy(update={"state": one.state})

    def _told_by_room(self, person: Person) -> set[Sensor]:
        """What the room has told of somebody there, also before this process began."""
        stands = person.state.sensors if self.room else {}
        return {
            sensor
            for sensor in ROOM_SENSORS
            if sensor in stands and stands[sensor].state != "not_shared"
        }

    def _is_due(self, person: str, now_ms: int) -> bool:
        due_ms = self.people[person].state.due_ms
        return due_ms is not None and due_ms <= now_ms

    def _is_in_room(self, person: str) -> bool:
        return self.people[person].state.presence == "room"

    def _past(self, at_ms: int, now_ms: int) -> int:
        return min(self._since_ms, now_ms) if at_ms > now_ms + LATE_MS else at_ms

    def _state(self, person: Person, now_ms: int) -> PersonState:
        state = person.state
        changed = {what: self._past(at, now_ms) for what, at in state.changed_ms.items()}
        is_past = changed == state.changed_ms
        return state if is_past else state.model_copy(update={"changed_ms": changed})

    def _situation(self, name: str, room: Values, now_ms: int) -> Situation:
        person, rules = self.people[name], self.record.meeting.rules
        observed, sharing = self._latest[name].values, frozenset(person.sharing)
        if self._is_in_room(name):
            observed = with_room(observed, room, rules.silent_s)
            sharing = sharing.union(room, self._told_by_room(person))
        current = self.record.meeting.current()
        return Situation(
            person=name,
            meeting=self.record.id,
            rules=rules,
            sharing=sharing,
            state=self._state(person, now_ms),
            observed=observed,
            joined_ms=self._past(person.joined_ms, now_ms),
            overrides=person.overrides,
            says=person.says_surroundings,
            item_is_sensitive=current is not None and current.sensitive,
            listening_ms=self._since_ms,
        )


def with_room(own: Values, room: Values, silent_s: float) -> Values:
    """What counts for somebody in a room: of the room's sensors what the own device does not
    tell, or has not for so long that the room knows better."""
    younger = {
        sensor: heard
        for sensor, heard in room.items()
        if sensor not in own or heard[1] - own[sensor][1] > silent_s * 1000
    }
    return {**own, **younger}
