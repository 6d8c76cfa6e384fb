"""A mapping file is a connector too: damage crashes it no more than those that come along, and
costs no more than what is damaged."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from citywise.backend.connectors import Desk, Found, Message, Reading, connector
from citywise.backend.sources.relay import Relay
from tests.connectors.parts import JUNK
from tests.connectors.test_mutations import AT_MS, FEW, MANY, damaged, spoilt

BODY = """
[[place]]
{each}id = {id}
sensors = ["noise"]
where = {{ lon = {lon}, lat = {lat} }}
[[observation]]
{each}kind = "noise"
sensor = {id}
time = {{ from = {at}, zone = "Europe/Copenhagen" }}
fields.level = {{ from = {level}, comma = true, absent = [-200] }}
extra.battery = {battery}
"""
COLUMNS = ("id", "lon", "lat", "at", "level", "battery")
ROWS = [(f"n{n}", "10.2", "56.1", "2026-05-04T09:00:00", f"{60 + n},5", "3") for n in range(8)]


def mapping(form: str, each: str, path: str) -> str:
    paths = {name: json.dumps(path.format(name)) for name in COLUMNS}
    told = f"each = {json.dumps(each)}\n" if each else ""
    return f'connector = "own"\nformat = "{form}"\n' + BODY.format(each=told, **paths)


def table(rows: Any) -> bytes:
    lines = [",".join(COLUMNS)] + [",".join(f'"{cell}"' for cell in row) for row in rows]
    return "\n".join(lines).encode()


def listed(rows: Any) -> bytes:
    return json.dumps([dict(zip(COLUMNS, row, strict=True)) for row in rows]).encode()


def tree(rows: Any) -> bytes:
    cells = ["".join(f"<{n}>{c}</{n}>" for n, c in zip(COLUMNS, r, strict=True)) for r in rows]
    return f"<all>{''.join(f'<m>{one}</m>' for one in cells)}</all>".encode()


FORMS: dict[str, tuple[str, Callable[[Any], bytes]]] = {
    "csv": (mapping("csv", "", "{}"), table),
    "json": (mapping("json", "$[*]", "$.{}"), listed),
    "xml": (mapping("xml", "//m", "{}"), tree),
}


def read(form: str, body: bytes) -> list[Found]:
    found = connector("own", Desk(), FORMS[form][0]).read(Message(body, "lots/1", AT_MS))
    for thing in found:
        json.dumps(thing.to_json(), allow_nan=False).encode("utf-8", "surrogatepass")
    list(Relay().messages(found))
    return found


def tried(form: str, count: int) -> None:
    dice, body = random.Random(form), FORMS[form][1](ROWS)
    assert len(read(form, body)) == 2 * len(ROWS)
    for number in range(count):
        sent = ((None, body),)
        told = (spoilt(sent, dice) if number % 2 else None) or damaged(sent, dice)
        read(form, told[0][1])


@pytest.mark.parametrize("form", FORMS)
def test_some_hundred_damaged_messages_crash_no_mapping(form: str) -> None:
    tried(form, FEW)


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_ten_thousand_damaged_messages_crash_no_mapping(form: str) -> None:
    tried(form, MANY)


@pytest.mark.parametrize("form", FORMS)
def test_a_damaged_value_costs_its_own_thing_alone(form: str) -> None:
    dice = random.Random(form)
    written = FORMS[form][1]
    junk = [one for one in map(str, JUNK) if one.isprintable() and not set(one) & set('<&",')]
    sound = [one for one in read(form, written(ROWS)) if isinstance(one, Reading)]
    for _time in range(FEW // 3):
        bad, column = dice.randrange(len(ROWS)), dice.randrange(len(COLUMNS))
        rows = [list(row) for row in ROWS]
        rows[bad][column] = dice.choice(junk)
        found = read(form, written(rows))
        assert [one for one in sound if one.sensor != f"n{bad}" and one not in found] == []
