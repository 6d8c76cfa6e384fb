"""What the rules concluded of somebody, as the state that is remembered of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal, get_args

from citywise.apps.meeting_mgr.capabilities.facts import begun_ms
from citywise.apps.meeting_mgr.capabilities.situation import Change, Concluded, Situation
from citywise.apps.meeting_mgr.model import (
    CAPABILITIES,
    SENSORS,
    AbilityState,
    Capability,
    PersonState,
    Reason,
    Sensor,
    SensorState,
)

_ORDER = {reason: place for place, reason in enumerate(get_args(Reason))}
Sensed = Capability | Literal["presence"]
"""What sensors decide."""
SENSED: tuple[Sensed, ...] = (*CAPABILITIES, "presence")
_NEWS = ("event", "sensed_event", "changes", "anew", "moves", "able_event")
_Told = dict[str, list[str]]
"""Values by the subject of an atom: a sensor, a capability, or the presence."""


class Conclusions:
    """The atoms that are about one person: `predicate(person, subject, value)`."""

    def __init__(self) -> None:
        self._told: defaultdict[str, _Told] = defaultdict(dict)

    def take(self, predicate: str, subject: str, value: str) -> None:
        """One more atom; `value` is empty where it has none."""
        self._told[predicate].setdefault(subject, []).append(value)

    def of(self, predicate: str) -> Mapping[str, Sequence[str]]:
        """What a predicate says, by subject."""
        return self._told.get(predicate, {})

    def event(self, predicate: str, subject: str) -> str | None:
        """What something has become, if it has changed."""
        return next(iter(self.of(predicate).get(subject, ())), None)


def concluded(now_ms: int, situation: Situation, found: Conclusions) -> Concluded:
    """The state that follows from what was remembered and what the rules conclude."""
    before = situation.state
    is_news = _is_news(before, found)
    after = _after(now_ms, situation, found) if is_news else before
    due_ms = _due_ms(situation, found, after)
    state = after if after.due_ms == due_ms else after.model_copy(update={"due_ms": due_ms})
    changes = tuple(_changes(before, after)) if is_news else ()
    return Concluded(situation.person, state, changes, is_news)


def _is_news(before: PersonState, found: Conclusions) -> bool:
    """Whether anything is another than before, or is so for other reasons."""
    return (
        any(found.of(predicate) for predicate in _NEWS)
        or _reasons(before.sensed) != _sets(found.of("sensed_because"))
        or _reasons(before.abilities) != _sets(found.of("because"))
    )


def _reasons(states: Mapping[Capability, AbilityState]) -> dict[str, set[str]]:
    return {name: set(state.because) for name, state in states.items() if state.because}


def _sets(told: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    return {subject: set(values) for subject, values in told.items()}


def _after(now_ms: int, situation: Situation, found: Conclusions) -> PersonState:
    """The new state but for when to look again."""
    before = situation.state
    presence = found.event("sensed_event", "presence")
    told = {
        "sensors": _sensors(now_ms, situation, found.of("event")),
        "sensed": _abilities(now_ms, before.sensed, found, "sensed_event", "sensed_because"),
        "abilities": _abilities(now_ms, before.abilities, found, "able_event", "because"),
        "presence": presence or before.presence,
        "presence_since_ms": now_ms if presence else before.presence_since_ms,
        "surroundings": next(iter(found.of("moves")), before.surroundings),
        "changed_ms": _changed(now_ms, before, found),
    }
    return PersonState.model_validate(told)


def _sensors(
    now_ms: int, situation: Situation, events: Mapping[str, Sequence[str]]
) -> dict[Sensor, SensorState]:
    return {sensor: _sensor(now_ms, situation, sensor, events) for sensor in SENSORS}


def _sensor(
    now_ms: int, situation: Situation, sensor: Sensor, events: Mapping[str, Sequence[str]]
) -> SensorState:
    """A sensor is silent since it was last heard, and anything else since now."""
    before = situation.state.sensors.get(sensor)
    became, since_ms = next(iter(events.get(sensor, ())), None), now_ms
    if sensor not in situation.sharing:
        became = None if before and before.state == "not_shared" else "not_shared"
    elif became == "silent":
        since_ms = situation.observed.get(sensor, (0, now_ms))[1]
    if became is None and before is not None:
        return before
    return SensorState.model_validate({"state": became, "since_ms": since_ms})


def _abilities(
    now_ms: int,
    before: Mapping[Capability, AbilityState],
    found: Conclusions,
    event: str,
    because: str,
) -> dict[Capability, AbilityState]:
    """The states of capabilities by the atoms of two predicates."""
    events, reasons = found.of(event), found.of(because)
    after: dict[Capability, AbilityState] = {}
    for capability in CAPABILITIES:
        was, became = before.get(capability), next(iter(events.get(capability, ())), None)
        why = tuple(sorted(reasons.get(capability, ()), key=_ORDER.__getitem__))
        if became:
            told = {"state": became, "since_ms": now_ms, "because": why}
            after[capability] = AbilityState.model_validate(told)
        elif was:
            same = why == was.because
            after[capability] = was if same else was.model_copy(update={"because": why})
    return after


def _changed(now_ms: int, before: PersonState, found: Conclusions) -> dict[Sensed, int]:
    """When what sensors say last changed, without what starts anew."""
    anew, changes = found.of("anew"), found.of("changes")
    kept = {what: at for what, at in before.changed_ms.items() if what not in anew}
    return {**kept, **{what: now_ms for what in SENSED if what in changes}}


def _due_ms(situation: Situation, found: Conclusions, after: PersonState) -> int | None:
    """When silence falls or a dwell time is over, whichever comes first."""
    silence, dwell = (round(s * 1000) for s in (situation.rules.silent_s, situation.rules.dwell_s))
    held = found.of("held")
    told = (
        situation.observed[sensor][1] if sensor in situation.observed else begun_ms(situation)
        for sensor, stands in after.sensors.items()
        if stands.state in ("in", "out")
    )
    changed = (at for what, at in after.changed_ms.items() if what in held)
    return min(chain((at + silence for at in told), (at + dwell for at in changed)), default=None)


def _changes(before: PersonState, after: PersonState) -> Iterator[Change]:
    for capability, ability in after.abilities.items():
        was = before.abilities.get(capability)
        state, because = (was.state, was.because) if was else ("unknown", ())
        if (state, because) != (ability.state, ability.because):
            yield Change(capability, state, ability.state, ability.because)
    if before.presence != after.presence:
        yield Change("presence", before.presence, after.presence)
