"""What people can do, by the definitions of docs/meeting-manager-abilities.md, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, cast, get_args

from citywise.apps.meeting_mgr.capabilities import Situation
from citywise.apps.meeting_mgr.model import (
    CAPABILITIES,
    SENSORS,
    Ability,
    AbilityState,
    Capability,
    PersonState,
    Presence,
    Reason,
    Sensor,
    SensorState,
    Surroundings,
    Threshold,
)

Found = Ability | Presence
What = Capability | Literal["presence"]

SENSORS_OF: dict[What, tuple[Sensor, ...]] = {
    "speak": ("noise", "network"),
    "listen": ("noise", "network"),
    "read": ("light", "proximity", "motion", "speed", "visible"),
    "chat": ("proximity", "motion", "speed", "visible"),
    "share": ("noise", "speed", "battery", "network"),
    "presence": ("distance",),
}
REASONS: dict[Sensor, Reason] = {"speed": "driving", "visible": "hidden"}


class Word(NamedTuple):
    """What sensors say of something, and why."""

    found: Found
    because: tuple[Reason, ...] = ()


def conclude(now_ms: int, situation: Situation) -> PersonState:
    """The whole state, from the state before and all that is known at `now_ms`."""
    before = situation.state
    sensors = {sensor: _sensor(now_ms, situation, sensor) for sensor in SENSORS}
    due = list(_silences(situation, sensors))
    changed = dict(before.changed_ms)
    sensed: dict[What, AbilityState] = {}
    presence, presence_since = before.presence, before.presence_since_ms
    for what in SENSORS_OF:
        word = _word(what, sensors)
        was = _before(what, before)
        if _anew(what, before, sensors):
            changed.pop(what, None)
        if was is not None and word.found != was.found:
            over = changed.get(what, 0) + round(situation.rules.dwell_s * 1000)
            if what in changed and now_ms < over:
                due.append(over)
                word = was
            elif what in changed or (was.found != "unknown" and not _anew(what, before, sensors)):
                changed[what] = now_ms
        if what == "presence":
            if was is None or word.found != was.found:
                presence, presence_since = cast("Presence", word.found), now_ms
        else:
            sensed[what] = _ability(now_ms, before.sensed.get(what), word)
    surroundings = _surroundings(situation, sensors, presence)
    return PersonState(
        sensors=sensors,
        sensed={capability: sensed[capability] for capability in CAPABILITIES},
        abilities={
            capability: _ability(
                now_ms,
                before.abilities.get(capability),
                _counts(situation, capability, sensed[capability], surroundings),
            )
            for capability in CAPABILITIES
        },
        presence=presence,
        presence_since_ms=presence_since,
        surroundings=surroundings,
        changed_ms=changed,
        due_ms=min(due, default=None),
    )


def _sensor(now_ms: int, situation: Situation, sensor: Sensor) -> SensorState:
    before = situation.state.sensors.get(sensor)
    stands, since_ms = _stands(now_ms, situation, sensor, before), now_ms
    if before is not None and before.state == stands:
        return before
    if stands == "silent" and sensor in situation.observed:
        since_ms = situation.observed[sensor][1]
    return SensorState(state=stands, since_ms=since_ms)


def _stands(
    now_ms: int, situation: Situation, sensor: Sensor, before: SensorState | None
) -> Literal["in", "out", "silent", "not_shared"]:
    silence_ms = round(situation.rules.silent_s * 1000)
    if sensor not in situation.sharing:
        return "not_shared"
    if sensor not in situation.observed:
        known = before is not None and before.state in ("in", "out")
        if before is not None and known and now_ms - _begun(situation) < silence_ms:
            return before.state
        return "silent"
    value, heard_ms = situation.observed[sensor]
    if now_ms - heard_ms >= silence_ms:
        return "silent"
    threshold = situation.rules.thresholds.get(sensor, Threshold())
    inset = threshold.hysteresis if before is not None and before.state == "out" else 0
    return "in" if _is_inside(value, threshold, inset) else "out"


def _is_inside(value: float, threshold: Threshold, inset: float) -> bool:
    """In hundredths, as rules count."""
    low, high, inset = threshold.lower, threshold.upper, round(inset * 100)
    above = low is None or round(value * 100) > round(low * 100) + inset
    below = high is None or round(value * 100) < round(high * 100) - inset
    return above and below


def _begun(situation: Situation) -> int:
    return max(situation.joined_ms, situation.listening_ms or 0)


def _silences(situation: Situation, sensors: dict[Sensor, SensorState]) -> Iterator[int]:
    for sensor, stands in sensors.items():
        if stands.state in ("in", "out"):
            told = situation.observed.get(sensor)
            heard_ms = told[1] if told else _begun(situation)
            yield heard_ms + round(situation.rules.silent_s * 1000)


def _word(what: What, sensors: dict[Sensor, SensorState]) -> Word:
    """What sensors say now, whatever they said before."""
    states = {sensor: sensors[sensor].state for sensor in SENSORS if sensor in SENSORS_OF[what]}
    if "out" in states.values():
        out = [sensor for sensor, state in states.items() if state == "out"]
        if what == "presence":
            return Word("remote")
        return Word("off", tuple(REASONS.get(sensor, cast("Reason", sensor)) for sensor in out))
    if "silent" in states.values():
        return Word("unknown", () if what == "presence" else ("silent",))
    if set(states.values()) == {"not_shared"}:
        return Word("unknown", () if what == "presence" else ("not_shared",))
    return Word("room" if what == "presence" else "on")


def _before(what: What, before: PersonState) -> Word | None:
    if what == "presence":
        return Word(before.presence) if before.presence_since_ms else None
    was = before.sensed.get(what)
    return None if was is None else Word(was.state, was.because)


def _anew(what: What, before: PersonState, sensors: dict[Sensor, SensorState]) -> bool:
    """Whether a sensor that decides it is shared only now, or no longer."""
    return any(
        (before.sensors[sensor].state == "not_shared") != (sensors[sensor].state == "not_shared")
        for sensor in SENSORS_OF[what]
        if sensor in before.sensors
    )


def _surroundings(
    situation: Situation, sensors: dict[Sensor, SensorState], presence: Presence
) -> Surroundings:
    if situation.says != "unknown":
        return situation.says
    if presence == "room" or sensors["speed"].state == "out":
        return "private"
    return "public" if sensors["noise"].state == "out" else "unknown"


def _counts(
    situation: Situation, capability: Capability, sensed: AbilityState, surroundings: Surroundings
) -> Word:
    word = situation.overrides.get(capability)
    if word is not None:
        return Word(word, ("override",) if word == "off" else ())
    hushed = situation.item_is_sensitive and surroundings == "public"
    if hushed and capability in ("speak", "share"):
        return Word("off", ("sensitive",))
    return Word(sensed.state, sensed.because)


def _ability(now_ms: int, before: AbilityState | None, word: Word) -> AbilityState:
    same = before is not None and before.state == word.found
    return AbilityState(
        state=cast("Ability", word.found),
        since_ms=before.since_ms if same and before is not None else now_ms,
        because=tuple(sorted(word.because, key=get_args(Reason).index)),
    )
