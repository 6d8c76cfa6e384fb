"""A city that is tormented: `python -m tests.torture --seed 1 --minutes 10` (`make torture`).

A simulated city runs, in which somebody is told of roads that have been slow for so long, and of
slow roads at most once in a while, somebody follows a way through the town, and a meeting is held.
Meanwhile its processes are killed or stopped, its broker dies, its database is locked, the disk of
its log is full, its messages come again in another order, its clock is set back, and all of it is
stopped and started, also on a torn log, in an order that the seed gives. Then it is compared with
what the solver and the definitions say without broker, log, Spark and database, and the meeting
with what was acknowledged. A line of JSON for each round and one for all are printed; to standard
error for each round that failed what it differs in, and the line that does it again.

`--restarts 20` ends the whole system so often instead (see `tests.torture.restarts`).
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from citywise.backend.city.simulation import START
from tests.street import running as street
from tests.torture import timed
from tests.torture.city import PATIENCE_S, City, Found, compared
from tests.torture.deeds import Tormentor, tend
from tests.torture.people import Meeting, Traveller, look_at
from tests.torture.restarts import Restarting, Restarts

_PAUSE_S = (4.0, 12.0)
_SET_OUT = START + timedelta(minutes=10)
"""Who travels begins to, and who meets."""


@dataclass
class Round:
    """What one tormented run came to."""

    seed: int
    hours: float
    faults: list[str] = field(default_factory=list)
    recovery_s: list[float] = field(default_factory=list)
    """From the end of each fault until stream time up to which all is answered moved on."""
    found: Found = field(default_factory=Found)
    error: str | None = None

    @property
    def is_right(self) -> bool:
        return self.error is None and self.found.is_right

    @property
    def replay(self) -> str:
        """The line that does it again."""
        return f"python -m tests.torture --seed {self.seed} --hours {self.hours:g} --rounds 1"


def tormented(seed: int, hours: float) -> Round:
    """Run a city of some hours, torment it, and compare."""
    told, until = Round(seed, hours), START + timedelta(hours=hours)
    try:
        with tempfile.TemporaryDirectory(prefix="torture-") as folder:
            _torment(told, City(seed, until), Path(folder))
    except Exception as error:  # noqa: BLE001 - it is what this looks for
        told.error = f"{type(error).__name__}: {error}"
    return told


def _torment(told: Round, city: City, folder: Path) -> None:
    chance = random.Random(told.seed)
    app = timed.write(folder, 1)
    with street.system(folder / "state", None, told=True, apps=(app,)) as system:
        city.move_in(system)
        city.send(system, _SET_OUT)
        street.wait_until(system, lambda: city.is_over(system, _SET_OUT), PATIENCE_S)
        traveller, meeting = Traveller(system, city.stops_ms[-1]), Meeting(system)
        city.send(system, city.until)
        tormentor = Tormentor(system, city, chance)
        while not city.is_over(system, city.until):
            tend(system, chance.uniform(*_PAUSE_S))
            if city.is_over(system, city.until):
                break
            before = street.answered(system)
            told.faults.append(tormentor.torment())
            over = time.monotonic()
            street.wait_until(
                system,
                lambda at=before: (  # type: ignore[misc]
                    street.answered(system) > at or city.is_over(system, city.until)
                ),
                PATIENCE_S,
            )
            told.recovery_s.append(round(time.monotonic() - over, 1))
        city.wait_told(system)
        meeting.end()
        told.found = compared(system, city)
        look_at(told.found, system, city.source, traveller, meeting)


def _rounds(seed: int, minutes: float, most: int | None, hours: float) -> Iterator[Round]:
    deadline, number = time.monotonic() + minutes * 60, 0
    while time.monotonic() < deadline and number != most:
        yield tormented(seed + number, hours)
        number += 1


def said(told: Round | Restarts) -> None:
    """Print what it came to, and of what is wrong how to do it again."""
    print(json.dumps(asdict(told)), flush=True)
    if not told.is_right:
        lines = [told.error] if told.error else told.found.differences
        print(f"again: {told.replay}", *lines, sep="\n  ", file=sys.stderr, flush=True)


def _summary(rounds: list[Round]) -> dict[str, Any]:
    took = sorted(seconds for one in rounds for seconds in one.recovery_s)
    counted = ("announced", "notices", "by_timer", "ahead", "acts", "lost", "doubled", "early")
    return {
        "rounds": len(rounds),
        "faults": sum(len(one.faults) for one in rounds),
        **{name: sum(getattr(one.found, name) for one in rounds) for name in counted},
        "recovery_p50_s": statistics.median(took) if took else None,
        "recovery_p95_s": took[min(len(took) - 1, round(len(took) * 0.95))] if took else None,
        "wrong": [one.seed for one in rounds if not one.is_right],
    }


def main() -> int:
    """Torment one city after the other until the time is over."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--minutes", type=float, help="60 for rounds, without an end for restarts")
    asked.add_argument("--rounds", type=int, help="so many at most")
    asked.add_argument("--hours", type=float, default=8.0, help="of the city, in a round")
    asked.add_argument("--restarts", type=int, help="of the whole system, in one city")
    given = asked.parse_args()
    if given.restarts:
        with tempfile.TemporaryDirectory(prefix="restarts-") as folder:
            minutes = given.minutes or math.inf
            restarts = Restarting(Path(folder), given.seed, given.restarts, minutes).run()
        said(restarts)
        return 0 if restarts.is_right else 1
    rounds = []
    for one in _rounds(given.seed, given.minutes or 60, given.rounds, given.hours):
        rounds.append(one)
        said(one)
    summary = _summary(rounds)
    print(json.dumps(summary))
    return 1 if summary["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
