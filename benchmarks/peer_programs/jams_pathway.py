"""Traffic jams of readings as JSON lines, in pathway: a road's state is kept without repeats."""

import json
import sys
from pathlib import Path
from typing import Any

import pathway as pw


class Reading(pw.Schema):
    """What a road's sensor says."""

    sensor: str
    observed_at: str
    speed_kmh: float
    vehicle_count: int


class Lines(pw.io.python.ConnectorSubject):  # type: ignore[misc]
    """The file's lines, those of one time together."""

    def run(self) -> None:
        """Read all."""
        before = None
        with Path(sys.argv[1]).open("rb") as lines:
            for line in lines:
                reading = json.loads(line)
                if before is not None and reading["observed_at"] != before:
                    self.commit()
                before = reading["observed_at"]
                self.next(**reading)


def changes(new: tuple[bool, str], old: tuple[bool, str]) -> bool:
    """Whether a road becomes jammed, or is freed."""
    return new[0] != old[0]


def tell(row: dict[str, Any], is_addition: bool, **_rest: Any) -> None:
    """Print a jam that opens."""
    if is_addition and row["state"][0]:
        print(row["sensor"], row["state"][1])


readings = pw.io.python.read(Lines(), schema=Reading, autocommit_duration_ms=None)
jam = (pw.this.speed_kmh <= 35) & (pw.this.vehicle_count >= 10)
free = (pw.this.speed_kmh > 35) & (pw.this.vehicle_count < 10)
decided = readings.filter(jam | free).select(
    pw.this.sensor, state=pw.make_tuple(jam, pw.this.observed_at)
)
states = decided.deduplicate(value=pw.this.state, instance=pw.this.sensor, acceptor=changes)
pw.io.subscribe(states, on_change=tell)
pw.run(monitoring_level=pw.MonitoringLevel.NONE)
