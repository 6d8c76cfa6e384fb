"""Traffic jams of readings as JSON lines, written by hand: a dictionary and nothing else."""

import json
import sys
from pathlib import Path


def main(path: str) -> None:
    """Print `road start` for each jam that opens."""
    jammed: dict[str, str] = {}
    with Path(path).open("rb") as lines:
        for line in lines:
            reading = json.loads(line)
            speed, count, road = reading["speed_kmh"], reading["vehicle_count"], reading["sensor"]
            if speed <= 35 and count >= 10:
                if road not in jammed:
                    jammed[road] = reading["observed_at"]
                    print(road, reading["observed_at"])
            elif speed > 35 and count < 10:
                jammed.pop(road, None)


main(sys.argv[1])
