"""Loud places of readings as JSON lines, written by hand: a set and nothing else."""

import json
import sys
from pathlib import Path


def main(path: str) -> None:
    """Print `place start` for each that becomes loud."""
    loud: set[str] = set()
    with Path(path).open("rb") as lines:
        for line in lines:
            reading = json.loads(line)
            place = reading["sensor"]
            if reading["level"] < 65:
                loud.discard(place)
            elif place not in loud:
                loud.add(place)
                print(place, reading["observed_at"])


main(sys.argv[1])
