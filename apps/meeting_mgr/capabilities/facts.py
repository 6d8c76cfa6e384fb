"""Situations as facts of the rules: people are numbers, values and ages places on scales."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from citywise.apps.meeting_mgr.capabilities.scales import Scales
from citywise.apps.meeting_mgr.capabilities.situation import Situation
from citywise.apps.meeting_mgr.model import CAPABILITIES, PersonState, Rules, Sensor

_MOST_RULES = 1_000
"""Of so many meetings the scales are kept, until there are more."""


class Told(NamedTuple):
    """All that the rules get to know of somebody: of the same they conclude the same, whoever
    it is. `@` stands for the number of the rules, and of the person in `own`."""

    rules: str
    sharing: frozenset[Sensor]
    own: str


class Facts:
    """Writes situations as facts, one `atom.` a line.

    What many have in common, the rules of a meeting and which sensors they share, is written
    once and numbered.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Rules, Scales]] = {}

    def told(self, now_ms: int, situation: Situation) -> Told:
        """What the rules get to know of a situation."""
        scales = self._scales(situation.rules)
        return Told(scales.text, situation.sharing, "".join(_person(now_ms, situation, scales)))

    @staticmethod
    def text(told: Iterable[Told]) -> str:
        """The facts of situations; the nth is person n."""
        rules: dict[str, int] = {}
        kits: dict[frozenset[Sensor], int] = {}
        parts: list[str] = []
        for person, one in enumerate(told):
            number = rules.setdefault(one.rules, len(rules))
            parts.append(f"follows({person},{number}).\n")
            kit = kits.setdefault(one.sharing, len(kits))
            parts.append(f"tells({person},{kit}).\n")
            parts.append(one.own.replace("@", str(person)))
        parts.extend(text.replace("@", str(number)) for text, number in rules.items())
        parts.extend(f"kit({kit},{sensor}).\n" for told, kit in kits.items() for sensor in told)
        return "".join(parts)

    def _scales(self, rules: Rules) -> Scales:
        known = self._known.get(id(rules))
        if known is None or known[0] is not rules:
            if len(self._known) >= _MOST_RULES:
                self._known.clear()
            known = self._known[id(rules)] = rules, Scales(rules)
        return known[1]


def begun_ms(situation: Situation) -> int:
    """Since when anything can be heard of somebody."""
    return max(situation.joined_ms, situation.listening_ms or 0)


def _person(now_ms: int, situation: Situation, scales: Scales) -> Iterator[str]:
    yield from _counted(situation.state)
    yield from _heard(now_ms, situation, scales)
    yield from _sensed(now_ms, situation.state, scales)
    if situation.says != "unknown":
        yield f"says(@,{situation.says}).\n"
    if situation.item_is_sensitive:
        yield "sensitive(@).\n"
    for capability, word in situation.overrides.items():
        yield f"override(@,{capability},{word}).\n"


def _heard(now_ms: int, situation: Situation, scales: Scales) -> Iterator[str]:
    """What is shared, and nothing else: what is not the rules never see."""
    before, observed = situation.state.sensors, situation.observed
    for sensor in situation.sharing:
        stood = before[sensor].state if sensor in before else "none"
        if sensor in observed:
            value, heard_ms = observed[sensor]
            told = f"{scales.place(sensor, value)},{scales.silence.place(now_ms - heard_ms)}"
            yield f"heard(@,{sensor},{told},{stood}).\n"
        else:
            yield f"unheard(@,{sensor},{stood}).\n"
    for sensor, was in before.items():
        if was.state != "not_shared" and sensor not in situation.sharing:
            yield f"ceased(@,{sensor}).\n"
    if any(sensor not in observed for sensor in situation.sharing):
        age = scales.silence.place(now_ms - begun_ms(situation))
        yield f"listening(@,{age}).\n"


def _counted(state: PersonState) -> Iterator[str]:
    """What counted and where the person was; that something is on goes without saying."""
    for capability in CAPABILITIES:
        able = state.abilities.get(capability)
        if able is None or able.state != "on":
            yield f"was_able(@,{capability},{able.state if able else 'none'}).\n"
    presence = state.presence if state.presence_since_ms else "none"
    yield f"was_sensed(@,presence,{presence}).\n"
    if state.surroundings != "unknown":
        yield f"was_at(@,{state.surroundings}).\n"


def _sensed(now_ms: int, state: PersonState, scales: Scales) -> Iterator[str]:
    """What sensors said, why, and since when."""
    for capability in CAPABILITIES:
        sensed = state.sensed.get(capability)
        if sensed is None or sensed.state != "on":
            yield f"was_sensed(@,{capability},{sensed.state if sensed else 'none'}).\n"
        for reason in sensed.because if sensed else ():
            yield f"was_because(@,{capability},{reason}).\n"
    for changed, at_ms in state.changed_ms.items():
        yield f"changed(@,{changed},{scales.dwell.place(now_ms - at_ms)}).\n"
