"""What `citywise connect try` prints, as short lines that people can write and compare.

`place KIND ID "name" lon,lat sensors key=value`, `KIND SENSOR TIME key=value +extra,names`,
`event ID TYPE LEVEL "name"`, `ended ID`, `unknown TYPE POINTER`, `refused REASON POINTER`.
"""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

from click.testing import CliRunner

from citywise.backend.connect_commands import connect
from citywise.backend.times import iso

Told = dict[str, Any]
_MOST_ALIKE = 6


def printed(connector: str, *arguments: str) -> tuple[list[Told], int]:
    """The objects that the command prints, and its exit code."""
    done = CliRunner().invoke(connect, ["try", connector, *arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return [json.loads(line) for line in done.stdout.splitlines()], done.exit_code


def lines(connector: str, *arguments: str) -> list[str]:
    """What the command prints, in short."""
    return [told(one) for one in printed(connector, *arguments)[0]]


def folded(found: list[str]) -> list[str]:
    """Many lines of one sort are the first two and how many more there are."""
    result = []
    for _sort, group in groupby(found, key=lambda line: line.split(" ")[:2]):
        alike = list(group)
        shown = alike if len(alike) <= _MOST_ALIKE else [*alike[:2], f"… {len(alike) - 2} more"]
        result += shown
    return result


def told(found: Told) -> str:
    """One thing, in short."""
    if (place := found.get("place")) is not None:
        return _place(dict(place))
    if (reading := found.get("observation")) is not None:
        return _reading(dict(reading))
    if (event := found.get("event")) is not None:
        return _event(event)
    if "unknown" in found:
        return f"unknown {found['unknown']} {found['at']}".strip()
    return f"refused {found['refused']} {found['at']}".strip()


def _place(place: Told) -> str:
    geometry = place.pop("geometry")
    where = geometry["coordinates"]
    shown = ",".join(f"{x:g}" for x in (where if geometry["type"] == "Point" else where[0]))
    count = "" if geometry["type"] == "Point" else f"..{len(where)}"
    name = json.dumps(place.pop("name"), ensure_ascii=False)
    head = f"place {place.pop('kind')} {place.pop('id')} {name}"
    return " ".join([head, f"{shown}{count}", ",".join(place.pop("sensors")), *_pairs(place)])


def _reading(reading: Told) -> str:
    extra = reading.pop("extra", None)
    head = f"{reading.pop('kind')} {reading.pop('sensor')} {reading.pop('observed_at')}"
    more = [f"+{','.join(sorted(extra))}"] if extra else []
    return " ".join([head, *_pairs(reading), *more])


def _event(event: Told) -> str:
    if event.get("ended"):
        return f"ended {event['id']}"
    shape = event["geometry"]
    where = f"{shape['type']}"
    name = json.dumps(event["name"], ensure_ascii=False) if "name" in event else ""
    at = [f"at {event['place_id']}"] if "place_id" in event else []
    head = f"event {event['id']} {event['type']} {event['level']} {iso(event['start_ms'])} {where}"
    return " ".join([head, *at, name]).strip()


def _pairs(values: Told) -> list[str]:
    return [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]
