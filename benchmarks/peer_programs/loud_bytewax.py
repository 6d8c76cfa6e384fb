"""Loud places of readings as JSON lines, as a bytewax dataflow with a state for each place."""

import json
import sys
from typing import Any

import bytewax.operators as op
from bytewax.connectors.files import FileSource
from bytewax.connectors.stdio import StdOutSink
from bytewax.dataflow import Dataflow
from bytewax.testing import run_main

Reading = dict[str, Any]


def keyed(line: str) -> tuple[str, Reading]:
    """A reading by its place."""
    reading = json.loads(line)
    return reading["sensor"], reading


def followed(loud: bool | None, reading: Reading) -> tuple[bool | None, str | None]:
    """Whether a place is loud after a reading, and what is told where it becomes so."""
    if reading["level"] < 65:
        return None, None
    return True, None if loud else f"{reading['sensor']} {reading['observed_at']}"


flow = Dataflow("loud")
lines = op.input("lines", flow, FileSource(sys.argv[1], batch_size=1000))
readings = op.map("keyed", lines, keyed)
opened = op.stateful_map("followed", readings, followed)
found = op.filter_map("found", opened, lambda pair: pair[1])
op.output("out", found, StdOutSink())
run_main(flow)
