"""Messages that were damaged anyhow crash no connector, and cost no more than what is damaged.

Two sorts: bytes are changed anywhere, and then only that nothing crashes is known; or some of the
parts that a message has (`parts.py`) are damaged, and then all others are found as before.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import pytest

from citywise.backend.connectors import BUILTIN, Connector, Desk, Found, Message, recorded
from citywise.backend.sources.relay import Relay
from citywise.backend.times import parse_ms
from tests.conftest import PACK
from tests.connectors.parts import FORMS, JUNK, replaced
from tests.connectors.samples import SAMPLES

AT_MS = parse_ms("2026-05-04T12:00:00Z")
FEW, MANY = 300, 10_000
Sequence_ = tuple[tuple[str | None, bytes], ...]
FILES = {
    "ngsi-ld": ("ngsi/*",),
    "sensorthings": ("sensorthings/frost*", "sensorthings/bgs_d*"),
    "homeassistant": ("mqtt/homeassistant_discovery.jsonl", "mqtt/tasmota_messages.jsonl"),
    "sensor-community": ("airsensors/sensor_community*",),
    "opensensemap": ("airsensors/opensensemap*",),
    "ttn": ("lorawan/ttn*",),
    "chirpstack": ("lorawan/chirpstack*",),
    "gbfs": ("gbfs/v2.3/s*",),
    "gtfs-rt": ("gtfs_rt/*alerts*", "gtfs_rt/*positions.pb"),
    "datex2": ("datex2/v2_france*", "datex2/v3_a*", "datex2/v3_netherlands_srti*"),
    "apds": (),
    "wzdx": ("wzdx/*example*",),
    "cap": ("cap/*",),
}


def messages(connector: str) -> list[Sequence_]:
    """The samples of our own, and recorded messages where they are at hand."""
    found: list[Sequence_] = [one.messages for one in SAMPLES[connector]]
    for pattern in FILES[connector]:
        for path in sorted((PACK / "feeds").glob(pattern)):
            taken = recorded(Message(path.read_bytes()))[:60]
            found.append(tuple((one.topic, one.body) for one in taken))
    return found


def read(connector: str, sent: Sequence_) -> list[Found]:
    reader: Connector = BUILTIN[connector](Desk(source=connector))
    found: list[Found] = []
    for topic, body in sent:
        for one in recorded(Message(body, topic, AT_MS)):
            found += reader.read(one)
    for thing in found:
        json.dumps(thing.to_json(), allow_nan=False).encode("utf-8", "surrogatepass")
    list(Relay().messages(found))
    return found


def damaged(sent: Sequence_, dice: random.Random) -> Sequence_:
    """The messages with some bytes of one changed, cut out, doubled or made up."""
    index = dice.randrange(len(sent))
    topic, body = sent[index]
    changed = bytearray(body)
    for _times in range(dice.randint(1, 4)):
        at = dice.randrange(len(changed) + 1)
        end = min(at + dice.randint(0, 12), len(changed))
        match dice.randrange(5):
            case 0:
                changed[at:end] = dice.randbytes(dice.randint(0, 8))
            case 1:
                del changed[at:end]
            case 2:
                changed[at:at] = changed[max(0, at - 40) : at]
            case 3:
                changed[at:] = b""
            case _:
                junk = json.dumps(dice.choice(JUNK)).encode()
                changed[at:end] = junk
    return (*sent[:index], (topic, bytes(changed)), *sent[index + 1 :])


def spoilt(sent: Sequence_, dice: random.Random) -> Sequence_ | None:
    """The messages with one value of one of them replaced; None where that is no JSON."""
    index = dice.randrange(len(sent))
    topic, body = sent[index]
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return (*sent[:index], (topic, json.dumps(replaced(value, dice)).encode()), *sent[index + 1 :])


def tried(connector: str, count: int, seed: int) -> None:
    dice = random.Random(f"{connector} {seed}")
    sources = messages(connector)
    for number in range(count):
        sent = dice.choice(sources)
        read(connector, (spoilt(sent, dice) if number % 2 else None) or damaged(sent, dice))


@pytest.mark.parametrize("connector", BUILTIN)
def test_some_hundred_damaged_messages_crash_nothing(connector: str) -> None:
    tried(connector, FEW, 1)


@pytest.mark.long
@pytest.mark.parametrize("connector", BUILTIN)
def test_ten_thousand_damaged_messages_crash_nothing(connector: str) -> None:
    tried(connector, MANY, 2)


def outcome(connector: str, parts: Sequence[Any]) -> list[dict[str, Any]]:
    sent = tuple(FORMS[connector].joined(parts))
    return [one.to_json() for one in read(connector, sent)]


def gains(told: Iterable[dict[str, Any]]) -> Counter[str]:
    """What a city gains by a message: its places, observations and events, by their texts."""
    kept = (one for one in told if one.keys() & {"place", "observation", "event"})
    return Counter(json.dumps(one, sort_keys=True) for one in kept)


def measured(told: Iterable[dict[str, Any]]) -> Counter[str]:
    """How many places and events there are, and which fields were measured."""
    found: Counter[str] = Counter()
    for one in told:
        found.update(one.keys() & {"place", "event"})
        found.update(one.get("observation", {}).keys() - {"extra"})
    return found


def lost(connector: str, count: int, seed: int) -> Iterator[str]:
    """Of messages of some sound and some damaged parts: what went missing without need.

    What a sound part gives alone, the message gives too, and refuses nothing of it. A damaged part
    that gives less than before is refused, or its value said that there is none.
    """
    form, dice = FORMS[connector], random.Random(f"{connector} {seed}")
    sound = [form.part(number) for number in range(8)]
    alone = [outcome(connector, [part]) for part in sound]
    for _time in range(count):
        chosen = dice.sample(range(8), dice.randint(2, 5))
        bad = {number for number in chosen if dice.random() < 0.5}
        parts = [form.damaged(sound[n], dice) if n in bad else sound[n] for n in chosen]
        told = outcome(connector, parts)
        kept = gains(told)
        for place, number in enumerate(chosen):
            if number not in bad and gains(alone[number]) - kept:
                yield f"{gains(alone[number]) - kept} of {parts}"
            if number not in bad and form.pointer is not None:
                at = form.pointer.format(place + form.first)
                refusals = [one for one in told if "refused" in one]
                if any(one["at"] == at or one["at"].startswith(f"{at}/") for one in refusals):
                    yield f"refused {at} of {parts}"
            if number in bad and not says_nothing(sound[number], parts[place]):
                left = outcome(connector, [parts[place]])
                if any(one.keys() & {"refused", "unknown"} for one in left):
                    continue
                extra = any("extra" in one.get("observation", {}) for one in left)
                if measured(alone[number]) - measured(left) and not extra:
                    yield f"{measured(alone[number]) - measured(left)} of {parts[place]}"


SAYS_NOTHING: tuple[Any, ...] = (
    None,
    "",
    [],
    {},
    "NaN",
    [None],
    [[]],
    {"a": {}},
    {"type": "Point"},
)
"""No value, or an object without the members that are looked for."""


def says_nothing(sound: Any, damaged: Any) -> bool:
    """Whether the value in which damaged JSON differs says that there is none."""
    if isinstance(sound, dict) and isinstance(damaged, dict) and sound.keys() == damaged.keys():
        return any(says_nothing(sound[n], damaged[n]) for n in sound if sound[n] != damaged[n])
    both = isinstance(sound, list | tuple) and isinstance(damaged, list | tuple)
    if both and len(sound) == len(damaged):
        pairs = zip(sound, damaged, strict=True)
        return any(says_nothing(*pair) for pair in pairs if pair[0] != pair[1])
    return damaged in SAYS_NOTHING


@pytest.mark.parametrize("connector", BUILTIN)
def test_of_damaged_messages_nothing_valid_is_lost(connector: str) -> None:
    assert list(lost(connector, FEW // 5, 1)) == []


@pytest.mark.long
@pytest.mark.parametrize("connector", BUILTIN)
def test_of_ten_thousand_damaged_messages_nothing_valid_is_lost(connector: str) -> None:
    assert list(islice(lost(connector, MANY, 2), 5)) == []
