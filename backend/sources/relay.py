"""What a connector found, as messages to the broker; no I/O.

The same again is not sent again, and an event that its source no longer names, or whose time is
over, is ended.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from citywise.backend.connectors import Event, Found, Place, Reading

MOST_REMEMBERED = 200_000
MOST_TOGETHER = 500
"""Observations in one message."""


class Sent(NamedTuple):
    """A message: its topic below the prefix, its payload, and whether it is retained."""

    topic: str
    payload: bytes
    retain: bool = False


class Relay:
    """Of one source: what was sent of it, and which of its events are open."""

    def __init__(self, known: Mapping[str, Any] | None = None) -> None:
        events = (known or {}).get("events", {})
        self._seen: OrderedDict[tuple[str, str, int], Mapping[str, Any]] = OrderedDict()
        self._open: dict[str, tuple[bytes, int | None, str]] = {
            name: (b"", ends, part) for name, (ends, part) in events.items()
        }

    def state(self) -> dict[str, Any]:
        """What must outlast a restart: the open events, when they end and where they came from."""
        return {"events": {name: [ends, part] for name, (_b, ends, part) in self._open.items()}}

    def messages(
        self, found: Iterable[Found], part: str = "", whole: bool = False
    ) -> Iterator[Sent]:
        """The messages for what was found.

        `part` is the address that told it; `whole`: its answer names every event there is.
        """
        latest: dict[tuple[str, str, int], Reading] = {}
        named: set[str] = set()
        for one in found:
            match one:
                case Place():
                    yield from _places(one)
                case Reading():
                    # Of several for one time the last counts, else each poll would bring all.
                    key = (one.kind, one.sensor, one.observed_ms)
                    if key not in latest or latest[key].values != one.values:
                        latest[key] = one
                case Event():
                    named.add(one.id)
                    yield from self._event(one, part)
        readings: dict[str, list[dict[str, Any]]] = {}
        for key, one in latest.items():
            if self._is_new(key, one.values):
                readings.setdefault(one.kind, []).append(_payload(one))
        for kind, several in readings.items():
            for start in range(0, len(several), MOST_TOGETHER):
                body = orjson.dumps(several[start : start + MOST_TOGETHER])
                yield Sent(f"observations/{kind}", body)
        if whole:
            gone = [name for name, told in self._open.items() if told[2] == part]
            for name in gone:
                if name not in named:
                    yield self._end(name)

    def over(self, now_ms: int) -> Iterator[Sent]:
        """The ends of the events whose time is over."""
        ended = [name for name, (_b, ends, _p) in self._open.items() if ends and ends <= now_ms]
        for name in ended:
            yield self._end(name)

    def all_over(self) -> Iterator[Sent]:
        """The ends of all events: the source is there no more."""
        for name in list(self._open):
            yield self._end(name)

    def _is_new(self, key: tuple[str, str, int], values: Mapping[str, Any]) -> bool:
        # With other values than were sent last it is a correction, which the ingest judges.
        if self._seen.get(key) == values:
            return False
        self._seen[key] = values
        if len(self._seen) > MOST_REMEMBERED:
            self._seen.popitem(last=False)
        return True

    def _event(self, event: Event, part: str) -> Iterator[Sent]:
        if event.body is None:
            if event.id in self._open:
                yield self._end(event.id)
            return
        body = orjson.dumps(event.body, option=orjson.OPT_SORT_KEYS)
        known = self._open.get(event.id)
        self._open[event.id] = (body, event.ends_ms, part)
        if known is None or known[0] != body:
            yield Sent(f"events/{event.id}", body)

    def _end(self, name: str) -> Sent:
        self._open.pop(name, None)
        return Sent(f"events/{name}", b"")


def _payload(reading: Reading) -> dict[str, Any]:
    """An observation as it travels: what no kind has stands beside the fields."""
    extra = {name: value for name, value in reading.extra.items() if name not in reading.values}
    body = reading.to_json()["observation"]
    return {**extra, **{k: v for k, v in body.items() if k not in ("kind", "extra")}}


def _places(place: Place) -> Iterator[Sent]:
    """A place; where the format has sensors of its own, one for each of them, at the same spot."""
    bodies = [place.body]
    if place.sensors:
        several = len(place.sensors) > 1
        bodies = [
            {
                **place.body,
                "id": sensor,
                "name": f"{place.body['name']} · {sensor}"[:200] if several else place.body["name"],
                "sensors": list(kinds),
            }
            for sensor, kinds in place.sensors.items()
        ]
    for body in bodies:
        payload = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
        yield Sent(f"places/{body['kind']}/{body['id']}", payload, retain=True)
