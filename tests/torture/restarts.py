"""Restarts of a whole system: `python -m tests.torture --restarts 20 --seed 1`.

Stretch by stretch a city goes on, and in each its system is ended in one way: all processes are
killed at once; it is stopped; it is stopped and starts with other versions of its templates; or a
backup is made, it goes on, its log is damaged so that it refuses to start, and the backup is
brought back elsewhere.
"""

from __future__ import annotations

import math
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from citywise.backend.backup.restoring import restore
from citywise.backend.backup.taking import back_up
from citywise.backend.city.simulation import START
from citywise.backend.errors import CitywiseError
from citywise.backend.ingest.log import path_of, segments
from citywise.backend.supervisor import System
from citywise.backend.times import to_ms
from tests.street import running as street
from tests.torture import timed
from tests.torture.city import LEAD_IN, PATIENCE_S, City, Found, compared, told

_STRETCH_S = 10 * 60
WAYS = "killed", "stopped", "upgraded", "restored"
_OFTEN = (7, 6, 4, 3)


@dataclass
class Restarts:
    """What so many restarts came to."""

    seed: int
    number: int
    done: dict[str, int] = field(default_factory=dict)
    restart_s: list[float] = field(default_factory=list)
    """From the end of a system until the next one is ready."""
    found: Found = field(default_factory=Found)
    error: str | None = None

    @property
    def is_right(self) -> bool:
        return self.error is None and self.found.is_right

    @property
    def replay(self) -> str:
        """The line that does it again."""
        return f"python -m tests.torture --seed {self.seed} --restarts {self.number}"


class Restarting:
    """A city whose system is ended again and again."""

    def __init__(self, folder: Path, seed: int, number: int, minutes: float = math.inf) -> None:
        self._deadline = time.monotonic() + minutes * 60
        self._folder, self._chance = folder, random.Random(seed)
        self._state = folder / "state-0"
        self._version = 1
        self._is_new = False
        self._ended = 0.0
        ways = [way for way, often in zip(WAYS, _OFTEN, strict=True) for _ in range(often)]
        self._ways = [ways[n % len(ways)] for n in self._chance.sample(range(number), number)]
        if number < len(ways):
            self._ways = [WAYS[n % len(WAYS)] for n in range(number)]
        self._ends = [
            START - LEAD_IN + timedelta(seconds=_STRETCH_S * (n + 6)) for n in range(number + 1)
        ]
        self.city = City(seed, self._ends[-1])
        self.told = Restarts(seed, number)

    def run(self) -> Restarts:
        """Do it, and compare."""
        try:
            self._run()
            if (done := sum(self.told.done.values())) < self.told.number:
                self.told.error = f"only {done} of {self.told.number} were done in time"
        except Exception as error:  # noqa: BLE001 - it is what this looks for
            self.told.error = f"{type(error).__name__}: {error}"
        return self.told

    def _run(self) -> None:
        for number, end in enumerate(self._ends):
            is_last = number == len(self._ways) or time.monotonic() > self._deadline
            with self._system() as system:
                self._begin(system)
                self.city.send(system, end)
                if not is_last:
                    self._end(system, self._ways[number], end)
                    self._ended = time.monotonic()
                    continue
                self._wait(system, end)
                self.city.wait_told(system)
                self.city.until = end
                self.told.found = compared(system, self.city)
                break

    def _begin(self, system: System) -> None:
        """A system is ready, the first one or another."""
        if not self.city.lives:
            self.city.move_in(system)
            return
        self.told.restart_s.append(round(time.monotonic() - self._ended, 1))
        if self._is_new:
            self.city.upgrade(system, self._version)
            self._is_new = False
        got = told(system)
        if excess := self.told.found.excess(got, self.city.notices()):
            raise AssertionError("; ".join(excess))
        done = f"{sum(self.told.done.values())} of {self.told.number}: {self.told.restart_s[-1]} s"
        print(f"{done}, {len(got)} notices so far", file=sys.stderr, flush=True)

    @contextmanager
    def _system(self) -> Iterator[System]:
        app = timed.write(self._folder, self._version)
        with street.system(self._state, None, told=True, apps=(app,)) as system:
            yield system

    def _end(self, system: System, way: str, end: datetime) -> None:
        """End the system in some way; what is left of this stretch is sent to the next."""
        if way == "upgraded":
            self._wait(system, end)
            self._version += 1
            self._is_new = True
        else:
            middle = end - timedelta(seconds=self._chance.randint(1, _STRETCH_S))
            street.wait_until(system, lambda: street.answered(system) >= to_ms(middle), PATIENCE_S)
        if way == "restored":
            back_up(system.settings, self._folder / "backup")
            self._wait(system, end)
        if way == "killed":
            for child in system.children.values():
                with suppress(ProcessLookupError):
                    os.killpg(child.process.pid, signal.SIGKILL)
            if system.broker is not None and system.broker.process is not None:
                system.broker.process.kill()
        system.stop()
        if way == "restored":
            self._bring_back(system)
        self.told.done[way] = self.told.done.get(way, 0) + 1

    def _bring_back(self, system: System) -> None:
        """Part of the log cannot be read any more: nothing starts on it, but on the copy."""
        folder = system.settings.log_dir
        with path_of(folder, segments(folder)[-1]).open("r+b") as file:
            file.seek(100)
            byte = file.read(1)
            file.seek(100)
            file.write(bytes([byte[0] ^ 0xFF]))
        try:
            system.start()
        except CitywiseError:
            system.stop()
        else:
            system.stop()
            raise AssertionError("it starts on a log that is damaged")
        shutil.rmtree(self._state)
        self._state = self._folder / f"state-{self.told.done.get('restored', 0) + 1}"
        restore(self._folder / "backup", self._state)
        (self._folder / "backup").unlink()

    def _wait(self, system: System, end: datetime) -> None:
        street.wait_until(system, lambda: self.city.is_over(system, end), PATIENCE_S)
