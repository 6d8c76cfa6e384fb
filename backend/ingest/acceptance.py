"""Which messages are accepted: validation, time limits, unknown sensors, duplicates.

No I/O: a message goes in, and out come records for the log, places, a clock, and what
must go to the dead letters with its reason.
"""

from __future__ import annotations

import logging
import zlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import orjson
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from citywise.backend.ingest.faults import DeadLetter, described, explained, first, internal
from citywise.backend.ingest.payloads import Clock, Place
from citywise.backend.ingest.places import HOURS, fitting, readable, unknown_kind
from citywise.backend.ingest.records import Reading, Withdrawal
from citywise.backend.ingest.standing import Entry, context_entries, event_entries, of_place
from citywise.backend.kinds import Kinds, Observation, Value
from citywise.backend.settings import Ingest

LOG = logging.getLogger("citywise.ingest")
_REMEMBERED, _MOST_REMEMBERED = 4096, 65_536
"""Readings of one sensor and kind: so many at least, and at most where its horizon holds more."""
_MOST_IN_MESSAGE = 60_000
_SETTLE = timedelta(seconds=1)


@dataclass
class Verdict:
    """What becomes of one message."""

    kind: str | None = None
    observations: list[Observation] = field(default_factory=list)
    duplicates: int = 0
    corrections: int = 0
    """How many of the observations say another thing than before, or take one back."""
    place: Place | None = None
    removed_place: str | None = None
    standing: list[Entry] = field(default_factory=list)
    clock: Clock | None = None
    dead: list[DeadLetter] = field(default_factory=list)
    user: str | None = None
    """Of a message at a topic of a user: whom its topic names, empty for nobody."""


class Acceptor:
    """Judges messages in order of arrival; knows the places and what came lately.

    `kinds` may be replaced by others at any time.
    """

    def __init__(self, prefix: str, limits: Ingest, kinds: Kinds) -> None:
        self._prefix = prefix.rstrip("/") + "/"
        self._limits = limits
        self.kinds = kinds
        self._sensors: dict[str, set[str]] = defaultdict(set)
        self._seen: dict[tuple[str, str], dict[int, int]] = {}
        """By kind and sensor, the times of readings and a digest of what they said last."""
        self.clock: Clock | None = None
        self._held: Clock | None = None
        self._unsettled: datetime | None = None

    # -- after a reconnect ----------------------------------------------------------

    def reconnected(self, received: datetime) -> None:
        """The broker now sends what it kept for us, and newer messages may overtake it:
        hold time back until no older readings come any more."""
        self._unsettled = received

    @property
    def holds_time(self) -> bool:
        """Whether it is still to be seen that nothing older comes."""
        return self._unsettled is not None

    def settled(self, received: datetime) -> bool:
        """Whether time may pass again; the clock held back then becomes `clock`."""
        if self._unsettled is not None and received - self._unsettled < _SETTLE:
            return False
        self._unsettled = None
        self.clock, self._held = self._held or self.clock, None
        return True

    # -- what it knows --------------------------------------------------------------

    def know(self, place: Place) -> None:
        """From now on observations of the place's sensors are accepted."""
        for kind in place.sensors:
            self._sensors[kind].add(place.id)

    def forget(self, place_id: str) -> None:
        """A place is gone: its sensors are unknown again."""
        for sensors in self._sensors.values():
            sensors.discard(place_id)

    def remember(self, entry: Reading | Withdrawal) -> None:
        """A reading of the log: the same one again is a duplicate, another one corrects it."""
        values = entry.values if isinstance(entry, Reading) else None
        self._compared(entry.kind, entry.sensor, entry.observed_ms, values)

    # -- judgement ------------------------------------------------------------------

    def judge(self, topic: str, payload: bytes, received: datetime) -> Verdict:
        """Decide about one message; never raises: a message that cannot even be judged would
        come again for ever."""
        parts = topic.removeprefix(self._prefix).split("/")
        if parts[0] == "context":
            return self._of_person(parts, topic, payload, received)
        try:
            return self._judge(parts, topic, payload, received)
        except Exception as error:
            LOG.exception("cannot judge a message on %s", topic)
            return Verdict(dead=[internal(error, payload, personal=False)])

    def _of_person(
        self, parts: list[str], topic: str, payload: bytes, received: datetime
    ) -> Verdict:
        """A message about a person: nothing of it is kept or logged if it is not accepted."""
        try:
            verdict = self._judge(parts, topic, payload, received)
        except Exception as error:  # noqa: BLE001 - its text may quote the message
            LOG.error("cannot judge a message about a person: %s", type(error).__name__)
            verdict = Verdict(dead=[internal(error, payload, personal=True)])
        dead = [DeadLetter.not_kept(d.reason, d.detail, d.size) for d in verdict.dead]
        return replace(verdict, dead=dead, user=parts[1] if parts[1:] else "")

    def _judge(self, parts: list[str], topic: str, payload: bytes, received: datetime) -> Verdict:
        if len(payload) > self._limits.max_payload_bytes:
            return _dead(
                "oversized",
                f"{len(payload)} bytes; at most {self._limits.max_payload_bytes} are accepted",
                payload,
            )
        match parts:
            case ["observations", kind] | ["observations", kind, _] if kind in self.kinds:
                return self._observations(kind, parts[2:], payload, received)
            case ["observations", kind, *_] if kind not in self.kinds:
                return _dead("topic", unknown_kind(kind, self.kinds), payload)
            case ["places", place_kind, place_id]:
                return self._place(place_kind, place_id, payload)
            case ["events", event]:
                return _standing(event_entries, event, payload)
            case ["context", user]:
                return _context(user, payload)
            case ["context", *_]:
                topic = f"{self._prefix}context/<user>/…"
            case ["clock"]:
                return self._clock(payload)
            case ["$refused", device]:
                return _refused(device, payload)
        return _dead(
            "topic", f"no payload is defined for topic `{topic}`; see docs/mqtt.md", payload
        )

    def _place(self, kind: str, place_id: str, payload: bytes) -> Verdict:
        if kind in self.kinds.layers:
            said = f"`{kind}` is a layer, whose places come together (docs/layers.md)"
            return _dead("schema", said, payload)
        if not payload:
            self.forget(place_id)
            standing = [Entry("place", place_id, None)]
            return Verdict(removed_place=place_id, standing=standing)
        try:
            place = Place.model_validate_json(payload)
            if (place.kind, place.id) != (kind, place_id):
                found = f"`{place.kind}` `{place.id}`"
                return _dead("schema", f"{found} is not the topic's `{kind}` `{place_id}`", payload)
            place = fitting(place, self.kinds)
        except ValueError as error:
            return _dead(*explained(error), payload)
        place, unread = readable(place)
        self.know(place)
        dead = [DeadLetter.of(HOURS, unread, payload)] if unread else []
        return Verdict(place=place, standing=[of_place(place)], dead=dead)

    def _clock(self, payload: bytes) -> Verdict:
        if self._limits.clock != "topic":
            return _dead("clock", "this system goes by the wall clock (ingest.clock)", payload)
        try:
            clock = Clock.model_validate_json(payload)
        except ValidationError as error:
            return _dead(*described(first(error)), payload)
        if clock.complete > clock.now:
            return _dead("schema", "`complete` is later than `now`", payload)
        if clock.until is not None and clock.now > clock.until + _SETTLE:
            return _dead("clock", "`now` is later than `until`", payload)
        known = self._held or self.clock
        if known is not None and clock.complete < known.complete:
            return Verdict()  # sent again after the broker was away
        if self._unsettled is not None:
            self._held = clock
            return Verdict()
        self.clock = clock
        return Verdict(clock=clock)

    def _observations(
        self, kind: str, sensor: list[str], payload: bytes, received: datetime
    ) -> Verdict:
        verdict = Verdict(kind=kind)
        observations = self._parse(kind, payload, verdict)
        self._note_backlog(observations, received)
        for observation in observations:
            problem = self._problem(kind, sensor, observation, received)
            if problem is not None:
                payload = orjson.dumps(observation.to_json())
                verdict.dead.append(DeadLetter.of(*problem, payload, observation.sensor))
            else:
                self._take(kind, observation, verdict)
        return verdict

    def _take(self, kind: str, observation: Observation, verdict: Verdict) -> None:
        """An observation that may be taken: news, a correction, or a duplicate."""
        said = None if observation.withdrawn else observation.values
        before, after = self._compared(kind, observation.sensor, observation.observed_ms, said)
        if before == after:
            verdict.duplicates += 1
            return
        is_fixed = self._limits.horizon_of(kind) <= 0
        if observation.withdrawn and (before is None or is_fixed):
            detail = "no reading of this sensor and time is known that could be withdrawn"
            detail = "readings of this kind cannot be withdrawn here" if is_fixed else detail
            payload = orjson.dumps(observation.to_json())
            letter = DeadLetter.of("not-withdrawn", detail, payload, observation.sensor)
            verdict.dead.append(letter)
            return
        if before is not None and is_fixed:
            verdict.duplicates += 1  # who revises nothing goes by what came first
            return
        verdict.corrections += before is not None
        verdict.observations.append(observation)

    def _note_backlog(self, observations: list[Observation], received: datetime) -> None:
        """A reading from before the present, after a reconnect: more of them may come."""
        if self._unsettled is None:
            return
        present = self._held.complete if self._held else received - _SETTLE
        if self._limits.clock == "topic" and self._held is None:
            return
        if any(o.observed_at <= present for o in observations):
            self._unsettled = received

    def _parse(self, kind: str, payload: bytes, verdict: Verdict) -> list[Observation]:
        """The observations of a message; what is wrong goes to `verdict.dead`."""
        reader = self.kinds.reader(kind)
        try:
            if not payload.lstrip().startswith(b"["):
                return [reader.one(payload)]
            found = reader.several(payload)
        except ValidationError as error:
            return self._one_by_one(kind, payload, first(error), verdict)
        return [] if _is_too_long(found, payload, verdict) else found

    def _one_by_one(
        self, kind: str, payload: bytes, fault: ErrorDetails, verdict: Verdict
    ) -> list[Observation]:
        """A message with a fault: keep the good observations of a batch."""
        try:
            values = orjson.loads(payload)
            listed = values if isinstance(values, list) else [values]
            if _is_too_long(listed, payload, verdict):
                return []
            items = [orjson.dumps(v) for v in listed]
        except (orjson.JSONDecodeError, orjson.JSONEncodeError) as error:
            reason = described(fault)
            if fault["type"] != "finite_number":
                reason = ("json", f"not JSON: {error}")
            verdict.dead.append(DeadLetter.of(*reason, payload))
            return []
        good: list[Observation] = []
        for item in items:
            try:
                good.append(self.kinds.reader(kind).one(item))
            except ValidationError as error:
                reason = described(first(error))
                verdict.dead.append(DeadLetter.of(*reason, item, _sensor(item)))
        return good

    def _problem(
        self, kind: str, sensor: list[str], observation: Observation, received: datetime
    ) -> tuple[str, str] | None:
        if sensor and sensor[0] != observation.sensor:
            return "schema", f"sensor `{observation.sensor}` is not the topic's `{sensor[0]}`"
        if observation.sensor not in self._sensors[kind]:
            detail = (
                f"no place `{observation.sensor}` with {kind} observations is known; publish "
                f"it at `{self._prefix}places/<kind>/{observation.sensor}`"
            )
            return "unknown-sensor", detail
        now, complete = self.now(received)
        ahead = observation.observed_at - now
        if self._unsettled is None and ahead > timedelta(seconds=self._limits.future_tolerance_s):
            return "future", f"observed {_span(ahead)} after the present, which is {_utc(now)}"
        age = complete - observation.observed_at
        if age > timedelta(seconds=self._limits.max_age_s):
            return "ancient", f"observed {_span(age)} before {_utc(complete)}"
        return None

    def now(self, received: datetime) -> tuple[datetime, datetime]:
        """The system's present, and the time up to which readings are complete."""
        if self._limits.clock == "wall":
            return received, received - timedelta(seconds=self._limits.grace_s)
        if self.clock is None:
            return datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)
        return self.clock.now, self.clock.complete

    def _compared(
        self, kind: str, sensor: str, observed_ms: int, values: Mapping[str, Value] | None
    ) -> tuple[int | None, int | None]:
        """What was known of a reading before, and is now: a digest, None for nothing."""
        digest = _WITHDRAWN if values is None else _digest(values)
        times = self._seen.setdefault((kind, sensor), {})
        before = times.get(observed_ms)
        if before is None and values is None:
            return None, digest
        times[observed_ms] = digest
        if before is None and len(times) > _REMEMBERED:
            self._forget_oldest(kind, times, observed_ms)
        return before, digest

    def _forget_oldest(self, kind: str, times: dict[int, int], observed_ms: int) -> None:
        """Of what came first of a sensor, forget what its horizon does not need."""
        oldest = next(iter(times))
        needed = observed_ms - oldest <= self._limits.horizon_of(kind) * 1000
        if not needed or len(times) > _MOST_REMEMBERED:
            del times[oldest]


_WITHDRAWN = 0


def _digest(values: Mapping[str, Value]) -> int:
    """A number for what a reading says; the same in any process, and never that of a withdrawal."""
    said = orjson.dumps(values, option=orjson.OPT_SORT_KEYS)
    return zlib.crc32(said) << 16 | zlib.adler32(said) & 0xFFFF | 1 << 48


def _refused(device: str, payload: bytes) -> Verdict:
    """What the broker dropped, since the device's token does not let it."""
    try:
        why = str(orjson.loads(payload)["why"])
    except (ValueError, TypeError, KeyError):
        why = "its token does not let it"
    return _dead("not-allowed", f"device `{device}`: {why}", payload)


def _standing(read: Callable[[str, bytes], list[Entry]], key: str, payload: bytes) -> Verdict:
    try:
        return Verdict(standing=read(key, payload))
    except ValueError as error:
        return _dead(*explained(error), payload)


def _context(user: str, payload: bytes) -> Verdict:
    try:
        return Verdict(standing=context_entries(user, payload))
    except ValueError as error:
        return _dead(*explained(error, personal=True), payload)


def _is_too_long(listed: Sequence[object], payload: bytes, verdict: Verdict) -> bool:
    """Whether a batch has too many observations; then it goes to `verdict.dead` whole."""
    if len(listed) <= _MOST_IN_MESSAGE:
        return False
    detail = f"{len(listed)} observations; at most {_MOST_IN_MESSAGE} in a message"
    verdict.dead.append(DeadLetter.of("oversized", detail, payload))
    return True


def _sensor(item: bytes) -> str:
    """What an observation that does not fit gives as its sensor."""
    found = orjson.loads(item)
    sensor = found.get("sensor") if isinstance(found, dict) else None
    return sensor if isinstance(sensor, str) else ""


def _dead(reason: str, detail: str, payload: bytes) -> Verdict:
    return Verdict(dead=[DeadLetter.of(reason, detail, payload)])


def _span(time: timedelta) -> str:
    """How long it is, to the second."""
    return str(timedelta(seconds=int(time.total_seconds())))


def _utc(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
