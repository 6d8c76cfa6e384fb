"""Traffic jams of readings as JSON lines, as a bytewax dataflow with a state for each road."""

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
    """A reading by its road."""
    reading = json.loads(line)
    return reading["sensor"], reading


def followed(start: str | None, reading: Reading) -> tuple[str | None, str | None]:
    """The start of a road's jam after a reading, and the jam that opens with it."""
    speed, count = reading["speed_kmh"], reading["vehicle_count"]
    if speed <= 35 and count >= 10:
        if start is None:
            begun = reading["observed_at"]
            return begun, f"{reading['sensor']} {begun}"
    elif speed > 35 and count < 10:
        return None, None
    return start, None


flow = Dataflow("jams")
lines = op.input("lines", flow, FileSource(sys.argv[1], batch_size=1000))
readings = op.map("keyed", lines, keyed)
opened = op.stateful_map("followed", readings, followed)
found = op.filter_map("found", opened, lambda pair: pair[1])
op.output("out", found, StdOutSink())
run_main(flow)
