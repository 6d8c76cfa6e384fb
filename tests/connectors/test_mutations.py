"""Messages that were damaged anyhow crash no connector, and cost no more than what is damaged.

Two sorts: bytes are changed anywhere, and then only that nothing crashes is known; or one value of
the JSON or one text of the XML is replaced, and then everything else is found as before.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from citywise.backend.connectors import BUILTIN, Connector, Desk, Found, Message, recorded
from citywise.backend.sources.relay import Relay
from citywise.backend.times import parse_ms
from tests.conftest import PACK
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
JUNK: tuple[Any, ...] = (
    None, True, -1, 0, 1e308, 10**30, "", "\ud800", "x" * 300, [], {}, [[]], {"a": {}}, "NaN",
    "2026-13-45T99:99:99Z", "𝔘", [None], "0001-01-01T00:00:00+14:00", {"type": "Point"}, 1e-300,
)  # fmt: skip


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


def replaced(value: Any, dice: random.Random) -> Any:
    """JSON in which one value, anywhere, is another."""
    if isinstance(value, dict) and value and dice.random() < 0.9:
        key = dice.choice(sorted(value))
        return {**value, key: replaced(value[key], dice)}
    if isinstance(value, list) and value and dice.random() < 0.9:
        index = dice.randrange(len(value))
        return [*value[:index], replaced(value[index], dice), *value[index + 1 :]]
    return dice.choice(JUNK)


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


LISTS = {
    "ngsi-ld": "data", "sensorthings": "value", "sensor-community": "", "opensensemap": "",
    "ttn": "", "chirpstack": "", "gbfs": "data/stations", "wzdx": "features", "apds": "data",
}  # fmt: skip
"""Where the things of a message stand that are independent of each other."""


def things(connector: str) -> Iterator[tuple[str, Any]]:
    """One sound thing of each format, as an item of its list."""
    pick = {"ngsi-ld": (1, 0), "sensorthings": (1, 0), "gbfs": (0, 1)}
    group, index = pick.get(connector, (0, 0))
    sent = SAMPLES[connector][group].messages[index][1]
    value = json.loads(sent)
    for key in filter(None, LISTS[connector].split("/")):
        value = value[key]
    yield connector, value[0] if isinstance(value, list) else value


@pytest.mark.parametrize("connector", LISTS)
def test_damage_to_one_thing_loses_no_other(connector: str) -> None:
    """A sound thing between two damaged ones gives what it gives alone."""
    ((_name, sound),) = things(connector)
    dice = random.Random(connector)
    alone = [one.to_json() for one in read(connector, _listed(connector, [sound]))]
    kept = [one for one in alone if "observation" in one or "event" in one]
    assert kept
    for _number in range(FEW):
        others = [replaced(sound, dice), sound, replaced(sound, dice)]
        found = [one.to_json() for one in read(connector, _listed(connector, others))]
        assert all(one in found for one in kept), others


def _listed(connector: str, items: list[Any]) -> Sequence_:
    value: Any = items
    for key in reversed(list(filter(None, LISTS[connector].split("/")))):
        value = {key: value}
    if connector == "ngsi-ld":
        value = {"type": "Notification", "notifiedAt": "2026-05-04T09:00:00Z", **value}
    if connector == "gbfs":
        value = {"last_updated": 1777885200, **value}
    return ((None, json.dumps(value).encode()),)
