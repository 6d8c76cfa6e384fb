"""Messages that a broker may bring: sound ones of every topic the ingest asks for, and what
becomes of them in bad hands."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import orjson

START = datetime(2026, 5, 1, 12, tzinfo=UTC)
POINT = {"type": "Point", "coordinates": [10.1, 56.15]}
LINE = {"type": "LineString", "coordinates": [[10.19, 56.15], [10.2, 56.16], [10.22, 56.15]]}
KEPT = {"road": "road-1", "garage": "garage-1", "weather_station": "w-1", "air_station": "air-1"}
"""Places that nobody spoils: the sensors of the sound readings."""
_SENSORS = {"traffic": "road-1", "parking": "garage-1", "weather": "w-1", "air": "air-1"}
_VALUES: dict[str, dict[str, Any]] = {
    "traffic": {"speed_kmh": 31.5, "vehicle_count": 12},
    "parking": {"occupied": 871, "capacity": 953},
    "weather": {"temperature_c": 19, "humidity_pct": 73.5, "wind_kmh": None},
    "air": {
        "ozone": 101,
        "particulate_matter": 94,
        "carbon_monoxide": 49,
        "sulfur_dioxide": 44,
        "nitrogen_dioxide": 87,
    },
}
_PRICE = {"per_hour": 22, "day_most": 176, "free_minutes": 10.5, "currency": "DKK"}


class Message(NamedTuple):
    """A message, and the entry it is to leave if nobody has touched it: subject and key, or for
    a reading its sensor and time (Unix ms)."""

    topic: bytes
    payload: bytes
    leaves: tuple[str, str | int] | None


def place(kind: str, name: str) -> dict[str, Any]:
    """A sound place."""
    found: dict[str, Any] = {"id": name, "kind": kind, "name": "Århusvej", "geometry": LINE}
    sensors = {k for k, place in _SENSORS.items() if place == KEPT[kind]}
    found |= {"sensors": [*sensors], "length_m": 1030.5, "free_flow_kmh": 71}
    found |= {"capacity": 953, "opening_hours": "Mo-Fr 07:00-20:00", "price": _PRICE}
    return found


def _place(n: int, chance: random.Random) -> tuple[str, Any, tuple[str, str | int]]:
    kind = chance.choice([*KEPT])
    return f"places/{kind}/{kind}-{n}", place(kind, f"{kind}-{n}"), ("place", f"{kind}-{n}")


def _observation(n: int, chance: random.Random) -> tuple[str, Any, tuple[str, str | int]]:
    kind = chance.choice([*_VALUES])
    at = START + timedelta(milliseconds=n)
    sensor = _SENSORS[kind]
    body: Any = {"sensor": sensor, "observed_at": at.isoformat(), **_VALUES[kind]}
    topic = f"observations/{kind}" + chance.choice(["", f"/{sensor}"])
    leaves = (sensor, round(at.timestamp() * 1000))
    return topic, [body] if chance.random() < 0.3 else body, leaves


def _event(n: int, chance: random.Random) -> tuple[str, Any, tuple[str, str | int]]:
    body = {
        "type": chance.choice(["TrafficJam", "https://example.org/Parade"]),
        "level": 3,
        "geometry": chance.choice([POINT, LINE]),
        "start_ms": round(START.timestamp() * 1000),
        "source": "sensor",
        "place_id": chance.choice([None, "road-1"]),
        "name": chance.choice([None, "Parade"]),
    }
    return f"events/e-{n}", body, ("event", f"e-{n}")


def _context(n: int, chance: random.Random) -> tuple[str, Any, tuple[str, str | int]]:
    body = {
        "position": {"lat": 56.15, "lon": 10.2, "heading": 90, "along_m": 12.5},
        "route": {"coordinates": LINE["coordinates"]},
        "activity": "DrivingCar",
        "preferences": {"walk": 500, "mode": "bicycle"},
    }
    told = {name: body[name] for name in chance.sample([*body], chance.randint(1, 4))}
    return f"context/user-{n % 50}", told, (next(s for s in body if s in told), f"user-{n % 50}")


def _clock(n: int, _chance: random.Random) -> tuple[str, Any, tuple[str, str | int]]:
    now = START + timedelta(milliseconds=n)
    body = {
        "now": now.isoformat(),
        "complete": now.isoformat(),
        "speed": 60,
        "start": START.isoformat(),
        "until": None,
        "source": "replay",
    }
    return "clock", body, ("clock", round(now.timestamp() * 1000))


Seed = Callable[[int, random.Random], tuple[str, Any, tuple[str, str | int]]]
SEEDS: dict[str, Seed] = {
    "places/#": _place,
    "observations/#": _observation,
    "events/#": _event,
    "context/#": _context,
    "clock": _clock,
}
"""By the topic that the ingest asks for: what makes a sound message, its number given."""

_ODD: list[Any] = [
    *(10**18, 2**31, 2**31 - 1, 2**32, 2**53 + 1, 2**63, 2**64 - 1, 2**64, 10**30, -1, 0),
    -(10**30),
    *(1e-308, 5e-324, 1e308, -1e308, 0.1 + 0.2, -0.0, 1e16, 299.999999999, 1.5, True, False, None),
    *("", " ", "0", "9" * 400, "1e999", "NaN", "\u0000", "\ud7ff", "\u202e", "é" * 300, "'\"\\"),
    *("<b>", "../..", "a b", "x" * 70_000, "-1", "null", "T24", "Polygon", "road", "https://a/"),
    *("2026-02-30T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "24:00"),
    *("1970-01-01T00:00:00+14:00", "2099-12-31T23:59:59-12:00", "2026-05-01T12:00:60Z"),
    *("1969-12-31T23:59:59Z", "1969-12-31T23:59:59-12:00", "+292277026596-01-01T00:00:00Z"),
    *([], {}, [[]], [None], {"a": 1}, [[10.1, 56.1]] * 3, [[0, 0]] * 10_001),
    [[180, 90], [-180, -90]],
]  # fmt: skip
_TOKENS = [
    *(b"NaN", b"Infinity", b"-Infinity", b"1e400", b"-1e400", b"9" * 5_000, b"0." + b"1" * 5_000),
    *(b"1e-400", b"-", b"00", b"0x10", b'"\\ud800"', b'"\\u0000"', b'"\\udc00\\ud800"', b"\xff"),
    *(b"1E+3", b"1.0", b"[" * 300 + b"]" * 300, b'{"a":' * 300 + b"1" + b"}" * 300, b"tru", b"1,1"),
]  # fmt: skip
_MARK = "\x01here\x01"


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = [*value.items()]
    elif isinstance(value, list):
        items = [*enumerate(value)]
    return [path, *(found for key, below in items for found in _leaves(below, (*path, key)))]


def _replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    if not path:
        return by
    copy = dict(value) if isinstance(value, dict) else [*value]
    copy[path[0]] = _replaced(value[path[0]], path[1:], by)
    return copy


def _spoiled(body: Any, chance: random.Random) -> bytes:
    """One value is another, is missing, or is there twice; or a field that nobody knows."""
    path = chance.choice(_leaves(body))
    how = chance.randrange(6)
    if how <= 2:
        return _dumped(_replaced(body, path, chance.choice(_ODD)))
    if how == 3:
        return _dumped(_replaced(body, path, _MARK)).replace(
            orjson.dumps(_MARK), chance.choice(_TOKENS)
        )
    fields = body[0] if isinstance(body, list) else body
    name = chance.choice([*fields])
    if how == 4:
        return _dumped({k: v for k, v in fields.items() if k != name})
    key = chance.choice([name, "unknown", "\u0000", "é", "a" * 5_000, "__class__"])
    return _dumped(fields)[:-1] + b"," + orjson.dumps(key) + b":" + _dumped(fields[name]) + b"}"


def _dumped(value: Any) -> bytes:
    """As JSON, integers of any size."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _garbled(payload: bytes, chance: random.Random) -> bytes:
    """Bytes that are lost, doubled, turned or of another encoding."""
    at, more = chance.randrange(len(payload) + 1), chance.randrange(1, 9)
    match chance.randrange(8):
        case 0:
            return payload[:at]
        case 1:
            return payload[:at] + chance.randbytes(more) + payload[at:]
        case 2:
            return payload[:at] + payload[at + more :]
        case 3:
            return payload.decode().encode("utf-16")
        case 4:
            return b"\xef\xbb\xbf" + payload
        case 5:
            return chance.randbytes(chance.randrange(200))
        case 6:
            return b"[" + b",".join([payload] * more) + b"]"
    turned = bytearray(payload)
    turned[at % len(turned)] ^= 1 << chance.randrange(8)
    return bytes(turned)


def _astray(topic: str, chance: random.Random) -> bytes:
    """Another topic below the same first level."""
    parts = topic.split("/")
    odd = ["", "é", " ", "x" * 300, "\x01", "a/b", '"', "{}", "🚲", "-1", "$SYS", "unknown", "road"]
    if chance.random() < 0.1:
        return topic.encode() + b"\xff"
    if len(parts) == 1 or chance.random() < 0.4:
        return "/".join([*parts, chance.choice(odd)]).encode()
    parts[chance.randrange(1, len(parts))] = chance.choice(odd)
    return "/".join(parts).encode()


def message(prefix: str, number: int, chance: random.Random) -> Message:
    """The `number`-th message: a fifth are sound, the others bad in one way or another."""
    pattern = [*SEEDS][number % len(SEEDS)]
    topic, body, leaves = SEEDS[pattern](number, chance)
    sound = f"{prefix}/{topic}".encode(), _dumped(body)
    how = chance.random()
    if how < 0.2:
        return Message(*sound, leaves)
    if how < 0.7:
        return Message(sound[0], _spoiled(body, chance), None)
    if how < 0.85:
        return Message(sound[0], _garbled(sound[1], chance), None)
    if how < 0.9:
        return Message(sound[0], b"", None)
    return Message(_astray(sound[0].decode(), chance), sound[1], None)
