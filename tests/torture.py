"""A city that is tormented: `python -m tests.torture --seed 1 --minutes 10` (`make torture`).

A simulated city runs while its processes are killed or stopped for a while, its broker dies, its
database is locked, the disk of its log is full and all of it is stopped and started, in an order
that the seed gives; then it is compared with what the solver computes without broker, log, Spark
and database. A line of JSON for each round and one for all are
printed; a round that failed names its seed, which `--rounds 1 --seed N` repeats.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil

from citywise.backend.city.simulation import START, Simulation
from citywise.backend.pipeline.recorded import changes
from citywise.backend.supervisor import System
from citywise.backend.times import to_ms
from tests.street import running as street

LEAD_IN = timedelta(hours=1)
SPEED = 120.0
_KILLED = ("ingest", "pipeline", "notifier", "web", "source")
_STOPPED = ("ingest", "pipeline", "notifier", "web")
_PAUSE_S = (4.0, 12.0)
_SHORT_S = (0.5, 6.0)
Told = tuple[int, str, str, str]


@dataclass
class Round:
    """What one tormented run came to."""

    seed: int
    faults: list[str] = field(default_factory=list)
    recovery_s: list[float] = field(default_factory=list)
    """From the end of each fault until stream time up to which all is answered moved on."""
    announced: int = 0
    lost: int = 0
    doubled: int = 0
    is_in_order: bool = True
    error: str | None = None

    @property
    def is_right(self) -> bool:
        return self.error is None and self.is_in_order and not self.lost + self.doubled

    def compare(self, announced: Sequence[Told], expected: Sequence[Told]) -> None:
        """Count what is lost and doubled of what was to be announced."""
        there, wanted = Counter(announced), Counter(expected)
        self.announced = len(announced)
        self.lost, self.doubled = (wanted - there).total(), (there - wanted).total()
        self.is_in_order = list(announced) == list(expected)


class Tormentor:
    """Does to a running system what a seed says."""

    def __init__(self, system: System, chance: random.Random) -> None:
        self._system, self._chance = system, chance
        self._deeds = (
            *(self._kill, self._kill, self._stop, self._stop),
            *(self._end_broker, self._lock, self._fill_disk, self._begin_anew),
        )

    def torment(self) -> str:
        """Do the next thing; returns its name when it is over."""
        return self._chance.choice(self._deeds)()

    def _kill(self) -> str:
        role = self._chance.choice([r for r in _KILLED if r in self._system.children])
        try:
            street.kill(self._system, role)
        except ProcessLookupError:
            return f"kill {role} (it was dead)"
        return f"kill {role}"

    def _stop(self) -> str:
        role, seconds = self._chance.choice(_STOPPED), self._chance.uniform(*_SHORT_S)
        group = self._system.children[role].process.pid
        try:
            os.killpg(group, signal.SIGSTOP)
            _tend(self._system, seconds)
            os.killpg(group, signal.SIGCONT)
        except ProcessLookupError:
            return f"stop {role} (it was dead)"
        return f"stop {role} for {seconds:.1f} s"

    def _fill_disk(self) -> str:
        """The ingest cannot make its files any longer."""
        seconds = self._chance.uniform(*_SHORT_S)
        try:
            ingest = psutil.Process(self._system.children["ingest"].process.pid)
            usual = ingest.rlimit(resource.RLIMIT_FSIZE)
            assert usual is not None
            ingest.rlimit(resource.RLIMIT_FSIZE, (1, usual[1]))
            _tend(self._system, seconds)
            ingest.rlimit(resource.RLIMIT_FSIZE, usual)
        except psutil.NoSuchProcess:
            return "fill the ingest's disk (it was dead)"
        return f"fill the ingest's disk for {seconds:.1f} s"

    def _begin_anew(self) -> str:
        """Everything is stopped, and started as the same system."""
        self._system.stop()
        self._system.start()
        self._system.wait_ready()
        return "stop and start everything"

    def _end_broker(self) -> str:
        street.restart_broker(self._system)
        return "kill broker"

    def _lock(self) -> str:
        """Nobody can write into the database, as where a disk does not answer."""
        seconds = self._chance.uniform(*_SHORT_S)
        path = self._system.settings.data_dir / "citywise.db"
        with sqlite3.connect(path, timeout=60, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            time.sleep(seconds)  # the supervisor, too, waits for what it wants to write
            other.execute("ROLLBACK")
        other.close()
        return f"lock the database for {seconds:.1f} s"


def tormented(seed: int, hours: float) -> Round:
    """Run a city of some hours, torment it, and compare."""
    found, until = Round(seed), START + timedelta(hours=hours)
    play: dict[str, Any] = {
        "data": None,
        "speed": SPEED,
        "start": START.isoformat(),
        "until": until.isoformat(),
        "lead_in_s": LEAD_IN.total_seconds(),
        "seed": seed,
    }
    chance = random.Random(seed)
    try:
        with (
            tempfile.TemporaryDirectory(prefix="torture-") as folder,
            street.system(Path(folder), play) as system,
        ):
            tormentor = Tormentor(system, chance)
            while street.answered(system) < to_ms(until):
                _tend(system, chance.uniform(*_PAUSE_S))
                if (before := street.answered(system)) >= to_ms(until):
                    break
                found.faults.append(tormentor.torment())
                over = time.monotonic()
                street.wait_until(system, lambda at=before: street.answered(system) > at)  # type: ignore[misc]
                found.recovery_s.append(round(time.monotonic() - over, 1))
            announced = street.announced(system)
    except Exception as error:  # noqa: BLE001 - it is what this looks for
        found.error = f"{type(error).__name__}: {error}"
        return found
    expected = changes(Simulation(seed, START, until, LEAD_IN), "solver")
    found.compare(announced, [(t, kind, e["id"], e["confirmed"]) for t, kind, e in expected])
    return found


def _tend(system: System, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        system.tend()
        time.sleep(0.1)


def main() -> int:
    """Torment one city after the other until the time is over."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--minutes", type=float, default=60.0)
    asked.add_argument("--rounds", type=int, help="so many at most")
    asked.add_argument("--hours", type=float, default=8.0, help="of the city, in a round")
    given = asked.parse_args()
    deadline, rounds = time.monotonic() + given.minutes * 60, list[Round]()
    while time.monotonic() < deadline and len(rounds) != given.rounds:
        rounds.append(tormented(given.seed + len(rounds), given.hours))
        print(json.dumps(asdict(rounds[-1])), flush=True)
    took = sorted(seconds for one in rounds for seconds in one.recovery_s)
    wrong = [one.seed for one in rounds if not one.is_right]
    summary = {
        "rounds": len(rounds),
        "faults": sum(len(one.faults) for one in rounds),
        "announced": sum(one.announced for one in rounds),
        "lost": sum(one.lost for one in rounds),
        "doubled": sum(one.doubled for one in rounds),
        "recovery_p50_s": statistics.median(took) if took else None,
        "recovery_p95_s": took[min(len(took) - 1, round(len(took) * 0.95))] if took else None,
        "wrong": wrong,
    }
    print(json.dumps(summary))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
